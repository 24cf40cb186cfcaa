"""The documentation: its commands parse, its code runs, its numbers are the recorded ones.

Whether the pages build without a warning is for `make docs` to say.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sphinx.application import Sphinx

import docstrings
import reinstate_paper
import results
from fill_pages import BLOCK, pages
from reinstate import cli, registry
from reinstate.runs.experiment import EXPERIMENTS, Experiment
from reinstate.testing import check_task

ROOT = Path(__file__).parents[1]
# As they were written: whether what `make tables` puts into them is right is for checks/ to say.
PAGES = {
    path.relative_to(ROOT / "docs").as_posix(): BLOCK.sub("", path.read_text(encoding="utf-8"))
    for path in pages()
    if path.is_relative_to(ROOT / "docs")
}
FENCE = re.compile(r"^```(\S*)(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = ("", "bash", "console", "sh")
LAUNCHER = re.compile(r"^(?:\s|\$ |srun |exec |\w+=\S+ )+")  # what may stand before a command
SPAN = re.compile(r"(?<!`)`([^`]+)`")


def fences(page: str, kind: str) -> list[tuple[str, str]]:
    """Argument and body of each fenced block of a kind."""
    return [
        (found[2].strip(), found[3]) for found in FENCE.finditer(PAGES[page]) if found[1] == kind
    ]


def spans(page: str) -> list[str]:
    """Code within sentences, on one line each."""
    return [" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", PAGES[page]))]


def parse(line: str) -> None:
    """Understand a command line, as `main` does before it acts."""
    program, *arguments = shlex.split(line)
    assert program == "reinstate"
    try:
        cli.parse(arguments)
    except SystemExit as end:
        assert end.code in (None, 0)  # --help


def commands_of(page: str) -> list[str]:
    bodies = [body for kind in SHELLS for _, body in fences(page, kind)]
    lines = [line for body in bodies for line in body.replace("\\\n", " ").splitlines()]
    lines = [LAUNCHER.sub("", line) for line in lines]
    lines += [span for span in spans(page) if len(span.split()) > 2]
    return [re.split("[#>]", line)[0] for line in lines if line.startswith("reinstate ")]


def blocks_of(page: str) -> list[str]:
    return [body for _, body in fences(page, "python")]


@pytest.mark.parametrize("page", [p for p in PAGES if commands_of(p) and not blocks_of(p)])
def test_commands_parse(page: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for line in commands_of(page):
        parse(line.replace("~", str(tmp_path)))


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("experiments/")])
def test_flags_in_the_text_exist(page: str) -> None:
    name = re.sub(r"experiments/(\d-)?|\.md", "", page)
    if name == "index":
        name = "barcode-bandits"
    verb = "train" if name in EXPERIMENTS else "optimum"
    for span in spans(page):
        if span.startswith("--"):
            parse(f"reinstate {verb} {name} {span}")


RunPage = Callable[[str], dict[str, Any]]


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPage:
    """Run a page's code in an empty folder, then parse its commands; forget what it registers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").symlink_to(ROOT / "results")
    known = {kind: dict(things) for kind, things in registry._registered.items()}
    monkeypatch.setattr(registry, "_registered", known)

    def run(page: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "page"}
        for body in blocks_of(page):
            exec(compile(body, page, "exec"), names)
        for line in commands_of(page):
            parse(line)
        return names

    return run


def test_every_page_with_code_is_run_here() -> None:
    tested = set(re.findall(r'run_page\("([^"]+)"\)', Path(__file__).read_text()))
    assert {page for page in PAGES if blocks_of(page)} == tested


def test_a_world_of_your_own(run_page: RunPage, tmp_path: Path) -> None:
    names = run_page("how-to/add-a-task.md")
    assert len(names["scores"]["by_exposure"]["regret"]["mean"]) == 3
    assert names["again"].experiment.name == "higher-lower"
    assert names["again"].settings == names["trained"].settings
    assert cli.main(["optimum", "guessing", "--task.numbers", "16", "--json"]) == 0
    check_task(names["HigherLower"]())


def test_a_memory_of_your_own(run_page: RunPage, capsys: pytest.CaptureFixture[str]) -> None:
    """It could not be trained once, and came back from disk as a plain DND."""
    names = run_page("how-to/add-a-memory.md")
    reticent, loaded, last, *_ = capsys.readouterr().out.splitlines()
    assert reticent == "[1. 1. 1.] [0. 0. 0.]"
    assert loaded == "Reticent(capacity=6, k=1, distance='cosine', delta=0.001, reach=0.1)"
    assert last == "[-1  0  1  2  3  4]"
    assert names["trained"].rewards.shape == (2, 1)


def test_an_agent_of_your_own(run_page: RunPage) -> None:
    names = run_page("how-to/add-an-agent.md")
    assert names["size"].shape == (1, 100, 6, 4) and names["size"].max() > 0
    record = names["record"]
    reward, again = np.asarray(record.reward).sum(axis=-1), np.asarray(names["again"])
    assert reward[again].mean() > reward[~again].mean() + 0.5


def test_an_environment_in_jax(run_page: RunPage) -> None:
    run_page("how-to/jax-environments.md")


def test_the_cell_and_the_memory_in_other_models(run_page: RunPage) -> None:
    names = run_page("how-to/cell-and-memory.md")
    assert names["found"].written[:, 0].tolist() == [1] * 4
    np.testing.assert_array_equal(names["again"].weight, names["cell"].weight)


