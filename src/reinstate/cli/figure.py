"""The verb `figure`: a figure composed of recorded results, or what a run's memory holds, drawn."""

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional

from reinstate.cli.shared import Computing, shown
from reinstate.cli.tables import say
from reinstate.errors import UserError, nearest, require_positive
from reinstate.figures.mpl import require_kind, require_own, save_figure
from reinstate.files import write_atomically
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import EXPERIMENTS, ComposedFigure, find_experiment

if TYPE_CHECKING:
    from reinstate.analysis.results import Results

MAKER = "reinstate figure"  # how a file of ours is known
DPI = 400  # of PNG: journals ask for 300 or more
OF_RUNS = ("memory-map", "gates")


@dataclass(frozen=True, kw_only=True)
class Figure(Computing):
    """Draw a figure of the paper, 3 to 6, from recorded results, or what a run's memory holds.

    Figure 3 shows barcode and Omniglot bandits, 4 compositional bandits, 5 the water maze and 6 the
    two-step task, at the size of print: fonts have 6 to 8 points, and a PDF holds them as TrueType.
    Agents whose memory is an input are left out, as in the paper. A text file beside the figure
    holds its caption.

    For a memory-map a trained RUN plays fresh epochs with frozen weights. Each point is a state
    that it stored, in the plane in which all of them differ most (their first two principal
    components), after 1, 2, 3 and 10 exposures; its colour is the good arm, or the goal, or else
    the context. `gates` draws how far each unit's r-gate opens, step by step.

      reinstate figure 3
      reinstate figure 5 --width column --out maze.svg
      reinstate figure memory-map barcode-bandits/epl2rl
      reinstate figure gates runs/mine --seed 3 --epochs 30 --out gates.pdf
    """

    what: Annotated[str, Positional, shown("3|4|5|6|memory-map|gates")]
    """Which figure."""
    run: Annotated[Path | None, Positional, shown("RUN", "")] = None
    """A run folder, as `reinstate train` leaves it, or shipped weights such as
    barcode-bandits/epl2rl, for memory-map and gates; its agent needs a memory."""
    results: Annotated[tuple[Path, ...], shown("DIR …")] = (Path("results"),)
    """Folders with EXPERIMENT/results.json, as `reinstate reproduce all` leaves it. Where one
    experiment is enough, its own folder will do. Agents of one experiment are drawn together."""
    width: Annotated[Literal["column", "page"] | None, shown("column|page", "the paper's")] = None
    """3.25 or 6.75 inches, of a figure of the paper."""
    seed: Annotated[int | None, shown("INT", "the run's first")] = None
    """Which of the run's seeds."""
    epochs: int = 10
    """Epochs that the run plays; each has its own contexts."""
    out: Annotated[Path | None, shown("FILE", "WHAT.pdf")] = None
    """The file to write: .pdf, .svg or .png; of a memory map also .json. The report shows that one
    if it is memory-map.json in the folder of results.json. A figure of this command that is there
    is replaced, anything else is not."""

    def __post_init__(self) -> None:
        require_positive(epochs=self.epochs)
        if self.what in OF_RUNS and self.run is None:
            raise UserError(f"{self.what} needs a run first: reinstate figure {self.what} RUN")
        if self.what not in OF_RUNS and self.what not in composed_figures():
            raise UserError(nearest("figure", self.what, [*sorted(composed_figures()), *OF_RUNS]))
        if not (self.what == "memory-map" and self.file.suffix == ".json"):
            require_kind(self.file)

    @property
    def file(self) -> Path:
        """The file to write."""
        return self.out or Path(f"{self.what if self.run else f'figure-{self.what}'}.pdf")

    @property
    def caption(self) -> Path:
        """The file beside it that says what a composed figure shows."""
        return self.file.with_suffix(".txt")

    def do(self, command: str) -> dict[str, Any]:
        require_own(self.file, MAKER)
        if self.run is not None:
            return self._of_run(self.run, command)
        plan = composed_figures()[self.what]
        drawn = plan.draw({name: self._read(name) for name in plan.experiments}, self.width)
        if drawn.caption:
            require_own(self.caption, MAKER)
            text = f"{fill(drawn.caption, 100)}\n\nMade by {MAKER} {self.what}.\n"
            write_atomically(self.caption, text.encode())
        size = save_figure(drawn, self.file, DPI, MAKER)
        return {"file": str(self.file), "inches": drawn.get_size_inches()[0], "bytes": size}

    def _of_run(self, run: Path, command: str) -> dict[str, Any]:
        from reinstate.analysis.gates import unit_gates
        from reinstate.analysis.memory_map import memory_map, stored_states
        from reinstate.figures import memory_map as drawing
        from reinstate.figures.style import label
        from reinstate.files import write_document
        from reinstate.runs.provenance import provenance

        experiment, agent, played = self._play(run)
        if self.what == "gates":
            gates = unit_gates(*played)
            figure = drawing.draw_gates(gates, f"{experiment.title}: r-gates of {label(agent)}")
            save_figure(figure, self.file, DPI, MAKER)
            return {"file": str(self.file), "mean": gates.mean.tolist(), "half": gates.half}
        found = memory_map(stored_states(*played), experiment=experiment.name, agent=agent)
        if self.file.suffix == ".json":
            write_document(self.file, {"command": command, **provenance(), **found})
        else:
            figure = drawing.draw(found, f"{experiment.title}: what {label(agent)} stores")
            save_figure(figure, self.file, DPI, MAKER)
        by_exposure = {panel["exposure"]: panel["readable"] for panel in found["panels"]}
        return {"file": str(self.file), "labels": found["labels"], "readable": by_exposure}

    def _play(self, folder: Path) -> tuple[Any, str, tuple[Any, ...]]:
        """Return what plays, and how: an experiment, an agent, and what analyses of them take."""
        import jax

        from reinstate.runs import size
        from reinstate.runs.evaluator import Evaluator
        from reinstate.runs.run import find_run, open_run

        run = find_run(folder)
        experiment, agent, settings = open_run(run.path)
        seeds = [*settings.seed_range]
        seed = seeds[0] if self.seed is None else self.seed
        if seed not in seeds:
            raise UserError(f"{folder} has the seeds {seeds}, not {seed}")
        self.start()
        evaluator = Evaluator(experiment, agent, settings)
        if not evaluator.learner.remembers:
            raise UserError(f"{folder} is a run of {agent}, which has no memory to draw")
        played = replace(settings.evaluation, epochs=self.epochs)
        one = replace(settings, seeds=1, first_seed=seed, evaluation=played)
        size.require_room(one, agent, trained=False, evaluated=True)
        state, place = evaluator.load(run), seeds.index(seed)
        player = evaluator.learner.agent(jax.tree.map(lambda x: x[place], state.params))
        return experiment, agent, (evaluator.condition, player, played, seed)

    def _read(self, experiment: str) -> "Results":
        """Read the results of an experiment, wherever they are within the folders named."""
        places = [each for folder in self.results for each in (folder / experiment, folder)]
        found = [each for each in places if (each / "results.json").is_file()]
        if not found:
            named = ", ".join(map(str, self.results))
            raise UserError(
                f"{named} holds no results of {experiment}: reinstate reproduce all makes them, and"
                " --results names their folder"
            )
        results = read_results(*found)
        if results["experiment"] != experiment:
            raise UserError(
                f"{found[0]} holds results of {results['experiment']}, and figure {self.what}"
                f" shows {experiment}: name another folder by --results"
            )
        return results

    def show(self, result: dict[str, Any]) -> None:
        for exposure, readable in result.get("readable", {}).items():
            if readable is not None:
                share = f"{100 * readable:.0f}% of states are nearest to one of the same"
                say(f"after exposure {exposure}: {share} {result['labels']}")
        if "half" in result:
            say(f"half of the gate is in {result['half']} of {len(result['mean'])} units")
        say(f"next: open {result['file']}")


def composed_figures() -> dict[str, ComposedFigure]:
    """List the figures that experiments have, by their names."""
    found: dict[str, ComposedFigure] = {}
    for name in EXPERIMENTS:
        with contextlib.suppress(UserError):  # somebody's package that cannot be loaded
            found |= find_experiment(name).figures
    return found
