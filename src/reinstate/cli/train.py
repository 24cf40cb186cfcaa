"""The verb `train`: one agent, several seeds at once, into a run folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reinstate import devices
from reinstate.cli.parsing import peek
from reinstate.cli.shared import S, Training
from reinstate.cli.tables import say, say_next
from reinstate.experiments.base import Experiment
from reinstate.files import locked
from reinstate.runs import size
from reinstate.runs.progress import Reporter
from reinstate.runs.run import start_run
from reinstate.runs.training import train


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

    def do(self, command: str) -> Any:
        devices.divide_cpu()
        size.require_room(self.settings, self.agent)
        with locked(self.out):
            run = start_run(self.experiment, self.agent, self.settings, self.out, self.resume)
            trained = train(self.agent, self.settings, run, Reporter(), **self.how)
        return {"run": str(self.out), "last": trained.metrics[-1]}

    def show(self, result: Any) -> None:
        reward = f"{np.mean(result['last']['reward']):{self.experiment.number}}"
        say(f"{reward} reward per episode in the last epoch")
        say_next(["reinstate", "evaluate", self.out], "judge it with frozen weights")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        first = "epl2rl" if "epl2rl" in experiment.agents else experiment.agents[0]
        agent = peek(arguments, "--agent", first)
        return {"agent": agent, "out": Path("runs") / f"{experiment.name}-{agent}"}
