"""Small but real learning: a reward that chance and an agent without memory cannot reach."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network
from reinstate.baselines.bandits import one_exposure
from reinstate.devices import over_seeds
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments.barcode_bandits import QUICK
from reinstate.reproduction import record_of
from reinstate.tasks.bandits import BarcodeBandits

SETTINGS = replace(
    QUICK,
    task=BarcodeBandits(num_arms=4, pulls=4, num_contexts=4, repeats=5, barcode_length=5),
    seeds=2,
    network=Network(hidden_size=32),
    learner=replace(QUICK.learner, lanes=32, epochs=120),
    evaluation=Evaluation(epochs=200),
)
CEILING_WITHOUT_MEMORY = 4 * one_exposure(num_arms=4, pulls=4)  # 2.112; chance is 1.2


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """Every agent trained with the same settings, and judged with frozen weights."""
    found = {}
    for name in ("epl2rl", "l2rl"):
        learner = SETTINGS.make_learner(name)
        state = over_seeds(learner.init, 2)(jnp.arange(2))
        train_epoch = over_seeds(learner.train_epoch, 2)
        for _ in range(SETTINGS.learner.epochs):
            state, _ = train_epoch(state)
        found[name] = record_of(name, SETTINGS, state)
    return found


def reward(record: Record) -> np.ndarray:
    return np.asarray(record.reward).sum(axis=-1).mean(axis=(1, 2))  # (seeds,)


def test_episodic_agent_beats_every_agent_without_memory(records: dict[str, Record]) -> None:
    assert reward(records["epl2rl"]).min() > CEILING_WITHOUT_MEMORY + 0.3


def test_agent_without_memory_learns_to_explore_and_no_more(records: dict[str, Record]) -> None:
    assert reward(records["l2rl"]).min() > 1.85
    assert reward(records["l2rl"]).max() < CEILING_WITHOUT_MEMORY + 0.1


def test_recall_shows_on_the_first_pull(records: dict[str, Record]) -> None:
    """Before any reward of the episode, only a memory can know the arm (chance: 1 in 4)."""
    right = {}
    for name, record in records.items():
        good = np.asarray(record.expected_reward)[..., 0] > 0.5
        right[name] = good[np.asarray(record.exposure) >= 2].mean()
    assert right["epl2rl"] > 0.7
    assert right["l2rl"] < 0.35
