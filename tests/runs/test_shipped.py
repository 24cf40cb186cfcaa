"""Weights that come with the package: whole, loadable by name, and as good as their card says."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import reinstate
from reinstate.errors import UserError
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.notebook import TrainedAgent
from reinstate.runs.run import (
    SHIPPED,
    Run,
    find_run,
    is_shipped,
    open_run,
    read_card,
    shipped_names,
)
from reinstate_paper import PAPER_EXPERIMENTS

WITHOUT_MEMORY = 4.436  # the most that barcode bandits pay an agent that forgets


def loaded(name: str, epochs: int) -> TrainedAgent:
    found = reinstate.load(name)
    assert isinstance(found, TrainedAgent)
    evaluation = replace(found.settings.evaluation, epochs=epochs)
    return replace(found, settings=replace(found.settings, evaluation=evaluation))


def test_there_are_weights_of_every_experiment_and_agent_of_the_paper() -> None:
    agents = ("epl2rl", "l2rl", "l2rl-context")
    assert shipped_names() == [f"{name}/{agent}" for name in PAPER_EXPERIMENTS for agent in agents]


@pytest.mark.parametrize("name", ["two-step/l2rl", "compositional-bandits/epl2rl"])
def test_they_fit_the_agent_that_their_config_makes(name: str) -> None:
    run = find_run(name)
    state = Evaluator(*open_run(run.path)).load(run)
    assert {leaf.dtype for leaf in jax.tree.leaves(state.params)} == {np.dtype("float32")}
    assert int(state.epoch) == read_card()["weights"][name]["epochs"]
    assert run.weights_path.stat().st_size == read_card()["weights"][name]["bytes"]
    assert is_shipped(run)


def test_the_agent_with_memory_earns_what_none_without_could() -> None:
    agent = loaded("barcode-bandits/epl2rl", epochs=4)
    reward = agent.evaluate()["reward"]["mean"]
    assert reward > WITHOUT_MEMORY + 2
    assert reward == pytest.approx(
        read_card()["weights"]["barcode-bandits/epl2rl"]["reward"], abs=1
    )
    assert repr(agent) == "TrainedAgent(epl2rl in BarcodeBandits, 1 seed, trained weights alone)"
    with pytest.raises(UserError, match="no learning curve"):
        agent.figure()


def test_weights_alone_can_be_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"reward": {"mean": 1.0, "ci95": None, "per_seed": [1.0]}}
    monkeypatch.setattr(Evaluator, "evaluate", lambda self, state: scores)
    agent = loaded("barcode-bandits/l2rl", epochs=4)
    agent.save(tmp_path / "mine")
    again = reinstate.load(tmp_path / "mine")
    assert isinstance(again, TrainedAgent)
    pairs = zip(jax.tree.leaves(agent.state), jax.tree.leaves(again.state), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs if a.dtype != agent.state.key.dtype)
    content = bytearray((tmp_path / "mine" / "weights.safetensors").read_bytes())
    (tmp_path / "mine" / "weights.safetensors").write_bytes(content[:-8])
    with pytest.raises(UserError, match="restore it"):
        reinstate.load(tmp_path / "mine")


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_run("water-maze/l2rl").path == SHIPPED / "water-maze" / "l2rl"
    (tmp_path / "water-maze" / "l2rl").mkdir(parents=True)
    assert find_run("water-maze/l2rl").path == Path("water-maze/l2rl")
    assert not Run(find_run("nowhere").path).exists
