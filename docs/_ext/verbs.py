"""What `--help` says → the page of commands, on which an option that verbs share stands once."""

import contextlib
import io
import os
import re
from collections.abc import Sequence
from unittest import mock

from reinstate.cli import VERBS, parse

EXAMPLE = "barcode-bandits"  # whose settings stand for those of all experiments
BOX = re.compile(r"╭─ (.+?) ─+╮\n(.*?)\n╰", re.DOTALL)
OPTION = re.compile(r"^(-.*?|[A-Z3].*?)(?: {2,}|$)(.*(?:\n .*)*)", re.MULTILINE)
PLAIN = re.compile(r" \[?(INT|FLOAT|STR|PATH|FILE|DIR)\b.*")  # what says no more than the meaning
ELSEWHERE = re.compile("-h|--task|network.recognition|evaluation")  # other places explain these

Options = dict[tuple[str, str], str]  # an option and what it means: its default


def commands() -> str:
    """Explain every verb by its own options, then those that several verbs share."""
    helps = {verb: help_of([verb]) for verb in VERBS}
    worded = [verb for verb, said in helps.items() if f"{verb} EXPERIMENT [OPTIONS]" in said]
    helps |= {verb: help_of([verb, EXAMPLE]) for verb in worded}
    users: dict[tuple[str, str], list[str]] = {}
    options = {verb: options_of(said) for verb, said in helps.items()}
    for verb, its in options.items():
        for option in its:
            users.setdefault(option, []).append(verb)
    parts = []
    for verb, said in helps.items():
        own = {o: default for o, default in options[verb].items() if users[o] == [verb]}
        purpose = VERBS[verb][:1].upper() + VERBS[verb][1:]
        parts += [f"## {verb}", f"{purpose}.", *_example(said), _list(own)]
    parts.append("## Options that verbs share")
    for verbs in dict.fromkeys(map(tuple, users.values())):
        if len(verbs) > 1:
            parts += [_named(verbs), _list({o: "" for o, its in users.items() if its == [*verbs]})]
    return "\n\n".join(part for part in parts if part)


def help_of(words: Sequence[str]) -> str:
    """Return what --help says on a page 100 letters wide, where boxes stand one below another."""
    said = io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"})
    with wide, contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        parse([*words, "--help"])
    return said.getvalue().strip()


def options_of(said: str) -> Options:
    """Read options out of the boxes of a help text: what each means, and its default."""
    found: list[tuple[str, str]] = []
    for title, body in BOX.findall(said):
        text = "\n".join(line[2:-2].rstrip() for line in body.splitlines())
        rows = OPTION.findall(text)
        found += [row for row in rows if row[0][0] == "-" or title == "positional arguments"]
    return dict(_entry(option, text) for option, text in found if not ELSEWHERE.match(option))


def _entry(option: str, text: str) -> tuple[tuple[str, str], str]:
    """Split what is said of an option into its first sentence and its default."""
    words = " ".join(text.split())
    default = re.search(r"\(default: (.*)\)$", words)
    sentence = re.split(r"\.(?: [A-Z(].*)?$| \(default: .*| \(required\)$", words)[0]
    return (option, sentence), default[1] if default else ""


def _example(said: str) -> list[str]:
    """Keep the first example that a verb gives of itself."""
    found = re.search(r"^ *(reinstate .*)$", said.partition("╭─ ")[0], re.MULTILINE)
    return [f"```\n{found[1]}\n```"] if found else []


def _list(options: Options) -> str:
    lines = []
    for (option, meaning), default in options.items():
        name = PLAIN.sub("", option.partition(", ")[0])
        shown = f" ({default})" if default not in ("", "none") else ""
        lines.append(f"- `{name}`: {meaning}{shown}")
    return "\n".join(lines)


def _named(verbs: Sequence[str]) -> str:
    """Name the verbs that share options, or those that lack them where they are fewer."""
    but = [verb for verb in VERBS if verb not in verbs]
    few = len(but) < len(verbs)
    return ("All but " if few else "") + ", ".join(f"`{v}`" for v in (but if few else verbs)) + ":"
