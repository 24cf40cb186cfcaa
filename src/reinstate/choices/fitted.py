"""Everything that is asked of a table of choices: fitted, predicted, compared."""

from typing import Any

import numpy as np

from reinstate.choices.comparison import compare_by_bic, compare_by_loo
from reinstate.choices.documents import ChoiceFit
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import NAMES, count_choices
from reinstate.choices.participants import fit_each, fit_with_draws
from reinstate.choices.posterior import Posterior, require_arviz
from reinstate.choices.predicted import predicted_at_estimates, predicted_by_posterior
from reinstate.choices.simulated import design_of
from reinstate.choices.tables import ChoiceTable

NONE = {"no strategy": ("one-back", ("bias", "perseveration"))}
# Other models of the same choices: of which kind, and with which weights.
RIVALS = {
    "one-back": {"learned": ("learned", NAMES["cued"]), **NONE},
    "learned": {"one-back": ("one-back", NAMES["cued"]), **NONE},
}


def fit_table(
    table: ChoiceTable,
    model: str = "one-back",
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
    compare: bool = False,
) -> tuple[ChoiceFit, list[Posterior]]:
    """Fit a table, predict its stay probabilities and compare models; return the draws too.

    Maximum-likelihood fits are compared with themselves without each strategy; `compare` adds the
    other way to look back, and no strategy at all. Of the hierarchical model it samples the same
    without each strategy.
    """
    choices, names = table.choices, table.participants
    if compare and model == "hierarchical":
        require_arviz()  # before a minute is spent on sampling
    document, posteriors = fit_with_draws(choices, model, names, prior_sd, seed)
    counts = count_choices(choices)
    document["warnings"] = _warnings(table) + document["warnings"]
    if model == "hierarchical":
        document["stay_predicted"] = predicted_by_posterior(posteriors, len(names), seed)
        if compare:
            document["comparison"], doubts = compare_by_loo(posteriors, counts, names, seed)
            document["warnings"] += doubts
    else:
        rows = document["rows"]
        document["stay_predicted"] = predicted_at_estimates(choices, counts, names, rows)
        fits = {model: document["fits"]}
        for rival, (kind, weights) in RIVALS[model].items() if compare else ():
            less = fit_each(choices, counts, kind, names, prior_sd, rival=True, weights=weights)
            fits[rival] = less["fits"]
        document["comparison"] = compare_by_bic(fits)
    return {"data": describe(table), **document}, posteriors


def describe(table: ChoiceTable) -> dict[str, Any]:
    """Say what a table holds."""
    choices = table.choices
    sessions = np.unique(np.stack([choices.participant, choices.session]), axis=1)
    return {
        "file": table.file,
        "participants": len(table.participants),
        "sessions": sessions.shape[1],
        "episodes": len(choices.action),
        "cued": int(choices.cued.sum()),
        "actions": table.actions,
        "states": table.states,
        "skipped": table.skipped,
        "bad_rows": [*table.bad_rows],
        "design": design_of(choices)._asdict(),
    }


def _warnings(table: ChoiceTable) -> list[str]:
    found = [f"skipped {table.skipped} bad rows"] if table.skipped else []
    common = float(np.mean(table.choices.action == table.choices.state))
    if common < 0.5:
        first, other = table.actions[0], table.states[1]
        found.append(
            f"actions lead to their common state in only {common:.0%} of episodes: if {first}"
            f" commonly leads to {other}, say so (--common {first}={other})"
        )
    return found
