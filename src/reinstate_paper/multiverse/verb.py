"""`reinstate reproduce multiverse`: make a grid, or go on with one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from reinstate import devices
from reinstate.cli.parsing import Verb
from reinstate.cli.shared import shown
from reinstate.cli.tables import print_table, say
from reinstate.errors import UserError, nearest
from reinstate.figures import mpl
from reinstate.files import locked, write_document
from reinstate.runs.engines import Engine, Job
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate_paper.multiverse.cells import Cell, change_alone, make_map, run
from reinstate_paper.multiverse.findings import as_document, known_cells, marginals, origins
from reinstate_paper.multiverse.grids import ALONE, MAPS


@dataclass(frozen=True, kw_only=True)
class Multiverse(Verb):
    """Test claims of the paper at the choices that it leaves open.

      reinstate reproduce multiverse --claim memory-as-input --workers 2
      reinstate reproduce multiverse --claim memory-as-input --only lanes=16 epochs=60
      reinstate reproduce multiverse --claim barcode-bandits

    A map tries every combination of its factors at the quick preset. The name of an experiment
    changes each factor by itself from the paper preset: that wants an accelerator. OUT/NAME.json
    has the cells, and of a map OUT/NAME.svg the share of seeds for which the claim holds. The same
    command again does what is not done; a cell that the file has is done.
    """

    claim: Annotated[str, shown("NAME")] = "memory-as-input"
    """A map (memory-as-input, context-drowns, similar-at-first, strategies, close-to-optimal), or
    an experiment of the paper."""
    only: Annotated[tuple[str, ...], shown("NAME=VALUE …", "all")] = ()
    """Only cells with these options, by the last part of their names."""
    first_seed: int | None = None
    """First seed of each cell, of none the grid's. With it, files are OUT/NAME-SEED.json and .svg,
    and learning rates are those of OUT/NAME.json."""
    engine: Annotated[Engine, tyro.conf.arg(name="")] = field(default_factory=Engine)
    out: Path = Path("multiverse")
    """Folder for everything that is written."""

    def do(self, command: str) -> Any:
        if self.claim not in (*MAPS, *ALONE):
            raise UserError(nearest("claim", self.claim, (*MAPS, *ALONE)))
        self._require_levels()
        reporter = Reporter()

        def do(jobs: list[Job]) -> None:
            run(jobs, self.engine, self.out, reporter)

        record = self.out / f"{self.claim}.json"
        file = self.out / f"{self._name}.json"
        with locked(self.out):
            known = [cell for path in dict.fromkeys((record, file)) for cell in known_cells(path)]
            what: Any = (self.claim, do, lambda job: self._asked(job.options), self.out)
            more: Any = {"known": known, "first_seed": self.first_seed}
            if self.claim in ALONE:
                cells = change_alone(*what, **more)
                document = as_document({self.claim: cells})
            else:
                found = MAPS[self.claim]
                cells = make_map(*what, **more)
                document = as_document({found.experiment: cells}, found.claims)
                charts = marginals(cells, found.factors, found.claims)
                mpl.save(charts, self.out / self._name, self.claim.replace("-", " ").capitalize())
            made: Any = {"command": command, **provenance(), "device": devices.describe()}
            earlier = [each for each in origins(file) if each != made]
            write_document(file, {**made, **({"earlier": earlier} if earlier else {}), **document})
        return {"cells": [_row(cell) for cell in cells if self._asked(cell.options)]}

    @property
    def _name(self) -> str:
        return self.claim if self.first_seed is None else f"{self.claim}-{self.first_seed}"

    def _require_levels(self) -> None:
        """Refuse cells that the grid does not have."""
        factors = (MAPS[self.claim] if self.claim in MAPS else ALONE[self.claim]).factors
        levels = {n.rpartition(".")[2]: [*map(str, each)] for n, each in factors.items()}
        for name, value in self._choices:
            if name not in levels:
                raise UserError(nearest("factor", name, levels))
            if value not in levels[name]:
                known = ", ".join(levels[name])
                raise UserError(f"--only {name} takes one of {known}, not {value!r}")

    def _asked(self, options: Any) -> bool:
        values = {name.rpartition(".")[2]: str(value) for name, value in options.items()}
        return all(values.get(name) == value for name, value in self._choices)

    @property
    def _choices(self) -> list[tuple[str, str]]:
        pairs = (word.removeprefix("--").partition("=") for word in self.only)
        return [(name.rpartition(".")[2], value) for name, _, value in pairs]

    def show(self, result: Any) -> None:
        rows = [[row["options"], row["counts"], *row["reward"].values()] for row in result["cells"]]
        agents = list(result["cells"][0]["reward"]) if rows else []
        print_table("reward per episode, frozen weights", ["cell", "counts"], agents, rows)
        say(f"{len(rows)} cells; {self._name}.json is in {self.out}")


def _row(cell: Cell) -> dict[str, Any]:
    options = ", ".join(f"{n.rpartition('.')[2]} {v}" for n, v in cell.options.items())
    reward = {name: f"{sum(each) / len(each):.3g}" for name, each in cell.reward.items()}
    counts = "yes" if cell.learns else "no"
    return {"options": options or "preset", "counts": counts, "reward": reward}
