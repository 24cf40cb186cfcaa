"""The command, as a user meets it: results on stdout, one line on stderr for a mistake."""

import errno
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate import registry
from reinstate.agent import AGENTS
from reinstate.cli import VERBS
from reinstate.cli import list as list_verb
from reinstate.cli.parsing import peek
from reinstate.cli.tables import print_checks
from reinstate.evaluation import Condition, Record
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.files import write_json
from reinstate.learner import TrainState
from reinstate.memory import MEMORIES
from reinstate.runs.judge import Evaluator
from reinstate.runs.run import Run, open_run
from reinstate.runs.sinks import SINKS
from reinstate.settings import Settings, to_dict
from reinstate.tasks.bandits import BarcodeBandits
from spoken import Command, Said, assert_refused
from tiny import ENVIRONMENT, OPTIONS, TINY, contents, trained_run

# Help and list


@pytest.mark.parametrize("line", ["", "--help", "-h", "help"])
def test_help_has_every_verb_on_one_line(command: Command, line: str) -> None:
    said = command(line)
    assert said.code == 0 and said.err == ""
    for verb, text in VERBS.items():
        assert re.search(rf"^│   • {verb} +{re.escape(text)} *│$", said.out, re.MULTILINE)
    assert "reinstate --tyro-write-completion bash FILE" in said.out
    assert all(len(row) <= 80 for row in said.out.splitlines())


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb(command: Command, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits into 80 columns, and is the same text at 200: no word is broken."""
    lines = [f"{verb} --help"]
    if verb in ("train", "reproduce", "tune", "optimum"):
        lines.append(f"{verb} two-step --help")
    for line in lines:
        pages = {}
        for columns in (80, 200):
            monkeypatch.setenv("COLUMNS", str(columns))
            said = command(line)
            assert said.code == 0 and said.err == "" and "Traceback" not in said.out
            assert max(map(len, said.out.splitlines())) <= columns
            pages[columns] = sorted(re.sub("[─╭╮╰╯│]", " ", said.out).split())
        assert pages[80] == pages[200]
        assert pages[80][0] and f"reinstate {verb}" in said.out


def test_every_option_has_help(command: Command) -> None:
    for verb in VERBS:
        line = f"{verb} water-maze" if verb in ("train", "reproduce", "tune", "optimum") else verb
        line = {"pretrain": "pretrain omniglot"}.get(verb, line)
        shown = command(f"{line} --help").out
        for option in re.finditer(r"│ (--\S+)[^│]*│\n│(?! {20})", shown):
            assert re.search(r"  \S", option[0].split("--", 1)[1]), option[0]


@pytest.mark.parametrize("verb", ["train", "reproduce", "tune", "optimum"])
def test_help_without_an_experiment_teaches(command: Command, verb: str) -> None:
    said = command(f"{verb} --help")
    assert said.code == 0 and said.err == ""
    for name in EXPERIMENTS:
        assert f"• {name}" in said.out
    assert f"\n  reinstate {verb} barcode-bandits\n" in said.out
    assert f"`reinstate {verb} EXPERIMENT --help` explains" in " ".join(said.out.split())


@pytest.mark.parametrize("verb", ["train", "reproduce"])
def test_help_of_an_experiment_has_all_its_settings(command: Command, verb: str) -> None:
    said = command(f"{verb} barcode-bandits --help")
    out = "reproduction/" if verb == "reproduce" else "runs/"
    for text in (
        f"usage: reinstate {verb} barcode-bandits [OPTIONS]\n",
        "--task.num-arms INT",
        "Arms of the bandit. (default: 10)",
        "--learner.lanes INT",
        "--memory.k INT",
        "--memory-kind STR",
        "--track NAME …",
        "--resume",
        "--checkpoint-every INT",
        f"{out}barcode-bandits",
    ):
        assert text in said.out


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
    for text in ("reinstate evaluate", "--epochs INT", "--seed INT", "--record", "--checkpoint"):
        assert text in said.out


def test_completion(command: Command, tmp_path: Path) -> None:
    """A script, written or printed, knows verbs, experiments and flags."""
    assert command("--tyro-write-completion bash script") == Said(0, "", "")
    for script in (tmp_path / "script").read_text(), command("--tyro-print-completion zsh").out:
        for word in (*VERBS, *EXPERIMENTS, "task.num-arms", "learner.lanes", "skip-bad"):
            assert word in script


def test_list(command: Command) -> None:
    said = command("list")
    assert said.code == 0 and said.err == ""
    for name in (*EXPERIMENTS, *AGENTS, *MEMORIES, *SINKS):
        (line,) = re.findall(rf"^  {name} +\S.*$", said.out, re.MULTILINE)  # one record per line
    (line,) = re.findall("^  barcode-bandits .*$", said.out, re.MULTILINE)
    assert "; section 4.1, Fig. 3a; presets quick, paper; agents epl2rl, l2rl, " in line
    listed = json.loads(command("list --json").out)
    assert set(listed) == {"experiments", "agents", "memories", "sinks", "packages"}
    assert listed["experiments"]["barcode-bandits"]["presets"] == ["quick", "paper"]
    assert listed["agents"].keys() == AGENTS.keys()


def test_list_what_cannot_be_loaded(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """One broken package of somebody else is named, and breaks nothing."""
    broken = EntryPoint("chess", "no_such_module:CHESS", "reinstate.experiments")
    real = importlib.metadata.entry_points

    def with_broken(group: str) -> Any:
        return EntryPoints([*real(group=group), *([broken] if group == broken.group else [])])

    for module in (registry, list_verb):
        monkeypatch.setattr(module, "entry_points", with_broken)
    said = command("list")
    assert said.code == 0 and "  chess " in said.out and "No module named" in said.out
    assert "  barcode-bandits " in said.out and "  epl2rl " in said.out
    assert "chess" in command("train --help").out
    script = command("--tyro-print-completion bash")
    assert script.code == 0 and "water-maze" in script.out and "no_such_module" not in script.out
    assert_refused(command("train chess"), "of the package no_such_module cannot be loaded")


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


def test_bounds_of_a_large_maze_say_that_they_are_bounds(command: Command) -> None:
    said = command("optimum water-maze --task.height 6 --task.width 6")
    assert said.code == 0 and said.out.startswith("Too large to solve exactly: these are bounds")
    assert re.search(r"^without memory at most +\d", said.out, re.MULTILINE)


def test_schema(command: Command) -> None:
    schema = json.loads(command("schema").out)
    assert schema["$defs"]["Results"]["required"]
    assert "checks" in schema["$defs"]["Results"]["properties"]


def test_watch(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[Record] = []  # played once: compiling is most of it
    play = Evaluator.record

    def record(self: Evaluator, state: TrainState) -> Record:
        records[:] = records or [play(self, state)]
        return records[0]

    monkeypatch.setattr(Evaluator, "record", record)
    maze = "--task.height 3 --task.width 3 --task.steps 5 --task.num-contexts 2 --task.repeats 2"
    tiny = "--seeds 1 --network.hidden-size 4 --learner.lanes 2 --learner.epochs 1"
    said = command(f"train water-maze --out m {maze} {tiny} --evaluation.epochs 2")
    assert said.code == 0, said.err
    said = command("watch water-maze m --exposure 2")
    assert said.code == 0 and said.out.count("step ") == 5  # no terminal: one block per step
    assert "exposure 2" in said.out
    said = command("watch water-maze m --svg m.svg")
    assert said.code == 0 and (tmp_path / "m.svg").read_text().startswith("<svg")
    assert_refused(command("watch water-maze m --svg m.svg"), "m.svg")
    assert_refused(command("watch water-maze m --seed 7"), "has the seeds [0], not 7")
    assert_refused(command("watch water-maze m --exposure 9"), "lower --exposure")


def test_version(command: Command) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", command("--version").out)


# The verbs at work


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
    write_json(run.evaluation_path, evaluator.judge_run(run, evaluator.load(run)))
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
    assert "epl2rl: compiling\n" in said.err and "judging with frozen weights\n" in said.err
    assert re.search(r"^(holds|FAILS): epl2rl earns more than any agent", said.out, re.MULTILINE)
    assert "results.json and training-curves.png are in x\n" in said.out
    assert said.out.splitlines()[-1].startswith("next: reinstate report x  # ")
    results = json.loads((tmp_path / "x" / "results.json").read_text())
    assert results["command"] == f"reinstate {line}"
    assert list(results["agents"]) == ["epl2rl"]
    before = contents(tmp_path)
    assert_refused(command(line), "x is not empty: add --resume")
    said = command(f"{line} --resume --json")
    assert said.code == 0 and json.loads(said.out) == results
    verdict = json.loads((tmp_path / "x" / "epl2rl" / "evaluation.json").read_text())
    assert {"on_training_contexts", "milestones", "probes"} <= verdict.keys()
    assert command("evaluate x/epl2rl").code == 0
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
        ("xyz", "unknown verb 'xyz': known: reproduce, train, evaluate, report"),
        ("--jsn", "unknown verb '--jsn'"),
        ("--version extra", "unknown verb '--version'"),
        (
            "--tyro-write-completion",
            "use reinstate --tyro-write-completion SHELL FILE, with one",
        ),
        ("--tyro-print-completion ksh", "SHELL, with one of bash, zsh, fish, tcsh"),
        # Verbs that were flags
        ("fit-choices --example x.csv", "--example is a verb of its own now: reinstate example-ch"),
        ("fit-choices --recovery=r", "--recovery=r is a verb of its own now: reinstate recover-ch"),
        (
            "report r --inputs",
            "--inputs is a verb of its own now: reinstate memory-as-input RESULTS",
        ),
        ("train", "train needs an experiment first: reinstate train … (known: barcode-bandits, "),
        ("reproduce --seeds 2", "reproduce needs an experiment first"),
        ("evaluate", "evaluate needs RUN first (see reinstate evaluate --help)"),
        ("evaluate --json", "evaluate needs RUN first"),
        ("evaluate a b", "Unrecognized options: b (see reinstate evaluate --help)"),
        ("evaluate nowhere", "nowhere holds no run: it has no config.json"),
        ("evaluate .", ". holds no run"),
        ("list --jsn", "Unrecognized options: --jsn; did you mean --json? (see reinstate list --h"),
        ("train barcode-bandit", "unknown experiment 'barcode-bandit': did you mean barcode-bandi"),
        ("train zzz", "unknown experiment 'zzz': known: barcode-bandits"),
        ("train barcode-bandits --memory-kind dn", "unknown memory 'dn': did you mean dnd?"),
        ("train barcode-bandits --track tensorbord", "unknown sink 'tensorbord': did you mean ten"),
        ("train barcode-bandits --agent epl2r", "unknown agent 'epl2r': did you mean epl2rl?"),
        ("train barcode-bandits --agent", "Missing value for argument '--agent'"),
        ("train barcode-bandits --preset quikc", "unknown preset 'quikc': did you mean quick?"),
        ("train barcode-bandits --preset=papr", "unknown preset 'papr': did you mean paper?"),
        ("reproduce barcode-bandits --preset qick", "unknown preset 'qick': did you mean quick?"),
        ("reproduce barcode-bandits --agents l2rl nobody", "unknown agent 'nobody'"),
        ("reproduce barcode-bandits --agents", "--agents needs at least one name"),
        ("train barcode-bandits extra", "Unrecognized options: extra"),
        ("train barcode-bandits --task.num-arm 3", "did you mean --task.num-arms?"),
        ("train barcode-bandits --task.num-arms three", "(see reinstate train --help)"),
        ("train barcode-bandits --task.num-arms 2.5", "--task.num-arms"),
        ("train barcode-bandits --task.num-arms", "Missing value for argument '--task.num-arms'"),
        ("train barcode-bandits --task.process bog", "Expected one of ('bag', 'urn')"),
        ("optimum", "optimum needs an experiment first: reinstate optimum … (known: barcode-ban"),
        ("optimum water-mase", "unknown experiment 'water-mase': did you mean water-maze?"),
        ("optimum water-maze --task.hight 3", "did you mean --task.height?"),
        (
            "optimum two-step --task.p-common 1.3",
            "p_common must be a probability between 0 and 1, not 1.3",
        ),
        ("watch", "watch needs {water-maze} and RUN first (see reinstate watch --help)"),
        ("watch water-maze", "watch needs RUN first (see reinstate watch --help)"),
        ("watch water-mze x", "invalid choice 'water-mze'"),
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

    monkeypatch.setattr("reinstate.cli.train.start_run", interrupt)
    assert command("train barcode-bandits") == Said(130, "", "reinstate: interrupted\n")


def test_peek() -> None:
    assert peek([], "--agent", "a") == "a"
    assert peek(["--agent", "b"], "--agent", "a") == "b"
    assert peek(["--x", "--agent=b"], "--agent", "a") == "b"
    assert peek(["--agent", "b", "--agent", "c"], "--agent", "a") == "c"
    assert peek(["--agents", "b"], "--agent", "a") == "a"


# In a terminal


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_terminal_wraps_between_words(
    command: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    plain = command("list").out
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = command("list").out
    rows = shown.splitlines()
    assert max(map(len, rows)) <= columns
    assert shown.split() == plain.split()
    assert any(row.startswith(" " * 25) for row in rows)  # a hanging indent


def test_verdicts_are_coloured_and_whole(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row: Any = {"claim": "c" * 70, "value": 1.5, "bound": "at least 1.25", "ci95": [1.25, 1.75]}
    checks: Any = [{**row, "holds": holds} for holds in (True, False)]
    print_checks(checks)
    plain = capfd.readouterr().out
    assert plain.count("\n") == 2 and "\033" not in plain  # one record per line
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    print_checks(checks)
    shown = capfd.readouterr().out
    assert "\033[32mholds\033[0m: c" in shown and "\033[1;31mFAILS\033[0m: c" in shown
    assert shown.count("1.500 [1.250, 1.750]") == 2  # never broken
    assert max(len(re.sub("\033.*?m", "", row)) for row in shown.splitlines()) <= 100
    checks[0]["claim"] = "c" * 120
    print_checks(checks[:1])
    assert "c" * 120 in capfd.readouterr().out  # nor is a word that is too long
    monkeypatch.setenv("NO_COLOR", "1")
    print_checks(checks)
    assert "\033[3" not in capfd.readouterr().out
