"""Models compared and choices predicted, by their definitions."""

from typing import Any

import numpy as np
import pytest
from scipy import special

from reference.choices import MIXTURE
from reinstate.choices.comparison import Posterior, compare_by_bic, random_effects
from reinstate.choices.documents import ORDER, PANELS
from reinstate.choices.fits import fit_table
from reinstate.choices.likelihood import fit_weights, group_learned, select_episodes
from reinstate.choices.model import (
    NAMES,
    count_choices,
    group_one_back,
    join_choices,
    link_episodes,
    simulate,
)
from reinstate.choices.stay import predicted_by_posterior, stay_panels
from reinstate.choices.tables import ChoiceTable

PEOPLE = join_choices([simulate(MIXTURE, 4, seed=1), simulate({"IMB": 2.5, "EMB": 0.4}, 4, seed=2)])
TABLE = ChoiceTable(PEOPLE, ["a", "b"], ["0", "1"], ["0", "1"], 0, [])


def test_sums_are_those_of_fits_one_by_one() -> None:
    document, draws = fit_table(TABLE, compare=True)
    assert draws == []
    models = {row["model"]: row for row in document["comparison"]["uncued"]}
    assert set(models) == {
        "one-back", "one-back without IMF", "one-back without IMB", "learned", "no strategy",
    }  # fmt: skip
    names = {
        "one-back": NAMES["uncued"],
        "one-back without IMF": ("IMB", "bias", "perseveration"),
        "no strategy": ("bias", "perseveration"),
    }
    counts = count_choices(PEOPLE)
    for model, kept in names.items():
        fits = [fit_weights(group_one_back(own, "uncued", kept), kept) for own in counts]
        assert models[model]["bic"] == pytest.approx(sum(fit.bic for fit in fits))
        assert models[model]["aic"] == pytest.approx(sum(fit.aic for fit in fits))
        total = sum(fit.log_likelihood for fit in fits)
        assert models[model]["log_likelihood"] == pytest.approx(total)
    ranked = document["comparison"]["uncued"]
    assert [row["bic"] for row in ranked] == sorted(row["bic"] for row in ranked)
    assert ranked[0]["delta_bic"] == 0
    assert ranked[2]["delta_bic"] == pytest.approx(ranked[2]["bic"] - ranked[0]["bic"])
    assert sum(row["best_for"] for row in ranked) == 2
    assert len(document["comparison"]["cued"]) == 7


def test_who_is_explained_best_by_what() -> None:
    def row(who: str, bic: float, worth: float) -> dict[str, object]:
        less = {"strategy": "IMF", "delta_log_likelihood": 1.0, "delta_aic": 0, "delta_bic": worth}
        fit = {"participant": who, "part": "uncued", "log_likelihood": -9.0, "aic": 1.0, "bic": bic}
        return {**fit, "without": [less]}

    fits = [row("a", 10, worth=5), row("b", 20, worth=-1), row("c", 30, worth=2)]
    rival = [{**row(who, bic, 0)} for who, bic in (("a", 8), ("b", 21), ("c", 90))]
    ranked = compare_by_bic({"one-back": fits, "learned": rival})["uncued"]
    assert [(r["model"], r["bic"], r["delta_bic"], r["best_for"]) for r in ranked] == [
        ("one-back", 60, 0, 1),
        ("one-back without IMF", 66, 6, 1),
        ("learned", 119, 59, 1),
    ]
    assert ranked[1]["log_likelihood"] == -30
    assert [r["aic"] for r in ranked] == [3, 3, 3]
    assert ranked[0]["frequency"] > ranked[2]["frequency"]


def test_how_common_models_are() -> None:
    """Where it is certain who follows which: 12 and 4 people, by closed forms."""
    evidence = np.array([[0.0, -500.0]] * 12 + [[-300.0, 0.0]] * 4)
    frequency, exceedance = random_effects(evidence)
    np.testing.assert_allclose(frequency, [13 / 18, 5 / 18])
    alike = 0.5**16 / (0.5**16 + special.beta(13, 5))  # no other frequencies are needed
    commonest = 1 - special.betainc(13, 5, 0.5)
    expected = (1 - alike) * commonest + alike / 2
    np.testing.assert_allclose(exceedance, [expected, 1 - expected], atol=0.005)
    frequency, exceedance = random_effects(np.zeros((9, 3)))  # which tells nothing
    np.testing.assert_allclose([frequency, exceedance], np.full((2, 3), 1 / 3), atol=0.005)


@pytest.mark.parametrize("model", ["one-back", "learned"])
def test_predictions_at_the_estimates(model: str) -> None:
    """Of every fitted episode: the probability that it repeats the action, by what came of it."""
    document, _ = fit_table(TABLE, model)
    linked = link_episodes(PEOPLE)
    for code, name in enumerate(TABLE.participants):
        own = {r["strategy"]: r["estimate"] for r in document["rows"]
               if (r["participant"], r["part"]) == (name, "uncued")}  # fmt: skip
        data = select_episodes(linked, code, "uncued")
        x = group_learned(data, NAMES["uncued"], own.get("alpha", 1.0)).x
        first = 1 / (1 + np.exp(-x @ [own[weight] for weight in NAMES["uncued"]]))
        action, state, reward = data.previous // 4, data.previous // 2 % 2, data.previous % 2
        stays = np.where(action == 0, first, 1 - first)
        expected = [
            stays[(reward == (word == "rewarded")) & ((action == state) == (kind == "common"))]
            for word, kind in (outcome.split("-") for outcome in ORDER)
        ]
        found = document["stay_predicted"]["incremental_uncued"]["per_participant"][code]
        assert found == pytest.approx([each.mean() for each in expected])
    assert document["stay_predicted"]["episodic"]["ci95"] == [None] * 4


def test_predictions_by_draws_of_the_posterior() -> None:
    """Weights that decide everything give their rule; weights of 0 give a half, give or take."""
    counts = count_choices(PEOPLE)

    def predicted(imb: float) -> Any:
        data = [group_one_back(own, "uncued") for own in counts[1:]]
        beta = np.zeros((2, 30, 1, 4))
        beta[..., 1] = imb
        still = np.zeros((2, 30), bool)
        mu = beta[:, :, 0]
        draws = Posterior("uncued", NAMES["uncued"], ["b"], [1], data, beta, mu, mu, still)
        return predicted_by_posterior([draws], participants=2)

    strict = predicted(100.0)["incremental_uncued"]
    assert strict["mean"] == pytest.approx([1, 0, 0, 1])
    assert strict["per_participant"][0] == [None] * 4  # was not fitted
    even = predicted(0.0)
    assert even["incremental_uncued"]["mean"] == pytest.approx([0.5] * 4, abs=0.05)
    met = stay_panels(counts[1:])["incremental_uncued"]["episodes"]
    for (low, high), n in zip(even["incremental_uncued"]["ci95"], met, strict=True):
        assert (high - low) / 2 == pytest.approx(1.96 * 0.5 / n**0.5, rel=0.4)
    assert all(even[panel]["mean"] == [None] * 4 for panel in PANELS[1:])
