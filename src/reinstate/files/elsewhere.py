"""Import libraries away from the working folder: it may be a stranger's, and some obey it.

matplotlib reads ./matplotlibrc as it is imported, and ArviZ ./arvizrc.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def import_elsewhere(name: str) -> Any:
    """Import a module, if it is not yet, without its settings of the working folder."""
    if name not in sys.modules:
        with _elsewhere():
            importlib.import_module(name)
    return sys.modules[name]


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Make Python's own folder the working folder for a moment, of all threads."""
    try:
        here = os.getcwd()
    except OSError:  # it was removed: there is nothing in it
        yield
        return
    os.chdir(sys.prefix)
    try:
        yield
    finally:
        os.chdir(here)
