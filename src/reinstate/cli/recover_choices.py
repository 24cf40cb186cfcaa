"""The verb `recover-choices`: `fit-choices` tested on agents of known weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional

from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.simulated import recovery
from reinstate.cli.fit_choices import WORK, Model
from reinstate.cli.shared import Verb, shown
from reinstate.cli.tables import say, say_next
from reinstate.errors import require_positive
from reinstate.files import require_empty
from reinstate.runs.choice_fits import save_recovery
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.settings import require_seed

RATE = 0.5  # at which simulated agents learn values, where these are fitted


@dataclass(frozen=True, kw_only=True)
class RecoverChoices(Verb):
    """Fit simulated agents of known weights, and see how well the weights are recovered.

    For example:

      reinstate recover-choices recovery
    """

    out: Annotated[Path, Positional, shown("DIR")]
    """New folder for recovery.csv, recovery.json and the figure."""
    model: Model = "one-back"
    """Which model is fitted; see `reinstate fit-choices --help`."""
    prior_sd: float = PRIOR_SD
    """Width of the weak prior that keeps weights finite where a rule has no exception."""
    seed: int = 0
    """Where the simulation's random numbers start."""

    def do(self, command: str) -> Any:
        require_positive(prior_sd=self.prior_sd)
        require_seed(self.seed)
        require_empty(self.out, "choose another DIR")
        how: Any = {"seed": self.seed, "model": self.model, "prior_sd": self.prior_sd}
        with Reporter().working(f"{WORK[self.model]}: simulated agents"):
            found = recovery(alpha=RATE if self.model == "learned" else 1.0, **how)
        document: Any = {**found, "seed": self.seed, "prior_sd": self.prior_sd, **provenance()}
        save_recovery(document, self.out)
        return {**document, "out": str(self.out)}

    def show(self, result: Any) -> None:
        share, n = result["coverage"], result["intervals"]
        say(f"{share:.1%} of {n} intervals of 95% hold the true weight")
        say(f"recovery.png, recovery.svg, recovery.csv and recovery.json are in {self.out}")
        say_next(["reinstate", "fit-choices", "FILE"], "fit choices of your own")
