"""Agents whose memory is an input → a section of the page: what is left of the memory's worth."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from reinstate.agent import INPUT_SIZES
from reinstate.analysis.documents import checked
from reinstate.analysis.verdicts import with_verdicts
from reinstate.figures.chart import Chart, Line, Series, Values, sharing_y
from reinstate.figures.markup import ABSENT, Markup, folded, row, table, tag
from reinstate.figures.numbers import MOST_SEEDS, finite, is_known, numbers
from reinstate.figures.page.scores import labelled, reward_of
from reinstate.figures.style import COLOURS, LABELS, SPARE
from reinstate.files import read_json
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.gather import Gathered
from reinstate_paper.memory_as_input import Row, Rows, best_without

HEADING = "Memory as an input"
SAID = (
    "Section 4.1 of the paper: the state that comes back is fed to the LSTM as further inputs,"
    " instead of being added to its cell through the r-gate. The paper reports that reward then"
    " falls to chance, but that fewer than five numbers, made of the state by a learned layer, can"
    " do as well as the gate on some of the tasks."
)
NOTE = (
    "What runs earn above chance, as a share of what epL2RL earns above it with the r-gate, by how"
    " many numbers the state is compressed to; 50 is the whole state. Thin lines are single runs."
)
WHOLE = 50  # units of the LSTM in every preset, all of them fed
SIZES = {f"epl2rl-input-{size}": size for size in INPUT_SIZES} | {"epl2rl-input": WHOLE}
GATHERED = "hold agents whose memory is an input", "name what reinstate memory-as-input left"
MOST_PRESETS = 6
SHARE = "share of epL2RL's gain over chance"
LINES = (Line("chance", 0.0), Line("epL2RL, mean", 1.0))
SHADES = (COLOURS["epl2rl"], COLOURS["l2rl"], COLOURS["l2rl-context"], SPARE[0], SPARE[4])


class Inputs(NamedTuple):
    """What `reinstate memory-as-input` gathered."""

    path: Path
    gathered: Gathered


def load_inputs(path: Path, inside: Path | None = None) -> Inputs:
    """Read a document that may be anybody's, of experiments that are known here."""
    found = checked(Gathered, read_json(path), path, *GATHERED)
    for name in found["experiments"]:
        find_experiment(name)
    return Inputs(path, found)


def gains(per_seed: object, best: float, chance: float) -> Values:
    """Return what each run earns above chance, as a share of what epL2RL does on average."""
    if not best > chance:
        return []
    earned = (None if each is None else each - chance for each in numbers(per_seed))
    return [None if each is None else finite(each / (best - chance)) for each in earned]


def runs_and_mean(name: str, colour: str, found: Mapping[float, Values]) -> list[Series]:
    """Make a series of means, with a row for each run: some places have fewer. None if empty."""
    known = {x: shares for x, shares in found.items() if is_known(shares)}
    if not known:
        return []
    most = min(max(map(len, known.values())), MOST_SEEDS)
    rows = [[each[n] if n < len(each) else None for each in known.values()] for n in range(most)]
    means = [fmean(share for share in each if share is not None) for each in known.values()]
    return [Series(name, colour, list(known), means, per_seed=rows)]


def input_charts(rows: Rows, name: Mapping[str, str]) -> list[Chart]:
    """Make a chart for each preset, one line per experiment, under the names given."""
    presets = dict.fromkeys(preset for own in rows.values() for preset in own)
    charts = [_chart(rows, preset, name) for preset in [*presets][:MOST_PRESETS]]
    return sharing_y(charts)


def _chart(rows: Rows, preset: str, name: Mapping[str, str]) -> Chart:
    series: list[Series] = []
    for (experiment, presets), colour in zip(rows.items(), cycle(SHADES), strict=False):
        if preset in presets:
            series += runs_and_mean(name[experiment], colour, _shares(presets[preset]))
    return Chart(
        title=HEADING,
        of=f"{preset} preset",
        x_label="numbers fed, log scale",
        y_label=SHARE,
        series=series,
        lines=LINES,
        log_x=True,
        note=NOTE,
    )


def _shares(found: Row) -> dict[float, Values]:
    chance, best = finite(found["chance"]), found["epl2rl"]
    mean = None if best is None else finite(best["reward"]["mean"])
    if chance is None or mean is None:
        return {}
    scores = {size: found["agents"].get(agent) for agent, size in SIZES.items()}
    return {
        size: gains(each["reward"]["per_seed"], mean, chance)
        for size, each in scores.items()
        if each is not None
    }


def charts_of_inputs(inputs: Inputs) -> list[Chart]:
    """Make the charts of the page, in which experiments have the ends of their titles."""
    rows = inputs.gathered["experiments"]
    titles = {name: find_experiment(name).title.partition(": ") for name in rows}
    return input_charts(rows, {name: end or title for name, (title, _, end) in titles.items()})


def told(inputs: Inputs) -> Iterator[Markup]:
    """Say what this is about, how many do as well as the gate, and fold all rewards."""
    yield tag("p", SAID)
    verdicts = [check["verdict"] for check in with_verdicts(inputs.gathered["checks"])]
    if verdicts:
        counts = [verdicts.count(each) for each in ("supported", "contradicted", "undecided")]
        yield tag(
            "p",
            f"Of {len(verdicts)} kinds of run here, {counts[0]} do as well as the r-gate,"
            f" {counts[1]} do not, and of {counts[2]} it cannot be told. To do as well is to lack"
            " at most a tenth of what epL2RL gains over no memory.",
        )
    yield folded("Rewards by experiment and preset", _table(inputs.gathered["experiments"]))


def _table(rows: Rows) -> Markup:
    sizes = {agent: f"{size} numbers" for agent, size in SIZES.items()}
    sizes["epl2rl-input"] = f"all {WHOLE}"
    columns = ["chance", "no memory", *sizes.values(), LABELS["epl2rl"]]
    found = [
        row(f"{experiment.title}, {preset} preset", *map(labelled, cells, columns))
        for name, presets in rows.items()
        for experiment in [find_experiment(name)]
        for preset, own in presets.items()
        for cells in [_cells(own, sizes, experiment)]
    ]
    label = "Reward per episode when the memory is an input"
    return table(label, ["experiment", *columns], found, class_="scores")


def _cells(found: Row, agents: Iterable[str], experiment: Experiment) -> list[str]:
    number, chance = experiment.number, finite(found["chance"])
    players = [best_without(found), *(found["agents"].get(agent) for agent in agents)]
    rewards = [reward_of(each, number) if each else "" for each in [*players, found["epl2rl"]]]
    return [ABSENT if chance is None else f"{chance:{number}}", *rewards]
