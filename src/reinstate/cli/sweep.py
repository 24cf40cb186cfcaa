"""The verb `sweep`: many runs, on this machine or on a cluster, and one table of all."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from reinstate.analysis.verdicts import over_seeds, with_interval
from reinstate.cli.parsing import Flag, Verb
from reinstate.cli.shared import shown
from reinstate.cli.tables import PER_EPISODE, print_table, say
from reinstate.errors import UserError
from reinstate.figures.page import require_page, write_page
from reinstate.runs.engines import Engine, Job
from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.sweep import Asked, Swept, plan, read_file, sweep
from reinstate.settings import read_set

SHOWN = 40  # rows of the table
MOST_ON_PAGE = 24  # runs of an experiment: more cannot be told apart in a chart
OwnNames = Annotated[tuple[str, ...], shown("NAME …", "each experiment's own")]
OwnInt = Annotated[int | None, shown("INT", "the preset's own")]


@dataclass(frozen=True, kw_only=True)
class Sweep(Verb):
    """Train and evaluate many runs: experiments × agents × settings × seeds, then one table of all.

      reinstate sweep rates.toml --out sweeps/rates
      reinstate sweep --experiments barcode-bandits --set learner.learning-rate=1e-3,3e-3
      reinstate sweep rates.toml --out sweeps/rates --workers 2 --dry-run
      reinstate sweep rates.toml --out sweeps/rates --executor submitit --workers 8

    FILE is TOML, with the names of the options below and a table of settings, which are those of
    `reinstate train`; an option given here counts instead of the file's.

      experiments = ["barcode-bandits", "water-maze"]
      agents = ["epl2rl", "l2rl"]
      seeds = 8
      seeds-per-run = 4
      [settings]
      learner.learning-rate = [1e-3, 3e-3]

    Each run goes to OUT/runs/NAME, as `train` and `evaluate` leave it. At the end OUT/sweep.csv
    has one row per seed, and OUT/report.html shows all. The same command again skips what is
    finished, resumes what was interrupted, and tries again what failed; started on several machines
    that share the folder, it shares the runs among them.
    """

    file: Annotated[Path | None, Positional, shown("FILE", "")] = None
    """What to sweep, as TOML; or say it by options."""
    experiments: Annotated[tuple[str, ...], shown("NAME …", "the file's")] = ()
    """Which experiments."""
    agents: OwnNames = ()
    """Which agents; `reinstate list` describes them."""
    set: Annotated[tuple[str, ...], shown("NAME=A,B …", "none")] = ()
    """Settings to try, by the names of train's options: learner.lanes=16,32."""
    preset: Annotated[str | None, shown("STR", "quick")] = None
    """Where all other settings come from: quick (a laptop's CPU) or paper (an accelerator)."""
    seeds: OwnInt = None
    """How many agents of each kind are trained."""
    first_seed: OwnInt = None
    """The first seed; the others count on from it."""
    seeds_per_run: Annotated[int | None, shown("INT", "all")] = None
    """Seeds that one run trains side by side."""
    retries: Annotated[int | None, shown("INT", "1")] = None
    """How often a run that failed is tried again."""
    engine: Annotated[Engine, tyro.conf.arg(name="")] = field(default_factory=Engine)
    dry_run: Flag = False
    """List the runs, and write nothing."""
    out: Path = Path("sweep")
    """Folder for everything that is written."""

    @property
    def asked(self) -> Asked:
        """Put together what the file and the options say."""
        found = read_file(self.file) if self.file else {}
        names = ("experiments", "agents", "preset", "seeds", "first_seed", "seeds_per_run")
        for name in (*names, "retries"):
            if (value := getattr(self, name)) not in (None, ()):
                found[name] = value
        found["settings"] = {**found.get("settings", {}), **read_set(self.set)}
        return Asked(**found)

    def do(self, command: str) -> Any:
        if self.dry_run:
            return {"runs": [_described(job) for job in plan(self.asked)]}
        page, reporter = self.out / "report.html", Reporter()
        require_page(page)
        swept = sweep(self.asked, self.engine, self.out, reporter)
        if swept.files and (shown := _shown(swept, self.out, reporter)):
            with reporter.working("one page of all runs"):
                write_page(shown, page)
            swept.files.append(page)
        rows = [_described(job, swept) for job in swept.jobs]
        result = {"runs": rows, "files": [str(path) for path in swept.files]}
        if swept.errors and swept.files:
            if not self.json:
                self.show(result)
            name, error = [*swept.errors.items()][-1]
            raise UserError(
                f"{len(swept.errors)} of {len(rows)} runs failed, the last with: {error}"
                f" ({name}); the same command tries them again"
            )
        return result

    def show(self, result: Any) -> None:
        if self.dry_run:
            for row in result["runs"]:
                say(row["run"])
            say(f"{len(result['runs'])} runs; nothing was written")
            return
        options = [row["options"] for row in result["runs"]]
        names = dict.fromkeys(name for each in options for name in each)
        varied = [name for name in names if len({each.get(name) for each in options}) > 1]
        rows = [_cells(row, varied) for row in result["runs"]]
        left = ["experiment", "agent", *varied, "seeds"]
        print_table(PER_EPISODE, left, ["reward [95%]"], rows[:SHOWN])
        if len(rows) > SHOWN:
            say(f"and {len(rows) - SHOWN} more")
        for row in result["runs"]:
            if row["error"]:
                say(f"failed: {row['run']}: {row['error']}")
        if result["files"]:
            say(f"{', '.join(Path(name).name for name in result['files'])} are in {self.out}")
            return
        others = sum(not row["done"] and not row["error"] for row in result["runs"])
        say(f"{others} runs are under way elsewhere: the last to end writes the table")


def _shown(swept: Swept, out: Path, reporter: Reporter) -> list[Path]:
    """List the runs that the page shows: of each experiment some."""
    done: dict[str, list[Path]] = {}
    for job in swept.jobs:
        if job.name in swept.rows:
            done.setdefault(job.experiment, []).append(job.run(out).path)
    for name, paths in done.items():
        if len(paths) > MOST_ON_PAGE:
            reporter.note(f"report.html shows {MOST_ON_PAGE} of {len(paths)} runs of {name}")
    return [path for each in done.values() for path in each[:MOST_ON_PAGE]]


def _described(job: Job, swept: Swept | None = None) -> dict[str, Any]:
    """Return a run as JSON has it; after a sweep, with what came of it."""
    first, count = job.settings["first_seed"], job.settings["seeds"]
    row: dict[str, Any] = {"run": job.name, "experiment": job.experiment, "agent": job.agent}
    row |= {"options": {**job.options}, "seeds": f"{first}-{first + count - 1}"}
    if swept:
        rows = swept.rows.get(job.name)
        row |= {"done": bool(rows), "error": swept.errors.get(job.name, "")}
        row |= {"reward": over_seeds([each["reward"] for each in rows])} if rows else {}
    return row


def _cells(row: dict[str, Any], varied: list[str]) -> list[str]:
    values = [str(row["options"].get(name, "")) for name in varied]
    reward = "failed" if row["error"] else ""
    if "reward" in row:
        reward = with_interval(row["reward"], find_experiment(row["experiment"]).number)
    return [row["experiment"], row["agent"], *values, row["seeds"], reward]
