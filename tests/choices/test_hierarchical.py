"""The hierarchical fit: group and people come back; little data is drawn towards the group."""

import json
from typing import Any

import numpy as np
import pytest

from reinstate.choices.hierarchical import (
    known_from_choices,
    sample_posteriors,
    sampling_warnings,
    summarise,
)
from reinstate.choices.likelihood import fit_weights
from reinstate.choices.model import (
    NAMES,
    Choices,
    count_choices,
    group_one_back,
    join_choices,
    simulate,
)

GROUP = {"IMF": 0.5, "IMB": 1.5, "bias": -0.2, "perseveration": 0.3}


def a_group(
    sessions: list[int], spread: float, spread_imb: float | None = None
) -> tuple[Choices, list[dict[str, float]]]:
    rng = np.random.default_rng(2)
    wide = dict.fromkeys(GROUP, spread) | {"IMB": spread_imb or spread}
    people = [
        {name: w + wide[name] * rng.standard_normal() for name, w in GROUP.items()}
        for _ in sessions
    ]
    played = []
    for code, (weights, n) in enumerate(zip(people, sessions, strict=True)):
        own = simulate(weights, n, 60, seed=code)
        # Uncued halves alone: one compilation is enough for a test.
        played.append(Choices._make(column[~own.cued] for column in own))
    return join_choices(played), people


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    pytest.importorskip("numpyro")
    choices, people = a_group([20, 20, 20, 20, 20, 3], spread=0.2, spread_imb=1.0)
    counts = count_choices(choices)
    data = [group_one_back(own, "uncued") for own in counts]
    both_kinds = known_from_choices(data, NAMES["uncued"])
    assert both_kinds.tolist() == [False, True, False, False]
    names = [f"p{i}" for i in range(6)]
    posteriors = sample_posteriors(counts, names, seed=1, chains=2, warmup=300, draws=400)
    document = summarise(posteriors, 1, 300)
    alone = [fit_weights(own, NAMES["uncued"]) for own in data]
    return {**document, "alone": alone, "people": people}


def test_people_and_group_come_back(found: dict[str, Any]) -> None:
    rows = {(row["participant"], row["strategy"]): row for row in found["rows"]}
    assert len(rows) == (6 + 2) * 4
    z = [
        (rows[f"p{i}", name]["estimate"] - weight) / rows[f"p{i}", name]["se"]
        for i, weights in enumerate(found["people"])
        for name, weight in weights.items()
    ]
    assert np.abs(z).max() < 3.5
    assert 0.5 < np.std(z) < 1.5
    for name in GROUP:
        truth = np.mean([weights[name] for weights in found["people"]])
        mean, spread = rows["group mean", name], rows["group sd", name]
        assert mean["low"] < truth < mean["high"]
        assert 0 < spread["low"] < spread["estimate"] < 1.6
        assert mean["z"] is None and mean["p"] is None
        group = found["group"]["uncued"][name]
        assert group["ci95"] == [mean["low"], mean["high"]] and len(group["per_participant"]) == 6


def test_where_people_differ_much_each_is_fitted_alone(found: dict[str, Any]) -> None:
    """IMB varies so widely that the group tells little of it; of the others it tells something."""
    for i in range(5):
        alone = found["alone"][i]
        own = [row for row in found["rows"] if row["participant"] == f"p{i}"]
        assert [row["strategy"] for row in own] == list(NAMES["uncued"])
        assert abs(own[1]["estimate"] - alone.estimate[1]) < 0.8 * alone.se[1]
        ratio = np.array([row["se"] for row in own]) / alone.se
        assert 0.75 < ratio[1] < 1.15
        assert (ratio < 1.1).all()


def test_little_data_is_drawn_towards_the_group(found: dict[str, Any]) -> None:
    alone = found["alone"][5]
    own = [row for row in found["rows"] if row["participant"] == "p5"]
    assert all(row["se"] < se for row, se in zip(own, alone.se, strict=True))
    mean = [found["group"]["uncued"][name]["mean"] for name in NAMES["uncued"]]
    farther = np.abs(alone.estimate - mean)
    nearer = np.abs(np.array([row["estimate"] for row in own]) - mean)
    assert nearer.sum() < 0.8 * farther.sum()


def test_diagnostics(found: dict[str, Any]) -> None:
    (fitted,) = found["fits"]
    assert fitted["part"] == "uncued"
    assert fitted["n"] == (5 * 20 + 3) * 29
    assert 0.99 < fitted["r_hat"] < 1.03
    assert fitted["n_eff"] > 100
    json.dumps(found["rows"] + found["fits"], allow_nan=False)


def test_bad_chains_are_told() -> None:
    assert sampling_warnings("cued", r_hat=1.009, n_eff=400, divergences=0) == []
    (disagree,) = sampling_warnings("cued", r_hat=1.02, n_eff=40, divergences=0)
    assert "r_hat 1.020" in disagree
    (stuck,) = sampling_warnings("cued", r_hat=float("nan"), n_eff=0, divergences=0)
    assert "disagree" in stuck
    (diverged,) = sampling_warnings("uncued", r_hat=1, n_eff=400, divergences=3)
    assert diverged.startswith("uncued: 3 divergent")
