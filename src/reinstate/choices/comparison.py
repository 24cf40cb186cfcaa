"""Models compared: by AIC and BIC summed over participants, hierarchical ones by leave-one-out.

Uncued and cued episodes are fitted separately, and so compared. The rivals of a model are itself
without one strategy at a time, and, of maximum-likelihood fits, the other way to look back (one
episode, `one-back`, or values learned over many, `learned`) and no strategy at all, but bias and
perseveration.

Draws of the hierarchical model's posterior are kept as NetCDF, and compared by leave-one-out; ArviZ
does both (the extra reinstate[arviz]). What is left out is one choice, given all the others, those
of the same participant included: the score (elpd) says how well the choices of these participants
are predicted, not those of a new one. Leaving out a whole participant would need the likelihood
without their own weights, which the draws are not about: with them, importance sampling breaks down
(Pareto k far above 0.7). Choices of a participant that share their predictors and their action have
the same score, so each such kind is computed once and counts as often as it was made.
"""

import importlib
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reinstate.choices.documents import ModelRow, Row
from reinstate.choices.model import STRATEGIES, Floats, GroupedChoices, Ints
from reinstate.errors import UserError
from reinstate.files import write_atomically

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


def save_draws(posteriors: Sequence[Posterior], path: Path) -> None:
    """Write draws, divergences, counts of choices and predictors as NetCDF, for ArviZ.

    Names start with the part: uncued_beta (chain, draw, uncued_participant, uncued_weight),
    uncued_mu, uncued_tau; observed uncued_chosen of uncued_total; uncued_x, of each pattern.
    """
    groups: dict[str, dict[str, Any]] = {"posterior": {}, "observed_data": {}, "constant_data": {}}
    coords: dict[str, list[str]] = {}
    dims: dict[str, list[str]] = {}
    for each in posteriors:
        who, what, where = (f"{each.part}_{n}" for n in ("participant", "weight", "pattern"))
        coords |= {who: each.participants, what: list(each.names)}
        counts = {n: np.array([getattr(d, n) for d in each.data]) for n in ("chosen", "total")}
        for group, name, value, axes in (
            ("posterior", "beta", each.beta, [who, what]),
            ("posterior", "mu", each.mu, [what]),
            ("posterior", "tau", each.tau, [what]),
            ("observed_data", "chosen", counts["chosen"], [who, where]),
            ("observed_data", "total", counts["total"], [who, where]),
            ("constant_data", "x", each.data[0].x, [where, what]),
        ):
            groups[group][f"{each.part}_{name}"] = value
            dims[f"{each.part}_{name}"] = axes
    # The parts are independent: a draw of one and a draw of the other are a draw of both.
    diverging = {"diverging": np.any([each.diverging for each in posteriors], axis=0)}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        data = require_arviz().from_dict(**groups, sample_stats=diverging, coords=coords, dims=dims)
        data.to_netcdf(f"{folder}/draws", engine="h5netcdf")
        content = Path(folder, "draws").read_bytes()
    write_atomically(path, content)


class _Score(NamedTuple):
    """How well a model explains one participant's part."""

    log_likelihood: float
    aic: float
    bic: float


def compare_by_bic(fits: Mapping[str, Sequence[Row]]) -> dict[str, list[ModelRow]]:
    """Sum AIC and BIC over participants, by part; the lowest BIC comes first.

    `fits` are those of each model, by its name; those without a strategy come with the first.
    """
    own, *_ = fits
    parts = dict.fromkeys(row["part"] for row in fits[own])
    return {part: _by_bic(_scores(fits, part)) for part in parts}


def _scores(fits: Mapping[str, Sequence[Row]], part: str) -> dict[str, list[_Score]]:
    """Collect each model's scores, participant by participant."""
    scores: dict[str, list[_Score]] = {}
    for place, (model, rows) in enumerate(fits.items()):
        for row in (row for row in rows if row["part"] == part):
            full = _Score(row["log_likelihood"], row["aic"], row["bic"])
            scores.setdefault(model, []).append(full)
            for worth in () if place else row["without"]:
                lost = worth["delta_log_likelihood"], -worth["delta_aic"], -worth["delta_bic"]
                less = _Score(*np.subtract(full, lost).tolist())
                scores.setdefault(f"{model} without {worth['strategy']}", []).append(less)
    return scores


def _by_bic(scores: Mapping[str, Sequence[_Score]]) -> list[ModelRow]:
    each = {model: np.array(list(rows)) for model, rows in scores.items()}  # (participants, 3)
    total = {model: rows.sum(axis=0) for model, rows in each.items()}
    lowest = min(sums[2] for sums in total.values())
    best = np.argmin([rows[:, 2] for rows in each.values()], axis=0)
    found: list[ModelRow] = []
    for place, (model, (log_likelihood, aic, bic)) in enumerate(total.items()):
        row: ModelRow = {"model": model}
        row |= {"log_likelihood": float(log_likelihood), "aic": float(aic), "bic": float(bic)}
        row |= {"delta_bic": float(bic - lowest), "best_for": int((best == place).sum())}
        found.append(row)
    return sorted(found, key=lambda row: row["bic"])


def compare_by_loo(
    posteriors: Sequence[Posterior], counts: Ints, participants: list[str], seed: int = 0
) -> tuple[dict[str, list[ModelRow]], list[str]]:
    """Sample the hierarchical model without each strategy, and rank all by leave-one-out.

    Returns the comparison by part, the best first, and what is doubtful about it.
    """
    from reinstate.choices.hierarchical import sample_posteriors  # JAX, for this alone

    chains, draws = posteriors[0].mu.shape[:2]
    models: dict[str, Sequence[Posterior]] = {"hierarchical": posteriors}
    for strategy in STRATEGIES:
        how = {"chains": chains, "draws": draws, "without": strategy}
        less = sample_posteriors(counts, participants, seed, **how)
        models[f"hierarchical without {strategy}"] = less
    comparison: dict[str, list[ModelRow]] = {}
    doubts = []
    for part in (posterior.part for posterior in posteriors):
        scores = {
            model: leave_one_out(each)
            for model, found in models.items()
            for each in found
            if each.part == part
        }
        comparison[part] = _by_elpd(scores)
        for model, score in scores.items():
            if score.doubtful:
                doubts.append(
                    f"{part}, {model}: {score.doubtful} of {score.made.sum():,} choices have a"
                    " Pareto k above 0.7: leave-one-out is not to be trusted there"
                )
    return comparison, doubts


def _by_elpd(scores: Mapping[str, Loo]) -> list[ModelRow]:
    ranked = sorted(scores.items(), key=lambda item: -item[1].total)
    _, best = ranked[0]
    found: list[ModelRow] = []
    for model, score in ranked:
        row: ModelRow = {"model": model, "elpd_loo": score.total, "se": score.standard_error()}
        row |= {"p_loo": score.parameters, "delta_elpd": best.total - score.total}
        row |= {"delta_se": best.standard_error(score), "high_k": score.doubtful}
        found.append(row)
    return found
