"""The command, as a user meets it: results on stdout, one line on stderr for a mistake."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.agent import AGENTS
from reinstate.cli.options import peek
from reinstate.experiments import EXPERIMENTS
from reinstate.runs.run import Run
from reinstate.settings import to_dict
from spoken import Command, Said
from tiny import ENVIRONMENT, OPTIONS, TINY, contents, trained_run


def assert_refused(said: Said, message: str) -> None:
    assert said.code == 2
    assert said.out == ""
    assert re.fullmatch(r"reinstate: .+\n", said.err), said.err  # one line
    assert message in said.err


# Help and list


@pytest.mark.parametrize("line", ["", "--help", "-h", "help"])
def test_help(command: Command, line: str) -> None:
    said = command(line)
    assert said.code == 0 and said.err == ""
    for verb in ("reproduce EXP", "reproduce all", "train", "evaluate", "rejudge", "tune", "list"):
        assert f"\n  {verb}" in said.out
    assert all(len(row) <= 100 for row in said.out.splitlines())


@pytest.mark.parametrize("verb", ["train", "reproduce"])
@pytest.mark.parametrize("experiment", ["", "barcode-bandits"])
def test_help_of_a_verb_teaches_its_settings(command: Command, verb: str, experiment: str) -> None:
    said = command(f"{verb} {experiment} --help")
    assert said.code == 0 and said.err == ""
    for text in (
        f"usage: reinstate {verb} barcode-bandits",
        "--task.num-arms INT",
        "Arms of the bandit. (default: 10)",
        "--learner.lanes INT",
        "--memory.k INT",
        "--resume",
        "--checkpoint-every INT",
        f"reproduction/{'barcode-bandits'}"
        if verb == "reproduce"
        else "runs/barcode-bandits-epl2rl",
    ):
        assert text in said.out
    assert ("\nexperiments\n" in said.out) == (not experiment)


def test_help_shows_the_presets_defaults(command: Command) -> None:
    lanes = re.compile(r"--learner\.lanes INT.*?\(default:[\s│]*(\d+)\)", re.DOTALL)
    for preset, settings in EXPERIMENTS["barcode-bandits"].presets.items():
        said = command(f"train barcode-bandits --preset {preset} --help")
        found = lanes.search(said.out)
        assert found and int(found[1]) == settings.learner.lanes


@pytest.mark.parametrize("line", ["evaluate --help", "evaluate -h", "evaluate nowhere --help"])
def test_help_of_evaluate(command: Command, line: str) -> None:
    said = command(line)
    assert said.code == 0 and said.err == ""
    for text in (
        "reinstate evaluate RUN",
        "--epochs INT",
        "--seed INT",
        "--record",
        "--checkpoint",
    ):
        assert text in said.out


def test_list(command: Command) -> None:
    said = command("list")
    assert said.code == 0 and said.err == ""
    for name in (*EXPERIMENTS, *AGENTS, "quick", "paper", "4.1"):
        assert name in said.out
    listed = json.loads(command("list --json").out)
    assert set(listed) == {"experiments", "agents"}
    assert listed["experiments"]["barcode-bandits"]["presets"] == ["quick", "paper"]
    assert listed["agents"].keys() == AGENTS.keys()
    assert command("list --help").code == 0


def test_optimum(command: Command) -> None:
    said = command("optimum water-maze --task.height 3 --task.width 5")
    assert said.code == 0 and said.err == ""
    assert re.search(r"^without memory +5\.7094$", said.out, re.MULTILINE)
    said = command("optimum two-step --json")
    document = json.loads(said.out)
    assert document["task"]["p_common"] == 0.8
    assert document["optimum"]["uncued"] == pytest.approx(0.650528)
    said = command("optimum --help")
    assert said.code == 0 and "two-step" in said.out
    said = command("optimum barcode-bandits --help")
    assert said.code == 0 and "--task.num-arms INT" in said.out


def test_watch(command: Command, tmp_path: Path) -> None:
    maze = "--task.height 3 --task.width 3 --task.steps 5 --task.num-contexts 2 --task.repeats 2"
    tiny = "--seeds 1 --network.hidden-size 4 --learner.lanes 2 --learner.epochs 1"
    said = command(f"train water-maze --out m {maze} {tiny} --evaluation.epochs 2")
    assert said.code == 0, said.err
    said = command("watch water-maze m --exposure 2")
    assert said.code == 0 and said.out.count("step ") == 5  # no terminal: a block a step
    assert "exposure 2" in said.out
    said = command("watch water-maze m --svg m.svg")
    assert said.code == 0 and (tmp_path / "m.svg").read_text().startswith("<svg")
    assert_refused(command("watch water-maze m --svg m.svg"), "m.svg")
    assert_refused(command("watch water-maze m --seed 7"), "has the seeds [0], not 7")
    assert_refused(command("watch water-maze m --exposure 9"), "lower --exposure")
    assert "--speed FLOAT" in command("watch --help").out


def test_version(command: Command) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", command("--version").out)


# The verbs at work


def test_train_and_resume(command: Command, tmp_path: Path) -> None:
    said = command(f"train barcode-bandits --out x --checkpoint-every 3 {OPTIONS}")
    assert said.code == 0
    assert "reward an episode in the last epoch\nreinstate evaluate x " in said.out
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


def test_evaluate(command: Command, tmp_path: Path) -> None:
    trained_run(tmp_path / "x")
    said = command("evaluate x --json --record steps.npz")
    assert said.code == 0
    assert said.err == "epl2rl: judging with frozen weights\n"
    verdict = json.loads(said.out)
    assert set(verdict) == {"reward", "by_exposure", "r_gate"}
    assert json.loads((tmp_path / "x" / "evaluation.json").read_text()) == verdict
    with np.load(tmp_path / "steps.npz", allow_pickle=False) as steps:
        seeds, epochs, episodes, pulls = 2, 3, 6, 3
        assert set(steps) == {
            "context_id", "exposure", "action", "reward", "expected_reward",
            "best_expected_reward", "gates.i", "gates.f", "gates.o", "gates.r", "distance",
            "outcome_gates.i", "outcome_gates.f", "outcome_gates.o", "outcome_gates.r", "retrieved",
        }  # fmt: skip
        assert steps["exposure"].shape == (seeds, epochs, episodes)
        assert steps["gates.r"].shape == steps["action"].shape == (seeds, epochs, episodes, pulls)
        per_seed = steps["reward"].sum(axis=-1).mean(axis=(1, 2))
        assert verdict["reward"]["per_seed"] == pytest.approx(per_seed.tolist())

    before = contents(tmp_path)
    assert_refused(command("evaluate x --record steps.npz"), "steps.npz exists: choose another")
    assert contents(tmp_path) == before
    said = command("evaluate x --checkpoint x/checkpoints/epoch-00002.safetensors")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for text in ("agent", "reward [95%]", "regret at exposure 1", "epl2rl"):
        assert text in said.out


def test_reproduce(command: Command, tmp_path: Path) -> None:
    line = f"reproduce barcode-bandits --agents epl2rl --out x {OPTIONS}"
    said = command(line)
    assert said.code == 0
    assert "epl2rl: compiling\n" in said.err and "judging with frozen weights\n" in said.err
    assert re.search(r"^(holds|FAILS): epl2rl earns more than any agent", said.out, re.MULTILINE)
    assert "results.json and training-curves.png are in x\n" in said.out
    results = json.loads((tmp_path / "x" / "results.json").read_text())
    assert results["command"] == f"reinstate {line}"
    assert list(results["agents"]) == ["epl2rl"]
    before = contents(tmp_path)
    assert_refused(command(line), "x is not empty: add --resume")
    said = command(f"{line} --resume --json")
    assert said.code == 0 and json.loads(said.out) == results
    assert contents(tmp_path) == before


def test_a_process_of_its_own(tmp_path: Path) -> None:
    """As a shell would run it: all cores as devices, a mistake, and a reader that goes away."""
    program = [sys.executable, "-m", "reinstate"]
    say = {"cwd": tmp_path, "env": ENVIRONMENT, "capture_output": True, "text": True}
    words = ["train", "barcode-bandits", "--out", "x", "--json", *OPTIONS.split()]
    done: Any = subprocess.run([*program, *words], **say)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["last"]["epoch"] == 4
    assert not any("Traceback" in row or "Warning" in row for row in done.stderr.splitlines())
    done = subprocess.run([*program, *words], **say)  # type: ignore[call-overload]
    assert_refused(Said(done.returncode, done.stdout, done.stderr), "x already holds a run")


# Bad input


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trian barcode-bandits", "unknown verb 'trian': did you mean train?"),
        ("xyz", "unknown verb 'xyz': known: list, train, evaluate, reproduce"),
        ("--jsn", "unknown verb '--jsn'"),
        ("train", "train needs an experiment first: reinstate train EXPERIMENT (known: barcode-b"),
        ("reproduce --seeds 2", "reproduce needs an experiment first"),
        ("evaluate", "evaluate needs a run folder first: reinstate evaluate RUN"),
        ("evaluate --json", "evaluate needs a run folder first"),
        ("evaluate nowhere", "nowhere holds no run: it has no config.json"),
        ("evaluate .", ". holds no run"),
        ("list --jsn", "Unrecognized options: --jsn; did you mean --json? (see reinstate list --h"),
        ("train barcode-bandit", "unknown experiment 'barcode-bandit': did you mean barcode-bandi"),
        ("train zzz", "unknown experiment 'zzz': known: barcode-bandits"),
        ("train barcode-bandits --agent epl2r", "unknown agent 'epl2r': did you mean epl2rl?"),
        ("train barcode-bandits --agent", "Missing value for argument '--agent'"),
        ("train barcode-bandits --preset quikc", "unknown preset 'quikc': did you mean quick?"),
        ("train barcode-bandits --preset=papr", "unknown preset 'papr': did you mean paper?"),
        ("reproduce barcode-bandits --preset qick", "unknown preset 'qick': did you mean quick?"),
        ("reproduce barcode-bandits --agents l2rl nobody", "unknown agent 'nobody'"),
        ("reproduce barcode-bandits --agents", "--agents needs at least one name"),
        ("train barcode-bandits extra", "Unrecognized options: extra"),
        ("train barcode-bandits --task.num-arm 3", "did you mean --task.num-arms?"),
        ("train barcode-bandits --task.num-arms three", "invalid literal for int()"),
        ("train barcode-bandits --task.num-arms 2.5", "--task.num-arms"),
        ("train barcode-bandits --task.num-arms", "Missing value for argument '--task.num-arms'"),
        ("train barcode-bandits --task.process bog", "Expected one of ('bag', 'urn')"),
        ("optimum", "optimum needs an experiment: reinstate optimum EXPERIMENT (barcode-bandits"),
        ("optimum water-mase", "unknown experiment 'water-mase': did you mean water-maze?"),
        ("optimum water-maze --task.hight 3", "did you mean --task.height?"),
        (
            "optimum two-step --task.p-common 1.3",
            "p_common must be a probability between 0 and 1, not 1.3",
        ),
        ("optimum water-maze --task.height 9 --task.width 9", "too large to solve exactly"),
        (
            "watch",
            "watch needs an experiment and a run folder first: reinstate watch",
        ),
        ("watch water-mze x", "unknown replay 'water-mze': did you mean water-maze?"),
        ("watch water-maze nowhere", "nowhere holds no run"),
        ("watch water-maze nowhere --speed 0", "speed must be positive, not 0"),
        ("train water-maze --task.height 3 --task.width 3", "9 cells cannot give 10 contexts"),
        # Settings that cannot work
        ("train barcode-bandits --task.barcode-length 3", "raise barcode_length to 4 or more"),
        (
            "train barcode-bandits --task.barcode-length 31",
            "barcode_length must be 1 to 30, not 31",
        ),
        ("reproduce barcode-bandits --task.num-arms 11", "10 contexts are too few for 11 arms"),
        ("train barcode-bandits --task.num-arms 0", "num_arms must be positive, not 0"),
        ("train barcode-bandits --task.pulls -1", "pulls must be positive, not -1"),
        ("train barcode-bandits --task.repeats 0", "repeats must be positive, not 0"),
        ("train barcode-bandits --task.num-contexts 0", "must be positive, not 0"),
        ("train barcode-bandits --task.p-good 1.5", "p_good must be a probability"),
        ("train barcode-bandits --task.process urn --task.alpha 0", "alpha must be positive"),
        ("train barcode-bandits --network.hidden-size 0", "hidden_size must be positive, not 0"),
        ("train barcode-bandits --memory.k 101", "k = 101 neighbours need as many slots"),
        ("train barcode-bandits --memory.capacity 0", "capacity must be positive, not 0"),
        ("train barcode-bandits --learner.lanes 0", "lanes must be positive, not 0"),
        ("train barcode-bandits --learner.epochs 0", "epochs must be positive, not 0"),
        ("train barcode-bandits --learner.learning-rate nan", "learning_rate must be positive"),
        ("train barcode-bandits --learner.episodes-per-update 7", "must divide the epoch's 100"),
        ("train barcode-bandits --evaluation.epochs 0", "epochs must be positive, not 0"),
        ("train barcode-bandits --evaluation.seed 1", "evaluation.seed 1 is a training seed"),
        ("train barcode-bandits --seeds 0", "seeds must be positive, not 0"),
        ("train barcode-bandits --first-seed -1", "first_seed must lie between 0 and"),
        ("train barcode-bandits --checkpoint-every 0", "checkpoint_every must be positive, not 0"),
    ],
)
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    assert_refused(command(line), message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", ["30", "200"])
def test_a_mistake_is_one_line_in_any_terminal(
    command: Command, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = command("train barcode-bandits --learner.lane 3")
    assert_refused(said, "; did you mean --learner.lanes?")


@pytest.mark.parametrize("verb", ["train", "reproduce"])
def test_out_that_is_taken(command: Command, tmp_path: Path, verb: str) -> None:
    trained_run(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    before = contents(tmp_path)
    for out, message in (
        ("run", "run already holds a run" if verb == "train" else "run is not empty"),
        ("full", "full is not empty"),
        ("full/thesis.tex", "full/thesis.tex is a file: choose another --out"),
        ("full/thesis.tex/x", "Not a directory"),
    ):
        assert_refused(command(f"{verb} barcode-bandits --out {out} {OPTIONS}"), message)
    assert contents(tmp_path) == before


def test_resume_with_other_settings(command: Command, tmp_path: Path) -> None:
    trained_run(tmp_path / "x")
    before = contents(tmp_path)
    line = f"train barcode-bandits --out x --resume {OPTIONS}"
    said = command(f"{line} --learner.epochs 9 --agent l2rl")
    assert_refused(said, "(agent: epl2rl → l2rl; settings.learner.epochs: 4 → 9)")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("verb", ["train", "reproduce"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_cannot_be_written(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, number: int
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync" if number == errno.ENOSPC else "mkdir", refuse)
    said = command(f"{verb} barcode-bandits --out x {OPTIONS}")
    assert_refused(said, f"{os.strerror(number)}; what was saved before is kept")
    assert contents(tmp_path) == {}


def test_a_folder_that_cannot_be_read(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "x")

    monkeypatch.setattr(Path, "exists", refuse)
    said = command(f"train barcode-bandits --out x {OPTIONS}")
    assert_refused(said, "Permission denied: 'x'")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def make_foreign(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 a zip, or whatever")


@pytest.mark.parametrize("spoil", [truncate, make_foreign])
@pytest.mark.parametrize(
    "line", ["evaluate x", f"train barcode-bandits --out x --resume {OPTIONS}"]
)
def test_a_spoilt_checkpoint(
    command: Command, tmp_path: Path, spoil: Callable[[Path], None], line: str
) -> None:
    spoil(trained_run(tmp_path / "x").path / "checkpoints" / "epoch-00004.safetensors")
    before = contents(tmp_path)
    assert_refused(command(line), "x/checkpoints/epoch-00004.safetensors cannot be read")
    assert contents(tmp_path) == before


def rewrite_config(run: Run, **changes: Any) -> None:
    path = run.path / "config.json"
    saved = json.loads(path.read_text())
    saved["config"].update(changes)
    path.write_text(json.dumps(saved))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "l2rl"}, "is of another agent or other settings"),
        ({"agent": "l2r"}, "unknown agent 'l2r': did you mean l2rl?"),
        ({"agent": None}, "unknown agent 'None'"),
        ({"experiment": "chess"}, "unknown experiment 'chess'"),
        ({"settings": {}}, "settings has missing fields: evaluation, first_seed"),
        ({"settings": {**to_dict(TINY), "seeds": "2"}}, "settings.seeds must be int, not '2'"),
        ({"settings": {**to_dict(TINY), "seeds": 3}}, "is of another agent or other settings"),
    ],
)
def test_evaluate_a_run_of_something_else(
    command: Command, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite_config(trained_run(tmp_path / "x"), **changes)
    before = contents(tmp_path)
    assert_refused(command("evaluate x"), message)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--seed 0", "evaluation.seed 0 is a training seed"),
        ("--epochs 0", "epochs must be positive, not 0"),
        ("--epoch 5", "did you mean --epochs?"),
        ("--checkpoint nowhere", "nowhere is no file: name a checkpoint of the run"),
        ("--checkpoint x", "x is no file: name a checkpoint of the run"),
        ("--record x/config.json", "x/config.json exists: choose another --record"),
    ],
)
def test_mistakes_in_evaluate(command: Command, tmp_path: Path, flags: str, message: str) -> None:
    trained_run(tmp_path / "x")
    before = contents(tmp_path)
    assert_refused(command(f"evaluate x {flags}"), message)
    assert contents(tmp_path) == before


def test_evaluate_an_untrained_run(command: Command, tmp_path: Path) -> None:
    for path in (trained_run(tmp_path / "x").path / "checkpoints").iterdir():
        path.unlink()
    assert_refused(command("evaluate x"), "x has no checkpoint yet: train it first")


def test_an_interrupt_is_no_traceback(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reinstate.cli.command.start_run", interrupt)
    assert command("train barcode-bandits") == Said(130, "", "reinstate: interrupted\n")


def test_peek() -> None:
    assert peek([], "--agent", "a") == "a"
    assert peek(["--agent", "b"], "--agent", "a") == "b"
    assert peek(["--x", "--agent=b"], "--agent", "a") == "b"
    assert peek(["--agent", "b", "--agent", "c"], "--agent", "a") == "c"
    assert peek(["--agents", "b"], "--agent", "a") == "a"
