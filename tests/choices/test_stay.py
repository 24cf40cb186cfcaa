"""Stay probabilities, by hand, by a slow twin, and for agents of a known kind."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from reinstate.choices.documents import ORDER, PANELS
from reinstate.choices.model import Choices, count_choices, from_arrays, join_choices, simulate
from reinstate.choices.stay import stay_panels


def slow_panel(choices: Choices, panel: str) -> list[list[float | None]]:
    """(participants, 4) by the definition, an episode at a time."""
    rows = list(zip(*[column.tolist() for column in choices], strict=True))
    episodes = {(p, s, e): (a, state, r) for p, s, e, _, _, a, state, r in rows}
    stayed = defaultdict(list)
    for p, s, e, cued, cue, action, _, _ in rows:
        if cued == (panel == "incremental_uncued"):
            continue
        last = episodes.get((p, s, cue if panel == "episodic" else e - 1))
        if last is not None:
            a, state, r = last
            words = "rewarded" if r else "unrewarded", "common" if a == state else "uncommon"
            stayed[p, "-".join(words)].append(action == a)
    people = sorted(set(choices.participant.tolist()))
    return [[_mean(stayed[p, outcome]) for outcome in ORDER] for p in people]


def _mean(values: list[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def test_by_hand() -> None:
    """Uncued: rewarded after a common transition, repeated; not rewarded, changed. Then one cue."""
    choices = from_arrays(
        action=[[[0, 0, 1, 1]]],
        state=[[[0, 0, 0, 1]]],
        reward=[[[1, 0, 1, 1]]],
        cued=[[[False, False, False, True]]],
        cue_episode=[[[-1, -1, -1, 1]]],
    )
    found = stay_panels(count_choices(choices))
    assert found["order"] == list(ORDER)
    assert found["incremental_uncued"]["mean"] == [1.0, None, 0.0, None]
    assert found["incremental_uncued"]["episodes"] == [1, 0, 1, 0]
    # The cued episode follows a rewarded uncommon one, and repeats its action …
    assert found["incremental_cued"]["mean"] == [None, 1.0, None, None]
    # … which is not that of the unrewarded common episode whose cue it shows.
    assert found["episodic"]["mean"] == [None, None, 0.0, None]
    assert found["episodic"]["ci95"] == [None] * 4
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("panel", PANELS)
def test_panels_are_those_of_the_definition(panel: str) -> None:
    choices = join_choices(
        [simulate({"IMB": w, "EMB": 1 - w}, 5, 30, seed=code) for code, w in enumerate((0, 2))]
    )
    found: Any = dict(stay_panels(count_choices(choices)))[panel]
    slow = np.array(slow_panel(choices, panel), float)
    np.testing.assert_allclose(np.array(found["per_participant"], float), slow)
    np.testing.assert_allclose(found["mean"], slow.mean(axis=0))  # people count alike
    single = choices._replace(session=choices.session + 100 * choices.participant)
    one = slow_panel(single._replace(participant=0 * choices.participant), panel)[0]
    np.testing.assert_allclose(found["pooled"], np.array(one, float))  # episodes do
    half = 12.7062 * np.abs(slow[0] - slow[1]) / 2  # Student's t of two people
    ends = np.stack([slow.mean(axis=0) - half, slow.mean(axis=0) + half], axis=-1)
    np.testing.assert_allclose(found["ci95"], ends, rtol=1e-4)
