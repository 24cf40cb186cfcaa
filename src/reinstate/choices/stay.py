"""Stay probabilities: how often an action is chosen again, by its last outcome.

A transition is common if the state reached is the one that the action commonly leads to.

A fitted model predicts them too: every fitted choice from what came before it, as it was played.
Of maximum-likelihood fits the prediction is the one at the estimates. Of the hierarchical model it
is the posterior predictive distribution: the choices are made again with the weights of each of
some hundred draws, and the stay probabilities of these replicated choices are averaged over
participants; their mean over draws is the prediction, and its interval holds 95% of them. Where the
participants' own mean lies outside it, the model misses something.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import special

from reinstate.analysis.verdicts import over_seeds
from reinstate.choices.comparison import Posterior
from reinstate.choices.documents import ORDER, PANELS, Stay, StayPanel, WeightRow
from reinstate.choices.likelihood import group_learned, select_episodes
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

Counts = Ints | Floats  # expected counts are no whole numbers

REPLICATES = 400  # draws of the posterior with which choices are made again

# Ritter et al., CogSci 2018, epL2RL; read off a figure, ± .02.
COMPANION = {
    "incremental_uncued": (1.00, 0.14, 0.09, 1.00),
    "incremental_cued": (0.72, 0.46, 0.42, 0.78),
    "episodic": (0.84, 0.30, 0.35, 0.72),
}

_code = np.arange(NONE)  # 4 a + 2 s + r
_action, _state, _reward = _code // 4, _code // 2 % 2, _code % 2
_cell = 2 * (1 - _reward) + (_action != _state)  # of ORDER


def stay_panels(counts: Ints) -> Stay:
    """Compute the three panels from the counts of `count_choices`; lists run over `ORDER`.

    - incremental_uncued: in uncued episodes, P(the previous episode's action), by its outcome
    - incremental_cued: the same in cued episodes
    - episodic: in cued episodes, P(the cued episode's action), by the cued episode's outcome

    Each is the mean over participants, with equal weights however many episodes they played;
    `pooled` is the share of all episodes. A mean over nothing is None.
    """
    panels: dict[str, Any] = {"order": list(ORDER)}
    for name, (stayed, total) in stays(counts).items():
        found = _panel(_shares(stayed, total))
        (pooled,) = with_none(_shares(stayed.sum(axis=0, keepdims=True), total.sum(axis=0)))
        panels[name] = {**found, "pooled": pooled, "episodes": total.sum(axis=0).tolist()}
    return cast(Stay, panels)


def stays(counts: Counts) -> dict[str, tuple[Counts, Counts]]:
    """Count by panel how often actions were chosen again, and of how many, (participants, 4)."""
    of_panel = {
        "incremental_uncued": counts[:, :NONE, NONE],
        "incremental_cued": counts[:, :NONE, :NONE].sum(axis=2),
        "episodic": counts[:, :, :NONE].sum(axis=1),
    }
    of_cell = _cell[:, None] == np.arange(len(ORDER))  # (8, 4)
    return {
        name: (followed[:, _code, _action] @ of_cell, followed.sum(axis=2) @ of_cell)
        for name, followed in of_panel.items()  # (participants, 8, 2)
    }


def stay_shares(counts: Counts) -> dict[str, Floats]:
    """Return the share of each participant by panel, (participants, 4); NaN where never met."""
    return {name: _shares(*each) for name, each in stays(counts).items()}


def _shares(stayed: Counts, total: Counts) -> Floats:
    return np.where(total > 0, stayed / np.where(total > 0, total, 1), np.nan)


def with_none(shares: Floats) -> list[list[float | None]]:
    """Write shares as lists; None where one is not known."""
    return [[None if np.isnan(share) else float(share) for share in row] for row in shares]


def _panel(shares: Floats, ends: Floats | None = None) -> StayPanel:
    """Average each cell of `ORDER` over the participants who met it; `ends` are of intervals."""
    met = [column[~np.isnan(column)] for column in shares.T]
    cells = [over_seeds(values) if len(values) else None for values in met]
    ci95 = [cell and cell["ci95"] for cell in cells]
    if ends is not None:
        ci95 = [cell and own for cell, own in zip(cells, ends.tolist(), strict=True)]
    mean = [cell and cell["mean"] for cell in cells]
    return {"mean": mean, "ci95": ci95, "per_participant": with_none(shares)}


def predicted_at_estimates(
    choices: Choices, counts: Ints, names: Sequence[str], rows: Sequence[WeightRow]
) -> Stay:
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
    panels: dict[str, Any] = {"order": list(ORDER)}
    for name, shares in stay_shares(expected).items():
        panels[name] = {**_panel(shares), "ci95": [None] * len(ORDER)}
    return cast(Stay, panels)


def predicted_by_posterior(
    posteriors: Sequence[Posterior], participants: int, seed: int = 0
) -> Stay:
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
    panels: dict[str, Any] = {"order": list(ORDER)}
    for name in PANELS:
        ends = np.quantile(means[name], [0.025, 0.975], axis=0).T
        panels[name] = _panel(sums[name] / replicates, ends)
    return cast(Stay, panels)
