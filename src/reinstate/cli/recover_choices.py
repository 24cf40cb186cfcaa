"""The verb `recover-choices`: `fit-choices` tested on agents of known weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional

from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.simulated import RATES, Design, recovery
from reinstate.choices.summary import recovery_table
from reinstate.cli.fit_choices import WORK, Model
from reinstate.cli.shared import Verb, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.errors import require_positive
from reinstate.files import require_empty
from reinstate.runs.choice_fits import read_design, save_recovery
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.settings import require_seed

STANDARD = Design()


@dataclass(frozen=True, kw_only=True)
class RecoverChoices(Verb):
    """Fit simulated agents of known weights, and see how well the weights are recovered.

    How well depends on how much is played: give a design of your own, before you collect data, or
    the one of a table. Rewards are those of the paper's task, with reversals.

      reinstate recover-choices recovery
      reinstate recover-choices small --participants 40 --sessions 1 --episodes 200 --p-common .7
      reinstate recover-choices like-mine --as-in choices.csv
    """

    out: Annotated[Path, Positional, shown("DIR")]
    """New folder for recovery.csv, recovery.json and the figure."""
    as_in: Annotated[Path | None, shown("FILE", "")] = None
    """Take the design from a table of choices or from the folder of its fit: how many participants,
    sessions, episodes and cues there are, and how often transitions are common."""
    participants: Annotated[int | None, shown("INT", str(STANDARD.participants))] = None
    """Simulated agents, each with weights of its own."""
    sessions: Annotated[int | None, shown("INT", str(STANDARD.sessions))] = None
    """Sessions of each participant."""
    episodes: Annotated[int | None, shown("INT", str(STANDARD.episodes))] = None
    """Episodes of each session."""
    p_common: Annotated[float | None, shown("FLOAT", str(STANDARD.p_common))] = None
    """Probability of the common transition."""
    cued: Annotated[float | None, shown("FLOAT", str(STANDARD.cued))] = None
    """Share of a session's episodes that are cued; 0: the classic task."""
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
        design = read_design(self.as_in) if self.as_in else STANDARD
        asked = {name: getattr(self, name) for name in Design._fields}
        design = design._replace(**{n: value for n, value in asked.items() if value is not None})
        how: Any = {"seed": self.seed, "model": self.model, "prior_sd": self.prior_sd}
        with Reporter().working(f"{WORK[self.model]}: simulated agents"):
            found = recovery(alpha=RATES[self.model], **design._asdict(), **how)
        document: Any = {**found, "seed": self.seed, "prior_sd": self.prior_sd, **provenance()}
        save_recovery(document, self.out)
        return {**document, "out": str(self.out)}

    def show(self, result: Any) -> None:
        played = "{participants} agents, {sessions} × {episodes} episodes each, {cued:.0%} cued"
        say(f"{played}; p(common) {{p_common:.2f}}".format(**result["design"]))
        print_table(*recovery_table(result))
        share, n = result["coverage"], result["intervals"]
        say(f"{share:.1%} of {n} intervals of 95% hold the true weight")
        say(f"recovery.png, recovery.svg, recovery.csv and recovery.json are in {self.out}")
        say_next(["reinstate", "fit-choices", "FILE"], "fit choices of your own")
