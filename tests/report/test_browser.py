"""The report in a real browser: what it shows, what it asks for, how it fits."""

import csv
import json

import numpy as np
import pytest

from browser_support import chromium
from estimate_support import doubtful, sampled
from truemix import EstimateSet
from truemix.report.page import render_page
from truemix.report.summary import summarize

DASH = "\N{EN DASH}"
SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = '"><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


def nasty():
    classes = np.array([SCRIPT, ATTRIBUTE, "a very long name " * 30])
    return sampled([10.0, 30.0, 60.0], classes=classes, n_draws=300)


def story():
    """Return months with a gap, two groups that failed a check, and a class that is rare."""
    shapes = [[70, 29, 1], [60, 39, 1], [50, 49, 1], [40, 58, 2], [20, 78, 2]]
    names = ["2024-01", "2024-02", "2024-05", "2024-06", "2024-07"]
    counted = {"train_prevalence": np.array([0.49, 0.49, 0.02])}
    months = {}
    for number, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        share = np.array(shape) / 100
        found = sampled(share * 500, seed=number, n_draws=200, classify_and_count=share, **counted)
        months[name] = doubtful(found) if number in {1, 3} else found
    overall = sampled([240.0, 253.0, 7.0], n_draws=200, **counted)
    summary = summarize(EstimateSet(months), by="month", overall=overall)
    assert [gap["n_periods"] for gap in summary["gaps"]] == [2]
    return summary


def summaries():
    weeks = {f"2024-W{i:02d}": sampled([20, 30, 50], seed=i, n_draws=200) for i in range(1, 9)}
    return {
        "three": summarize(nasty(), target=ATTRIBUTE, command=f"truemix {'x' * 300} {SCRIPT}"),
        "many": summarize(sampled(np.ones(60), n_draws=100)),
        "weeks": summarize(EstimateSet(weeks), by=ATTRIBUTE),
        "story": story(),
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


EVERY = ("three", "many", "weeks", "regions", "story")


@pytest.mark.parametrize("name", EVERY)
def test_nothing_runs_fails_or_is_asked_for(visit, reports, name):
    address, _ = reports[name]
    page = visit(address)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.seen == {"requests": [address], "trouble": []}
    assert page.locator("script, img, iframe, link").count() == 0


def test_the_headline_and_the_numbers_are_those_of_the_json(visit, reports):
    address, summary = reports["three"]
    page = visit(address)
    shown = [page.locator("h1").inner_text(), *page.locator(".lead li").all_inner_texts()]
    assert " ".join(shown).replace("\xa0", " ") == " ".join(summary["headline"].split())
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


@pytest.mark.parametrize("name", EVERY)
def test_the_page_never_scrolls_sideways(visit, reports, name):
    page = visit(reports[name][0])
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width in (320, 390, 768, 1280):
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
    # Of the radio buttons of one panel the keyboard stops at one; arrows lead to the others.
    names = page.locator("input").evaluate_all("each => each.map(e => e.name)")
    expected += len(set(names))
    reached = set()
    for _ in range(expected):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        )
    assert len(reached) == expected


# --- the story ----------------------------------------------------------------------------------


def texts(locator):
    return [text.replace("\xa0", " ") for text in locator.all_inner_texts()]


def test_the_story_is_that_of_the_json_and_its_numbers_too(visit, reports):
    address, summary = reports["story"]
    page = visit(address)
    story = [page.locator("h1").inner_text().replace("\xa0", " "), *texts(page.locator(".lead li"))]
    assert story == summary["sentences"]
    assert story[0].startswith("Overall, about ")
    values = page.locator("#mix tbody data").evaluate_all("each => each.map(e => +e.value)")
    keys = ("share", "lower", "upper", "classify_and_count", "reference")
    classes = summary["overall"]["classes"]
    assert sorted(values) == sorted(entry[key] for entry in classes for key in keys)
    changed = page.locator("#changes tbody data").evaluate_all("each => each.map(e => +e.value)")
    keys = ("difference", "lower", "upper")
    assert changed == [entry[key] for entry in summary["change"]["classes"] for key in keys]


