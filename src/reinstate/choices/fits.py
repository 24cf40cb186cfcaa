"""Fits of several participants and their group, predicted, compared, and tried on agents."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from scipy import stats

from reinstate.analysis.verdicts import over_seeds
from reinstate.choices import documents
from reinstate.choices.comparison import Posterior, compare_by_bic, compare_by_loo, require_arviz
from reinstate.choices.documents import (
    ChoiceFit,
    Data,
    GroupWeight,
    RecoveredWeight,
    Recovery,
    Row,
    WeightRow,
    Weights,
)
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
    Design,
    Ints,
    count_choices,
    design_of,
    group_one_back,
    join_choices,
    link_episodes,
    simulate,
)
from reinstate.choices.reading import MOST_ROWS
from reinstate.choices.stay import predicted_at_estimates, predicted_by_posterior, stay_panels
from reinstate.choices.tables import ChoiceTable
from reinstate.errors import UserError, nearest, require_positive

MODELS = ("one-back", "learned", "hierarchical")
QUALITY = "n", "log_likelihood", "aic", "bic", "mcfadden_r2", "separated", "identified"
# At which simulated agents learn values: where rates are fitted, one that is not at an end.
RATES = {"one-back": 1.0, "learned": 0.5, "hierarchical": 1.0}
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
    posteriors: list[Posterior] | None = None,
) -> ChoiceFit:
    """Fit the weights of every participant and their group; compute stay probabilities.

    `prior_sd` is the weak prior of maximum likelihood; `seed` is for the hierarchical sampler,
    unless there are `posteriors` already. This is the bare document: `reinstate.fit_choices` reads
    tables, and predicts, compares and plots.
    """
    require_model(model)
    require_positive(prior_sd=prior_sd)
    counts = count_choices(choices)
    names = list(participants or map(str, range(len(counts))))
    if model == "hierarchical":
        from reinstate.choices import hierarchical  # JAX, for this alone

        drawn = posteriors or hierarchical.sample_posteriors(counts, names, seed)
        found = hierarchical.summarise(drawn, seed)
    else:
        found = fit_each(choices, counts, model, names, prior_sd)
    if not found["group"]:
        raise UserError("no episode has a predecessor in its session: there is nothing to fit")
    return {"model": model, **found, "stay": stay_panels(counts)}


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
            found["fits"].append(row)
        if fits:
            found["group"][part] = over_participants(fits)
    return {**found, "warnings": _warnings(found["fits"])}


def _warnings(fits: list[Row]) -> list[str]:
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
    group = {name: _t_test(e) for name, e in zip(fits[0].names, estimates, strict=True)}
    if fits[0].alpha is not None:
        rates = [found.alpha.estimate for found in fits if found.alpha is not None]
        alpha: GroupWeight = {**_t_test(rates), "t": None, "p": None}
        if alpha["ci95"] is not None:
            alpha["ci95"] = np.clip(alpha["ci95"], 0, 1).tolist()
        group["alpha"] = alpha
    return group


def _t_test(values: list[float]) -> GroupWeight:
    """Average over participants, with the interval of Student's t and the test against 0."""
    n = len(values)
    se = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    t = float(np.mean(values)) / se if se else None
    p = None if t is None else float(2 * stats.t.sf(abs(t), n - 1))
    mean, ci95 = (over_seeds(values)[name] for name in ("mean", "ci95"))
    return {"mean": mean, "ci95": ci95, "per_participant": list(values), "se": se, "t": t, "p": p}


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
    counts, posteriors = count_choices(choices), list[Posterior]()
    if hierarchical:
        from reinstate.choices.hierarchical import sample_posteriors

        if compare:
            require_arviz()  # before a minute is spent on sampling
        posteriors = sample_posteriors(counts, names, seed)
    document = fit_choices(choices, model, names, prior_sd, seed, posteriors)
    document["data"] = _described(table)
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


def recovery(
    agents: Sequence[Mapping[str, float]] | None = None,
    sessions: int = 30,
    episodes: int = 100,
    seed: int = 0,
    model: str = "one-back",
    alpha: float = 1.0,
    prior_sd: float = PRIOR_SD,
    participants: int = 20,
    p_common: float = 0.8,
    cued: float = 0.5,
) -> Recovery:
    """Simulate agents of known weights, and fit them.

    Without `agents` there are random mixtures, as many as `participants`, each weight between −0.5
    and 2. `recovery(**design_of(choices)._asdict())` simulates as much as somebody played.
    """
    require_positive(participants=participants)
    if participants * sessions * episodes > MOST_ROWS:
        raise UserError(f"a design may have {MOST_ROWS:,} episodes in all: play fewer")
    rng = np.random.default_rng(seed)
    if agents is None:
        draws = rng.uniform(-0.5, 2, size=(participants, len(NAMES["cued"])))
        agents = [dict(zip(NAMES["cued"], map(float, d), strict=True)) for d in draws]
    design = Design(len(agents), sessions, episodes, p_common, cued)
    how = {"p_common": p_common, "cued": cued, "alpha": alpha}
    played = [
        simulate(weights, sessions, episodes, seed=(seed, code), **how)
        for code, weights in enumerate(agents)
    ]
    numbered = [c._replace(participant=c.participant + code) for code, c in enumerate(played)]
    rows = fit_choices(join_choices(numbered), model, prior_sd=prior_sd, seed=seed)["rows"]
    rows = [row for row in rows if row["participant"].isdecimal() and row["se"] is not None]
    for row in rows:
        truth = {"alpha": alpha} | dict(agents[int(row["participant"])])
        row["true"] = truth.get(row["strategy"], 0.0)
    return {
        "model": model,
        "design": design._asdict(),
        "weights": _recovered(rows),
        "rows": rows,
        "coverage": _coverage(rows),
        "intervals": len(rows),
    }


def _recovered(rows: Sequence[WeightRow]) -> list[RecoveredWeight]:
    """Summarise each weight of each part."""
    found: list[RecoveredWeight] = []
    for part, strategy in dict.fromkeys((row["part"], row["strategy"]) for row in rows):
        own = [row for row in rows if (row["part"], row["strategy"]) == (part, strategy)]
        true, estimate = (np.array([row[name] for row in own]) for name in ("true", "estimate"))
        vary = len(own) > 1 and true.std() > 0 and estimate.std() > 0
        weight: RecoveredWeight = {
            "part": part,
            "strategy": strategy,
            "correlation": float(np.corrcoef(true, estimate)[0, 1]) if vary else None,
            "bias": float(np.mean(estimate - true)),
            "rmse": float(np.sqrt(np.mean((estimate - true) ** 2))),
            "coverage": _coverage(own),
        }
        found.append(weight)
    return found


def _coverage(rows: Sequence[WeightRow]) -> float:
    """Return the share of 95% intervals that hold the true weight."""
    low, true, high = (np.array([row[name] for row in rows]) for name in ("low", "true", "high"))
    return float(np.mean((low <= true) & (true <= high)))
