"""Results as versions before the three verdicts left them."""

import copy
import json
from pathlib import Path
from typing import Any

from reinstate.files import read_arrays, write_arrays, write_json
from reinstate.runs.checkpoints import METRICS, OLD_CHECKPOINT
from reinstate.runs.run import Run

CONCLUDED = (
    "mean",
    "ci95",
    "share_of_ceiling",
    "p_holm",
    "verdict",
)  # not measured, but made of it
LATER = ("error", "remembers", "reward_by_epoch", "stored")  # was not recorded then


def aged(results: Any) -> Any:
    """Make older results of today's: claims that hold or not, bootstraps, optima by other names."""
    old = copy.deepcopy(results)
    for name in ("alarms", "rejudged"):
        old.pop(name, None)
    old["checks"] = [_held(check) for check in results["checks"]]
    old["optimum"] = {n: v for n, v in results["optimum"].items() if n != "with_memory"}
    old["reference_lines"] = {"a line of theirs": 1.0}
    old["settings"]["network"]["compress"] = 0  # a setting that is gone
    for part in ("agents", "baselines"):
        old[part] = _bootstrapped(results[part])
    return old


def _held(check: Any) -> Any:
    kept = {n: check[n] for n in ("claim", "value", "section", "paper", "tried")}
    return {**kept, "bound": "> 1", "holds": True, "ci95": [0.0, 1.0], "share": 0.5}


def _bootstrapped(value: Any) -> Any:
    if isinstance(value, list):
        return [_bootstrapped(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {n: _bootstrapped(each) for n, each in spoilt(value).items() if n not in LATER}
    return found | {"iqm": -9.0} if "per_seed" in found and "t" not in found else found


def spoilt(value: Any) -> Any:
    """Replace every conclusion by nonsense."""
    if isinstance(value, dict):
        return {k: -9.0 if k in CONCLUDED else spoilt(v) for k, v in value.items()}
    return [spoilt(v) for v in value] if isinstance(value, list) else value


def aged_file(path: Path, results: Any) -> Path:
    """Write older results, as `reproduce` did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(aged(results)))
    return path


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
