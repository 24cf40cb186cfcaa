"""Seeds are spread over devices, and no seed notices."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reinstate.devices import IN_TURN, Division, Spread, over_mesh, over_seeds
from reinstate.errors import UserError
from reinstate.learner import A2C, Learner


def walk(key: jax.Array, seed: jax.Array) -> dict[str, Any]:
    """Something that carries keys, as training does, and says which device it is on."""
    step = jax.random.normal(jax.random.fold_in(key, seed), (3,))
    return {
        "key": jax.random.split(key)[0],
        "step": step @ jnp.ones((3, 2)),
        "device": jax.lax.axis_index("seeds"),
    }


@cache
def one_seed() -> Any:
    return over_seeds(walk, 1, jax.local_devices()[:1])


@pytest.mark.parametrize(
    ("seeds", "devices", "where"),
    [
        (1, 2, [0]),
        (2, 2, [0, 1]),
        (3, 2, [0, 0, 1]),
        (4, 2, [0, 0, 1, 1]),
        (5, 2, [0, 0, 0, 1, 1]),
        (3, 1, [0, 0, 0]),
    ],
)
def test_each_seed_is_as_if_alone(seeds: int, devices: int, where: list[int]) -> None:
    check_each_seed_is_as_if_alone(seeds, devices, where)


def check_each_seed_is_as_if_alone(seeds: int, devices: int, where: list[int]) -> None:
    chosen = jax.local_devices()[:devices]
    keys, numbers = jax.random.split(jax.random.key(7), seeds), jnp.arange(seeds)
    program = over_seeds(walk, seeds, chosen).lower(keys, numbers).compile()
    found = program(keys, numbers)
    assert found["device"].tolist() == where
    assert found["step"].sharding.device_set == set(chosen[: max(where) + 1])
    alone = one_seed()
    for seed in range(seeds):
        expected = alone(keys[seed : seed + 1], numbers[seed : seed + 1])
        np.testing.assert_array_equal(found["step"][seed], expected["step"][0])
        ours, theirs = (jax.random.key_data(k) for k in (found["key"][seed], expected["key"][0]))
        np.testing.assert_array_equal(ours, theirs)
    program(found["key"], numbers)  # what comes out can go in again, as in training


def test_with_many_lanes_seeds_take_turns() -> None:
    """Each computes what it computes beside others; a device with one seed has nothing to map."""

    def loops(seeds: int, lanes: int) -> int:
        program = over_seeds(walk, seeds, lanes=lanes).lower(keys[:seeds], numbers[:seeds])
        return program.as_text().count("stablehlo.while")

    keys, numbers = jax.random.split(jax.random.key(7), 5), jnp.arange(5)
    assert loops(5, IN_TURN) == loops(5, IN_TURN - 1) + 1
    assert loops(2, IN_TURN) == loops(2, 0)
    ways: Any = {}, {"lanes": IN_TURN}, {"brief": True}
    plain, *others = [_without_keys(over_seeds(walk, 5, **how)(keys, numbers)) for how in ways]
    for other in others:
        jax.tree.map(np.testing.assert_array_equal, plain, other)


def _without_keys(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"key": jax.random.key_data(found["key"])}


def test_an_even_number_is_spread_without_padding() -> None:
    """The program is vmap and shard_map, nothing else: recorded numbers rest on its bits."""
    keys, numbers = jax.random.split(jax.random.key(7), 4), jnp.arange(4)
    mesh, spec = Mesh(np.array(jax.local_devices()), ("seeds",)), PartitionSpec("seeds")
    spread = jax.shard_map(
        jax.vmap(walk), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    plain = jax.jit(spread, in_shardings=NamedSharding(mesh, spec))
    ours = over_seeds(walk, 4).lower(keys, numbers).as_text()
    assert ours == plain.lower(keys, numbers).as_text()


@pytest.mark.parametrize(
    ("shard", "seeds", "lanes", "division"),
    [
        ("seeds", 3, 4, (2, 2, 1)),
        ("lanes", 3, 4, (1, 3, 2)),
        ("auto", 3, 4, (2, 2, 1)),
        ("auto", 1, 4, (1, 1, 2)),
        ("auto", 1, 3, (1, 1, 1)),
    ],
)
def test_what_two_devices_share(
    shard: Any, seeds: int, lanes: int, division: tuple[int, ...]
) -> None:
    spread = Spread(shard=shard)
    assert spread.divide(seeds, lanes) == Division(*division)
    over = f", lanes over {division[2]}" if division[2] > 1 else ""
    assert spread.describe(seeds, lanes) == f"cpu × 2{over}"


def test_what_cannot_be_shared_is_refused() -> None:
    fix = "5 lanes cannot be shared evenly by 2 devices: use --devices 1, or a --learner.lanes that"
    with pytest.raises(UserError, match=f"{fix} 2 divides"):
        Spread(shard="lanes").divide(1, 5)
    with pytest.raises(
        UserError, match=r"--devices 3: there are 2 \(cpu\), or set JAX_NUM_CPU_DEV"
    ):
        Spread(devices=3).divide(1, 4)
    with pytest.raises(UserError, match="devices must lie between 1 and 1024, not 0"):
        Spread(devices=0)
    with pytest.raises(UserError, match="unknown shard 'all': choose seeds, lanes or auto"):
        Spread(shard="all")  # type: ignore[arg-type]


def check_lanes_agree(devices: int, early: bool) -> None:
    """Lanes on several devices learn what they learn on one, whenever their episodes end."""
    from reinstate.tasks.bandits import BarcodeBandits
    from test_early_end import DICTIONARY, NETWORK, SIZES, WORLD, make_agent

    world = WORLD if early else BarcodeBandits(**SIZES)
    make = lambda key: make_agent("epl2rl", world, NETWORK, key=key)  # noqa: E731
    learner = Learner(world, make, DICTIONARY, A2C(lanes=8, epochs=2, episodes_per_update=3))
    state, seeds, found = jax.vmap(learner.init)(jnp.arange(2)), 2, []
    for over_lanes in (1, devices):
        division = Division(1, seeds, over_lanes)
        mesh = Mesh(
            np.array(jax.local_devices()[:over_lanes]).reshape(1, over_lanes), ("seeds", "lanes")
        )
        one_seed = partial(learner.train_epoch, over_lanes=over_lanes)
        found.append(jax.device_get(over_mesh(one_seed, seeds, division, mesh)(state)))
    (one, metrics), (several, theirs) = found
    pairs = zip(jax.tree.leaves(one.params), jax.tree.leaves(several.params), strict=True)
    before = jax.tree.leaves(state.params)
    for begun, (ours, others) in zip(before, pairs, strict=True):
        np.testing.assert_allclose(ours, others, rtol=0, atol=1e-6)
        assert np.abs(ours - begun).max() > 1e-4
    for name in ("reward", "loss", "entropy", "grad_norm"):
        np.testing.assert_allclose(getattr(metrics, name), getattr(theirs, name), rtol=1e-5)


@pytest.mark.parametrize("early", [False, True])
def test_lanes_learn_the_same_on_two_devices(early: bool) -> None:
    check_lanes_agree(2, early)


def test_seeds_and_lanes_on_up_to_eight_devices() -> None:
    """Parts of the CPU stand in for GPUs; seeds first, as --shard auto divides them.

    Five seeds on four devices: three of these have two places each, 2 + 2 + 1.
    """
    run_apart(
        (
            "import jax; jax.config.update('jax_num_cpu_devices', 8)",
            "from test_devices import *",
            "check_each_seed_is_as_if_alone(5, 4, [0, 0, 1, 1, 2])",
            "check_each_seed_is_as_if_alone(7, 4, [0, 0, 1, 1, 2, 2, 3])",
            "check_each_seed_is_as_if_alone(6, 4, [0, 0, 1, 1, 2, 2])",
            "assert Spread(shard='auto').divide(2, 32) == (2, 1, 4)",
            "assert Spread(shard='auto').divide(3, 32) == (3, 1, 2)",
            "assert Spread(shard='auto').divide(9, 32) == (5, 2, 1)",
            "assert Spread(4, 'lanes').divide(2, 32) == (1, 2, 4)",
            "check_lanes_agree(8, True)",
        )
    )


PROGRAM = """
import warnings; warnings.simplefilter("error")
import jax
from reinstate.devices import keep_programs
keep_programs()
jax.monitoring.register_event_listener(lambda name, **_: print(name))
print(jax.jit(lambda x: (x @ x + 0.1).sum())(jax.numpy.eye(50) / 3))
"""


def test_a_second_start_compiles_nothing(tmp_path: Path) -> None:
    home = {n: v for n, v in os.environ.items() if not n.startswith("JAX_")}
    home["XDG_CACHE_HOME"] = str(tmp_path)

    def start() -> tuple[str, str]:
        words = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(words, env=home, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == ""
        *events, result = done.stdout.split()
        return result, " ".join(event for event in events if "cache_hits" in event)

    (first, found), (second, again) = start(), start()
    assert first == second and not found and again
    for path in tmp_path.rglob("*-cache"):
        path.write_bytes(path.read_bytes()[:100])  # as a killed process leaves it
    assert start() == (first, "")
    home["XDG_CACHE_HOME"] = "/dev/null"
    assert start() == (first, "")


def run_apart(lines: Sequence[str]) -> None:
    """Run lines in a process of their own, which can have other devices."""
    words = [sys.executable, "-c", "\n".join(lines)]
    folder = __file__.rpartition("/")[0]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
