"""Stay probabilities, by hand, by a slow twin, and for agents of a known kind."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from reinstate.choices.documents import ORDER, PANELS
from reinstate.choices.model import Choices, count_choices, from_arrays, join_choices, simulate
from reinstate.choices.stay import COMPANION, stay_panels


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
    people = []
    for code, w in enumerate((0, 2)):
        own = simulate({"IMB": w, "EMB": 1 - w}, 5, 30, seed=code)
        people.append(own._replace(participant=own.participant + code))
    choices = join_choices(people)
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


def test_strategies_leave_their_signature() -> None:
    """Model-based agents mind the transition, model-free ones do not; cues move episodic ones."""
    counts = {name: count_choices(simulate({name: 50}, 40)) for name in ("IMF", "IMB", "EMB")}
    strict = {name: stay_panels(own) for name, own in counts.items()}
    assert strict["IMF"]["incremental_uncued"]["mean"] == [1, 1, 0, 0]
    assert strict["IMB"]["incremental_uncued"]["mean"] == [1, 0, 0, 1]
    assert strict["EMB"]["episodic"]["mean"] == [1, 0, 0, 1]
    assert strict["EMB"]["incremental_uncued"]["mean"] == pytest.approx([0.5] * 4, abs=0.1)


def test_the_companion_papers_agent_is_model_based() -> None:
    for panel in PANELS:
        rewarded_common, rewarded_uncommon, common, uncommon = COMPANION[panel]
        assert min(rewarded_common, uncommon) > max(rewarded_uncommon, common)
