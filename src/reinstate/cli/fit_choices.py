"""The verb `fit-choices`: which strategies explain a table of two-step choices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional

from reinstate.choices.documents import ChoiceFit
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import NAMES
from reinstate.choices.participants import interval_and_p
from reinstate.cli.shared import Flag, Verb, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.errors import UserError, require_positive
from reinstate.files import require_empty
from reinstate.runs.choice_fits import fit_file, save_fit
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
      episode       whole numbers that grow within a session
      cued          1 or true where the cue of an earlier episode is shown again
      cue_episode   the number of that episode, in the same session; empty where not cued
      action        the first-stage choice: any two labels
      state         the second stage reached: any two labels
      reward        0 or 1

    Without cued and cue_episode it is the classic task.

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
    """

    file: Annotated[Path, Positional, shown("FILE")]
    """The table; `reinstate example-choices FILE.csv` writes one."""
    columns: Annotated[tuple[str, ...], shown("OURS=THEIRS …", "our names")] = ()
    """Columns that have other names in the table, such as action=choice1 reward=win."""
    common: Annotated[tuple[str, ...], shown("ACTION=STATE …", "in sorted order")] = ()
    """To which state an action commonly leads, such as left=pink."""
    model: Model = "one-back"
    """Hierarchical: people's weights share a group; it needs NumPyro (the extra reinstate[fit])."""
    skip_bad: Flag = False
    """Drop rows that make no sense, and say how many; by default they are named and it stops."""
    prior_sd: float = PRIOR_SD
    """Width of the weak prior that keeps weights finite where a rule has no exception."""
    seed: int = 0
    """Where the hierarchical sampler's random numbers start."""
    out: Annotated[Path | None, shown("DIR", "choice-fit/ and FILE's name")] = None
    """New folder for weights.csv, fit.json and figures."""

    def do(self, command: str) -> Any:
        columns, common = pairs("--columns", self.columns), pairs("--common", self.common)
        require_positive(prior_sd=self.prior_sd)
        require_seed(self.seed)
        require_empty(self._folder, "choose another --out")
        reporter = Reporter()
        how = (self.model, self.skip_bad, self.prior_sd, self.seed)
        with reporter.working(f"{self.file}: {WORK[self.model]}"):
            document = fit_file(self.file, columns, common, *how)
        for warning in document["warnings"]:
            reporter.note(f"warning: {warning}")
        save_fit(document, self._folder)
        return {**document, "out": str(self._folder)}

    def show(self, result: Any) -> None:
        _print_data(result["data"])
        _print_weights(result)
        made = "weights.csv, fit.json, choice-weights.png and stay.png (and .svg)"
        say(f"{made} are in {self._folder}")
        say_next(["reinstate", "recover-choices", "recovery"], "see how well weights are recovered")

    @property
    def _folder(self) -> Path:
        return self.out or Path("choice-fit") / self.file.stem


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


def _print_data(data: dict[str, Any]) -> None:
    """Say how much there is, and which state each action is taken to lead to."""
    things = {n: data[n] for n in ("participants", "sessions", "episodes")}
    counts = [f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in things.items()]
    say(f"{', '.join(counts)}, {data['cued']:,} of them cued")
    led = [f"{a} → {s}" for a, s in zip(data["actions"], data["states"], strict=True)]
    say(f"taken as common: {', '.join(led)}")


def _print_weights(document: ChoiceFit) -> None:
    """Print one row per weight: mean over participants with its interval, and p, by part."""
    group, tested = document["group"], document["model"] != "hierarchical"
    columns = [name for part in group for name in (f"{part} [95%]", "p")[: 1 + tested]]
    names = dict.fromkeys([*NAMES["cued"], *(name for part in group.values() for name in part)])
    rows = [
        [name, *(cell for part in group for cell in _cells(document, part, name)[: 1 + tested])]
        for name in names
    ]
    if not tested:
        title = "group mean, and where it lies with 95% probability"
    elif document["data"]["participants"] == 1:
        title = "weights of the only participant; p of z"
    else:
        title = "mean weights over participants; p of Student's t"
    print_table(title, ["weight"], columns, [row for row in rows if any(row[1:])])


def _cells(document: ChoiceFit, part: str, name: str) -> tuple[str, str]:
    """Write a mean with its interval, and p."""
    weight = document["group"][part].get(name)
    if weight is None:
        return "", ""
    ci95, p = interval_and_p(document, part, name)
    mean = f"{weight['mean']:.2f}" + (f" [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 else "")
    if p is None:
        return mean, ""
    return mean, "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
