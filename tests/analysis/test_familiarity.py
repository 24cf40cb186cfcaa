"""Telling known from new, on records made by hand and against all pairs."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from reinstate.analysis.exposures import FALSE_ALARMS, area, elimination, familiarity, hit_rates
from reinstate.evaluation import Record
from reinstate.tasks.bandits import BanditTrace

EXPOSURE = [[[0, 0, 1, 0, 2, 1]], [[0, 1, 0, 0, 2, 1]]]  # (seeds, epochs, episodes)
# An empty memory first. Seed 0: new .6 and .9, known .5, .1 and .6. Seed 1: new .4 and .4.
DISTANCE = [[[np.inf, 0.6, 0.5, 0.9, 0.1, 0.6]], [[np.inf, 0.0, 0.4, 0.4, 0.1, 0.2]]]
GATE = [[[0.9, 0.2, 0.2, 0.2, 0.2, 0.2]], [[0.9, 0.1, 0.2, 0.3, 0.1, 0.1]]]
ARM = [[[0, 1, 0, 2, 0, 1]], [[1, 1, 0, 2, 1, 0]]]
# First pulls in new contexts; elsewhere −1, which is not looked at.
PULL = [[[2, 0, -1, 2, -1, -1]], [[0, -1, 1, 1, -1, -1]]]
RETRIEVED = [[[-1, 0, 0, 1, 2, 1]], [[-1, 0, 1, 2, 1, 2]]]


class NoArms(NamedTuple):
    goal: Any


def steps(first: Any, later: float) -> np.ndarray:
    """Add a second step to the first, which alone is to count."""
    first = np.array(first)
    return np.stack([first, np.full_like(first, later)], axis=-1)


def a_record(**changed: Any) -> Record:
    exposure, arm = np.array(EXPOSURE), np.array(ARM)
    gates = {"r": steps(GATE, 0.5)}
    nothing = np.zeros((2, 1, 6, 2))
    trace: Any = BanditTrace(steps(arm, 0))  # type: ignore[arg-type]
    fields: list[Any] = [arm, exposure, steps(PULL, 1), *[nothing] * 3, gates, gates]
    fields += [steps(DISTANCE, 0.3), steps(RETRIEVED, -1), trace]
    return Record(*fields)._replace(**changed)


def test_the_area_counts_pairs_and_ties_half() -> None:
    similarity: Any = familiarity(a_record())
    # Seed 0: of six pairs, five are in order and one is tied.
    assert similarity["similarity"]["auc"]["per_seed"] == pytest.approx([5.5 / 6, 1.0])


def test_by_exposure_known_contexts_of_one_exposure_meet_all_new_ones() -> None:
    found: Any = familiarity(a_record())
    once, twice = [(3.5 / 4 + 1) / 2, 1.0]
    assert found["similarity"]["auc_by_exposure"] == pytest.approx([once, twice])


def test_the_gate_is_judged_by_its_first_step_where_something_is_stored() -> None:
    found: Any = familiarity(a_record())
    # Seed 0's gate is the same throughout; seed 1's opens wider for new contexts.
    assert found["r_gate"]["auc"]["per_seed"] == [0.5, 0.0]
    diagonal = FALSE_ALARMS
    opens_for_new = np.where(FALSE_ALARMS < 1, 0, 1)
    np.testing.assert_allclose(found["r_gate"]["roc"], (diagonal + opens_for_new) / 2)
    without: tuple[dict[str, Any], ...] = {}, {"r": 0 * steps(GATE, 0)}
    for report in without:
        assert set(familiarity(a_record(report=report)) or {}) == {"false_alarms", "similarity"}


def test_hits_at_each_rate_of_false_alarms() -> None:
    known, new = np.array([5.0, 3.0, 3.0, 1.0]), np.array([4.0, 3.0, 2.0, 0.0])
    # By threshold: 5 (0, ¼), 4 (¼, ¼), 3 (½, ¾), 2 (¾, ¾), 1 (¾, 1), 0 (1, 1).
    found = dict(zip(FALSE_ALARMS.tolist(), hit_rates(known, new).tolist(), strict=True))
    expected = {0.0: 0.25, 0.25: 0.25, 0.35: 0.45, 0.5: 0.75, 0.7: 0.75, 0.75: 1.0, 1.0: 1.0}
    assert {rate: found[rate] for rate in expected} == pytest.approx(expected)


def test_the_area_is_the_share_of_pairs_and_that_under_the_curve() -> None:
    rng = np.random.default_rng(0)
    known, new = rng.integers(2, 12, 40), rng.integers(0, 10, 20)
    pairs = [(k > n) + (k == n) / 2 for k in known for n in new]
    assert area(known, new) == pytest.approx(np.mean(pairs))
    # With 20 new, thresholds that all are whole numbers fall on the grid: trapezoids are exact but
    # for vertical strokes, which known and new that share every threshold do not have.
    known, new = np.repeat(np.arange(5), [1, 2, 3, 4, 10]), np.repeat(np.arange(5), 4)
    assert area(known, new) == pytest.approx(np.trapezoid(hit_rates(known, new), FALSE_ALARMS))


def test_truth_can_be_given() -> None:
    """In the second seed those that were new are taken for known, and the other way round."""
    met = np.array(EXPOSURE)
    met[1] = met[1] == 0
    found: Any = familiarity(a_record(), met)
    assert found["similarity"]["auc"]["per_seed"] == pytest.approx([5.5 / 6, 0.0])


@pytest.mark.parametrize(
    "changed",
    [
        {"distance": np.full((2, 1, 6, 2), np.inf)},  # no memory
        {"exposure": np.zeros((2, 1, 6), int)},  # nothing comes back
        {"exposure": np.array([[[0, 1, 1, 2, 2, 3]]] * 2)},  # new only where nothing is stored
    ],
)
def test_without_both_kinds_there_is_nothing_to_tell(changed: Any) -> None:
    assert familiarity(a_record(**changed)) is None


def test_an_exposure_that_a_seed_skips_has_no_mean() -> None:
    met = np.array(EXPOSURE)
    met[0] = [0, 0, 2, 0, 2, 2]
    met[1, 0, -1] = 3  # nor does one that only the other seed met
    found: Any = familiarity(a_record(exposure=met))
    assert found["similarity"]["auc_by_exposure"] == [None, pytest.approx((5.5 / 6 + 1) / 2)]


def test_first_pulls_on_arms_that_are_taken() -> None:
    found: Any = elimination(a_record(), 4)
    # Seed 0 meets 0, 1 and 2 (arms) and pulls 2, 0 and 2. Seed 1 meets 1, 0, 2 and pulls 0, 1, 1.
    assert found["taken"]["per_seed"] == [[0, 1, 0], [0, 1, 1]]
    assert found["taken"]["mean"] == [0, 1, 0.5]
    assert found["cannot_tell"] == [0, 0.25, 0.5]
    # Second pulls are all on arm 1, and no first pull paid: taken once arm 1 has been met.
    assert found["taken_next"]["per_seed"] == [[0, 0, 1], [0, 1, 1]]
    # Back came 0 and 1, then 1 and 0 (the last two of seed 1: episodes 1 and 2).
    assert found["recalled"]["per_seed"] == [0.5, 0.5]


def test_second_pulls_count_where_the_first_paid_nothing() -> None:
    reward = np.zeros((2, 1, 6, 2))
    reward[:, 0, [1, 2], 0] = 1  # the second context of each seed
    found: Any = elimination(a_record(reward=reward), 4)
    assert found["taken_next"]["per_seed"] == [[0, None, 1], [0, None, 1]]


def test_contexts_may_share_an_arm() -> None:
    """Seed 0's second context has the arm of its first: two are met, and one arm is taken."""
    arm = np.array(ARM)
    arm[0, 0, 1] = 0
    trace: Any = BanditTrace(steps(arm, 0))  # type: ignore[arg-type]
    found: Any = elimination(a_record(trace=trace), 4)
    assert found["cannot_tell"] == [0, 0.25, (0.25 + 0.5) / 2]


def test_a_world_without_arms_and_an_agent_without_memory() -> None:
    assert elimination(a_record(trace=NoArms(0)), 4) is None
    none = np.full((2, 1, 6, 2), -1)
    assert set(elimination(a_record(retrieved=none), 4) or {}) == {
        "taken",
        "taken_next",
        "cannot_tell",
    }
