"""The verb `memory-as-input`: agents whose memory is an input, gathered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reinstate.cli.shared import OnResults
from reinstate.cli.tables import print_checks, say, say_next
from reinstate.figures.page.frame import require_replaceable
from reinstate.files import write_document
from reinstate.runs.gather import Gathered, gather_inputs


@dataclass(frozen=True, kw_only=True)
class MemoryAsInput(OnResults):
    """Compare agents whose memory is an input (epl2rl-input and its compressed variants).

    Their rewards are gathered by experiment and preset, beside those of epl2rl and of agents
    without a memory, and what section 4.1 of the paper says about them is checked.

      reinstate reproduce water-maze --agents epl2rl-input epl2rl-input-2 --out inputs
      reinstate memory-as-input reproduction/water-maze inputs
    """

    out: Path = Path("inputs.json")
    """The file to write. One of ours that is there is replaced, anything else is not."""

    def do(self, command: str) -> Any:
        require_replaceable(self.out, Gathered)
        gathered = gather_inputs(self.results, command)
        write_document(self.out, gathered)
        return gathered

    def show(self, result: Any) -> None:
        print_checks(result["checks"])
        say(f"{self.out} holds the rewards of {', '.join(result['experiments'])}")
        say_next(["reinstate", "report", *self.results], "make a page of the results")
