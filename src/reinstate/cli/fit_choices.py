"""The verb `fit-choices`: which strategies explain a table of two-step choices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional

from reinstate.choices.documents import ChoiceFit
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.posterior import require_arviz
from reinstate.choices.summary import data_lines, tables
from reinstate.cli.shared import Flag, NewFile, Verb, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.errors import UserError, require_positive
from reinstate.files import require_empty, require_new
from reinstate.runs.choice_fits import fit_beside, fit_choices, label_of
from reinstate.runs.progress import Reporter
from reinstate.settings import require_seed

Model = Literal["one-back", "learned", "hierarchical"]
WORK = {
    "one-back": "fitting",
    "learned": "fitting learned values",
    "hierarchical": "sampling the hierarchical model (compiles first; a minute or so)",
}


@dataclass(frozen=True, kw_only=True)
class FitChoices(Verb):
    """Find the strategies that explain choices of people or agents in the two-step task.

    FILE is a table (CSV, or Parquet with the extra reinstate[parquet]), one row per episode:

      participant   who played: any name or number
      session       within a participant; without this column each has one session
      episode       whole numbers that grow within a session; without it, rows are in order
      cued          1 or true where the cue of an earlier episode is shown again
      cue_episode   the number of that episode, in the same session; empty where not cued
      action        the first-stage choice: any two labels
      state         the second stage reached: any two labels; or else second_choice, of four
      reward        0 or 1

    Without cued and cue_episode it is the classic task. hBayesDM's subjID, level1_choice and
    level2_choice are understood.

    A logistic regression weighs what choices follow, in uncued and in cued episodes separately:

      IMF, IMB      the previous episode (incremental): its action if rewarded, else the other one
                    (model-free), or the action that commonly leads to the state reached
                    (model-based)
      EMF, EMB      the same of the episode whose cue is shown (episodic)
      bias          the first of the two actions, always
      perseveration the previous action, whatever came of it

    Try it:

      reinstate example-choices choices.csv
      reinstate fit-choices choices.csv
      reinstate fit-choices theirs.csv --columns action=choice1 reward=win --common left=pink
      reinstate fit-choices people.csv --beside agent.csv
    """

    file: Annotated[Path, Positional, shown("FILE")]
    """The table; `reinstate example-choices FILE.csv` writes one."""
    columns: Annotated[tuple[str, ...], shown("OURS=THEIRS …", "our names")] = ()
    """Columns that have other names in the table, such as action=choice1 reward=win."""
    common: Annotated[tuple[str, ...], shown("ACTION=STATE …", "in sorted order")] = ()
    """To which state an action commonly leads, such as left=pink."""
    signed_rewards: Flag = False
    """Rewards are -1 and 1."""
    model: Model = "one-back"
    """Hierarchical: people's weights share a group; it needs NumPyro (the extra reinstate[fit])."""
    compare: Flag = False
    """Fit rival models too: learned values beside one-back, and no strategy; or hierarchical ones
    without each strategy (minutes; it needs ArviZ, the extra reinstate[arviz])."""
    beside: Annotated[tuple[Path, ...], shown("FILE …", "none")] = ()
    """Show other choices too: tables, such as `reinstate evaluate --choices` writes, or folders of
    earlier fits. Tables are read like FILE, or else by our names."""
    skip_bad: Flag = False
    """Drop rows that make no sense, and say how many; by default they are named and it stops."""
    prior_sd: float = PRIOR_SD
    """Width of the weak prior that keeps weights finite where a rule has no exception."""
    seed: int = 0
    """Where the hierarchical sampler's random numbers start."""
    draws: NewFile = None
    """Also write the hierarchical model's posterior draws to this new NetCDF file, for ArviZ."""
    out: Annotated[Path | None, shown("DIR", "choice-fit/ and FILE's name")] = None
    """New folder for weights.csv, fit.json and figures."""

    def do(self, command: str) -> Any:
        how: Any = {"columns": pairs("--columns", self.columns)}
        how |= {"common": pairs("--common", self.common), "signed_rewards": self.signed_rewards}
        how |= {"skip_bad": self.skip_bad, "prior_sd": self.prior_sd, "seed": self.seed}
        require_positive(prior_sd=self.prior_sd)
        require_seed(self.seed)
        require_empty(self._folder, "choose another --out")
        self._check_draws()
        reporter = Reporter()
        others = {}
        for path in self.beside:  # first, since they may be at fault when FILE takes long
            with reporter.working(f"{path}: {WORK[self.model]}"):
                others[path] = fit_beside(path, self.model, how)
        with reporter.working(f"{self.file}: {WORK[self.model]}"):
            found = fit_choices(self.file, self.model, compare=self.compare, **how)
        for path, other in others.items():
            found.put_beside(label_of(path), other)
        beside = found.document.get("beside", {})
        for name, document in {"": found.document, **beside}.items():
            for warning in document["warnings"]:
                reporter.note(f"warning: {name + ': ' if name else ''}{warning}")
        found.save(self._folder)
        if self.draws:
            found.save_draws(self.draws)
        return {**found.document, "out": str(self._folder)}

    def _check_draws(self) -> None:
        if self.draws:
            if self.model != "hierarchical":
                raise UserError("--draws needs --model hierarchical: other models have no draws")
            require_new(self.draws, "--draws")
            require_arviz()  # before a minute is spent on sampling

    def show(self, result: Any) -> None:
        _print_fit(result)
        for label, other in result.get("beside", {}).items():
            say(f"beside it, {label}:")
            _print_fit(other)
        made = "weights.csv, fit.json, choice-weights.png and stay.png (and .svg)"
        say(f"{made} are in {self._folder}")
        if self.draws:
            say(f"posterior draws are in {self.draws}")
        again = ["reinstate", "recover-choices", "recovery", "--as-in", self._folder]
        say_next(again, "see how well as many choices tell weights")

    @property
    def _folder(self) -> Path:
        return self.out or Path("choice-fit") / label_of(self.file)


def pairs(flag: str, words: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=VALUE words."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UserError(f"{flag} takes pairs such as a=b, not {word!r}")
        if found.setdefault(name, value) != value:
            raise UserError(f"{flag} gives {name} twice: {found[name]} and {value}")
    return found


def _print_fit(document: ChoiceFit) -> None:
    for line in data_lines(document["data"]):
        say(line)
    for table in tables(document):
        print_table(*table)
