"""Simulated agents of known weights, fitted again: how well would a fit of so much data tell?"""

from collections.abc import Mapping, Sequence

import numpy as np

from reinstate.choices.documents import ChoiceFit, Recovery, Row, WeightRow
from reinstate.choices.fits import fit_choices
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import NAMES, Design, Floats, join_choices, simulate
from reinstate.choices.tables import MOST_ROWS
from reinstate.errors import UserError, require_positive

# At which simulated agents learn values: where rates are fitted, one that is not at an end.
RATES = {"one-back": 1.0, "learned": 0.5, "hierarchical": 1.0}
SLOWEST = 0.01  # learning rate of agents
ALIKE = 0.05  # least spread of agents: people differ, and correlations need differences


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
    like: ChoiceFit | None = None,
) -> Recovery:
    """Simulate agents of known weights, and fit them.

    Without `agents` as many as `participants` are drawn: around the weights of the participants
    whose fit is `like`, or else each weight between −0.5 and 2, where correlations flatter people
    who differ less. `recovery(**design_of(choices)._asdict())` simulates as much as somebody
    played.
    """
    require_positive(participants=participants)
    if participants * sessions * episodes > MOST_ROWS:
        raise UserError(f"a design may have {MOST_ROWS:,} episodes in all: play fewer")
    rng = np.random.default_rng(seed)
    if agents is None and like is not None:
        agents = agents_like(like, participants, seed)
        rate = next(iter(like["group"].values())).get("alpha")
        alpha = alpha if rate is None else min(max(rate["mean"], SLOWEST), 1.0)
    if agents is None:
        draws = rng.uniform(-0.5, 2, size=(participants, len(NAMES["cued"])))
        agents = [dict(zip(NAMES["cued"], map(float, d), strict=True)) for d in draws]
    design = Design(len(agents), sessions, episodes, p_common, cued)
    how = {"p_common": p_common, "cued": cued, "alpha": alpha}
    played = [
        simulate(weights, sessions, episodes, seed=(seed, code), **how)
        for code, weights in enumerate(agents)
    ]
    rows = fit_choices(join_choices(played), model, prior_sd=prior_sd, seed=seed)["rows"]
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


def agents_like(fit: ChoiceFit, number: int, seed: int = 0) -> list[dict[str, float]]:
    """Draw weights with the mean and the spread over participants of fitted ones, to `simulate`.

    Estimates spread more than weights do, by their errors. Weights are those of cued choices, or of
    uncued ones where nothing was cued.
    """
    rng = np.random.default_rng(seed)
    part, group = list(fit["group"].items())[-1]
    drawn = {}
    for name in (name for name in group if name != "alpha"):  # which agents have in common
        mean, spread = group[name]["mean"], group[name].get("sd")  # of the hierarchical model
        if spread is None:
            own = [r for r in fit["rows"] if (r["part"], r["strategy"]) == (part, name)]
            mean, spread = _without_errors(*np.array([[r["estimate"], r["se"]] for r in own]).T)
        drawn[name] = mean + max(spread, ALIKE) * rng.standard_normal(number)
    return [{name: float(each[i]) for name, each in drawn.items()} for i in range(number)]


def _without_errors(estimates: Floats, errors: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of what was estimated (DerSimonian and Laird 1986)."""
    weight = errors**-2.0
    excess = weight @ (estimates - np.average(estimates, weights=weight)) ** 2 - len(weight) + 1
    scale = weight.sum() - (weight**2).sum() / weight.sum()
    variance = max(excess / scale, 0.0) if len(weight) > 1 else 0.0
    return float(np.average(estimates, weights=1 / (errors**2 + variance))), float(variance**0.5)


def _recovered(rows: Sequence[WeightRow]) -> list[Row]:
    """Summarise each weight of each part."""
    of_weight: dict[tuple[str, str], list[WeightRow]] = {}
    for row in rows:
        of_weight.setdefault((row["part"], row["strategy"]), []).append(row)
    found: list[Row] = []
    for (part, strategy), own in of_weight.items():
        true, estimate = (np.array([row[name] for row in own]) for name in ("true", "estimate"))
        vary = len(own) > 1 and true.std() > 0 and estimate.std() > 0
        weight = {
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
    ends = np.array([[row["low"], row["true"], row["high"]] for row in rows], float)
    return float(np.mean((ends[:, 0] <= ends[:, 1]) & (ends[:, 1] <= ends[:, 2])))
