"""A run on disk: config, metrics, checkpoints, evaluation.

RUN/config.json                        what was asked for, and by which version
RUN/metrics.jsonl                      one line per epoch
RUN/checkpoints/epoch-00010.safetensors  all that training carries, exactly
RUN/weights.safetensors                the trained weights alone, where checkpoints were left out
RUN/evaluation.json                    frozen weights, judged
"""

import io
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from reinstate.errors import UserError
from reinstate.evaluation import Record
from reinstate.experiments import find_experiment
from reinstate.experiments.base import Experiment
from reinstate.files import (
    append_line,
    read_arrays,
    read_json,
    require_empty,
    write_arrays,
    write_atomically,
    write_json,
)
from reinstate.runs.provenance import provenance
from reinstate.settings import Settings, completed, differences, recorded_settings, to_dict

FORMAT = "reinstate-checkpoint-1"
WEIGHTS = "reinstate-weights-1"


class Run:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether there is a run in this folder."""
        return (self.path / "config.json").exists()

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def evaluation_path(self) -> Path:
        return self.path / "evaluation.json"

    def create(self, config: dict[str, Any], resume: bool) -> None:
        """Start here, or make sure that what is here is the same run."""
        if not (self.path / "config.json").exists():
            require_empty(self.path, "it holds no run; choose another --out")
            write_json(self.path / "config.json", {"config": config, **provenance()})
        elif not resume:
            raise UserError(
                f"{self.path} already holds a run: add --resume to continue it,"
                " or choose another --out"
            )
        else:
            require_same(self.path, self.read_config(), config)

    def read_config(self) -> dict[str, Any]:
        if not (self.path / "config.json").exists():
            raise UserError(f"{self.path} holds no run: it has no config.json")
        saved = read_json(self.path / "config.json")
        if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict):
            raise UserError(f"{self.path / 'config.json'} is not the config of a run")
        return saved["config"]

    def append_metrics(self, row: dict[str, Any]) -> None:
        append_line(self.metrics_path, row)

    def read_metrics(self, up_to: float = math.inf) -> list[dict[str, Any]]:
        """The rows of epochs up to one; a last line cut short by a crash does not count."""
        rows: list[dict[str, Any]] = []
        if self.metrics_path.exists():
            for line in self.metrics_path.read_bytes().splitlines():
                try:
                    row = json.loads(line)
                    wanted = row["epoch"] <= up_to
                except (ValueError, TypeError, KeyError):
                    break
                if wanted:
                    rows.append(row)
        return rows

    def write_metrics(self, rows: list[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically(self.metrics_path, lines.encode())

    def save_checkpoint(self, state: Any, epoch: int) -> Path:
        path = self.path / "checkpoints" / f"epoch-{epoch:05d}.safetensors"
        arrays = {name: np.asarray(_raw(leaf)) for name, leaf in _leaves(state).items()}
        write_arrays(path, arrays, {FORMAT: str(epoch)})
        return path

    def checkpoints(self) -> dict[int, Path]:
        """Epoch → file, in order."""
        found = (self.path / "checkpoints").glob("epoch-*.safetensors")
        names = {path: path.stem.removeprefix("epoch-") for path in found}
        epochs = {int(name): path for path, name in names.items() if name.isdecimal()}
        return {n: epochs[n] for n in sorted(epochs)}

    def last_checkpoint(self) -> Path | None:
        return next(reversed(self.checkpoints().values()), None)

    @property
    def weights_path(self) -> Path:
        return self.path / "weights.safetensors"

    def save_weights(self, params: Any, epoch: int, dtype: Any = None) -> None:
        """Write weights alone, in a shorter dtype if one is given: to be judged, not continued."""
        arrays = {name: np.asarray(leaf, dtype) for name, leaf in _leaves(params).items()}
        write_arrays(self.weights_path, arrays, {WEIGHTS: str(epoch)})


class Opened(NamedTuple):
    """What a run is of, by its config."""

    experiment: Experiment
    agent: str
    settings: Settings


def start_run(
    experiment: Experiment, agent: str, settings: Settings, out: Path, resume: bool
) -> Run:
    """Create the run of one agent on disk, or make sure that it can be continued."""
    settings.make_learner(agent)  # refuses what cannot work before anything is written
    run, config = Run(out), config_of(experiment, agent, settings)
    if resume and run.exists:
        require_same_run(experiment, run, config)
    else:
        run.create(config, resume)
    return run


def config_of(experiment: Experiment, agent: str, settings: Settings) -> dict[str, Any]:
    """Return what config.json holds: enough to make the run again."""
    return {"experiment": experiment.name, "agent": agent, "settings": to_dict(settings)}


def require_same_run(experiment: Experiment, run: Run, config: dict[str, Any]) -> None:
    """Refuse to continue a run with another config."""
    saved = run.read_config()
    known = completed(experiment.world, saved.get("settings"))
    require_same(run.path, {**saved, "settings": known}, config)


def open_run(path: Path) -> Opened:
    """Read the experiment, agent and settings of a run from its config."""
    config = Run(path).read_config()
    experiment = find_experiment(str(config.get("experiment")))
    settings = recorded_settings(experiment.world, config.get("settings"))
    return Opened(experiment, str(config.get("agent")), settings)


def load_checkpoint(path: Path, template: Any) -> tuple[Any, int]:
    """Read a checkpoint's state and epoch, if it fits the template (arrays, or their shapes)."""
    if not path.is_file():
        raise UserError(f"{path} is no file: name a checkpoint of the run")
    advice = "it is cut short or no checkpoint; delete it to continue from the one before"
    arrays, metadata = read_arrays(path, advice)
    epoch = metadata.get(FORMAT, "")
    if not epoch.isdecimal():
        raise UserError(f"{path} is not a checkpoint of this program: choose or restore another")
    return _fill(path, arrays, template), int(epoch)


