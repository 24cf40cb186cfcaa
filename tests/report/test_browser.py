"""The page in a browser that nobody watches: it opens, logs no error, and its charts answer."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from reinstate.experiments import EXPERIMENTS
from reinstate.figures.markup import with_bounds
from reinstate.figures.style import DARK, LABELS, LIGHT
from reinstate.files import read_json
from reinstate.report import load, page_of, write_page
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
    write_page([RESULTS / name for name in EXPERIMENTS], out)
    return out.as_uri()


def answers(seen: Seen) -> list[dict[str, Any]]:
    (report,) = re.findall(r'<pre[^>]*id="selftest">(.*?)</pre>', seen.dom, re.DOTALL)
    found: list[dict[str, Any]] = json.loads(html.unescape(report))
    return found


def test_charts_answer_to_pointer_keys_and_buttons(address: str, tmp_path: Path) -> None:
    seen = browse(f"{address}#selftest", tmp_path, "--dump-dom")
    assert "CONSOLE" not in seen.log, seen.log
    found = {each["id"]: each for each in answers(seen)}
    kinds = [seen.dom.count(f'<figure class="{kind}') for kind in ("chart", "replay", "map")]
    assert len(found) == sum(kinds) and kinds[0] > 8 and min(kinds) > 0
    assert all(each["works"] for each in found.values()), found
    # One tip for all series: where, what, then a line for each, in the order of height.
    results = read_json(RESULTS / "barcode-bandits/results.json")
    where, what, *lines = found["barcode-bandits-chart-2"]["first"].split("\n")
    assert (where, what) == ("exposure to the context: 1", "regret per episode")
    for name, agent in results["agents"].items():
        regret = agent["by_exposure"]["regret"]
        said = with_bounds(regret["mean"][0], regret["ci95"][0])
        assert f"{LABELS[name]}: {said}" in lines
    assert len(lines) == len(results["agents"]) + 3  # and three algorithms
    assert found["replay-water-maze-1"]["said"].endswith(" of 16")
    kept = read_json(RESULTS / "water-maze/memory-map.json")
    map_ = found["water-maze-map"]
    assert map_["found"] == len(kept["panels"])  # the same context after every exposure
    first = kept["panels"][0]["label"][kept["panels"][0]["context"].index(0)]
    assert map_["first"] == f"goal {first + 1}\ncontext 1, after 1 exposure"


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


WIDTHS = {390: 844, 768: 1024, 1280: 800}  # of screens, with their heights
MEASURE = """
onload = () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const box = (name) => page.querySelector(name).getBoundingClientRect();
    for (const each of page.querySelectorAll("#claims details, .printed")) each.open = true;
    const cells = page.querySelectorAll(".claims td:nth-child(n + 3), .scores td:nth-child(2)");
    found[frame.width] = {
      wide: page.documentElement.scrollWidth, room: page.documentElement.clientWidth,
      top: box(".chart .plot").top, bottom: box(".chart .plot").bottom,
      card: box(".card .verdicts").bottom,
      right: Math.max(...[...cells].map((cell) => cell.getBoundingClientRect().right)),
    };
  }
  document.body.dataset.found = JSON.stringify(found);
};
"""


def frames(folder: Path, address: str, script: str = "") -> str:
    """Make a page that shows another at all widths: a window that nobody sees is never narrow."""
    page = folder / "frames.html"
    shown = "".join(
        f'<iframe src="{address}" width="{width}" height="{height}"></iframe>'
        for width, height in WIDTHS.items()
    )
    style = "<style>body{margin:0;display:flex;align-items:start}iframe{border:0;flex:none}</style>"
    page.write_text(f"<!doctype html>{style}{shown}<script>{script}</script>")
    return page.as_uri()


def test_a_screen_shows_the_first_chart_and_nothing_is_wider(address: str, tmp_path: Path) -> None:
    shown = frames(tmp_path, address, MEASURE)
    seen = browse(shown, tmp_path / "profile", "--allow-file-access-from-files", "--dump-dom")
    (found,) = re.findall(r'data-found="([^"]+)"', seen.dom)
    for width, box in json.loads(html.unescape(found)).items():
        assert box["wide"] <= box["room"] <= int(width), width
        assert box["card"] < WIDTHS[int(width)], width  # verdicts, at once
    sizes = {int(width): box for width, box in json.loads(html.unescape(found)).items()}
    assert sizes.keys() == WIDTHS.keys()
    assert sizes[1280]["bottom"] <= WIDTHS[1280]  # all of it
    assert sizes[390]["bottom"] <= 2 * WIDTHS[390]
    # Of the folded tables, verdicts and numbers are seen without scrolling.
    assert sizes[390]["right"] <= 390 and sizes[768]["right"] <= 768


def test_it_is_light_or_dark_as_the_reader_wishes(address: str, tmp_path: Path) -> None:
    """Its pictures are kept in the folder that REINSTATE_SHOTS names, to be looked at."""
    folder = Path(os.environ.get("REINSTATE_SHOTS", tmp_path))
    size = f"--window-size={sum(WIDTHS)},{max(WIDTHS.values())}"
    for scheme, background in ((0, DARK), (1, LIGHT)):
        shot = folder / f"report-{'light' if scheme else 'dark'}.png"
        flags = (size, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
        browse(frames(tmp_path, address), tmp_path / "profile", *flags)
        with Image.open(shot) as picture:
            pixels = np.asarray(picture.convert("RGB"))  # (height, width, 3)
        for left, width in zip(np.cumsum([0, *WIDTHS]), WIDTHS, strict=False):  # of each frame
            assert "#" + bytes(pixels[3, left + 3]).hex() == background, (left, scheme)
            assert pixels[: min(WIDTHS.values()), left : left + width].std() > 10  # not blank


def test_five_experiments_print_on_ten_pages(address: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("REINSTATE_SHOTS", tmp_path))
    printed = folder / "report.pdf"
    browse(address, tmp_path / "profile", "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 3 < len(pages) <= 10


AXE = [
    Path(os.environ.get("REINSTATE_AXE", "axe.min.js")),
    RESULTS.parent / "node_modules/axe-core/axe.min.js",
]
RUN_AXE = """
onload = async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const told = found.violations.map((each) =>
    `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
  document.title = JSON.stringify({ told, passes: found.passes.length });
};
"""


@pytest.mark.skipif(not any(map(Path.is_file, AXE)), reason="no axe-core: npm install axe-core")
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
def test_axe_finds_no_violation(tmp_path: Path, scheme: int) -> None:
    """On a page of one experiment, without its policy, which would not let axe run."""
    page = page_of(load([RESULTS / "water-maze"]))
    open_page = re.sub(r"<meta http-equiv[^>]*>", "", page)
    axe = next(filter(Path.is_file, AXE)).read_text()
    out = tmp_path / "axe.html"
    out.write_text(
        open_page.replace("</body>", f"<script>{axe}</script><script>{RUN_AXE}</script></body>")
    )
    flags = (
        f"--blink-settings=preferredColorScheme={scheme}",
        "--virtual-time-budget=20000",
        "--dump-dom",
    )
    seen = browse(out.as_uri(), tmp_path / "profile", *flags)
    (found,) = re.findall(r"<title>(\{.*?\})</title>", seen.dom)
    told = json.loads(html.unescape(found))
    assert told["told"] == [] and told["passes"] > 10
