"""Draws of the hierarchical model's posterior: kept as NetCDF, and judged by leave-one-out.

ArviZ does both (the extra reinstate[arviz]). What is left out is one choice, given all the others,
those of the same participant included: the score (elpd) says how well the choices of these
participants are predicted, not those of a new one. Leaving out a whole participant would need the
likelihood without their own weights, which the draws are not about: with them, importance sampling
breaks down (Pareto k far above 0.7). Choices of a participant that share their predictors and their
action have the same score, so each such kind is computed once and counts as often as it was made.
"""

import importlib
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reinstate.choices.model import Floats, GroupedChoices, Ints
from reinstate.errors import UserError
from reinstate.files import disk_errors

LARGEST_K = 0.7
AT_ONCE = 4_000_000  # log-likelihoods in memory at a time


class Posterior(NamedTuple):
    """Draws of one part's weights; chains come first, then draws."""

    part: str
    names: tuple[str, ...]  # of the weights
    participants: list[str]
    codes: list[int]  # their places among all participants
    data: list[GroupedChoices]  # of each participant
    beta: Floats  # (chains, draws, participants, weights)
    mu: Floats  # (chains, draws, weights) the group's mean
    tau: Floats  # (chains, draws, weights) and its spread
    diverging: NDArray[np.bool_]  # (chains, draws)

    @property
    def divergences(self) -> int:
        return int(self.diverging.sum())

    def thinned(self, most: int) -> Floats:
        """Return the weights of some draws of all chains, (draws, participants, weights)."""
        every = self.beta.reshape(-1, *self.beta.shape[2:])
        return every[np.linspace(0, len(every) - 1, min(most, len(every))).astype(int)]


class Loo(NamedTuple):
    """What leave-one-out finds, for each kind of choice that was made."""

    elpd: Floats  # (kinds,) of one such choice
    lpd: Floats  # (kinds,) the same with the choice among the data
    k: Floats  # (kinds,) Pareto's shape; above 0.7 the elpd is not to be trusted
    made: Ints  # (kinds,) how often

    @property
    def total(self) -> float:
        return float(self.made @ self.elpd)

    @property
    def parameters(self) -> float:
        """The effective number of parameters."""
        return float(self.made @ (self.lpd - self.elpd))

    @property
    def doubtful(self) -> int:
        """How many choices have a Pareto k above 0.7."""
        return int(self.made[~(self.k <= LARGEST_K)].sum())

    def standard_error(self, other: "Loo | None" = None) -> float:
        """Return that of the total, or of its difference to another model's of the same choices."""
        each = self.elpd if other is None else self.elpd - other.elpd
        n = self.made.sum()
        mean = float(self.made @ each) / n
        return float(np.sqrt(n * (self.made @ (each - mean) ** 2) / max(n - 1, 1)))


def require_arviz() -> Any:
    """Import ArviZ, or say how to get it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it announces its next version to whoever imports it
            importlib.import_module("h5netcdf")
            arviz = importlib.import_module("arviz")
        if not hasattr(arviz, "InferenceData"):
            raise ImportError(f"version {arviz.__version__} works otherwise; 0.22 or 0.23 will do")
    except (ImportError, AttributeError) as error:  # absent, or not for what else is installed
        raise UserError(
            f"posterior draws and leave-one-out need ArviZ ({error}):"
            " pip install --upgrade 'reinstate[arviz]'"
        ) from None
    return arviz


def leave_one_out(posterior: Posterior) -> Loo:
    """Score every choice given all others, by Pareto-smoothed importance sampling."""
    az = require_arviz()
    chains, draws = posterior.beta.shape[:2]
    chosen = np.array([own.chosen for own in posterior.data])  # (participants, patterns)
    total = np.array([own.total for own in posterior.data])
    made = np.stack([chosen, total - chosen], axis=-1).astype(np.int64)
    step = max(1, AT_ONCE // (chains * draws * 2 * chosen.shape[1]))
    parts = []
    for start in range(0, len(made), step):
        some = slice(start, start + step)
        eta = posterior.beta[:, :, some].astype(np.float64) @ posterior.data[0].x.T
        both = special.log_expit(np.stack([eta, -eta], axis=-1))
        log_likelihood = both[:, :, made[some] > 0]  # (chains, draws, kinds)
        parts.append((*_loo_of(az, posterior, log_likelihood), made[some][made[some] > 0]))
    return Loo(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _loo_of(az: Any, posterior: Posterior, log_likelihood: Floats) -> tuple[Floats, ...]:
    """Return elpd, lpd and Pareto k of each kind, by ArviZ."""
    group = {"mu": posterior.mu, "tau": posterior.tau}
    draws = log_likelihood.shape[0] * log_likelihood.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is doubtful is counted, and told once for all
        data = az.from_dict(posterior=group, log_likelihood={"choice": log_likelihood})
        found = az.loo(data, pointwise=True, scale="log")
    lpd = special.logsumexp(log_likelihood, axis=(0, 1)) - np.log(draws)
    return np.asarray(found.loo_i), lpd, np.asarray(found.pareto_k)


def inference_data(posteriors: list[Posterior]) -> Any:
    """Return an ArviZ `InferenceData`: draws, divergences, counts of choices, and predictors.

    Names start with the part: uncued_beta (chain, draw, uncued_participant, uncued_weight),
    uncued_mu, uncued_tau; observed uncued_chosen of uncued_total; uncued_x, of each pattern.
    """
    az = require_arviz()
    drawn: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    constant: dict[str, Any] = {}
    coords: dict[str, list[str]] = {}
    dims: dict[str, list[str]] = {}
    for each in posteriors:
        part = each.part
        who, what, where = f"{part}_participant", f"{part}_weight", f"{part}_pattern"
        coords |= {who: each.participants, what: list(each.names)}
        drawn |= {f"{part}_{n}": getattr(each, n) for n in ("beta", "mu", "tau")}
        dims |= {f"{part}_beta": [who, what], f"{part}_mu": [what], f"{part}_tau": [what]}
        for name in ("chosen", "total"):
            observed[f"{part}_{name}"] = np.array([getattr(own, name) for own in each.data])
            dims[f"{part}_{name}"] = [who, where]
        constant[f"{part}_x"] = each.data[0].x
        dims[f"{part}_x"] = [where, what]
    # The parts are independent: a draw of one and a draw of the other are a draw of both.
    sampler = {"diverging": np.any([each.diverging for each in posteriors], axis=0)}
    groups = {"posterior": drawn, "sample_stats": sampler, "observed_data": observed}
    groups["constant_data"] = constant
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return az.from_dict(**groups, coords=coords, dims=dims)


def save_draws(posteriors: list[Posterior], path: Path) -> None:
    """Write the draws as NetCDF, which `arviz.from_netcdf` reads."""
    data = inference_data(posteriors)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            data.to_netcdf(str(beside), engine="h5netcdf")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
