"""The verb `figure`: one of the paper's figures, composed of recorded results."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional

from reinstate.analysis.results import Results
from reinstate.cli.parsing import Verb
from reinstate.cli.shared import shown
from reinstate.cli.tables import say
from reinstate.errors import UserError
from reinstate.figures.writing import require_kind, require_replaceable, save_figure
from reinstate.runs.conclusions import read_results
from reinstate_paper.composing import WIDTHS, compose
from reinstate_paper.figures import FIGURES, panels_of

MAKER = "reinstate figure"  # how a file of ours is known
DPI = 400  # of PNG: journals ask for 300 or more


@dataclass(frozen=True, kw_only=True)
class Figure(Verb):
    """Compose a figure of the paper, 3 to 6, from recorded results, at the size of print.

    Figure 3 shows barcode and Omniglot bandits, 4 compositional bandits, 5 the water maze and 6 the
    two-step task. Fonts have 6 to 8 points, and a PDF holds them as TrueType. Agents whose memory
    is an input are left out, as in the paper.

      reinstate figure 3
      reinstate figure 5 --width column --out maze.svg
      reinstate figure 6 --results reproduction --out two-step.png
    """

    number: Annotated[int, Positional, shown("3|4|5|6")]
    """Which figure."""
    results: Annotated[tuple[Path, ...], shown("DIR …")] = (Path("results"),)
    """Folders with EXPERIMENT/results.json, as `reinstate reproduce all` leaves it; or of one
    experiment, where no other is needed. Agents of one experiment are drawn together."""
    width: Annotated[Literal["column", "page"] | None, shown("column|page", "the paper's")] = None
    """3.25 or 6.75 inches."""
    out: Annotated[Path | None, shown("FILE", "figure-NUMBER.pdf")] = None
    """The file to write: .pdf, .svg or .png. A figure of this command that is there is replaced,
    anything else is not."""
    preset: Annotated[str | None, shown("NAME", "any")] = None
    """Refuse results of another preset; those in DIR/NAME are found too."""

    def __post_init__(self) -> None:
        if self.number not in FIGURES:
            known = ", ".join(map(str, FIGURES))
            raise UserError(f"there is no figure {self.number} of results: choose one of {known}")
        require_kind(self.file)

    @property
    def file(self) -> Path:
        """The file to write."""
        return self.out or Path(f"figure-{self.number}.pdf")

    def do(self, command: str) -> dict[str, Any]:
        plan, out = FIGURES[self.number], self.file
        require_replaceable(out, MAKER)
        documents = {name: self._read(name) for name in plan.experiments}
        width = self.width or plan.width
        panels = panels_of(self.number, documents)
        size = save_figure(compose(panels, width), out, DPI, MAKER)
        return {"file": str(out), "inches": WIDTHS[width], "panels": len(panels), "bytes": size}

    def _read(self, experiment: str) -> Results:
        """Read the results of an experiment, wherever they are within the folders named."""
        found = [place for folder in self.results if (place := self._place(folder, experiment))]
        if not found:
            named = ", ".join(map(str, self.results))
            raise UserError(
                f"{named} holds no results of {experiment}: reinstate reproduce all makes them, and"
                " --results names their folder"
            )
        results = read_results(*found)
        if results["experiment"] != experiment:
            raise UserError(
                f"{found[0]} holds results of {results['experiment']}, and figure {self.number}"
                f" shows {experiment}: name another folder by --results"
            )
        if self.preset not in (None, results["preset"]):
            raise UserError(
                f"{found[0]} holds results of the preset {results['preset']}, not {self.preset}"
            )
        return results

    def _place(self, folder: Path, experiment: str) -> Path | None:
        folders = [folder / experiment, folder]
        if self.preset:
            folders.insert(0, folder / self.preset / experiment)
        return next((each for each in folders if (each / "results.json").is_file()), None)

    def show(self, result: dict[str, Any]) -> None:
        say(f"{result['file']} is {result['inches']} inches wide, with {result['panels']} panels")
        say(f"next: open {result['file']}")
