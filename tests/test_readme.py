"""README: its examples run, its links lead somewhere, and its tables say what happened."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import reinstate
from reinstate import cli
from reinstate.runs.conclusions import read_results
from words import provenance, trained_before

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.mark.parametrize(("train", "words"), [(29.5, "40 s in all"), (20.0, "10 s of training be")])
def test_a_table_says_that_it_was_interrupted(train: float, words: str) -> None:
    found: Any = read_results(ROOT / "results/barcode-bandits")
    agents = found["agents"]
    agents["epl2rl"] |= {"train_steps": 1e9, "steps_per_second": 1e8}  # 10 s, and 20 for the rest
    for name in agents.keys() - {"epl2rl"}:
        agents[name] |= {"train_steps": 2e9, "steps_per_second": 3e8}
    found["seconds"] = {"total": 40.0, "train": train}
    assert trained_before(found) == pytest.approx(30 - train)
    assert words in provenance(found)


def blocks(kind: str, page: str = README) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [body for its_kind, body in found if its_kind == kind]


def test_the_front_door_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = blocks("python")[1]
    smaller = code.replace("num_arms=5", "num_arms=3, num_contexts=3, repeats=2, pulls=4")
    smaller = smaller.replace("epochs=60", "epochs=4, lanes=4")
    assert smaller.count("=4") == 3
    names: dict[str, Any] = {}
    exec(smaller, names)
    assert reinstate.load("runs/mine").settings == names["trained"].settings


def test_the_cell_recalls() -> None:
    names: dict[str, np.ndarray] = {}
    exec(blocks("python")[0], names)
    first, again = np.asarray(names["first"]), np.asarray(names["again"])
    assert first.shape == (10, 32)
    assert np.abs(first - again).max() > 1e-3  # same inputs: only the recalled state differs
    assert 0 < np.asarray(names["r_gate"]).mean() < 1


def test_every_command_is_understood() -> None:
    lines = [line for block in blocks("") for line in block.splitlines()]
    commands = [re.split(r" {2,}|#", line)[0] for line in lines if line.startswith("reinstate ")]
    assert len(commands) == 2
    for command in commands:
        cli.parse(shlex.split(command)[1:])


def test_it_ends_within_three_screens() -> None:
    assert len(README.splitlines()) <= 120
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures == ["results/water-maze/replay.svg"]
    assert README.index(pictures[0]) < README.index("```") < README.index("## ")


def test_links_lead_somewhere() -> None:
    links = LINK.findall(README)
    assert len(links) > 20
    for link in links:
        path, _, heading = link.partition("#")
        assert link.startswith("https://") or (ROOT / path).exists(), link
        if heading:
            lines = re.findall("^#+ (.*)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [
                re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines
            ]


def described() -> str:
    """The package's description, as a build would give it to a package index."""
    metadata = ProjectMetadata(str(ROOT), PluginManager())
    assert metadata.core.readme_content_type == "text/markdown"
    return metadata.core.readme


def test_on_a_package_index_all_links_are_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REINSTATE_REPOSITORY", raising=False)
    assert described() == README
    monkeypatch.setenv("REINSTATE_REPOSITORY", "https://example.org/them/reinstate/")
    text = described()
    links = LINK.findall(text)
    assert len(links) == len(LINK.findall(README))
    assert all(link.startswith("https://") for link in links)
    tag = f"v{reinstate_version()}"
    assert f"](https://example.org/them/reinstate/raw/{tag}/results/water-maze/replay.svg)" in text
    assert f"(https://example.org/them/reinstate/blob/{tag}/docs/quickstart.md#install)" in text
    assert "(https://arxiv.org/abs/1805.09692)" in text


def reinstate_version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def test_the_release_says_where_the_repository_is() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "REINSTATE_REPOSITORY: ${{ github.server_url }}/${{ github.repository }}" in workflow
    assert "`REINSTATE_REPOSITORY`" in CONTRIBUTING


def test_the_tree_shows_every_room() -> None:
    (tree,) = [block for block in blocks("", CONTRIBUTING) if block.startswith("src/reinstate/")]
    library = tree.partition("src/reinstate_paper/")[0].removeprefix("src/reinstate/")
    shown = set(re.findall(r"\b(\w+)/", library))
    rooms = {path.parent.name for path in (ROOT / "src/reinstate").glob("*/__init__.py")}
    assert shown == rooms
    for name in re.findall(r"\w+\.py", library):
        assert (ROOT / "src/reinstate" / name).exists()
    for path in re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", CONTRIBUTING):
        assert (ROOT / path).exists(), path
