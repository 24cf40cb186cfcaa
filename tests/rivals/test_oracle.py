"""The oracle's memory goes by which context it is, whatever that looks like."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import AGENTS, Network
from reinstate.analysis.memory_map import evaluate_watched
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.memory import DND
from reinstate.tasks.bandits import BarcodeBandits

NETWORK = Network(hidden_size=4)


@dataclass(frozen=True)
class Changing(BarcodeBandits):
    """Bandits whose contexts never look the same twice."""

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        return jax.random.normal(key, (index.shape[0], self.barcode_length))


def play(name: str, world: BarcodeBandits, watched: bool) -> Record:
    from reinstate.settings import Settings

    settings = Settings(world, network=NETWORK, memory=DND(capacity=12))
    learner = settings.make_learner(name)
    player = learner.agent(learner.init(jnp.array(0)).params)
    play_in = evaluate_watched if watched else evaluate_in
    condition = Condition(world, learner.memory)
    found: Any = play_in(condition, player, Evaluation(epochs=3), jnp.array(0))
    record: Record = found[0] if watched else found
    return record


@pytest.mark.parametrize("watched", [False, True])
def test_the_newest_state_of_the_own_context_comes_back(watched: bool) -> None:
    world = Changing(num_arms=3, pulls=2, num_contexts=3, repeats=4)
    record = play("epl2rl-oracle", world, watched)
    for names, met, retrieved, distance in zip(
        record.context_id, record.exposure, record.retrieved, record.distance, strict=True
    ):
        for episode, name in enumerate(np.asarray(names)):
            if met[episode]:
                newest = np.flatnonzero(np.asarray(names)[:episode] == name)[-1]
                assert retrieved[episode].tolist() == [newest, newest]
                assert distance[episode, 0] == 0
            else:
                assert distance[episode, 0] >= 1


def test_in_a_new_context_nothing_comes_back() -> None:
    world = Changing(num_arms=3, pulls=2, num_contexts=3, repeats=4)
    oracle = AGENTS["epl2rl-oracle"](world, NETWORK, key=jax.random.key(0))
    memory = AGENTS["epl2rl-oracle"].memory_for(DND(), world, NETWORK)
    contents = memory.write(memory.empty(10, 4), jnp.full(10, 2.0), jnp.ones(4))
    for query, expected in ((2.0, 1.0), (3.0, 0.0), (1.0, 0.0)):
        recalled, *_ = oracle.read(memory, contents, jnp.full(10, query), None)
        np.testing.assert_array_equal(recalled, np.full(4, expected))
