"""Fits of several participants, their group, and their stay probabilities."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import stats

from reinstate.analysis.intervals import over_seeds
from reinstate.choices import documents
from reinstate.choices.documents import ChoiceFit, FitRow, GroupWeight, WeightRow, Weights
from reinstate.choices.learned import fit_learned, select_episodes
from reinstate.choices.likelihood import PRIOR_SD, Fit, fit_weights, without_each
from reinstate.choices.model import (
    NAMES,
    Choices,
    Ints,
    count_choices,
    group_one_back,
    link_episodes,
)
from reinstate.choices.posterior import Posterior
from reinstate.choices.stay import stay_panels
from reinstate.errors import UserError, nearest, require_positive

MODELS = ("one-back", "learned", "hierarchical")
QUALITY = "n", "log_likelihood", "aic", "bic", "mcfadden_r2", "separated", "identified"


def fit_choices(
    choices: Choices,
    model: str = "one-back",
    participants: Sequence[str] | None = None,
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
) -> ChoiceFit:
    """Fit the weights of every participant and their group; compute stay probabilities.

    `prior_sd` is the weak prior of maximum likelihood; `seed` is for the hierarchical sampler. This
    is the bare document: `reinstate.fit_choices` reads tables, and predicts, compares and plots.
    """
    return fit_with_draws(choices, model, participants, prior_sd, seed)[0]


def fit_with_draws(
    choices: Choices,
    model: str = "one-back",
    participants: Sequence[str] | None = None,
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
) -> tuple[ChoiceFit, list[Posterior]]:
    """Fit as `fit_choices` does, and return the hierarchical model's draws too."""
    require_model(model)
    require_positive(prior_sd=prior_sd)
    counts = count_choices(choices)
    names = list(participants or map(str, range(len(counts))))
    posteriors: list[Posterior] = []
    if model == "hierarchical":
        from reinstate.choices import hierarchical  # JAX, for this alone

        posteriors = hierarchical.sample_posteriors(counts, names, seed)
        found = hierarchical.summarise(posteriors, seed)
    else:
        found = fit_each(choices, counts, model, names, prior_sd)
    if not found["group"]:
        raise UserError("no episode has a predecessor in its session: there is nothing to fit")
    return {"model": model, **found, "stay": stay_panels(counts)}, posteriors


def require_model(name: str) -> None:
    """Refuse an unknown model."""
    if name not in MODELS:
        raise UserError(nearest("model", name, MODELS))


def fit_each(
    choices: Choices,
    counts: Ints,
    model: str,
    names: list[str],
    prior_sd: float,
    rival: bool = False,
    weights: Sequence[str] = NAMES["cued"],
) -> Weights:
    """Fit each participant and part by maximum likelihood, and without each strategy.

    A `rival` is fitted for comparison alone, as it is; it may have fewer `weights`.
    """
    linked = link_episodes(choices)
    found: Weights = {"rows": [], "fits": [], "group": {}, "warnings": []}
    for part in NAMES:
        fits = []
        for code, participant in enumerate(names):
            if not group_one_back(counts[code], part).total.sum():
                continue  # no such episode

            def refit(names: tuple[str, ...], part: str = part, code: int = code) -> Fit:
                if model == "learned":
                    return fit_learned(select_episodes(linked, code, part), names, prior_sd)
                return fit_weights(group_one_back(counts[code], part, names), names, prior_sd)

            full = refit(tuple(name for name in NAMES[part] if name in weights))
            fits.append(full)
            found["rows"] += weight_rows(full, participant, part)
            row: dict[str, Any] = {"participant": participant, "part": part}
            row |= {name: getattr(full, name) for name in QUALITY}
            row |= {} if rival else {"without": without_each(full, refit)}
            found["fits"].append(cast(FitRow, row))
        if fits:
            found["group"][part] = over_participants(fits)
    return {**found, "warnings": _warnings(found["fits"])}


def _warnings(fits: list[FitRow]) -> list[str]:
    reasons = {
        "choices follow a rule without exception, so the prior limits their weights;"
        " trust the likelihood ratios": [f for f in fits if f["separated"]],
        "predictors follow from each other, so the prior shares out their weights": [
            f for f in fits if not f["identified"]
        ],
    }
    found = []
    for reason, bad in reasons.items():
        who = [f"{f['participant']} ({f['part']})" for f in bad]
        more = f" and {len(who) - 5} more" if len(who) > 5 else ""
        found += [f"{reason}: {', '.join(who[:5])}{more}"] if who else []
    return found


def weight_rows(found: Fit, participant: str, part: str) -> list[WeightRow]:
    """Make one row per weight: estimate, standard error, 95% Wald interval, z and two-sided p."""
    z95 = float(stats.norm.ppf(0.975))
    rows = []
    for name, b, se in zip(found.names, found.estimate.tolist(), found.se.tolist(), strict=True):
        numbers = b, se, b - z95 * se, b + z95 * se, b / se, float(2 * stats.norm.sf(abs(b / se)))
        rows.append(documents.weight_row(participant, part, name, *numbers))
    if found.alpha is not None:
        rate, se = found.alpha  # in [0, 1], and so is its interval; 0 is no hypothesis to test
        within = None if se is None else (max(rate - z95 * se, 0.0), min(rate + z95 * se, 1.0))
        ends = within or (None, None)
        rows.append(documents.weight_row(participant, part, "alpha", rate, se, *ends, None, None))
    return rows


def over_participants(fits: Sequence[Fit]) -> dict[str, GroupWeight]:
    """Average each weight over participants, with a t-interval and a t-test against 0."""
    estimates = np.array([found.estimate for found in fits]).T.tolist()
    group = {name: t_test(e) for name, e in zip(fits[0].names, estimates, strict=True)}
    if fits[0].alpha is not None:
        rates = [found.alpha.estimate for found in fits if found.alpha is not None]
        alpha: GroupWeight = {**t_test(rates), "t": None, "p": None}
        if alpha["ci95"] is not None:
            alpha["ci95"] = np.clip(alpha["ci95"], 0, 1).tolist()
        group["alpha"] = alpha
    return group


def t_test(values: list[float]) -> GroupWeight:
    """Average over participants, with the interval of Student's t and the test against 0."""
    n = len(values)
    se = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    t = float(np.mean(values)) / se if se else None
    p = None if t is None else float(2 * stats.t.sf(abs(t), n - 1))
    mean, ci95 = (over_seeds(values)[name] for name in ("mean", "ci95"))
    return {"mean": mean, "ci95": ci95, "per_participant": list(values), "se": se, "t": t, "p": p}


def interval_and_p(
    document: ChoiceFit, part: str, name: str
) -> tuple[list[float] | None, float | None]:
    """Return those of a weight's mean; for a single participant, those of the fit itself."""
    weight = document["group"][part][name]
    if weight["ci95"] is not None:
        return weight["ci95"], weight.get("p")
    (row,) = [r for r in document["rows"] if (r["part"], r["strategy"]) == (part, name)]
    low, high = row["low"], row["high"]
    return None if low is None or high is None else [low, high], row["p"]
