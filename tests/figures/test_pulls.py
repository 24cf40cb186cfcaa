"""A replay of choices tells what the record holds."""

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from reinstate.errors import UserError
from reinstate.evaluation import Record
from reinstate.figures.pulls import Exposure, exposures_of, show
from reinstate.tasks.bandits import BanditTrace, BarcodeBandits
from reinstate.tasks.two_step import EpisodicTwoStep, TwoStepTrace

BANDIT = BarcodeBandits(num_arms=3, pulls=2, num_contexts=3, repeats=2, barcode_length=4)


def a_record(trace: Any, actions: list, rewards: list, ids: list, met: list, back: list) -> Record:
    """One seed and epoch, by hand; each argument is a list over its episodes."""

    def lane(values: list, kind: Any) -> Any:
        return np.array([[values]], kind)

    action, reward = lane(actions, int), lane(rewards, float)
    retrieved = lane(back, int)
    gates: Any = {"r": np.full(reward.shape, 0.5)}
    distance: Any = np.where(retrieved < 0, np.inf, 0.25)
    return Record(
        lane(ids, int), lane(met, int), action, reward, reward, reward, gates, {}, distance,
        retrieved, trace,
    )  # fmt: skip


def pulled() -> Record:
    """Contexts 0, 1, 0; the good arms are 2, 0, 2; the second context recalls the first's state."""
    good: Any = np.array([[[[2, 2], [0, 0], [2, 2]]]])
    return a_record(
        BanditTrace(good),
        actions=[[0, 2], [1, 0], [2, 2]],
        rewards=[[0, 1], [0, 1], [1, 0]],
        ids=[0, 1, 0],
        met=[0, 0, 1],
        back=[[-1, -1], [0, 0], [0, 0]],
    )


def printed(exposures: list[Exposure]) -> str:
    out = io.StringIO()
    show(exposures, Console(file=out, width=80), speed=1.0)
    return out.getvalue()


def test_pulls_of_two_exposures_stand_side_by_side() -> None:
    first, second = exposures_of(BANDIT, pulled(), [1, 2])
    assert (first.title, second.title) == ("exposure 1, episode 1", "exposure 2, episode 3")
    assert first.good == second.good == 2
    assert [choice.row for choice in first.choices] == [0, 2]
    assert [choice.retrieved for choice in first.choices] == ["nothing"] * 2
    assert second.choices[0].retrieved == "exposure 1 of this context"
    *_, frame = printed([first, second]).split("step ")
    assert frame.startswith("2\n")
    assert "arm 3 ★ · ●" in frame and "arm 3 ★ ● ○" in frame
    assert "arm 1   ○ ·" in frame
    assert all(len(line) <= 80 for line in frame.splitlines())


def test_another_contexts_memory_is_called_so() -> None:
    (only,) = exposures_of(BANDIT, pulled(), [1], context=2)
    assert only.choices[0].retrieved == "another's, distance 0.25"
    assert only.good == 0


def test_a_cued_episode_says_what_the_cue_brings_back() -> None:
    cue, state, worth = [[-1, -1], [0, 0]], [[-1, 1], [-1, 0]], np.zeros((1, 1, 2, 2, 2))
    lanes: Any = [np.array([[steps]]) for steps in (cue, state, [[0, 0], [0, 0]])]
    trace = TwoStepTrace(*[*lanes, worth])
    rewards, back = [[0, 1], [0, 0]], [[-1, -1], [0, 0]]
    record = a_record(trace, [[1, 0], [1, 1]], rewards, ids=[0, 0], met=[0, 1], back=back)
    first, cued = exposures_of(EpisodicTwoStep(uncued=1, cued=1), record, [1, 2])
    assert first.choices[0].note == "no cue; led to state 2 (common)"
    assert cued.choices[0].note == "cue: episode 1, state 2 paid 1; led to state 1 (rare)"
    assert cued.choices[1].note == "state 1 pays 0"
    assert "★" not in printed([first, cued])


def test_what_is_not_in_the_record_is_refused() -> None:
    with pytest.raises(UserError, match="exposure must be 1 to 2, not 3"):
        exposures_of(BANDIT, pulled(), [3])
    with pytest.raises(UserError, match="context must be 1 to 1, not 2"):
        exposures_of(BANDIT, pulled(), [1, 2], context=2)
