"""The verb `train`: one agent, several seeds at once, into a run folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from reinstate import devices
from reinstate.cli.parsing import Flag, peek
from reinstate.cli.shared import S, Training, shown
from reinstate.cli.tables import say, say_next
from reinstate.errors import UserError, require_positive, require_within
from reinstate.files import locked
from reinstate.runs import size
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.ranks import Address, joined
from reinstate.runs.run import start_run
from reinstate.runs.training import Trained, train
from reinstate.settings import to_dict


@dataclass(frozen=True, kw_only=True)
class Train(Training[S]):
    """Train one agent in an experiment, several seeds at once, into a run folder.

      reinstate train barcode-bandits
      reinstate train barcode-bandits --agent l2rl --seeds 2 --out runs/l2rl
      reinstate train barcode-bandits --preset paper --task.num-arms 5
      reinstate train barcode-bandits --resume

    The folder gets the settings, one line of metrics per epoch, and checkpoints. Every setting is
    an option, with a default from the experiment's preset: `reinstate train EXPERIMENT --help`
    explains them all.
    """

    agent: str
    """Which agent; `reinstate list` describes them."""
    distributed: Flag = False
    """Be one of several processes that train together, found by Slurm, Open MPI or Kubernetes, or
    at --coordinator. Process 0 alone writes files. A signal to any of them stops all. One that dies
    or hangs ends all: after 30 s without a sign of life, or 5 minutes without work."""
    coordinator: Annotated[str | None, shown("HOST:PORT", "found")] = None
    """Where process 0 is; it must be there, and all others, within 60 s."""
    num_processes: Annotated[int | None, shown("INT", "found")] = None
    """How many processes there are."""
    process_id: Annotated[int | None, shown("INT", "found")] = None
    """Which of them this is, from 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_address(self.distributed, self._address)

    @property
    def _address(self) -> Address:
        return Address(self.coordinator, self.num_processes, self.process_id)

    def do(self, command: str) -> Any:
        self.start(self.devices)
        with joined(self._address if self.distributed else None, self._about) as ranks:
            size.require_room(self.settings, self.agent, spread=self.spread)
            how = {**self.how, "ranks": ranks}
            if not ranks.first:
                train(self.agent, self.settings, None, Reporter(quiet=True), **how)
            else:
                trained = self._train(how)
        if not ranks.first:
            raise SystemExit(0)  # process 0 says the rest
        return {"run": str(self.out), "last": trained.metrics[-1]}

    def _train(self, how: dict[str, Any]) -> Trained:
        with locked(self.out):
            what = (self.experiment, self.agent, self.settings, self.out, self.resume)
            return train(
                self.agent, self.settings, start_run(*what, self.spread), Reporter(), **how
            )

    def _about(self) -> dict[str, Any]:
        """Tell what must be the same in all processes."""
        return {
            **provenance(),
            "experiment": self.name,
            "agent": self.agent,
            "settings": to_dict(self.settings),
            "devices": f"{devices.describe()}, --devices {self.devices}",
            "shard": self.shard,
        }

    def show(self, result: Any) -> None:
        reward = f"{np.mean(result['last']['reward']):{self.experiment.number}}"
        say(f"{reward} reward per episode in the last epoch")
        say_next(["reinstate", "evaluate", self.out], "judge it with frozen weights")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        first = "epl2rl" if "epl2rl" in experiment.agents else experiment.agents[0]
        agent = peek(arguments, "--agent", first)
        return {"agent": agent, "out": Path("runs") / f"{experiment.name}-{agent}"}


def _require_address(distributed: bool, address: Address) -> None:
    """Refuse an address that is incomplete, or that nobody asked for."""
    names = [f"--{name.replace('_', '-')}" for name in vars(address)]
    given = [value is not None for value in vars(address).values()]
    if any(given) and not distributed:
        raise UserError(f"{names[given.index(True)]} needs --distributed")
    if any(given) and not all(given):
        raise UserError(f"{', '.join(names[:-1])} and {names[-1]} go together: give all, or none")
    if not all(given):
        return
    host, _, port = str(address.coordinator).rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UserError(f"--coordinator must be HOST:PORT, not {address.coordinator!r}")
    require_positive(num_processes=address.num_processes or 0)
    require_within(0, (address.num_processes or 1) - 1, process_id=address.process_id or 0)
