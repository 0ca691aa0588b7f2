"""A browser for tests of pages."""

import os
import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@contextmanager
def chromium():
    """Start Chromium; without it, skip the test, or fail in continuous integration."""
    if BROWSER is None:
        missing = (
            "There is no Chromium or Chrome to open pages in; install one, for example with "
            "apt-get install chromium."
        )
        # Nobody reads why tests were skipped in continuous integration.
        in_ci = os.environ.get("CI", "").lower() not in {"", "0", "false"}
        (pytest.fail if in_ci else pytest.skip)(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
