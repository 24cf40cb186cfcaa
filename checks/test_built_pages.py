"""Pages of the documentation, as `make docs` built them, held to axe-core's rules in a browser."""

from pathlib import Path

import pytest

from page import axe
from page.chromium import BROWSER, Browser, Page

BUILT = Path(__file__).parents[1] / "docs" / "_build"


def pages() -> list[Path]:
    """List every page but listings of source."""
    return sorted(path for path in BUILT.rglob("*.html") if "_modules" not in path.parts)


@axe.needed
@pytest.mark.skipif(BROWSER is None, reason="no browser")
@pytest.mark.skipif(not pages(), reason="no pages: make docs")
def test_axe_finds_no_violation(tmp_path: Path) -> None:
    found = {}
    with Browser(tmp_path) as browser:
        page = Page(browser)
        for number, path in enumerate(pages()):
            page.open(path.as_uri())
            axe.load(page)
            # Colours are the theme's, the same on all pages: every other one is seen in the dark.
            page.prefer("dark" if number % 2 else "light")
            if told := axe.violations(page):
                found[path.relative_to(BUILT).as_posix()] = told
    assert found == {}
