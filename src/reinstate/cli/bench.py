"""The verb `bench`: how fast training and judging are here, and how that grows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from reinstate import devices
from reinstate.bench.bench import MEASURES, Asked, bench, require_files
from reinstate.cli.parsing import Verb
from reinstate.cli.shared import Names, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.runs.progress import Reporter
from reinstate.runs.size import in_bytes


@dataclass(frozen=True, kw_only=True)
class Bench(Verb):
    """Measure how fast agents are trained and judged on this machine, and what makes it slower.

    Programs take turns, so that a busy moment hits them all. Reported are the median and the
    quartiles of steps per second, compile time apart; beside them stands what the machine could do
    at best. That takes two or three minutes on two cores, and all axes take two more:

      reinstate bench
      reinstate bench --axes lanes seeds hidden memory epoch unroll
      reinstate bench --experiments water-maze two-step --measure speed --axes lanes=32,256

    An axis is varied while all else stays as the preset has it: lanes, seeds, hidden (units),
    memory (slots), epoch (episodes), unroll (steps compiled side by side). Ours is compared with
    PyTorch where that is installed.
    """

    experiments: Names = ("barcode-bandits",)
    """Which experiments."""
    agents: Names = ("epl2rl",)
    """Which agents; `reinstate list` describes them. Parts, start and reward are the first's."""
    axes: Annotated[tuple[str, ...], shown("NAME=A,B …", "lanes")] = ("lanes",)
    """What to vary, each with values of its own or with those given: lanes=16,64."""
    measure: Annotated[tuple[str, ...], shown("NAME …", "all")] = tuple(MEASURES)
    """What to measure: speed, rivals, parts (of an epoch), start (of a command), reward (time)."""
    preset: Annotated[str | None, shown("STR", "quick on a CPU, else paper")] = None
    """Where all settings come from."""
    repeats: int = 5
    """How often each program is timed; those of one curve stop after 10 s, if timed three times."""
    reward: Annotated[float | None, shown("FLOAT", "7 in barcode bandits")] = None
    """The reward per episode to train up to."""
    figures: Annotated[tuple[str, ...], shown("KIND …", "svg")] = ("svg",)
    """What figures are written as: svg, png, pdf."""
    out: Path = Path("benchmarks")
    """Folder for what is written: cpu.json, or gpu.json, and a figure for each curve. Files of an
    earlier call are replaced."""

    def __post_init__(self) -> None:
        require_files(self.figures)

    @property
    def asked(self) -> Asked:
        """Put together what to measure; what cannot be is refused."""
        size = (self.preset, self.repeats, self.reward)
        return Asked(self.experiments, self.agents, self.axes, self.measure, *size)

    def do(self, command: str) -> Any:
        asked = self.asked
        devices.divide_cpu()
        return bench(asked, self.out, Reporter(), command, self.figures)

    def show(self, result: Any) -> None:
        _show_speed(result["curves"])
        if "rivals" in result:
            _show_rivals(result["rivals"])
        if "parts" in result:
            rows = [[r["part"], f"{r['share']:.0%}"] for r in result["parts"]["rows"]]
            print_table("where the time of training goes", ["part"], ["share"], rows)
        if start := result.get("start"):
            cold, warm = (f"{start[kind]['seconds']:.1f} s" for kind in ("cold", "warm"))
            say(f"first progress line: {cold}, and {warm} with compiled programs kept")
        for row in result.get("rewards", ()):
            _show_reward(row)
        if result["peak_host_bytes"]:
            say(f"peak memory of this process: {in_bytes(result['peak_host_bytes'])}")
        say(f"{result['seconds']} s on {result['device']}")
        say_next(["ls", self.out], "the record and its figures")


def _show_speed(curves: list[dict[str, Any]]) -> None:
    if not curves:
        return
    rows = []
    for row in curves:
        rate, spent = row["steps_per_second"], row["compile"]
        size = f"{row['axis']} {row['value']}" if "axis" in row else "preset"
        share = row["floor"].get("share")
        rows.append(
            [
                row["experiment"],
                row["agent"],
                row["kind"],
                size,
                f"{rate['median']:,.0f}",
                "{:,.0f} to {:,.0f}".format(*rate["quartiles"]),
                "" if share is None else f"{share:.0%}",
                f"{spent['trace']:.1f} + {spent['xla']:.1f} s",
            ]
        )
    left = ["experiment", "agent", "", "at"]
    right = ["steps/s", "quartiles", "of the peak", "compiling"]
    print_table("steps per second", left, right, rows)


def _show_rivals(rivals: dict[str, Any]) -> None:
    rows = []
    for row in rivals["rows"]:
        threads = row.get("threads", 0)
        name = f"{row['name']}, {threads} thread{'s' * (threads > 1)}" if threads else row["name"]
        rate, ours = row["steps_per_second"]["median"], row["ours"]["median"]
        rows.append([name, f"{row['batch']:,}", f"{rate:,.0f}", f"× {ours:,.2f}"])
    print_table("rivals", ["who"], ["lanes in all", "steps/s", "ours is as fast"], rows)
    for name, what in (("one_lane", "with one lane"), ("at_its_best", "at its best")):
        if row := rivals.get(name):
            low, high = row["ours"]["quartiles"]
            said = f"× {row['ours']['median']:.3g} [{low:.3g}, {high:.3g}]"
            say(f"ours against PyTorch {what} ({row['batch']:,} lanes): {said}")


def _show_reward(row: dict[str, Any]) -> None:
    seeds = f"{row['seeds']} seed{'s' * (row['seeds'] > 1)}"
    told = f"{row['experiment']}, {row['agent']} by {row['name']}, {seeds}: {row['reward']:g}"
    told += " per episode"
    if row["reached"]:
        compiling = row["compile_seconds"]
        more = f", and {compiling:.1f} s of compiling" if compiling else ""
        say(f"{told} after {row['train_seconds']:.1f} s of training{more}")
    else:
        say(f"{told} was not reached in {row['epochs']} epochs; the best was {row['best']:g}")
