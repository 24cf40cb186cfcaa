"""Episodes of any task in a terminal, choice by choice: two exposures to one context side by side.

One row per action and one column per step; what was chosen is filled where it paid. Bandits show
their good arm, the two-step task says where each choice led.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Record
from reinstate.tasks.bandits import Bandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import NO_CUE, EpisodicTwoStep

BAR = 14  # characters of a full gate
WIDE = 14  # steps of the longest episode of which two fit side by side into 80 characters
PAID, UNPAID, NOTHING = "●", "○", "·"


class Choice(NamedTuple):
    """One step."""

    row: int  # of what was chosen
    reward: float
    r_gate: float | None  # mean over units; none without one
    retrieved: str  # what came back, in words
    note: str  # what the choice led to


class Exposure(NamedTuple):
    """One recorded episode."""

    title: str
    rows: tuple[str, ...]  # what can be chosen
    good: int | None  # the row that pays best throughout, if there is one
    choices: tuple[Choice, ...]


def exposures_of(
    world: World, record: Record, exposures: Sequence[int], seed: int = 0, context: int = 1
) -> list[Exposure]:
    """Return episodes of one context; `context` and exposures count from 1, `seed` from 0.

    Contexts are those met often enough, in the order in which they appear, epoch after epoch.
    """
    ids, met = np.asarray(record.context_id)[seed], np.asarray(record.exposure)[seed]
    if not 1 <= min(exposures) <= max(exposures) <= int(met.max()) + 1:
        raise UserError(f"exposure must be 1 to {int(met.max()) + 1}, not {max(exposures)}")
    epochs, last = np.nonzero(met == max(exposures) - 1)
    if not 1 <= context <= len(epochs):
        raise UserError(f"context must be 1 to {len(epochs)}, not {context}")
    epoch, episode = epochs[context - 1], last[context - 1]
    mine = np.flatnonzero(ids[epoch] == ids[epoch, episode])
    return [_read(world, record, (seed, int(epoch)), int(mine[e - 1])) for e in exposures]


def _read(world: World, record: Record, lane: tuple[int, int], episode: int) -> Exposure:
    """Return one episode of an epoch."""
    epoch = jax.tree.map(lambda leaf: np.asarray(leaf)[lane], record)
    played = jax.tree.map(lambda leaf: leaf[episode], epoch)
    rows, chosen, good = _rows(world, played)
    steps = len(played.action) if played.played is None else int(played.played.sum())
    notes = _notes(world, epoch, played)
    choices = [
        Choice(
            int(chosen[t]),
            float(played.reward[t]),
            float(played.report["r"][t]) if "r" in played.report else None,
            _retrieved(epoch, played, t),
            notes(t),
        )
        for t in range(steps)
    ]
    title = f"exposure {int(played.exposure) + 1}"
    return Exposure(f"{title}, episode {episode + 1}", rows, good, tuple(choices))


def _rows(world: World, played: Record) -> tuple[tuple[str, ...], Any, int | None]:
    """Say what can be chosen, what was chosen, and what is best."""
    if isinstance(world, CompositionalBandits):  # arms change places: what counts is the stimulus
        took_low = played.expected_reward < played.best_expected_reward
        return ("high-paying", "low-paying"), took_low.astype(int), 0
    arm = "arm" if isinstance(world, Bandits) else "action"
    rows = tuple(f"{arm} {action + 1}" for action in range(world.num_actions))
    good = int(played.trace.good_arm[0]) if isinstance(world, Bandits) else None
    return rows, played.action, good


def _notes(world: World, epoch: Record, played: Record) -> Callable[[int], str]:
    """Say what a step's choice led to, where the rows do not show it."""
    if not isinstance(world, EpisodicTwoStep):
        return lambda t: ""
    reached = int(played.trace.state[1])
    usual = "common" if reached == played.action[0] else "rare"
    cue = int(played.trace.cue_episode[0])
    if cue == NO_CUE:
        start = "no cue; "
    else:
        was, paid = int(epoch.trace.state[cue, 1]), epoch.reward[cue].sum()
        start = f"cue: episode {cue + 1}, state {was + 1} paid {paid:g}; "
    led = f"{start}led to state {reached + 1} ({usual})"
    return lambda t: led if t == 0 else f"state {reached + 1} pays {played.reward[t]:g}"


def _retrieved(epoch: Record, played: Record, t: int) -> str:
    """Say where the memory that came back is from."""
    source = int(played.retrieved[t])
    if source < 0:
        return "nothing"
    if epoch.context_id[source] == played.context_id:
        return f"exposure {int(epoch.exposure[source]) + 1} of this context"
    return f"another's, distance {played.distance[t]:.2f}"


def draw(exposures: Sequence[Exposure], step: int) -> RenderableType:
    """Draw episodes as they are after a step, counted from 1; at most 80 characters wide."""
    panels = [_panel(exposure, min(step, len(exposure.choices))) for exposure in exposures]
    if max(len(exposure.choices) for exposure in exposures) > WIDE:
        return Group(*panels)
    grid = Table.grid(padding=(0, 4))
    grid.add_row(*panels)
    return grid


def _panel(exposure: Exposure, step: int) -> RenderableType:
    now, done = exposure.choices[step - 1], exposure.choices[:step]
    choices = Table.grid(padding=(0, 1))
    for row, name in enumerate(exposure.rows):
        good = row == exposure.good
        marks = [_mark(choice, row) for choice in done]
        marks += [Text(NOTHING, "dim")] * (len(exposure.choices) - step)
        choices.add_row(Text(f"{name} {'★' if good else ' '}", "green" if good else ""), *marks)
    facts = Table.grid(padding=(0, 1))
    facts.add_row(Text("retrieved", "dim"), now.retrieved)
    if now.r_gate is not None:
        filled = round(BAR * now.r_gate)
        bar = Text("█" * filled, "cyan").append("░" * (BAR - filled), "dim")
        facts.add_row(Text("r gate", "dim"), bar.append(f" {now.r_gate:.2f}", "default"))
    facts.add_row(Text("reward", "dim"), f"{sum(c.reward for c in done):g} after {step}")
    notes = [Text(line) for line in now.note.split("; ") if line]
    return Group(Text(exposure.title, "bold"), choices, facts, *notes)


def _mark(choice: Choice, row: int) -> Text:
    if choice.row != row:
        return Text(NOTHING, "dim")
    return Text(PAID, "bold green") if choice.reward > 0 else Text(UNPAID, "bold yellow")


def show(exposures: Sequence[Exposure], console: Console, speed: float) -> None:
    """Step through episodes, `speed` steps per second; without a terminal, print every frame."""
    require_positive(speed=speed)
    if not console.is_interactive:
        for frame in _frames(exposures):
            console.print(Group(frame, Text()))
        return
    with Live(console=console, auto_refresh=False) as live:
        for frame in _frames(exposures):
            live.update(frame, refresh=True)
            time.sleep(1 / speed)


def _frames(exposures: Sequence[Exposure]) -> Iterator[RenderableType]:
    best = "  ★ best" if any(exposure.good is not None for exposure in exposures) else ""
    legend = Text(f"{PAID} paid  {UNPAID} did not pay{best}", "dim")
    for step in range(1, 1 + max(len(exposure.choices) for exposure in exposures)):
        yield Group(Text(f"step {step}", "dim"), draw(exposures, step), legend)
