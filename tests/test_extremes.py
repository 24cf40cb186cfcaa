"""Settings and sizes that cannot work: refused in one line, before anything is written."""

from pathlib import Path

import pytest

from reinstate.errors import out_of_memory
from spoken import Command, assert_refused


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train compositional-bandits --task.scale=-1", "scale must be"),
        ("train barcode-bandits --task.pulls 2147483648", "pulls must be at most 2147483647"),
        ("train barcode-bandits --learner.epochs 9223372036854775808", "epochs must be at most"),
        ("train barcode-bandits --first-seed 2147483647", "the last seed must lie between"),
        ("train barcode-bandits --learner.lanes 2147483647", "of memory, and there are"),
        (
            "reproduce barcode-bandits --set evaluation.epochs=2147483647",
            "evaluation.epochs",
        ),
        ("pretrain omniglot --memory.slots 2147483647", "or --memory.slots"),
    ],
)
def test_an_extreme_setting_is_refused_and_leaves_nothing(
    command: Command, tmp_path: Path, line: str, message: str
) -> None:
    assert_refused(command(line), message)
    assert list(tmp_path.iterdir()) == []
