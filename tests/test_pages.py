"""README and docs: their code runs and prints what they say, their links lead somewhere."""

import re
from itertools import pairwise

import pytest

from page_support import PAGES, PARSER, ROOT, blocks_of, compare, compare_step, run_page

RUNS = {"python", "console"}
# Tutorials take longer; `make docs-test` runs them.
QUICK = [page for page in PAGES if page.parent.name != "tutorials"]
WITH_CODE = [page for page in QUICK if any(each.language in RUNS for each in blocks_of(page))]
ALL = [
    *PAGES,
    *sorted((ROOT / "docs").glob("decisions/*.md")),
    *sorted((ROOT / "docs").glob("results/**/*.md")),
]


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_CODE, ids=named)
def test_the_code_of_a_page_prints_what_it_shows(page, tmp_path):
    for step in run_page(page, tmp_path):
        compare_step(step)


def test_a_wrong_output_is_noticed():
    compare("ham   31.8 %\n", "ham  31.4 %", "here")
    compare("ham 31.8 %\nnew\nold\n", "ham 31.4 %\n[...]\nold", "here")
    for found in ("spam 31.8 %", "ham 33.8 %", "ham 31.8 %\nmore"):
        with pytest.raises(AssertionError):
            compare(found, "ham 31.4 %", "here")
    with pytest.raises(AssertionError):
        compare("267 items", "268 items", "here")
    compare("ham 41.8 %", "ham 33.4 %", "here", roughly=True)
    for found in ("spam 33.4 %", "ham 53.8 %"):
        with pytest.raises(AssertionError):
            compare(found, "ham 33.4 %", "here", roughly=True)


def links_of(page):
    """Return the addresses of a page's links, and its images as pairs of address and text."""
    links, images = [], []
    for token in PARSER.parse(page.read_text("utf-8")):
        for child in token.children or []:
            if child.type == "link_open":
                links.append(child.attrs["href"])
            elif child.type == "image":
                images.append((child.attrs["src"], child.content))
    return links, images


def anchors_of(page):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    tokens = PARSER.parse(page.read_text("utf-8"))
    titles = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title) for title in titles)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", ALL, ids=named)
def test_links_and_pictures_of_a_page_exist(page):
    links, images = links_of(page)
    for address in [*links, *(source for source, _ in images)]:
        if re.match(r"(https?|mailto):", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), address
        assert not anchor or anchor in anchors_of(target), address
    assert all(len(text) > 10 for _, text in images), images


@pytest.mark.parametrize("page", ALL, ids=named)
def test_a_page_begins_with_its_title(page):
    headings = [
        token.tag for token in PARSER.parse(page.read_text("utf-8")) if token.type == "heading_open"
    ]
    included = page.read_text("utf-8").startswith("```{include}")
    assert included or headings[0] == "h1"
    assert headings.count("h1") == (not included)


def test_the_numbers_of_the_readme_are_in_the_results_that_it_names():
    text = (ROOT / "README.md").read_text("utf-8").split("## Three numbers")[1].split("\n## ")[0]
    points = text.split("\n- ")[1:]
    assert len(points) == 3
    for point in points:
        said, _, source = point.partition("([")
        results = (ROOT / re.search(r"\]\((.*?)\)", source)[1]).read_text("utf-8")
        numbers = re.findall(r"\d+\.\d+|\d+x", said)
        assert numbers
        for number in numbers:
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", results), number
