"""Where results come from: which program made them, and by which command."""

import os
import shlex
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jax

from reinstate.analysis.results import Provenance

FILE = Path(__file__).resolve()
SOURCE = FILE.parents[3]  # where the package lies in src/reinstate
PATIENCE = 10.0  # seconds for git


def provenance() -> Provenance:
    """Name this program, for every file that holds results."""
    return {"version": version("reinstate"), "commit": commit(), "jax": jax.__version__}


def today() -> str:
    """Return the date in UTC, as 2018-07-10."""
    return datetime.now(UTC).date().isoformat()


def repeatable(command: str) -> str:
    """Strip from a recorded command where its files went, and that it was continued."""
    try:
        words = shlex.split(command)
    except ValueError:  # a file's: quotes that never close, say
        return command
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(word for word in words if word != "--resume")


def commit() -> str | None:
    """Find the commit of the source tree this runs from, marked if files have changed since.

    Where the source came without its history, REINSTATE_COMMIT can say it. A copy that is installed
    inside somebody else's repository is not of that commit.
    """
    if not (SOURCE / ".git").exists() or _git("ls-files", "--error-unmatch", str(FILE)) is None:
        return os.environ.get("REINSTATE_COMMIT")
    head, changed = _git("rev-parse", "HEAD"), _git("diff", "--quiet", "HEAD") is None
    return f"{head}+changes" if head and changed else head


def _git(*words: str) -> str | None:
    """Ask git about the source tree; None where it fails, or says no."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *words], cwd=SOURCE, env=own, capture_output=True, text=True, timeout=PATIENCE
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
