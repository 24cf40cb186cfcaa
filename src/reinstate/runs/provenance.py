"""Where results come from: which program made them, and by which command."""

import os
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from reinstate.analysis.results import Provenance

SOURCE = Path(__file__).resolve().parents[3]  # where the package lies in src/reinstate
DESCRIBE = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+changes"]


def provenance() -> Provenance:
    """Name this program, for every file that holds results."""
    return {"version": version("reinstate"), "commit": commit(), "jax": jax.__version__}


def today() -> str:
    """Return the date in UTC, as 2018-07-10."""
    return datetime.now(UTC).date().isoformat()


def commit() -> str | None:
    """Find the commit of the source tree this runs from, marked if files have changed since.

    Where the source came without its history, REINSTATE_COMMIT can say it.
    """
    told = os.environ.get("REINSTATE_COMMIT")
    if not (SOURCE / ".git").exists():
        return told
    asked: Any = {"cwd": SOURCE, "capture_output": True, "text": True, "timeout": 10}
    try:
        done = subprocess.run(["git", *DESCRIBE], **asked)
    except (OSError, subprocess.SubprocessError):
        return told
    return done.stdout.strip() or told