def test_a_probability_is_never_written_beside_a_change_as_if_it_were_one(visit, reports):
    page = visit(reports["story"][0])
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    text = page.locator("body").inner_text().replace("\xa0", " ")
    assert "almost certainly lower (more than 99.9 %)" in text
    assert " points (" in text
    for word in ("risen", "rose", "fallen", "▲", "▼"):
        assert word not in text


def test_groups_that_failed_are_named_once_and_marked_in_charts_and_tables(visit, reports):
    page = visit(reports["story"][0])
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    alert = page.locator(".alert").inner_text()
    assert "2 of 5 groups failed a check" in alert
    assert alert.count("month 2024-02") == alert.count("month 2024-06") == 1
    # A wash, a cross and the range of other answers in each panel.
    for panel in page.locator("#groups .panel").all():
        assert panel.locator("rect.failed").count() == 2
        assert panel.locator("symbol line.doubt").count() == 2
    for table in page.locator("table.numbers").all():
        marked = table.locator("tr.bad th").all_inner_texts()
        assert [text.split()[-1] for text in marked] == ["2024-02", "2024-06"]
        assert "failed a check" in marked[0]


def test_periods_without_items_are_gaps_in_charts_and_said_in_tables(visit, reports):
    page = visit(reports["story"][0])
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.locator("#groups rect.missing").count() == 3
    for line in page.locator("#groups path.counted-line[d]").all():
        if line.locator("xpath=ancestor::symbol").count():
            assert line.get_attribute("d").count("M") == 2
    row = page.locator("table.numbers").first.locator("tr.gap")
    assert row.inner_text().split() == ["2024-03", "to", "2024-04", "0", "no", "items"]


def test_focus_and_pointer_show_the_numbers_of_a_group(visit, reports):
    address, summary = reports["story"]
    page = visit(address, viewport={"width": 390, "height": 800})
    spots = page.locator(".spots").first
    shown = spots.locator("span:visible")
    tips = spots.locator("span")

    def numbers(group):
        entry = summary["groups"][group]["classes"][0]
        share, lower, upper = (f"{100 * entry[key]:.1f}" for key in ("share", "lower", "upper"))
        return f"{share} % ({lower} {DASH} {upper} %)"

    def visible():
        return [
            text.replace("\xa0", " ")
            for text in tips.evaluate_all(
                "each => each.filter(e => getComputedStyle(e).display !== 'none')"
                ".map(e => e.innerText)"
            )
        ]

    assert shown.count() == 0
    spots.locator("input").first.focus()
    [text] = visible()
    assert text.startswith("2024-01 ")
    assert numbers(0) in text
    page.keyboard.press("ArrowRight")
    [text] = visible()
    assert numbers(1) in text
    assert "failed a check" in text
    spots.locator("label").last.hover()
    [text] = visible()
    assert numbers(4) in text
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390


def test_a_rare_class_can_be_seen_on_its_own_axis_without_a_script(visit, reports):
    page = visit(reports["story"][0])
    rare = page.locator("#groups .panel").nth(2)
    own, same = rare.locator("g.own text").first, rare.locator("g.same text").first
    assert own.is_visible()
    assert not same.is_visible()
    page.locator("input[name=scale]").first.check()
    assert same.is_visible()
    assert not own.is_visible()


def test_the_data_can_be_downloaded_and_no_name_is_a_formula(visit, browser, tmp_path):
    classes = np.array(["=1+1", "a, b", '"quoted"'])
    weeks = {i: sampled([20, 30, 50], seed=i, n_draws=100, classes=classes) for i in (1, 2)}
    summary = summarize(EstimateSet(weeks))
    path = tmp_path / "page.html"
    path.write_text(render_page(summary), encoding="utf-8")
    page = visit(path.as_uri())
    with page.expect_download() as download:
        page.locator("a[download]").click()
    assert download.value.suggested_filename == "truemix-report.csv"
    with download.value.path().open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["class"] for row in rows[:3]] == ["'=1+1", "a, b", '"quoted"']
    found = [[float(row[key]) for key in ("share", "lower", "upper")] for row in rows]
    entries = [entry for group in summary["groups"] for entry in group["classes"]]
    assert found == [[entry[key] for key in ("share", "lower", "upper")] for entry in entries]
    assert page.seen["trouble"] == []
