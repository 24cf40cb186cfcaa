"""What a user can mend: raised anywhere, printed by the command as one line, exit status 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A setting, file or name that cannot work, with a message that names the fix."""


def require_positive(**settings: float) -> None:
    for name, value in settings.items():
        if not value > 0:
            raise UserError(f"{name} must be positive, not {value}")


def require_probability(**settings: float) -> None:
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise UserError(f"{name} must be a probability between 0 and 1, not {value}")


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """A message for an unknown name, with the one that was probably meant."""
    known = list(known)
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
    return f"unknown {kind} {name!r}: {hint}"
