"""Several processes that train as one: each has a part of the mesh, the first one has the files.

Numbers go from process to process inside the compiled program. Everything else that they tell each
other (who they are, when to stop, what went wrong) goes through JAX's coordination service, which
process 0 offers: it waits longer than a collective does, and works while one is stuck.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reinstate.errors import UserError, one_line, out_of_memory
from reinstate.runs import guard
from reinstate.runs.checkpoints import raw, typed
from reinstate.settings import differences

SIGN_OF_LIFE = 30  # seconds without one, after which a process counts as dead
STUCK = 300  # seconds for what each process does between epochs, such as writing a checkpoint
COMPILING = 1800  # seconds that one process may compile longer than another
GRACE = 5  # seconds to end in order
AGAIN = "what was saved is not lost: start all processes again with --resume"


class Alone:
    """What a single process is to itself."""

    first = True  # it writes files, and speaks

    def share(self, state: Any, done: int) -> tuple[Any, int]:
        """Return what the first process goes on from: a state, and the epochs done."""
        return state, done

    def program(self, compiled: Callable[..., Any], mesh: Mesh) -> Callable[[Any], Any]:
        """Let a program that runs on all processes take and return what this one holds."""
        return compiled

    def agree(self, epoch: int, stopping: bool) -> bool:
        """Tell whether any process wants to stop after this epoch; all get the same answer."""
        return stopping


@dataclass(frozen=True)
class Address:
    """Where processes meet; JAX finds out what is None."""

    coordinator: str | None = None  # host:port of process 0
    num_processes: int | None = None
    process_id: int | None = None


@contextmanager
def joined(address: Address | None, about: Callable[[], Mapping[str, Any]]) -> Iterator[Alone]:
    """Be one of several processes for a while, or alone without an address.

    `about` tells what has to be the same everywhere. Whatever goes wrong on any process ends all.
    """
    if address is None:
        yield Alone()
        return
    ranks = Ranks(address)
    try:
        ranks.compare({**about(), "num_processes": address.num_processes})
        yield ranks
    except KeyboardInterrupt as stop:
        if not str(stop):  # a second signal, which no other process knows of
            ranks.fail(stop)
        ranks.finish()
        if ranks.first:
            raise
        raise SystemExit(130) from None
    except Exception as error:
        ranks.fail(error)
    ranks.finish()


class Ranks(Alone):
    """This process among others."""

    def __init__(self, address: Address) -> None:
        _connect(address)
        self._client = _client()
        self.number, self.count = jax.process_index(), jax.process_count()
        self.first = self.number == 0
        guard.tell(self.number)
        self._begun = 0  # epochs
        self._reason = ""  # why another process failed
        self._ending = threading.Event()
        self._speaking = threading.Lock()
        threading.Thread(target=self._watch, args=(os.getppid(),), daemon=True).start()

    def compare(self, about: Mapping[str, Any]) -> None:
        """Refuse to work with processes that are asked for something else."""
        text = json.dumps(about)
        self._client.key_value_set(f"about/{self.number}", text)
        self._meet("about", STUCK)
        if self.first:
            ours, told = json.loads(text), dict(self._client.key_value_dir_get("about/"))
            for number in range(1, self.count):
                theirs = json.loads(told[f"about/{number}"])
                if changed := differences(ours, theirs):
                    raise UserError(
                        f"process {number} differs from process 0 ({'; '.join(changed)}): give all"
                        " processes the same program and the same options"
                    )
        self._meet("alike", STUCK)

    def share(self, state: Any, done: int) -> tuple[Any, int]:
        leaves, tree = jax.tree.flatten(state)
        arrays = [np.asarray(raw(leaf)) for leaf in leaves] + [np.array(done)]
        # As bytes: a sum, which this is made of, would turn −0.0 into 0.0.
        parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
        self._meet("restored", STUCK)
        whole = np.concatenate(parts)
        sent = np.asarray(multihost_utils.broadcast_one_to_all(whole, is_source=self.first))
        pieces = np.split(sent, np.cumsum([part.size for part in parts])[:-1])
        found = [
            np.ascontiguousarray(piece).view(array.dtype).reshape(array.shape)
            for piece, array in zip(pieces, arrays, strict=True)
        ]
        filled = [typed(array, leaf) for array, leaf in zip(found, leaves, strict=False)]
        return jax.tree.unflatten(tree, filled), int(found[-1])

    def program(self, compiled: Callable[..., Any], mesh: Mesh) -> Callable[[Any], Any]:
        place = NamedSharding(mesh, PartitionSpec())
        held: list[Any] = [None, None]  # the last result, here and everywhere
        self._meet("compiled", COMPILING)

        def run(state: Any) -> Any:
            everywhere = held[1] if state is held[0] else _placed(state, place)
            self._begun += 1
            self._meet(f"begin/{self._begun}", STUCK)
            new, metrics = compiled(everywhere)
            held[:] = _here(new), new
            return held[0], _here(metrics)

        return run

    def agree(self, epoch: int, stopping: bool) -> bool:
        if stopping:
            self._client.key_value_set(f"stop/{epoch}/{self.number}", "")
        self._meet(f"agree/{epoch}", STUCK)
        return bool(self._client.key_value_dir_get(f"stop/{epoch}/"))

    def finish(self) -> None:
        """Leave together with the others."""
        self._meet("end", STUCK)
        self._ending.set()
        jax.distributed.shutdown()

    def fail(self, error: BaseException) -> NoReturn:
        """End all processes; one of them says why."""
        with self._speaking:
            self._ending.set()
            if not self.first:
                self._report(error)
                time.sleep(SIGN_OF_LIFE + 2 * GRACE)  # until process 0 has spoken, which ends this
                raise UserError(f"process 0 does not answer; {AGAIN}")
            error = self._explained(error)
            self._dismiss()
            raise error

    def _report(self, error: BaseException) -> None:
        """Tell process 0 what went wrong here, and wait for it to end all."""
        why = out_of_memory(error) or (AGAIN if _is_lost(error) else str(error) or repr(error))
        what = "lost contact with another; " if _is_lost(error) else ""
        with suppress(Exception):
            self._client.key_value_set(f"failed/{self.number}", one_line(f"{what}{why}"))
        threading.Thread(target=self._await_dismissal, daemon=True).start()

    def _explained(self, error: BaseException) -> BaseException:
        """Find out why contact was lost, if it was."""
        if not _is_lost(error):
            return error
        ends = time.monotonic() + GRACE / 2
        while time.monotonic() < ends and not (reason := self._first_failure()):
            time.sleep(0.2)
        told = reason and f" ({reason})"
        return UserError(f"lost contact with one of {self.count} processes{told}; {AGAIN}")

    def _dismiss(self) -> None:
        """Let the others end in silence, and wait until they have."""
        with suppress(Exception):
            self._client.key_value_set("over", "")
            ends = time.monotonic() + GRACE / 2
            while time.monotonic() < ends:
                if len(self._client.key_value_dir_get("gone/")) == self.count - 1:
                    return
                time.sleep(0.1)

    def _first_failure(self) -> str:
        with suppress(Exception):
            for name, why in self._client.key_value_dir_get("failed/"):
                if not why.startswith("lost contact"):
                    return f"process {name.rpartition('/')[2]}: {why}"
        return ""

    def _watch(self, parent: int) -> None:
        """End this process if the others cannot go on, whatever it is doing."""
        while not self._ending.wait(0.5):
            if os.getppid() != parent:  # what was started was killed: so is this
                os._exit(guard.LOST)
            if not self.first:
                self._leave_if_dismissed()
            elif (reason := self._first_failure()) and not self._ending.wait(GRACE):
                with self._speaking:
                    print(f"reinstate: {reason}", file=sys.stderr, flush=True)
                    self._dismiss()
                    os._exit(2)

    def _await_dismissal(self) -> None:
        while True:
            self._leave_if_dismissed()
            time.sleep(0.2)

    def _leave_if_dismissed(self) -> None:
        with suppress(Exception):
            self._client.key_value_try_get("over")
            self._client.key_value_set(f"gone/{self.number}", "")
            os._exit(2)

    def _meet(self, name: str, seconds: int) -> None:
        self._client.wait_at_barrier(f"reinstate/{name}", seconds * 1000)


def _connect(address: Address) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    with suppress(AttributeError):  # it would take SIGTERM for itself
        jax.config.update("jax_enable_preemption_service", False)
    known = None not in (address.coordinator, address.num_processes, address.process_id)
    try:
        jax.distributed.initialize(
            address.coordinator,
            address.num_processes,
            address.process_id,
            cluster_detection_method="deactivate" if known else None,
            initialization_timeout=guard.START,
            heartbeat_timeout_seconds=SIGN_OF_LIFE,
            shutdown_timeout_seconds=2 * GRACE,
        )
    except (ValueError, TypeError) as error:
        raise UserError(
            f"--distributed: {one_line(error)}; outside Slurm, Open MPI and Kubernetes give"
            " --coordinator HOST:PORT, --num-processes and --process-id"
        ) from None
    except RuntimeError as error:
        raise UserError(f"{guard.NOT_MET} ({_cause(error)})") from None


def _cause(error: RuntimeError) -> str:
    return one_line(str(error).partition("\n")[0])[:200]


def _client() -> Any:
    """Return JAX's client of its coordination service, for which there is no public name."""
    from jax._src import distributed

    return distributed.global_state.client


def _is_lost(error: BaseException) -> bool:
    """Tell whether an error is one of JAX's about other processes."""
    return isinstance(error, jax.errors.JaxRuntimeError) and out_of_memory(error) is None


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
