"""Several processes that train as one: each has a part of the mesh, the first one has the files.

Numbers go from process to process inside the compiled program. Before each epoch processes meet at
JAX's coordination service, which process 0 offers: it waits longer than a collective does, while
one process compiles or writes a checkpoint. When one is gone, JAX's own time-outs end the others.
"""

import hashlib
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reinstate.errors import UserError, one_line
from reinstate.runs.checkpoints import raw, typed

PATIENCE = 1800  # seconds that one process may compile, or write a checkpoint, longer than another
AGAIN = "what was saved is not lost: start all processes again with --resume"
AUTO = "auto"  # Slurm, Open MPI or Kubernetes tell JAX where processes meet


class Alone:
    """What a single process is to itself."""

    first = True  # it writes files, and speaks

    def share(self, state: Any, done: int) -> tuple[Any, int]:
        """Return what the first process continues from: a state, and the epochs done."""
        return state, done

    def program(self, compiled: Callable[..., Any], mesh: Mesh) -> Callable[[Any], Any]:
        """Let a program that runs on all processes take and return what this one holds."""
        return compiled

    def agree(self, stopping: bool) -> bool:
        """Tell whether any process wants to stop after this epoch; all get the same answer."""
        return stopping


def read_address(text: str) -> tuple[str, int, int] | None:
    """Read HOST:PORT of process 0, how many there are, and the number of this one; or `auto`."""
    if text == AUTO:
        return None
    found = re.fullmatch(r"(.+:\d{1,5}),(\d{1,5}),(\d{1,5})", text)
    if not found or int(found[2]) >= int(found[3]):
        raise UserError(
            "--distributed takes `auto`, or HOST:PORT of process 0, the number of this process and"
            f" how many there are, as in 10.0.0.1:1234,0,2, not {text!r}"
        )
    return found[1], int(found[3]), int(found[2])


@contextmanager
def joined(where: str | None, about: str) -> Iterator[Alone]:
    """Be one of several processes for a while, or alone without an address.

    `about` has to be the same everywhere. Whatever goes wrong on any process ends all.
    """
    if where is None:
        yield Alone()
        return
    _connect(where)
    ranks = Ranks()
    try:
        ranks.compare(about)
        yield ranks
    except KeyboardInterrupt as stop:
        if not str(stop):  # a second signal, which no other process knows of
            ranks.leave("interrupted", 128 + getattr(stop, "number", signal.SIGINT))
        jax.distributed.shutdown()
        raise
    except jax.errors.JaxRuntimeError as error:  # most often, another process is gone
        ranks.leave(f"{error}; {AGAIN}")
    except Exception as error:
        if not isinstance(error, UserError | OSError):  # a mistake of ours
            traceback.print_exc()
        ranks.leave(error)
    jax.distributed.shutdown()


class Ranks(Alone):
    """This process among others."""

    def __init__(self) -> None:
        self.first = jax.process_index() == 0
        self._begun = 0  # epochs

    def compare(self, about: str) -> None:
        """Refuse to work with processes that are asked for something else."""
        told = hashlib.sha256(about.encode()).digest()
        everywhere = multihost_utils.process_allgather(np.frombuffer(told, np.uint8))
        if np.ptp(everywhere, axis=0).any():
            raise UserError("processes differ: give all the same program and the same options")

    def share(self, state: Any, done: int) -> tuple[Any, int]:
        _meet("restored")

        def sent(leaf: Any) -> Any:
            """Return the first process's array, on all."""
            array = np.asarray(raw(leaf))
            # As bytes: a sum, which this is made of, would turn −0.0 into 0.0.
            plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            found = np.asarray(multihost_utils.broadcast_one_to_all(plain, is_source=self.first))
            return typed(np.ascontiguousarray(found).view(array.dtype).reshape(array.shape), leaf)

        state, done = jax.tree.map(sent, (state, np.array(done)))
        return state, int(done)

    def program(self, compiled: Callable[..., Any], mesh: Mesh) -> Callable[[Any], Any]:
        place = NamedSharding(mesh, PartitionSpec())
        held: list[Any] = [None, None]  # the last result, here and everywhere

        def run(state: Any) -> Any:
            everywhere = held[1] if state is held[0] else _placed(state, place)
            self._begun += 1
            _meet(f"begin/{self._begun}")
            new, metrics = compiled(everywhere)
            held[:] = _here(new), new
            return held[0], _here(metrics)

        return run

    def agree(self, stopping: bool) -> bool:
        return bool(np.any(multihost_utils.process_allgather(np.array(stopping))))

    def leave(self, message: object, status: int = 2) -> NoReturn:
        """End without waiting for the others, as JAX would: they notice that this one is gone."""
        print(f"reinstate: {one_line(message)}", file=sys.stderr, flush=True)
        if self.first:  # others may be about to say the same, and end once the service is gone
            time.sleep(1)
        os._exit(status)


def _connect(where: str) -> None:
    # Gloo prints to standard output, which is for results.
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    with suppress(AttributeError):  # it would take SIGTERM for itself
        jax.config.update("jax_enable_preemption_service", False)
    try:
        if address := read_address(where):
            jax.distributed.initialize(*address, cluster_detection_method="deactivate")
        else:
            jax.distributed.initialize()
    except (ValueError, TypeError, RuntimeError) as error:
        raise UserError(f"--distributed {where}: {one_line(error)}") from None


def _meet(name: str) -> None:
    """Wait for the others at JAX's coordination service, for which there is no public name."""
    from jax._src import distributed

    client: Any = distributed.global_state.client
    client.wait_at_barrier(f"reinstate/{name}", PATIENCE * 1000)


def _placed(tree: Any, place: NamedSharding) -> Any:
    """Put what every process holds on all devices of all processes."""

    def put(leaf: Any) -> Any:
        array = np.asarray(raw(leaf))
        return typed(
            jax.make_array_from_callback(array.shape, place, lambda index: array[index]), leaf
        )

    return jax.tree.map(put, tree)


def _here(tree: Any) -> Any:
    """Return the copy that this process holds."""
    return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)
