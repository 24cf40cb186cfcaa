"""The contract checks: each rule is seen to fail on an object that breaks it and nothing else."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.memory import DND, Consolidating, Memory
from reinstate.player import Decision, Inputs, Player
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import Observation
from reinstate.testing import ContractError, check_agent, check_memory, check_task
from reinstate.testing.__main__ import main
from reinstate.testing.players import WORLDS

SMALL: dict[str, Any] = {"num_arms": 2, "pulls": 3, "num_contexts": 3, "repeats": 2}
Bandits = BarcodeBandits
NUMBERS = count()


def epoch(**changes: Callable[[Any], Any]) -> Any:
    """Sample epochs in which some arrays are others."""

    def sample(self: Any, key: Array) -> Any:
        task = Bandits.sample_epoch(self, key)
        return task._replace(**{name: change(task) for name, change in changes.items()})

    return sample


def longer(self: Any) -> Any:
    return replace(self, pulls=self.pulls + 1)


def other(self: Any) -> Any:
    return replace(self, pulls=7)


def paid(value: Any) -> Any:
    return lambda self, key, task, state, action: (state + 1, jnp.asarray(value))


def half(self: Any, key: Array, progress: Array) -> Any:
    return jax.tree.map(lambda x: x[:2], self.sample_epoch(key))


def seen(features: Any, row: int) -> Any:
    shown = Observation(jnp.asarray(features, jnp.float32), jnp.asarray(row, jnp.int32))
    return lambda self, task, state: shown


NAN = jnp.array(np.nan, jnp.float32)
TASKS: dict[str, dict[str, Any]] = {
    "num_actions is an int": {"num_actions": 2.0},
    "of what it returned changes nothing": {"for_evaluation": longer},
    "for_evaluation() keeps episode_length": {"for_evaluation": other},
    "update_task keeps": {"update_task": lambda s, h, t: t._replace(exposure=t.exposure[None])},
    "the reward: integers are int32": {"step": paid(np.float16(1))},
    "writes_per_episode rows": {"keys_to_store": lambda s, t, x: jnp.zeros(2, jnp.int32)},
    "gives the shapes of sample_epoch": {"sample_training_epoch": half},
    "as its leading axis": {"sample_epoch": epoch(good_arm=lambda t: t.good_arm[:2])},
    "exposure counts": {"sample_epoch": epoch(exposure=lambda t: 0 * t.exposure)},
    "more often than max_exposures": {"max_exposures": 1},
    "alone and in a batch": {"sample_epoch": epoch(good_arm=lambda t: t.good_arm + next(NUMBERS))},
    "contexts gives (shown": {"contexts": lambda s, t: t.context[None, :3]},
    "all zero": {"contexts_of": lambda s, key, i, e: jnp.zeros((i.size, 10), jnp.float32)},
    "an integer for each context": {"context_ids": lambda s, t: jnp.zeros(2, jnp.int32)},
    "context_ids: an epoch's context has one id": {
        "context_ids": lambda s, t: jnp.zeros(1, jnp.int32)
    },
    "observation_size finite features": {"observation_size": 1},
    "points at a row": {"observe": seen([], 1)},
    "a finite reward": {"step": paid(NAN)},
    "a number for each action": {"expected_rewards": lambda s, t, x: jnp.zeros(3, jnp.float32)},
    "the means of the rewards": {"expected_rewards": lambda s, t, x: jnp.zeros(2, jnp.float32)},
}


@pytest.mark.parametrize(("rule", "broken"), TASKS.items(), ids=list(TASKS))
def test_a_task_that_breaks_a_rule(rule: str, broken: dict[str, Any]) -> None:
    kind: Any = type("Broken", (Bandits,), broken)
    with pytest.raises(ContractError, match=re.escape(rule)):
        check_task(kind(**SMALL))


def test_contexts_that_never_look_the_same_are_not_held_to_their_ids() -> None:
    check_task(OmniglotBandits(num_contexts=4, num_arms=4, repeats=3))


def test_what_actions_are_worth_may_be_unknown() -> None:
    unknown = {"expected_rewards": lambda s, t, x: jnp.full(2, NAN)}
    kind: Any = type("Mine", (Bandits,), unknown)
    check_task(kind(**SMALL))


class Head(Player):
    """An agent of a few weights, whose state is a number."""

    weights: Array

    def __init__(self, world: Any, network: Any, *, key: Array) -> None:
        self.weights = jax.random.normal(key, (world.num_actions + 1,))

    def initial_state(self) -> Any:
        return jnp.zeros(())

    def decide(self, out: Array) -> Decision:
        return Decision(out[:-1], out[-1])

    def __call__(self, inputs: Inputs, recalled: Any, state: Any) -> tuple[Any, Decision]:
        return state + 1, self.decide(self.weights * (1 + inputs.last_reward))


class Keeper(Head):
    """The same with a memory."""

    remembers = True
    value_size = 1

    def write(self, memory: Any, contents: Any, context: Array, state: Any) -> Any:
        return memory.write(contents, context, state[None])


def decides(change: Callable[[Array], tuple[Array, Array]]) -> Any:
    return lambda self, out: Decision(*change(out))


def otherwise(self: Head) -> Any:
    def again(inputs: Inputs, recalled: Any, start: Any, kept: Any) -> Any:
        value = jnp.zeros(inputs.last_action.shape) + jnp.sum(self.weights)
        return jnp.stack([value, value], axis=-1), value

    return again


AGENTS: dict[str, tuple[type, dict[str, Any]]] = {
    "a step keeps": (Head, {"initial_state": lambda self: jnp.zeros((), bool)}),
    "a number for each action": (Head, {"decide": decides(lambda out: (out, out[0]))}),
    "value is one number": (Head, {"decide": decides(lambda out: (out[:-1], out[-1:]))}),
    "logits and value are finite": (Head, {"decide": decides(lambda out: (out[:-1] / 0, out[0]))}),
    "write keeps": (Keeper, {"write": lambda self, memory, contents, *_: contents.keys}),
    "gradients of the weights are finite": (
        Head,
        {"decide": decides(lambda out: (out[:-1] + jnp.sqrt(0 * out[:-1]), out[-1]))},
    ),
    "weights get a gradient": (
        Head,
        {"decide": decides(lambda out: (0 * out[:-1], jax.lax.stop_gradient(out[-1])))},
    ),
    "again gives": (Head, {"again": property(otherwise)}),
}


@pytest.mark.parametrize(("rule", "broken"), AGENTS.items(), ids=list(AGENTS))
def test_an_agent_that_breaks_a_rule(rule: str, broken: Any) -> None:
    kind, changes = broken
    with pytest.raises(ContractError, match=re.escape(rule)):
        check_agent(type("Broken", (kind,), changes), WORLDS[:1])


def test_what_makes_an_agent_makes_a_player_and_always_the_same() -> None:
    with pytest.raises(ContractError, match=r"an agent is a reinstate\.Player"):
        check_agent(lambda world, network, *, key: eqx.nn.Linear(1, 1, key=key))
    with pytest.raises(ContractError, match="always gives the same weights"):
        check_agent(lambda *made, key: Head(*made, key=jax.random.key(next(NUMBERS))))


@pytest.mark.parametrize("agent", [Head, Keeper, "epl2rl", "epl2rl-oracle", "gru-epoch"])
def test_agents_keep_the_contract(agent: Any) -> None:
    check_agent(agent, WORLDS if agent in (Head, Keeper) else WORLDS[:1])


class Held(NamedTuple):
    value: Array  # (value_size,)
    writes: Array  # ()


class Found(NamedTuple):
    value: Array
    distances: Array  # (1,)
    written: Array  # (1,)


@dataclass(frozen=True)
class Last(Memory):
    """Holds what was written last."""

    def empty(self, key_size: int, value_size: int) -> Any:
        return Held(jnp.zeros(value_size), jnp.zeros((), jnp.int32))

    def write(self, contents: Any, key: Array, value: Array) -> Any:
        return Held(value, contents.writes + 1)

    def read(self, contents: Any, query: Array) -> tuple[Any, Any]:
        distance = jnp.where(contents.writes > 0, 0.0, jnp.inf)
        return Found(contents.value, distance[None], contents.writes[None]), contents


def finds(**changes: Callable[[Any], Any]) -> Any:
    def read(self: Any, contents: Any, query: Array) -> tuple[Any, Any]:
        found, after = Last.read(self, contents, query)
        return found._replace(**{n: change(contents) for n, change in changes.items()}), after

    return read


def root(self: Any, contents: Any, key: Array, value: Array) -> Any:
    return Held(value + jnp.sqrt(0 * value), contents.writes + 1)


MEMORIES: dict[str, dict[str, Any]] = {
    "fitted gives a memory": {"fitted": lambda self, writes: DND()},
    "value is (value_size,) and finite": {"read": finds(value=lambda held: held.value[:2])},
    "distances and written have": {"read": finds(written=lambda held: held.writes)},
    "the numbers of writes, from 1": {"read": finds(written=lambda held: held.writes[None] + 9)},
    "infinite where written is 0": {"read": finds(distances=lambda held: jnp.zeros(1))},
    "recalls zeros": {"read": finds(value=lambda held: held.value + 1)},
    "read keeps": {"read": lambda self, held, query: (Last.read(self, held, query)[0], held.value)},
    "write keeps": {"write": lambda self, held, key, value: Held(value, held.writes + 1.0)},
    "recalls something": {"write": lambda self, held, key, value: held},
    "filled counts": {"filled": lambda self, held: held.writes + 1},
    "lanes are alone": {
        "write": lambda self, held, key, value: Held(value + next(NUMBERS), held.writes + 1)
    },
    "gradients of what is recalled": {"write": root},
}


@pytest.mark.parametrize(("rule", "broken"), MEMORIES.items(), ids=list(MEMORIES))
def test_a_memory_that_breaks_a_rule(rule: str, broken: dict[str, Any]) -> None:
    kind: Any = type("Broken", (Last,), broken)
    with pytest.raises(ContractError, match=re.escape(rule)):
        check_memory(kind())


@pytest.mark.parametrize(
    "memory", [Last(), DND(capacity=4, k=2), Consolidating(capacity=4, k=2, reach=0.1)]
)
def test_memories_keep_the_contract(memory: Memory) -> None:
    check_memory(memory)


def test_a_package_that_brings_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["numpy"]) == 2
    said = capsys.readouterr().err
    assert "name one package" in said and "'numpy' registers nothing here" in said
