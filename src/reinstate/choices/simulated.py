"""Simulated agents whose weights are known, and how well fits recover these weights."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from reinstate.choices.documents import RecoveredWeight, Recovery, WeightRow
from reinstate.choices.fits import fit_choices
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import (
    MODEL_BASED,
    MODEL_FREE,
    NAMES,
    NONE,
    SIGN,
    Choices,
    Design,
    from_arrays,
    join_choices,
)
from reinstate.choices.reading import MOST_ROWS
from reinstate.errors import UserError, nearest, require_positive, require_probability

# At which simulated agents learn values: where rates are fitted, one that is not at an end.
RATES = {"one-back": 1.0, "learned": 0.5, "hierarchical": 1.0}


def simulate(
    weights: Mapping[str, float],
    sessions: int,
    episodes: int = 100,
    p_common: float = 0.8,
    p_reversal: float = 0.1,
    p_high: float = 0.9,
    p_low: float = 0.1,
    seed: int | Sequence[int] = 0,
    alpha: float = 1.0,
    cued: float = 0.5,
) -> Choices:
    """Simulate an agent that follows the choice model exactly, in the episodic two-step task.

    The first episodes of a session are uncued, a share `cued` of them at its end is cued. A cued
    episode shows the cue of an uncued one, drawn uniformly: reaching its state again pays its
    reward again. `alpha` is the learning rate of the incremental values; 1 looks one outcome back.
    """
    for name in weights:
        if name not in NAMES["cued"]:
            raise UserError(nearest("weight", name, NAMES["cued"]))
    require_positive(sessions=sessions, episodes=episodes - 1, alpha=alpha)
    require_probability(p_common=p_common, p_reversal=p_reversal, p_high=p_high, p_low=p_low)
    require_probability(cued=cued)
    w = {name: float(weights.get(name, 0)) for name in NAMES["cued"]}
    rng = np.random.default_rng(seed)
    uncued, every = max(int(round(episodes * (1 - cued), 6)), 1), np.arange(sessions)
    cue = np.full((sessions, episodes), -1)
    cue[:, uncued:] = rng.integers(uncued, size=(sessions, episodes - uncued))
    outcome = np.full((sessions, episodes + 1), NONE)  # the last column is never filled: no episode
    values = np.zeros((2, sessions))  # incremental: model-free, model-based
    good = rng.integers(2, size=sessions)
    for e in range(episodes):
        good = good ^ (rng.random(sessions) < p_reversal)
        shown = outcome[every, cue[:, e]]
        logit = w["bias"] + w["IMF"] * values[0] + w["IMB"] * values[1]
        logit += w["perseveration"] * SIGN[outcome[:, e - 1]]
        logit += w["EMF"] * MODEL_FREE[shown] + w["EMB"] * MODEL_BASED[shown]
        action = (rng.random(sessions) >= special.expit(logit)).astype(int)
        state = action ^ (rng.random(sessions) >= p_common)
        reward = rng.random(sessions) < np.where(state == good, p_high, p_low)
        replayed = (shown != NONE) & (shown // 2 % 2 == state)
        outcome[:, e] = 4 * action + 2 * state + np.where(replayed, shown % 2, reward)
        now = np.stack([MODEL_FREE[outcome[:, e]], MODEL_BASED[outcome[:, e]]])
        values += alpha * (now - values)
    seen = outcome[None, :, :-1]
    return from_arrays(seen // 4, seen // 2 % 2, seen % 2, (cue >= 0)[None], cue[None])


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
