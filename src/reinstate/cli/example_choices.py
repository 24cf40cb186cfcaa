"""The verb `example-choices`: a table of simulated two-step choices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from reinstate.choices.columns import PARQUET
from reinstate.cli.shared import Verb, require_seed
from reinstate.cli.tables import say_next
from reinstate.errors import UserError
from reinstate.files import require_new
from reinstate.runs.choice_fits import write_example


@dataclass(frozen=True, kw_only=True)
class Options(Verb):
    """Write an example of a table that `reinstate fit-choices` reads, of simulated agents.

    For example:

      reinstate example-choices choices.csv
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.csv")]
    """The new file."""
    seed: int = 0
    """Where the simulation's random numbers start."""

    def do(self, command: str) -> Any:
        require_seed(self.seed)
        if self.file.suffix in PARQUET:
            raise UserError(f"the example is a CSV file: name it {self.file.stem}.csv")
        require_new(self.file, "FILE.csv")
        write_example(self.file, self.seed)
        return {"example": str(self.file)}

    def show(self, result: Any) -> None:
        say_next(["reinstate", "fit-choices", self.file], "fit it")
