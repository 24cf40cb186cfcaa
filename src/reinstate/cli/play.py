"""The verb `play`: one HTML page with the shipped agents, to play against."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from reinstate.cli.parsing import Verb
from reinstate.cli.shared import shown
from reinstate.cli.tables import say
from reinstate.figures.page.play import write_play


@dataclass(frozen=True, kw_only=True)
class Play(Verb):
    """Make one self-contained HTML page in which you play against trained agents, offline.

    A water maze and ten-armed bandits, whose contexts recur: you play, then the agent plays the
    same game, and shows what its memory holds, what comes back of it, and its r-gates.

      reinstate play
      reinstate play --out games.html
    """

    out: Annotated[Path, shown("FILE")] = Path("play.html")
    """The file to write. A page of this command that is there is replaced, anything else is not."""

    def do(self, command: str) -> Any:
        return {"page": str(self.out), "bytes": write_play(self.out)}

    def show(self, result: Any) -> None:
        say(f"next: open {self.out} ({result['bytes'] / 1000:,.0f} kB) in any browser, offline")
