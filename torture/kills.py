"""Kill, starve and crowd every command that writes; then see whether anything is lost or stuck.

    PYTHONPATH=tests python -m torture.kills --record results/torture/kills.json
    PYTHONPATH=tests python -m torture.kills --one-of 12
    PYTHONPATH=tests python -m torture.kills --only tune

Each command is killed before, after and within every single file operation, meets a full disk, a
failing disk, a read-only disk and a removed folder at each, is sent signals at random moments, and
is started twice at once. Then the same command is run again, to its end. Processes are forked, and
really die. Learning is stood in for (tests/stubbed.py), JAX is not started and there is one thread,
so that forking is safe. There has to be a POSIX system.
"""

import io
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import stubbed
from bits import bits, different, leftovers, trained
from faults import MODES, Faults, applies
from reinstate import cli
from torture import Trial

TROUBLE = ("lost", "stuck", "differing", "leftovers", "tracebacks")
INPUTS = ("choices.csv", "results")  # what commands read
RESUMED = ("train", "reproduce", "pretrain")  # by --resume; others just continue
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
MOMENTS = 25  # signals of each kind and command
CROWDED = ("train", "reproduce all", "tune", "pretrain")
CROWDS = 10  # pairs of processes, of each of these
PAUSE = 0.003  # seconds of each act of a stand-in, over which moments are spread
PATIENCE = 60.0  # seconds; the slowest of these commands takes a tenth of one
LOG = Path("..") / "said.txt"  # outside of the folder that commands work in
# Python loses a Ctrl-C that comes while it collects garbage, and says so: another has to follow.
IGNORED = re.compile(r"Exception ignored in: .*?\nTraceback.*?\nKeyboardInterrupt: ?\n", re.DOTALL)


class Case(NamedTuple):
    """One disturbance of one command."""

    name: str
    kind: str
    number: int  # of the operation, or of the draw


class Ended(NamedTuple):
    """How a process ended."""

    status: int  # minus the number of the signal that it died of
    said: str  # on standard output and standard error


class Undisturbed(NamedTuple):
    """What a command does to files if nobody disturbs it, and what it leaves."""

    operations: list[tuple[str, str]]
    bits: dict[str, Any]
    seconds: float


