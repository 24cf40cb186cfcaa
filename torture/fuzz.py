"""Fuzz every reader: damaged files end in success or in one line, and in nothing else.

    PYTHONPATH=tests python -m torture.fuzz --cases 100000 --record results/torture/fuzz.json
    PYTHONPATH=tests python -m torture.fuzz --only fit --case 17

A case fails if anything but a `UserError` is raised, if it takes more than ten seconds or two
gigabytes, or if it starts a process, speaks over the network or writes outside of its folder. The
line that repeats a failed case is printed.
"""

import argparse
import contextlib
import gc
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from torture import Trial

PATIENCE = 10  # seconds
MEMORY = 2 << 30  # bytes that a worker may have beyond what it has when it is ready
LONGEST = 4000  # characters of a message, before the command makes one line of it
PORTION = 100  # cases that a worker is given at once
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Outcome(NamedTuple):
    """How a case ended."""

    reader: str
    number: int
    ended: str  # accepted, refused, or what went wrong
    message: str
    seconds: float


class Hang(BaseException):
    """A case took too long, or did what it must not; nothing of ours catches this."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as many cases as are asked for; return 1 if any failed."""
    trial = Trial("fuzz", cases=2000, seed=0, workers=2)
    trial.parser.add_argument("--only", help="one reader, by its name")
    trial.parser.add_argument("--case", type=int, help="one case of that reader")
    asked = trial.options(arguments)
    from torture.readers import READERS

    names = [asked.only] if asked.only else [*READERS]
    each = -(-asked.cases // len(names))
    numbers = [range(n, min(n + PORTION, each)) for n in range(0, each, PORTION)]
    portions = [(name, few) for few in numbers for name in names]
    if asked.case is not None:
        portions = [(asked.only, range(asked.case, asked.case + 1))]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        start = partial(_prepare, Path(folder), asked.seed)
        with ProcessPoolExecutor(asked.workers, get_context("spawn"), start) as pool:
            outcomes = [case for found in pool.map(_cases, portions) for case in found]
    document = _document(outcomes, asked)
    print(json.dumps(document, indent=1))
    trial.write(document)
    return int(document["ended"]["failed"] > 0)


def _document(outcomes: Sequence[Outcome], asked: argparse.Namespace) -> dict[str, Any]:
    """Count how cases ended, and say how those that failed are repeated."""
    readers: dict[str, Counter[str]] = {}
    failed = [case for case in outcomes if case.ended not in ("accepted", "refused")]
    for case in outcomes:
        readers.setdefault(case.reader, Counter())[case.ended] += 1
    counts: Counter[str] = sum(readers.values(), Counter())
    slowest = max(outcomes, key=lambda case: case.seconds)
    for case in failed:
        print(f'--only "{case.reader}" --case {case.number} --seed {asked.seed}: {case.message}')
    return {
        "cases": len(outcomes),
        "ended": {
            "accepted": counts["accepted"],
            "refused": counts["refused"],
            "failed": len(failed),
        },
        "slowest": {"reader": slowest.reader, "seconds": round(slowest.seconds, 3)},
        "readers": readers,
    }


_folder, _seed, _home = Path(), 0, ""  # of this worker; the case that is being read


def _prepare(folder: Path, seed: int) -> None:
    """Make the files that damage starts from, once for each worker, and stand guard."""
    global _folder, _seed
    from torture import readers

    warnings.simplefilter("ignore")
    _folder, _seed = folder / str(os.getpid()), seed
    readers.install()
    with _quietly(io.StringIO()):
        readers.make(_folder / "seeds")
    sys.addaudithook(_watch)
    signal.signal(signal.SIGALRM, _too_long)
    for name, reader in readers.READERS.items():
        shutil.copytree(_folder / "seeds" / reader.seed, _folder / "case")
        if (whole := _read(name, -1)).ended != "accepted":
            raise SystemExit(f"{name} does not accept its own files: {whole.message}")
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


@contextlib.contextmanager
def _quietly(said: io.StringIO) -> Iterator[None]:
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield


def _watch(event: str, arguments: Any) -> None:
    """Refuse what no reader has to do, while one reads."""
    if not _home:
        return
    outside = event == "open" and (arguments[2] or 0) & CHANGING and _is_outside(arguments[0])
    if event in FORBIDDEN or outside:
        raise Hang(f"{event} {str(arguments)[:200]}")


def _is_outside(path: Any) -> bool:
    if isinstance(path, int) or path == os.devnull:
        return False
    return not os.path.abspath(os.fsdecode(path)).startswith(_home)


def _too_long(*_: Any) -> None:
    raise Hang(f"more than {PATIENCE} s")


def _cases(portion: tuple[str, Sequence[int]]) -> list[Outcome]:
    """Damage the files of a reader and have it read them, again and again."""
    from torture.damage import damage
    from torture.readers import READERS

    (name, numbers), outcomes = portion, []
    reader = READERS[name]
    for number in numbers:
        draw, case = Random(f"{_seed} {name} {number}"), _folder / "case"
        shutil.copytree(_folder / "seeds" / reader.seed, case)
        files = sorted(path for path in case.glob(reader.damaged) if path.is_file())
        for path in draw.sample(files, min(len(files), draw.choice((1, 1, 1, 2)))):
            damage(path, draw)
        outcomes.append(_read(name, number))
    return outcomes


def _read(name: str, number: int) -> Outcome:
    """Have a reader read the case's folder, which is removed."""
    global _home
    from reinstate.errors import UserError
    from torture.readers import READERS

    began, said, case = time.perf_counter(), io.StringIO(), _folder / "case"
    ended, message = "accepted", ""
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with contextlib.chdir(case), _quietly(said):
            _home = f"{case}{os.sep}"
            READERS[name].read()
    except (UserError, OSError) as error:  # of both the command makes one line
        ended, message = "refused", str(error)
        if isinstance(error, UserError) and not 0 < len(message) < LONGEST:
            ended = "long message"
    except BaseException as error:
        ended, message = type(error).__name__, traceback.format_exc()[-3000:]
    finally:
        _home = ""
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.perf_counter() - began
    shutil.rmtree(case)
    gc.collect(0)
    return Outcome(name, number, ended, message, seconds)


if __name__ == "__main__":
    sys.exit(main())
