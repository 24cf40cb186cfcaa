"""The choice model, against slow twins, numbers worked by hand, and agents with known weights."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from reference.choices import MIXTURE, numeric_hessian, slow_log_likelihood, slow_rows
from reinstate.choices.agents import recovery
from reinstate.choices.fits import fit_choices, over_participants, weight_rows
from reinstate.choices.likelihood import fit_weights, without_each
from reinstate.choices.model import (
    NAMES,
    NONE,
    Choices,
    count_choices,
    from_arrays,
    group_one_back,
    link_episodes,
    simulate,
)
from reinstate.errors import UserError


@pytest.mark.parametrize("part", ["uncued", "cued"])
def test_grouped_fit_is_the_maximum_of_the_plain_likelihood(part: str) -> None:
    choices = simulate(MIXTURE, sessions=8, seed=3)
    shuffled = np.random.default_rng(0).permutation(len(choices.action))
    counts = count_choices(Choices._make(c[shuffled] for c in choices))
    found = fit_weights(group_one_back(counts[0], part), NAMES[part], 1e6)
    x, y = (np.array(a) for a in slow_rows(choices, part))
    slow = optimize.minimize(lambda b: -slow_log_likelihood(b, x, y), np.zeros(x.shape[1]))
    np.testing.assert_allclose(found.estimate, slow.x, atol=1e-4)
    assert found.log_likelihood == pytest.approx(slow_log_likelihood(found.estimate, x, y))
    hessian = numeric_hessian(lambda b: -slow_log_likelihood(b, x, y), found.estimate)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(hessian), rtol=1e-3, atol=1e-5)
    assert found.n == len(y)
    assert found.bic == pytest.approx(
        x.shape[1] * np.log(len(y)) - 2 * slow_log_likelihood(slow.x, x, y)
    )
    share = y.mean()
    null = len(y) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    assert found.mcfadden_r2 == pytest.approx(1 - found.log_likelihood / null)
    assert found.identified and not found.separated


def test_by_hand() -> None:
    """Whatever the outcome, the last action is repeated 3 times of 4: log odds of log 3."""
    counts = np.zeros((NONE + 1, NONE + 1, 2), int)
    counts[:4, NONE] = [3, 1]  # after action 0
    counts[4:8, NONE] = [1, 3]
    found = fit_weights(group_one_back(counts, "uncued"), NAMES["uncued"], prior_sd=1e6)
    np.testing.assert_allclose(found.estimate, [0, 0, 0, np.log(3)], atol=1e-6)
    # Fisher information of ±1 predictors that are orthogonal: Σ p (1 − p) = 32 · 3/16 = 6.
    np.testing.assert_allclose(found.se, np.full(4, 6**-0.5), rtol=1e-6)
    log_likelihood = 24 * np.log(3 / 4) + 8 * np.log(1 / 4)
    assert found.log_likelihood == pytest.approx(log_likelihood)
    assert found.aic == pytest.approx(8 - 2 * log_likelihood)
    assert found.mcfadden_r2 == pytest.approx(1 - log_likelihood / (32 * np.log(0.5)))
    row = weight_rows(found, "1", "uncued")[3]
    z = np.log(3) * 6**0.5
    assert row["strategy"] == "perseveration"
    assert row["z"] == pytest.approx(z)
    assert row["p"] == pytest.approx(2 * stats.norm.sf(z))
    assert row["low"] == pytest.approx(np.log(3) - 1.959964 / 6**0.5, rel=1e-5)


def test_arrays_of_an_evaluation_become_rows() -> None:
    shape = (2, 3, 4)  # seeds, epochs, episodes
    rng = np.random.default_rng(0)
    action, state, reward = rng.integers(2, size=(3, *shape))
    cued = np.broadcast_to([False, False, True, True], shape)
    cue = np.broadcast_to([5, 5, 1, 0], shape)  # whatever stands where nothing is cued
    rows = from_arrays(action, state, reward, cued, cue)
    at = (rows.participant == 1) & (rows.session == 2)
    assert rows.episode[at].tolist() == [0, 1, 2, 3]
    assert rows.cue_episode[at].tolist() == [-1, -1, 1, 0]
    assert rows.action[at].tolist() == action[1, 2].tolist()
    assert rows.reward[at].tolist() == reward[1, 2].tolist()
    linked = link_episodes(rows)
    assert linked.previous[:5].tolist() == [-1, 0, 1, 2, -1]
    assert linked.cue[:8].tolist() == [-1, -1, 1, 0, -1, -1, 5, 4]


def test_a_missing_episode_leaves_no_predecessor() -> None:
    choices = simulate({"IMB": 1}, sessions=1, episodes=20)
    whole = count_choices(choices)[0, :NONE, NONE].sum()
    kept = choices.episode != 4
    holed = Choices._make(column[kept] for column in choices)
    holed = holed._replace(cued=holed.cued & False, cue_episode=np.full(19, -1))
    assert whole == 9  # of 10 uncued episodes, all but the first
    assert (
        count_choices(holed)[0, :NONE, NONE].sum() == 17
    )  # of 19, all but the first and the fifth


STRATEGY_WEIGHTS = [
    {"IMF": 2.0},
    {"IMB": 2.0},
    {"EMF": 2.0},
    {"EMB": 2.0},
    {"IMB": 1.0, "EMB": 1.5, "perseveration": 0.5, "bias": 0.2},
    MIXTURE,
]


@pytest.mark.parametrize("weights", STRATEGY_WEIGHTS)
def test_known_weights_come_back(weights: dict[str, float]) -> None:
    for row in fit_choices(simulate(weights, sessions=60, seed=3))["rows"]:
        assert row["se"] is not None
        assert abs(row["estimate"] - weights.get(row["strategy"], 0)) < 2 * row["se"], row


def test_intervals_cover_what_they_claim() -> None:
    found = recovery([MIXTURE] * 100, sessions=10, seed=1)
    assert found["intervals"] == 1000
    assert 0.9 <= found["coverage"] <= 0.99


def test_replayed_rewards_and_transitions_follow_the_task() -> None:
    choices = simulate({}, sessions=400, episodes=40, p_common=0.7, p_high=1, p_low=0, seed=2)
    assert abs(np.mean(choices.action == choices.state) - 0.7) < 0.02
    assert choices.cued.tolist() == ([False] * 20 + [True] * 20) * 400
    linked = link_episodes(choices)
    cued = np.flatnonzero(choices.cued)
    cue = linked.cue[cued]
    assert choices.cue_episode[cued].min() == 0
    assert choices.cue_episode[cued].max() == 19
    same = choices.state[cued] == choices.state[cue]
    assert (choices.reward[cued] == choices.reward[cue])[same].all()
    assert 0.4 < np.mean((choices.reward[cued] == choices.reward[cue])[~same]) < 0.6
    # With certain rewards the better state shows, and it changes places one time in ten.
    uncued = ~choices.cued
    better = np.where(choices.reward == 1, choices.state, 1 - choices.state)[uncued]
    changes = (np.diff(better.reshape(400, 20), axis=1) != 0).mean()
    assert abs(changes - 0.1) < 0.015


def test_rules_without_exception_are_told() -> None:
    choices = simulate({"IMB": 60}, sessions=5, seed=1)
    document = fit_choices(choices)
    uncued = document["fits"][0]
    assert uncued["separated"] and uncued["identified"]
    assert "without exception" in document["warnings"][0]
    assert np.isfinite([row["estimate"] for row in document["rows"]]).all()
    worth = {row["strategy"]: row for row in uncued["without"]}
    assert worth["IMB"]["p"] < 1e-20
    assert worth["IMF"]["p"] > 0.5  # what Wald's test cannot say here
    noisy = fit_choices(simulate({"IMB": 3}, sessions=5, seed=1))
    assert not noisy["fits"][0]["separated"] and not noisy["warnings"]


def test_the_prior_hardly_matters_elsewhere() -> None:
    patterns = group_one_back(count_choices(simulate(MIXTURE, sessions=4, seed=5))[0], "cued")
    weak, none = (
        fit_weights(patterns, NAMES["cued"]),
        fit_weights(patterns, NAMES["cued"], prior_sd=1e4),
    )
    assert np.abs(weak.estimate - none.estimate).max() < 0.01 * none.se.min()


def test_predictors_that_cannot_be_told_apart_are_told() -> None:
    document = fit_choices(simulate({"IMB": 1}, sessions=4, p_common=1.0))
    assert not document["fits"][0]["identified"]
    assert "follow from each other" in document["warnings"][0]


def test_leaving_a_strategy_out() -> None:
    counts = count_choices(simulate({"IMB": 0.8, "EMB": 0.8}, sessions=20, seed=4))[0]

    def refit(names: tuple[str, ...]) -> Any:
        return fit_weights(group_one_back(counts, "cued", names), names)

    full = refit(NAMES["cued"])
    without = refit(("IMF", "EMF", "EMB", "bias", "perseveration"))
    worth = {row["strategy"]: row for row in without_each(full, refit)}
    assert list(worth) == ["IMF", "IMB", "EMF", "EMB"]
    lost = full.log_likelihood - without.log_likelihood
    assert worth["IMB"]["delta_log_likelihood"] == pytest.approx(lost)
    assert worth["IMB"]["delta_bic"] == pytest.approx(2 * lost - np.log(full.n))
    assert worth["IMB"]["delta_aic"] == pytest.approx(2 * lost - 2)
    assert worth["IMB"]["p"] == pytest.approx(stats.chi2.sf(2 * lost, 1))
    assert worth["EMB"]["p"] < 1e-6 < 0.01 < worth["EMF"]["p"]


def test_over_participants() -> None:
    counts = [count_choices(simulate(MIXTURE, 3, seed=s))[0] for s in range(5)]
    fits = [fit_weights(group_one_back(own, "uncued"), NAMES["uncued"]) for own in counts]
    imb = over_participants(fits)["IMB"]
    values = [found.estimate[1] for found in fits]
    test = stats.ttest_1samp(values, 0)
    assert imb["mean"] == pytest.approx(np.mean(values))
    assert imb["t"] == pytest.approx(test.statistic)
    assert imb["p"] == pytest.approx(test.pvalue)
    assert imb["ci95"] == pytest.approx(list(test.confidence_interval(0.95)))
    assert imb["se"] == pytest.approx(stats.sem(values))
    alone = over_participants(fits[:1])["IMB"]
    assert alone["ci95"] is None and alone["se"] is None and alone["p"] is None


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="nothing to fit"):
        fit_choices(Choices._make(column[:1] for column in simulate({}, 1, 10)))
    with pytest.raises(UserError, match="did you mean perseveration"):
        simulate({"perserveration": 1}, sessions=1)
    with pytest.raises(UserError, match="did you mean learned"):
        fit_choices(simulate({}, 1), "learnt")
    with pytest.raises(ValueError, match="no episode of its session"):
        count_choices(simulate({}, 1, 10)._replace(episode=np.arange(10) + 7))
    with pytest.raises(UserError, match="p_common"):
        simulate({}, 1, p_common=1.2)
