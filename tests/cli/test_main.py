"""The verbs at work: results on stdout, progress on stderr."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reinstate import registry
from reinstate.analysis.verdicts import VERDICTS
from reinstate.evaluation import Condition
from reinstate.files import read_json, write_document
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.run import Run, open_run
from reinstate.settings import Settings, to_dict
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import ENVIRONMENT, OPTIONS, TINY, contents, trained_run


def test_train_and_resume(command: Command, tmp_path: Path) -> None:
    said = command(f"train barcode-bandits --out x --checkpoint-every 3 {OPTIONS}")
    assert said.code == 0
    assert "reward per episode in the last epoch\nnext: reinstate evaluate x  # " in said.out
    # Piped progress: plain lines with reward, speed and time left.
    assert said.err.startswith("epl2rl: compiling\n")
    assert re.search(r"epl2rl: epoch 4/4  reward \d\.\d\d  [\d,]+ steps/s  0 s left\n$", said.err)
    config = Run(tmp_path / "x").read_config()
    assert config == {
        "experiment": "barcode-bandits", "agent": "epl2rl", "settings": to_dict(TINY),
    }  # fmt: skip
    found = sorted(path.name for path in (tmp_path / "x" / "checkpoints").iterdir())
    assert found == ["epoch-00003.safetensors", "epoch-00004.safetensors"]

    said = command(f"train barcode-bandits --out x --resume --json {OPTIONS}")
    assert said.code == 0 and "already trained" in said.err
    result = json.loads(said.out)
    assert result["run"] == "x" and result["last"] == Run(tmp_path / "x").read_metrics()[-1]


def test_a_run_begins_with_the_weights_of_another(command: Command, tmp_path: Path) -> None:
    trained_run(tmp_path / "x")
    line = f"train barcode-bandits --from x --out y {OPTIONS}"
    assert_refused(command(f"{line} --agent l2rl"), "is of another agent or other settings")
    assert not (tmp_path / "y").exists()
    assert command(line).code == 0
    config, rows = Run(tmp_path / "y").read_config(), Run(tmp_path / "y").read_metrics()
    assert config["parent"] == {"run": "x", "epoch": 4}
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["loss"] != Run(tmp_path / "x").read_metrics()[0]["loss"]


def test_the_command_that_is_recorded_is_the_one_that_began(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = SimpleNamespace(do=lambda line: line, json=True)
    monkeypatch.setattr("reinstate.cli.parse", lambda words: said)
    line = command("reproduce two-step --resume --out x").out
    assert json.loads(line) == "reinstate reproduce two-step --out x"


def test_evaluate(command: Command, tmp_path: Path) -> None:
    trained_run(tmp_path / "x")
    said = command("evaluate x --json --record steps.npz")
    assert said.code == 0
    assert said.err == "epl2rl: evaluating with frozen weights\n"
    verdict = json.loads(said.out)
    assert set(verdict) == {
        "reward", "reward_by_epoch", "by_exposure", "r_gate", "stored", "slots_used",
        "familiarity", "elimination",
    }  # fmt: skip
    assert read_json(tmp_path / "x" / "evaluation.json") == verdict
    with np.load(tmp_path / "steps.npz", allow_pickle=False) as steps:
        seeds, epochs, episodes, pulls = 2, 3, 6, 3
        assert set(steps) == {
            "context_id", "exposure", "action", "reward", "expected_reward",
            "best_expected_reward", "gates.i", "gates.f", "gates.o", "gates.r", "distance",
            "outcome_gates.i", "outcome_gates.f", "outcome_gates.o", "outcome_gates.r", "retrieved",
            "trace.good_arm", "filled",
        }  # fmt: skip
        assert steps["exposure"].shape == (seeds, epochs, episodes)
        assert steps["gates.r"].shape == steps["action"].shape == (seeds, epochs, episodes, pulls)
        per_seed = steps["reward"].sum(axis=-1).mean(axis=(1, 2))
        assert verdict["reward"]["per_seed"] == pytest.approx(per_seed.tolist())

    before = contents(tmp_path)
    assert_refused(command("evaluate x --record steps.npz"), "steps.npz exists: choose another")
    assert contents(tmp_path) == before
    said = command("evaluate x")
    assert said.code == 0 and said.out.splitlines()[-1].startswith("next: reinstate report x  # ")
    assert max(map(len, said.out.splitlines())) <= 80
    for text in ("agent", "reward [95%]", "regret at exposure 1", "epl2rl"):
        assert text in said.out


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its verdict."""
    run = trained_run(tmp_path_factory.mktemp("judged") / "run")
    evaluator = Evaluator(*open_run(run.path))
    write_document(run.evaluation_path, evaluator.evaluate_run(run, evaluator.load(run)))
    return run.path


