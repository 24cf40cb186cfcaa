"""An agent's programs in an event."""

from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network
from reinstate.analysis.exposures import exposure_scores
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation, evaluate_in
from reinstate.memory import DND
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate.tasks.base import World
from reinstate_paper.contest.programs import Judge, Programs, ahead, equally_long

TASK = BarcodeBandits(
    num_arms=3, pulls=3, num_contexts=2, repeats=2, barcode_length=4, mapping="independent"
)
SETTINGS: Settings[BarcodeBandits, DND] = Settings(
    TASK,
    seeds=2,
    network=Network(hidden_size=4),
    memory=DND(capacity=3),
    evaluation=Evaluation(epochs=5),
)
WORLDS: dict[str, World] = {
    "as trained": TASK,
    "flipped": NoisyBandits.of(TASK, noise=0.4),
    "longer": replace(TASK, repeats=3),
    "crowded": replace(TASK, num_contexts=4, repeats=1),
}


def test_worlds_are_grouped_by_the_length_of_their_epochs() -> None:
    assert [[*group] for group in equally_long(WORLDS)] == [
        ["as trained", "flipped", "crowded"],
        ["longer"],
    ]


@pytest.mark.parametrize("agent", ["epl2rl", "epl2rl-oracle", "lstm-epoch"])
def test_worlds_side_by_side_are_what_each_is_by_itself(agent: str) -> None:
    learner = SETTINGS.make_learner(agent)
    params = jax.vmap(learner.init)(jnp.array(SETTINGS.seed_range)).params
    params = jax.tree.map(lambda leaf: 5 * leaf, params)  # a policy that is not nearly uniform
    group = {name: WORLDS[name] for name in ("as trained", "flipped")}
    found = Judge(agent, SETTINGS, group)(params)
    memory = learner.memory if agent == "epl2rl-oracle" else SETTINGS.memory
    for name, world in group.items():

        def alone(params: Any, seed: jax.Array, world: World = world) -> Any:
            condition = Condition(world, memory)
            return evaluate_in(condition, learner.agent(params), SETTINGS.evaluation, seed)

        record = jax.jit(jax.vmap(alone))(params, jnp.array(SETTINGS.seed_range))
        scores = exposure_scores(jax.tree.map(np.asarray, record))
        assert found[name]["reward"] == scores["reward"], name
        assert found[name]["exposures"] == scores["by_exposure"]["reward"]["mean"]


def test_programs_are_made_in_turn_and_failures_reach_who_waits() -> None:
    made = []

    def make(name: str) -> Any:
        made.append(name)
        if name == "b":
            raise UserError("no such thing")
        return name.upper()

    makers: Any = {name: partial(make, name) for name in "abc"}
    with ahead(makers) as wait:
        found: list[Any] = [wait("a")]
        with pytest.raises(UserError, match="no such thing"):
            wait("b")
        found.append(wait("c"))
    assert made == ["a", "b", "c"] and found == ["A", "C"]


def test_who_stops_does_not_wait() -> None:
    release, ended = Event(), []

    def slow() -> Programs:
        release.wait(5)
        ended.append(1)
        return cast(Programs, None)

    with pytest.raises(KeyboardInterrupt), ahead({0: slow, 1: slow}):
        raise KeyboardInterrupt
    assert not ended
    release.set()
