"""The code of the tutorials prints what they show; other pages are tested by `make test`."""

import pytest

from page_support import PAGES, compare_step, run_page

TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials" and page.stem != "index"]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_code_of_a_tutorial_prints_what_it_shows(page, tmp_path):
    for step in run_page(page, tmp_path):
        compare_step(step)
