"""How fast purejaxrl's recurrent PPO trains on this machine, right before and after ours.

    pip install distrax flax "gymnax<1"
    git clone https://github.com/luchris429/purejaxrl PATH
    python benchmarks/against_purejaxrl.py PATH

Theirs runs unchanged, with one epoch of PPO per batch, in gymnax's Bernoulli bandit. Flax's GRU has
changed since it was written, so a subclass with the old signature stands in, of 50 units as ours;
layers of 128 units before and after it stay. Ours plays barcode bandits at the quick preset. With
one seed, theirs has all cores for each operation; more seeds are spread over devices, as ours are.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro

from cases import Program, as_preset
from measuring import compile_timed, made, rates, ratio, take_turns, write_record
from reinstate import devices

UNITS = 50  # as in our presets
UNUSED = ("brax", "brax.envs", "brax.envs.wrappers.training", "navix")  # worlds it also imports
HOW = {  # purejaxrl's own, but for the world, and the epochs and batches of an update
    "ENV_NAME": "BernoulliBandit-misc",
    "LR": 2.5e-4,
    "NUM_STEPS": 128,
    "UPDATE_EPOCHS": 1,
    "NUM_MINIBATCHES": 1,
    "GAMMA": 0.99,
    "GAE_LAMBDA": 0.95,
    "CLIP_EPS": 0.2,
    "ENT_COEF": 0.01,
    "VF_COEF": 0.5,
    "MAX_GRAD_NORM": 0.5,
    "ANNEAL_LR": True,
}


@dataclass(frozen=True)
class Options:
    path: Annotated[Path, tyro.conf.Positional]
    """A clone of purejaxrl."""
    sizes: tuple[str, ...] = ("1x64", "1x512", "8x16")
    """Seeds × environments of theirs."""
    agents: tuple[str, ...] = ("epl2rl", "l2rl")
    steps: int = 2**18
    """How many a training of theirs takes, at most."""
    repeats: int = 7
    record: Path | None = None
    """Write what was found to this JSON file."""


def main(options: Options) -> None:
    make_train = load(options.path)
    theirs: Any = {size: rival(make_train, size, options) for size in options.sizes}
    ours = {agent: as_preset("barcode-bandits", agent, "quick") for agent in options.agents}
    programs = theirs | ours
    seconds = take_turns(programs, options.repeats)
    turns = {name: (float(each.steps), seconds[name]) for name, each in programs.items()}
    rows: list[dict[str, Any]] = []
    for name, (steps, took) in turns.items():
        faster = {agent: ratio(turns[agent], turns[name]) for agent in ours if name in theirs}
        rows.append({"name": name, "steps_per_second": rates(steps, took), "ours": faster})
        print(rows[-1], flush=True)
    write_record(options.record, {**made(), "rows": rows})


def load(path: Path) -> Any:
    """Import `make_train` from a clone."""
    import flax.linen as nn

    class OldGRU(nn.GRUCell):
        """A GRU that is made without its size."""

        features: int = UNITS

        @staticmethod
        def initialize_carry(_: jax.Array, rows: tuple[int, ...], __: int) -> jax.Array:
            return jnp.zeros((*rows, UNITS))

    nn.GRUCell = OldGRU
    for name in UNUSED:
        sys.modules.setdefault(name, Anything(name))
    sys.path.insert(0, str(path / "purejaxrl"))
    from ppo_rnn import make_train

    return make_train


class Anything(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        return [] if name == "__path__" else None


def rival(make_train: Any, size: str, options: Options) -> Program:
    """Compile a whole training of theirs, first weights included."""
    seeds, lanes = map(int, size.split("x"))
    per_update = seeds * lanes * HOW["NUM_STEPS"]
    steps = max(1, options.steps // per_update) * per_update
    how = {**HOW, "NUM_ENVS": lanes, "TOTAL_TIMESTEPS": steps // seeds}
    keys = jax.random.split(jax.random.key(0), seeds)
    train = devices.over_seeds(make_train(how), seeds)
    return Program(compile_timed(train, keys), (keys,), steps)


if __name__ == "__main__":
    devices.divide_cpu()
    main(tyro.cli(Options, description=__doc__))
