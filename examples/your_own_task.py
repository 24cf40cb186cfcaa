# Each cell imports what it shows: the world's becomes a module of its own.
# ruff: noqa: E402

# %% [markdown]
# # Your own task in forty lines
#
# You have a task of your own in which situations come back, and want to know what an agent with an
# episodic memory makes of it. Here is one from the first line to a trained agent: the world as a
# class, tried in Python; then a package with an entry point, so that the command knows it; then a
# training, and one surprise that is worth having had.
#
# The task: *which door?* You enter a room with five doors, of which one leads out. The room has a
# carpet with a pattern, its context. You try doors until you are out, and then you are in the next
# room. Rooms come back, and then it pays to remember.

# %%
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from linecache import getlines
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E7781"


# %% [markdown]
# ## The world
#
# A world is a frozen dataclass of settings with pure functions. `BarcodeWorld` brings what all
# tasks with recurring contexts share: the contexts (barcodes), the order in which they come back,
# and how often each was met before. What is left to say is what a room is, what can be done in it,
# and what that earns.

# %%
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.tasks.bandits import BarcodeWorld
from reinstate.tasks.base import Observation


class Room(NamedTuple):
    context_id: Array  # () which of the epoch's rooms
    exposure: Array  # () how often it was entered before
    context: Array  # (context_size,) the pattern of its carpet
    way_out: Array  # () the door that leads out


@dataclass(frozen=True)
class WhichDoor(BarcodeWorld):
    """Rooms that come back, each with one door that leads out."""

    num_contexts: int = 4
    repeats: int = 6
    doors: int = 5
    """Doors of a room."""

    @property
    def num_actions(self) -> int:
        return self.doors

    @property
    def observation_size(self) -> int:
        return 0  # the carpet is the context; there is nothing else to see

    @property
    def episode_length(self) -> int:
        return 2 * self.doors  # after so many tries you are let out

    def sample_epoch(self, key: Array) -> Room:
        room_key, door_key = jax.random.split(key)
        index, exposure, context = self.sample_contexts(room_key)
        way_out = draws.integers(door_key, self.sequence.max_tasks, 0, self.doors)
        return Room(index, exposure, context, way_out[index])

    def reset(self, key: Array, task: Room) -> Array:
        return jnp.zeros((), bool)  # whether you are out

    def observe(self, task: Room, state: Array) -> Observation:
        return Observation(jnp.zeros(0, jnp.float32), context=jnp.zeros((), jnp.int32))

    def step(self, key: Array, task: Room, state: Array, action: Array) -> tuple[Array, Array]:
        return action == task.way_out, self.expected_rewards(task, state)[action]

    def done(self, task: Room, state: Array) -> Array:
        return state

    def expected_rewards(self, task: Room, state: Array) -> Array:
        return jnp.where(jnp.arange(self.doors) == task.way_out, 1.0, -0.1).astype(jnp.float32)


# %% [markdown]
# That is all: fewer than forty lines, not counting imports and blank ones.
# [Add a task](../how-to/add-a-task.md) says more of each method. `done` is optional. Without it,
# every episode has `episode_length` steps; with it, an episode may end early, and what comes after
# the end is not learned from.
#
# ## Try it by hand
#
# Nothing resets by itself: whoever drives the world calls `reset` and `step`. Here is one epoch, in
# which every room is searched from the first door to the last.

# %%
world = WhichDoor()
key = jax.random.key(0)
rooms = world.sample_epoch(key)  # every array has a leading axis of episodes
print("rooms, in order:", rooms.context_id)
print("exposure:       ", rooms.exposure + 1)

tries = []
for episode in range(world.episodes_per_epoch):
    room = jax.tree.map(lambda x, e=episode: x[e], rooms)
    state, door = world.reset(key, room), 0
    while not world.done(room, state):
        state, reward = world.step(key, room, state, jnp.int32(door))
        door += 1
    tries.append(door)
print("doors tried:    ", np.array(tries))

# %% [markdown]
# Who tries no door twice and remembers nothing needs (1 + 2 + 3 + 4 + 5) / 5 = 3 tries on average.
# Who remembers the room needs 1. Those are the numbers to compare an agent with.
#
# ## Train in Python
#
# One call; what is not given has a default. `record` lets the trained agent play fresh rooms with
# frozen weights, and `played` is false after the end of an episode, so that its sum counts tries.

# %%
import reinstate


def tries_by_exposure(trained: reinstate.TrainedAgent) -> list[float]:
    """Return how many doors are tried on the first, second, … visit to a room."""
    record = trained.record()
    tries = record.played.sum(axis=-1)  # (seeds, epochs, episodes)
    return [float(tries[record.exposure == e].mean()) for e in range(world.repeats)]


