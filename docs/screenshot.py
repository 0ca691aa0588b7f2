"""Take the picture of a report that the README shows: ``python docs/screenshot.py PAGE PNG``."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1100, 1480


def main():
    """Open the page in a headless browser and save the upper part of what it shows."""
    page, picture = (Path(argument).resolve() for argument in sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        tab.goto(page.as_uri())
        tab.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