def test_the_large_memories(run_page: RunPage, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("how-to/large-memories.md")
    assert capsys.readouterr().out.split("\n")[-2:] == ["True", ""]


def test_a_notebook(run_page: RunPage) -> None:
    names = run_page("how-to/notebook.md")
    np.testing.assert_array_equal(names["again"].rewards, names["trained"].rewards)
    assert names["results"].rewards()["epl2rl"].ndim == 1
    assert "checks" in names["schema"]["$defs"]["Results"]["required"]


def test_a_tracker_of_your_own(run_page: RunPage, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("how-to/tracking.md")
    *epochs, done = capsys.readouterr().out.splitlines()[:5]
    assert [line[:16] for line in epochs] == [f"epl2rl epoch {n}: " for n in (1, 2, 3, 4)]
    assert done == "done"


def test_fits_of_your_own_choices(run_page: RunPage) -> None:
    assert run_page("how-to/fit-choices.md")["found"]["group"]["cued"]["EMB"]["mean"] > 0.5


def test_embeddings_of_your_own(run_page: RunPage) -> None:
    assert np.mean(run_page("how-to/own-embeddings.md")["right"]) > 0.9


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    """A page of the API, built with the configuration of the documentation."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    modules = ("cell", "memory", "player", "agent", "evaluation", "runs.experiment")
    lines = ["An option such as --task.scale.", "", "```{eval-rst}"]
    lines += [f".. automodule:: reinstate.{name}" for name in modules] + ["```"]
    (source / "index.md").write_text("\n".join(["# Page", "", *lines, ""]))
    app = Sphinx(source, ROOT / "docs", out, out, "xml", status=None, warning=None)
    app.build()
    return ElementTree.parse(out / "index.xml").getroot()


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a formula and a command, as readers get it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    lines = [
        "# Page",
        "Here $c_t$ is:",
        "$$\nc_t = f \\circ c_{t-1}\n$$",
        "```\nreinstate list\n```",
        "| a | b |\n|---|---|\n| 2.38 [2.37, 2.40]: 99% | 8.7 ± 0.1 |",
    ]
    (source / "index.md").write_text("\n\n".join([*lines, ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "write_page", lambda *_: None)
        app = Sphinx(source, ROOT / "docs", out, out, "html", status=None, warningiserror=True)
        app.build()
    return (out / "index.html").read_text(encoding="utf-8")


def test_formulas_are_set_by_the_browser_and_nothing_is_fetched(html: str) -> None:
    assert len(re.findall("<math [^>]*>", html)) == 2 and 'display="block"' in html
    assert "<msub><mi>c</mi><mi>t</mi></msub>" in html and "$" not in html.partition("<body>")[2]
    assert not re.findall(r"""(?:src|<link[^>]*href)=["'](?:https?:)?//[^"']*""", html)


def test_intervals_in_tables_stay_in_one_piece(html: str) -> None:
    assert "2.38 [2.37,\xa02.40]: 99%" in html and "8.7\xa0±\xa00.1" in html


def test_calls_that_readme_teaches_are_listed(built: ElementTree.Element) -> None:
    listed = {name for each in built.iter("desc_signature") for name in each.get("ids", "").split()}
    for call in (
        "cell.EpisodicLSTMCell.__call__",
        "cell.EpisodicLSTMCell.initial_state",
        "memory.DND.empty",
        "memory.DND.read",
        "memory.DND.write",
        "player.Player.__call__",
        "agent.make_agent",
        "evaluation.evaluate",
        "runs.experiment.Experiment.preset",
    ):
        assert f"reinstate.{call}" in listed
    assert not [name for name in listed if "._" in name.replace(".__call__", "")]


def test_defaults_are_names_and_no_addresses(built: ElementTree.Element) -> None:
    (experiment,) = (
        each
        for each in built.iter("desc_signature")
        if each.get("ids") == "reinstate.runs.experiment.Experiment"
    )
    text = "".join(experiment.itertext())
    assert "= no_checks" in text
    assert " at 0x" not in text and "<" not in text


def test_docstrings_keep_the_lines_of_equations() -> None:
    literal = docstrings.literal_layouts
    lines = ["One sentence,", "on two lines.", "", "a  = b    (why)", "cc = d", "", "- x", "  y"]
    assert literal(lines) == [
        *("One sentence,", "on two lines.", "", "::", ""),
        *("    a  = b    (why)", "    cc = d", "", "- x", "  y", ""),
    ]
    assert literal(["Before", "", "    x = y"])[2:] == ["::", "", "        x = y", ""]


def test_fields_are_explained_by_the_comment_behind_them() -> None:
    assert docstrings.comment_of("reinstate.memory.Contents.keys") == "(capacity, key_size)"
    name = "reinstate.runs.experiment.Experiment"
    fields = docstrings.explained_fields(Experiment, name)
    assert "- `optimum`: of the task" in fields and not any("`name`" in line for line in fields)


def test_the_page_of_results_is_built_beside_the_others(tmp_path: Path) -> None:
    app: Any = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    results.write_pages(app, OSError())  # what failed elsewhere leaves no page
    assert not list(tmp_path.iterdir())
    results.write_pages(app, None)
    page = (tmp_path / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in reinstate_paper.PAPER_EXPERIMENTS)


def test_pages_can_be_read_as_plain_files() -> None:
    """All that Sphinx has to fill in is the list of pages, and what docstrings say."""
    for page, text in PAGES.items():
        directives = {found[1] for found in FENCE.finditer(text) if found[1].startswith("{")}
        assert directives <= {"{toctree}", "{eval-rst}"}, page
        assert "[](" not in text, page


def test_pages_name_no_absolute_paths() -> None:
    for page, text in PAGES.items():
        assert not re.search(r"(?<![\w.\])])/(work|tmp|root|home)\b", text), page
