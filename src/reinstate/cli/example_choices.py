"""The verb `example-choices`: an example of a table for `fit-choices`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional

from reinstate.choices.columns import PARQUET
from reinstate.cli.shared import Verb, shown
from reinstate.cli.tables import say_next
from reinstate.errors import UserError
from reinstate.files import require_new
from reinstate.runs.choice_fits import write_example
from reinstate.settings import require_seed


@dataclass(frozen=True, kw_only=True)
class ExampleChoices(Verb):
    """Write an example of a table that `reinstate fit-choices` reads, of simulated agents.

    For example:

      reinstate example-choices choices.csv
    """

    file: Annotated[Path, Positional, shown("FILE.csv")]
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
