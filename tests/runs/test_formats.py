"""Run folders of other versions: older ones are continued and judged, newer ones refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from reinstate.errors import UserError
from reinstate.files import read_json, write_json
from reinstate.runs.checkpoints import load_checkpoint, load_weights
from reinstate.runs.judge import Evaluator
from reinstate.runs.run import FORMAT, Run, open_run
from reinstate.runs.training import train
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import SILENT, TINY, contents, new_run, trained_run

# Made by the last version of the first format, and killed in the fourth of four epochs.
FIRST = Path(__file__).parents[1] / "format-1"


@pytest.fixture
def first(tmp_path: Path) -> Run:
    return Run(Path(shutil.copytree(FIRST, tmp_path / "first")))


def test_a_run_of_the_first_format_is_continued(tmp_path: Path, first: Run) -> None:
    """To the same weights, but for the rounding of the machine that began it."""
    assert first.format == 1 and open_run(first.path) == (BARCODE_BANDITS, "epl2rl", TINY)
    before = contents(first.path / "checkpoints")
    state = train("epl2rl", TINY, first, SILENT, 2).state
    whole = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(trained_run(tmp_path / "whole"))
    np.testing.assert_allclose(state.params.head.weight, whole.params.head.weight, atol=1e-4)
    assert [row["epoch"] for row in first.read_metrics()] == [1, 2, 3, 4]
    assert contents(first.path / "checkpoints").items() >= before.items()  # its milestones
    assert [*first.checkpoints()] == [1, 2, 4]


def test_a_run_of_the_first_format_is_judged(first: Run) -> None:
    """Its checkpoints are its milestones, those that are nearest."""
    judged = replace(BARCODE_BANDITS, milestones=(0.25, 0.4, 1.0))
    evaluator = Evaluator(judged, "epl2rl", TINY)
    verdict = evaluator.judge_run(first, evaluator.load(first))
    assert [each["epoch"] for each in verdict["milestones"]] == [1, 2]
    assert verdict["milestones"][-1]["reward"] == verdict["reward"]


def test_a_newer_folder_is_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path / "x")
    saved = read_json(run.path / "config.json")
    for version in (FORMAT + 1, 0, "2", None, [2]):
        write_json(run.path / "config.json", {**saved, "format": version})
        before = contents(run.path)
        for use in (open_run, lambda path: train("epl2rl", TINY, Run(path), SILENT)):
            with pytest.raises(UserError) as error:
                use(run.path)
            assert str(error.value) == (
                f"{run.path} holds a run of format {version}, and this version knows {FORMAT}:"
                " install the version that made it"
            )
        assert contents(run.path) == before


@pytest.mark.parametrize("kind", ["checkpoint", "weights"])
def test_a_newer_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.safetensors"
    load = load_checkpoint if kind == "checkpoint" else load_weights
    for version in (FORMAT + 1, 10):
        about = json.dumps({"epoch": 3})
        save_file({"w": np.ones(3)}, path, {f"reinstate-{kind}-{version}": about})
        with pytest.raises(UserError, match=f"^{path} is of a newer version of this program: inst"):
            load(path, {"w": np.ones(3)})
