"""The choice model for a group: participants' weights share a mean and a spread.

    β_ik = μ_k + τ_k z_ik        z_ik ~ Normal(0, 1),  μ_k ~ Normal(0, 2.5),  τ_k ~ HalfNormal(1)

for weight k of participant i (one-back, uncued and cued separately; see `model`). Participants who
played little, or follow a rule without exception, are drawn towards the group, so separation needs
no further treatment. Sampled by NumPyro's NUTS. The likelihood is that of the counts of each
pattern of predictors, so a step takes no longer for a million episodes than for a thousand.

Where the choices alone determine a weight far more precisely than its spread over participants, z
would be tied to μ and τ, and the sampler would slow down (540 steps per draw instead of 15, for 500
epochs of 10 agents): such weights are sampled as β_ik ~ Normal(μ_k, τ_k), which is the same model.
"""

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.choices.comparison import Posterior
from reinstate.choices.documents import GroupWeight, Row, WeightRow, weight_row
from reinstate.choices.likelihood import fit_weights
from reinstate.choices.model import NAMES, GroupedChoices, Ints, group_one_back
from reinstate.errors import UserError

LARGEST_R_HAT = 1.01
WARMUP = 1000  # steps before the draws that are kept
FAR_BETTER = 10  # variance over participants / squared standard error above which β is sampled


def sample_posteriors(
    counts: Ints,
    participants: list[str],
    seed: int = 0,
    chains: int = 4,
    warmup: int = WARMUP,
    draws: int = 1000,
    without: str | None = None,
) -> list[Posterior]:
    """Sample the posterior of each part, from the counts of `count_choices`.

    Perhaps without one of the strategies: a part whose model never had it is left out. The same
    seed gives the same numbers.
    """
    if len(counts) < 2:
        raise UserError(
            "the hierarchical model needs 2 or more participants: fit a single one by one-back or"
            " learned"
        )
    found = []
    for part, every in NAMES.items():
        names = tuple(name for name in every if name != without)
        each = [group_one_back(own, part, names) for own in counts]
        codes = [code for code, own in enumerate(each) if own.total.any()]
        if not codes or (without and names == every):
            continue
        data = [each[code] for code in codes]
        known = known_from_choices(data, names)
        samples = _sample(data, known, seed, chains, warmup, draws)
        who = [participants[code] for code in codes]
        found.append(Posterior(part, names, who, codes, data, **samples))
    return found


def summarise(posteriors: list[Posterior], seed: int, warmup: int = WARMUP) -> Row:
    """Summarise draws by participant and for the group; tell where they are not to be trusted.

    Estimates are posterior means, se posterior standard deviations, intervals hold 95% between
    equal tails. Rows of the participants come first, then those of the "group mean" and the "group
    sd".
    """
    found: Row = {"rows": [], "fits": [], "group": {}, "warnings": []}
    for posterior in posteriors:
        part, divergences = posterior.part, int(posterior.diverging.sum())
        blocks = {who: posterior.beta[:, :, i] for i, who in enumerate(posterior.participants)}
        blocks |= {"group mean": posterior.mu, "group sd": posterior.tau}
        rows = [
            weight_row(whose, part, name, *_summary(drawn[:, :, k]))
            for whose, drawn in blocks.items()
            for k, name in enumerate(posterior.names)
        ]
        n = int(sum(own.total.sum() for own in posterior.data))
        r_hat, n_eff = max(row["r_hat"] for row in rows), min(row["n_eff"] for row in rows)
        chains, draws = posterior.mu.shape[:2]
        how: Row = {"seed": seed, "chains": chains, "warmup": warmup, "draws": draws}
        mixing: Row = {"r_hat": r_hat, "n_eff": n_eff, "divergences": divergences}
        found["rows"] += rows
        found["fits"].append({"part": part, "n": n, **how, **mixing})
        found["group"][part] = _group(rows)
        found["warnings"] += sampling_warnings(part, r_hat, n_eff, divergences)
    return found


def known_from_choices(data: list[GroupedChoices], names: tuple[str, ...]) -> np.ndarray:
    """Tell for each weight whether a participant's choices say far more of it than the group."""
    if len(data) < 2:
        return np.zeros(len(names), bool)
    fits = [fit_weights(own, names, prior_sd=2.5) for own in data]
    noise = np.mean([found.se**2 for found in fits], axis=0)
    spread = np.var([found.estimate for found in fits], axis=0, ddof=1) - noise
    return spread > FAR_BETTER * noise


