"""Strict flags, set before anything touches JAX; and the command, for all its tests."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jaxlib
import pytest
from hypothesis import settings

from reinstate import devices

if TYPE_CHECKING:
    from spoken import Command

# A silent broadcast between ranks is the commonest way for a batch axis to go missing.
jax.config.update("jax_numpy_rank_promotion", "raise")
# Two devices, so that code which shards lanes is tested on any machine.
jax.config.update("jax_num_cpu_devices", 2)
# Compiling is most of what tests cost. Half of that goes into speed that they do not need, and the
# rest is kept for the next test, the next run, and the commands that tests start.
COMPILING = {
    "jax_disable_most_optimizations": True,
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".jax-cache"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_traceback_in_locations_limit": 0,  # where each operation came from: nobody looks
}
for name, value in COMPILING.items():
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)
# XLA's older emitters compile in half the time what runs more slowly. A jaxlib that does not know a
# flag ends the process: these are the ones of constraints.txt, which do.
if jaxlib.__version__ in ("0.10.2", "0.11.2"):
    FLAGS = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()
# One process may read what another is still writing, or was killed while writing: it then compiles.
os.environ["PYTHONWARNINGS"] = "ignore:Error reading persistent compilation cache"

# Compile times make deadlines meaningless; the same examples every time keep failures repeatable.
settings.register_profile("reinstate", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("reinstate")

# A shell ignores SIGINT for what it starts in the background; tests of Ctrl-C need it noticed.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Thousands of small files are written, and flushed: in memory, where there is enough of it, that
# costs nothing.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2e9:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# What one worker has trained, others need not train again: tiny.py keeps it here.
if "REINSTATE_TESTS" not in os.environ:
    FOLDER = tempfile.TemporaryDirectory(prefix="reinstate-tests-")
    os.environ["REINSTATE_TESTS"] = FOLDER.name  # workers and commands inherit it

# Files, and beginnings of the names of tests, that `make test-fast` goes without.
FIRST = (
    *("test_learning.py", "test_reproduce.py", "test_docs.py", "test_ranks.py", "test_faults.py"),
    *("test_recall.py", "test_matrix.py", "test_against_rivals.py", "test_devices.py"),
    *("test_doors.py", "test_real.py"),
)
SLOW = tuple((Path(__file__).parent / "slow.txt").read_text().split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The file that takes longest starts first, then the one that makes what others share, so that
    # none of them waits for it, and others that take long: no worker is left alone with one of
    # them at the end.
    items.sort(key=lambda item: [name not in item.nodeid for name in FIRST])
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    # Tracing makes so many objects that looking for unreachable ones among them and all modules
    # takes a sixth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session", autouse=True)
def traced_once() -> Iterator[None]:
    """Tests share what they train and judge with."""
    import once
    import reinstate.rivals  # noqa: F401  registers agents, which no test is then to forget

    with pytest.MonkeyPatch.context() as patch:
        once.install(patch)
        yield


@pytest.fixture
def command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> "Command":
    """`main` in this process and an empty folder."""
    monkeypatch.setattr(devices, "divide_cpu", lambda *_: None)  # JAX runs already
    from spoken import in_this_process

    return in_this_process(capfd, monkeypatch, tmp_path)
