"""What all pages have around what they show: head, style, policy, script."""

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from reinstate.errors import UserError
from reinstate.figures.mpl import require_own
from reinstate.files import read_document


def part(name: str) -> str:
    """Return a file of this folder."""
    return (files("reinstate.figures.page") / name).read_text(encoding="utf-8")


def framed(verb: str, title: str, style: str, script: str, body: str) -> str:
    """Make a page by this verb; its policy lets no script run but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(part("frame.html")).substitute(
        verb=verb,
        title=title,
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        body=body.rstrip(),
    )


def require_page(out: Path, verb: str = "report") -> None:
    """Refuse to overwrite anything but an earlier page of this verb."""
    require_own(out, f"reinstate {verb}", '<meta name="generator" content="{}">')


def require_document(path: Path, kind: type[Any]) -> None:
    """Refuse to overwrite anything but a JSON document of this kind, and of this kind alone."""
    if not os.path.lexists(path):
        return
    try:
        found = read_document(kind, path)
        others = found.keys() - kind.__required_keys__ - kind.__optional_keys__
    except UserError:
        others = {"all of it"}
    if others:
        raise UserError(
            f"{path} exists and is not of this command: move it, or choose another --out"
        )
