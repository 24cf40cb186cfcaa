"""Small but real learning: a reward that chance and an agent without memory cannot reach."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network
from reinstate.analysis.compositional import compositional_scores
from reinstate.baselines.bandits import one_exposure
from reinstate.devices import over_seeds
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.learner import TrainState
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import experiment_of
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate_paper import compositional_bandits, two_step
from reinstate_paper.barcode_bandits import QUICK

SETTINGS = replace(
    QUICK,
    task=BarcodeBandits(num_arms=4, pulls=4, num_contexts=4, repeats=5, barcode_length=5),
    seeds=2,
    network=Network(hidden_size=24),
    learner=replace(QUICK.learner, lanes=32, epochs=80),
    evaluation=Evaluation(epochs=100),
)
CEILING_WITHOUT_MEMORY = 4 * one_exposure(num_arms=4, pulls=4)  # 2.112; chance is 1.2

TWO_STEP = replace(
    two_step.QUICK,
    seeds=1,
    network=Network(hidden_size=32, reset="epoch"),
    learner=replace(two_step.QUICK.learner, epochs=200, episodes_per_update=5),
)
# Of the ideal observer that counts all that it has seen, but for the cues; chance is .5.
CUED_WITHOUT_MEMORY = 0.638

COMPOSITIONAL = replace(
    compositional_bandits.QUICK,
    task=CompositionalBandits(
        num_classes=6, repeats=4, pulls=5, stimuli="barcodes", barcode_length=4, stored="both",
        exchange=0.5, exchanges=3, exchange_until=0.4,
    ),
    seeds=1,
    learner=replace(compositional_bandits.QUICK.learner, lanes=32, epochs=1200, recall_from=0.4),
    evaluation=Evaluation(epochs=100),
)  # fmt: skip


# For tests in which compiled code runs long enough to be worth it: against conftest.py. The rest of
# what it spares takes longer to compile than it saves here.
FAST = {"xla_backend_optimization_level": 1}


def trained(name: str, settings: Settings, options: Mapping[str, Any] = FAST) -> TrainState:
    learner = settings.make_learner(name)
    state = over_seeds(learner.init, settings.seeds)(jnp.array(settings.seed_range))
    train_epoch = over_seeds(learner.train_epoch, settings.seeds).lower(state).compile({**options})
    for _ in range(settings.learner.epochs):
        state, _ = train_epoch(state)
    return state


def learned(name: str, settings: Settings, options: Mapping[str, Any] = FAST) -> Record:
    """An agent trained, and judged with frozen weights."""
    experiment = experiment_of(type(settings.task))
    assert experiment
    return Evaluator(experiment, name, settings).record(trained(name, settings, options))


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """Every agent trained with the same settings."""
    return {name: learned(name, SETTINGS, {}) for name in ("epl2rl", "l2rl")}


def reward(record: Record) -> np.ndarray:
    return np.asarray(record.reward).sum(axis=-1).mean(axis=(1, 2))  # (seeds,)


def test_episodic_agent_beats_every_agent_without_memory(records: dict[str, Record]) -> None:
    """Four seeds reached 2.92 to 2.94; without memory, 2.09 to 2.12."""
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


def test_a_cue_brings_back_what_an_episode_paid() -> None:
    """The two-step task. Eight seeds reached .70 to .73 on cued episodes, and .64 on uncued."""
    episodes = np.asarray(learned("epl2rl", TWO_STEP).reward).sum(axis=-1)
    uncued, cued = np.split(episodes, 2, axis=2)
    assert cued.mean() > CUED_WITHOUT_MEMORY + 0.04
    assert uncued.mean() > 0.61  # from one episode to the next, by the LSTM alone


def test_what_is_known_of_one_stimulus_helps_beside_any_other() -> None:
    """Compositional bandits: the first pull, asked for a stimulus met before (chance: .5).

    Six seeds reached .66 to .72, and .48 to .51 with the memory cleared. Of four runs with 200
    epochs fewer, one was still at chance.
    """
    params = jax.tree.map(lambda x: x[0], trained("epl2rl", COMPOSITIONAL).params)
    agent = COMPOSITIONAL.make_learner("epl2rl").agent(params)

    @jax.jit
    def judge(recall: jax.Array) -> Record:
        arena = Condition(COMPOSITIONAL.task.for_evaluation(), COMPOSITIONAL.memory, recall)  # type: ignore[arg-type]
        return evaluate_in(arena, agent, COMPOSITIONAL.evaluation, jnp.array(0))

    def first_pulls(recall: float) -> np.ndarray:
        """By kind, high and low, over the later exposures."""
        record = jax.tree.map(lambda x: np.asarray(x)[None], judge(jnp.array(recall)))
        found = compositional_scores(record)["first_pull"]
        return np.array([np.mean(found[kind]["mean"][1:]) for kind in ("high", "low")])

    with_memory, cleared = first_pulls(1.0), first_pulls(0.0)
    assert with_memory.mean() > 0.62 and with_memory.min() > 0.57
    np.testing.assert_allclose(cleared, 0.5, atol=0.08)
