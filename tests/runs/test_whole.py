"""Several experiments by one command, `reinstate reproduce all`, and what they come to together."""

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
from page.recorded import small
from page.test_claims import check
from reinstate import registry
from reinstate.analysis.results import Summary
from reinstate.analysis.verdicts import Evidence, Region, with_verdicts
from reinstate.cli import main
from reinstate.figures import mpl
from reinstate.files import check as check_document
from reinstate.files import read_json, write_document
from reinstate.runs import whole
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import Check
from reinstate.runs.progress import Bar
from reinstate.runs.whole import summarise
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import TINY, contents, interrupt

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
    changes: dict[str, Any] = {"agents": ("epl2rl",), "presets": {"quick": TINY}}
    changes |= {"baselines": lambda settings: {}, "checks": made_up}
    both = {
        name: replace(BARCODE_BANDITS, name=name, section=f"4.{place}", **changes)
        for place, name in enumerate(NAMES)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._registered, "experiment", both)
        patch.setattr(registry, "entry_points_of_others", list)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both experiments, the second as a copy of the first. No test may write into it."""
    out = tmp_path_factory.mktemp("whole") / "reproduction"
    words = ["reproduce", "all", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mpl, "save", lambda *drawing: None)  # slow, and not ours
        assert main([*words, "--experiments", NAMES[0]]) == 0
        shutil.copytree(out / NAMES[0], out / "twin")
        for path in (out / "twin" / name for name in ("results.json", "epl2rl/config.json")):
            renamed = json.dumps(read_json(path)).replace(f'"{NAMES[0]}"', '"twin"')
            write_document(path, json.loads(renamed))
        assert main(words) == 0
    return out


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "reproduction"))


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be trained."""
    monkeypatch.setattr(whole, "reproduce", lambda *_, **__: pytest.fail("it trains"))


@pytest.mark.usefixtures("untrained")
def test_what_is_finished_is_said_again_and_not_done_again(copied: Path, command: Command) -> None:
    assert {path.name for path in copied.iterdir()} == {*NAMES, "report.html", "summary.json"}
    summary = check_document(Summary, read_json(copied / "summary.json"), copied)
    said = command(ALL)
    assert said.code == 0 and "twin already finished: 1 of 1 claims" in said.err
    table, claims = said.out.split("barcode-bandits\n", 1)
    assert re.search(r"twin +│ epl2rl +│ +\d\.\d\d \[\d\.\d\d, \d\.\d\d\] +│ +\d+\.\d%", table)
    line = "2.000 [1.100, 2.900], claimed at least 1.000; p = .03"
    own = [
        "the paper, section 4.1",
        f"undecided: it is more: {line}, after Holm p = .06",  # the two are one family
        "our own claims",
        f"supported: so we think: {line}",
    ]
    assert claims.splitlines()[:-2] == [*own, "twin", *own]
    seconds = summary["totals"]["seconds"]
    assert f"0 of 2 claims of the paper supported, 2 undecided; {seconds:.0f} s\n" in claims
    again = read_json(copied / "summary.json")  # made again, the same but for the command
    assert again["totals"] == summary["totals"] and again["experiments"] == summary["experiments"]
    assert 'id="twin"' in (copied / "report.html").read_text()


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
    known = bits(run)
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    (run / "metrics.jsonl").unlink()
    update, epochs = Bar.update, []

    def stop(self: Bar, done: int, *shown: Any) -> None:
        update(self, done, *shown)
        epochs.append((self.title, done))
        if len(epochs) == 2:
            interrupt(signal.SIGTERM)

    monkeypatch.setattr(Bar, "update", stop)
    monkeypatch.setattr(mpl, "save", lambda *drawing: None)
    before = contents(copied / "barcode-bandits")
    said = command(ALL)
    assert said.code == 143 and said.out == ""
    line = "reinstate: stopped in twin, 1 of 2 experiments done: the same command continues\n"
    assert said.err.endswith(line) and not (copied / "summary.json").exists()
    said = command(ALL)
    assert said.code == 0 and "twin finished: " in said.err
    assert epochs == [("epl2rl", epoch) for epoch in (1, 2, 3, 4)]
    assert contents(copied / "barcode-bandits") == before
    assert different(bits(run), known) == ["README.md"]  # which was another experiment's here


def test_seeds_reach_every_experiment(
    finished: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def note(experiment: Any, preset: str, agents: Any, *more: Any, **how: Any) -> Any:
        asked[experiment.name], out, *_ = more
        shutil.copytree(finished / experiment.name, out, dirs_exist_ok=True)
        return read_results(out)

    monkeypatch.setattr(whole, "reproduce", note)
    assert command(f"{ALL} --out x --first-seed 50 --seeds 3").code == 0
    assert asked == {name: replace(TINY, seeds=3, first_seed=50) for name in NAMES}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--experiments", "--experiments needs at least one name"),
        ("--seeds 1", "barcode-bandits: cannot resume"),
        ("--out run", "run holds a single run or experiment"),
        ("--out page", "page/report.html exists and is not of reinstate report"),
        ("--out other", "other/summary.json exists and is not of this command"),
    ],
)
@pytest.mark.usefixtures("untrained", "copied")
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, flags: str, message: str) -> None:
    (tmp_path / "file").write_text("years of work")
    for name in ("run/config.json", "page/report.html", "other/summary.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("[]")
    before = contents(tmp_path)
    assert_refused(command(f"{ALL} {flags}"), message)
    assert contents(tmp_path) == before


def test_the_papers_claims_are_one_family() -> None:
    """Each is supported in its own results; among three, only the surest is. Ours do not count."""
    below: Any = {"value": 0.5, "ci95": [0.25, 0.75]}
    claims: dict[str, list[Any]] = {
        "one": [check("a", 0.03), check("b", 0.001)],
        "other": [check("c", 0.03), check("ours", 0.03, paper="", **below)],
    }
    found: Any = {
        name: {**small(), "checks": with_verdicts(rows), "alarms": []}
        for name, rows in claims.items()
    }
    summary: Any = summarise(found, "")
    parts = summary["experiments"]
    rows = [row for name in claims for row in parts[name]["checks"]]
    verdicts = [row["verdict"] for row in rows]
    assert verdicts == ["undecided", "supported", "undecided", "contradicted"]
    adjusted = [row["p_holm"] for row in rows]
    assert adjusted == [pytest.approx(0.06), pytest.approx(0.003), pytest.approx(0.06), None]
    assert [row["verdict"] for row in found["one"]["checks"]] == ["supported"] * 2  # left alone
    totals = summary["totals"]
    assert [totals[name] for name in ("experiments", "agents", "claims", "ours")] == [2, 4, 3, 1]
    counts = [totals[name] for name in ("supported", "contradicted", "undecided")]
    assert counts == [1, 0, 2]
