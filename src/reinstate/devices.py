"""Where work runs: seeds side by side, spread over devices; and the lanes of a seed, if asked.

One mesh serves both: its first axis has the seeds, its second the lanes of each.
"""

import hashlib
import os
import platform
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reinstate.errors import UserError, require_choices, require_within
from reinstate.learner import LANES

# How seeds are divided decides the last bits of what they compute, so it must not depend on the
# machine: a CPU counts as this many devices, however many cores it has. On two cores four are no
# slower than two, and more cores than four have something to do within an operation.
CPU_DEVICES = 4
SEEDS = "seeds"  # the axis of a mesh
IN_TURN = 64  # lanes of a device from which on a CPU is faster with one seed after the other
MOST = 1024  # devices of a process: a CPU would try to be any number of them
VARIABLE = "JAX_NUM_CPU_DEVICES"  # by which a user can choose another number
FOLDER = "jax_compilation_cache_dir"  # JAX's own setting
# Compiles in half the time. Random weights keep their bits; training and evaluation do not.
BRIEFLY = {"xla_backend_optimization_level": 1}
CACHE = 256 * 2**20  # bytes of compiled programs; one that trains takes a third of a megabyte


def divide_cpu(number: int | None = None) -> None:
    """Divide the CPU into devices, for seeds to share. Call it before anything else touches JAX.

    The networks are too small for threads to share one operation; a thread for each few seeds uses
    all cores.
    """
    if VARIABLE not in os.environ:
        with suppress(RuntimeError):  # JAX has started already, in a program of the user's
            jax.config.update("jax_num_cpu_devices", number or CPU_DEVICES)


def keep_programs() -> None:
    """Let JAX keep compiled programs in the user's cache folder: a second start compiles nothing.

    JAX_COMPILATION_CACHE_DIR chooses another folder, JAX_ENABLE_COMPILATION_CACHE=false none.
    """
    if getattr(jax.config, FOLDER) is not None:
        return
    with suppress(OSError, RuntimeError):  # no home, or no right to write there
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "reinstate" / "compiled" / _instructions()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what is in here is executed
        jax.config.update(FOLDER, str(folder))
        jax.config.update("jax_compilation_cache_max_size", CACHE)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small ones are many
        # A full disk, or half a file: JAX compiles, and so be it.
        warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")


def _instructions() -> str:
    """Name what this CPU understands, which JAX does not look at: a home may serve several."""
    told = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        told += sorted({line for line in lines if line.startswith(("flags", "Features"))})
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


class Division(NamedTuple):
    """How work is divided among devices."""

    over_seeds: int  # devices, or groups of them, that share the seeds
    per_device: int  # seeds that each of those gets at most
    over_lanes: int = 1  # devices in a group, which share the lanes of each of its seeds

    @property
    def devices(self) -> int:
        """How many devices have something to do."""
        return self.over_seeds * self.over_lanes


@dataclass(frozen=True)
class Spread:
    """Which devices to use, and what to divide among them."""

    devices: int | None = None  # of each process; None: all
    shard: Literal["seeds", "lanes", "auto"] = "seeds"

    def __post_init__(self) -> None:
        require_choices(self)
        if self.devices is not None:
            require_within(1, MOST, devices=self.devices)

    def available(self) -> list[jax.Device]:
        """List the devices that may be used, those of each process together."""
        found = []
        for _, each in groupby(jax.devices(), lambda device: device.process_index):
            own = list(each)
            if self.devices and self.devices > len(own):
                kind = own[0].device_kind
                fix = f", or set {VARIABLE}={self.devices}" if kind == "cpu" else ""
                raise UserError(f"--devices {self.devices}: there are {len(own)} ({kind}){fix}")
            found += own[: self.devices]
        return found

    def divide(self, num_seeds: int, lanes: int) -> Division:
        """Divide seeds, the lanes of each, or first the one and then the other."""
        count = len(self.available())
        division = _division(num_seeds, count)
        if self.shard == "lanes":
            if lanes % count:
                fits = max(n for n in range(1, count) if lanes % n == 0)
                raise UserError(
                    f"{lanes} lanes cannot be shared evenly by {count} devices: use --devices"
                    f" {fits}, or a --learner.lanes that {count} divides"
                )
            division = Division(1, num_seeds, count)
        elif self.shard == "auto":
            spare = count // division.over_seeds
            most = max(n for n in range(1, spare + 1) if lanes % n == 0)
            division = division._replace(over_lanes=most)
        if division.devices < jax.process_count():
            raise UserError(
                f"only {division.devices} devices would have work, and there are"
                f" {jax.process_count()} processes: start fewer, train more --seeds, or use"
                " --shard auto"
            )
        return division

    def describe(self, num_seeds: int, lanes: int) -> str:
        """Name the kind and number of devices and how they are used, for records."""
        found, over_lanes = self.available(), self.divide(num_seeds, lanes).over_lanes
        return (
            f"{found[0].device_kind} × {len(found)}"
            + (f", lanes over {over_lanes}" if over_lanes > 1 else "")
            + (f", {jax.process_count()} processes" if jax.process_count() > 1 else "")
        )

    def mesh(self, division: Division) -> Mesh:
        """Arrange devices for a division; every process has a part in it."""
        return _mesh(division, _chosen(self.available(), division.devices))


