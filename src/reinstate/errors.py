"""Errors that a user can mend: the command prints them as one line and exits with status 2."""

import difflib
import signal
import unicodedata
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

LARGEST_COUNT = 2**31 - 1  # whole numbers are computed with as int32
LARGEST_NUMBER = 3e38  # and others as float32

LONGEST = 1000  # characters of a message, about
MOST_NAMES = 20  # that a message lists
LONGEST_NAME = 100  # of a name in one: it may come from a file
# Kinds of characters that steer a terminal, or hide or reorder text: control and format characters,
# bytes of a file's name that are no text (lone surrogates), separators of lines.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


class UserError(Exception):
    """A setting, file or name that cannot work; its message names the fix."""


class Stopped(KeyboardInterrupt):
    """Work was interrupted by a signal: with a message, after saving what was done."""

    def __init__(self, message: str = "", number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number = number


class Damaged(UserError):
    """A file of ours that was cut short or altered since it was written."""


class Unsolvable(UserError):
    """A task that exact methods cannot solve: too large, or of a kind they do not cover."""


class TooLarge(Unsolvable):
    """A task that would take exact methods too long, or too much memory."""


def require_positive(**settings: float) -> None:
    """Refuse settings that are not above 0, or too large to compute with."""
    for name, value in settings.items():
        if not value > 0:
            raise UserError(f"{name} must be positive, not {value}")
        largest = LARGEST_COUNT if isinstance(value, int) else LARGEST_NUMBER
        if value > largest:
            raise UserError(f"{name} must be at most {largest}, not {value}")


def require_finite(**settings: float) -> None:
    """Refuse settings that are no number, infinite, or too large to compute with."""
    for name, value in settings.items():
        if not abs(value) <= LARGEST_NUMBER:
            raise UserError(f"{name} must be a finite number, not {value}")


def require_within(low: float, high: float, **settings: float) -> None:
    """Refuse settings outside low … high."""
    for name, value in settings.items():
        if not low <= value <= high:
            raise UserError(f"{name} must lie between {low} and {high}, not {value}")


require_seed = partial(require_within, 0, LARGEST_COUNT)  # what random numbers can start from


def require_not_negative(**settings: float) -> None:
    """Refuse settings below 0, or too large to compute with."""
    for name, value in settings.items():
        if not value >= 0:
            raise UserError(f"{name} must be 0 or more, not {value}")
        if value:
            require_positive(**{name: value})


def require_probability(**settings: float) -> None:
    """Refuse settings outside 0 … 1."""
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise UserError(f"{name} must be a probability between 0 and 1, not {value}")


def require_shape(name: str, array: Any, shape: tuple[int, ...], whose: str) -> None:
    """Refuse an array of another shape, as NumPy would (ValueError), but in words.

    What is meant for one lane is most often given a batch, so say what to do about that.
    """
    found = tuple(getattr(array, "shape", ()))
    if found != shape:
        batch = found[-len(shape) :] == shape if shape else bool(found)
        fix = "for a batch, map over it with jax.vmap" if batch else "give it that shape"
        raise ValueError(f"{name} has shape {found}, expected {shape}, {whose}: {fix}")


def require_choices(settings: Any) -> None:
    """Refuse a dataclass in which a field of type Literal[…] holds none of its choices."""
    for name, hint in get_type_hints(type(settings)).items():
        choices, value = get_args(hint), getattr(settings, name)
        if get_origin(hint) is Literal and value not in choices:
            known = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise UserError(f"unknown {name} {value!r}: choose {known}")


def nearest(kind: str, name: str, known: Iterable[str], meant: str | None = None) -> str:
    """Return a message for an unknown name that suggests the one probably meant."""
    known = list(known)
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
    close = [meant] if meant else []
    close = close or [each for each in known if each.startswith(shown.lower())]  # gru → gru-epoch
    close = close or difflib.get_close_matches(shown.lower(), known, n=1, cutoff=0.6)
    all_known = ", ".join(known) if len(known) <= MOST_NAMES else "see `reinstate list`"
    hint = f"did you mean {close[0]}?" if close else f"known: {all_known}"
    return f"unknown {kind} {shown!r}: {hint}"


def out_of_memory(error: BaseException) -> str | None:
    """Say what to lower where memory ran out, in Python, NumPy or JAX; None of any other error."""
    text = " ".join(str(error).split())
    # JAX's errors go by their name, so that nobody has to import JAX to ask.
    from_jax = type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError")
    exhausted = "RESOURCE_EXHAUSTED" in text or "out of memory" in text.lower()
    if not (isinstance(error, MemoryError) or (from_jax and exhausted)):
        return None
    why = f" ({text[:160]})" if text else ""
    return (
        f"out of memory{why}: lower --seeds, --learner.lanes, evaluation.epochs or"
        " network.hidden-size, make the task smaller, or use a machine with more memory"
    )


def printable(text: str) -> str:
    """Spell what a terminal would obey instead of showing: an escape character becomes `\\x1b`."""
    if text.isprintable():
        return text
    kinds = ((sign, unicodedata.category(sign)) for sign in text)
    return "".join(ascii(sign)[1:-1] if kind in UNSEEN else sign for sign, kind in kinds)


def one_line(message: object) -> str:
    """Put a message on one line of bounded length, with its beginning and its end."""
    lines = (line.strip() for line in str(message).splitlines())
    text = printable(" ".join(filter(None, lines)))
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST * 3 // 5]} … {text[-LONGEST * 2 // 5 :]}"
