"""Grids of choices: when a claim depends on one of them, and what that makes of a sentence."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from reinstate.errors import UserError
from reinstate.files import locked
from reinstate.runs.engines import Engine, Job, Started
from reinstate.runs.sweep import plan
from reinstate_paper.multiverse import cells as running
from reinstate_paper.multiverse import verb
from reinstate_paper.multiverse.cells import Cell, controlled, make_map, of_seed
from reinstate_paper.multiverse.findings import (
    as_document,
    dependence,
    marginals,
    read_cells,
    sentences,
)
from reinstate_paper.multiverse.grids import (
    ALONE,
    CONSTANT_ENTROPY,
    EPOCHS,
    LANES,
    MAPS,
    OPTIMISERS,
    RATE,
)
from reinstate_paper.multiverse.verb import Multiverse
from tiny import SILENT

CLAIM = "epl2rl-input is at chance (share of seeds)"


def row(value: float, p: float = 1e-6, control: float | None = 0.0, **more: Any) -> dict[str, Any]:
    """A claim that a value is at least 0.5."""
    found: dict[str, Any] = {"claim": CLAIM, "value": value, "ci95": None, "p": p, "seeds": 10}
    found |= {"region": [0.5, None], "paper": "said", "section": "4.1", "holds": [value >= 0.5]}
    return {**found, "control": None if control is None else row(control, control=None), **more}


def cell(options: dict[str, Any], *rows: dict[str, Any], learns: bool = True) -> Cell:
    return Cell(options, [0], learns, {}, list(rows))


def test_a_claim_depends_on_what_alone_turns_its_verdict() -> None:
    cells = [cell({}, row(0.0)), cell({LANES: 16}, row(1.0)), cell({"memory.k": 5}, row(0.0))]
    assert dependence(cells, CLAIM) == (LANES,)
    assert dependence(cells, "another") == ()


@pytest.mark.parametrize(
    "other",
    [
        cell({LANES: 16}, row(1.0, p=0.03), row(0.0, p=0.04, claim="another")),  # after Holm
        cell({LANES: 16}, row(1.0), learns=False),
        cell({LANES: 16}, row(1.0, control=1.0)),  # the test cannot fail there
        cell({LANES: 16}, row(1.0, control=None)),
        cell({LANES: 16}, row(0.2)),
    ],
)
def test_nothing_less_turns_it(other: Cell) -> None:
    assert dependence([cell({}, row(0.0)), other], CLAIM) == ()


def test_a_sentence_has_the_worst_of_its_verdicts() -> None:
    def part(*rows: dict[str, Any]) -> dict[str, Any]:
        return {"checks": list(rows)}

    good, bad = {**row(1.0), "verdict": "supported"}, {**row(0.0), "verdict": "contradicted"}
    alone = {"one": [cell({}, row(0.0)), cell({LANES: 16}, row(1.0))]}
    summary: Any = {"experiments": {"one": part(bad), "two": part({**good, "paper": "other"})}}
    first, second = sentences(summary, alone)
    assert (first.verdict, first.depends, second.verdict) == ("depends", (LANES,), "supported")
    summary["experiments"]["two"] = part(bad)  # the same sentence: there it depends on nothing
    (only,) = sentences(summary, alone)
    assert (only.verdict, only.claims) == ("contradicted", 2)


def test_controls_let_another_agent_stand_in() -> None:
    agents = {"l2rl": 1, "epl2rl": 2, "epl2rl-input": 3}
    assert controlled(agents, CLAIM) == {**agents, "epl2rl-input": 2}
    assert controlled(agents, "epl2rl's regret falls") == {**agents, "epl2rl": 1}
    assert controlled(agents, "the r-gate is more open") is None


def test_the_scores_of_a_seed() -> None:
    scores = {"reward": {"mean": 2.0, "ci95": [1, 3], "per_seed": [1.0, 3.0]}, "seeds": [7, 8]}
    assert of_seed(scores, 1) == {
        "reward": {"mean": 3.0, "ci95": None, "per_seed": [3.0]},
        "seeds": [8],
    }


def test_grids_ask_for_what_can_be_run() -> None:
    for name, grid in MAPS.items():
        rates = dict.fromkeys(grid.factors[LANES], 0.01)
        jobs = [job for asked in grid.cells(rates) for job in plan(asked)]
        assert len(jobs) >= 60 * len(grid.agents), name
        assert len({job.name for job in jobs}) == len(jobs)
    for name, alone in ALONE.items():
        jobs = [job for asked in alone.cells(name) for job in plan(asked)]
        assert min(job.settings["seeds"] for job in jobs) >= 10


def test_a_map_is_made_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small: Any = {LANES: (2,), EPOCHS: (1, 2), **OPTIMISERS}
    grid = replace(MAPS["memory-as-input"], factors=small)
    monkeypatch.setitem(running.MAPS, "small", grid)
    regret = {"mean": [4.0, 1.0], "ci95": None, "per_seed": [[4.0, 1.0]] * 3}
    scores: Any = {"reward": {"mean": 4.0, "ci95": None, "per_seed": [4.0, 4.0, 4.0]}}
    scores["by_exposure"] = {"regret": regret}
    done: list[str] = []

    def pretend(jobs: list[Job]) -> None:
        done.extend(f"{job.agent} {job.options[RATE]}" for job in jobs)

    monkeypatch.setattr(Job, "is_done", lambda job, out: True)
    best = {**scores, "reward": {**scores["reward"], "mean": 5.0}}
    monkeypatch.setattr(
        running, "scores_of", lambda job, out: best if job.options[RATE] == 0.03 else scores
    )
    cells = make_map("small", pretend, lambda job: True, tmp_path)
    assert done[:3] == ["l2rl 0.003", "l2rl 0.01", "l2rl 0.03"]
    assert len(cells) == 4 and {each.options[RATE] for each in cells} == {0.03}
    assert all(each.learns for each in cells)
    file = tmp_path / "map.json"
    made = as_document({"barcode-bandits": cells}, grid.claims)
    told = {"command": "x", "version": "1", "commit": None, "jax": "1", "device": "cpu"}
    file.write_text(json.dumps({**made, **told}))
    again = read_cells(file)["barcode-bandits"]
    assert [each.options for each in again] == [each.options for each in cells]
    assert {r["claim"] for each in again for r in each.claims} == {CLAIM}
    charts = marginals(again, grid.factors, grid.claims)
    assert [chart.of for chart in charts] == ["lanes", "epochs", "optimizer"]
    assert charts[1].series[0].y == [0.0, 0.0]
    assert not math.isnan(cells[0].claims[0]["value"])


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """Make the grid of memory-as-input small; return all of its cells."""
    small: Any = {LANES: (2, 4), EPOCHS: (1, 2)}
    grid = replace(MAPS["memory-as-input"], factors=small)
    monkeypatch.setitem(running.MAPS, "memory-as-input", grid)
    options = [{LANES: m, EPOCHS: n, RATE: 0.02} for m in (2, 4) for n in (1, 2)]
    return [Cell(each, [3400, 3401, 3402], True, {}, []) for each in options]


def test_recorded_cells_are_done_and_give_others_their_rates(
    tmp_path: Path, recorded: list[Cell]
) -> None:
    done: list[Job] = []

    def make(known: list[Cell], first_seed: int | None = None) -> list[Cell]:
        name, every = "memory-as-input", lambda job: True
        return make_map(name, done.extend, every, tmp_path, known, first_seed)

    assert make(recorded) == recorded and not done
    one, missing, *others = recorded
    assert make([*others, one]) == [one, *others]
    assert [dict(job.options) for job in done] == [missing.options] * 3
    done.clear()  # on other seeds they are not done
    assert make(recorded, 3300) == []
    assert len(done) == 3 * len(recorded)
    assert {job.options[RATE] for job in done} == {0.02}
    assert {job.settings["first_seed"] for job in done} == {3300}


def test_a_file_names_what_made_the_cells_that_it_took_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: list[Cell]
) -> None:
    file = tmp_path / "memory-as-input.json"
    made = {"command": "x", "version": "1", "commit": "abc", "jax": "1", "device": "gpu"}
    file.write_text(json.dumps({**made, **as_document({"barcode-bandits": recorded})}))
    monkeypatch.setattr(verb, "run", lambda *what: None)
    monkeypatch.setattr(verb.mpl, "save", lambda *what: None)
    options = Multiverse(out=tmp_path)
    for _ in range(2):  # the second time by the same program
        options.do("y")
        assert [each["commit"] for each in json.loads(file.read_text())["earlier"]] == ["abc"]
    assert read_cells(file)["barcode-bandits"] == recorded
    replace(options, first_seed=9).do("y")
    assert "earlier" not in json.loads((tmp_path / "memory-as-input-9.json").read_text())


def test_runs_are_done_in_a_folder_that_is_held_and_empty(tmp_path: Path) -> None:
    jobs = plan(replace(MAPS["memory-as-input"].rates(), settings={}))
    begun: list[str] = []

    class Hands:
        workers = 1

        def start(self, folder: Path) -> Any:
            def begin(job: Job, folder: Path) -> Started:
                begun.append(job.name)
                job.run(folder).path.mkdir()
                job.run(folder).evaluation_path.touch()
                return Started(lambda: True, lambda: None, lambda: None)

            return begin

    with locked(tmp_path / "out"):
        running.run(jobs, cast(Engine, Hands()), tmp_path / "out", SILENT)
    assert begun == [job.name for job in jobs]


def test_the_command_runs_the_cells_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small: Any = {LANES: (2, 4), EPOCHS: (1, 2), **CONSTANT_ENTROPY}
    grid = replace(MAPS["memory-as-input"], factors=small)
    monkeypatch.setitem(running.MAPS, "memory-as-input", grid)
    asked: list[Any] = []
    regret = {"mean": [4.0, 1.0], "ci95": None, "per_seed": [[4.0, 1.0]] * 3}
    scores: Any = {"reward": {"mean": 4.0, "ci95": None, "per_seed": [4.0, 4.0, 4.0]}}
    scores["by_exposure"] = {"regret": regret}
    monkeypatch.setattr(verb, "run", lambda jobs, *rest: asked.extend(jobs))
    monkeypatch.setattr(Job, "is_done", lambda job, out: True)
    monkeypatch.setattr(running, "scores_of", lambda job, out: scores)
    options = Multiverse(
        only=("lanes=4", "--learner.epochs=2", "entropy-cost-end=0.05"), out=tmp_path
    )
    result = options.do("reinstate reproduce multiverse")
    options.show(result)
    own = [job.options for job in asked if EPOCHS in job.options]
    assert {(each[LANES], each[EPOCHS]) for each in own} == {(4, 2)} and len(own) == 3
    assert "1 cells; memory-as-input.json is in" in capsys.readouterr().out
    assert read_cells(tmp_path / "memory-as-input.json")["barcode-bandits"][0].learns
    for word, message in (("lanes=3", "lanes takes one of 2, 4, not '3'"), ("lane=2", "lanes")):
        with pytest.raises(UserError, match=message):
            Multiverse(only=(word,), out=tmp_path).do("")
    with pytest.raises(UserError, match="did you mean memory-as-input"):
        Multiverse(claim="memory-as-inpt", out=tmp_path).do("")
