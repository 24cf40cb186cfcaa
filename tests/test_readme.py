"""README: its examples run, its links lead somewhere, and its tables say what happened."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from reinstate import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)]+)\)")


def blocks(kind: str, page: str = README) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [body for its_kind, body in found if its_kind == kind]


def test_the_cell_recalls() -> None:
    (code,) = blocks("python")
    names: dict[str, Any] = {}
    exec(code, names)
    context, inputs = (
        jax.random.normal(jax.random.key(seed), shape) for seed, shape in ((1, (16,)), (2, (10, 8)))
    )
    memory, (first, _) = names["episode"](names["memory"], context, inputs)
    _, (again, r_gate) = names["episode"](memory, context, inputs)
    assert first.shape == (10, 32)
    assert np.abs(first - again).max() > 1e-3  # same inputs: only the recalled state differs
    assert 0 < r_gate.mean() < 1


def test_every_command_is_understood() -> None:
    lines = [line for block in blocks("") for line in block.splitlines()]
    commands = [re.split(r" {2,}|#", line)[0] for line in lines if line.startswith("reinstate ")]
    assert len(commands) == 2
    for command in commands:
        cli.parse(shlex.split(command)[1:])


def test_it_is_short_and_shows_before_it_tells() -> None:
    assert len(README.splitlines()) <= 90
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures == ["results/water-maze/replay.svg", "results/figures/figure-3.svg"]
    assert README.index(pictures[1]) < README.index("```") < README.index("## ")
    (drawing,) = re.findall(r'<img src="([^"]+)"', README)
    assert (ROOT / drawing).exists()


def test_nothing_is_installed_from_an_index() -> None:
    """The package is on none yet, and a name of ours there may be of somebody else's."""
    places = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.py"),
    ]
    for place in places:
        text = place.read_text(encoding="utf-8")
        assert not re.findall(r'pip install "?reinstate', text), place


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
    assert f'<img src="https://example.org/them/reinstate/raw/{tag}/docs/cell.svg"' in text


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
