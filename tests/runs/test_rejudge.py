"""Results judged again: what was measured stays, what was concluded follows the rules."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.experiments import EXPERIMENTS
from reinstate.figures import mpl
from reinstate.runs.rejudge import rejudge
from spoken import Command, assert_refused
from tiny import contents

RESULTS = Path(__file__).parents[2] / "results"
RECORDED = {path.parent.name: path for path in sorted(RESULTS.glob("*/results.json"))}
CONCLUDED = ("ci95", "iqm", "share_of_ceiling")


def recorded(name: str) -> Any:
    return json.loads(RECORDED[name].read_text())


def spoilt(value: Any) -> Any:
    """With every conclusion replaced by nonsense."""
    if isinstance(value, dict):
        return {k: -9.0 if k in CONCLUDED else spoilt(v) for k, v in value.items()}
    return [spoilt(v) for v in value] if isinstance(value, list) else value


def assert_alike(ours: Any, theirs: Any, where: str = "") -> None:
    """Numbers but for rounding, which is the machine's."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for name in theirs:
            assert_alike(ours[name], theirs[name], f"{where}.{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for n, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_alike(*pair, f"{where}[{n}]")
    elif isinstance(theirs, float):
        assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12), where
    else:
        assert ours == theirs, where


def test_what_was_measured_is_not_touched() -> None:
    document = recorded("two-step")
    before = copy.deepcopy(document)
    weight = document["agents"]["epl2rl"]["choices"]["group"]["cued"]["bias"]
    weight["per_seed"] = [1.0, 2.0, 3.0]
    stay = document["agents"]["epl2rl"]["choices"]["stay"]["episodic"]
    stay["per_participant"] = [[0.2, None, 0.4, 1.0], [0.4, None, 0.4, 0.0]]
    given = copy.deepcopy(document)
    choices = rejudge(document)["agents"]["epl2rl"]["choices"]
    assert document == given  # a new document is made
    fitted: Any = choices["group"]["cued"]["bias"]
    assert fitted["mean"] == 2 and fitted["t"] == pytest.approx(2 * 3**0.5)
    assert fitted["ci95"] == pytest.approx([2 - 2.4841377, 2 + 2.4841377])  # Student's t
    stay = choices["stay"]["episodic"]
    assert stay["mean"] == pytest.approx([0.3, None, 0.4, 0.5])
    assert stay["ci95"] == [[0.2, 0.4], None, [0.4, 0.4], [0.0, 1.0]]
    assert choices["fits"] == before["agents"]["epl2rl"]["choices"]["fits"]


def test_seeds_that_never_met_an_exposure() -> None:
    document = recorded("water-maze")
    steps = over_seeds([[3.0, 2.0], [5.0, 2.0]])
    steps["per_seed"][1][1] = None
    document["agents"]["l2rl"]["maze"]["steps_to_goal"] = steps
    found = rejudge(document)["agents"]["l2rl"]["maze"]["steps_to_goal"]
    assert found["mean"] == [4.0, None] and found["ci95"] == [[3.0, 5.0], [None, None]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where figures would have been written."""
    stems: list[Path] = []
    monkeypatch.setattr(mpl, "save", lambda drawings, stem, title="": stems.append(stem))
    return stems


def an_old_one(folder: Path, name: str = "results.json") -> Path:
    """As a version with other rules would have left it."""
    document = recorded("water-maze")
    document |= {"agents": spoilt(document["agents"]), "checks": []}
    del document["rejudged"]
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(document))
    return folder / name


def test_the_command(command: Command, tmp_path: Path, drawn: list[Path]) -> None:
    file, alone = an_old_one(tmp_path / "x"), an_old_one(tmp_path / "x", "6x6.json")
    said = command("rejudge x x/6x6.json")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[:2] == ["x", "section 4.4"] and "x/6x6.json" in lines
    checks = recorded("water-maze")["checks"]
    assert sum(line.startswith("holds: ") for line in lines) == 2 * len(checks)
    for path in (file, alone):
        document = json.loads(path.read_text())
        assert_alike(document["checks"], checks)
        assert document["rejudged"]["version"]
    stems = EXPERIMENTS["water-maze"].charts
    assert drawn == [Path("x") / stem for stem in stems]  # once: beside results.json alone
    said = command("rejudge x/results.json --json")
    assert json.loads(said.out)["x/results.json"] == json.loads(file.read_text())["checks"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rejudge", "rejudge needs results first: reinstate rejudge RESULTS…"),
        ("rejudge nowhere", "nowhere does not exist"),
        ("rejudge .", "results.json does not exist"),
        ("rejudge list.json", "list.json does not hold results of this program"),
        ("rejudge other.json", "unknown experiment 'x'"),
        (
            "rejudge half.json",
            "half.json does not hold results of this program (version is missing)",
        ),
    ],
)
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "other.json").write_text(json.dumps(recorded("water-maze") | {"experiment": "x"}))
    (tmp_path / "half.json").write_text('{"experiment": "water-maze", "agents": {}}')
    before = contents(tmp_path)
    assert_refused(command(line), message)
    assert contents(tmp_path) == before
