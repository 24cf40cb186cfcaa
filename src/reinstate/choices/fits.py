"""Fits of several participants and their group, predicted and compared."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import stats

from reinstate.analysis.verdicts import over_seeds
from reinstate.choices import documents
from reinstate.choices.comparison import Posterior, compare_by_bic, compare_by_loo, require_arviz
from reinstate.choices.documents import ChoiceFit, Data, GroupWeight, Row, WeightRow
from reinstate.choices.likelihood import (
    PRIOR_SD,
    Fit,
    fit_learned,
    fit_weights,
    select_episodes,
    without_each,
)
from reinstate.choices.model import (
    NAMES,
    Choices,
    Ints,
    count_choices,
    design_of,
    group_one_back,
    link_episodes,
)
from reinstate.choices.stay import predicted_at_estimates, predicted_by_posterior, stay_panels
from reinstate.choices.tables import ChoiceTable
from reinstate.errors import UserError, nearest, require_positive

MODELS = ("one-back", "learned", "hierarchical")
QUALITY = "n", "log_likelihood", "aic", "bic", "mcfadden_r2", "separated", "identified"
NONE = {"no strategy": ("one-back", ("bias", "perseveration"))}
# Other models of the same choices: of which kind, and with which weights.
RIVALS = {
    "one-back": {"learned": ("learned", NAMES["cued"]), **NONE},
    "learned": {"one-back": ("one-back", NAMES["cued"]), **NONE},
}


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
    counts = count_choices(choices)
    names = list(participants or map(str, range(len(counts))))
    return _fit(choices, counts, model, names, prior_sd, seed)[0]


def _fit(
    choices: Choices, counts: Ints, model: str, names: list[str], prior_sd: float, seed: int
) -> tuple[ChoiceFit, list[Posterior]]:
    if model not in MODELS:
        raise UserError(nearest("model", model, MODELS))
    require_positive(prior_sd=prior_sd)
    posteriors: list[Posterior] = []
    if model == "hierarchical":
        from reinstate.choices import hierarchical  # JAX, for this alone

        posteriors = hierarchical.sample_posteriors(counts, names, seed)
        found = hierarchical.summarise(posteriors, seed)
    else:
        found = fit_each(choices, counts, model, names, prior_sd)
    if not found["group"]:
        raise UserError("no episode has a predecessor in its session: there is nothing to fit")
    return cast(ChoiceFit, {"model": model, **found, "stay": stay_panels(counts)}), posteriors


def fit_each(
    choices: Choices,
    counts: Ints,
    model: str,
    names: list[str],
    prior_sd: float,
    rival: bool = False,
    weights: Sequence[str] = NAMES["cued"],
) -> Row:
    """Fit each participant and part by maximum likelihood, and without each strategy.

    A `rival` is fitted for comparison alone, as it is; it may have fewer `weights`.
    """
    linked = link_episodes(choices)
    found: Row = {"rows": [], "fits": [], "group": {}, "warnings": []}
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
            found["fits"].append(row)
        if fits:
            found["group"][part] = over_participants(fits)
    return {**found, "warnings": _warnings(found["fits"])}


def _warnings(fits: list[Row]) -> list[str]:
    doubts = {
        "choices follow a rule without exception, so the prior limits their weights;"
        " trust the likelihood ratios": ("separated", True),
        "predictors follow from each other, so the prior shares out their weights": (
            "identified", False,
        ),
    }  # fmt: skip
    found = []
    for doubt, (mark, value) in doubts.items():
        who = [f"{f['participant']} ({f['part']})" for f in fits if f[mark] is value]
        more = f" and {len(who) - 5} more" if len(who) > 5 else ""
        found += [f"{doubt}: {', '.join(who[:5])}{more}"] if who else []
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
    group = {name: _t_test(e) for name, e in zip(fits[0].names, estimates, strict=True)}
    rates = [found.alpha.estimate for found in fits if found.alpha is not None]
    if rates:
        alpha: GroupWeight = {**_t_test(rates), "t": None, "p": None}
        if alpha["ci95"] is not None:
            alpha["ci95"] = np.clip(alpha["ci95"], 0, 1).tolist()
        group["alpha"] = alpha
    return group


def _t_test(values: list[float]) -> GroupWeight:
    """Average over participants, with the interval of Student's t and the test against 0."""
    n, over = len(values), over_seeds(values)
    se = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    t = float(np.mean(values)) / se if se else None
    p = None if t is None else float(2 * stats.t.sf(abs(t), n - 1))
    mean, ci95 = over["mean"], over["ci95"]
    return {"mean": mean, "ci95": ci95, "per_participant": values, "se": se, "t": t, "p": p}


def fit_table(
    table: ChoiceTable,
    model: str = "one-back",
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
    compare: bool = False,
) -> tuple[ChoiceFit, list[Posterior]]:
    """Fit a table, predict its stay probabilities and compare models; return the draws too.

    Maximum-likelihood fits are compared with themselves without each strategy; `compare` adds the
    other way to look back, and no strategy at all. Of the hierarchical model it samples the same
    without each strategy.
    """
    choices, names, hierarchical = table.choices, table.participants, model == "hierarchical"
    counts = count_choices(choices)
    if hierarchical and compare:
        require_arviz()  # before a minute is spent on sampling
    document, posteriors = _fit(choices, counts, model, names, prior_sd, seed)
    document["data"] = _described(table)
    for part, group in document["group"].items():
        here = {row["participant"] for row in document["rows"] if row["part"] == part}
        for weight in group.values():
            weight["participants"] = [name for name in names if name in here]
    document["warnings"] = _doubts(table) + document["warnings"]
    if hierarchical:
        document["stay_predicted"] = predicted_by_posterior(posteriors, len(names), seed)
        if compare:
            document["comparison"], doubts = compare_by_loo(posteriors, counts, names, seed)
            document["warnings"] += doubts
    else:
        rows = document["rows"]
        document["stay_predicted"] = predicted_at_estimates(choices, counts, names, rows)
        fits = {model: document["fits"]}
        for rival, (kind, weights) in RIVALS[model].items() if compare else ():
            less = fit_each(choices, counts, kind, names, prior_sd, rival=True, weights=weights)
            fits[rival] = less["fits"]
        document["comparison"] = compare_by_bic(fits)
    return document, posteriors


def _described(table: ChoiceTable) -> Data:
    """Say what a table holds."""
    choices = table.choices
    sessions = np.unique(np.stack([choices.participant, choices.session]), axis=1)
    return {
        "file": table.file,
        "participants": len(table.participants),
        "sessions": sessions.shape[1],
        "episodes": len(choices.action),
        "cued": int(choices.cued.sum()),
        "actions": table.actions,
        "states": table.states,
        "skipped": table.skipped,
        "bad_rows": [*table.bad_rows],
        "design": cast(Any, design_of(choices)._asdict()),
    }


def _doubts(table: ChoiceTable) -> list[str]:
    found = [f"skipped {table.skipped} bad rows"] if table.skipped else []
    common = float(np.mean(table.choices.action == table.choices.state))
    if common < 0.5:
        first, other = table.actions[0], table.states[1]
        found.append(
            f"actions lead to their common state in only {common:.0%} of episodes: if {first}"
            f" commonly leads to {other}, say so (--common {first}={other})"
        )
    return found