@pytest.mark.parametrize(
    "flags", ["--epochs 2", "--seed 99", "--checkpoint x/checkpoints/epoch-00002.safetensors"]
)
def test_evaluate_otherwise_keeps_the_verdict(
    command: Command, judged: Path, tmp_path: Path, flags: str
) -> None:
    shutil.copytree(judged, tmp_path / "x")
    before = contents(tmp_path)
    said = command(f"evaluate x {flags} --out other.json")
    assert "x/evaluation.json is kept: it is about the run's own settings\n" in said.out
    after = dict(contents(tmp_path))
    other = json.loads(after.pop(str(tmp_path / "other.json")))
    own = json.loads(after[str(tmp_path / "x" / "evaluation.json")])
    assert other.keys() == own.keys() and other != own
    assert after == before
    assert_refused(command(f"evaluate x {flags} --out other.json"), "choose another --out")


def _probes(settings: Settings) -> dict[str, Condition]:
    """One that is compiled already, for training contexts."""
    return {"plain": Condition(settings.task, settings.memory)}


def test_reproduce_and_evaluate_again(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a rich verdict may vanish: training contexts, probes, milestones."""
    rich = replace(BARCODE_BANDITS, milestones=(0.5, 1.0), probes=_probes)
    monkeypatch.setattr(BarcodeBandits, "for_evaluation", lambda world: replace(world, p_bad=0.2))
    monkeypatch.setitem(registry._registered["experiment"], "barcode-bandits", rich)
    line = f"reproduce barcode-bandits --agents epl2rl --out x --checkpoint-every 2 {OPTIONS}"
    said = command(line)
    assert said.code == 0, said.err
    assert "epl2rl: compiling\n" in said.err and "evaluating with frozen weights\n" in said.err
    verdicts = "|".join(VERDICTS)
    assert re.search(rf"^({verdicts}): epl2rl earns more than any agent", said.out, re.MULTILINE)
    assert "results.json and training-curves.png are in x\n" in said.out
    assert said.out.splitlines()[-1] == "next: open x/report.html in a browser"
    assert "epL2RL" in (tmp_path / "x" / "report.html").read_text()
    results = read_json(tmp_path / "x" / "results.json")
    assert results["command"] == f"reinstate {line}"
    assert list(results["agents"]) == ["epl2rl"]
    before = contents(tmp_path)
    assert_refused(command(line), "x is not empty: add --resume")
    said = command(f"{line} --resume --json")
    assert said.code == 0 and json.loads(said.out)["checks"]
    verdict = read_json(tmp_path / "x" / "epl2rl" / "evaluation.json")
    assert {"on_training_contexts", "milestones", "probes"} <= verdict.keys()
    assert command("evaluate x/epl2rl").code == 0
    assert contents(tmp_path) == before


def test_a_process_of_its_own(tmp_path: Path) -> None:
    """As a shell would run it."""
    words = ["train", "barcode-bandits", "--out", "x", "--json", *OPTIONS.split()]
    line = [sys.executable, "-m", "reinstate", *words]
    done = subprocess.run(line, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["last"]["epoch"] == 4
    assert not any("Traceback" in row or "Warning" in row for row in done.stderr.splitlines())
