"""Output for any terminal: a symbol that its encoding lacks is spelled in ASCII.

Windows' code pages and the C locale know no γ, → or box. Where Python would raise an error, the
symbols of help, tables and replays become what people type instead; anything else is escaped, as
Python does on standard error. UTF-8 is left as it is.
"""

import codecs
import io
import sys
import unicodedata

HANDLER = "reinstate-symbols"

SPELLED = {
    "…": "...",
    "−": "-",
    "–": "-",
    "→": "->",
    "←": "<-",
    "↑": "^",
    "↓": "v",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "±": "+/-",
    "×": "x",
    "·": ".",
    "∘": "o",
    "√": "sqrt",
    "∞": "inf",
    "½": "1/2",
    "¹": "1",
    "²": "2",
    "³": "3",
    "₁": "1",
    "₂": "2",
    "ᵀ": "T",
    "“": '"',
    "”": '"',
    "’": "'",
    "•": "*",
    "°": " degrees",
    "∫": "integral",
    "∂": "d",
    "𝒟": "D",
    "\N{COMBINING MACRON}": "_",
    "○": "o",
    "●": "@",
    "◉": "O",
    "★": "*",
    "█": "#",
    "░": ".",
    "✓": "yes",
    "✗": "no",
    "\N{NO-BREAK SPACE}": " ",
}


def spell_unprintable() -> None:
    """Let standard output and error spell what they cannot print."""
    codecs.register_error(HANDLER, _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # notebooks and tests put others in their place
            stream.reconfigure(errors=HANDLER)


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if text := spelled(character):
        return text, error.start + 1
    one = UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, "")
    return codecs.backslashreplace_errors(one)


def spelled(character: str) -> str:
    """Spell a symbol in ASCII; return nothing if it is none of those that we print."""
    name = unicodedata.name(character, "")
    if name.startswith("GREEK"):
        letter = name.split()[-1]
        return letter.capitalize() if "CAPITAL" in name else letter.lower()
    if name.startswith("BOX DRAWINGS"):
        sides = {"HORIZONTAL": "-", "VERTICAL": "|"}
        return sides.get(name.split()[-1], "+") if " AND " not in name else "+"
    return SPELLED.get(character, "")
