"""The verb `bench`: mistakes in one line, and a record of the smallest experiment."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from reinstate import registry
from reinstate.bench import bench, floors
from reinstate.files import read_json
from reinstate.runs.experiment import Experiment
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import TINY


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--experiments barcode-bandit", "did you mean barcode-bandits?"),
        ("--agents epl2r", "did you mean epl2rl?"),
        ("--axes lanes=four", "'four' is no size"),
        ("--axes width", "unknown axis 'width'"),
        ("--measure spead", "did you mean speed?"),
        ("--figures gif", "unknown kind of figure 'gif'"),
        ("--repeats 0", "repeats must be positive"),
        ("--preset slow", "unknown preset 'slow'"),
        ("--agents", "bench needs an experiment and an agent"),
    ],
)
def test_mistakes_take_one_line(command: Command, line: str, message: str) -> None:
    assert_refused(command(f"bench {line}"), message)
    assert not Path("benchmarks").exists()


def test_a_folder_that_cannot_be_is_refused_before_anything_is_measured(command: Command) -> None:
    Path("taken").touch()
    assert_refused(command("bench --out taken"), "taken")


def test_a_record_and_its_figures(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Experiment("tiny", BARCODE_BANDITS.world, presets={"quick": TINY})
    monkeypatch.setitem(registry._registered["experiment"], "tiny", tiny)
    monkeypatch.setattr(bench, "compiling_everything", nullcontext)  # tests keep programs
    monkeypatch.setattr(bench, "measure_machine", lambda: floors.Machine(1e9, 1e9))
    line = "bench --experiments tiny --measure speed reward --axes seeds=2 --repeats 3 --reward 9"
    said = command(f"{line} --out b --figures png svg --json")
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert read_json(Path("b/cpu.json")) == document
    assert {path.name for path in Path("b").iterdir()} == {
        "cpu.json",
        "cpu-tiny-seeds.png",
        "cpu-tiny-seeds.svg",
    }
    rows = document["curves"]
    told = [(row["kind"], row.get("axis"), row["seeds"], row["lanes"]) for row in rows]
    assert told == [(kind, axis, 2, 4) for axis in (None, "seeds") for kind in ("train", "judge")]
    for row in rows:
        assert row["steps_per_second"]["median"] > 0 and row["compile"]["xla"] > 0
        assert row["floor"]["share"] > 0 and row["steps_per_second"]["repeats"] >= 2
    (reward,) = document["rewards"]
    assert (reward["reached"], reward["epochs"]) == (False, TINY.learner.epochs)
    assert {"command", "commit", "device", "jax", "version"} <= document.keys()
