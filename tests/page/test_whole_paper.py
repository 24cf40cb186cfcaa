"""`reinstate reproduce all`."""

import json
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bits import bits, different
from reinstate import registry
from reinstate.analysis.verdicts import Evidence, Region
from reinstate.errors import UserError
from reinstate.figures import mpl
from reinstate.files import read_json, write_document
from reinstate.runs import reproduce as reproduction
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import Check
from reinstate.runs.progress import Bar
from reinstate.runs.whole import reproduce_all
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import SILENT, TINY, contents, interrupt

NAMES = ("barcode-bandits", "twin")
ALL = "reproduce all"


def made_up(agents: Any, optimum: Any, baselines: Any) -> list[Check]:
    """A claim of the paper and one of ours, both at p = .03: each supported, if judged alone."""
    evidence, region = Evidence(2.0, [1.1, 2.9], 0.015, 0.985, seeds=2), Region(low=1.0)
    said = Check("it is more", evidence, region, "at least 1.000", "4.1", paper="they say so")
    return [said, said._replace(claim="so we think", paper="")]


@pytest.fixture(scope="module", autouse=True)
def two_small_experiments() -> Iterator[None]:
    """In place of the paper's: the second is the first by another name, compiled only once."""
    small = replace(
        BARCODE_BANDITS,
        agents=("epl2rl",),
        presets={"quick": TINY},
        baselines=lambda settings: {},
        checks=made_up,
    )
    with pytest.MonkeyPatch.context() as patch:
        both = {name: replace(small, name=name) for name in NAMES}
        patch.setitem(registry._registered, "experiment", both)
        patch.setattr("reinstate_paper.EXPERIMENTS", tuple(both))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both experiments, finished, the second as a copy of the first. No test may write into it."""
    out = tmp_path_factory.mktemp("whole") / "reproduction"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mpl, "save", lambda *drawing: None)  # slow, and not ours
        reproduce_all(NAMES[:1], "quick", out, SILENT, command="reinstate reproduce all")
    shutil.copytree(out / NAMES[0], out / "twin")
    for path in (out / "twin" / name for name in ("results.json", "epl2rl/config.json")):
        renamed = json.dumps(read_json(path)).replace(f'"{NAMES[0]}"', '"twin"')
        write_document(path, json.loads(renamed))
    reproduce_all(NAMES, "quick", out, SILENT, command="reinstate reproduce all")
    return out


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "reproduction"))


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be trained."""

    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("it trains")

    monkeypatch.setattr(reproduction, "train", refuse)


def test_summary_and_report(whole: Path) -> None:
    assert {p.name for p in whole.iterdir()} == {*NAMES, "report.html", "summary.json"}
    summary = read_json(whole / "summary.json")
    assert list(summary["experiments"]) == [*NAMES]
    assert summary["command"] == "reinstate reproduce all" and summary["version"]
    seconds = 0.0
    for name in NAMES:
        results, part = read_results(whole / name), summary["experiments"][name]
        assert results["command"] == "reinstate reproduce all"
        for fact in ("preset", "seconds", "alarms", "device", "commit"):
            assert part[fact] == results[fact]
        assert part["agents"]["epl2rl"]["reward"] == results["agents"]["epl2rl"]["reward"]
        seconds += results["seconds"]["total"]
    assert summary["totals"] == {
        "experiments": 2,
        "agents": 2,
        "claims": 2,
        "supported": 0,
        "contradicted": 0,
        "undecided": 2,
        "ours": 2,
        "seconds": pytest.approx(seconds),
    }
    page = (whole / "report.html").read_text()
    assert all(f'id="{name}"' in page for name in NAMES)
    assert "0 of 2 claims of the paper supported, 2 undecided." in page


@pytest.mark.usefixtures("untrained")
def test_what_is_finished_is_said_again_and_not_done_again(copied: Path, command: Command) -> None:
    before = contents(copied)
    said = command(ALL)
    assert said.code == 0
    for text in ("twin, experiment 2 of 2, ", "s elapsed\n", "twin already finished: epl2rl "):
        assert text in said.err
    table, claims = said.out.split("barcode-bandits\n", 1)
    assert table.count("epl2rl") == 2
    assert re.search(r"twin +│ epl2rl +│ +\d\.\d\d \[\d\.\d\d, \d\.\d\d\] +│ +\d+\.\d%", table)
    totals = read_json(copied / "summary.json")["totals"]
    line = "2.000 [1.100, 2.900], claimed at least 1.000; p = .03"
    own = [
        "the paper, section 4.1",
        f"undecided: it is more: {line}, after Holm p = .06",  # the two are one family
        "our own claims",
        f"supported: so we think: {line}",
    ]
    assert claims.splitlines()[:-2] == [*own, "twin", *own]
    last = f"0 of 2 claims of the paper supported, 2 undecided; {totals['seconds']:.0f} s\n"
    assert last in claims and "reproduction/report.html" in claims
    assert contents(copied) == before  # report and summary are made again, the same
    assert json.loads(command(f"{ALL} --json").out)["totals"] == totals


@pytest.mark.usefixtures("untrained")
def test_alarms_are_told(copied: Path, command: Command) -> None:
    path = copied / "twin/results.json"
    results = read_json(path)
    results["agents"]["epl2rl"]["reward"] |= {"mean": 99.5, "per_seed": [99.0, 100.0]}
    path.write_text(json.dumps(results))
    (alarm,) = read_results(path)["alarms"]
    said = command(ALL)
    assert said.code == 0 and said.out.count(f"\nALARM: {alarm}\n") == 1
    parts = read_json(copied / "summary.json")["experiments"]
    assert [parts[name]["alarms"] for name in NAMES] == [[], [alarm]]
    assert f"Alarm: {alarm}." in (copied / "report.html").read_text()