SPREAD = Spread()  # seeds over all devices


def _chosen(available: list[jax.Device], count: int) -> list[jax.Device]:
    """Choose so many devices, as evenly among processes as can be.

    Neighbours are of one process if possible, and with them the lanes of one seed.
    """
    by_process = [list(each) for _, each in groupby(available, lambda device: device.process_index)]
    if count % len(by_process) == 0:
        return [device for own in by_process for device in own[: count // len(by_process)]]
    in_turns = sorted(available, key=lambda device: by_process[device.process_index].index(device))
    return in_turns[:count]


def _mesh(division: Division, devices: Sequence[jax.Device]) -> Mesh:
    chosen = np.array(devices[: division.devices])
    if division.over_lanes == 1:
        return Mesh(chosen, (SEEDS,))
    return Mesh(chosen.reshape(division.over_seeds, division.over_lanes), (SEEDS, LANES))


def over_seeds(
    function: Callable[..., Any],
    num_seeds: int,
    devices: Sequence[jax.Device] | None = None,
    **how: Any,
) -> Any:
    """Jit a function of one seed for all of them; arguments and results gain a leading axis.

    Devices get the same number of seeds each, as few as possible. Where that leaves places empty
    (five seeds, four devices: 2 + 2 + 1), seeds are repeated and the repetitions cut off again.
    `how` is for `over_mesh`.
    """
    available = jax.local_devices() if devices is None else list(devices)
    division = _division(num_seeds, len(available))
    return over_mesh(function, num_seeds, division, _mesh(division, available), **how)


def placed(arrays: Any, num_seeds: int) -> Any:
    """Put arrays, (seeds, …), where a program of `over_seeds` wants them, once for all calls."""
    available = jax.local_devices()
    division = _division(num_seeds, len(available))
    even = division.over_seeds * division.per_device == num_seeds
    spec = PartitionSpec(SEEDS) if even else PartitionSpec()
    return jax.device_put(arrays, NamedSharding(_mesh(division, available), spec))


def over_mesh(
    function: Callable[..., Any],
    num_seeds: int,
    division: Division,
    mesh: Mesh,
    *,
    lanes: int = 0,
    brief: bool = False,
) -> Any:
    """Jit a function of one seed for all of them, divided like this.

    Where lanes are divided as well, the function sees the mesh's axis of lanes, and its results
    must be the same on all devices along it. `lanes` is how many of a seed it plays. What is
    `brief`, as drawing weights is, is compiled faster on a CPU.
    """
    places = division.over_seeds * division.per_device
    spec = PartitionSpec(SEEDS)
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    in_turn = on_cpu and division.per_device > 1 and lanes // division.over_lanes >= IN_TURN
    mapped = _in_turn(function) if in_turn else jax.vmap(function)
    spread = jax.shard_map(mapped, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    options: Any = {"compiler_options": BRIEFLY} if brief and on_cpu else {}
    # Wherever arguments lie, the program is the same: resuming compiles what starting did.
    if places == num_seeds and not mesh.is_multi_process:
        return jax.jit(spread, in_shardings=NamedSharding(mesh, spec), **options)

    def padded(*arguments: Any) -> Any:
        repeated = jnp.arange(places) % num_seeds
        results = spread(*jax.tree.map(lambda leaf: leaf[repeated], arguments))
        return jax.tree.map(lambda leaf: leaf[:num_seeds], results)

    # An uneven axis cannot be spread; and of several processes each gets all results.
    everywhere = NamedSharding(mesh, PartitionSpec())
    return jax.jit(padded, in_shardings=everywhere, out_shardings=everywhere, **options)


def _in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    """Map a function over seeds one after the other: what each works on stays in the cache."""
    return lambda *arguments: jax.lax.map(lambda each: function(*each), arguments)


def _division(num_seeds: int, num_devices: int) -> Division:
    """Return how many devices share the seeds, and how many of them each gets at most."""
    per_device = -(-num_seeds // num_devices)
    return Division(-(-num_seeds // per_device), per_device)


def describe() -> str:
    """Name the kind and number of devices, for records."""
    devices = jax.local_devices()
    return f"{devices[0].device_kind} × {len(devices)}"