def load_weights(path: Path, template: Any) -> tuple[Any, int]:
    """Read weights alone and the epoch they are of, in the template's dtypes."""
    arrays, metadata = read_arrays(path, "it is cut short or no file of weights; restore it")
    epoch = metadata.get(WEIGHTS, "")
    if not epoch.isdecimal():
        raise UserError(f"{path} is not a file of weights of this program: restore it")
    wanted = _leaves(template)
    typed = {n: a.astype(wanted[n].dtype) if n in wanted else a for n, a in arrays.items()}
    return _fill(path, typed, template), int(epoch)


def _fill(path: Path, arrays: dict[str, np.ndarray], template: Any) -> Any:
    """Put arrays in the place of a template's leaves, which they must fit."""
    wanted = _leaves(template)
    for name in sorted(wanted.keys() | arrays.keys()):
        have = _kind(arrays[name]) if name in arrays else "nothing"
        want = _kind(jax.eval_shape(_raw, wanted[name])) if name in wanted else "nothing"
        if have != want:
            raise UserError(
                f"{path} is of another agent or other settings: {name} is {have}, expected {want}"
            )
    leaves = [_typed(arrays[name], leaf) for name, leaf in wanted.items()]
    return jax.tree.unflatten(jax.tree.structure(template), leaves)


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _leaves(tree: Any) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(tree)}


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _raw(leaf: Any) -> Any:
    """Random keys as the plain integers they are made of."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _typed(array: np.ndarray, leaf: Any) -> jax.Array:
    plain = jax.numpy.asarray(array)
    return jax.random.wrap_key_data(plain) if _is_key(leaf) else plain


def write_record(path: Path, record: Record) -> None:
    """Write every step of an evaluation as a plain .npz; nested names are joined by dots."""
    parts = record._asdict()
    parts["gates"], parts["outcome_gates"] = parts.pop("report"), parts.pop("outcome")
    arrays = {re.sub(r"\W+", ".", name).strip("."): leaf for name, leaf in _leaves(parts).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_atomically(path, buffer.getvalue())


def require_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Only the same work can be resumed."""
    changed = differences(old, new)
    if changed:
        raise UserError(
            f"cannot resume {path} with other settings ({'; '.join(changed)}):"
            " repeat the run's own, or choose another --out"
        )
