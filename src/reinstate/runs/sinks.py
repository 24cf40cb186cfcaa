"""Where metrics go besides a run's metrics.jsonl: TensorBoard, Weights & Biases, or a third one.

A sink gets one row of numbers per epoch. It only shows them: a run is resumed from metrics.jsonl,
which is always written. So a sink that cannot be opened is an error before training starts, but one
that fails later is closed with a warning, and training continues.

Third parties register a sink as `reinstate.register("sink", NAME, SINK)`, where SINK is called as
the classes here are.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from reinstate.errors import UserError, one_line
from reinstate.registry import Registry
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run


class Sink(Protocol):
    """Shows the metrics of one run. Called once per run, and again when the run is resumed."""

    def __init__(self, folder: Path, label: str, config: Mapping[str, Any], done: int) -> None:
        """Open the sink of the run in `folder`, of which the first `done` epochs are kept."""

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        """Add an epoch; names are such as reward/mean, reward/seed-0 and steps_per_second."""

    def close(self) -> None: ...


class TensorBoard:
    """Event files in RUN/tensorboard; the horizontal axis is the epoch."""

    package = "tensorboardX"

    def __init__(self, folder: Path, label: str, config: Mapping[str, Any], done: int) -> None:
        from tensorboardX import SummaryWriter

        self.writer = SummaryWriter(
            str(folder / "tensorboard"),
            purge_step=done + 1,  # what an earlier call wrote after its checkpoint is forgotten
            filename_suffix=f".from-epoch-{done + 1}",  # two calls in one second share no file
            flush_secs=10,
        )

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, epoch)

    def close(self) -> None:
        self.writer.close()


class WandB:
    """A run of Weights & Biases, with the id that RUN/config.json has.

    Rows carry their epoch as step: W&B ignores epochs that it has already.
    """

    package = "wandb"

    def __init__(self, folder: Path, label: str, config: Mapping[str, Any], done: int) -> None:
        import wandb

        self.run = wandb.init(
            project="reinstate",
            id=Run(folder).read_saved()["id"],
            name=label,
            dir=str(folder),
            config=dict(config),
            resume="allow",
            settings=wandb.Settings(console="off"),  # standard output is for results
        )

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=epoch)

    def close(self) -> None:
        self.run.finish()


SINKS: Registry[type[Sink]] = Registry("sink", {"tensorboard": TensorBoard, "wandb": WandB})


def require_sinks(names: Sequence[str]) -> None:
    """Refuse an unknown sink, or one whose package is not installed."""
    for name in names:
        package = getattr(SINKS.find(name), "package", None)
        if package and find_spec(package) is None:
            raise UserError(
                f'--track {name} needs {package}: pip install "reinstate[{name}]", or leave it out'
            )


class Sinks:
    """The sinks of a run; one that fails after it was opened is dropped with a warning."""

    def __init__(
        self, names: Sequence[str], run: Run, label: str, done: int, reporter: Reporter
    ) -> None:
        self.opened: dict[str, Sink] = {}
        self.reporter = reporter
        for name in dict.fromkeys(names):
            try:
                self.opened[name] = SINKS[name](run.path, label, run.read_config(), done)
            except Exception as error:  # whatever a service raises: no network, not logged in
                self.close()
                words = f"cannot open {name} ({one_line(error)}): leave --track out"
                raise UserError(words) from error

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        self._each(lambda sink: sink.write(epoch, values))

    def close(self) -> None:
        self._each(lambda sink: sink.close())

    def _each(self, do: Callable[[Sink], None]) -> None:
        for name, sink in list(self.opened.items()):
            try:
                do(sink)
            except Exception as error:
                del self.opened[name]
                self.reporter.note(
                    f"{name} failed ({one_line(error)}): training continues without it;"
                    " metrics.jsonl has every epoch"
                )


def flat(row: Mapping[str, Any], seeds: Sequence[int]) -> dict[str, float]:
    """Name the numbers of a row one by one: what it has per seed, by seed and as their mean."""
    values: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, list):
            values[f"{name}/mean"] = sum(value) / len(value)
            values |= {f"{name}/seed-{s}": v for s, v in zip(seeds, value, strict=True)}
        elif name != "epoch":
            values[name] = value
    if "steps" in row:
        values["steps_per_second"] = row["steps"] / row["epoch"] / row["seconds"]
    return values
