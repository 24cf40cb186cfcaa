"""Results judged again: what was measured stays, what was concluded follows the rules."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from older import aged, aged_file, spoilt
from reinstate.analysis.intervals import over_seeds
from reinstate.figures import mpl
from reinstate.files import read_json
from reinstate.runs import rejudge as rejudging
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.rejudge import rejudge
from spoken import Command, assert_refused
from tiny import contents

RESULTS = Path(__file__).parents[2] / "results"
JUDGE = {"version": "9.8.7", "commit": "abcdef"}
NAME = "barcode-bandits"  # whose optimum takes least to compute


def recorded(name: str = NAME) -> Any:
    return read_json(RESULTS / name / "results.json")


def read(path: Path) -> Any:
    return json.loads(path.read_text())


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


@pytest.fixture(autouse=True)
def one_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is being edited meanwhile."""
    monkeypatch.setattr(rejudging, "provenance", lambda: {**JUDGE, "jax": "0.10"})


def test_what_was_measured_is_not_touched() -> None:
    document = recorded("two-step")
    before = copy.deepcopy(document)
    weight = document["agents"]["epl2rl"]["choices"]["group"]["cued"]["bias"]
    weight["per_participant"] = [1.0, 2.0, 3.0]
    stay = document["agents"]["epl2rl"]["choices"]["stay"]["episodic"]
    stay["per_participant"] = [[0.2, None, 0.4, 1.0], [0.4, None, 0.4, None]]
    given = copy.deepcopy(document)
    choices = rejudge(document)["agents"]["epl2rl"]["choices"]
    assert document == given  # a new document is made
    fitted: Any = choices["group"]["cued"]["bias"]
    assert fitted["mean"] == 2 and fitted["t"] == pytest.approx(2 * 3**0.5)
    assert fitted["ci95"] == pytest.approx([2 - 2.4841377, 2 + 2.4841377])  # Student's t
    stay = choices["stay"]["episodic"]
    assert stay["mean"] == pytest.approx([0.3, None, 0.4, 1.0])
    # Of two, t is 12.706 and the standard error half of their difference; of one there is none.
    assert stay["ci95"][0] == pytest.approx([0.3 - 1.2706205, 0.3 + 1.2706205])
    assert stay["ci95"][1:] == [None, pytest.approx([0.4, 0.4]), None]
    assert choices["fits"] == before["agents"]["epl2rl"]["choices"]["fits"]


def test_choices_under_the_names_of_earlier_versions() -> None:
    document = recorded("two-step")
    new = rejudge(copy.deepcopy(document))["agents"]["epl2rl"]["choices"]
    old = document["agents"]["epl2rl"]["choices"]
    for weights in old["group"].values():
        for weight in weights.values():
            weight["per_seed"] = weight.pop("per_participant")
    for fit in old["fits"]:
        fit["leave_one_out"] = fit.pop("without")
    assert rejudge(document)["agents"]["epl2rl"]["choices"] == new


def test_seeds_that_never_met_an_exposure() -> None:
    document = recorded()
    steps = over_seeds([[3.0, 2.0], [5.0, 2.0]])
    steps["per_seed"][1][1] = None
    document["agents"]["l2rl"]["steps"] = steps
    found: Any = rejudge(document)["agents"]["l2rl"]
    assert found["steps"]["mean"] == [4.0, None]
    assert found["steps"]["ci95"] == [pytest.approx([4 - 12.706205, 4 + 12.706205]), [None, None]]


def test_what_older_rules_concluded_is_made_again() -> None:
    """Verdicts, intervals, shares, alarms and the optimum are those of today."""
    today = recorded()
    old = aged(today)
    assert "with_memory" not in old["optimum"] and old["agents"]["l2rl"]["reward"]["iqm"]
    found: Any = rejudge(old)
    assert_alike(found["checks"], today["checks"])
    assert_alike(found["optimum"], today["optimum"])
    lines = EXPERIMENTS[NAME].lines.items()
    assert found["reference_lines"] == {label: found["optimum"][key] for label, key in lines}
    assert found["alarms"] == []
    assert found["rejudged"] == JUDGE
    for name, agent in found["agents"].items():
        # The evaluation's own error was not recorded: the interval is that of the seeds alone.
        assert_alike(agent["reward"], {**over_seeds(agent["reward"]["per_seed"])})
        assert agent["share_of_ceiling"] == today["agents"][name]["share_of_ceiling"]
        assert_alike(agent["by_exposure"], today["agents"][name]["by_exposure"])
    for name, rival in found["baselines"].items():
        assert_alike(rival["by_exposure"], today["baselines"][name]["by_exposure"])
    for kept in ("settings", "seconds", "command", "version", "commit", "device"):
        assert found[kept] == old[kept]


def test_no_interval_is_narrower_than_the_evaluations_own_error() -> None:
    document = recorded()
    document["agents"]["epl2rl"]["reward"]["error"] = 0.5
    reward = rejudge(document)["agents"]["epl2rl"]["reward"]
    low, high = reward["ci95"]
    assert high - low == pytest.approx(2 * 1.959964 * 0.5) and reward["error"] == 0.5


