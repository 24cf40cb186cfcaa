"""The weights of the choice model by maximum likelihood, and what each of them is worth.

Separation. Where a strategy is followed without exception, the likelihood grows with its weight
without end. A weak prior, β_k rms(x_k) ~ Normal(0, prior_sd), keeps every fit finite: at the
default of 10 it moves a weight of 1 that is known to ± 0.1 by about 0.0001. Fits of separated
choices are marked: the prior then determines how large their weights are, their Wald intervals are
wide and mean little, and the likelihood ratios of `without_each` are what to trust.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from reinstate.choices.documents import StrategyWorth
from reinstate.choices.model import STRATEGIES, Floats, GroupedChoices

PRIOR_SD = 10.0


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


def without_each(full: Fit, refit: Callable[[tuple[str, ...]], Fit]) -> list[StrategyWorth]:
    """Compare the fit with those that lack one strategy each, by likelihood ratios (χ², 1 df)."""
    found: list[StrategyWorth] = []
    for strategy in (name for name in full.names if name in STRATEGIES):
        less = refit(tuple(name for name in full.names if name != strategy))
        lost = max(full.log_likelihood - less.log_likelihood, 0.0)
        worth: StrategyWorth = {
            "strategy": strategy,
            "delta_log_likelihood": lost,
            "p": float(stats.chi2.sf(2 * lost, 1)),
            "delta_aic": less.aic - full.aic,
            "delta_bic": less.bic - full.bic,
        }
        found.append(worth)
    return found
