"""Choices of several participants: fits of each of them, their group, and stay probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from reinstate.analysis.intervals import over_seeds, student
from reinstate.choices.learned import fit_learned, learning
from reinstate.choices.likelihood import PRIOR_SD, Fit, fit, leave_one_out
from reinstate.choices.model import NAMES, Choices, Ints, count, link, one_back
from reinstate.choices.stay import panels_of
from reinstate.errors import UserError, nearest, require_positive

MODELS = ("one-back", "learned", "hierarchical")
TIDY = ("participant", "part", "strategy", "estimate", "se", "low", "high", "z", "p")
SAMPLED = ("r_hat", "n_eff")  # further columns of the hierarchical model


def fit_choices(
    choices: Choices,
    model: str = "one-back",
    participants: Sequence[str] | None = None,
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
) -> dict[str, Any]:
    """Weights and fits of every participant, their group, and stay probabilities.

    `prior_sd` is the weak prior of maximum likelihood; `seed` is for the hierarchical sampler.
    """
    require_model(model)
    require_positive(prior_sd=prior_sd)
    counts = count(choices)
    names = list(participants or map(str, range(len(counts))))
    if model == "hierarchical":
        from reinstate.choices.hierarchical import fit_hierarchical

        found = fit_hierarchical(counts, names, seed=seed)
    else:
        found = _fit_each(choices, counts, model, names, prior_sd)
    if not found["group"]:
        raise UserError("no episode has a predecessor in its session: there is nothing to fit")
    return {"model": model, **found, "stay": panels_of(counts)}


def require_model(name: str) -> None:
    if name not in MODELS:
        raise UserError(nearest("model", name, MODELS))


def _fit_each(
    choices: Choices, counts: Ints, model: str, names: list[str], prior_sd: float
) -> dict[str, Any]:
    """Maximum likelihood, a participant and a part at a time."""
    linked = link(choices)
    rows, fits, group = [], [], {}
    for part in NAMES:
        found = {}
        for code, participant in enumerate(names):
            if not one_back(counts[code], part).total.sum():
                continue  # no such episode

            def refit(weights: tuple[str, ...], part: str = part, code: int = code) -> Fit:
                if model == "learned":
                    return fit_learned(learning(linked, code, part), weights, prior_sd)
                return fit(one_back(counts[code], part, weights), weights, prior_sd)

            full = refit(NAMES[part])
            found[participant] = full
            where = {"participant": participant, "part": part}
            rows += [where | row for row in tidy_rows(full)]
            fits.append(where | summary(full) | {"leave_one_out": leave_one_out(full, refit)})
        if found:
            group[part] = over_participants(list(found.values()))
    return {"rows": rows, "fits": fits, "group": group, "warnings": _warnings(fits)}


def _warnings(fits: list[dict[str, Any]]) -> list[str]:
    reasons = {
        "separated": "choices follow a rule without exception, so the prior limits their weights;"
        " trust the likelihood ratios",
        "identified": "predictors follow from each other, so the prior shares out their weights",
    }
    found = []
    for name, reason in reasons.items():
        bad = [
            f"{f['participant']} ({f['part']})" for f in fits if f[name] != (name == "identified")
        ]
        if bad:
            shown = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
            found.append(f"{reason}: {shown}")
    return found


def tidy_rows(found: Fit) -> list[dict[str, Any]]:
    """A row a weight: estimate, standard error, 95% Wald interval, z and two-sided p."""
    z95 = stats.norm.ppf(0.975)
    rows: list[dict[str, Any]] = []
    for name, estimate, se in zip(found.names, found.estimate, found.se, strict=True):
        z = estimate / se
        numbers = (
            estimate,
            se,
            estimate - z95 * se,
            estimate + z95 * se,
            z,
            2 * stats.norm.sf(abs(z)),
        )
        rows.append({"strategy": name} | dict(zip(TIDY[3:], map(float, numbers), strict=True)))
    if found.alpha is not None:
        rows.append({"strategy": "alpha"} | _alpha_row(*found.alpha))
    return rows


def _alpha_row(estimate: float, se: float | None) -> dict[str, Any]:
    """A learning rate lies in [0, 1], and so does its interval; 0 is no hypothesis to test."""
    if se is None:
        return dict.fromkeys(TIDY[3:]) | {"estimate": estimate}
    half = float(stats.norm.ppf(0.975)) * se
    low, high = max(estimate - half, 0.0), min(estimate + half, 1.0)
    return dict(zip(TIDY[3:], (estimate, se, low, high, None, None), strict=True))


def summary(found: Fit) -> dict[str, Any]:
    return {
        "n": found.n,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
        "bic": found.bic,
        "mcfadden_r2": found.mcfadden_r2,
        "separated": found.separated,
        "identified": found.identified,
    }


def over_participants(fits: Sequence[Fit]) -> dict[str, Any]:
    """Mean weight over participants, its t-interval, and a t-test against 0."""
    group = {}
    for i, name in enumerate(fits[0].names):
        group[name] = t_test([float(found.estimate[i]) for found in fits])
    if fits[0].alpha is not None:
        rates = [found.alpha.estimate for found in fits if found.alpha is not None]
        alpha = t_test(rates) | {"t": None, "p": None}
        if alpha["ci95"] is not None:
            alpha["ci95"] = np.clip(alpha["ci95"], 0, 1).tolist()
        group["alpha"] = alpha
    return group


def t_test(values: list[float]) -> dict[str, Any]:
    """Mean over participants, the interval of Student's t, and the test against 0."""
    n = len(values)
    se = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    t = float(np.mean(values)) / se if se else None
    p = None if t is None else float(2 * stats.t.sf(abs(t), n - 1))
    return over_seeds(values) | {"ci95": student(values), "se": se, "t": t, "p": p}


def interval_and_p(
    document: dict[str, Any], part: str, name: str
) -> tuple[list[float] | None, float | None]:
    """Of a weight's mean over participants; of a single participant, those of the fit itself."""
    weight = document["group"][part][name]
    if weight["ci95"] is not None:
        return weight["ci95"], weight.get("p")
    (row,) = [r for r in document["rows"] if (r["part"], r["strategy"]) == (part, name)]
    return None if row["low"] is None else [row["low"], row["high"]], row["p"]
