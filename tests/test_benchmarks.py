"""The benchmarks: turns and quartiles, the work of a step by hand, variants; one short record."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import floors
import measuring
import speed
import variants
from cases import AXES, Case, case_of
from floors import Machine, Work, floor_of, work_of
from reinstate import registry
from reinstate.agent import make_agent
from reinstate.evaluation import Evaluation, evaluate
from reinstate.files import read_json
from reinstate.memory.recognition import Recognition
from reinstate.runs.experiment import Experiment
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY

CASE = Case("tiny", "epl2rl", TINY)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def takes(self, *seconds: float) -> Callable[[], None]:
        left = [*seconds]

        def run() -> None:
            self.now += left.pop(0)

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    return made


def test_programs_take_turns_and_the_first_round_does_not_count(clock: Clock) -> None:
    programs = {"a": clock.takes(9, 1, 2), "b": clock.takes(8, 3, 4)}
    assert measuring.take_turns(programs, repeats=2) == {"a": [1, 2], "b": [3, 4]}


def test_turns_end_when_patience_does_but_not_before_three(clock: Clock) -> None:
    found = measuring.take_turns({"a": clock.takes(*range(1, 20))}, repeats=10, patience=16)
    assert found == {"a": [2, 3, 4, 5, 6]}  # 15 s were over before the last of them
    found = measuring.take_turns({"a": clock.takes(5, 6, 7, 8)}, repeats=10, patience=1)
    assert found == {"a": [6, 7, 8]}


def test_medians_quartiles_and_ratios_of_the_same_round() -> None:
    assert measuring.summary([4, 1, 3, 2, 5]) == {"median": 3, "quartiles": [2, 4], "repeats": 5}
    assert measuring.rates(100, [2, 1, 4])["quartiles"] == [37.5, 75]
    found = measuring.ratio((100, [1, 2, 1]), (10, [1, 2, 2]))
    assert found == {"median": 10, "quartiles": [10, 15], "repeats": 3}


# TINY: 3 arms and a reward make 4 inputs; 4 units, 5 gates; 3 actions, 3 pulls, 4 lanes; 6 slots of
# 4 bits.
PRODUCTS = 2 * (4 + 4 + 1) * 20 + 2 * (4 + 1) * 4  # 400
UNITS = (5 + 1) * 4 * 20 + 12 * 4  # 528
SEARCH = 2 * 6 * 4  # per episode
WEIGHTS = 9 * 20 + 5 * 4  # 200


def test_the_work_of_training() -> None:
    flops = PRODUCTS * (2 + 4 / 3) + UNITS * (1 + 4 / 3) + SEARCH / 3 + 15 * WEIGHTS / (3 * 4)
    kept = (8 + 1) + 20 + 3 * 4 + 2 * 4
    moved = 6 * 4 + 4 + (4 + 4)  # all keys and a value; then a key and a value
    assert work_of(CASE) == pytest.approx(Work(flops, 4 * (2 * kept + 2 * 20 + moved / 3)))


def test_evaluation_has_no_backward_pass_and_an_agent_without_memory_no_search() -> None:
    found = work_of(CASE, train=False)
    assert found is not None
    assert found.flops == pytest.approx((PRODUCTS + UNITS) * 4 / 3 + SEARCH / 3)
    found = work_of(Case("tiny", "l2rl", TINY), train=False)
    plain = 2 * (4 + 4 + 1) * 16 + 2 * (4 + 1) * 4 + (4 + 1) * 4 * 20 + 12 * 4
    assert found is not None and found.flops == pytest.approx(plain * 4 / 3)


def test_the_slower_of_products_and_traffic_is_the_floor() -> None:
    machine = Machine(flops=1e6, traffic=1e5)
    assert machine.steps_per_second(Work(100, 1)) == 1e4
    assert machine.steps_per_second(Work(100, 100)) == 1e3
    found, work = floor_of(CASE, machine, rate=10.0), work_of(CASE)
    assert work is not None
    assert found["share"] == pytest.approx(10 / machine.steps_per_second(work), rel=1e-2)


@pytest.mark.parametrize(("axis", "value"), [("lanes", 3), ("seeds", 2), ("hidden", 7)])
def test_an_axis_changes_one_size(axis: str, value: int) -> None:
    changed = AXES[axis].change(TINY, value)
    sizes = {
        "lanes": changed.learner.lanes,
        "seeds": changed.seeds,
        "hidden": changed.network.hidden_size,
    }
    assert sizes[axis] == value


def test_an_epoch_takes_as_many_slots_as_episodes_and_a_memory_may_be_too_large() -> None:
    longer = case_of("barcode-bandits", "epl2rl", "quick", "epoch", 500).settings
    assert longer.task.episodes_per_epoch == longer.for_agent("epl2rl").memory.capacity == 500
    larger = case_of("barcode-bandits", "epl2rl", "quick", "memory", 1600).settings
    assert larger.for_agent("epl2rl").memory.capacity == 1600


def test_a_record_and_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Experiment("tiny", BARCODE_BANDITS.world, presets={"quick": TINY})
    monkeypatch.setitem(registry._registered["experiment"], "tiny", tiny)
    monkeypatch.setattr(speed, "measure_machine", lambda: floors.Machine(1e9, 1e9))
    monkeypatch.setitem(AXES, "seeds", AXES["seeds"]._replace(laptop=(2,)))
    options = speed.Options(("tiny",), axes=("seeds",), measure=("speed",), repeats=3, out=tmp_path)
    speed.main(options)
    document = read_json(tmp_path / "cpu.json")
    assert {path.name for path in tmp_path.iterdir()} == {"cpu.json", "cpu-tiny-seeds.svg"}
    told = [(r["kind"], r.get("axis"), r["seeds"], r["lanes"]) for r in document["curves"]]
    assert told == [(kind, axis, 2, 4) for axis in (None, "seeds") for kind in ("train", "judge")]
    for row in document["curves"]:
        assert row["steps_per_second"]["median"] > 0 and row["compile"]["xla"] > 0
        assert row["floor"]["share"] > 0
    assert {"command", "commit", "device", "jax", "version", "load"} <= document.keys()


def test_every_variant_has_settings_of_its_own() -> None:
    options = variants.Options("recognition")
    found = {}
    for name, variant in variants.RECOGNITION.items():
        settings = variants.settings_of(BARCODE_BANDITS, options, variant)
        found[name] = json.dumps([variant.agent, asdict(settings.network)])
    assert len({*found.values()}) == len(found)


def test_with_nothing_on_it_is_the_paper_s_agent() -> None:
    """By the new agent's code, to the last bit."""
    nothing = replace(Recognition(reach=0.0), **variants.alone().recognition)
    settings = replace(TINY, network=replace(TINY.network, recognition=nothing))

    def played(name: str) -> Any:
        memory = settings.for_agent(name).memory

        @eqx.filter_jit
        def play(seed: Any) -> Any:
            agent = make_agent(name, TINY.task, settings.network, key=jax.random.key(3))
            return evaluate(TINY.task, agent, memory, Evaluation(2), seed)

        return play(jnp.array(0))

    paper, own = played("epl2rl"), played("epl2rl-recognition")
    assert np.any(np.isfinite(paper.distance)) and own.report.keys() == paper.report.keys()
    jax.tree.map(np.testing.assert_array_equal, own, paper)
