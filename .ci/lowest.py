"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import sys
import tomllib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
OTHERS = ("cuda", "lint")  # need hardware, or check nothing that runs


def pins(requirements: Iterable[str]) -> list[str]:
    """Turn `name>=version` into `name==version`; our own extras need none."""
    found = set()
    for requirement in requirements:
        name, bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?(.*)", requirement).groups()
        if name == "reinstate":
            continue
        lowest = re.match(r">=([\d.]+)", bound)
        if not lowest:
            sys.exit(f"{PROJECT.name}: {requirement} has no lower bound: add one that was tried")
        found.add(f"{name}=={lowest[1]}")
    return sorted(found, key=str.lower)


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = [r for n, r in project["optional-dependencies"].items() if n not in OTHERS]
    print(*pins(chain(project["dependencies"], *extras)), sep="\n")
