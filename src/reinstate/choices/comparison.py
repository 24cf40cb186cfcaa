"""Models compared: by AIC and BIC summed over participants, hierarchical ones by leave-one-out.

Uncued and cued episodes are fitted separately, and so compared. The rivals of a model are itself
without one strategy at a time, and, of maximum-likelihood fits, the other way to look back (one
episode, `one-back`, or values learned over many, `learned`) and no strategy at all, but bias and
perseveration.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reinstate.choices.documents import FitRow, ModelRow
from reinstate.choices.model import STRATEGIES, Ints
from reinstate.choices.posterior import Loo, Posterior, leave_one_out


class _Score(NamedTuple):
    """How well a model explains one participant's part."""

    log_likelihood: float
    aic: float
    bic: float


def compare_by_bic(fits: Mapping[str, Sequence[FitRow]]) -> dict[str, list[ModelRow]]:
    """Sum AIC and BIC over participants, by part; the lowest BIC comes first.

    `fits` are those of each model, by its name; those without a strategy come with the first.
    """
    own, *_ = fits
    parts = dict.fromkeys(row["part"] for row in fits[own])
    return {part: _by_bic(_scores(fits, part)) for part in parts}


def _scores(fits: Mapping[str, Sequence[FitRow]], part: str) -> dict[str, list[_Score]]:
    """Collect each model's scores, participant by participant."""
    scores: dict[str, list[_Score]] = {}
    for place, (model, rows) in enumerate(fits.items()):
        for row in (row for row in rows if row["part"] == part):
            full = _Score(row["log_likelihood"], row["aic"], row["bic"])
            scores.setdefault(model, []).append(full)
            for worth in () if place else row["without"]:
                lost = worth["delta_log_likelihood"], -worth["delta_aic"], -worth["delta_bic"]
                less = _Score(*np.subtract(full, lost).tolist())
                scores.setdefault(f"{model} without {worth['strategy']}", []).append(less)
    return scores


def _by_bic(scores: Mapping[str, Sequence[_Score]]) -> list[ModelRow]:
    each = {model: np.array(list(rows)) for model, rows in scores.items()}  # (participants, 3)
    total = {model: rows.sum(axis=0) for model, rows in each.items()}
    lowest = min(sums[2] for sums in total.values())
    best = np.argmin([rows[:, 2] for rows in each.values()], axis=0)
    found: list[ModelRow] = []
    for place, (model, (log_likelihood, aic, bic)) in enumerate(total.items()):
        row: ModelRow = {"model": model}
        row |= {"log_likelihood": float(log_likelihood), "aic": float(aic), "bic": float(bic)}
        row |= {"delta_bic": float(bic - lowest), "best_for": int((best == place).sum())}
        found.append(row)
    return sorted(found, key=lambda row: row["bic"])


def compare_by_loo(
    posteriors: Sequence[Posterior], counts: Ints, participants: list[str], seed: int = 0
) -> tuple[dict[str, list[ModelRow]], list[str]]:
    """Sample the hierarchical model without each strategy, and rank all by leave-one-out.

    Returns the comparison by part, the best first, and what is doubtful about it.
    """
    from reinstate.choices.hierarchical import sample_posteriors  # JAX, for this alone

    chains, draws = posteriors[0].mu.shape[:2]
    models: dict[str, Sequence[Posterior]] = {"hierarchical": posteriors}
    for strategy in STRATEGIES:
        how = {"chains": chains, "draws": draws, "without": strategy}
        less = sample_posteriors(counts, participants, seed, **how)
        models[f"hierarchical without {strategy}"] = less
    comparison: dict[str, list[ModelRow]] = {}
    doubts = []
    for part in (posterior.part for posterior in posteriors):
        scores = {
            model: leave_one_out(each)
            for model, found in models.items()
            for each in found
            if each.part == part
        }
        comparison[part] = _by_elpd(scores)
        for model, score in scores.items():
            if score.doubtful:
                doubts.append(
                    f"{part}, {model}: {score.doubtful} of {score.made.sum():,} choices have a"
                    " Pareto k above 0.7: leave-one-out is not to be trusted there"
                )
    return comparison, doubts


def _by_elpd(scores: Mapping[str, Loo]) -> list[ModelRow]:
    ranked = sorted(scores.items(), key=lambda item: -item[1].total)
    _, best = ranked[0]
    found: list[ModelRow] = []
    for model, score in ranked:
        row: ModelRow = {"model": model, "elpd_loo": score.total, "se": score.standard_error()}
        row |= {"p_loo": score.parameters, "delta_elpd": best.total - score.total}
        row |= {"delta_se": best.standard_error(score), "high_k": score.doubtful}
        found.append(row)
    return found
