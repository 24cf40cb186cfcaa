"""Runs as the first version left them."""

from reinstate.files import read_arrays, write_arrays, write_json
from reinstate.runs.checkpoints import METRICS, OLD_CHECKPOINT
from reinstate.runs.run import Run


def made_old(run: Run) -> Run:
    """Turn a run into one of the first format: no checksums, and metrics in their file alone."""
    saved = run.read_saved()
    for name in ("format", "device"):
        del saved[name]
    write_json(run.path / "config.json", saved)
    for epoch, path in run.checkpoints().items():
        arrays, _ = read_arrays(path, "")
        del arrays[METRICS]
        write_arrays(path, arrays, {OLD_CHECKPOINT: str(epoch)})
    return run