def _sample(
    data: list[GroupedChoices], centred: np.ndarray, seed: int, chains: int, warmup: int, draws: int
) -> dict[str, np.ndarray]:
    """Draw beta (chains, draws, participants, weights), mu and tau; tell which draws diverged."""
    numpyro = _numpyro("numpyro")
    normal, half_normal = numpyro.distributions.Normal, numpyro.distributions.HalfNormal
    x = jnp.asarray(data[0].x, jnp.float32)  # (patterns, weights), the same for all
    chosen = jnp.asarray([own.chosen for own in data], jnp.float32)  # (participants, patterns)
    total = jnp.asarray([own.total for own in data], jnp.float32)
    weights, alike = x.shape[1], jnp.zeros((len(data), 1))

    def model() -> None:
        mu = numpyro.sample("mu", normal(0.0, 2.5).expand([weights]).to_event(1))
        tau = numpyro.sample("tau", half_normal(1.0).expand([weights]).to_event(1))
        loc = alike + jnp.where(centred, mu, 0.0)[None, :]
        scale = alike + jnp.where(centred, tau, 1.0)[None, :]
        z = numpyro.sample("z", normal(loc, scale).to_event(2))
        beta = jnp.where(centred[None, :], z, mu[None, :] + tau[None, :] * z)
        numpyro.deterministic("beta", beta)
        eta = beta @ x.T
        log_likelihood = total * jax.nn.log_sigmoid(eta) - (total - chosen) * eta
        numpyro.factor("choices", log_likelihood.sum())

    infer = _numpyro("numpyro.infer")
    kernel = infer.NUTS(model, target_accept_prob=0.95)
    how = {"num_chains": chains, "chain_method": "vectorized", "progress_bar": False}
    sampler = infer.MCMC(kernel, num_warmup=warmup, num_samples=draws, **how)
    # NumPyro broadcasts between ranks, which a strict caller's configuration would refuse.
    with jax.numpy_rank_promotion("allow"):
        sampler.run(jax.random.key(seed))
        samples = sampler.get_samples(group_by_chain=True)
        samples["diverging"] = sampler.get_extra_fields(group_by_chain=True)["diverging"]
    return {name: np.asarray(samples[name]) for name in ("beta", "mu", "tau", "diverging")}


def _numpyro(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:  # absent, or too old for this JAX
        raise UserError(
            f"hierarchical fits need NumPyro ({error}): pip install --upgrade 'reinstate[fit]',"
            " or choose another model"
        ) from None


def _summary(draws: np.ndarray) -> tuple[float | None, ...]:
    """Summarise draws of one number, (chains, draws), in the order of `ROW` from `estimate` on."""
    diagnostics = _numpyro("numpyro.diagnostics")
    mixing = diagnostics.split_gelman_rubin(draws), diagnostics.effective_sample_size(draws)
    estimate = draws.mean(), draws.std(ddof=1), *np.quantile(draws, [0.025, 0.975])
    return (*map(float, estimate), None, None, *map(float, mixing))


def _group(rows: list[WeightRow]) -> dict[str, GroupWeight]:
    group: dict[str, Any] = {}
    for row in rows:
        entry = group.setdefault(row["strategy"], {"per_participant": []})
        if row["participant"] == "group mean":
            entry |= {"mean": row["estimate"], "ci95": [row["low"], row["high"]], "se": row["se"]}
        elif row["participant"] == "group sd":
            entry["sd"] = row["estimate"]
        else:
            entry["per_participant"].append(row["estimate"])
    return group


def sampling_warnings(part: str, r_hat: float, n_eff: float, divergences: int) -> list[str]:
    """Say where chains disagree, or where the posterior was not explored faithfully."""
    found = []
    if not r_hat <= LARGEST_R_HAT:
        found.append(
            f"{part}: chains disagree (r_hat {r_hat:.3f}, at least {n_eff:.0f} effective draws):"
            " sample longer"
        )
    if divergences:
        many = "transition" if divergences == 1 else "transitions"
        found.append(f"{part}: {divergences} divergent {many}: intervals may be too narrow")
    return found
