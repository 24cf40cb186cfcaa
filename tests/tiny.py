"""The smallest experiment there is, with a trained run and a reproduction of it that tests share.

Compiling is most of what such a test costs, and the settings are always these, so that one
compilation, kept on disk, serves all tests and the commands they start.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinstate.agent import Network
from reinstate.evaluation import Evaluation
from reinstate.memory import DND
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.reproduce import reproduce
from reinstate.runs.run import Run, start_run
from reinstate.runs.training import train
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import BARCODE_BANDITS, QUICK

try:
    import fcntl
except ImportError:  # Windows, where tests run in one process and need no lock
    fcntl = None  # type: ignore[assignment]

ENVIRONMENT = dict(os.environ)  # with what conftest.py says of compiling

TINY: Settings[BarcodeBandits, DND] = replace(
    QUICK,
    task=BarcodeBandits(num_arms=3, pulls=3, num_contexts=3, repeats=2, barcode_length=4),
    seeds=2,
    network=Network(hidden_size=4),
    memory=DND(capacity=6),
    learner=replace(QUICK.learner, lanes=4, epochs=4),
    evaluation=Evaluation(epochs=3),
)

# The same as options of the command.
OPTIONS = (
    "--task.num-arms 3 --task.pulls 3 --task.num-contexts 3 --task.repeats 2"
    " --task.barcode-length 4 --seeds 2 --set network.hidden-size=4 memory.capacity=6"
    " --learner.lanes 4 --learner.epochs 4 --set evaluation.epochs=3"
)

SILENT = Reporter(quiet=True)
AGENTS = ("epl2rl", "l2rl")  # of a reproduction


def new_run(path: Path, agent: str = "epl2rl", settings: Settings = TINY) -> Run:
    return start_run(BARCODE_BANDITS, agent, settings, path, resume=False)


def _made_once(name: str, make: Callable[[Path], Any]) -> Path:
    """Return a folder of this name, which the first worker that asks for it makes."""
    shared = Path(os.environ["REINSTATE_TESTS"])  # by conftest.py, the same for all workers
    path, part = shared / name, shared / f"{name}.part"
    with open(shared / f"{name}.lock", "w") as lock:
        if fcntl:
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(part)
            part.rename(path)
    return path


def _train(path: Path) -> None:
    train("epl2rl", TINY, new_run(path), SILENT, checkpoint_every=2)


def trained_run(path: Path) -> Run:
    """A copy of a trained run, with checkpoints after epochs 2 and 4."""
    return Run(Path(shutil.copytree(_made_once("run", _train), path)))


def reproduction(
    out: Path,
    agents: Sequence[str] = AGENTS,
    settings: Settings = TINY,
    resume: bool = False,
    experiment: Experiment = BARCODE_BANDITS,
) -> Any:
    """Reproduce an experiment; return what results.json holds."""
    command = f"reinstate reproduce {experiment.name}"
    what = (experiment, "quick", agents, settings, out, SILENT)
    return reproduce(*what, command=command, resume=resume)


def reproduced(path: Path) -> Path:
    """A copy of a finished reproduction."""
    return Path(shutil.copytree(_made_once("reproduction", reproduction), path))


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file under a folder: to see that nothing was overwritten or lost."""
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def interrupt(number: int) -> None:
    """Send this process a signal, and wait until its handler has run.

    JAX has threads: a signal may be taken by one of them and handled by Python a moment later.
    """
    if os.name == "nt":
        pytest.skip("on Windows, a process that sends itself a signal ends")
    during = signal.getsignal(number)
    os.kill(os.getpid(), number)
    while signal.getsignal(number) is during:
        time.sleep(0.001)
