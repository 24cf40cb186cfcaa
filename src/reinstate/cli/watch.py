"""The verb `watch`: episodes of a trained agent, replayed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from rich.console import Console
from tyro.conf import Positional

from reinstate import devices
from reinstate.cli.shared import NewFile, shown
from reinstate.cli.tables import say, say_next
from reinstate.errors import UserError, require_not_negative, require_positive
from reinstate.figures import watching
from reinstate.figures.film import film
from reinstate.files import require_new, write_atomically
from reinstate.runs import size
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run, find_run, open_run
from reinstate.settings import Settings
from reinstate.tasks.water_maze import WaterMaze

SHIPPED_AGENT = "epl2rl"
EPOCHS = 4  # to choose from; episodes of more would not be looked at


@dataclass(frozen=True)
class Watch:
    """Replay episodes of a trained agent: what it does, what it recalls, the r-gate.

    A first exposure to a context is shown, then the second to the same one. [Brackets] are where
    the agent is, or what it chose, and * is best. Without a run, an agent that comes with the
    package plays.

      reinstate watch water-maze
      reinstate watch barcode-bandits
      reinstate watch two-step runs/two-step-epl2rl --context 3
      reinstate watch water-maze runs/water-maze-epl2rl --exposure 2 --svg second.svg
    """

    json: ClassVar = False
    experiment: Annotated[str, Positional, shown("EXPERIMENT")]
    """The experiment; `reinstate list` names them."""
    run: Annotated[Path | None, Positional, shown("RUN", "the shipped epl2rl")] = None
    """A run folder, as `reinstate train` leaves it, or shipped weights such as water-maze/l2rl."""
    exposure: int = 0
    """Which exposure to a context; 0 shows the first and the second to the same one."""
    context: Annotated[int | None, shown("INT", "a telling one, or 1")] = None
    """Which context, counted from 1 in the order in which they are met."""
    seed: Annotated[int | None, shown("INT", "the run's first")] = None
    """Which of the run's seeds."""
    speed: float = 4.0
    """Steps per second, in a terminal; in a pipe all frames are printed at once."""
    svg: NewFile = None
    """Write an animated SVG to this new file instead; of the maze only."""

    def __post_init__(self) -> None:
        require_positive(speed=self.speed)
        require_not_negative(exposure=self.exposure)
        find_experiment(self.experiment)

    def do(self, command: str) -> list[Any]:
        run = self._run
        experiment, agent, settings = open_run(run.path)
        world, seeds = settings.task.for_evaluation(), [*settings.seed_range]
        seed = seeds[0] if self.seed is None else self.seed
        if experiment.name != self.experiment:
            raise UserError(
                f"{run.path} is a run of {experiment.name}: reinstate watch {experiment.name}"
                f" {run.path}"
            )
        if seed not in seeds:
            raise UserError(f"{run.path} has the seeds {seeds}, not {seed}")
        if self.exposure > world.max_exposures:
            most = world.max_exposures
            raise UserError(f"{self.experiment} shows a context {most} times: lower --exposure")
        if self.svg:
            require_new(self.svg, "--svg")
            if not isinstance(world, WaterMaze):
                raise UserError(f"--svg is for water-maze: leave it out to watch {self.experiment}")
        devices.divide_cpu()
        devices.keep_programs()
        few = _few(settings)
        size.require_room(few, agent, trained=False, evaluated=True)
        evaluator = Evaluator(experiment, agent, few)
        state = evaluator.load(run)
        with Reporter().working(f"{agent}: playing"):
            record = evaluator.record(state)
        place = seeds.index(seed)
        return watching.exposures_of(world, record, self._exposures, place, self.context)

    def show(self, result: list[Any]) -> None:
        world: Any = open_run(self._run.path).settings.task
        said = f"reward {', then '.join(f'{each.reward:g}' for each in result)}"
        if self.svg:
            walks = [watching.walk(each) for each in result]
            drawn = film(world.height, world.width, walks, "An agent searches a water maze")
            write_atomically(self.svg, drawn.encode())
            say(f"{self.svg} shows exposures {', '.join(map(str, self._exposures))}: {said}")
            say(f"next: open {self.svg} in a browser")
            return
        watching.show(result, Console(), self.speed)
        say(said)
        line = ["reinstate", "watch", self.experiment, *([self.run] if self.run else [])]
        if isinstance(world, WaterMaze):
            say_next([*line, "--svg", "maze.svg"], "keep it as an animation")
        else:
            say_next([*line, "--context", "2"], "watch another context")

    @property
    def _run(self) -> Run:
        return find_run(self.run or f"{self.experiment}/{SHIPPED_AGENT}")

    @property
    def _exposures(self) -> list[int]:
        return [self.exposure] if self.exposure else [1, 2]


def _few(settings: Settings) -> Settings:
    """Play no more epochs than are needed to choose from."""
    if isinstance(settings.task, WaterMaze):  # its chooser looks for a telling pair
        return settings
    epochs = min(settings.evaluation.epochs, EPOCHS)
    return replace(settings, evaluation=replace(settings.evaluation, epochs=epochs))
