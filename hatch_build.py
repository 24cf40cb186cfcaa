"""README.md as a package index shows it: there, links to files of the repository must be absolute.

They are if REINSTATE_REPOSITORY has the repository's address, as the release workflow sets it:
https://host/owner/name. Nothing else has to know the address.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "REINSTATE_REPOSITORY"
DRAWING = re.compile(r'(?<=<img src=")(?![a-z]+:)')
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\((?![a-z]+:|#)([^)]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Tell hatchling what the package's long description is."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get(VARIABLE, "")
        text = with_address(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_address(text: str, address: str, tag: str) -> str:
    """Lead links into the repository at a tag; without an address leave them as they are."""
    if not address:
        return text

    def absolute(found: re.Match[str]) -> str:
        picture, words, path = found.groups()
        view = "raw" if picture else "blob"
        inner = LINK.sub(absolute, words)  # a picture that is a link
        return f"{picture}[{inner}]({address.rstrip('/')}/{view}/{tag}/{path})"

    return DRAWING.sub(f"{address.rstrip('/')}/raw/{tag}/", LINK.sub(absolute, text))
