import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from estimate_support import doubtful, estimate, sampled
from truemix import EstimateSet
from truemix.report.page import render_page
from truemix.report.summary import summarize

SCRIPT = "<script>alert(1)</script>"
MAX_BYTES = 1_500_000
MEASURES = ("precision", "recall")
CSV = "data:text/csv;charset=utf-8,"


OPEN = {"meta", "col", "br", "link", "img", "input"}
# End tags that HTML does not need and big tables leave out.
ENDED_BY = {"td": {"td", "th", "tr"}, "th": {"td", "th", "tr"}, "tr": {"tr"}}
DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
HEBREW = "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}"


class Element:
    """A tag with its attributes, the tags it is in, and the text directly inside."""

    def __init__(self, tag, attributes, parents):
        self.tag, self.attributes, self.parents, self.text = tag, dict(attributes), parents, ""


class Reader(HTMLParser):
    """All elements of a page, in order; good enough for pages that close what they open."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.stack = [], []
        self.feed(page)
        self.close()
        assert [element.tag for element in self.stack] == []

    def handle_starttag(self, tag, attrs):
        while self.stack and tag in ENDED_BY.get(self.stack[-1].tag, ()):
            self.stack.pop()
        element = Element(tag, attrs, list(self.stack))
        self.elements.append(element)
        if tag not in OPEN:
            self.stack.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, attrs, list(self.stack)))

    def handle_endtag(self, tag):
        while self.stack[-1].tag in ENDED_BY and self.stack[-1].tag != tag:
            self.stack.pop()
        assert self.stack.pop().tag == tag

    def handle_data(self, data):
        if self.stack:
            for element in self.stack:
                element.text += data

    def all(self, tag):
        return [element for element in self.elements if element.tag == tag]


def nasty(**changes):
    classes = np.array(
        [SCRIPT, "a" * 300, "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}", "&amp;"]
    )
    return sampled(np.arange(1.0, 5.0), classes=classes, **changes)


def with_performance(summary):
    """Return a summary in which the performance of the classifier is known, of a class not."""
    (group,) = summary["groups"]
    sure = summary["interval"] is not None
    bounds = {"lower": 0.8, "upper": 0.9} if sure else {"lower": None, "upper": None}
    values = {"": 0.85, "_lower": bounds["lower"], "_upper": bounds["upper"]}
    rows = [
        {"class": each["class"], **{f"{m}{e}": v for m in MEASURES for e, v in values.items()}}
        for each in group["classes"]
    ]
    rows[0] |= {"precision": None, "precision_lower": None, "precision_upper": None}
    group["performance"] = {"accuracy": {"value": 0.85, **bounds}, "classes": rows}
    return summary


def pages():
    """Return one summary of each kind of page."""
    weeks = {f"2024-W{i:02d}": sampled([20, 30, 50], seed=i, n_draws=200) for i in range(1, 6)}
    regions = {name: sampled([20, 30, 50], seed=len(name)) for name in ("a", "bb", "ccc")}
    failing = {"failed": ["R-hat is 1.2 <b>."], "ess": 100.0, "rhat": 1.2, "sampler": "nuts"}
    return {
        "two": summarize(sampled([30, 70]), command="truemix estimate 'a b.csv' <b>"),
        "three": summarize(sampled([10, 30, 60])),
        "many": summarize(sampled(np.ones(100), n_draws=100)),
        "point": summarize(estimate(4, settings={"tried": [{"a": 1}], "prior": None})),
        "one item": summarize(sampled([1, 1], n_items=1)),
        "nasty": summarize(nasty(), target="<i>t</i>.csv", reference="<i>r</i>.csv"),
        "weeks": summarize(EstimateSet(weeks), by="week"),
        "nasty weeks": summarize(
            EstimateSet({f"<i>&amp;</i> week {i}": nasty(seed=i) for i in range(3)}), by="<u>by</u>"
        ),
        "nasty regions": summarize(
            EstimateSet({f"{SCRIPT}{i}": nasty(seed=i) for i in range(3)}), by="<u>by</u>"
        ),
        "regions": summarize(EstimateSet(regions), by="region"),
        "failed": summarize(
            EstimateSet({i: sampled([2, 3], diagnostics=failing, seed=i) for i in range(20)})
        ),
        "point weeks": summarize(EstimateSet({i: estimate(3) for i in range(3)})),
        "one week": summarize(EstimateSet({"W1": sampled([2, 3])}), by="week"),
        "doubtful": with_performance(summarize(doubtful(nasty(), SCRIPT))),
        "doubtful point": with_performance(summarize(doubtful(estimate(9)))),
        "doubtful weeks": summarize(
            EstimateSet({f"{SCRIPT} week {i}": doubtful(nasty(seed=i)) for i in range(3)}),
            by="<u>by</u>",
        ),
        "doubtful regions": summarize(
            EstimateSet({"a": sampled([2, 3]), SCRIPT: doubtful(sampled([2, 3]))}), by="<u>by</u>"
        ),
    }


PAGES = pages()
HTML = {name: render_page(summary) for name, summary in PAGES.items()}


@pytest.fixture(params=PAGES)
def name(request):
    return request.param


# --- every page -------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_has_the_landmarks(name):
    reader = Reader(HTML[name])
    assert len(reader.all("h1")) == 1
    for landmark in ("header", "main", "footer"):
        assert len(reader.all(landmark)) == 1
    ids = [e.attributes["id"] for e in reader.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in reader.elements:
        for key in ("aria-labelledby",):
            assert element.attributes.get(key, ids[0]) in ids
        target = element.attributes.get("href", "#" + ids[0])
        assert target.removeprefix("#") in ids or target.startswith(CSV)


def test_nothing_is_run_and_nothing_is_loaded(name):
    reader = Reader(HTML[name])
    policy = [e.attributes for e in reader.all("meta") if "http-equiv" in e.attributes]
    assert policy[0]["http-equiv"] == "Content-Security-Policy"
    assert policy[0]["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    tags = {element.tag for element in reader.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "i", "u", "base", "form"}
    for element in reader.elements:
        assert not {key for key in element.attributes if key.startswith("on") or key == "src"}
        target = element.attributes.get("href", "#")
        assert target.startswith("#") or (target.startswith(CSV) and element.tag == "a")
    assert not re.search(r"url\(|@import|https?:", HTML[name])


def test_every_picture_has_a_name_with_its_numbers_or_a_description(name):
    reader = Reader(HTML[name])
    outer = [e for e in reader.all("svg") if not any(p.tag == "svg" for p in e.parents)]
    pictures = [svg for svg in outer if svg.attributes.get("aria-hidden") != "true"]
    assert pictures
    for svg in pictures:
        assert svg.attributes["role"] == "img"
        inside = [e for e in reader.elements if e.parents and e.parents[-1] is svg]
        assert inside[0].tag == "title"
        about = [e.text for e in inside[:2] if e.tag in {"title", "desc"}]
        assert all(text.strip() for text in about)
        assert len(about) == 2 or re.search(r"\d", about[0])


def test_tables_have_captions_and_headers_and_boxes_that_scroll_can_be_reached(name):
    reader = Reader(HTML[name])
    for table in reader.all("table"):
        nested = any(parent.tag == "td" for parent in table.parents)
        inside = {e.tag for e in reader.elements if table in e.parents}
        assert nested or "caption" in inside
    for header in reader.all("th"):
        assert header.attributes["scope"] in {"row", "col"}
    boxes = [e for e in reader.elements if "scroll" in e.attributes.get("class", "").split()]
    for box in boxes:
        assert box.attributes["tabindex"] == "0"
        assert box.attributes["aria-label"]


def test_the_page_is_the_same_from_the_json_of_the_summary(name):
    assert render_page(json.loads(json.dumps(PAGES[name]))) == HTML[name]


def test_no_number_is_missing_or_broken(name):
    text = re.sub(r"<style>.*?</style>", "", HTML[name], flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None|undefined)\b", text)
    assert not re.search(rf"[-{MINUS}]0\.0(?!\d)", re.sub(r'value="[^"]*"', "", text))


# --- what is on it ----------------------------------------------------------------------------


def shares_of(page):
    return [float(e.attributes["value"]) for e in Reader(page).all("data")]


def test_the_numbers_of_the_table_are_those_of_the_summary():
    for name in ("two", "three", "nasty", "one item"):
        [group] = PAGES[name]["groups"]
        keys = ("share", "lower", "upper", "classify_and_count", "reference")
        expected = [row[key] for row in group["classes"] for key in keys]
        assert shares_of(HTML[name]) == expected


def test_a_class_that_is_a_script_is_shown_as_text():
    reader = Reader(HTML["nasty"])
    names = [e.text for e in reader.all("th") if e.attributes.get("class") == "name"]
    assert names[0] == SCRIPT
    assert names[3] == "&amp;"
    assert len(names[1]) == 80
    full = [e.attributes["title"] for e in reader.all("th") if "title" in e.attributes]
    assert full == ["a" * 300]


def test_many_classes_are_sorted_and_all_of_them_are_there():
    page = HTML["many"]
    [group] = PAGES["many"]["groups"]
    shares = shares_of(page)[::5]
    assert shares == sorted((row["share"] for row in group["classes"]), reverse=True)
    assert "70 smaller classes" in page
    assert "sorted by their estimated share" in page
    assert "Shown are the 12 largest of 100 classes" in page


def test_a_point_estimate_speaks_of_no_interval():
    text = " ".join(e.text for e in Reader(HTML["point"]).all("body"))
    assert "interval" not in text.replace("the intervals do not show it", "")
    assert "How probable" not in text


def test_failed_checks_stand_on_top_with_a_sign_and_a_word():
    page = HTML["failed"]
    assert page.index("20 of 20 groups failed a check") < page.index("<main>")
    # One sentence for all of them, on top and among the checks, and one each where that is folded.
    head, checks = page.split("<main>")[0], page.split('<ul class="checks">')[1].split("</ul>")[0]
    assert head.count("R-hat is 1.2 &lt;b&gt;.") == checks.count("R-hat is 1.2 &lt;b&gt;.") == 1
    assert checks.count('<span aria-hidden="true">⚠</span> Failed</b>') == 1
    assert page.count('<span class="mark" title="failed a check">⚠</span>') == 20 * 2
    assert "Failed check" not in HTML["two"]
    assert "✓</span> passed" not in HTML["two"]
    assert "label shift: not checked" in HTML["two"]


def test_answers_under_other_assumptions_have_a_panel_and_their_sentences():
    page = HTML["doubtful"]
    assert "Depending on what is assumed" in page
    assert "unchanged mix (reference)" in page
    # In the panel of four classes, and as what is assumed.
    assert page.count("unchanged mix (reference)") >= 5
    # Sentences and class names are escaped.
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    nine = HTML["doubtful point"]
    assert "Shown are the 6 of 9 classes with the widest range." in nine
    assert "Depending on what is assumed" not in HTML["two"]


def test_ranges_of_groups_that_failed_are_listed():
    regions = HTML["doubtful regions"]
    assert "Ranges of groups" in regions
    rows = regions[regions.index("Ranges of groups") :].split("</table>")[0]
    # The head, and one of two groups.
    assert rows.count("<tr>") == 2
    bounds = PAGES["doubtful regions"]["groups"][-1]["range"][1]
    assert f"{100 * bounds['lower']:.1f}\xa0%" in rows


def test_the_performance_of_the_classifier_has_a_panel():
    page = HTML["doubtful"]
    assert "The classifier here" in page
    assert "<b>85.0\xa0%</b>, between 80.0\xa0% and 90.0\xa0%" in page
    assert "<b>85.0\xa0%</b>. Estimated without labels" in HTML["doubtful point"]
    assert "The classifier here" not in HTML["two"]


def test_the_numbers_behind_the_panels_are_those_of_the_groups():
    reader = Reader(HTML["weeks"])
    tables = [e for e in reader.all("table") if e.attributes.get("class") == "numbers"]
    assert len(tables) == 3
    for k, table in enumerate(tables):
        cells = [e for e in reader.elements if e.tag in {"td", "th"} and table in e.parents]
        rows = [e.text.strip().replace("\xa0", " ") for e in cells]
        found = np.reshape(rows, (-1, 6))[1:].tolist()
        for row, group in zip(found, PAGES["weeks"]["groups"], strict=True):
            entry = group["classes"][k]
            assert row[:3] == [group["group"], "200", f"{100 * entry['share']:.1f} %"]
            assert row[3] == f"{100 * entry['lower']:.1f} {DASH} {100 * entry['upper']:.1f} %"
            assert row[4] == f"{100 * entry['classify_and_count']:.1f} %"
            assert row[5] == in_words(entry["prob_increase"])


def in_words(probability):
    """Return a direction as the page names it; written again, so that both must agree."""
    if probability is None:
        return DASH
    likelier = max(probability, 1 - probability)
    if likelier < 2 / 3:
        return "direction unclear"
    where = "higher" if probability > 0.5 else "lower"
    if likelier >= 0.99:
        exact = "more than 99.9 %" if likelier > 0.999 else f"{100 * likelier:.1f} %"
        return f"almost certainly {where} ({exact})"
    return f"{'very likely' if likelier >= 0.9 else 'probably'} {where} ({100 * likelier:.0f} %)"


def test_groups_without_an_order_are_tables_side_by_side():
    reader = Reader(HTML["regions"])
    tables = [e for e in reader.all("table") if e.attributes.get("class") == "mix"]
    assert len(tables) == 3
    assert "Has risen" not in HTML["regions"]
    assert "over time" not in HTML["regions"]


def test_settings_and_the_command_are_shown():
    assert "truemix estimate &#39;a b.csv&#39; &lt;b&gt;" in HTML["two"]
    rows = [e.text for e in Reader(HTML["point"]).all("tr")]
    assert "priornone" in rows
    assert "trieda1" in rows


# --- how large it gets ------------------------------------------------------------------------


def many_groups(n_groups, n_classes, name="{}"):
    """Return a summary of so many groups, by repeating one estimate's numbers."""
    one = sampled(np.ones(n_classes), n_draws=20)
    two = summarize(EstimateSet({"W1": one, "W2": one}), by="week")
    last = two["groups"][1]
    two["groups"] = [{**last, "group": name.format(i), "quantiles": None} for i in range(n_groups)]
    return two


