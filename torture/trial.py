"""One command line of `torture.settings`: it is refused, or stops where computing would begin."""

import contextlib
import io
import json
import os
import re
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from reinstate import cli, devices
from reinstate.errors import UserError
from reinstate.runs import size
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate.runs.training import train
from reinstate.settings import Settings, from_dict, recorded_settings, to_dict
from reinstate_paper.omniglot import size as drawn_size
from reinstate_paper.omniglot.embedder import SIZE
from reinstate_paper.omniglot.teaching import Pretraining, Teacher

PATIENCE = 10  # seconds for a case that is not trained
TRAINING = 180  # seconds for one that is: it is compiled
TRAINED = 0.03  # share of the accepted ones that are, if they are small
TRACED = 0.25  # share of the accepted ones whose epoch is traced: that takes a second each
SMALL = 100_000_000  # bytes
SHORT = 1000  # steps that follow each other in an epoch
LINE = re.compile(r"reinstate: .{1,1100}\n")
STOPS = {  # where computing begins
    "reinstate.cli.train": "start_run",
    "reinstate.runs.reproduce": "reproduce",
    "reinstate_paper.whole_paper": "reproduce",
    "reinstate.tuning.search": "CandidateBatch",
    "reinstate_paper.pretrain": "load_drawings",
}


class Case(NamedTuple):
    """What came of a command line."""

    number: int
    words: list[str]
    ended: str  # refused, accepted, traced, trained; or how it failed
    said: str
    seconds: float  # of work
    peak: float  # GB of its process, so far


class Begun(BaseException):
    """Raised where computing would begin."""


class Slow(BaseException):
    """Raised when a case has taken too long."""


class Wrong(Exception):
    """Raised where a case broke a promise."""


_parsed: list[Any] = []  # the options of the last line


def install() -> None:
    """Let commands stop where computing would begin."""

    def begin(*_: Any, **__: Any) -> None:
        raise Begun

    def remember(arguments: list[str], parse: Any = cli.parse) -> Any:
        _parsed[:] = [parse(arguments)]
        return _parsed[0]

    for module, name in STOPS.items():
        setattr(import_module(module), name, begin)
    Evaluator.load = begin  # type: ignore[method-assign,assignment]
    cli.parse = remember
    devices.divide_cpu = lambda *_: None  # JAX runs already


def run(number: int, words: list[str], random: Random) -> Case:
    """Try a line, in an empty folder."""
    began, said = time.process_time(), ""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="settings-") as folder:
        os.chdir(folder)
        try:
            with _alarm(PATIENCE):
                ended, said = _try(words, trace=random.random() < TRACED)
            if ended != "refused" and random.random() < TRAINED and _is_small():
                with _alarm(TRAINING):
                    ended, said = _train()
        except (Exception, Slow) as error:
            ended, said = type(error).__name__, traceback.format_exc()
        finally:
            os.chdir(here)
    if number % 10 == 0:
        jax.clear_caches()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Case(number, words, ended, said, time.process_time() - began, peak)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise after so many seconds of work, or after six times as long a wait."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Slow(f"more than {seconds} s")

    clocks = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    for clock, number in clocks.items():
        signal.signal(number, ring)
        signal.setitimer(clock, seconds if clock == signal.ITIMER_PROF else 6 * seconds)
    try:
        yield
    finally:
        for clock in clocks:
            signal.setitimer(clock, 0)


def _try(words: list[str], trace: bool) -> tuple[str, str]:
    """Give a line to the command; look at what it says, or at what it would compute."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(words)
        except Begun:
            code = None
    if code is None:
        _check(_parsed[0], trace)
        return ("traced" if trace else "accepted"), err.getvalue()
    if code != 2 or not LINE.fullmatch(err.getvalue()) or out.getvalue():
        raise Wrong(f"exit status {code}: {err.getvalue()!r} {out.getvalue()[:200]!r}")
    if left := os.listdir():
        raise Wrong(f"refused, but left {left}: {err.getvalue()}")
    return "refused", err.getvalue()


def _check(options: Any, trace: bool) -> None:
    """See that settings come back from a file; compute the shapes of an epoch, if asked to."""
    settings = getattr(options, "settings", None)
    if settings is None:  # evaluate and its like, whose shapes were asked for on the way
        return
    values = json.loads(json.dumps(to_dict(settings)))
    if isinstance(settings, Pretraining):
        if not trace:
            return
        teacher, images = Teacher(settings), (drawn_size.CHARACTERS, drawn_size.DRAWERS, SIZE, SIZE)
        state = jax.eval_shape(teacher.init)
        jax.eval_shape(teacher.train_epoch, state, jax.ShapeDtypeStruct(images, jnp.uint8))
        from_dict(Pretraining, values)
        return
    if recorded_settings(type(settings.task), values) != settings:
        raise Wrong(f"{settings} came back as {recorded_settings(type(settings.task), values)}")
    if not trace:
        return
    learner = settings.make_learner(_agent(options))
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))
    jax.eval_shape(learner.train_epoch, state)
    with contextlib.suppress(UserError):  # too large to be judged, which may never be asked for
        size.require_room(settings, _agent(options), trained=False, judged=True)


def _agent(options: Any) -> str:
    agent: str = options.agent if hasattr(options, "agent") else options.agents[0]
    return agent


def _is_small() -> bool:
    settings = getattr(_parsed[0], "settings", None)
    if not isinstance(settings, Settings):
        return False
    task, parts = settings.task, size._training(settings, _agent(_parsed[0]), exact=True)
    steps = task.episodes_per_epoch * task.episode_length
    few = settings.seeds <= 100 and settings.learner.unroll <= 4
    return few and steps <= SHORT and sum(part.size for part in parts) * settings.seeds < SMALL


def _train() -> tuple[str, str]:
    """Train what was accepted for one epoch, as `reinstate train` would."""
    settings, agent = _parsed[0].settings, _agent(_parsed[0])
    settings = replace(settings, learner=replace(settings.learner, epochs=1))
    try:
        train(agent, settings, Run(Path("run")), Reporter(quiet=True))
    except UserError as error:  # numbers that did not stay finite
        return "trained", str(error)
    return "trained", ""
