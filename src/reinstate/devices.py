"""Where seeds run: mapped by `vmap`, and spread over the devices there are."""

import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def use_all_cores() -> None:
    """Let each CPU core be a device of its own. Call it before anything else touches JAX.

    The networks are too small for threads to share one operation, so that a core a seed is the way
    to use several.
    """
    usable = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    jax.config.update("jax_num_cpu_devices", len(usable))


def over_seeds(function: Callable[..., Any], num_seeds: int) -> Any:
    """Jit a function of one seed for all of them; arguments and results gain a leading axis."""
    available = jax.local_devices()
    count = max(n for n in range(1, len(available) + 1) if num_seeds % n == 0)
    mesh = Mesh(np.array(available[:count]), ("seeds",))
    spec = PartitionSpec("seeds")
    spread = jax.shard_map(
        jax.vmap(function), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    # Wherever arguments lie, the program is the same: resuming compiles what starting did.
    return jax.jit(spread, in_shardings=NamedSharding(mesh, spec))


def describe() -> str:
    """The kind and number of devices, for records."""
    devices = jax.local_devices()
    return f"{devices[0].device_kind} × {len(devices)}"
