"""A run on disk: config, metrics, checkpoints, evaluation.

RUN/config.json                        what was asked for, by which version, on what devices
RUN/metrics.jsonl                      one line per epoch
RUN/checkpoints/epoch-00010.safetensors  all that training carries, exactly; the newest two
RUN/milestones/epoch-00010.safetensors   the weights at epochs that the experiment evaluates too
RUN/weights.safetensors                the trained weights alone, where checkpoints were left out
RUN/evaluation.json                    frozen weights, evaluated
RUN/README.md                          a card of all this, for people and for model hubs
"""

import io
import json
import math
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reinstate import devices
from reinstate.errors import UserError
from reinstate.evaluation import Record
from reinstate.files import (
    append_line,
    flush,
    read_json,
    read_lines,
    require_empty,
    write_atomically,
    write_document,
)
from reinstate.runs.checkpoints import Row, leaves, write_checkpoint, write_weights
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.provenance import provenance, today
from reinstate.settings import Settings, completed, differences, recorded_settings, to_dict

FORMAT = 2  # of the folder
# Weights that come with the package, one seed per experiment and agent of the paper: folders like
# those of runs, without optimiser state and in half precision. card.json says what each earns.
SHIPPED = Path(__file__).with_name("weights")


class Run:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_new = False  # whether this call has created it

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

    def create(
        self,
        config: dict[str, Any],
        resume: bool,
        device: str | None = None,
        complete: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> None:
        """Start here, or make sure that what is here is the same run.

        `complete` adds to a recorded config what came later.
        """
        if not self.exists:
            require_empty(self.path, "it holds no run; choose another --out")
            made = {"date": today(), "device": device or devices.describe(), **provenance()}
            made["id"] = uuid.uuid4().hex[:12]  # by which services know the run
            write_document(self.path / "config.json", {"format": FORMAT, "config": config, **made})
            self.is_new = True
        elif not resume:
            raise UserError(
                f"{self.path} already holds a run: add --resume to continue it,"
                " or choose another --out"
            )
        else:
            require_same(self.path, complete(self.read_config()), config)

    def read_saved(self) -> dict[str, Any]:
        """Read all of config.json: what was asked for, and where the run was begun."""
        if not self.exists:
            raise UserError(f"{self.path} holds no run: it has no config.json")
        path = self.path / "config.json"
        saved = read_json(path)
        if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict):
            raise UserError(f"{path} is not the config of a run")
        if saved.get("format") != FORMAT:
            raise UserError(
                f"{self.path} holds a run of format {saved.get('format')}, and this version knows"
                f" {FORMAT}: install the version that made it"
            )
        return saved

    def read_config(self) -> dict[str, Any]:
        """Read what was asked for."""
        config: dict[str, Any] = self.read_saved()["config"]
        return config

    def append_metrics(self, row: Row) -> None:
        append_line(self.metrics_path, row)

    def read_metrics(self, up_to: float = math.inf) -> list[Row]:
        """Read the rows of epochs up to one; what is no row, such as half of one, is left out."""
        if not self.metrics_path.exists():
            return []
        found = [row for row in read_lines(self.metrics_path) if isinstance(row, dict)]
        return [row for row in found if type(n := row.get("epoch")) is int and n <= up_to]

    def write_metrics(self, rows: Sequence[Row]) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically(self.metrics_path, lines.encode())

    def save_checkpoint(self, state: Any, epoch: int) -> Path:
        """Save all that training carries after an epoch; the metrics that led there are safe."""
        if self.metrics_path.exists():
            flush(self.metrics_path)
        path = self.path / "checkpoints" / _name(epoch)
        write_checkpoint(path, state, epoch)
        return path

    def checkpoints(self) -> dict[int, Path]:
        """Epoch → file, in order."""
        return _epochs(self.path / "checkpoints")

    @property
    def last_epoch(self) -> int:
        """The epoch of the last checkpoint; 0 without one."""
        return max(self.checkpoints(), default=0)

    def last_checkpoint(self) -> Path | None:
        return next(reversed(self.checkpoints().values()), None)

    def prune(self, epoch: int, keep: int) -> None:
        """Delete checkpoints but the last `keep` up to an epoch; later ones are damaged."""
        found = self.checkpoints()
        kept = [each for each in found if each <= epoch][-keep:]
        for each, path in found.items():
            if each not in kept:
                path.unlink(missing_ok=True)

    def save_milestone(self, params: Any, epoch: int) -> None:
        """Save the weights after an epoch that is evaluated as well."""
        write_weights(self.path / "milestones" / _name(epoch), params, epoch)

    def milestones(self) -> dict[int, Path]:
        """Epoch → file with the weights then, in order."""
        return _epochs(self.path / "milestones")

    @property
    def weights_path(self) -> Path:
        return self.path / "weights.safetensors"

    def save_weights(self, params: Any, epoch: int, dtype: Any = None) -> None:
        """Write weights alone, in a shorter dtype if one is given: to evaluate, not to continue."""
        write_weights(self.weights_path, params, epoch, dtype)


