"""The documentation: its commands parse, its code runs, its numbers are the recorded ones.

Whether the pages build without a warning is for `make docs` to say.
"""

import inspect
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from sphinx.application import Sphinx

import docstrings
import results
from reinstate import cli
from reinstate.experiments import EXPERIMENTS
from reinstate.tasks.water_maze import WaterMaze
from tasks import test_contract as contract

ROOT = Path(__file__).parents[1]
PAGES = {str(p.relative_to(ROOT / "docs")): p.read_text() for p in (ROOT / "docs").rglob("*.md")}
FENCE = re.compile(r"^```(\S*)(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def commands() -> list[str]:
    lines = [line for page in PAGES for _, body in fences(page, "") for line in body.splitlines()]
    lines += [span for page in PAGES for span in spans(page) if len(span.split()) > 2]
    return [line.partition("#")[0] for line in lines if line.startswith("reinstate ")]


def test_commands_parse() -> None:
    found = commands()
    assert len(found) > 30
    for line in found:
        parse(line)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("experiments/")])
def test_flags_in_the_text_exist(page: str) -> None:
    name = re.sub(r"experiments/(\d-)?|\.md", "", page)
    if name == "index":
        name = "barcode-bandits"
    verb = "train" if name in EXPERIMENTS else "optimum"
    for span in spans(page):
        if span.startswith("--"):
            parse(f"reinstate {verb} {name} {span}")


def blocks_of(page: str) -> list[str]:
    return [body for _, body in fences(page, "python")]


def run_page(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    for body in blocks_of(page):
        exec(compile(body, page, "exec"), names)
    return names


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quickly() -> Iterator[None]:
    """Code that runs once is not worth optimising."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def test_every_page_with_code_is_run_here() -> None:
    run = {"add-a-task", "add-a-memory", "add-an-agent", "fit-choices", "own-embeddings"}
    assert {page for page in PAGES if blocks_of(page)} == {f"how-to/{name}.md" for name in run}


def test_the_world_of_the_how_to_trains_and_keeps_the_contract(quickly: None) -> None:
    names = run_page("how-to/add-a-task.md")
    assert len(names["scores"]["by_exposure"]["regret"]["mean"]) == 3
    keep_contract(names["HigherLower"]())


def keep_contract(world: Any) -> None:
    """All tests of the contract, with what its fixtures would give."""
    epochs = jax.jit(partial(jax.lax.map, world.sample_epoch))(contract.keys(contract.LANES))
    which = np.arange(contract.EPISODES) % (contract.LANES * world.episodes_per_epoch)
    tasks = jax.tree.map(lambda x: np.asarray(x).reshape(-1, *x.shape[2:])[which], epochs)
    play = jax.jit(jax.vmap(partial(contract.play_at_random, world)))
    values = {
        "world": world,
        "epochs": epochs,
        "task": jax.tree.map(lambda x: np.asarray(x)[0, 0], epochs),
        "contexts": np.asarray(jax.vmap(jax.vmap(world.contexts))(epochs)),
        "played": play(tasks, contract.keys(contract.EPISODES)),
    }
    tests = {name: test for name, test in vars(contract).items() if name.startswith("test_")}
    assert len(tests) > 10
    for test in tests.values():
        test(**{name: values[name] for name in inspect.signature(test).parameters})


def test_the_memories_of_the_how_to_play(quickly: None, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("how-to/add-a-memory.md")
    reticent, last = capsys.readouterr().out.splitlines()
    assert reticent == "[1. 1. 1.] [0. 0. 0.]"
    assert last == "[-1  0  1  2  3  4]"


def test_the_player_of_the_how_to_recalls(quickly: None) -> None:
    from reinstate.agent import AGENTS

    try:
        names = run_page("how-to/add-an-agent.md")
    finally:
        AGENTS.pop("epl2rl-context", None)
    reward, again = np.asarray(names["record"].reward).sum(axis=-1), np.asarray(names["again"])
    assert reward[again].mean() > reward[~again].mean() + 0.5


def test_the_fit_of_the_how_to_runs(in_folder: None) -> None:
    assert run_page("how-to/fit-choices.md")["found"]["group"]["cued"]["EMB"]["mean"] > 0.5


def test_embeddings_of_the_how_to_are_recognised(in_folder: None, quickly: None) -> None:
    assert np.mean(run_page("how-to/own-embeddings.md")["right"]) > 0.9


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    """A page of the API, built with the configuration of the documentation."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    modules = ("cell", "memory", "agent", "evaluation", "experiments.base")
    lines = ["An option such as --task.scale.", "", "```{eval-rst}"]
    lines += [f".. automodule:: reinstate.{name}" for name in modules] + ["```"]
    (source / "index.md").write_text("\n".join(["# Page", "", *lines, ""]))
    app = Sphinx(source, ROOT / "docs", out, out, "xml", status=None, warning=None)
    app.build()
    return ElementTree.parse(out / "index.xml").getroot()


def test_calls_that_readme_teaches_are_listed(built: ElementTree.Element) -> None:
    listed = {name for each in built.iter("desc_signature") for name in each.get("ids", "").split()}
    for call in (
        "cell.EpisodicLSTMCell.__call__",
        "cell.EpisodicLSTMCell.initial_state",
        "memory.DND.empty",
        "memory.DND.read",
        "memory.DND.write",
        "agent.Player.__call__",
        "agent.make_agent",
        "evaluation.evaluate",
        "experiments.base.Experiment.preset",
    ):
        assert f"reinstate.{call}" in listed
    assert not [name for name in listed if "._" in name.replace(".__call__", "")]


def test_what_has_no_docstring_is_listed_if_it_can_be_called() -> None:
    def undocumented() -> None: ...

    for name, thing, expected in (("f", undocumented, False), ("_f", undocumented, None)):
        assert docstrings.keep(SimpleNamespace(), "module", name, thing, True, None) is expected
    assert docstrings.keep(SimpleNamespace(), "module", "N", 7, True, None) is None


def test_defaults_are_names_and_no_addresses(built: ElementTree.Element) -> None:
    (experiment,) = (
        each
        for each in built.iter("desc_signature")
        if each.get("ids") == "reinstate.experiments.base.Experiment"
    )
    text = "".join(experiment.itertext())
    assert "= no_checks" in text and "= regret_columns" in text
    assert " at 0x" not in text and "<" not in text


def test_options_keep_their_dashes(built: ElementTree.Element) -> None:
    assert "An option such as --task.scale." in "".join(built.itertext())


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


def test_settings_are_explained_by_the_string_below_them() -> None:
    assert results.explained(WaterMaze, "height") == "Rows of the grid."
    assert results.explained(WaterMaze, "barcode_length") == "Bits per context."  # inherited


def test_the_page_of_results_is_built_beside_the_others(tmp_path: Path) -> None:
    app: Any = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    results.write_report(app, OSError())  # what failed elsewhere leaves no page
    assert not list(tmp_path.iterdir())
    results.write_report(app, None)
    page = (tmp_path / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in EXPERIMENTS)


def test_pages_name_no_absolute_paths() -> None:
    for page, text in PAGES.items():
        assert not re.search(r"(?<![\w.\])])/(work|tmp|root|home)\b", text), page
