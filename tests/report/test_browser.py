"""The page in a browser that nobody watches: it opens, logs no error, and its charts answer."""

import html
import json
import os
import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reinstate.files import read_json
from reinstate.report import write_page
from report.recorded import RESULTS

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium, chromium-browser or google-chrome on PATH"
)


class Seen(NamedTuple):
    dom: str
    log: str


def browse(address: str, profile: Path, *flags: str) -> Seen:
    """What a headless browser makes of an address; if it hangs, it is killed as a whole."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    # A build machine's /dev/shm is often too small for it.
    words += ["--disable-dev-shm-usage", f"--user-data-dir={profile}", *flags, address]
    with subprocess.Popen(
        [str(BROWSER), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            return Seen(*process.communicate(timeout=60))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    names = ("barcode-bandits", "water-maze", "two-step", "compositional-bandits")
    write_page([RESULTS / name for name in names], out)
    return out.as_uri()


def answers(seen: Seen) -> list[dict[str, Any]]:
    (report,) = re.findall(r'<pre[^>]*id="selftest">(.*?)</pre>', seen.dom, re.DOTALL)
    found: list[dict[str, Any]] = json.loads(html.unescape(report))
    return found


def test_charts_answer_to_pointer_keys_and_buttons(address: str, tmp_path: Path) -> None:
    seen = browse(f"{address}#selftest", tmp_path, "--dump-dom")
    assert "CONSOLE" not in seen.log, seen.log
    charts = answers(seen)
    assert len(charts) == seen.dom.count('<figure class="chart"') > 8
    assert all(chart["works"] for chart in charts), charts
    results = read_json(RESULTS / "barcode-bandits/results.json")
    regret = results["agents"]["epl2rl"]["by_exposure"]["regret"]
    low, high = regret["ci95"][0]
    said = f"regret per episode: {regret['mean'][0]:.3f}, 95% interval [{low:.3f}, {high:.3f}]"
    assert charts[1]["first"] == f"epL2RLexposure to the context: 1, {said}"


def test_without_a_wish_it_does_not_test_itself(address: str, tmp_path: Path) -> None:
    seen = browse(address, tmp_path, "--dump-dom")
    assert "CONSOLE" not in seen.log and 'id="selftest"' not in seen.dom
    assert seen.dom.count('aria-pressed="true"') > 20  # legends became buttons


def test_an_error_would_be_noticed(tmp_path: Path) -> None:
    """The log is the witness of the tests above: it has to tell."""
    page = tmp_path / "broken.html"
    page.write_text("<!doctype html><script>nothing.there</script>")
    assert "CONSOLE" in browse(page.as_uri(), tmp_path / "profile", "--dump-dom").log


def test_a_smuggled_script_does_not_run(address: str, tmp_path: Path) -> None:
    """Even if escaping failed: the page's policy allows its own script alone."""
    written = Path(address.removeprefix("file://")).read_text()
    page = tmp_path / "smuggled.html"
    page.write_text(
        written.replace("<footer>", "<script>document.title = 'taken'</script><footer>")
    )
    seen = browse(page.as_uri(), tmp_path / "profile", "--dump-dom")
    assert "<title>taken" not in seen.dom and "Content Security Policy" in seen.log


def test_nothing_is_wider_than_a_phone(address: str, tmp_path: Path) -> None:
    """In a frame as wide as a phone: a window that nobody sees cannot be so narrow."""
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<!doctype html><body style="margin:0"><iframe src="{address}" width="390" height="800">'
        "</iframe><script>onload = () => { const page = document.querySelector('iframe')"
        ".contentDocument.documentElement; document.body.dataset.widths ="
        " `${page.scrollWidth} ${page.clientWidth}`; }</script>"
    )
    flags = ("--allow-file-access-from-files", "--dump-dom")
    seen = browse(frame.as_uri(), tmp_path / "profile", *flags)
    (widths,) = re.findall(r'data-widths="(\d+ \d+)"', seen.dom)
    scroll, client = map(int, widths.split())
    assert scroll <= client <= 390


def test_a_picture_of_it_is_not_blank(address: str, tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    browse(address, tmp_path / "profile", "--window-size=1200,900", f"--screenshot={shot}")
    content = shot.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (1200, 900)
    assert len(content) > 20_000  # a blank one has some hundred bytes
