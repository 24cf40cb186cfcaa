"""Models compared: by AIC and BIC over participants, hierarchical ones by leave-one-out.

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
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reinstate.choices.documents import ModelRow, Row
from reinstate.choices.model import STRATEGIES, Floats, GroupedChoices, Ints
from reinstate.errors import UserError
from reinstate.files import write_atomically

SCORES = "log_likelihood", "aic", "bic"
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
    """Write draws and divergences as NetCDF, for ArviZ.

    Names start with the part: uncued_beta (chain, draw, uncued_participant, uncued_weight),
    uncued_mu, uncued_tau.
    """
    drawn: dict[str, Any] = {}
    coords: dict[str, list[str]] = {}
    dims: dict[str, list[str]] = {}
    for each in posteriors:
        part, weights, people = each.part, f"{each.part}_weight", f"{each.part}_participant"
        coords |= {people: each.participants, weights: list(each.names)}
        dims |= {f"{part}_{n}": [weights] for n in ("mu", "tau")}
        dims[f"{part}_beta"] = [people, weights]
        drawn |= {f"{part}_{n}": getattr(each, n) for n in ("beta", "mu", "tau")}
    # The parts are independent: a draw of one and a draw of the other are a draw of both.
    diverging = {"diverging": np.any([each.diverging for each in posteriors], axis=0)}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        how = {"sample_stats": diverging, "coords": coords, "dims": dims}
        data = require_arviz().from_dict(posterior=drawn, **how)
        data.to_netcdf(f"{folder}/draws", engine="h5netcdf")
        content = Path(folder, "draws").read_bytes()
    write_atomically(path, content)


def compare_by_bic(fits: Mapping[str, Sequence[Row]]) -> dict[str, list[ModelRow]]:
    """Sum AIC and BIC over participants, by part; the lowest BIC comes first.

    `fits` are those of each model, by its name; those without a strategy come with the first.
    """
    scores: dict[str, dict[str, list[Floats]]] = {}  # by part and model, of each participant
    for place, (model, rows) in enumerate(fits.items()):
        for row in rows:
            of_part = scores.setdefault(row["part"], {})
            full = np.array([row[name] for name in SCORES])
            of_part.setdefault(model, []).append(full)
            for worth in () if place else row["without"]:
                lost = [-worth["delta_log_likelihood"], worth["delta_aic"], worth["delta_bic"]]
                of_part.setdefault(f"{model} without {worth['strategy']}", []).append(full + lost)
    return {part: _by_bic(of_part) for part, of_part in scores.items()}


def _by_bic(scores: Mapping[str, Sequence[Floats]]) -> list[ModelRow]:
    each = np.array([*scores.values()])  # (models, participants, scores)
    columns: dict[str, Any] = {"model": list(scores)}
    columns |= dict(zip(SCORES, each.sum(axis=1).T, strict=True))
    own = each[:, :, 2]
    columns["delta_bic"] = columns["bic"] - columns["bic"].min()
    columns["best_for"] = np.bincount(own.argmin(axis=0), minlength=len(own))
    columns["frequency"], columns["exceedance"] = random_effects(-own.T / 2)
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    found = [cast(ModelRow, dict(zip(columns, row, strict=True))) for row in rows]
    return sorted(found, key=lambda row: row["bic"])


def random_effects(evidence: Floats, samples: int = 100_000) -> tuple[Floats, Floats]:
    """Estimate how common models are among people, and how probably each is the commonest.

    `evidence` is the log evidence of each participant's choices, (participants, models). Everyone
    follows one of the models, drawn from frequencies with a flat Dirichlet prior, whose posterior
    is found by variational Bayes (Stephan et al. 2009). The exceedance probabilities are protected:
    they allow for all models being equally common (Rigoux et al. 2014).
    """
    models = evidence.shape[1]
    alpha = np.ones(models)
    for _ in range(1000):
        expected = special.digamma(alpha) - special.digamma(alpha.sum())  # of log frequencies
        share = special.softmax(evidence + expected, axis=1)
        last, alpha = alpha, 1 + share.sum(axis=0)
        if np.abs(alpha - last).max() < 1e-6:
            break
    expected = special.digamma(alpha) - special.digamma(alpha.sum())
    differ = (share * (evidence + expected)).sum() + special.entr(share).sum()
    differ += special.gammaln(models) - special.gammaln(alpha.sum())
    differ += (special.gammaln(alpha) - (alpha - 1) * expected).sum()
    alike = (special.logsumexp(evidence, axis=1) - np.log(models)).sum()
    chance = special.expit(alike - differ)  # that frequencies are equal
    drawn = np.random.default_rng(0).dirichlet(alpha, samples).argmax(axis=1)
    exceeds = np.bincount(drawn, minlength=models) / samples
    return alpha / alpha.sum(), (1 - chance) * exceeds + chance / models


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
            m: leave_one_out(p) for m, found in models.items() for p in found if p.part == part
        }
        best = max(scores.values(), key=lambda score: score.total)
        rows = [_elpd_row(model, score, best) for model, score in scores.items()]
        comparison[part] = sorted(rows, key=lambda row: row["delta_elpd"])
        doubts += [
            f"{part}, {model}: {score.doubtful} of {score.made.sum():,} choices have a"
            " Pareto k above 0.7: leave-one-out is not to be trusted there"
            for model, score in scores.items()
            if score.doubtful
        ]
    return comparison, doubts


def _elpd_row(model: str, score: Loo, best: Loo) -> ModelRow:
    row: ModelRow = {"model": model, "elpd_loo": score.total, "se": score.standard_error()}
    row |= {"p_loo": score.parameters, "delta_elpd": best.total - score.total}
    return row | {"delta_se": best.standard_error(score), "high_k": score.doubtful}
