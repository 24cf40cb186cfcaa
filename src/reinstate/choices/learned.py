"""The choice model with incremental values that are learned over a session, not one-back.

The incremental predictors are differences of the values Q(a) of actions (IMF) and V(s) of states
(IMB):

    Q(a) ← Q(a) + α (ρ − Q(a)) for the action taken,  Q ← (1 − α) Q for the other one; V likewise
    x_IMF = Q(0) − Q(1)        x_IMB = V(0) − V(1)

What was not chosen or reached is forgotten at the same rate, so α = 1 is exactly the one-back
`model`, with weights on the same scale. (Model-based values of actions are Σ_s P(s | a) V(s):
their difference is x_IMB times 2 P(common) − 1, a constant that the weight takes up.) All values
begin a session at 0 and learn from all its episodes, cued or not. Episodic predictors are
unchanged.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize, signal

from reinstate.choices import model
from reinstate.choices.likelihood import PRIOR_SD, Alpha, Fit, diagnose, maximise
from reinstate.choices.model import Floats, GroupedChoices, Ints, Linked

ALPHAS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # where the search for α begins


class FittedEpisodes(NamedTuple):
    """All episodes of a participant, from which values are learned, and those to fit."""

    linked: Linked
    fitted: Ints  # rows
    previous: Ints  # outcome code, of each fitted row
    cue: Ints


def select_episodes(linked: Linked, participant: int, part: str) -> FittedEpisodes:
    """Select a participant's episodes, and the cued or uncued ones to fit."""
    start, end = np.searchsorted(linked.participant, [participant, participant + 1])
    own = Linked._make(column[start:end] for column in linked)
    own = own._replace(
        first=own.first - start,
        previous=np.where(own.previous >= 0, own.previous - start, -1),
        cue=np.where(own.cue >= 0, own.cue - start, -1),
    )
    fitted = np.flatnonzero((own.previous >= 0) & ((own.cue >= 0) == (part == "cued")))
    previous, cue = (model.outcome_at(own, at[fitted]) for at in (own.previous, own.cue))
    return FittedEpisodes(own, fitted, previous, cue)


def running_values(outcome: Floats, first: Ints, alpha: float) -> Floats:
    """Compute x ← (1 − α) x + α outcome after each episode, from 0 at the start of each session.

    One filter runs over all sessions; what it carried over from the session before, times
    (1 − α)^(episodes so far), is then subtracted.
    """
    through: Floats = signal.lfilter([alpha], [1, alpha - 1], outcome)
    carried = np.where(first > 0, through[first - 1], 0)
    age = np.arange(len(first)) - first + 1
    return through - ((1 - alpha) ** np.arange(age.max(initial=0) + 1))[age] * carried


def group_learned(data: FittedEpisodes, names: tuple[str, ...], alpha: float) -> GroupedChoices:
    """Compute the predictors at learning rate α; every episode is a group."""
    linked, before = data.linked, data.linked.previous[data.fitted]
    values = {
        name: running_values(of_outcome[linked.outcome], linked.first, alpha)[before]
        for name, of_outcome in (("IMF", model.MODEL_FREE), ("IMB", model.MODEL_BASED))
    }
    chosen = (linked.action[data.fitted] == 0).astype(float)
    x = model.predictors(names, data.previous, data.cue, **values)
    return GroupedChoices(x, chosen, np.ones(len(chosen)))


def fit_learned(data: FittedEpisodes, names: tuple[str, ...], prior_sd: float = PRIOR_SD) -> Fit:
    """Fit weights and α together: maximise over the weights at each α, then over α.

    The errors of the weights allow for that of α: the inverse information at the given α plus
    (dβ/dα)² var(α) is the inverse of the joint information.
    """
    last: Fit | None = None

    def at(alpha: float) -> Fit:
        nonlocal last
        # From very large weights, Newton's first step may go anywhere.
        near = last is not None and np.abs(last.estimate).max() < 5
        start = last.estimate if last is not None and near else None
        last = maximise(group_learned(data, names, alpha), names, prior_sd, start)
        return last

    profile = [at(alpha).log_likelihood for alpha in ALPHAS]
    top = int(np.argmax(profile))
    bounds = ALPHAS[max(top - 1, 0)], ALPHAS[min(top + 1, len(ALPHAS) - 1)]
    inside = optimize.minimize_scalar(
        lambda alpha: -at(alpha).log_likelihood, bounds=bounds, options={"xatol": 1e-3}
    )
    alpha = float(inside.x) if -inside.fun > profile[top] else ALPHAS[top]
    best, step = at(alpha), min(0.01, alpha / 10, 1 - alpha)
    best = diagnose(best, group_learned(data, names, alpha), prior_sd)
    best = best._replace(alpha=Alpha(alpha, None))
    if step < 1e-4 or alpha == ALPHAS[0]:
        return best
    low, high = at(alpha - step), at(alpha + step)
    gained = 2 * best.log_likelihood - low.log_likelihood - high.log_likelihood
    if gained <= 0:  # flat: choices that depend on no incremental value say nothing about α
        return best
    variance = step**2 / gained
    slope = (high.estimate - low.estimate) / (2 * step)
    covariance = best.covariance + variance * np.outer(slope, slope)
    return best._replace(alpha=Alpha(alpha, float(np.sqrt(variance))), covariance=covariance)
