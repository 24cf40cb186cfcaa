"""The command `reinstate`: one module per verb, with its options and what it does.

Results go to standard output, progress to standard error. A mistake is one line and exit status 2.
Help is what people wait for most often, so what it does not need is imported where it is used.
"""

import contextlib
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, get_origin

from reinstate.cli.symbols import spell_unprintable
from reinstate.errors import UserError, nearest, one_line, out_of_memory

VERBS = {  # each is a class in the module of its name, imported when it is asked for
    "reproduce": "train an experiment's agents, judge them, draw figures",
    "train": "train one agent, several seeds at once",
    "evaluate": "judge a trained run on fresh tasks, weights frozen",
    "report": "make one HTML page of results and runs",
    "list": "list experiments, agents, memories, sinks and weights",
    "optimum": "compute the best possible reward, memory or not",
    "sweep": "train and judge many runs, here or on a cluster",
    "tune": "search hyper-parameters, many settings at once",
    "play": "make a page to play against trained agents",
    "watch": "replay episodes of a trained run in the terminal",
    "memory-map": "draw the states that a trained run's memory holds",
    "figure": "compose a figure of the paper from results",
    "join": "put agents side by side that were trained apart",
    "rejudge": "judge recorded results by the rules of this version",
    "verdicts": "compare two recorded results claim by claim",
    "memory-as-input": "compare agents whose memory is an input",
    "fit-choices": "find strategies that explain two-step choices",
    "example-choices": "write an example of a table for fit-choices",
    "recover-choices": "test fit-choices on agents of known weights",
    "pretrain": "train the embedder of Omniglot's drawings",
}
MOVED = {  # flags of earlier versions that are verbs now
    ("fit-choices", "--example"): "reinstate example-choices FILE.csv",
    ("fit-choices", "--recovery"): "reinstate recover-choices DIR",
    ("report", "--inputs"): "reinstate memory-as-input RESULTS…",
}
SHELLS = ("bash", "zsh", "fish", "tcsh")
HELP = """\
usage: reinstate VERB …

Meta-learning agents with an episodic memory (Ritter et al., ICML 2018).

  reinstate reproduce barcode-bandits
  reinstate train barcode-bandits --agent epl2rl --out runs/mine
  reinstate evaluate runs/mine
  reinstate report runs/mine

Every setting has a default from the experiment's preset (--preset quick or
paper) and can be changed by name: `reinstate train barcode-bandits --help`
explains them all. `reinstate VERB --help` explains a verb, and
`reinstate --version` prints the version.

Your shell can complete verbs, experiments and options (bash, zsh, fish, tcsh):

  reinstate --tyro-write-completion bash FILE && source FILE
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    arguments = [*(sys.argv[1:] if argv is None else argv)]  # `list` is a module here
    spell_unprintable()
    return _status(lambda: _main(arguments))


def _main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(_version())
        return 0
    options = parse(arguments)

    def do() -> int:
        result = options.do(shlex.join(["reinstate", *arguments]))
        print(json.dumps(result)) if options.json else options.show(result)
        return 0

    if not getattr(options, "distributed", False):
        return do()
    from reinstate.runs.guard import guarded

    return guarded(lambda: _status(do))


def _status(work: Callable[[], int]) -> int:
    """Do work; put what goes wrong on one line, and return the exit status."""
    try:
        status = work()
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
        return 130
    except Exception as error:
        if (advice := out_of_memory(error)) is None:
            raise  # a mistake of ours, which its traceback tells
        _complain(advice)
        return 2


def _complain(message: object) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody listens
        print(f"reinstate: {one_line(message)}", file=sys.stderr)


def parse(arguments: list[str]) -> Any:
    """Understand a command line: return the options of the verb that it names, ready to be done.

    Only what the line asks for is built: a verb's module is imported, and an experiment's sixty
    settings become options, once they are named. Completion scripts need all of it.
    """
    verb, *rest = arguments or ["--help"]
    if verb in ("-h", "--help", "help"):
        print(f"{HELP}\nverbs:")
        for name, text in VERBS.items():
            print(f"  {name:{max(map(len, VERBS))}}  {text}")
        raise SystemExit(0)
    if verb in ("--tyro-write-completion", "--tyro-print-completion"):
        _complete(verb, rest)
    if verb not in VERBS:
        raise UserError(nearest("verb", verb, VERBS))
    for word in rest:
        if instead := MOVED.get((verb, word.partition("=")[0])):
            raise UserError(f"{verb} {word} is a verb of its own now: {instead}")
    from reinstate.cli.parsing import run_tyro, union

    return run_tyro(union([_verb(verb, rest)]), arguments)


def _version() -> str:
    from importlib.metadata import version

    return version("reinstate")


def _complete(verb: str, rest: list[str]) -> NoReturn:
    """Print or write a script that completes commands in a shell, and stop."""
    from reinstate.cli.parsing import run_tyro, union
    from reinstate.files import write_atomically

    usage = "SHELL FILE" if "write" in verb else "SHELL"
    if len(rest) != len(usage.split()) or rest[0] not in SHELLS:
        raise UserError(f"use reinstate {verb} {usage}, with one of {', '.join(SHELLS)}")
    script = io.StringIO()
    with contextlib.redirect_stdout(script), contextlib.suppress(SystemExit):
        run_tyro(union(_everything()), ["--tyro-print-completion", rest[0]])
    if "write" in verb:
        write_atomically(Path(rest[1]), script.getvalue().encode())
    else:
        print(script.getvalue(), end="")
    raise SystemExit(0)


def _options(verb: str) -> Any:
    home = "reinstate_paper" if verb == "pretrain" else "reinstate.cli"
    module = import_module(f"{home}.{verb.replace('-', '_')}")
    return getattr(module, verb.title().replace("-", ""))


def _verb(verb: str, rest: list[str]) -> Any:
    """Build the branch of one verb; some verbs want a word first, such as an experiment."""
    from reinstate.cli.parsing import Nothing, branch, union

    options = _options(verb)
    if not hasattr(options, "words"):
        return branch(verb, options, options.__doc__)
    if rest and not rest[0].startswith("-"):
        kind, default = options.for_word(rest[0], rest[1:])
        chosen = [branch(rest[0], kind, (get_origin(kind) or kind).__doc__, default)]
    elif {"-h", "--help"} & {*rest}:
        lines = options.words().items()
        chosen = [branch(word, Nothing, one_line(line)) for word, line in lines]
    else:
        known = ", ".join(options.words())
        raise UserError(f"{verb} needs {options.first} first: reinstate {verb} … (known: {known})")
    return branch(verb, union(chosen), options.__doc__)


def _everything() -> Iterator[Any]:
    """Build all branches, with all words and their options; leave out what cannot be loaded."""
    from reinstate.cli.parsing import branch, union

    for verb, line in VERBS.items():
        options, chosen = _options(verb), []
        if not hasattr(options, "words"):
            yield branch(verb, options, line)
            continue
        for word, about in options.words().items():
            with contextlib.suppress(UserError):
                kind, default = options.for_word(word, [])
                chosen.append(branch(word, kind, about, default))
        yield branch(verb, union(chosen), line)
