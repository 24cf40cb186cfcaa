"""One browser for all tests of pages: to start one takes longer than to load a page."""

from collections.abc import Iterator

import pytest

from page.chromium import BROWSER, Browser


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if BROWSER is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def browser(started: Browser) -> Iterator[Browser]:
    """The browser, for the tests of one module: tabs that they open are closed."""
    yield started
    started.close_tabs()
