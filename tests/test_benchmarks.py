"""Variants of the benchmarks: settings that there are, each of its own; nothing is trained."""

import json
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import make_agent
from reinstate.evaluation import Evaluation, evaluate
from reinstate.memory.recognition import Recognition
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY


@pytest.fixture
def recognition(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, which finds cells.py beside itself."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return import_module("recognition")


def test_every_variant_has_settings_of_its_own(recognition: Any) -> None:
    settings_of = import_module("cells").settings_of
    found = {}
    for name, variant in recognition.VARIANTS.items():
        settings = settings_of(BARCODE_BANDITS, recognition.DEFAULT, variant)
        found[name] = json.dumps([variant.agent, asdict(settings.network)])
    assert len({*found.values()}) == len(found)
    assert {*recognition.DEFAULT.variants} <= found.keys()


def test_with_nothing_on_it_is_the_paper_s_agent(recognition: Any) -> None:
    """By the new agent's code, to the last bit."""
    nothing = replace(Recognition(reach=0.0), **recognition.alone().recognition)
    settings = replace(TINY, network=replace(TINY.network, recognition=nothing))

    def played(name: str) -> Any:
        memory = settings.for_agent(name).memory

        @eqx.filter_jit
        def play(seed: Any) -> Any:
            agent = make_agent(name, TINY.task, settings.network, key=jax.random.key(3))
            return evaluate(TINY.task, agent, memory, Evaluation(2), seed)

        return play(jnp.array(0))

    paper, own = played("epl2rl"), played("epl2rl-recognition")
    assert np.any(np.isfinite(paper.distance)) and own.report.keys() == paper.report.keys()
    jax.tree.map(np.testing.assert_array_equal, own, paper)
