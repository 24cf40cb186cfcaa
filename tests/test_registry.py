"""Entry points of other packages: any name, and modules that raise anything."""

from pathlib import Path
from typing import Any

import pytest

from reinstate import registry
from reinstate.agent import AGENTS
from reinstate.errors import UserError

ODD = ["", "..", "../x", "a/b", "[/b]", "\x1b[31mred", "-o", "a b", ".hidden", "a.", "x" * 10_000]
RAISING = {
    "lines": "raise ValueError('one\\ntwo \\x1b[31m' + 'x' * 10**6)",
    "recursion": "def f(): f()\nf()",
    "syntax": "def",
}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a distribution of one module, with these entry points."""
    kept = {kind: dict(things) for kind, things in registry._registered.items()}
    monkeypatch.setattr(registry, "_registered", kept)
    monkeypatch.syspath_prepend(tmp_path)

    def install(package: str, points: str, module: str = "thing = 1") -> None:
        folder = tmp_path / f"{package}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[reinstate.agents]\n{points}")
        (tmp_path / f"{package}.py").write_text(module)

    return install


def agents_of_others() -> list[str]:
    points = registry.entry_points_of_others()
    return [point.name for point in points if point.group == "reinstate.agents"]


def test_odd_names_are_not_looked_at_and_others_are(add: Any) -> None:
    lines = [f"{name} = odd:thing" for name in ODD if name] + [" = odd:thing", "good = odd:thing"]
    add("odd", "\n".join(lines))
    assert set(agents_of_others()) == {"good", "epl2rl-posterior"}  # and what the study brings
    found: Any = AGENTS.find("good")
    assert found == 1
    for name in ODD:
        assert name not in AGENTS
        with pytest.raises(UserError, match="cannot be a name"):
            registry.register("agent", name, object())


def test_a_name_of_ours_stays_ours(add: Any) -> None:
    ours = AGENTS["epl2rl"]
    add("thief", "epl2rl = thief:thing")
    assert AGENTS["epl2rl"] is ours and list(AGENTS).count("epl2rl") == 1


@pytest.mark.parametrize("name", RAISING)
def test_whatever_a_module_raises_is_one_line(add: Any, name: str) -> None:
    add(f"raises_{name}", f"{name} = raises_{name}:thing", RAISING[name])
    with pytest.raises(UserError, match=f"of the package raises_{name} cannot be loaded") as caught:
        AGENTS.find(name)
    assert len(str(caught.value)) < 400 and str(caught.value).isprintable()
