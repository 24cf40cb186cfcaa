"""Stay probabilities that a fitted model predicts, beside the participants' own.

Every fitted choice is predicted from what came before it, as it was played: the previous and the
cued episode are the participant's own. Of maximum-likelihood fits the prediction is the one at the
estimates. Of the hierarchical model it is the posterior predictive distribution: the choices are
made again with the weights of each of some hundred draws, and the stay probabilities of these
replicated choices are averaged over participants; their mean over draws is the prediction, and its
interval holds 95% of them. Where the participants' own mean lies outside it, the model misses
something.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from reinstate.choices.documents import WeightRow
from reinstate.choices.learned import group_learned, select_episodes
from reinstate.choices.model import (
    NAMES,
    NONE,
    Choices,
    Floats,
    Ints,
    group_one_back,
    link_episodes,
    pattern_codes,
)
from reinstate.choices.posterior import Posterior
from reinstate.choices.stay import ORDER, PANELS, stay_shares, with_none

REPLICATES = 400  # draws of the posterior with which choices are made again


def predicted_at_estimates(
    choices: Choices, counts: Ints, names: Sequence[str], rows: Sequence[WeightRow]
) -> dict[str, Any]:
    """Predict the panels of `stay_panels` from the estimates of a maximum-likelihood fit."""
    estimates: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        own = estimates.setdefault((row["participant"], row["part"]), {})
        own[row["strategy"]] = row["estimate"]
    linked = link_episodes(choices)
    expected = np.zeros(counts.shape)
    for code, name in enumerate(names):
        for part, weights in NAMES.items():
            if (name, part) not in estimates:
                continue
            own = estimates[name, part]
            beta = np.array([own[weight] for weight in weights])
            if "alpha" in own:
                data = select_episodes(linked, code, part)
                at, grouped = (data.previous, data.cue), group_learned(data, weights, own["alpha"])
            else:
                at, grouped = pattern_codes(part), group_one_back(counts[code], part)
            p = special.expit(grouped.x @ beta)
            np.add.at(expected[code], at, np.stack([p, 1 - p], -1) * grouped.total[:, None])
    shares = stay_shares(expected)
    return _panels({name: (share, None) for name, share in shares.items()})


def predicted_by_posterior(
    posteriors: Sequence[Posterior], participants: int, seed: int = 0
) -> dict[str, Any]:
    """Predict the panels of `stay_panels` by posterior draws, with their 95% intervals."""
    rng = np.random.default_rng(seed)
    sums = {name: np.zeros((participants, len(ORDER))) for name in PANELS}
    means: dict[str, list[Floats]] = {name: [] for name in PANELS}
    drawn = [posterior.thinned(REPLICATES) for posterior in posteriors]
    replicates = min(len(beta) for beta in drawn)
    for draw in range(replicates):
        counts = np.zeros((participants, NONE + 1, NONE + 1, 2))
        for posterior, beta in zip(posteriors, drawn, strict=True):
            data, (previous, cue) = posterior.data, pattern_codes(posterior.part)
            total = np.array([own.total for own in data], int)  # (participants, patterns)
            chosen = rng.binomial(total, special.expit(beta[draw] @ data[0].x.T))
            again = np.stack([chosen, total - chosen], axis=-1)
            counts[np.array(posterior.codes)[:, None], previous, cue] = again
        for name, shares in stay_shares(counts).items():
            sums[name] += shares
            known = ~np.isnan(shares)
            mean = np.where(known, shares, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
            means[name].append(np.where(known.any(axis=0), mean, np.nan))
    return _panels({name: (sums[name] / replicates, np.array(means[name])) for name in PANELS})


def _panels(found: dict[str, tuple[Floats, Floats | None]]) -> dict[str, Any]:
    """Make panels of each participant's shares, and of the group's mean in each replication."""
    panels: dict[str, Any] = {"order": list(ORDER)}
    for name, (shares, means) in found.items():
        met = ~np.isnan(shares)
        mean = [
            float(s[m].mean()) if m.any() else None for s, m in zip(shares.T, met.T, strict=True)
        ]
        ci95: list[list[float] | None] = [None] * len(ORDER)
        if means is not None:
            ends = np.quantile(means, [0.025, 0.975], axis=0).T.tolist()
            ci95 = [None if m is None else e for m, e in zip(mean, ends, strict=True)]
        panels[name] = {"mean": mean, "ci95": ci95, "per_participant": with_none(shares)}
    return panels