_known: dict[str, Undisturbed] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Disturb commands as asked; return 1 if anything was lost, stuck or different."""
    trial = Trial("kills", one_of=1, seed=0, workers=2)  # one case of so many, evenly spread
    trial.parser.add_argument("--only", choices=stubbed.LINES, help="one command")
    asked = trial.options(arguments)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        first = Path(folder) / "first" / "here"
        first.mkdir(parents=True)
        names = [asked.only] if asked.only else [*stubbed.LINES]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            learn(first, names)
        cases = [case for name in names for case in plan(name)][:: asked.one_of]
        how: Any = {"mp_context": get_context("fork"), "initializer": settle}
        with ProcessPoolExecutor(asked.workers, **how, initargs=(Path(folder),)) as pool:
            found = [*pool.map(partial(disturb, asked.seed), cases, chunksize=4)]
        os.chdir("/")
    rows = counted(cases, found)
    document: dict[str, Any] = {
        "seed": asked.seed,
        "totals": {n: sum(row[n] for row in rows) for n in ("cases", "disturbances", *TROUBLE)},
        "rows": rows,
        "trouble": [
            {**case._asdict(), "trouble": wrong}
            for case, (_, wrong) in zip(cases, found, strict=True)
            if wrong
        ],
    }
    print(document["totals"])
    trial.write(document)
    return int(any(document["totals"][kind] for kind in TROUBLE))


def learn(here: Path, names: Sequence[str]) -> None:
    """Put stand-ins in their places, write what commands read, and learn what they do undisturbed.

    All lines are parsed once, here.
    """
    stubbed.install()
    os.chdir(here)
    parsed: dict[tuple[str, ...], Any] = {}
    parse_again = cli.parse

    def parse(arguments: list[str]) -> Any:
        line = tuple(arguments)
        if line not in parsed:
            parsed[line] = parse_again(arguments)
        return parsed[line]

    cli.parse = parse
    stubbed.prepare(here, cli.main)
    for name in names:
        with Faults(here) as counted:
            assert cli.main(line_of(name)) == 0, name
        if name in RESUMED:
            assert cli.main(line_of(name, resume=True)) == 0, name
        found = bits(Path("out"))
        shutil.rmtree("out", ignore_errors=True)
        began = time.monotonic()
        assert run(name).status == 0, name
        _known[name] = Undisturbed(counted.operations, found, time.monotonic() - began)
        shutil.rmtree("out", ignore_errors=True)
    from jax._src import xla_bridge

    assert not xla_bridge._backends, "JAX was started"
    assert threading.active_count() == 1, threading.enumerate()


def plan(name: str) -> Iterator[Case]:
    """List all disturbances of a command."""
    for mode in MODES:
        for at, (operation, _) in enumerate(_known[name].operations, 1):
            unremoved = mode == "eio-once" and operation == "unlink"  # which does no harm
            if applies(mode, operation) and not unremoved:
                yield Case(name, mode, at)
    for each in SIGNALS:
        yield from (Case(name, f"{each} at a moment", n) for n in range(MOMENTS))
    if name in CROWDED:
        yield from (Case(name, "2 writers", n) for n in range(CROWDS))


def settle(folder: Path) -> None:
    """Give a worker a folder of its own, with what commands read."""
    here = folder / str(os.getpid()) / "here"
    shutil.copytree(folder / "first" / "here", here)
    os.chdir(here)


def disturb(seed: int, case: Case) -> tuple[int, dict[str, str]]:
    """Do one disturbance; return how many there were, and what was wrong afterwards."""
    random, name = Random(f"{seed} {case.name} {case.kind} {case.number}"), case.name
    moment = random.uniform(0.0, _known[name].seconds + PAUSE * len(_known[name].operations) / 4)
    times, trouble = 1, dict[str, str]()
    if case.kind in MODES:
        first = run(name, mode=case.kind, at=case.number)
        assert not case.kind.startswith("kill") or first.status == -signal.SIGKILL, first
    elif case.kind == "2 writers":
        first, trouble = crowd(name)
    else:
        pid = fork(lambda: slowly(name))
        time.sleep(moment)
        os.kill(pid, signal.Signals[case.kind.split()[0]])
        first = wait(pid)
        times = int(first.status not in (0, 2))
    trouble |= aftermath(name, first)
    shutil.rmtree("out", ignore_errors=True)
    return times, trouble


def crowd(name: str) -> tuple[Ended, dict[str, str]]:
    """Start two processes at the same time: one is first, and the other is told."""
    logs = [Path("..") / f"writer-{n}.txt" for n in range(2)]
    ready, go = os.pipe()

    def writer() -> int:
        os.close(go)
        os.read(ready, 1)  # until the other end is closed
        return slowly(name)

    pids = [fork(writer, log) for log in logs]
    os.close(ready)
    os.close(go)
    ended = [wait(pid, log) for pid, log in zip(pids, logs, strict=True)]
    told = ("in use by another process", "already holds", "not empty: add --resume")
    fine = [e.status == 0 or (e.status == 2 and any(t in e.said for t in told)) for e in ended]
    if all(fine) and any(e.status == 0 for e in ended):
        return ended[0], {}
    return ended[0], {"stuck": " | ".join(f"{e.status}: {e.said[-300:]}" for e in ended)}


def aftermath(name: str, first: Ended) -> dict[str, str]:
    """Run a command that was disturbed to its end; return what is wrong then."""
    out = Path("out")
    saved = trained(out)
    last = run(name)
    if last.status == 2 and "--resume" in last.said and name in RESUMED:
        last = run(name, resume=True)
    found = trained(out)
    try:
        wrong = different(_known[name].bits, bits(out))
    except ValueError as error:
        wrong = [f"unreadable: {error}"]
    # It is no trouble to be told that the work is done.
    stuck = last.status != 0 and (bool(wrong) or last.status != 2)
    others = {*os.listdir()} - {"out", *INPUTS}
    again = [each for each, rows in saved.items() if found.get(each, [])[: len(rows)] != rows]
    trouble = {
        "lost": ", ".join(again),
        "stuck": last.said[-500:] if stuck else "",
        "differing": "" if stuck else ", ".join(wrong),
        "leftovers": ", ".join([*leftovers(Path.cwd()), *others]),
        "tracebacks": uncivil(first) or uncivil(last),
    }
    return {kind: text for kind, text in trouble.items() if text}


def uncivil(ended: Ended) -> str:
    """Say what a process did other than succeed, say in one line why not, or die of a signal."""
    traced = "Traceback" in IGNORED.sub("", ended.said)
    return ended.said[-2000:] if traced or ended.status not in (0, 2, 130, 143, -2, -9, -15) else ""


def counted(
    cases: Sequence[Case], found: Sequence[tuple[int, dict[str, str]]]
) -> list[dict[str, Any]]:
    """Count, for every command and kind of disturbance, what went wrong."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for case, (times, wrong) in zip(cases, found, strict=True):
        new: dict[str, Any] = {"command": case.name, "disturbance": case.kind}
        new |= dict.fromkeys(("cases", "disturbances", *TROUBLE), 0)
        row = rows.setdefault((case.name, case.kind), new)
        row["cases"] += 1
        row["disturbances"] += times
        for kind in wrong:
            row[kind] += 1
    return [rows[each] for each in sorted(rows)]


def line_of(name: str, resume: bool = False) -> list[str]:
    return [*stubbed.LINES[name].split(), *(["--resume"] if resume else [])]


def slowly(name: str) -> int:
    """Run a command whose stand-ins take some time, in this process."""
    act = stubbed.Program.__call__

    def pause(program: stubbed.Program, *arguments: Any) -> Any:
        time.sleep(PAUSE)
        return act(program, *arguments)

    setattr(stubbed.Program, "__call__", pause)  # noqa: B010
    return cli.main(line_of(name))


def run(name: str, resume: bool = False, mode: str = "", at: int = 0) -> Ended:
    """Run a command in a process of its own, in which one operation may be disturbed."""

    def act() -> int:
        if not mode:
            return cli.main(line_of(name, resume))
        with Faults(Path.cwd(), mode, at, die=lambda: os.kill(os.getpid(), signal.SIGKILL)):
            return cli.main(line_of(name, resume))

    return wait(fork(act))


def fork(act: Callable[[], int], log: Path = LOG) -> int:
    """Start a process that does something, writes to a file and exits; return its number."""
    caught = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, caught)  # until the new process is ready for them
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)
        return pid
    status = 70
    try:
        file = open(log, "w", buffering=1)  # noqa: SIM115 - to the end of this process
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)
        status = act()
    except KeyboardInterrupt:  # before the command could catch it, or after
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def wait(pid: int, log: Path = LOG) -> Ended:
    """Wait until a process ends; kill it if it does not."""
    end = time.monotonic() + PATIENCE
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            said = log.read_text(errors="replace") if log.exists() else ""
            return Ended(os.waitstatus_to_exitcode(status), said)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Ended(-1000, f"no end in {PATIENCE:.0f} s")
        time.sleep(0.0005)


if __name__ == "__main__":
    sys.exit(main())
