"""The verb `reproduce`: an experiment from end to end, or all of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from reinstate.analysis.results import Results, Summary
from reinstate.cli.parsing import Verb
from reinstate.cli.shared import Computing, Names, Training, W, described, shown
from reinstate.cli.tables import (
    PER_EPISODE,
    print_agents,
    print_alarms,
    print_checks,
    print_table,
    say,
)
from reinstate.errors import UserError
from reinstate.registry import Registry
from reinstate.runs.experiment import Experiment, find_experiment, of_the_paper

STUDIES: Registry[type[Verb]] = Registry("study", {})  # of many runs, with options of their own


@dataclass(frozen=True, kw_only=True)
class Reproduce(Training[W]):
    """Train an experiment's agents, evaluate frozen weights, and check the paper's claims.

      reinstate reproduce barcode-bandits
      reinstate reproduce barcode-bandits --agents epl2rl l2rl --seeds 2 --out two
      reinstate reproduce barcode-bandits --resume
      reinstate reproduce all

    results.json, figures, report.html and a run per agent go to --out. Every setting is an option,
    with a default from the experiment's preset: `reinstate reproduce EXPERIMENT --help-all`
    explains them all.
    """

    agents: Names
    """Which agents; `reinstate list` describes them."""
    rates: Annotated[Path | None, shown("FILE", "")] = None
    """A search.json of `reinstate tune`: each agent is trained at what was best for it there."""

    def do(self, command: str) -> Results:
        from reinstate.figures.page import require_page, write_page
        from reinstate.files import locked
        from reinstate.runs.progress import Reporter
        from reinstate.runs.reproduce import reproduce

        _require_names("--agents", self.agents)
        self.start(self.devices)
        tuned: dict[str, Any] = {}
        if self.rates:
            from reinstate.runs.search import best_rates

            tuned = best_rates(self.rates, self.agents, self.settings.learner)
        require_page(self._page)
        what = (self.experiment, self.preset, self.agents, self.settings, self.out, Reporter())
        how: Any = {"resume": self.resume, "tuned": tuned, **self.how}
        with locked(self.out):
            results = reproduce(*what, command=command, **how)
            write_page([self.out], self._page)
        return results

    def show(self, result: Results) -> None:
        from reinstate.analysis.verdicts import count_verdicts, in_words

        print_agents(self.experiment, result["agents"])
        print_checks(result["checks"])
        print_alarms(result["alarms"])
        seconds, verdicts = result["seconds"]["total"], count_verdicts(result["checks"])
        say(in_words(verdicts))
        say(f"{seconds:.0f} s; results.json and training-curves.png are in {self.out}")
        say(f"next: open {self._page} in a browser")

    @property
    def _page(self) -> Path:
        return self.out / "report.html"

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        return {"agents": experiment.agents, "out": Path("reproduction") / experiment.name}

    @classmethod
    def words(cls) -> dict[str, str]:
        studies = described(STUDIES, STUDIES.find, lambda kind: kind.__doc__.partition("\n")[0])
        return {**super().words(), "all": "all experiments of the paper, and one report"} | studies

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        if word == "all":
            return All, All(experiments=of_the_paper())
        if word in STUDIES:
            return STUDIES[word], STUDIES[word]()
        return super().for_word(word, arguments)


@dataclass(frozen=True, kw_only=True)
class All(Computing):
    """Reproduce every experiment of the paper with its preset, and make one report of them.

    Each goes to OUT/EXPERIMENT, as if it had been reproduced alone; then OUT/report.html shows all
    of them and OUT/summary.json has their numbers. After an interruption the same command
    continues: what is finished is not done again.

    Settings of single experiments cannot be changed here, except --preset, --seeds and
    --first-seed; `reinstate reproduce EXPERIMENT` takes them all.
    """

    experiments: Names
    """Which experiments."""
    preset: str = "quick"
    """Where settings come from: quick (a laptop's CPU) or paper (an accelerator)."""
    seeds: Annotated[int | None, shown("INT", "the preset's own")] = None
    """How many agents of each kind are trained."""
    first_seed: Annotated[int | None, shown("INT", "0")] = None
    """The first seed; the others count on from it. Other seeds make a replicate."""
    out: Path = Path("reproduction")
    """Folder for everything that is written."""

    def do(self, command: str) -> Summary:
        from reinstate.figures.page import require_document, require_page, write_page
        from reinstate.files import locked, write_document
        from reinstate.runs.progress import Reporter
        from reinstate.runs.whole import reproduce_all, summarise

        _require_names("--experiments", self.experiments)
        page, file = self.out / "report.html", self.out / "summary.json"
        require_page(page)
        require_document(file, Summary)
        self.start()
        asked = {"seeds": self.seeds, "first_seed": self.first_seed}
        changes: Any = {name: value for name, value in asked.items() if value is not None}
        what = (self.experiments, self.preset, self.out, Reporter())
        with locked(self.out):
            found = reproduce_all(*what, command=command, **changes)
            summary = summarise(found, command)
            write_page([self.out / name for name in found], page)
            write_document(file, summary)
        return summary

    def show(self, result: Summary) -> None:
        from reinstate.analysis.verdicts import in_words, with_interval

        rows: list[list[str]] = []
        for name, part in result["experiments"].items():
            number = find_experiment(name).number
            for place, (agent, scores) in enumerate(part["agents"].items()):
                share = scores["share_of_ceiling"]
                shares = "" if share is None else f"{share:.1%}"
                reward = with_interval(scores["reward"], number)
                rows.append(["" if place else name, agent, reward, shares])
            rows.append([])
        print_table(PER_EPISODE, ["experiment", "agent"], ["reward [95%]", "of ceiling"], rows)
        for name, part in result["experiments"].items():
            say(name)
            print_checks(part["checks"])
            print_alarms(part["alarms"])
        say(f"{in_words(result['totals'])}; {result['totals']['seconds']:.0f} s")
        say(f"next: open {self.out / 'report.html'} in a browser")


def _require_names(flag: str, names: tuple[str, ...]) -> None:
    if not names:
        raise UserError(f"{flag} needs at least one name; `reinstate list` has them")
