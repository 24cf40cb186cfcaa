"""What is computed depends on the settings alone: not on when it is saved, stopped, or where."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from bits import bits, different
from reinstate import registry
from reinstate.devices import over_seeds
from reinstate.errors import Stopped, UserError
from reinstate.files import read_json
from reinstate.runs import provenance
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.progress import Bar
from reinstate.runs.run import Run, start_run
from reinstate.runs.training import AgentWork, train
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import ENVIRONMENT, OPTIONS, SILENT, TINY, interrupt, reproduction, trained_run

JUDGED = replace(BARCODE_BANDITS, name="judged-on-the-way", milestones=(0.4, 1.0))
EPOCHS = TINY.learner.epochs


@pytest.fixture(scope="module")
def compiled_once() -> Iterator[None]:
    """Compile what all runs here share, once."""
    compile = AgentWork.compile
    programs: list[Any] = []

    def compile_once(self: AgentWork, state: Any) -> Any:
        programs.extend([] if programs else [compile(self, state)])
        return programs[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AgentWork, "compile", compile_once)
        # Files name the commit, and somebody may commit while tests run.
        patch.setattr(provenance, "commit", lambda: "0" * 40)
        yield


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, compiled_once: None) -> Iterator[Path]:
    """A reproduction in one go. No test may write into it."""
    registry.register("experiment", JUDGED.name, JUDGED)
    folder = tmp_path_factory.mktemp("undisturbed") / "out"
    reproduction(folder, ("epl2rl",), experiment=JUDGED)
    yield folder
    del registry._registered["experiment"][JUDGED.name]


@pytest.fixture(scope="module")
def undisturbed(out: Path) -> dict[str, Any]:
    return bits(out)


def stop_after(patch: pytest.MonkeyPatch, epochs: list[int]) -> None:
    """Send SIGTERM in the last moment of each of some epochs, once."""
    update, left = Bar.update, [*epochs]

    def stop(self: Bar, done: int, news: str) -> None:
        update(self, done, news)
        if done in left:
            left.remove(done)
            interrupt(signal.SIGTERM)

    patch.setattr(Bar, "update", stop)


def until_finished(work: Callable[[], Any]) -> int:
    """Repeat an interrupted piece of work; return how often it was stopped."""
    stops = 0
    while True:
        try:
            work()
            return stops
        except Stopped:
            stops += 1


@pytest.mark.parametrize("every", [1, 3, 100])
@pytest.mark.parametrize("stops", [[], [2], [1, 2, 3], [EPOCHS]])
def test_when_it_is_saved_and_stopped_does_not_matter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: dict[str, Any],
    every: int,
    stops: list[int],
) -> None:
    """Weights, moments, keys, metrics and milestones, bit for bit."""
    stop_after(monkeypatch, stops)
    run = start_run(JUDGED, "epl2rl", TINY, tmp_path / "epl2rl", resume=False)
    assert until_finished(lambda: train("epl2rl", TINY, run, SILENT, every)) == len(stops)
    assert [*run.milestones()] == [2, 4]
    trained = {n: content for n, content in bits(run.path).items() if n != "README.md"}
    found = {f"epl2rl/{name}": content for name, content in trained.items()}  # no scores yet
    expected = {n: c for n, c in undisturbed.items() if n.startswith("epl2rl/") and n in found}
    assert different(found, expected) == []
    assert len(found) == 5  # config, metrics, the last checkpoint, two milestones


def test_a_reproduction_that_was_stopped_ends_with_the_same_results(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: dict[str, Any],
) -> None:
    """Once the checkpoint of the signal was judged as if it were a milestone."""
    stop_after(monkeypatch, [1, 3])

    def work() -> None:
        reproduction(tmp_path, ("epl2rl",), experiment=JUDGED, resume=True)

    assert until_finished(work) == 2
    found = bits(tmp_path)
    judged = found["results.json"]["agents"]["epl2rl"]["milestones"]
    assert [each["epoch"] for each in judged] == [2, 4]
    assert different(found, undisturbed) == []


def test_no_checkpoint_takes_the_place_of_a_milestone(tmp_path: Path, out: Path) -> None:
    run = start_run(JUDGED, "epl2rl", TINY, tmp_path / "x", resume=False)
    state = train("epl2rl", TINY, run, SILENT, 3).state
    run.milestones()[2].unlink()
    assert [*run.checkpoints()] == [3, 4]
    verdict = Evaluator(JUDGED, "epl2rl", TINY).evaluate_run(run, state)
    assert [each["epoch"] for each in verdict["milestones"]] == [4]


def test_weights_that_were_altered_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "alone")
    evaluator = Evaluator(JUDGED, "epl2rl", TINY)
    run.save_weights(evaluator.load(trained_run(tmp_path / "x")).params, EPOCHS, np.float16)
    content = bytearray(run.weights_path.read_bytes())
    content[len(content) * 3 // 4] ^= 1
    run.weights_path.write_bytes(content)
    with pytest.raises(UserError, match=rf"^{run.weights_path} is damaged: its checksum"):
        evaluator.load(run)


# Places


ELSEWHERE = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from reinstate.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_cores_and_devices_do_not_matter_where_seeds_are_divided_alike(tmp_path: Path) -> None:
    """Four devices on one core instead of two on all of them; two seeds have one each."""
    own = {**ENVIRONMENT, "JAX_ENABLE_COMPILATION_CACHE": "false", "JAX_NUM_CPU_DEVICES": "4"}
    line = f"train barcode-bandits --agent epl2rl {OPTIONS} --checkpoint-every 2 --out run"
    words = [sys.executable, "-c", ELSEWHERE, *line.split()]
    done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here = trained_run(tmp_path / "here")
    assert read_json(tmp_path / "run/config.json")["device"] == "cpu × 4"
    assert different(bits(tmp_path / "run"), bits(here.path)) == ["config.json"]


def test_divided_otherwise_they_are_equal_but_for_rounding() -> None:
    """XLA compiles another program for another number of seeds in it."""
    seeds = 3  # two devices have two places each; one has three
    settings = replace(TINY, seeds=seeds)
    learner, found = settings.make_learner("epl2rl"), []
    for devices in (jax.local_devices(), jax.local_devices()[:1]):
        state = over_seeds(learner.init, seeds, devices)(np.array(settings.seed_range))
        state, _ = over_seeds(learner.train_epoch, seeds, devices)(state)
        found.append(jax.tree.leaves(state.params))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
