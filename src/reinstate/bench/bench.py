"""All measurements as one document, with what made them, and a figure of each curve."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax

from reinstate.agent import AGENTS
from reinstate.bench import parts, rivals, starting
from reinstate.bench.cases import AXES, KINDS, Case, Program, Shelf, case_of, read_axes
from reinstate.bench.charts import charts
from reinstate.bench.floors import Machine, floor_of, measure_machine
from reinstate.bench.timing import (
    cores,
    load,
    peak_device_bytes,
    peak_host_bytes,
    processor,
    rates,
    rounded,
    take_turns,
)
from reinstate.devices import describe
from reinstate.errors import UserError, nearest, require_positive
from reinstate.figures.mpl import draw
from reinstate.figures.writing import KINDS as FILES
from reinstate.figures.writing import save_figure
from reinstate.files import write_document
from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.size import require_room

MEASURES = {
    "speed": "steps per second and compile time, and floors of both",
    "rivals": "PyTorch, and ours without memory",
    "parts": "where the time of training goes",
    "start": "time to the first progress line",
    "reward": "time to a stated reward",
}
REWARDS = {"barcode-bandits": 7.0}  # stated, of experiments that were asked for no other
Kind = tuple[str, Case]  # train or judge, and what
PATIENCE = 10.0  # seconds that the programs of one curve may take turns
DPI = 200


@dataclass(frozen=True)
class Asked:
    """What to measure."""

    experiments: Sequence[str]
    agents: Sequence[str]
    axes: Sequence[str]
    measures: Sequence[str]
    preset: str | None
    repeats: int
    reward: float | None

    def __post_init__(self) -> None:
        require_positive(repeats=self.repeats)
        for name in self.measures:
            if name not in MEASURES:
                raise UserError(nearest("measure", name, MEASURES))
        for agent in self.agents:
            AGENTS.find(agent)
        if not (self.experiments and self.agents):
            raise UserError("bench needs an experiment and an agent: name some, or leave it out")
        for name in self.experiments:
            find_experiment(name)
        read_axes(self.axes, laptop=True)


class Speed(NamedTuple):
    """Programs of experiments and agents, to be timed at one size after the other."""

    asked: Asked
    preset: str
    machine: Machine
    reporter: Reporter
    shelf: Shelf

    def curves(self) -> Iterator[dict[str, Any]]:
        """Measure every experiment and agent as the preset has it, then along each axis."""
        laptop = jax.default_backend() == "cpu"
        for experiment in self.asked.experiments:
            yield from self._measured(experiment, self._compiled(experiment))
            for axis, values in read_axes(self.asked.axes, laptop).items():
                found: dict[Kind, Program] = {}
                for value in values:
                    found |= self._compiled(experiment, axis, value)
                yield from self._measured(f"{experiment}, {axis}", found)

    def _compiled(self, experiment: str, axis: str = "", value: int = 0) -> dict[Kind, Program]:
        found: dict[Kind, Program] = {}
        for agent in self.asked.agents:
            case = case_of(experiment, agent, self.preset, axis, value)
            what = ", ".join(filter(None, [experiment, agent, f"{axis} {value}" * bool(axis)]))
            judged = not axis or AXES[axis].judged
            for kind in KINDS if judged else ("train",):
                try:
                    require_room(case.settings, agent, judged=kind == "judge")
                except UserError as error:
                    self.reporter.note(f"{what} is left out: {error}")
                    continue
                with self.reporter.working(f"{what}: compiling to {kind}"):
                    found[kind, case] = self.shelf.get(kind, case)
        return found

    def _measured(self, name: str, found: dict[Kind, Program]) -> Iterator[dict[str, Any]]:
        with self.reporter.working(f"{name}: {len(found)} programs take turns"):
            seconds = take_turns(found, self.asked.repeats, PATIENCE)
        for (kind, case), program in found.items():
            rate, compiled = rates(program.steps, seconds[kind, case]), program.compiled
            spent = {"trace": rounded(compiled.trace, 3), "xla": rounded(compiled.xla, 3)}
            yield {
                **case.told,
                "kind": kind,
                "steps_per_second": rate,
                "compile": spent,
                "program_bytes": compiled.memory,
                "floor": floor_of(case, self.machine, rate["median"], kind == "train"),
            }


def bench(asked: Asked, out: Path, reporter: Reporter, command: str, kinds: Sequence[str]) -> Any:
    """Measure what was asked for; write a document and figures; return the document."""
    began, platform, busy = time.perf_counter(), jax.default_backend(), load()
    preset = asked.preset or ("quick" if platform == "cpu" else "paper")
    cases = [case_of(e, a, preset) for e in asked.experiments for a in asked.agents]
    out.mkdir(parents=True, exist_ok=True)  # now, and not after minutes, if that cannot be
    with compiling_everything():
        found = _found(asked, preset, cases, reporter)
    document = {
        "command": command,
        **provenance(),
        "device": describe(),
        "processor": processor(),
        "cores": cores(),
        "load": busy,  # before it began
        "preset": preset,
        **found,
        "peak_host_bytes": peak_host_bytes(),
        "peak_device_bytes": peak_device_bytes(),
        "seconds": round(time.perf_counter() - began),
    }
    write_document(out / f"{platform}.json", document)
    for name, drawn in charts(document).items():
        for kind in kinds:
            save_figure(draw(drawn, drawn[0].title), out / f"{platform}-{name}.{kind}", DPI)
    return document


def _found(asked: Asked, preset: str, cases: Sequence[Case], reporter: Reporter) -> dict[str, Any]:
    """Measure one thing after the other; programs that several need are compiled once."""
    shelf, first = Shelf(), cases[0]
    with reporter.working("what this machine can do"):
        machine = measure_machine()
    found: dict[str, Any] = {"curves": []}
    found["machine"] = {"flops": machine.flops, "bytes": machine.traffic}
    if "speed" in asked.measures:
        found["curves"] = [*Speed(asked, preset, machine, reporter, shelf).curves()]
    if "rivals" in asked.measures:
        found["rivals"] = rivals.compare(preset, asked.repeats, reporter, shelf)
    if "parts" in asked.measures:
        with reporter.working(f"{first.experiment}, {first.agent}: an epoch and its parts"):
            seconds = take_turns(parts.programs(first, shelf), asked.repeats)
        found["parts"] = {**first.told, "rows": parts.shares(seconds)}
    if "start" in asked.measures:
        with reporter.working(f"{first.experiment}, {first.agent}: starting twice"):
            found["start"] = starting.starts(first, preset)
    if "reward" in asked.measures:
        found["rewards"] = [*_rewards(asked, cases, reporter, shelf)]
    return found


@contextmanager
def compiling_everything() -> Iterator[None]:
    """Let nothing that was compiled before count: compile times are measured."""
    before = jax.config.values["jax_enable_compilation_cache"]
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)


def _rewards(
    asked: Asked, cases: Sequence[Case], reporter: Reporter, shelf: Shelf
) -> Iterator[dict[str, Any]]:
    """Train each experiment's first agent to the reward that is stated for it; and the rival."""
    for case in cases:
        target = REWARDS.get(case.experiment) if asked.reward is None else asked.reward
        if target is None or case.agent != asked.agents[0]:
            continue
        with reporter.working(f"{case.experiment}, {case.agent}: training to {target}"):
            yield starting.time_to_reward(case, target, shelf)
        same = (case.experiment, case.agent) == (rivals.EXPERIMENT, rivals.OURS)
        if same and "rivals" in asked.measures and rivals.installed():
            with reporter.working(f"{case.experiment}, PyTorch: training to {target}"):
                yield starting.rival_to_reward(case, target)


def require_files(kinds: Sequence[str]) -> None:
    """Refuse kinds of figures that cannot be written."""
    known = [kind[1:] for kind in FILES]
    for kind in kinds:
        if kind not in known:
            raise UserError(nearest("kind of figure", kind, known))
