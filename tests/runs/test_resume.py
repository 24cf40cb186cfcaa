"""A reproduction that was interrupted or is finished already; and what it must not overwrite."""

import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinstate.errors import Stopped, UserError
from reinstate.files import read_json, write_json
from reinstate.runs.conclusions import read_results
from reinstate.runs.progress import Bar
from reinstate.runs.run import Run, open_run
from reinstate.runs.training import seconds_of
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import AGENTS, TINY, contents, interrupt, new_run, reproduced, reproduction


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished reproduction. No test may write into it."""
    return reproduced(tmp_path_factory.mktemp("reproduction") / "out")


@pytest.fixture(autouse=True)
def untouched(out: Path) -> Iterator[None]:
    before = contents(out)
    yield
    assert contents(out) == before


@pytest.fixture
def results(out: Path) -> Any:
    return read_results(out)


def test_a_finished_reproduction_is_not_done_again(out: Path, results: dict[str, Any]) -> None:
    assert reproduction(out, resume=True) == results


def test_an_interrupted_reproduction_is_continued(
    out: Path, tmp_path: Path, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(out / "epl2rl", tmp_path / "x" / "epl2rl")  # the first agent is done
    first = Run(tmp_path / "x" / "epl2rl")
    began, *others = first.read_metrics()
    first.write_metrics([began | {"compile": 1000.0}, *others])
    update = Bar.update

    def stop_second_agent(self: Bar, done: int, news: str) -> None:
        update(self, done, news)
        if self.title.endswith(" l2rl") and done == 2:
            interrupt(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Bar, "update", stop_second_agent)
        with pytest.raises(Stopped, match="l2rl stopped after epoch 2 of 4"):
            reproduction(tmp_path / "x", resume=True)
    assert not (tmp_path / "x" / "results.json").exists()
    with pytest.raises(UserError, match="x is not empty: add --resume to continue what is there"):
        reproduction(tmp_path / "x")
    again = reproduction(tmp_path / "x", resume=True)
    timed = {"steps_per_second"}
    for name in AGENTS:
        for part in results["agents"][name].keys() - timed:
            assert again["agents"][name][part] == results["agents"][name][part], part
    assert again["checks"] == results["checks"]
    rows = [row for name in AGENTS for row in Run(tmp_path / "x" / name).read_metrics()]
    spent = seconds_of(rows)  # by all calls
    assert {kind: again["seconds"][kind] for kind in spent} == pytest.approx(spent)
    assert again["seconds"]["total"] > sum(spent.values())


def test_results_of_other_settings_are_not_overwritten(out: Path) -> None:
    longer = replace(TINY, learner=replace(TINY.learner, epochs=5))
    with pytest.raises(UserError, match=r"other settings \(settings.learner.epochs: 4 → 5\)"):
        reproduction(out, ("l2rl-context",), longer, resume=True)
    with pytest.raises(UserError, match="out is not empty: add --resume"):
        reproduction(out)


def test_a_run_is_no_place_for_a_reproduction(tmp_path: Path) -> None:
    new_run(tmp_path / "x")
    before = contents(tmp_path)
    with pytest.raises(UserError, match="x holds a single run, not a reproduction"):
        reproduction(tmp_path / "x", resume=True)
    assert contents(tmp_path) == before


def test_what_an_older_version_recorded_can_be_continued(out: Path, tmp_path: Path) -> None:
    """Without settings that it did not know: they have their defaults."""
    copied = Path(shutil.copytree(out, tmp_path / "x"))
    for path in (copied / "results.json", copied / "epl2rl" / "config.json"):
        document = read_json(path)
        del document.get("config", document)["settings"]["task"]["trial_input"]
        write_json(path, document)
    before = contents(copied)
    assert open_run(copied / "epl2rl") == (BARCODE_BANDITS, "epl2rl", TINY)
    assert reproduction(copied, resume=True)["agents"].keys() == {*AGENTS}
    assert contents(copied) == before  # it was finished
    other = replace(TINY, task=replace(TINY.task, trial_input=True))
    with pytest.raises(UserError, match=r"settings\.task\.trial_input: False → True"):
        reproduction(copied, settings=other, resume=True)
