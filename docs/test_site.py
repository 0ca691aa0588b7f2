"""The built site in a browser: nothing is missing, nothing is asked for elsewhere, all of it fits.

``make docs-test`` builds the site and runs this.
"""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag

import pytest

from browser_support import chromium

SITE = Path(__file__).parents[1] / "build" / "site"
ROOT = SITE.as_uri()
PAGES = [
    path
    for path in sorted(SITE.rglob("*.html"))
    if not path.relative_to(SITE).parts[0].startswith("_")
]
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
# Pictures further down are loaded when they come into view.
LOAD = """Promise.all([...document.images].map(each => {
    each.loading = "eager";
    return each.decode().catch(() => null);
}))"""
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

    def open_page(name, base=ROOT):
        page = context.new_page()
        page.seen = {"requests": [], "trouble": []}
        page.on("request", lambda request: page.seen["requests"].append(request.url))
        # A page that is left drops what is still on its way.
        page.on(
            "requestfailed",
            lambda request: (
                request.failure != "net::ERR_ABORTED" and page.seen["trouble"].append(request.url)
            ),
        )
        page.on(
            "console",
            lambda message: (
                message.type in {"error", "warning"} and page.seen["trouble"].append(message.text)
            ),
        )
        page.on("pageerror", lambda error: page.seen["trouble"].append(str(error)))
        page.goto(f"{base}/{name}")
        return page

    yield open_page
    context.close()


def test_all_pages_load_their_parts_from_the_site_and_their_links_lead_somewhere(visit):
    ids, links = {}, set()
    page = visit("index.html")
    for path in PAGES:
        page.seen["requests"].clear()
        page.goto(path.as_uri())
        assert page.seen["trouble"] == [], path
        outside = [each for each in page.seen["requests"] if not each.startswith((ROOT, "data:"))]
        assert outside == [], path
        page.evaluate(LOAD)
        assert page.evaluate(BROKEN) == [], path
        ids[path.as_uri()] = set(page.evaluate(IDS))
        links |= {(path, link) for link in page.evaluate(LINKS)}
    assert len(ids) > 100
    for path, link in links:
        address, anchor = urldefrag(link)
        if not address.startswith(ROOT):
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


@pytest.fixture
def served():
    """Serve the site on this machine; search reads pages, which files may not."""
    handler = partial(QuietHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line on stderr for each."""

    def log_message(self, *_):
        pass


def test_search_finds_pages(visit, served):
    page = visit("search.html?q=shrinkage", served)
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Aitchison geometry and shrinkage" in text for text in found)
    page.wait_for_load_state("networkidle")
    assert page.seen["trouble"] == []
    assert all(each.startswith((served, "data:")) for each in page.seen["requests"])


def test_the_menu_opens_on_a_phone(visit):
    page = visit("how-to/which-method.html")
    page.set_viewport_size({"width": 390, "height": 800})
    link = page.locator("a", has_text="How many items").first
    page.locator(".pst-navbar-icon, .primary-toggle").first.click()
    page.wait_for_timeout(300)
    assert link.is_visible()
