"""What all pages have around what they show: head, style, policy, script."""

import base64
import hashlib
from importlib.resources import files
from string import Template


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
