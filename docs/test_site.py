"""The built site in a browser: nothing is missing, nothing is asked for elsewhere, all of it fits.

``make docs-test`` builds the site and runs this.
"""

from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from browser_support import chromium

SITE = Path(__file__).parents[1] / "build" / "site"
PAGES = sorted(SITE.rglob("*.html"))
# One of each kind: these are looked at closely.
KINDS = [
    "index.html",
    "tutorials/support-tickets.html",
    "how-to/which-method.html",
    "explanation/geometry.html",
    "explanation/one-matrix.html",
    "reference/command-line.html",
    "reference/api.html",
    "reference/generated/truemix.BayesianKDEy.html",
    "results/paper/comparison.html",
    "quapy.html",
]
LINKS = "[...document.querySelectorAll('a[href]')].map(each => each.href)"
IDS = "[...document.querySelectorAll('[id]')].map(each => each.id)"
BROKEN = (
    "[...document.images].filter(each => !each.complete || !each.naturalWidth || !each.alt)"
    ".map(each => each.src)"
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser):
    """Open a page of the site; ``page.seen`` has what it asked for and complained about."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def open_page(name):
        page = context.new_page()
        page.seen = {"requests": [], "trouble": []}
        page.on("request", lambda request: page.seen["requests"].append(request.url))
        page.on("requestfailed", lambda request: page.seen["trouble"].append(request.url))
        page.on(
            "console",
            lambda message: (
                message.type in {"error", "warning"} and page.seen["trouble"].append(message.text)
            ),
        )
        page.on("pageerror", lambda error: page.seen["trouble"].append(str(error)))
        page.goto((SITE / name).as_uri())
        return page

    yield open_page
    context.close()


def test_all_pages_load_their_parts_from_the_site_and_their_links_lead_somewhere(visit):
    root = SITE.as_uri()
    ids, links = {}, []
    for path in PAGES:
        page = visit(path.relative_to(SITE))
        assert page.seen["trouble"] == [], path
        outside = [each for each in page.seen["requests"] if not each.startswith((root, "data:"))]
        assert outside == [], path
        page.evaluate("document.querySelectorAll('img').forEach(each => each.loading = 'eager')")
        page.wait_for_load_state("networkidle")
        assert page.evaluate(BROKEN) == [], path
        ids[path.as_uri()] = set(page.evaluate(IDS))
        links += [(path, link) for link in page.evaluate(LINKS)]
        page.close()
    assert len(ids) > 100
    for path, link in links:
        address, anchor = urldefrag(link)
        if not address.startswith(root):
            assert address.startswith(("https://", "mailto:")), (path, link)
            continue
        assert Path(unquote(address.removeprefix("file://"))).exists(), (path, link)
        if anchor and address in ids:
            assert unquote(anchor) in ids[address], (path, link)


@pytest.mark.parametrize("name", KINDS)
def test_a_page_never_scrolls_sideways(visit, name):
    page = visit(name)
    for width in (360, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_search_finds_pages_without_a_server(visit):
    page = visit("search.html?q=shrinkage")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Aitchison geometry and shrinkage" in text for text in found)
    assert page.seen["trouble"] == []


def test_the_menu_opens_on_a_phone(visit):
    page = visit("how-to/which-method.html")
    page.set_viewport_size({"width": 390, "height": 800})
    link = page.locator("a", has_text="How many items").first
    page.locator(".pst-navbar-icon, .primary-toggle").first.click()
    page.wait_for_timeout(300)
    assert link.is_visible()