@contextmanager
def nothing_left(*runs: Run) -> Iterator[None]:
    """Where work is refused, remove the runs that this call created and that hold no epoch."""
    try:
        yield
    except UserError:
        for run in runs:
            if run.is_new and not (run.checkpoints() or run.metrics_path.exists()):
                shutil.rmtree(run.path, ignore_errors=True)
        raise


def _name(epoch: int) -> str:
    return f"epoch-{epoch:05d}.safetensors"


def _epochs(folder: Path) -> dict[int, Path]:
    names = {path: path.stem.removeprefix("epoch-") for path in folder.glob("epoch-*.safetensors")}
    epochs = {int(n): path for path, n in names.items() if n.isdecimal() and len(n) < 10}
    return {n: epochs[n] for n in sorted(epochs)}


class Opened(NamedTuple):
    """What a run is of, by its config."""

    experiment: Experiment
    agent: str
    settings: Settings


def start_run(
    experiment: Experiment,
    agent: str,
    settings: Settings,
    out: Path,
    resume: bool,
    spread: devices.Spread = devices.SPREAD,
    **origin: Any,
) -> Run:
    """Create the run of one agent on disk, or make sure that it can be continued.

    `origin` says where it began, if not with fresh weights.
    """
    settings.make_learner(agent)  # refuses what cannot work before anything is written
    device = spread.describe(settings.seeds, settings.learner.lanes)
    run = Run(out)
    config = config_of(experiment, agent, settings) | origin
    run.create(config, resume, device, partial(_known, experiment))
    return run


def config_of(experiment: Experiment, agent: str, settings: Settings) -> dict[str, Any]:
    """Return what config.json holds: enough to make the run again, as its agent changes it."""
    own = to_dict(settings.for_agent(agent))
    return {"experiment": experiment.name, "agent": agent, "settings": own}


def require_same_run(experiment: Experiment, run: Run, config: dict[str, Any]) -> None:
    """Refuse to continue a run with another config."""
    require_same(run.path, _known(experiment, run.read_config()), config)


def _known(experiment: Experiment, config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "settings": completed(experiment.world, config.get("settings"))}


def open_run(path: Path) -> Opened:
    """Read the experiment, agent and settings of a run from its config."""
    config = Run(path).read_config()
    experiment = find_experiment(str(config.get("experiment")))
    settings = recorded_settings(experiment.world, config.get("settings"))
    return Opened(experiment, str(config.get("agent")), settings)


def write_record(path: Path, record: Record) -> None:
    """Write every step of an evaluation as a plain .npz; nested names are joined by dots."""
    parts = record._asdict()
    parts["gates"], parts["outcome_gates"] = parts.pop("report"), parts.pop("outcome")
    arrays = {re.sub(r"\W+", ".", name).strip("."): leaf for name, leaf in leaves(parts).items()}
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


def shipped_names() -> list[str]:
    """Name what is shipped, as EXPERIMENT/AGENT."""
    return [*read_card()["weights"]]


def read_card() -> dict[str, Any]:
    """Read how the shipped weights were trained, and what they earn."""
    card: dict[str, Any] = read_json(SHIPPED / "card.json")
    return card


def find_run(path: str | Path) -> Run:
    """Find the run in a folder or, where there is no such folder, the shipped one of that name."""
    name = Path(path).as_posix()
    if Path(path).exists():
        return Run(Path(path))
    return Run(SHIPPED / name if name in shipped_names() else Path(path))


def is_shipped(run: Run) -> bool:
    """Tell whether a run is the package's own, where nothing is to be written."""
    return SHIPPED in run.path.parents
