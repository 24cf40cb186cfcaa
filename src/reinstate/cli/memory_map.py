"""The verb `memory-map`: what a trained run's memory holds, drawn."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax

from reinstate.analysis.gates import unit_gates
from reinstate.analysis.memory_map import memory_map, recorded, stored_states
from reinstate.cli.parsing import Flag
from reinstate.cli.shared import Computing, RunFolder, shown
from reinstate.cli.tables import say
from reinstate.errors import UserError, require_positive
from reinstate.figures import memory_map as states
from reinstate.figures import unit_gates as by_unit
from reinstate.figures.page.sources import MAP
from reinstate.figures.style import label
from reinstate.figures.writing import require_kind
from reinstate.files import require_new, write_document
from reinstate.runs import size
from reinstate.runs.experiment import Experiment
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import open_run
from reinstate.runs.shipped import find_run

Said = tuple[Experiment, str, str]  # of what, by which agent, and the command


@dataclass(frozen=True, kw_only=True)
class MemoryMap(Computing):
    """Draw what a trained run's memory holds, after 1, 2, 3 and 10 exposures.

    An agent plays fresh epochs with frozen weights. Each point is a state that it stored; points
    lie in the plane in which all of them differ most (their first two principal components), the
    same in every panel, and have the colour of the good arm, or of the goal. States that say which
    it is lie together by colour, whatever context they are of. Where there is neither, colours are
    those of ten contexts of one epoch.

    With --gates the figure shows how far each unit's r-gate opens, step by step.

      reinstate memory-map barcode-bandits/epl2rl
      reinstate memory-map runs/mine --seed 3 --epochs 30 --out map.pdf
      reinstate memory-map two-step/epl2rl --gates
    """

    run: RunFolder
    """A run folder, as `reinstate train` leaves it, or shipped weights such as
    barcode-bandits/epl2rl; its agent needs a memory."""
    seed: Annotated[int | None, shown("INT", "the run's first")] = None
    """Which of the run's seeds."""
    epochs: int = 10
    """Epochs that it plays; each has its own contexts."""
    gates: Flag = False
    """Draw the r-gate of every unit instead: by exposure, or without and with a cue."""
    out: Annotated[Path | None, shown("FILE", "memory-map.png, or gates.png")] = None
    """The new file: .png, .svg or .pdf; or .json, which `reinstate report` shows on its page if it
    is memory-map.json beside results.json."""

    def __post_init__(self) -> None:
        require_positive(epochs=self.epochs)
        if self.gates or self.file.suffix != ".json":
            require_kind(self.file)

    @property
    def file(self) -> Path:
        """The file to write."""
        return self.out or Path("gates.png" if self.gates else "memory-map.png")

    def do(self, command: str) -> dict[str, Any]:
        run = find_run(self.run)
        experiment, agent, settings = open_run(run.path)
        seeds = [*settings.seed_range]
        seed = seeds[0] if self.seed is None else self.seed
        if seed not in seeds:
            raise UserError(f"{self.run} has the seeds {seeds}, not {seed}")
        require_new(self.file, "--out")
        self.start()
        evaluator = Evaluator(experiment, agent, settings)
        if not evaluator.learner.remembers:
            raise UserError(f"{self.run} is a run of {agent}, which has no memory to draw")
        played = replace(settings.evaluation, epochs=self.epochs)
        one = replace(settings, seeds=1, first_seed=seed, evaluation=played)
        size.require_room(one, agent, trained=False, judged=True)
        state, place = evaluator.load(run), seeds.index(seed)
        player = evaluator.learner.agent(jax.tree.map(lambda x: x[place], state.params))
        draw = self._draw_gates if self.gates else self._draw_states
        said = experiment, agent, command
        return {"file": str(self.file), **draw(said, evaluator.condition, player, played, seed)}

    def _draw_states(self, said: Said, *played: Any) -> dict[str, Any]:
        experiment, agent, command = said
        with Reporter().working(f"{agent}: playing"):
            found = memory_map(stored_states(*played))
        if self.file.suffix == ".json":
            kept = {"command": command, **provenance(), **recorded(found, experiment.name, agent)}
            write_document(self.file, kept)
        else:
            states.save(found, self.file, f"{experiment.title}: what {label(agent)} stores")
        return {
            "labels": found.labels,
            "explained": found.explained,
            "exposures": [panel.exposure for panel in found.panels],
            "states": [len(panel.label) for panel in found.panels],
            "readable": [panel.readable for panel in found.panels],
        }

    def _draw_gates(self, said: Said, *played: Any) -> dict[str, Any]:
        experiment, agent, _ = said
        with Reporter().working(f"{agent}: playing"):
            found = unit_gates(*played)
        by_unit.save(found, self.file, f"{experiment.title}: r-gates of {label(agent)}")
        return {
            "groups": found.groups,
            "units": found.unit.tolist(),
            "mean": found.mean.tolist(),
            "half": found.half,
        }

    def show(self, result: dict[str, Any]) -> None:
        if self.gates:
            most, units = result["half"], len(result["units"])
            say(f"half of the gate is in {most} of {units} units; all of them are in the figure")
        else:
            self._show_states(result)
        if self.file.suffix == ".json":
            say(f"next: put it beside results.json as {MAP}, and reinstate report shows it")
        else:
            say(f"next: open {result['file']}")

    def _show_states(self, result: dict[str, Any]) -> None:
        for exposure, readable in zip(result["exposures"], result["readable"], strict=True):
            if readable is not None:
                times = "1 exposure" if exposure == 1 else f"{exposure} exposures"
                share = f"{100 * readable:.0f}% of states are nearest to one of the same"
                say(f"after {times}: {share} {result['labels']}")
        say(f"{result['file']} shows {sum(result['states'])} stored states")
