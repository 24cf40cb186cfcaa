from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from omniglot.tiny_archives import SPLITS, drawing_files, expect, pack, run_files
from reinstate_paper.omniglot.images import VARIABLE

TRAINING = ("test_pretraining", "test_cli_pretrain", "test_shipped")


@pytest.fixture(scope="module", autouse=True)
def optimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Training is slow without, and XLA for CPUs then finds gradients that are not finite."""
    trains = request.module.__name__.endswith(TRAINING)
    jax.config.update("jax_disable_most_optimizations", not trains)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, and nothing of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def place(surroundings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tiny archives."""
    folder = tmp_path / "omniglot"
    for seed, split in enumerate(SPLITS):
        files = drawing_files(1000 * seed)
        expect(monkeypatch, split, files)
        pack(folder / f"images_{split}.zip", files, f"images_{split}/")
    expect(monkeypatch, "one-shot runs", run_files())
    pack(folder / "all_runs.zip", run_files())
    return folder
