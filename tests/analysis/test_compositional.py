"""Scores of compositional bandits on a record made by hand, and against a slow loop."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.compositional import compositional_scores, retrieval_of_stimuli
from reinstate.evaluation import Record
from reinstate.tasks.compositional import HIGH, LOW, CompositionalTrace

# One seed, one epoch of four episodes with two trials: highs 0 and 1, lows 2 and 3.
CLASSES = [[0, 2], [1, 2], [0, 3], [1, 3]]
EXPOSURES = [[0, 0], [0, 1], [1, 0], [1, 1]]
QUERY = [[HIGH, LOW], [LOW, LOW], [LOW, HIGH], [HIGH, HIGH]]
# So the one asked for was met before: no no, once once, no once, once once.
EXPECTED = [[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]]
REWARD = [[0, 1], [1, 1], [0, 0], [1, 0]]
R_GATE = [[0.2, 0.4], [0.6, 0.8], [0.4, 0.0], [0.8, 0.4]]
RETRIEVED = [[-1, -1], [0, 0], [1, 0], [1, 1]]


def a_record(seeds: int = 1, **changed: Any) -> Record:
    """The same for every seed, but for fields that are given as (seeds, episodes, trials)."""
    given = {"query": QUERY, "expected": EXPECTED, "reward": REWARD, "retrieved": RETRIEVED}
    arrays = {
        name: np.array(changed.get(name, [value] * seeds))[:, None] for name, value in given.items()
    }
    both = [np.array([pairs] * seeds)[:, None, :, None] for pairs in (CLASSES, EXPOSURES)]
    classes, exposures = (np.broadcast_to(x, (seeds, 1, 4, 2, 2)) for x in both)
    r: Any = np.array([R_GATE] * seeds)[:, None]
    trace: Any = CompositionalTrace(arrays["query"], classes, exposures)  # type: ignore[arg-type]
    gates = {"r": r}
    fields: list[Any] = [classes[..., 0, HIGH], exposures[..., 0, HIGH], np.zeros(r.shape, int)]
    fields += [arrays["reward"], arrays["expected"], np.full(r.shape, 0.9), gates, gates]
    return Record(*fields, *[0 * r, arrays["retrieved"], trace])


def test_an_episode_counts_under_the_stimulus_met_more_often() -> None:
    found = compositional_scores(a_record())["by_exposure"]
    # The better known was met before: never; once, once, once.
    assert found["episodes"] == [1, 3]
    assert found["reward"]["mean"] == pytest.approx([1, (2 + 0 + 1) / 3])
    assert found["regret"]["mean"] == pytest.approx([0.8, (0.8 + 0.8 + 0) / 3])
    np.testing.assert_allclose(found["regret_by_step"], [[0.8, 0.8], [0.8 / 3, 1.6 / 3]])
    assert compositional_scores(a_record())["reward"]["mean"] == 1.0


def test_a_trial_counts_under_the_stimulus_asked_for() -> None:
    found = compositional_scores(a_record())
    # Asked for a new one on the first trial in episodes 0 and 2, on the second in episode 0.
    by_step = [[0.8, 0.8 + 0.0], [0.0, 0.0 + 0.8 / 3]]
    np.testing.assert_allclose(found["by_queried"]["regret_by_step"], by_step, atol=1e-12)
    assert found["by_queried"]["regret"]["mean"] == pytest.approx([0.8, 0.8 / 3])
    gates = [[(0.2 + 0.4) / 2, 0.4], [(0.6 + 0.8) / 2, (0.8 + 0.0 + 0.4) / 3]]
    np.testing.assert_allclose(found["r_by_trial"], gates)


def test_familiar_is_what_the_first_trial_asks_for() -> None:
    found = compositional_scores(a_record())["familiarity"]
    # Known in episodes 1 and 3, where the gate is widest. By the class that pays, it were 2 and 3.
    assert found["r_gate"]["auc"]["mean"] == 1.0 and found["similarity"]["auc"]["mean"] == 0.5


def test_first_pulls_by_the_kind_that_was_asked_for() -> None:
    found = compositional_scores(a_record())["first_pull"]
    # High: new in episode 0, known in 3. Low: known in episode 1, new in 2.
    assert found["high"]["mean"] == pytest.approx([0.1, 0.9])
    assert found["low"]["mean"] == pytest.approx([0.1, 0.9])
    other = [[[0.3, 0.0], [0.5, 0.0], [0.6, 0.0], [0.7, 0.0]]]
    found = compositional_scores(a_record(expected=other))["first_pull"]
    assert found["high"]["mean"] == pytest.approx([0.3, 0.7])
    assert found["low"]["mean"] == pytest.approx([0.6, 0.5])


def test_retrieval_is_right_where_the_class_took_part_in_either_role() -> None:
    found = retrieval_of_stimuli(a_record())
    # Of the known queries: class 2 in episode 1, twice, gets episode 0, which has it; class 0 in
    # episode 2 gets episode 0; class 1 in episode 3 gets episode 1. What new ones get is left out.
    assert found is not None and found["per_seed"] == [1.0]
    wrong = [[[-1, -1], [0, -1], [1, 1], [0, 2]]]  # right, none, (new), wrong, wrong, wrong
    found = retrieval_of_stimuli(a_record(retrieved=wrong))
    assert found is not None and found["per_seed"] == [pytest.approx(1 / 5)]


def test_without_a_memory_there_is_no_retrieval() -> None:
    record = a_record(retrieved=np.full((1, 4, 2), -1))
    assert retrieval_of_stimuli(record) is None
    assert compositional_scores(record)["retrieval"] is None


def test_where_nothing_comes_back_there_is_no_retrieval() -> None:
    record = a_record()
    new = record.trace._replace(exposures=np.zeros_like(record.trace.exposures))
    assert retrieval_of_stimuli(record._replace(trace=new)) is None


def random_record() -> Record:
    """Two seeds, nine epochs of six episodes with three trials, each class met three times."""
    rng = np.random.default_rng(0)
    shape = (2, 9, 6, 3)
    order = np.stack([rng.permuted(np.tile([0, 0, 0, 1, 1, 1], (2, 9, 1)), axis=-1) + 2 * n
                      for n in (HIGH, LOW)], axis=-1)  # fmt: skip
    met = np.stack([(order[:, :, :n] == order[:, :, n : n + 1]).sum(axis=2) for n in range(6)], 2)
    classes, exposures = (np.broadcast_to(x[:, :, :, None], (*shape, 2)) for x in (order, met))
    expected, r = (rng.uniform(size=shape) for _ in range(2))
    trace: Any = CompositionalTrace(rng.integers(0, 2, shape), classes, exposures)  # type: ignore[arg-type]
    gates = {"r": r}
    fields: list[Any] = [order[..., HIGH], met[..., HIGH], np.zeros(shape, int)]
    fields += [rng.integers(0, 2, shape), expected, np.ones(shape), gates, gates]
    return Record(*fields, *[np.zeros(shape), rng.integers(-1, 6, shape), trace])


def test_against_a_slow_loop() -> None:
    record = random_record()
    regrets, firsts, episodes = defaultdict(list), defaultdict(list), defaultdict(list)
    hits: dict[int, list[bool]] = defaultdict(list)
    for at in np.ndindex(record.reward.shape):
        seed, epoch, episode, step = at
        query = int(record.trace.query[at])
        met = int(record.trace.exposures[at][query])
        regret = 1 - float(record.expected_reward[at])
        regrets[seed, met, step].append(regret)
        if step == 0:
            firsts[seed, query, met].append(1 - regret)
            best = 1 - np.asarray(record.expected_reward[seed, epoch, episode])
            episodes[seed, int(max(record.trace.exposures[at]))].append(best.sum())
        if met:
            back = int(record.retrieved[at])
            then = record.trace.classes[seed, epoch, back, step].tolist() if back >= 0 else []
            hits[seed].append(int(record.trace.classes[at][query]) in then)
    found = compositional_scores(record)
    for seed, met in np.ndindex(2, 3):
        total = sum(np.mean(regrets[seed, met, step]) for step in range(3))
        assert found["by_queried"]["regret"]["per_seed"][seed][met] == pytest.approx(total)
        of_episodes = np.mean(episodes[seed, met])
        assert found["by_exposure"]["regret"]["per_seed"][seed][met] == pytest.approx(of_episodes)
        for name, row in (("high", HIGH), ("low", LOW)):
            mean = np.mean(firsts[seed, row, met])
            assert found["first_pull"][name]["per_seed"][seed][met] == pytest.approx(mean)
    retrieval: Any = found["retrieval"]
    assert retrieval["per_seed"] == pytest.approx([np.mean(hits[s]) for s in range(2)])


def test_what_was_never_asked_has_no_score() -> None:
    scores = compositional_scores(a_record(query=[[[HIGH, HIGH]] * 4]))
    assert scores["first_pull"]["low"]["mean"] == [None, None]
    assert scores["first_pull"]["high"]["mean"] == pytest.approx([0.5, 0.5])
