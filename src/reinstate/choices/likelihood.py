"""The weights of the choice model by maximum likelihood, and what each of them is worth.

Separation. Where a strategy is followed without exception, the likelihood grows with its weight
without end. A weak prior, β_k rms(x_k) ~ Normal(0, prior_sd), keeps every fit finite: at the
default of 10 it moves a weight of 1 that is known to ± 0.1 by about 0.0001. Fits of separated
choices are marked: the prior then determines how large their weights are, their Wald intervals are
wide and mean little, and the likelihood ratios of `without_each` are what to trust.

Learned values. Incremental values may be learned over a session instead of looking one episode
back. The incremental predictors are then differences of the values Q(a) of actions (IMF) and V(s)
of states (IMB):

    Q(a) ← Q(a) + α (ρ − Q(a)) for the action taken,  Q ← (1 − α) Q for the other one; V likewise
    x_IMF = Q(0) − Q(1)        x_IMB = V(0) − V(1)

What was not chosen or reached is forgotten at the same rate, so α = 1 is exactly the one-back
`model`, with weights on the same scale. (Model-based values of actions are Σ_s P(s | a) V(s):
their difference is x_IMB times 2 P(common) − 1, a constant that the weight takes up.) All values
begin a session at 0 and learn from all its episodes, cued or not. Episodic predictors are
unchanged.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, signal, special, stats

from reinstate.choices import model
from reinstate.choices.documents import Row
from reinstate.choices.model import STRATEGIES, Floats, GroupedChoices, Ints, Linked

PRIOR_SD = 10.0
ALPHAS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # where the search for α begins


class Alpha(NamedTuple):
    """The learning rate of values; without a standard error at the ends of its range."""

    estimate: float
    se: float | None


class Fit(NamedTuple):
    """Weights and how well they explain the choices."""

    names: tuple[str, ...]
    estimate: Floats  # (weights,)
    covariance: Floats  # (weights, weights) inverse Fisher information, the prior's included
    log_likelihood: float  # of the choices alone, without the prior
    null_log_likelihood: float  # of a bias alone
    n: int
    separated: bool = False  # some weight has no finite maximum
    identified: bool = True  # no predictor follows from the others
    alpha: Alpha | None = None

    @property
    def se(self) -> Floats:
        return np.sqrt(np.diag(self.covariance))

    @property
    def parameters(self) -> int:
        return len(self.names) + (self.alpha is not None)

    @property
    def aic(self) -> float:
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        return self.parameters * float(np.log(self.n)) - 2 * self.log_likelihood

    @property
    def mcfadden_r2(self) -> float | None:
        """1 − log L / log L of a bias alone; None where every choice was the same."""
        null = self.null_log_likelihood
        return 1 - self.log_likelihood / null if null < 0 else None


def fit_weights(data: GroupedChoices, names: tuple[str, ...], prior_sd: float = PRIOR_SD) -> Fit:
    """Fit weights by maximum likelihood with the weak prior, and diagnose them."""
    return diagnose(maximise(data, names, prior_sd), data, prior_sd)


def maximise(
    data: GroupedChoices, names: tuple[str, ...], prior_sd: float, start: Floats | None = None
) -> Fit:
    """Maximise the penalised likelihood by Newton's method."""
    x, chosen, total = data
    precision = _precision(data, prior_sd)

    def objective(beta: Floats, eta: Floats) -> float:
        return _log_likelihood(eta, chosen, total) - float(precision @ beta**2) / 2

    def information(p: Floats) -> Floats:
        return x.T @ (x * (total * p * (1 - p))[:, None]) + np.diag(precision)

    beta = np.zeros(len(names)) if start is None else start
    eta: Floats = x @ beta
    here = objective(beta, eta)
    for _ in range(100):
        p = special.expit(eta)
        slope = x.T @ (chosen - total * p) - precision * beta
        step = np.linalg.solve(information(p), slope)
        gain = float(slope @ step)  # near the maximum, twice what is left to gain
        # The whole step overshoots where probabilities are close to 0 or 1.
        while (there := objective(beta + step, x @ (beta + step))) < here - 1e-7:
            step = step / 2
        beta, here = beta + step, there
        eta = x @ beta
        if gain < 1e-7:  # the last step has squared the error that was left
            break
    covariance: Floats = np.linalg.inv(information(special.expit(eta))).astype(np.float64)
    n, share = total.sum(), chosen.sum() / max(total.sum(), 1)
    null = special.xlogy(chosen.sum(), share) + special.xlogy(n - chosen.sum(), 1 - share)
    log_likelihood = _log_likelihood(eta, chosen, total)
    return Fit(names, beta, covariance, log_likelihood, float(null), int(n))


def _precision(data: GroupedChoices, prior_sd: float) -> Floats:
    mean_square = (data.total @ data.x**2) / max(data.total.sum(), 1)
    return np.where(mean_square > 0, mean_square, 1) / prior_sd**2


def diagnose(found: Fit, data: GroupedChoices, prior_sd: float) -> Fit:
    """Mark a fit as separated, or as not identified."""
    # Along a separated direction the prior alone limits a weight, so its variance is about the
    # prior's: only such fits are worth the linear programme that decides.
    wide = (np.diag(found.covariance) * _precision(data, prior_sd)).max() > 1 / 40**2
    separated = bool(wide and _separated(data))
    rank = np.linalg.matrix_rank(data.x.T @ (data.x * data.total[:, None]))
    return found._replace(separated=separated, identified=bool(rank == len(found.names)))


def _log_likelihood(eta: Floats, chosen: Floats, total: Floats) -> float:
    return float(total @ special.log_expit(eta) - (total - chosen) @ eta)


def _separated(data: GroupedChoices) -> bool:
    """Tell whether some direction d has y x·d ≥ 0 for every choice y = ±1, and > 0 for some.

    The likelihood then grows along d without end. (Albert and Anderson 1984; a linear programme.)
    """
    signed = np.concatenate([data.x[data.chosen > 0], -data.x[data.chosen < data.total]])
    none = np.zeros(len(signed))
    found = optimize.linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=none, bounds=(-1, 1))
    return bool(found.success and found.fun < -1e-6)


def without_each(full: Fit, refit: Callable[[tuple[str, ...]], Fit]) -> list[Row]:
    """Compare the fit with those that lack one strategy each, by likelihood ratios (χ², 1 df)."""
    found: list[Row] = []
    for strategy in (name for name in full.names if name in STRATEGIES):
        less = refit(tuple(name for name in full.names if name != strategy))
        lost = max(full.log_likelihood - less.log_likelihood, 0.0)
        worth: Row = {
            "strategy": strategy,
            "delta_log_likelihood": lost,
            "p": float(stats.chi2.sf(2 * lost, 1)),
            "delta_aic": less.aic - full.aic,
            "delta_bic": less.bic - full.bic,
        }
        found.append(worth)
    return found


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
