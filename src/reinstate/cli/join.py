"""The verb `join`: agents that were trained apart, side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from reinstate.cli.shared import Verb, shown
from reinstate.cli.tables import print_checks, say_next
from reinstate.files import new_folder, require_empty, write_document
from reinstate.runs.experiment import find_experiment
from reinstate.runs.join import join
from reinstate.runs.reproduce import draw


@dataclass(frozen=True, kw_only=True)
class Join(Verb):
    """Put agents of one experiment side by side that were trained apart, and judge them together.

    Both results have to be of the same settings, but for their seeds: agents are compared on the
    seeds that they share. Each agent that is added says which command trained it, and where.

      reinstate reproduce barcode-bandits --out one
      reinstate reproduce barcode-bandits --agents epl2rl-recognition --out two
      reinstate join one two --out both
    """

    first: Annotated[Path, Positional, arg(metavar="A")]
    """Recorded results: a results.json, or a folder that holds one."""
    second: Annotated[Path, Positional, arg(metavar="B")]
    """Others of the same experiment, whose agents are added."""
    out: Annotated[Path, shown("DIR")]
    """New folder for results.json and figures."""

    def do(self, command: str) -> Any:
        require_empty(self.out, "choose another --out")
        document = join(self.first, self.second)
        with new_folder(self.out, "choose another --out") as folder:
            draw(find_experiment(document["experiment"]), document, folder)
            write_document(folder / "results.json", document)
        return document

    def show(self, result: Any) -> None:
        print_checks(result["checks"])
        say_next(["reinstate", "report", self.out], "make a page of it")
