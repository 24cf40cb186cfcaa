"""The work of a step, counted by hand."""

import pytest

from reinstate.bench.cases import Case, case_of
from reinstate.bench.floors import Machine, Work, floor_of, work_of
from tiny import TINY

# TINY: 3 arms and a reward make 4 inputs; 4 units, 5 gates; 3 actions, 3 pulls, 4 lanes; 6 slots of
# 4 bits.
PRODUCTS = 2 * (4 + 4 + 1) * 20 + 2 * (4 + 1) * 4  # 400
UNITS = (5 + 1) * 4 * 20 + 12 * 4  # 528
SEARCH = 2 * 6 * 4  # per episode
WEIGHTS = 9 * 20 + 5 * 4  # 200


def test_training() -> None:
    case = Case("tiny", "epl2rl", TINY)
    flops = PRODUCTS * (2 + 4 / 3) + UNITS * (1 + 4 / 3) + SEARCH / 3 + 15 * WEIGHTS / (3 * 4)
    kept = (8 + 1) + 20 + 3 * 4 + 2 * 4
    moved = 6 * 4 + 4 + (4 + 4)  # all keys and a value; then a key and a value
    assert work_of(case) == pytest.approx(Work(flops, 4 * (2 * kept + 2 * 20 + moved / 3)))


def test_judging_has_no_backward_pass() -> None:
    found = work_of(Case("tiny", "epl2rl", TINY), train=False)
    assert found is not None
    assert found.flops == pytest.approx((PRODUCTS + UNITS) * 4 / 3 + SEARCH / 3)


def test_without_a_memory_nothing_is_searched() -> None:
    found = work_of(Case("tiny", "l2rl", TINY), train=False)
    plain = 2 * (4 + 4 + 1) * 16 + 2 * (4 + 1) * 4 + (4 + 1) * 4 * 20 + 12 * 4
    assert found is not None and found.flops == pytest.approx(plain * 4 / 3)


def test_the_paper_s_agent_takes_a_tenth_of_a_megaflop() -> None:
    found = work_of(case_of("barcode-bandits", "epl2rl", "quick"))
    assert found is not None
    assert found.flops == pytest.approx(0.1e6, rel=0.2) and found.traffic == pytest.approx(
        6e3, rel=0.2
    )


def test_the_slower_of_products_and_traffic_is_the_floor() -> None:
    machine = Machine(flops=1e6, traffic=1e5)
    assert machine.steps_per_second(Work(100, 1)) == 1e4
    assert machine.steps_per_second(Work(100, 100)) == 1e3
    case = Case("tiny", "epl2rl", TINY)
    found, work = floor_of(case, machine, rate=10.0), work_of(case)
    assert work is not None
    assert found["share"] == pytest.approx(10 / machine.steps_per_second(work), rel=1e-2)
    assert found["by_flops"] == pytest.approx(1e6 / work.flops, rel=1e-3)
