"""Bandit algorithms through the agents' own rollout, against values known from elsewhere."""

import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.analysis.exposures import by_exposure, reward_by_epoch
from reinstate.baselines.algorithms import (
    INDEX_ALGORITHMS,
    WITH_MEMORY,
    BanditAlgorithm,
    Counts,
    Tables,
    make_tables,
    play_all,
)
from reinstate.baselines.bandits import own_memory
from reinstate.errors import TooLarge
from reinstate.evaluation import Evaluation, Record
from reinstate.memory import DND
from reinstate.player import Inputs
from reinstate.tasks.bandits import BarcodeBandits

EXPOSURES, EPOCHS, SEEDS = 3, 120, 2
EPISODES = SEEDS * EPOCHS * 10 * EXPOSURES
# Reward per episode has a standard deviation of at most 3 here.
NOISE = 4 * 3 / np.sqrt(EPISODES)


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    world = BarcodeBandits(repeats=EXPOSURES)
    return play_all(world, Evaluation(epochs=EPOCHS), range(SEEDS))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return make_tables(num_arms=3, pulls=4, exposures=2)


def player(name: str, tables: Tables, carries: bool = False) -> BanditAlgorithm:
    which = INDEX_ALGORITHMS.index(name) if name in INDEX_ALGORITHMS else 0
    return BanditAlgorithm(
        jnp.array(which), jnp.array(carries), tables, name == "thompson", 3, 4, 2
    )


def counts(successes: list[float], failures: list[float]) -> Counts:
    return Counts(jnp.array(successes), jnp.array(failures), jnp.array(3), jnp.zeros(2))


def logits(one: BanditAlgorithm, state: Counts) -> np.ndarray:
    """What it would do in this state, at the first step of an episode."""
    return np.asarray(one(first_step([0.0, 0.0]), jnp.zeros(one.value_size), state)[1].logits)


def first_step(context: list[float]) -> Inputs:
    nothing = jnp.array(-1), jnp.zeros(()), jnp.array(True)
    return Inputs(jnp.zeros(0), jnp.array(context), *nothing)


@pytest.mark.parametrize(
    ("name", "reward"),
    # Computed from the task's definition: exact, or by simulations of other code.
    [("random", 1.80), ("ucb1", 1.80), ("thompson", 2.48), ("gittins", 4.40), ("greedy", 4.42)],
)
def test_forgetful_algorithms_earn_what_they_should(
    records: dict[str, Record], name: str, reward: float
) -> None:
    assert abs(np.mean(reward_by_epoch(records[name])) - reward) < NOISE


def test_nobody_beats_the_optimum(records: dict[str, Record]) -> None:
    optimum = 10 * own_memory(exposures=EXPOSURES)
    for name, record in records.items():
        found = np.array(by_exposure(record)["reward"]["mean"])
        ceiling = optimum if name.endswith(WITH_MEMORY) else optimum[:1].repeat(EXPOSURES)
        assert (found < ceiling + NOISE * np.sqrt(EXPOSURES)).all(), name


@pytest.mark.parametrize("name", ["greedy", "ucb1", "thompson", "gittins", "gittins-finite"])
def test_memory_pays_from_the_second_exposure_on(records: dict[str, Record], name: str) -> None:
    forgetful = np.array(by_exposure(records[name])["regret"]["mean"])
    carrying = np.array(by_exposure(records[name + WITH_MEMORY])["regret"]["mean"])
    # The own context is new on the first exposure: what other contexts taught does not leak in.
    assert abs(carrying[0] - forgetful[0]) < 0.1
    assert carrying[1] < 0.85 * forgetful[1]
    assert abs(forgetful[-1] - forgetful[0]) < 0.4


def test_carrying_gittins_comes_near_the_optimum(records: dict[str, Record]) -> None:
    optimum = 10 * own_memory(exposures=EXPOSURES).mean()
    found = np.mean(reward_by_epoch(records["gittins-finite" + WITH_MEMORY]))
    assert found > optimum - 0.07 - NOISE


def test_thompson_probabilities_are_those_of_posterior_draws(tables: Tables) -> None:
    state = counts([2, 0, 1], [1, 3, 1])
    p = np.exp(logits(player("thompson", tables), state))
    draws = np.random.default_rng(0).beta([3, 1, 2], [2, 4, 2], size=(200_000, 3))
    frequency = np.bincount(draws.argmax(axis=1), minlength=3) / 200_000
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-5)
    np.testing.assert_allclose(p, frequency, atol=4 * np.sqrt(0.25 / 200_000))


def test_ucb_tries_every_arm_then_follows_its_bound(tables: Tables) -> None:
    one = player("ucb1", tables)
    fresh = logits(one, counts([1, 0, 0], [0, 1, 0]))
    np.testing.assert_array_equal(fresh, [-np.inf, -np.inf, 0])
    # Bounds 1/1 + √(2 ln 4 / 1), 0/1 + the same, 1/2 + √(2 ln 4 / 2): the first is largest.
    best = logits(one, counts([1, 0, 1], [0, 1, 1]))
    np.testing.assert_array_equal(best, [0, -np.inf, -np.inf])


def test_ties_are_drawn_evenly(tables: Tables) -> None:
    np.testing.assert_array_equal(
        logits(player("gittins", tables), counts([1, 1, 0], [0, 0, 1])), [0, 0, -np.inf]
    )


def test_finite_horizon_index_knows_the_last_pull(tables: Tables) -> None:
    """With one pull left only the mean counts: an untried arm (½) loses to 3 of 5 (4/7)."""
    state = counts([3, 0, 0], [2, 0, 4])
    one = player("gittins-finite", tables)
    last = logits(one, state._replace(pulls=jnp.array(3)))
    early = logits(one, state._replace(pulls=jnp.array(0)))
    np.testing.assert_array_equal(last, [0, -np.inf, -np.inf])
    np.testing.assert_array_equal(early, [-np.inf, 0, -np.inf])


@pytest.mark.parametrize(("context", "recalled"), [([1.0, 0.0], True), ([0.0, 1.0], False)])
def test_only_counts_of_the_own_context_are_recalled(
    tables: Tables, context: list[float], recalled: bool
) -> None:
    one = player("greedy", tables, carries=True)
    dnd, known = DND(capacity=1), jnp.array([1.0, 0.0])
    last = counts([2, 0, 0], [0, 1, 0])._replace(context=known)
    contents = one.write(dnd, dnd.empty(2, one.value_size), known, last)
    found, *_ = one.read(dnd, contents, jnp.array(context), one.initial_state())
    state, _ = one(first_step(context), found, one.initial_state())
    np.testing.assert_array_equal(state.successes, [2, 0, 0] if recalled else [0, 0, 0])


def test_tables_too_large_are_refused() -> None:
    with pytest.raises(TooLarge, match="lower pulls or repeats"):
        make_tables(num_arms=2, pulls=100, exposures=10)
