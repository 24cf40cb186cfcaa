"""The verb `watch`: episodes of a trained run, replayed."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from rich.console import Console
from tyro.conf import Positional

from reinstate import devices
from reinstate.cli.shared import NewFile, RunFolder
from reinstate.cli.tables import say, say_next
from reinstate.errors import UserError, require_positive
from reinstate.experiments.water_maze import WATER_MAZE
from reinstate.figures import replay
from reinstate.files import require_new, write_atomically
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run, open_run


@dataclass(frozen=True)
class Watch:
    """Replay episodes of a trained run: the grid, the goal, the memory, the r-gate.

    For example:

      reinstate watch water-maze runs/water-maze-epl2rl
      reinstate watch water-maze runs/water-maze-epl2rl --exposure 2 --svg second.svg
    """

    json: ClassVar = False
    experiment: Annotated[Literal["water-maze"], Positional]
    """The experiment; only water-maze has a replay."""
    run: RunFolder
    """A run folder, as `reinstate train water-maze` leaves it."""
    exposure: int = 0
    """Which exposure to a context; 0 shows the first and then the second to the same one."""
    seed: int = 0
    """Which of the run's seeds."""
    speed: float = 4.0
    """Steps per second, in a terminal; in a pipe all frames are printed at once."""
    svg: NewFile = None
    """Write an animated SVG to this new file instead."""

    def __post_init__(self) -> None:
        require_positive(speed=self.speed)
        if self.exposure < 0:
            raise UserError(f"exposure must be 1 or more, or 0 for both, not {self.exposure}")

    def do(self, command: str) -> list[list[Any]]:
        experiment, agent, settings = open_run(self.run)
        if experiment is not WATER_MAZE:
            name = experiment.name
            raise UserError(f"{self.run} is a run of {name}, and only water-maze has a replay")
        seeds, most = [*settings.seed_range], settings.task.max_exposures
        if self.seed not in seeds:
            raise UserError(f"{self.run} has the seeds {seeds}, not {self.seed}")
        if self.exposure > most:
            raise UserError(f"{self.run} shows each context {most} times: lower --exposure")
        if self.svg:
            require_new(self.svg, "--svg")
        devices.use_all_cores()
        evaluator = Evaluator(experiment, agent, settings)
        state = evaluator.load(Run(self.run))
        with Reporter().working(f"{agent}: playing"):
            record = evaluator.record(state)
        world, place = settings.task, seeds.index(self.seed)
        episodes = [replay.choose(record, exposure, place) for exposure in self._exposures]
        return [replay.replay(world, record, place, *episode) for episode in episodes]

    def show(self, result: list[list[Any]]) -> None:
        world = open_run(self.run).settings.task
        if self.svg:
            write_atomically(self.svg, replay.animated_svg(world, result).encode())
            say(f"{self.svg} shows exposures {', '.join(map(str, self._exposures))}")
            say(f"next: open {self.svg} in a browser")
            return
        for frames in result:
            replay.show(frames, world, Console(), self.speed)
        line = ["reinstate", "watch", WATER_MAZE.name, self.run, "--svg", "maze.svg"]
        say_next(line, "keep it as an animation")

    @property
    def _exposures(self) -> list[int]:
        return [self.exposure] if self.exposure else [1, 2]
