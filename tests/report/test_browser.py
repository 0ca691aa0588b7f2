"""The report in a real browser: what it shows, what it asks for, how it fits."""

import json
import os
import shutil

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from estimate_support import sampled
from truemix import EstimateSet
from truemix.report.page import render_page
from truemix.report.summary import summarize

SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = '"><img src=x onerror=alert(2)>'
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        missing = (
            "There is no Chromium or Chrome to open the report in; install one, for example with "
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


def nasty():
    classes = np.array([SCRIPT, ATTRIBUTE, "a very long name " * 30])
    return sampled([10.0, 30.0, 60.0], classes=classes, n_draws=300)


def summaries():
    weeks = {f"2024-W{i:02d}": sampled([20, 30, 50], seed=i, n_draws=200) for i in range(1, 9)}
    return {
        "three": summarize(nasty(), target=ATTRIBUTE, command=f"truemix {'x' * 300} {SCRIPT}"),
        "many": summarize(sampled(np.ones(60), n_draws=100)),
        "weeks": summarize(EstimateSet(weeks), by=ATTRIBUTE),
        "regions": summarize(EstimateSet({SCRIPT: nasty(), ATTRIBUTE: nasty()}), by="region"),
    }


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return where each report is, and its summary as read from its JSON."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, summary in summaries().items():
        path = folder / f"{name}.html"
        path.write_text(render_page(summary), encoding="utf-8")
        found[name] = path.as_uri(), json.loads(json.dumps(summary))
    return found


@pytest.fixture
def visit(browser):
    """Open a page; whatever went wrong or was asked for is in ``page.seen``."""
    contexts = []

    def open_page(address, **options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.seen = {"requests": [], "trouble": []}
        page.on("request", lambda request: page.seen["requests"].append(request.url))
        page.on("console", lambda message: page.seen["trouble"].append(message.text))
        page.on("pageerror", lambda error: page.seen["trouble"].append(str(error)))
        page.on("dialog", lambda dialog: page.seen["trouble"].append(dialog.message))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["three", "many", "weeks", "regions"])
def test_nothing_runs_fails_or_is_asked_for(visit, reports, name):
    address, _ = reports[name]
    page = visit(address)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.seen == {"requests": [address], "trouble": []}
    assert page.locator("script, img, iframe, link").count() == 0


def test_the_headline_and_the_numbers_are_those_of_the_json(visit, reports):
    address, summary = reports["three"]
    page = visit(address)
    shown = page.locator("h1").inner_text() + " " + page.locator(".lead").inner_text()
    assert shown.replace("\xa0", " ") == " ".join(summary["headline"].split())
    rows = page.locator("table.mix tbody tr")
    classes = summary["groups"][0]["classes"]
    assert rows.count() == len(classes)
    for number, entry in enumerate(classes):
        data = rows.nth(number).locator("data")
        values = [float(value) for value in data.evaluate_all("each => each.map(e => e.value)")]
        keys = ("share", "lower", "upper", "classify_and_count", "reference")
        assert values == [entry[key] for key in keys]
        texts = [text.replace("\xa0%", "") for text in data.all_inner_texts()]
        assert texts == [f"{100 * entry[key]:.1f}" for key in keys]


def test_names_that_look_like_html_are_shown_as_text(visit, reports):
    page = visit(reports["three"][0])
    names = page.locator("table.mix tbody th").all_inner_texts()
    assert names[:2] == [SCRIPT, ATTRIBUTE]
    assert ATTRIBUTE in page.locator(".eyebrow").inner_text()
    assert SCRIPT in page.locator("pre").inner_text()
    page = visit(reports["regions"][0])
    assert SCRIPT in page.locator("table.mix").first.inner_text()


@pytest.mark.parametrize("name", ["three", "many", "weeks", "regions"])
def test_the_page_never_scrolls_sideways(visit, reports, name):
    page = visit(reports[name][0])
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width in (320, 360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_marks_are_drawn_where_their_numbers_are(visit, reports):
    address, summary = reports["three"]
    for width in (360, 1280):
        page = visit(address, viewport={"width": width, "height": 800})
        dots = page.locator("table.mix tbody td.plot circle").all()
        places = [dot.bounding_box() for dot in dots]
        across = [place["x"] + place["width"] / 2 for place in places]
        shares = [entry["share"] for entry in summary["groups"][0]["classes"]]
        slope, start = np.polyfit(shares, across, 1)
        # Positions have two digits of a percent of the width: a tenth of a pixel.
        np.testing.assert_allclose(np.array(shares) * slope + start, across, atol=0.2)
        assert slope > width / 4


def test_light_dark_and_print_have_their_own_colours(visit, reports):
    def ground(**options):
        page = visit(reports["weeks"][0], **options)
        return page, page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground(color_scheme="light")[1] == "rgb(255, 255, 255)"
    page, dark = ground(color_scheme="dark")
    assert dark == "rgb(20, 23, 27)"
    line = page.locator("path.line").first
    assert line.evaluate("each => getComputedStyle(each).stroke") == "rgb(134, 182, 255)"
    page.emulate_media(media="print")
    printed = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert printed == "rgb(255, 255, 255)"


def test_print_opens_what_is_folded(visit, reports):
    page = visit(reports["weeks"][0])
    numbers = page.locator("table.numbers").first
    assert not numbers.is_visible()
    page.emulate_media(media="print")
    assert numbers.is_visible()


def test_boxes_that_scroll_and_folded_parts_are_reached_by_keyboard(visit, reports):
    page = visit(reports["weeks"][0], viewport={"width": 360, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    expected = page.locator("summary, [tabindex='0'], a[href]").count()
    reached = set()
    for _ in range(expected):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        )
    assert len(reached) == expected