def test_an_interrupted_call_is_continued_by_the_same_command(
    copied: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between epochs of the second experiment; what was finished before is left alone."""
    for path in [copied / name for name in ("summary.json", "report.html", "twin/results.json")]:
        path.unlink()
    run = copied / "twin" / "epl2rl"
    finished = bits(run)
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    (run / "metrics.jsonl").unlink()
    update, epochs = Bar.update, []

    def stop(self: Bar, done: int, *shown: Any) -> None:
        update(self, done, *shown)
        epochs.append((self.label, done))
        if len(epochs) == 2:
            interrupt(signal.SIGTERM)

    monkeypatch.setattr(Bar, "update", stop)
    monkeypatch.setattr(mpl, "save", lambda *drawing: None)
    before = contents(copied / "barcode-bandits")
    said = command(ALL)
    assert said.code == 130 and said.out == ""
    line = "reinstate: stopped in twin, 1 of 2 experiments done: the same command continues\n"
    assert said.err.endswith(line)
    assert not (copied / "summary.json").exists()

    said = command(ALL)
    assert said.code == 0 and "twin finished: epl2rl " in said.err
    assert epochs == [("epl2rl", epoch) for epoch in (1, 2, 3, 4)]
    assert contents(copied / "barcode-bandits") == before
    assert different(bits(run), finished) == []
    assert (copied / "summary.json").exists() and (copied / "report.html").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_nothing_is_trained(
    command: Command, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = signal.getsignal(number)
    monkeypatch.setattr(
        "reinstate.runs.whole.reproduce", lambda *_, **__: signal.raise_signal(number)
    )
    said = command(ALL)
    assert said.code == 130 and "stopped in barcode-bandits, 0 of 2 experiments done" in said.err
    assert signal.getsignal(number) == before


@pytest.mark.usefixtures("untrained")
def test_other_settings_are_refused_before_anything_is_trained(
    copied: Path, command: Command
) -> None:
    shutil.rmtree(copied / "barcode-bandits")  # the second alone refuses
    before = contents(copied)
    said = command(f"{ALL} --seeds 1")
    assert_refused(said, "twin: cannot resume")
    assert "(settings.seeds: 2 → 1)" in said.err
    assert contents(copied) == before and not (copied / "barcode-bandits").exists()


@pytest.mark.usefixtures("untrained")
def test_results_of_other_agents_are_not_replaced(copied: Path, command: Command) -> None:
    path = copied / "twin" / "results.json"
    results = read_json(path)
    agents = results["agents"]
    agents["epl2rl-input"] = agents["epl2rl"]
    path.write_text(json.dumps(results))
    assert command(ALL).code == 0  # more than was asked is enough
    del agents["epl2rl"]
    path.write_text(json.dumps(results))
    before = contents(copied)
    assert_refused(command(ALL), "twin: reproduction/twin holds results of other agents (epl2rl-in")
    assert contents(copied) == before


@pytest.mark.parametrize(
    ("flags", "count", "first"),
    [
        ("", 2, 0),
        ("--seeds 1", 1, 0),
        ("--first-seed 7", 2, 7),
        ("--first-seed 50 --seeds 3", 3, 50),
    ],
)
def test_seeds_reach_every_experiment(
    whole: Path,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
    count: int,
    first: int,
) -> None:
    asked: dict[str, Any] = {}

    def note(experiment: Any, preset: str, agents: Any, *more: Any, **how: Any) -> Any:
        settings, out, *_ = more
        asked[experiment.name] = settings
        shutil.copytree(whole / experiment.name, out, dirs_exist_ok=True)
        return read_results(out)

    monkeypatch.setattr("reinstate.runs.whole.reproduce", note)
    line = f"{ALL} --out x {flags}".strip()
    assert command(line).code == 0
    assert asked == {name: replace(TINY, seeds=count, first_seed=first) for name in NAMES}
    assert read_json(tmp_path / "x/summary.json")["command"] == f"reinstate {line}"


def test_one_experiment_alone(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(experiment: Any, *_: Any, **__: Any) -> None:
        asked.append(experiment.name)
        raise UserError("a loss is not finite")

    monkeypatch.setattr("reinstate.runs.whole.reproduce", refuse)
    said = command(f"{ALL} --experiments twin twin --out x")
    assert_refused(said, "reinstate: twin: a loss is not finite")
    assert asked == ["twin"] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--experiments twim", "unknown experiment 'twim': did you mean twin?"),
        ("--experiments", "--experiments needs at least one name"),
        ("--preset quikc", "unknown preset 'quikc': did you mean quick?"),
        ("--seeds 0", "barcode-bandits: seeds must be positive, not 0"),
        ("--first-seed -1", "barcode-bandits: first_seed must lie between 0 and"),
        ("--learner.epochs 3", "Unrecognized options: --learner.epochs"),
        ("--out file", "cannot write file: File exists"),
        ("--out run", "run holds a single run or experiment"),
        ("--out page", "page/report.html exists and is no report"),
        ("--out other", "other/summary.json exists and is not of this command"),
    ],
)
@pytest.mark.usefixtures("untrained")
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, flags: str, message: str) -> None:
    (tmp_path / "file").write_text("years of work")
    for name in ("run/config.json", "page/report.html", "other/summary.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("[]")
    before = contents(tmp_path)
    assert_refused(command(f"{ALL} {flags}"), message)
    assert contents(tmp_path) == before


def test_help(command: Command) -> None:
    said = command(f"{ALL} --help")
    assert said.code == 0
    text = " ".join(re.sub("[│╭╰╮╯─]", " ", said.out).split())
    assert "Settings of single experiments cannot be changed here" in text
    assert "all experiments of the paper" in command("reproduce --help").out