def test_seeds_decide() -> None:
    """Other seeds, another verdict; and what theory rules out is an alarm."""
    document = recorded()
    reward = document["agents"]["l2rl"]["reward"]
    reward["per_seed"] = [value + 3.0 for value in reward["per_seed"]]  # above its ceiling
    found = rejudge(document)
    verdicts = {check["claim"].partition(" (")[0]: check["verdict"] for check in found["checks"]}
    assert verdicts["epl2rl widely outperforms l2rl"] == "contradicted"
    assert verdicts["epl2rl widely outperforms l2rl-context"] == "supported"
    (alarm,) = found["alarms"]
    assert alarm.startswith("l2rl earns 7.4") and "standard errors above the best" in alarm


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where figures would have been written."""
    stems: list[Path] = []
    monkeypatch.setattr(mpl, "save", lambda drawings, stem, title="": stems.append(stem))
    return stems


def test_the_command(command: Command, tmp_path: Path, drawn: list[Path]) -> None:
    file = aged_file(tmp_path / "x/results.json", recorded())
    alone = aged_file(tmp_path / "x/6x6.json", recorded())
    said = command("rejudge x x/6x6.json")
    assert said.code == 0
    lines, checks = said.out.splitlines(), recorded()["checks"]
    assert lines[:2] == ["x", "the paper, section 4.1"] and "x/6x6.json" in lines
    claims = [f"{check['verdict']}: {check['claim']}" for check in checks]
    assert sum(line.startswith(tuple(claims)) for line in lines) == 2 * len(checks)
    assert lines[-1] == "next: reinstate report x x/6x6.json  # make a page of them"
    for path in (file, alone):
        assert_alike(read(path)["checks"], checks)
        assert read(path)["rejudged"] == JUDGE
    stems = [Path("x") / stem for stem in EXPERIMENTS[NAME].charts]
    assert drawn == stems  # once: beside results.json alone
    before = contents(tmp_path)
    said = command("rejudge x/results.json --json")
    assert json.loads(said.out)["x/results.json"] == read(file)["checks"]
    assert contents(tmp_path) == before  # a second time, the same bytes
    assert command("report x --out page.html").code == 0


def inputs() -> Any:
    """Agents whose memory is an input, as gathered by older rules."""
    source = {"command": None, "commit": None, "device": None}
    rewards = {"l2rl": [4.0, 4.2], "epl2rl": [8.0, 8.2], "epl2rl-input": [8.08, 8.12]}
    scored: Any = {
        name: {"reward": {"mean": 0.0, "ci95": [0.0, 0.0], "per_seed": r, "iqm": 0.0}, **source}
        for name, r in rewards.items()
    }
    scored["epl2rl-input-2"] = copy.deepcopy(scored["l2rl"])
    row = {
        "chance": 1.8,
        "without": {"l2rl": scored["l2rl"]},
        "epl2rl": scored["epl2rl"],
        "agents": {name: scored[name] for name in ("epl2rl-input", "epl2rl-input-2")},
    }
    held = {"claim": "old", "value": 1.0, "bound": "> 0", "holds": True}
    return {"command": "reinstate", "experiments": {NAME: {"quick": row}}, "checks": [held]}


def test_gathered_inputs_are_judged_again(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps(inputs()))
    said = command("rejudge inputs.json")
    assert said.code == 0 and "our own claims" in said.out
    assert "next:" not in said.out  # there is no page of them
    found = read(file)
    verdicts = {check["claim"].split()[3]: check["verdict"] for check in found["checks"]}
    assert verdicts == {"epl2rl-input": "supported", "epl2rl-input-2": "contradicted"}
    # Of what epL2RL gains over no memory, 8.1 lacks nothing and 4.1 all.
    assert [check["value"] for check in found["checks"]] == pytest.approx([0.0, 1.0])
    reward = found["experiments"][NAME]["quick"]["epl2rl"]["reward"]
    assert reward["mean"] == pytest.approx(8.1) and "iqm" not in reward
    assert reward["ci95"] == pytest.approx([8.1 - 1.2706205, 8.1 + 1.2706205])
    assert found["rejudged"] == JUDGE
    before = contents(tmp_path)
    assert command("rejudge inputs.json").code == 0
    assert contents(tmp_path) == before


def odd(**changes: Any) -> str:
    return json.dumps(recorded() | changes)


FOREIGN = {
    "list.json": "[]",
    "other.json": odd(experiment="x"),
    "half.json": '{"experiment": "water-maze", "agents": {}}',
    "summary.json": '{"totals": {}, "experiments": {}}',
    "inputs.json": '{"experiments": {"two-step": {"quick": 3}}}',
    "settings.json": odd(settings={}),
    "task.json": odd(settings={"task": {"levers": 10}}),
}


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
        (
            "rejudge summary.json",
            "summary.json only sums other results up: rejudge those, and make it again with"
            " reinstate reproduce all",
        ),
        ("rejudge inputs.json", "(experiments.two-step.quick must be an object, not 3)"),
        ("rejudge settings.json", "settings.task must be an object, not None"),
        ("rejudge task.json", "settings.task has unknown fields: levers"),
    ],
)
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    assert_refused(command(line), message)
    assert contents(tmp_path) == before


def test_nonsense_in_place_of_conclusions_changes_nothing() -> None:
    document = recorded()
    parts = {part: spoilt(document[part]) for part in ("agents", "baselines", "checks")}
    assert_alike(rejudge(document | parts)["checks"], document["checks"])
