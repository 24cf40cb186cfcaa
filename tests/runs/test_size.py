"""What settings need is known before anything is compiled; what cannot fit is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import reinstate
from reinstate.errors import UserError, out_of_memory
from reinstate.memory import DND
from reinstate.runs import size
from reinstate.runs.experiment import experiment_names, find_experiment
from reinstate.runs.size import memory_there_is, require_room
from reinstate.settings import Settings
from spoken import Command, assert_refused
from tiny import TINY

LAPTOP = 8_000_000_000  # bytes


@pytest.fixture(autouse=True)
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every machine have the memory of a small one."""
    monkeypatch.setattr(size, "memory_there_is", lambda: LAPTOP)


def changed(part: str, **changes: Any) -> Settings:
    return replace(TINY, **{part: replace(getattr(TINY, part), **changes)})


@pytest.mark.parametrize(
    ("settings", "how", "to_lower"),
    [
        (changed("network", hidden_size=100_000), {}, "network.hidden-size"),
        (changed("learner", lanes=10**8), {}, "learner.lanes"),
        (replace(TINY, first_seed=10**7, seeds=10**7), {}, "seeds"),
        (changed("task", repeats=10**8), {}, "the task's size"),
        (TINY, {"candidates": 10**7}, "--trials"),
        (changed("evaluation", epochs=10**8), {"evaluated": True}, "evaluation.epochs"),
    ],
)
def test_what_cannot_fit_says_what_to_lower(
    settings: Settings, how: dict[str, Any], to_lower: str
) -> None:
    with pytest.raises(UserError, match=r"this needs about .* of memory, and there are 8 GB"):
        require_room(settings, "epl2rl", **how)
    with pytest.raises(UserError, match=to_lower):
        require_room(settings, "epl2rl", **how)


def test_a_memory_that_the_agent_cannot_read_is_refused_at_once() -> None:
    class Found(NamedTuple):
        value: Any
        distances: Any
        written: Any

    class Bare(DND):
        def read(self, contents: Any, query: Any) -> Any:
            found, contents = super().read(contents, query)
            return Found(found.value, found.distances, found.written), contents

    settings = replace(TINY, memory=Bare(capacity=6))
    require_room(settings, "epl2rl")
    with pytest.raises(UserError, match=r"cannot read the memory Bare .*'kernel'.* memory-kind"):
        require_room(settings, "epl2rl-recognition")


@pytest.mark.parametrize("name", experiment_names())
def test_the_largest_presets_fit_a_laptop(name: str) -> None:
    """They were recorded on an accelerator with twenty times as much."""
    experiment = find_experiment(name)
    for settings in experiment.presets.values():
        require_room(settings, experiment.agents[0], evaluated=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train barcode-bandits --learner.lanes 2147483647", "--trials, learner.lanes"),
        ("train barcode-bandits --learner.epochs 9223372036854775808", "epochs must be at most"),
        ("train barcode-bandits --first-seed 2147483647", "the last seed must lie between"),
        ("reproduce two-step --set evaluation.epochs=2147483647", "evaluation.epochs"),
        ("reproduce all --seeds 900000", "barcode-bandits: this needs about "),
        ("evaluate barcode-bandits/epl2rl --epochs 2000000000", "evaluation.epochs"),
    ],
)
def test_what_cannot_fit_leaves_nothing_behind(
    command: Command, tmp_path: Path, line: str, message: str
) -> None:
    assert_refused(command(line), message)
    assert list(tmp_path.iterdir()) == []


def test_watching_is_sized_as_well(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "memory_there_is", lambda: size.PROGRAM + 1)
    assert_refused(command("watch barcode-bandits"), "of memory, ")


def test_a_notebook_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"learner\.lanes"):
        reinstate.train(TINY.task, lanes=10**9, out=tmp_path / "x", quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_a_container_may_take_less_than_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "CONTAINER", tmp_path / "memory.max")
    whole = memory_there_is()
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_there_is() == whole
    (tmp_path / "memory.max").write_text("123456789\n")
    assert memory_there_is() == 123456789


class JaxRuntimeError(RuntimeError):
    """Stands in for JAX's, which goes by its name."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 7.28 TiB for an array with shape (1000000000000,)"),
        JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 4000000000000 bytes."),
        JaxRuntimeError("INTERNAL: CUDA_ERROR_OUT_OF_MEMORY:\nout of memory"),
    ],
)
def test_running_out_of_memory_says_in_one_line_what_to_lower(error: Exception) -> None:
    message = out_of_memory(error)
    assert message is not None and "--learner.lanes" in message
    assert "\n" not in message and len(message) < 400


@pytest.mark.parametrize(
    "error", [JaxRuntimeError("INVALID_ARGUMENT: shapes"), ValueError("RESOURCE_EXHAUSTED")]
)
def test_other_errors_are_not_taken_for_memory(error: Exception) -> None:
    assert out_of_memory(error) is None
