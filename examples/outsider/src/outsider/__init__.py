"""A package to copy: it adds a task, a GRU agent, a memory, and an experiment about them.

pip install examples/outsider
python -m reinstate.testing outsider    # whether each keeps its contract
reinstate reproduce guessing
"""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate import (
    A2C,
    Decision,
    Evaluation,
    Experiment,
    Inputs,
    Memory,
    Network,
    Player,
    Settings,
    World,
    draws,
)
from reinstate.analysis.verdicts import Region
from reinstate.runs.experiment import Agents, Baselines, Check, Values
from reinstate.tasks.bandits import BarcodeWorld
from reinstate.tasks.base import Observation
from reinstate_paper.claims import claim


class Secret(NamedTuple):
    context_id: Array  # () which of the epoch's contexts
    exposure: Array  # () how often it was met before
    context: Array  # (context_size,)
    number: Array  # () to be guessed


@dataclass(frozen=True)
class HigherLower(BarcodeWorld):
    """A number to guess; after every guess the world says higher or lower."""

    numbers: int = 4
    """Numbers to choose from."""
    guesses: int = 3
    """Guesses per episode."""

    @property
    def num_actions(self) -> int:
        return self.numbers

    @property
    def observation_size(self) -> int:
        return 1

    @property
    def episode_length(self) -> int:
        return self.guesses

    def sample_epoch(self, key: Array) -> Secret:
        context_key, number_key = jax.random.split(key)
        index, exposure, context = self.sample_contexts(context_key)
        number = draws.integers(number_key, self.sequence.max_tasks, 0, self.numbers)
        return Secret(index, exposure, context, number[index])

    def reset(self, key: Array, task: Secret) -> Array:
        return jnp.zeros((), jnp.float32)  # the hint: nothing said yet

    def observe(self, task: Secret, state: Array) -> Observation:
        return Observation(state[None], jnp.zeros((), jnp.int32))

    def step(self, key: Array, task: Secret, state: Array, action: Array) -> tuple[Array, Array]:
        hint = jnp.sign(task.number - action).astype(jnp.float32)
        return hint, (hint == 0).astype(jnp.float32)

    def expected_rewards(self, task: Secret, state: Array) -> Array:
        return (jnp.arange(self.numbers) == task.number).astype(jnp.float32)


class GRUAgent(Player):
    """A GRU whose retrieved state is another input."""

    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear
    num_actions: int = eqx.field(static=True)

    def __init__(self, world: World, network: Network, *, key: Array) -> None:
        cell_key, head_key = jax.random.split(key)
        hidden, self.num_actions = network.hidden_size, world.num_actions
        inputs = world.observation_size + world.num_actions + 1 + hidden
        self.cell = eqx.nn.GRUCell(inputs, hidden, key=cell_key)
        self.head = eqx.nn.Linear(hidden, world.num_actions + 1, key=head_key)

    remembers = True

    @property
    def value_size(self) -> int:
        return self.cell.hidden_size

    def initial_state(self) -> Array:
        return jnp.zeros(self.cell.hidden_size)

    def __call__(self, inputs: Inputs, recalled: Array, state: Array) -> tuple[Array, Decision]:
        action = jax.nn.one_hot(inputs.last_action, self.num_actions)
        seen = inputs.features, action, inputs.last_reward[None], recalled
        state = self.cell(jnp.concatenate(seen), state)
        out = self.head(state)
        return state, Decision(out[:-1], out[-1], {"size": jnp.abs(state)})


class Last(NamedTuple):
    value: Array  # (value_size,)
    writes: Array  # () so far


class Found(NamedTuple):
    value: Array
    distances: Array  # (1,)
    written: Array  # (1,)


@dataclass(frozen=True)
class LastEpisode(Memory):
    """Holds the last episode alone, whatever its context."""

    share: float = 1.0
    """How much of it comes back."""

    def empty(self, key_size: int, value_size: int) -> Last:
        return Last(jnp.zeros(value_size), jnp.zeros((), jnp.int32))

    def write(self, contents: Last, key: Array, value: Array) -> Last:
        return Last(self.share * value, contents.writes + 1)

    def read(self, contents: Last, query: Array) -> tuple[Found, Last]:
        distance = jnp.where(contents.writes > 0, 0.0, jnp.inf)
        return Found(contents.value, distance[None], contents.writes[None]), contents


def optimum(task: HigherLower) -> Values:
    """Solve what is easily solved: chance, and a player who knows the number."""
    return {"chance": task.guesses / task.numbers, "known": float(task.guesses)}


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Claim what must be true of any agent."""
    most = float(optimum["known"])
    region, bound = Region(high=most), f"at most {most:.0f}"
    return [
        claim(f"{name} guesses no more than it may", agent["reward"]["per_seed"], region, bound)
        for name, agent in agents.items()
    ]


TINY: Settings[HigherLower, LastEpisode] = Settings(
    task=HigherLower(num_contexts=2, repeats=2, barcode_length=3),
    seeds=2,
    network=Network(hidden_size=4),
    memory=LastEpisode(),
    learner=A2C(lanes=2, epochs=2),
    evaluation=Evaluation(epochs=2),
)

GUESSING = Experiment(
    "guessing",
    HigherLower,
    title="A number to guess",
    agents=("gru", "l2rl"),
    presets={"tiny": TINY},
    optimum=optimum,
    ceiling="known",
    ceiling_without_memory="known",
    lines={"chance": "chance"},
    checks=checks,
)
