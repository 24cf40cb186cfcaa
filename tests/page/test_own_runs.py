"""`reinstate report` on runs of one's own: alone, side by side, and not yet judged."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from page.reading import Element, read
from page.recorded import BARCODES, RESULTS
from reinstate.analysis.verdicts import with_interval
from reinstate.errors import UserError
from reinstate.figures.page import write_page
from reinstate.files import write_json
from reinstate.runs.experiment import find_experiment
from reinstate.runs.reproduce import optimum_of
from reinstate.runs.run import Run
from tiny import TINY, new_run


def made_run(path: Path, agent: str = "epl2rl", evaluated: bool = True, lanes: int = 4) -> Run:
    """A run as `train` and `evaluate` leave it; its numbers are made up, or a recorded one's."""
    settings = replace(TINY, learner=replace(TINY.learner, lanes=lanes))
    run = new_run(path, agent, settings)
    rewards = [[1.0, 2.0], [2.0, 4.0], [3.0, 3.0]]
    run.write_metrics(
        [
            {"epoch": n, "steps": 10 * n, "seconds": 0.5, "reward": reward}
            for n, reward in enumerate(rewards, 1)
        ]
    )
    if evaluated:
        verdict = copy.deepcopy(BARCODES["agents"][agent])
        for name in ("curve", "share_of_ceiling", "seeds", "train_steps", "steps_per_second"):
            del verdict[name]
        write_json(run.evaluation_path, verdict)
    return run


def report(*paths: Path) -> Element:
    out = paths[0].parent / "report.html"
    write_page(paths, out)
    return read(out.read_text())


def test_a_single_run(tmp_path: Path) -> None:
    page = report(made_run(tmp_path / "run").path)
    assert not page.all("section", id="claims")
    ((label, reward, share, *_),) = page.one("table", class_="scores").rows()
    recorded = with_interval(BARCODES["agents"]["epl2rl"]["reward"])
    best = optimum_of(find_experiment("barcode-bandits"), TINY.task)
    earned = BARCODES["agents"]["epl2rl"]["reward"]["mean"] / best["with_memory"]
    assert (label, reward, share) == ("epL2RL", recorded, f"{earned:.1%}")
    curve = page.all("figure", class_="chart")[0]
    rows = [tr for tr in curve.all("tr") if "data-x" in tr.attributes]
    # Ten steps per epoch of both seeds together; mean and interval of two seeds.
    assert [tr.one("th").text for tr in rows] == ["5", "10", "15"]
    assert [tr.one("td").text.split()[0] for tr in rows] == ["1.500", "3.000", "3.000"]
    facts = page.facts()
    assert facts["seconds"] == "1.5 train" and facts["run"] == "run"


def test_runs_of_the_same_agent_are_told_apart(tmp_path: Path) -> None:
    few, many = made_run(tmp_path / "few"), made_run(tmp_path / "many", lanes=8)
    page = report(few.path, many.path)
    labels = ["epL2RL (few)", "epL2RL (many)"]
    assert [row[0] for row in page.one("table", class_="scores").rows()] == labels
    entries = page.all("figure", class_="chart")[0].all("li")
    assert len({li.attributes["class"] for li in entries}) == 2
    folded = [s.text for s in page.all("summary") if s.text.startswith("Settings")]
    assert folded == [f"Settings of {label}" for label in labels]


def test_runs_and_results_share_a_page(tmp_path: Path) -> None:
    page = report(
        made_run(tmp_path / "run").path, RESULTS / "barcode-bandits", RESULTS / "two-step"
    )
    sections = [s.attributes["id"] for s in page.all("section")]
    ours = ["barcode-bandits", "barcode-bandits-2", "two-step"]
    assert sections == ["overview", "claims", *ours]
    heading = page.one("h2", id="barcode-bandits-2-heading").text
    assert heading.endswith("(barcode-bandits)")


def test_a_run_that_is_not_judged_shows_its_curve(tmp_path: Path) -> None:
    page = report(made_run(tmp_path / "run", evaluated=False).path)
    assert page.one("table", class_="scores").rows() == [["epL2RL", "not evaluated", "–"]]
    assert "reinstate evaluate RUN" in page.one("main").text
    assert len(page.all("figure", class_="chart")) == 1


def test_a_run_without_anything_to_show(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="train it first"):
        report(new_run(tmp_path / "run").path)
