"""The page on JAX environments: all of its code, that which needs gymnax and Stoa too."""

import re
from pathlib import Path
from typing import Any

import pytest

import reinstate
from reinstate import registry

pytest.importorskip("gymnax")
pytest.importorskip("stoa")

PAGE = Path(__file__).parents[2] / "docs/how-to/jax-environments.md"
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_its_code_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = {kind: dict(things) for kind, things in registry._registered.items()}
    monkeypatch.setattr(registry, "_registered", known)
    names: dict[str, Any] = {"__name__": "page"}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["rewards"].shape == (8,)
    assert names["trained"].rewards.shape == (2, 1)
    named = reinstate.train(
        names["CartPoles"](num_contexts=3, repeats=2), epochs=2, lanes=4, quiet=True
    )
    named.save(tmp_path / "run")
    again: Any = reinstate.load(tmp_path / "run")
    assert again.settings == named.settings and again.experiment.name == "cart-poles"
