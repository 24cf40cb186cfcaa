"""Where seeds run: mapped by `vmap`, and spread over the devices there are."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def use_all_cores() -> None:
    """Make each CPU core a device. Call it before anything else touches JAX.

    The networks are too small for threads to share one operation; one core per seed uses them all.
    """
    usable = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    jax.config.update("jax_num_cpu_devices", len(usable))


def over_seeds(
    function: Callable[..., Any], num_seeds: int, devices: Sequence[jax.Device] | None = None
) -> Any:
    """Jit a function of one seed for all of them; arguments and results gain a leading axis.

    Devices get the same number of seeds each, as few as possible. Where that leaves places empty
    (five seeds, four devices: 2 + 2 + 1), seeds are repeated and the repetitions cut off again.
    """
    available = jax.local_devices() if devices is None else list(devices)
    per_device = -(-num_seeds // len(available))
    count = -(-num_seeds // per_device)
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


def describe() -> str:
    """Name the kind and number of devices, for records."""
    devices = jax.local_devices()
    return f"{devices[0].device_kind} × {len(devices)}"
