"""Reward and regret by exposure, against numbers worked by hand and a slow loop."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.exposures import (
    by_exposure,
    exposure_scores,
    retrieval_accuracy,
    reward_by_epoch,
    rewards_over_seeds,
)
from reinstate.analysis.verdicts import over_seeds
from reinstate.evaluation import Record


def a_record(exposure: Any, reward: Any, expected: Any, best: Any) -> Record:
    unused: Any = np.zeros_like(reward)
    gates = {"r": unused}
    return Record(
        exposure, exposure, unused, reward, expected, best, gates, gates, unused, unused, ()
    )


def test_by_hand() -> None:
    """One seed, one epoch: context A, then B, then A again; two pulls an episode."""
    record = a_record(
        exposure=np.array([[[0, 0, 1]]]),
        reward=np.array([[[[1, 0], [1, 1], [0, 0]]]]),
        expected=np.array([[[[0.1, 0.9], [0.1, 0.1], [0.9, 0.9]]]]),
        best=np.full((1, 1, 3, 2), 0.9),
    )
    assert reward_by_epoch(record) == [[1.0]]
    assert "error" not in exposure_scores(record)["reward"]  # one epoch tells nothing of it
    found = by_exposure(record)
    assert found["exposure"] == [1, 2]
    assert found["episodes"] == [2, 1]
    assert found["reward"] == {"mean": [1.5, 0], "ci95": None, "per_seed": [[1.5, 0]]}
    np.testing.assert_allclose(found["regret"]["mean"], [(0.8 + 1.6) / 2, 0.0])
    np.testing.assert_allclose(found["regret_by_step"], [[0.8, 1.2], [0.0, 0.0]])


def random_record(exposure: np.ndarray) -> Record:
    rng = np.random.default_rng(1)
    shape = (*exposure.shape, 5)
    expected = rng.uniform(size=shape)
    best = expected + rng.uniform(size=shape)
    return a_record(exposure, rng.integers(0, 2, shape), expected, best)


def test_against_a_slow_loop() -> None:
    record = random_record(np.random.default_rng(2).integers(0, 3, (2, 7, 6)))
    rewards, regrets = defaultdict(list), defaultdict(list)
    for seed, epoch, episode in np.ndindex(record.exposure.shape):
        at = seed, epoch, episode
        group = seed, int(record.exposure[at])
        regret, running = 0.0, []
        for best, got in zip(
            record.best_expected_reward[at], record.expected_reward[at], strict=True
        ):
            regret += best - got
            running.append(regret)
        rewards[group].append(sum(record.reward[at]))
        regrets[group].append(running)
    found = by_exposure(record)
    assert found["exposure"] == [1, 2, 3]
    for e in range(3):
        assert found["episodes"][e] == len(rewards[0, e]) + len(rewards[1, e])
        by_seed = [np.mean(regrets[s, e], axis=0) for s in range(2)]
        for s in range(2):
            assert found["reward"]["per_seed"][s][e] == pytest.approx(np.mean(rewards[s, e]))
            assert found["regret"]["per_seed"][s][e] == pytest.approx(by_seed[s][-1])
        np.testing.assert_allclose(found["regret_by_step"][e], np.mean(by_seed, axis=0))
        ends = over_seeds(by_seed)["ci95"]
        np.testing.assert_allclose(found["regret_by_step_ci95"][e], ends)
    assert np.shape(found["reward"]["ci95"]) == (3, 2)
    per_seed = np.mean([[sum(r) for r in seed] for seed in record.reward.reshape(2, -1, 5)], axis=1)
    np.testing.assert_allclose(np.mean(reward_by_epoch(record), axis=1), per_seed)


def test_regret_is_unknown_where_the_worth_of_actions_is() -> None:
    record = random_record(np.array([[[0, 0, 1, 1]]]))
    unknown: Any = np.full(record.reward.shape, np.nan)
    found = by_exposure(record._replace(expected_reward=unknown))
    assert found["regret"]["mean"] == [None, None]  # JSON has no NaN
    assert {step for steps in found["regret_by_step"] for step in steps} == {None}
    assert found["regret_by_step_ci95"] is None  # of a single seed
    assert None not in found["reward"]["mean"]


def test_exposures_that_a_seed_never_met_are_left_out() -> None:
    """As an urn may have it: the first seed meets a context four times, the second only twice."""
    found = by_exposure(random_record(np.array([[[0, 1, 2, 3]], [[0, 0, 1, 1]]])))
    assert found["exposure"] == [1, 2]
    assert found["episodes"] == [3, 3]
    assert np.isfinite(found["regret"]["mean"]).all()


def test_reward_has_the_evaluation_s_own_error() -> None:
    """Means of epochs: 1 and 3, variance 2; 4 and 4. Of the mean: √((2 + 0) / 2) / 2."""
    found = rewards_over_seeds(np.array([[[0, 2], [3, 3]], [[4, 4], [8, 0]]]))
    assert found["per_seed"] == [2, 4] and found["mean"] == 3
    assert found["error"] == pytest.approx(0.5)
    half = 12.7062 * 1  # t of 1 degree of freedom, and the standard error of 2 and 4
    assert found["ci95"] == pytest.approx([3 - half, 3 + half], abs=1e-3)


def test_seeds_that_agree_are_no_surer_than_their_evaluation() -> None:
    found = rewards_over_seeds(np.array([[[1, 1], [3, 3]], [[3, 3], [1, 1]]]))
    assert found["per_seed"] == [2, 2]
    half = 1.95996 * np.sqrt(2 / 2 + 2 / 2) / 2
    assert found["ci95"] == pytest.approx([2 - half, 2 + half], abs=1e-4)
    record = random_record(np.random.default_rng(2).integers(0, 3, (2, 7, 6)))
    assert exposure_scores(record)["reward"] == rewards_over_seeds(np.sum(record.reward, axis=-1))


# Whether the memory found the right context

CONTEXT = [[[5, 6, 5, 6]], [[5, 5, 5, 6]]]  # (seeds, epochs, episodes)
EXPOSURE = [[[0, 0, 1, 1]], [[0, 1, 2, 0]]]


def retrieving(retrieved: Any) -> Record:
    """`retrieved` is that of the first step; the second step's is not to count."""
    nothing = np.zeros((2, 1, 4, 2))
    gates = {"r": nothing}
    steps = np.stack([np.array(retrieved), np.full((2, 1, 4), -1)], axis=-1)
    fields: list[Any] = [np.array(CONTEXT), np.array(EXPOSURE), *[nothing] * 4, gates, gates]
    return Record(*fields, *[nothing, steps, ()])


def test_only_contexts_met_before_count() -> None:
    # Seed 0: of its two known contexts, the second gets a state of the other context. Seed 1: both
    # right. What comes back for a novel context is wrong of necessity, and left out.
    found = retrieval_accuracy(retrieving([[[-1, 0, 0, 0]], [[-1, 0, 1, 2]]]))
    assert found is not None
    assert found["per_seed"] == [0.5, 1.0] and found["mean"] == 0.75


def test_a_state_of_an_earlier_episode_of_the_context_will_do() -> None:
    found = retrieval_accuracy(retrieving([[[-1, 0, 0, 1]], [[-1, 0, 0, 1]]]))
    assert found is not None and found["per_seed"] == [1.0, 1.0]


def test_an_agent_without_memory_has_no_accuracy() -> None:
    assert retrieval_accuracy(retrieving(np.full((2, 1, 4), -1))) is None
