"""The command `reinstate`: one module per verb, with its options and what it does.

Results go to standard output, progress to standard error. A mistake is one line and exit status 2.
Help is what people wait for most often, so what it does not need is imported where it is used.
"""

import _thread
import contextlib
import gc
import io
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from reinstate.errors import Stopped, UserError, nearest, one_line, out_of_memory

GROUPS = {  # verbs; each is a class in the module of its name, imported when it is needed
    "the paper": {
        "reproduce": "train an experiment's agents, evaluate them, draw figures",
        "report": "make one HTML page of results and runs",
        "figure": "compose a figure of the paper, or draw a memory",
    },
    "your own": {
        "train": "train one agent, several seeds at once",
        "evaluate": "evaluate a trained run on fresh tasks, weights frozen",
        "watch": "replay episodes of a trained run in the terminal",
        "play": "make a page to play against trained agents",
        "optimum": "compute the best possible reward, memory or not",
        "list": "list experiments, agents, memories, sinks and weights",
    },
    "many runs": {
        "sweep": "train and evaluate many runs, here or on a cluster",
        "tune": "search hyper-parameters, many settings at once",
    },
    "people's choices": {"fit-choices": "find strategies that explain two-step choices"},
    "drawings": {"pretrain": "train the embedder of Omniglot's drawings"},
}
VERBS = {verb: text for group in GROUPS.values() for verb, text in group.items()}
CAUGHT = (signal.SIGINT, signal.SIGTERM)
OBJECTS = 100_000  # made between garbage collections: imports and JAX make many, and keep them
AGAIN = 0.05  # seconds until a signal that was dropped is sent again
FIRST = "reinstate watch water-maze"
BEGINNERS = ("tutorial", "demo", "example", "start", "quickstart")  # words that verbs are taken for
HELP = f"""\
Start with: {FIRST}

usage: reinstate VERB …

Meta-learning agents with an episodic memory (Ritter et al., ICML 2018).

  reinstate reproduce barcode-bandits
  reinstate train barcode-bandits --agent epl2rl --out runs/mine
  reinstate evaluate runs/mine

Every setting has a default from the experiment's preset (--preset quick or
paper) and can be changed by name: `reinstate train barcode-bandits --help`
explains the most useful ones. `reinstate VERB --help` explains a verb, and
`reinstate --version` prints the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    arguments = [*(sys.argv[1:] if argv is None else argv)]  # `list` is a module here
    if argv is None:
        gc.set_threshold(OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # notebooks and tests put others in their place
            stream.reconfigure(errors="replace")  # a code page may lack γ or →
    try:
        with _signals(for_good=argv is None):
            status = _main(arguments)
            sys.stdout.flush()
            return status
    except SystemExit as stop:  # help was shown
        return int(stop.code or 0)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        _complain(error)
        return 2
    except KeyboardInterrupt as stop:
        _complain(str(stop) or "interrupted")
        status = 128 + getattr(stop, "number", signal.SIGINT)
        if argv is None:  # XLA may be compiling in a thread, and Python's own end could crash it
            os._exit(status)
        return status
    except Exception as error:
        if (advice := out_of_memory(error)) is None:
            raise  # a mistake of ours, which its traceback tells
        _complain(advice)
        return 2


@contextlib.contextmanager
def _signals(for_good: bool) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Stopped`, wherever they come; `for_good` ends with the process.

    Python drops what is raised in a callback, such as JAX's of the garbage collector: there the
    signal is sent again, a moment later.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise Stopped("", number)

    def dropped(what: Any) -> None:
        if isinstance(what.exc_value, KeyboardInterrupt):
            number = getattr(what.exc_value, "number", signal.SIGINT)
            threading.Timer(AGAIN, _thread.interrupt_main, [number]).start()  # not in this callback
        else:
            hook(what)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = {number: signal.signal(number, stop) for number in CAUGHT}
    try:
        yield
    finally:
        if not for_good:
            sys.unraisablehook = hook
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while modules are imported, which must not be broken off."""
    mask: Any = getattr(signal, "pthread_sigmask", lambda *what: None)  # Windows has none
    mask(getattr(signal, "SIG_BLOCK", 0), CAUGHT)
    try:
        yield
    finally:
        mask(getattr(signal, "SIG_UNBLOCK", 0), CAUGHT)


def _main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(_version())
        return 0
    with _undisturbed():
        options = parse(arguments)
    words = [word for word in arguments if word != "--resume"]  # it is what began the work
    result = options.do(shlex.join(["reinstate", *words]))
    print(json.dumps(result)) if options.json else options.show(result)
    return 0


def _complain(message: object) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody listens
        print(f"reinstate: {one_line(message)}", file=sys.stderr)


def parse(arguments: list[str]) -> Any:
    """Understand a command line: return the options of the verb that it names, ready to be done.

    Only what the line asks for is built: a verb's module is imported, and an experiment's settings
    become options, once they are named.
    """
    verb, *rest = arguments or ["--help"]
    if verb in ("-h", "--help", "--help-all", "help"):
        _print_help()
        raise SystemExit(0)
    if verb in VERBS:
        from reinstate.cli.parsing import parse_verb

        return parse_verb(verb, _options(verb), rest)
    raise UserError(nearest("verb", verb, [*VERBS, "--help", "--version"], _meant(verb)))


def _meant(verb: str) -> str | None:
    """Return the command that was probably meant by what is no verb."""
    if verb in BEGINNERS:
        return FIRST
    from reinstate.runs.experiment import experiment_names

    found = (name for name in experiment_names() if len(verb) > 2 and name.startswith(verb))
    return next((f"reinstate reproduce {name}" for name in found), None)


def _print_help() -> None:
    print(HELP)
    for group, verbs in GROUPS.items():
        print(f"{group}:")
        for name, text in verbs.items():
            print(f"  {name:{max(map(len, VERBS))}}  {text}")


def _version() -> str:
    from importlib.metadata import version

    return version("reinstate")


def _options(verb: str) -> Any:
    home = "reinstate_paper" if verb == "pretrain" else "reinstate.cli"
    module = import_module(f"{home}.{verb.replace('-', '_')}")
    return getattr(module, verb.title().replace("-", ""))