first = reinstate.train(world, "epl2rl", epochs=120, lanes=16, quiet=True)
found = {"as it comes": tries_by_exposure(first)}
print("tries on visits 1, 2, …:", np.round(found["as it comes"], 1))

# %% [markdown]
# On the first visit it searches as well as can be, and later visits are shorter. But the second
# should take a single try. What is missing?
#
# Think of what an episode teaches. In a bandit the agent finds the good arm and then has to go on
# choosing it, so that it learns to keep in its state which arm that was. Here the episode *ends*
# with the right door. Nothing that happens in it is better for having noted the door, and training
# as in the paper stops at the memory: what is stored never hears what it would have been good for.
#
# `through_storage` lets it hear. Gradients then pass from a later visit through the memory to what
# was stored on an earlier one, if both are within the episodes of one update. We will train that by
# the command.
#
# ## A package with an entry point
#
# The command finds tasks by the entry points of installed packages. Yours needs a module and a
# `pyproject.toml`. The module is the cell above that defines `WhichDoor`, as it stands.

# %%
folder = tempfile.TemporaryDirectory()
home = Path(folder.name)
cells = "".join(getlines(WhichDoor.step.__code__.co_filename)).split("# %%")
module = next(cell for cell in cells if "class WhichDoor" in cell).strip() + "\n"

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "which-door"
version = "0.1"
dependencies = ["reinstate"]

[project.entry-points."reinstate.tasks"]
which-door = "which_door:WhichDoor"
"""
package = home / "package"
package.mkdir()
(package / "pyproject.toml").write_text(PYPROJECT.strip() + "\n", encoding="utf-8")
(package / "which_door.py").write_text(module, encoding="utf-8")
print(*sorted(path.name for path in package.iterdir()), sep="\n")

# %% [markdown]
# In your own environment you would now say `pip install .` in that folder, or `pip install
# --editable .` while you are still writing. Here it goes to a folder aside, so that trying this
# leaves nothing behind, and `PYTHONPATH` says where that is.

# %%
site = home / "site"
pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
offline = ["--no-build-isolation"] if find_spec("hatchling") else []
subprocess.run([*pip, *offline, "--no-deps", "--target", site, package], check=True)


def command(line: str) -> None:
    """Run a `reinstate` command in the folder, where the package is installed."""
    plain = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    print(f"$ reinstate {line}")
    ran = subprocess.run(
        [sys.executable, "-m", "reinstate", *line.split()],
        cwd=home,
        env={**plain, "PYTHONPATH": str(site), "COLUMNS": "100"},
        capture_output=True,
        encoding="utf-8",
    )
    print(ran.stdout, ran.stderr if ran.returncode else "", sep="")
    ran.check_returncode()


# %% [markdown]
# ## Train by the command
#
# Every setting of the world, the agent and the learner is an option; `reinstate train which-door
# --help` explains them.

# %%
command(
    "train which-door --seeds 1 --learner.epochs 250 --learner.lanes 16"
    " --learner.through-storage --learner.episodes-per-update 6 --out runs/doors"
)

# %%
command("evaluate runs/doors")

# %% [markdown]
# ## Look at it
#
# `reinstate.load` brings a run back into Python. It knows the world by its name, which `register`
# gives it as long as this program runs; an installed package has given it already.

# %%
reinstate.register("task", "which-door", WhichDoor)
second = reinstate.load(home / "runs" / "doors")
found["through storage"] = tries_by_exposure(second)

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
visits = range(1, world.repeats + 1)
for (name, tries), colour in zip(found.items(), (ORANGE, BLUE), strict=True):
    axes.plot(visits, tries, "o-", color=colour, label=f"trained {name}")
for height, what in ((3, "best without memory"), (1, "best with memory, from visit 2 on")):
    axes.axhline(height, color=GREY, linewidth=0.8, linestyle="--")
    axes.annotate(what, (world.repeats, height - 0.22), ha="right", color=GREY, fontsize=9)
axes.set(xlabel="visit to the room", ylabel="doors tried", ylim=(0, 4), xticks=visits)
axes.legend(frameon=False, loc="upper right")
plt.show()

# %% [markdown]
# Now the agent walks straight to the door. It is the gradient that did it. Add `--seeds 4` to that
# command: the second visit takes 1.2 to 1.3 tries on all four, and 2.4 to 2.9 without
# `--learner.through-storage`.
#
# What else you get for your forty lines: every agent (`--agent l2rl`), several seeds at once
# (`--seeds 8`), resuming, `reinstate report` and, if you
# [make an experiment of it](../how-to/add-a-task.md#make-an-experiment-of-it), claims that are
# tested over seeds.