@pytest.mark.parametrize(
    ("n_groups", "n_classes", "says"),
    [
        (500, 10, ""),
        (200, 30, ""),
        (500, 40, "30 classes with the largest share in any group; the other 10 never exceed"),
        (600, 100, "12 classes with the largest share"),
        (5000, 2, "Drawn are the last 1,000 of 5,000 groups"),
        (5000, 20, "tables hold the last 500 of 5,000 groups"),
    ],
)
def test_pages_of_many_groups_stay_small_and_say_what_is_left_out(n_groups, n_classes, says):
    page = render_page(many_groups(n_groups, n_classes, "week {:05d} with quite a long name"))
    assert len(page.encode()) < MAX_BYTES
    assert says in page


def test_pages_of_many_unordered_groups_stay_small():
    summary = {**many_groups(3000, 3, "user {}"), "ordered": False}
    page = render_page(summary)
    assert len(page.encode()) < MAX_BYTES
    assert "1000 of 3,000 groups with the largest share" in page
    assert "Shown are the 1 of 3 classes that differ most" in page


def test_a_page_of_thousands_of_classes_stays_small():
    classes = np.array([f"{'long name ' * 6}{k}" for k in range(3000)])
    page = render_page(summarize(sampled(np.ones(3000), n_draws=20, classes=classes)))
    assert len(page.encode()) < MAX_BYTES
    assert "The smallest 2,000" in page


# --- how it looks -----------------------------------------------------------------------------


def colours():
    """Return the variables of each colour scheme, as the style sheet states them."""
    style = files("truemix.report").joinpath("templates", "style.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    schemes = [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks]
    light, dark, printed = schemes
    return {"light": light, "dark": {**light, **dark}, "print": {**light, **printed}}


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_the_guidelines_say():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ink", "paper"),
        ("ink", "panel"),
        ("muted", "paper"),
        ("accent", "paper"),
        ("warn-ink", "paper"),
        ("warn-ink", "warn-paper"),
    ],
)
def test_text_can_be_read_in_every_scheme(scheme, text, ground):
    assert contrast(colours()[scheme][text], colours()[scheme][ground]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", ["band", "middle", "paper"])
def test_marks_stand_out_from_the_bands_beneath(scheme, ground):
    # Three to one is what the guidelines ask of pictures; the estimate also has a rim of paper.
    assert contrast(colours()[scheme]["ink"], colours()[scheme][ground]) >= 3
