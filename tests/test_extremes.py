"""Settings and sizes that cannot work: refused in one line, before anything is written.

Rows come from `python -m torture.settings`; each was seen to fail.
"""

import pytest

from reinstate.errors import out_of_memory


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
