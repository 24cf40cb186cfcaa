"""Figures → files of a kind that their name says, the same bytes for the same figure."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reinstate.errors import UserError
from reinstate.files import read_bytes, write_atomically

if TYPE_CHECKING:
    from reinstate.figures.canvas import Figure

KINDS: dict[str, dict[str, Any]] = {  # of files, with what would else change from day to day
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
SIGNED = {".png": "Software", ".svg": "Creator", ".pdf": "Creator"}  # where a file names its maker
LARGEST = 20_000_000  # bytes of a figure of ours


def require_kind(path: Path) -> None:
    """Refuse a file that is to be none of the kinds that can be written."""
    if path.suffix not in KINDS:
        raise UserError(f"{path} must end in .png, .svg or .pdf")


def require_own(path: Path, maker: str, sign: str = "{}") -> None:
    """Refuse to overwrite anything but a figure or a page by the same maker, who signed it."""
    if not os.path.lexists(path):
        return
    try:
        ours = sign.format(maker).encode() in read_bytes(path, LARGEST)
    except UserError:
        ours = False
    if not ours:
        raise UserError(f"{path} exists and is not of {maker}: choose another --out")


def save_figure(figure: "Figure", path: Path, dpi: int, maker: str = "") -> int:
    """Write a figure as PNG, SVG or PDF, by the name's suffix; return how many bytes it has."""
    require_kind(path)
    kind = path.suffix
    signed = {SIGNED[kind]: maker} if maker else {}
    content = figure.written(kind[1:], dpi=dpi, metadata={**KINDS[kind], **signed})
    write_atomically(path, content)
    return len(content)
