"""Where seeds run: mapped by `vmap`, and spread over the devices there are."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# How seeds are divided decides the last bits of what they compute, so it must not depend on the
# machine: a CPU counts as this many devices, however many cores it has. On two cores four are no
# slower than two, and more cores than four have something to do within an operation.
CPU_DEVICES = 4
VARIABLE = "JAX_NUM_CPU_DEVICES"  # by which a user can choose another number


def divide_cpu() -> None:
    """Divide the CPU into devices, for seeds to share. Call it before anything else touches JAX.

    The networks are too small for threads to share one operation; a thread for each few seeds uses
    all cores.
    """
    if VARIABLE not in os.environ:
        with suppress(RuntimeError):  # JAX has started already, in a program of the user's
            jax.config.update("jax_num_cpu_devices", CPU_DEVICES)


def over_seeds(
    function: Callable[..., Any], num_seeds: int, devices: Sequence[jax.Device] | None = None
) -> Any:
    """Jit a function of one seed for all of them; arguments and results gain a leading axis.

    Devices get the same number of seeds each, as few as possible. Where that leaves places empty
    (five seeds, four devices: 2 + 2 + 1), seeds are repeated and the repetitions cut off again.
    """
    available = jax.local_devices() if devices is None else list(devices)
    count, per_device = _division(num_seeds, len(available))
    mesh = Mesh(np.array(available[:count]), ("seeds",))
    spec = PartitionSpec("seeds")
    spread = jax.shard_map(
        jax.vmap(function), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    # Wherever arguments lie, the program is the same: resuming compiles what starting did.
    if count * per_device == num_seeds:
        return jax.jit(spread, in_shardings=NamedSharding(mesh, spec))

    def padded(*arguments: Any) -> Any:
        places = jnp.arange(count * per_device) % num_seeds
        results = spread(*jax.tree.map(lambda leaf: leaf[places], arguments))
        return jax.tree.map(lambda leaf: leaf[:num_seeds], results)

    everywhere = NamedSharding(mesh, PartitionSpec())  # an uneven axis cannot be spread
    return jax.jit(padded, in_shardings=everywhere, out_shardings=everywhere)


def _division(num_seeds: int, num_devices: int) -> tuple[int, int]:
    """Return how many devices share the seeds, and how many of them each gets at most."""
    per_device = -(-num_seeds // num_devices)
    return -(-num_seeds // per_device), per_device


def describe() -> str:
    """Name the kind and number of devices, for records."""
    devices = jax.local_devices()
    return f"{devices[0].device_kind} × {len(devices)}"


def elsewhere(recorded: str | None, num_seeds: int) -> str | None:
    """Say what it means to continue, on the devices here, what began on others; None if nothing.

    The compiled program depends on how many seeds share a device, and with it the order in which
    numbers are rounded. Where seeds are divided alike it is the same program.
    """
    here = describe()
    if recorded is None or recorded == here:
        return None
    (kind, count), (kind_here, count_here) = _parts(recorded), _parts(here)
    same_kind = kind == kind_here and count > 0
    if same_kind and _division(num_seeds, count) == _division(num_seeds, count_here):
        return None
    fix = f"; {VARIABLE}={count} computes the same" if same_kind and kind == "cpu" else ""
    return f"this began on {recorded} and goes on with {here}: equal but for rounding{fix}"


def _parts(described: str) -> tuple[str, int]:
    kind, _, count = described.rpartition(" × ")
    return kind, int(count) if count.isdecimal() and len(count) < 10 else 0
