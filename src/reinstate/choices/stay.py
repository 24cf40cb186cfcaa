"""Stay probabilities: how often an action is chosen again, by its last outcome.

A transition is common if the state reached is the one that the action commonly leads to.
"""

from typing import Any

import numpy as np

from reinstate.analysis.intervals import over_seeds
from reinstate.choices.documents import StayPanel
from reinstate.choices.model import NONE, Floats, Ints

Counts = Ints | Floats  # expected counts are no whole numbers

ORDER = ("rewarded-common", "rewarded-uncommon", "unrewarded-common", "unrewarded-uncommon")
PANELS = ("incremental_uncued", "incremental_cued", "episodic")

# Ritter et al., CogSci 2018, epL2RL; read off a figure, ± .02.
COMPANION = {
    "incremental_uncued": (1.00, 0.14, 0.09, 1.00),
    "incremental_cued": (0.72, 0.46, 0.42, 0.78),
    "episodic": (0.84, 0.30, 0.35, 0.72),
}

_code = np.arange(NONE)  # 4 a + 2 s + r
_action, _state, _reward = _code // 4, _code // 2 % 2, _code % 2
_cell = 2 * (1 - _reward) + (_action != _state)  # of ORDER


def stay_panels(counts: Ints) -> dict[str, Any]:
    """Compute the three panels from the counts of `count_choices`; lists run over `ORDER`.

    - incremental_uncued: in uncued episodes, P(the previous episode's action), by its outcome
    - incremental_cued: the same in cued episodes
    - episodic: in cued episodes, P(the cued episode's action), by the cued episode's outcome

    Each is the mean over participants, with equal weights however many episodes they played;
    `pooled` is the share of all episodes. A mean over nothing is None.
    """
    panels: dict[str, Any] = {"order": list(ORDER)}
    for name, (stayed, total) in stays(counts).items():
        found = over_each_cell(with_none(_shares(stayed, total)))
        (pooled,) = with_none(_shares(stayed.sum(axis=0, keepdims=True), total.sum(axis=0)))
        panels[name] = {**found, "pooled": pooled, "episodes": total.sum(axis=0).tolist()}
    return panels


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


def over_each_cell(per_participant: list[list[float | None]]) -> StayPanel:
    """Average each cell of `ORDER` over those participants who met it."""
    columns = np.array(per_participant, float).T
    met = [column[~np.isnan(column)] for column in columns]
    cells = [over_seeds(values) if len(values) else None for values in met]
    return {
        "mean": [cell and cell["mean"] for cell in cells],
        "ci95": [cell and cell["ci95"] for cell in cells],
        "per_participant": per_participant,
    }
