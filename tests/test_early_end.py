"""Episodes that end early: steps after the end are not played, not learned from, not stored."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.agent import Agent, Network, make_agent
from reinstate.evaluation import Evaluation, Record, evaluate
from reinstate.learner import A2C, Learner, a2c_loss
from reinstate.memory import DND
from reinstate.player import Inputs
from reinstate.rollout import Step, play, start_epoch
from reinstate.tasks.bandits import BanditTask, BarcodeBandits
from reinstate.tasks.base import Observation


class Progress(NamedTuple):
    pulls: Array  # ()
    won: Array  # () whether a pull was rewarded


@dataclass(frozen=True)
class UntilRewarded(BarcodeBandits):
    """A bandit whose episode is over as soon as a pull is rewarded."""

    def reset(self, key: Array, task: BanditTask) -> Progress:  # type: ignore[override]
        return Progress(super().reset(key, task), jnp.zeros((), bool))

    def observe(self, task: BanditTask, state: Progress) -> Observation:  # type: ignore[override]
        return super().observe(task, state.pulls)

    def step(  # type: ignore[override]
        self, key: Array, task: BanditTask, state: Progress, action: Array
    ) -> tuple[Progress, Array]:
        pulls, reward = super().step(key, task, state.pulls, action)
        return Progress(pulls, state.won | (reward > 0)), reward

    def done(self, task: BanditTask, state: Progress) -> Array:
        return state.won


SIZES: dict[str, Any] = {
    "num_arms": 3,
    "pulls": 6,
    "num_contexts": 3,
    "repeats": 3,
    "barcode_length": 4,
}
WORLD = UntilRewarded(**SIZES, p_good=0.5, p_bad=0.3)
NETWORK = Network(hidden_size=8)
DICTIONARY = DND(capacity=9)


def an_agent() -> Agent:
    agent: Agent = make_agent("epl2rl", WORLD, NETWORK, key=jax.random.key(1))
    return agent


def judged(world: BarcodeBandits) -> Record:
    settings = Evaluation(epochs=4)
    return jax.jit(lambda: evaluate(world, an_agent(), DICTIONARY, settings, jnp.array(0)))()


def test_nothing_is_earned_after_the_first_reward_and_the_record_says_so() -> None:
    record = judged(WORLD)
    reward, played = np.asarray(record.reward), np.asarray(record.played)
    before = np.cumsum(reward, axis=-1) - reward
    np.testing.assert_array_equal(played, before == 0)
    assert 0 < played.mean() < 1
    assert reward.sum(axis=-1).max() == 1
    regret = np.asarray(record.best_expected_reward - record.expected_reward)
    assert np.all(regret[~played] == 0)
    assert np.any(regret[played] > 0)


def test_worlds_of_fixed_length_compute_nothing_for_it() -> None:
    assert judged(BarcodeBandits(**SIZES)).played is None


def test_the_state_that_saw_the_last_real_reward_is_stored() -> None:
    agent = an_agent()

    @jax.jit
    def epoch(key: Array) -> tuple[BanditTask, Array, Step]:
        tasks = WORLD.sample_epoch(key)
        start = start_epoch(WORLD, agent, DICTIONARY)
        after, episodes = play(WORLD, agent, DICTIONARY, start, tasks, key)
        return tasks, after.memory.values[0], episodes.steps

    # Slot 0 is the first context's: play up to its first episode only, by hand.
    tasks, stored, steps = epoch(jax.random.key(3))
    last = int(np.flatnonzero(tasks.context_id == tasks.context_id[0])[-1])
    memory, state = DICTIONARY.empty(WORLD.context_size, 8), agent.initial_state()
    for n in range(last + 1):
        found, memory = DICTIONARY.read(memory, tasks.context[n])
        state, action, reward = agent.initial_state(), jnp.array(-1), jnp.zeros(())
        for t in range(int(steps.played[n].sum()) + 1):
            sensed = jnp.zeros(0), tasks.context[n], action, reward, jnp.array(t == 0)
            state, _ = agent(Inputs(*sensed), found.value, state)
            if t < WORLD.pulls:
                action, reward = steps.action[n, t], steps.reward[n, t]
        memory = DICTIONARY.write(memory, tasks.context[n], state.c)
    assert not bool(steps.played[: last + 1].all())
    np.testing.assert_allclose(stored, memory.values[0], atol=1e-5)


def test_the_loss_is_that_of_the_steps_before_the_end() -> None:
    rng = np.random.default_rng(0)

    def some(*shape: int) -> Array:
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    rewards = some(2, 6).at[:, 4:].set(0)
    played = jnp.broadcast_to(jnp.arange(6) < 4, (2, 6))
    actions = jnp.asarray(rng.integers(0, 3, (2, 6)), jnp.int32)
    unused = jnp.zeros((2, 6))
    steps = Step(
        some(2, 6, 3), some(2, 6), actions, rewards, unused, unused, {}, unused, unused, (), played
    )
    short = jax.tree.map(lambda x: x[:, :4], steps)._replace(played=None)
    cost = jnp.float32(0.1)
    np.testing.assert_allclose(a2c_loss(steps, A2C(), cost), a2c_loss(short, A2C(), cost), 1e-5)


def test_agents_learn_in_such_a_world() -> None:
    learner = Learner(
        WORLD,
        lambda key: make_agent("epl2rl", WORLD, NETWORK, key=key),
        DICTIONARY,
        A2C(lanes=2, epochs=2),
    )
    _, metrics = jax.jit(learner.train_epoch)(learner.init(jnp.array(0)))
    assert bool(metrics.finite)
    assert 0 < float(metrics.reward) <= 1
