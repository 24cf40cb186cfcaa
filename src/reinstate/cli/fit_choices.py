"""The verb `fit-choices`: which strategies explain a table of two-step choices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional

from reinstate.choices.agents import RATES, recovery
from reinstate.choices.comparison import require_arviz
from reinstate.choices.documents import recovery_summary, summary
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import Design
from reinstate.cli.shared import Flag, NewFile, Verb, shown
from reinstate.cli.tables import say, say_next
from reinstate.errors import UserError, nearest, require_positive, require_seed
from reinstate.files import require_empty, require_new
from reinstate.runs.choice_fits import (
    fit_beside,
    fit_choices,
    is_fit,
    label_of,
    read_design,
    read_fit,
    save_recovery,
    write_example,
)
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.settings import read_pairs

READ_BY = ("columns", "common")  # options that are pairs
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

    With --recover it fits simulated agents of known weights, who play as much as is in FILE or as
    you plan, and tells how well these are recovered. Weights lie between -0.5 and 2 or, where FILE
    is the folder of an earlier fit, around the fitted ones.

      reinstate fit-choices theirs.csv --columns action=choice1 reward=win --common left=pink
      reinstate fit-choices choices.csv --recover like-mine
    """

    file: Annotated[Path | None, Positional, shown("FILE", "")] = None
    """The table; --example writes one. With --recover also the folder of an earlier fit."""
    example: NewFile = None
    """Write an example of a table to this new .csv file, of simulated agents, and do no more."""
    recover: Annotated[Path | None, shown("DIR", "")] = None
    """New folder for recovery.csv, recovery.json and the figure, in place of those of a fit."""
    design: Annotated[tuple[str, ...], shown("NAME=NUMBER …", "as in FILE")] = ()
    """What simulated agents play, such as participants=20 sessions=30 episodes=100 p_common=0.8
    cued=0.5, which it is without FILE. Rewards are those of the paper's task, with reversals."""
    columns: Annotated[tuple[str, ...], shown("OURS=THEIRS …", "our names")] = ()
    """Columns that have other names in the table, such as action=choice1 reward=win."""
    common: Annotated[tuple[str, ...], shown("ACTION=STATE …", "in sorted order")] = ()
    """To which state an action commonly leads, such as left=pink."""
    signed_rewards: Flag = False
    """Rewards are -1 and 1."""
    model: Model = "one-back"
    """Hierarchical: people's weights share a group; it needs NumPyro (the extra reinstate[fit])."""
    compare: Flag = False
    """Fit rival models too (hierarchical ones take minutes and the extra reinstate[arviz]). They
    are learned values, one-back and no strategy; or hierarchical ones without each strategy."""
    beside: Annotated[tuple[Path, ...], shown("FILE …", "none")] = ()
    """Show other choices too: tables, such as `reinstate evaluate --choices` writes, or folders of
    earlier fits. Tables are read like FILE, or else by our names."""
    skip_bad: Flag = False
    """Drop rows that make no sense, and say how many; by default they are named and it stops."""
    prior_sd: float = PRIOR_SD
    """Width of the weak prior that keeps weights finite where a rule has no exception."""
    seed: int = 0
    """Where random numbers start, of the hierarchical sampler and of simulated agents."""
    draws: NewFile = None
    """Also write the hierarchical model's posterior draws to this new NetCDF file, for ArviZ."""
    out: Annotated[Path | None, shown("DIR", "choice-fit/ and FILE's name")] = None
    """New folder for weights.csv, fit.json and figures."""

    def do(self, command: str) -> Any:
        require_positive(prior_sd=self.prior_sd)
        require_seed(seed=self.seed)
        if self.example:
            require_new(self.example, "--example")
            write_example(self.example, self.seed)
            return {"example": str(self.example)}
        how: Any = {name: read_pairs(f"--{name}", getattr(self, name)) for name in READ_BY}
        how |= {"signed_rewards": self.signed_rewards, "skip_bad": self.skip_bad}
        if self.recover:
            return self._recover(self.recover, how)
        if self.file is None:
            raise UserError("fit-choices needs FILE first (see reinstate fit-choices --help)")
        return self._fit(self.file, how | {"prior_sd": self.prior_sd, "seed": self.seed})

    def _recover(self, out: Path, how: Any) -> Any:
        require_empty(out, "choose another --recover")
        design = read_design(self.file, **how) if self.file else Design()
        for name, number in read_pairs("--design", self.design).items():
            if name not in Design._fields:
                raise UserError(nearest("part of a design", name, Design._fields))
            try:
                design = design._replace(**{name: type(getattr(Design(), name))(number)})
            except ValueError:
                raise UserError(f"--design: {name} is a number, not {number!r}") from None
        options: Any = {"seed": self.seed, "model": self.model, "prior_sd": self.prior_sd}
        if self.file and is_fit(self.file):
            options["like"] = read_fit(self.file)
        with Reporter().working(f"{WORK[self.model]}: simulated agents"):
            found = recovery(alpha=RATES[self.model], **design._asdict(), **options)
        document: Any = {**found, "seed": self.seed, "prior_sd": self.prior_sd, **provenance()}
        save_recovery(document, out)
        return {**document, "out": str(out)}

    def _fit(self, file: Path, how: Any) -> Any:
        out = self.out or Path("choice-fit") / label_of(file)
        require_empty(out, "choose another --out")
        self._check_draws()
        reporter = Reporter()
        others = {}
        for path in self.beside:  # first, since they may be at fault when FILE takes long
            with reporter.working(f"{path}: {WORK[self.model]}"):
                others[path] = fit_beside(path, self.model, how)
        with reporter.working(f"{file}: {WORK[self.model]}"):
            found = fit_choices(file, self.model, compare=self.compare, **how)
        for path, other in others.items():
            found.put_beside(label_of(path), other)
        found.save(out)
        if self.draws:
            found.save_draws(self.draws)
        return {**found.document, "out": str(out)}

    def _check_draws(self) -> None:
        if self.draws:
            if self.model != "hierarchical":
                raise UserError("--draws needs --model hierarchical: other models have no draws")
            require_new(self.draws, "--draws")
            require_arviz()  # before a minute is spent on sampling

    def show(self, result: Any) -> None:
        if self.example:
            return say_next(["reinstate", "fit-choices", self.example], "fit it")
        text = recovery_summary(result) if self.recover else summary(result)
        for label, other in result.get("beside", {}).items():
            text += f"\n\nbeside it, {label}:\n{summary(other)}"
        for line in text.splitlines():
            say(line)
        if self.recover:
            say(f"recovery.png, recovery.svg, recovery.csv and recovery.json are in {self.recover}")
            return say_next(["reinstate", "fit-choices", "FILE"], "fit choices of your own")
        made = "weights.csv, fit.json, choice-weights.png and stay.png (and .svg)"
        say(f"{made} are in {result['out']}")
        if self.draws:
            say(f"posterior draws are in {self.draws}")
        again = ["reinstate", "fit-choices", result["out"], "--recover", "recovery"]
        say_next(again, "see how well as many choices tell weights")
