"""How fast training and evaluation are on this machine, how that grows, and what limits it.

    python benchmarks/speed.py                # two or three minutes on two cores
    python benchmarks/speed.py --axes lanes seeds hidden memory epoch unroll
    python benchmarks/speed.py --experiments water-maze two-step --measure speed --axes lanes

Programs take turns, so that a busy moment hits them all. Reported are the median and the quartiles
of steps per second, compile time apart; floors say what the machine could do at best. An axis is
varied while all else stays as the preset has it: lanes, seeds, hidden (units), memory (slots),
epoch (episodes), unroll (steps compiled side by side). PyTorch is compared where it is installed.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import tyro

import against_pytorch
from cases import AXES, KINDS, Case, Program, case_of
from floors import Machine, floor_of, measure_machine
from measuring import load, made, rates, rounded, take_turns, write_record
from reinstate import devices
from reinstate.errors import UserError
from reinstate.figures.chart import Chart, Series
from reinstate.figures.mpl import draw, save_figure
from reinstate.figures.style import label, palette

Axis = Literal["lanes", "seeds", "hidden", "memory", "epoch", "unroll"]
Measure = Literal["speed", "rivals"]
PATIENCE = 10.0  # seconds that the programs of one curve may take turns
NOTE = "Median over repetitions, with quartiles."
SAYS = {"train": "training", "judge": "evaluation"}


@dataclass(frozen=True)
class Options:
    experiments: tuple[str, ...] = ("barcode-bandits",)
    agents: tuple[str, ...] = ("epl2rl",)
    axes: tuple[Axis, ...] = ("lanes",)
    measure: tuple[Measure, ...] = ("speed", "rivals")
    preset: str | None = None
    """quick on a CPU, else paper, if not given."""
    repeats: int = 5
    """How often each program is timed; those of one curve stop after 10 s, if timed three times."""
    out: Path = Path("speed")
    """Folder for cpu.json, or gpu.json, and a figure for each curve."""


def main(options: Options) -> None:
    began, platform, busy = time.perf_counter(), jax.default_backend(), load()
    preset = options.preset or ("quick" if platform == "cpu" else "paper")
    machine = measure_machine()
    found: dict[str, Any] = {"machine": {"flops": machine.flops, "bytes": machine.traffic}}
    found["curves"] = []
    if "speed" in options.measure:
        found["curves"] = [*curves(options, preset, machine)]
    if "rivals" in options.measure:
        say("rivals")
        found["rivals"] = against_pytorch.compare(preset, options.repeats)
    told = {"load": busy, "preset": preset}  # load before it began
    document = {**made(), **told, **found, "seconds": round(time.perf_counter() - began)}
    write_record(options.out / f"{platform}.json", document)
    for name, chart in charts(document).items():
        save_figure(draw([chart], chart.title), options.out / f"{platform}-{name}.svg", 200)
    say(f"{document['seconds']} s; see {options.out}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def curves(options: Options, preset: str, machine: Machine) -> Iterator[dict[str, Any]]:
    """Measure every experiment and agent as the preset has it, then along each axis."""
    laptop = jax.default_backend() == "cpu"
    for experiment in options.experiments:
        yield from measured(
            options, [case_of(experiment, a, preset) for a in options.agents], machine
        )
        for axis in options.axes:
            sizes = AXES[axis].laptop if laptop else AXES[axis].accelerator
            cases = [
                case_of(experiment, agent, preset, axis, value)
                for value in sizes
                for agent in options.agents
            ]
            yield from measured(options, cases, machine)


def measured(options: Options, cases: Sequence[Case], machine: Machine) -> Iterator[dict[str, Any]]:
    """Compile all cases of one curve, and let them take turns."""
    programs: dict[tuple[str, Case], Program] = {}
    for case in cases:
        for kind in KINDS if case.axis != "unroll" else ("train",):  # which evaluation has not
            say(f"{case.experiment}, {case.agent} {case.axis} {case.value or ''}: compiling {kind}")
            programs[kind, case] = KINDS[kind](case)
    seconds = take_turns(programs, options.repeats, PATIENCE)
    for (kind, case), program in programs.items():
        rate, compiled = rates(program.steps, seconds[kind, case]), program.compiled
        say(f"{case.agent} {case.axis} {case.value or ''} {kind}: {rate['median']:,.0f} steps/s")
        yield {
            **case.told,
            "kind": kind,
            "steps_per_second": rate,
            "compile": {"trace": rounded(compiled.trace, 3), "xla": rounded(compiled.xla, 3)},
            "program_bytes": compiled.memory,
            "floor": floor_of(case, machine, rate["median"], kind == "train"),
        }


def charts(document: dict[str, Any]) -> dict[str, Chart]:
    """Return one chart per curve, by the name of its file."""
    found = {}
    varied = [row for row in document["curves"] if "axis" in row]
    for experiment, axis in dict.fromkeys((row["experiment"], row["axis"]) for row in varied):
        rows = [row for row in varied if (row["experiment"], row["axis"]) == (experiment, axis)]
        agents = [*dict.fromkeys(row["agent"] for row in rows)]
        lines = {
            (f"{label(agent)}, {SAYS[kind]}", colour, (4.0, 2.0) if kind == "judge" else ()): [
                row for row in rows if (row["agent"], row["kind"]) == (agent, kind)
            ]
            for agent, colour in zip(agents, palette(agents), strict=True)
            for kind in KINDS
        }
        title = f"Speed: {experiment.replace('-', ' ')}"
        found[f"{experiment}-{axis}"] = _chart(title, axis, lines)
    return found


def _chart(title: str, axis: str, lines: dict[Any, list[dict[str, Any]]]) -> Chart:
    """Draw steps per second, in thousands, of each line's rows."""
    series = []
    for (name, colour, dash), unsorted in lines.items():
        rows = sorted(unsorted, key=lambda row: float(row["value"]))
        rates = [row["steps_per_second"] for row in rows]
        spread = [(each["quartiles"][0] / 1e3, each["quartiles"][1] / 1e3) for each in rates]
        heights = [each["median"] / 1e3 for each in rates]
        if rows:
            series.append(
                Series(name, colour, [row["value"] for row in rows], heights, spread, dash=dash)
            )
    x_label, y_label = f"{axis}, log scale", "steps per second (thousands)"
    return Chart(title, x_label, y_label, series, log_x=True, note=NOTE, include=(0.0,))


if __name__ == "__main__":
    try:
        devices.divide_cpu()
        jax.config.update("jax_enable_compilation_cache", False)  # compile times are measured
        main(tyro.cli(Options, description=__doc__))
    except UserError as error:
        sys.exit(f"speed: {error}")
