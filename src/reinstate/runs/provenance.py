"""Where results come from: which program made them, and by which command."""

import os
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path

import jax

from reinstate.analysis.results import Provenance


def provenance() -> Provenance:
    """Name this program, for every file that holds results."""
    return {"version": version("reinstate"), "commit": commit(), "jax": jax.__version__}


def repeatable(command: str) -> str:
    """Strip from a recorded command where its files went, and that it was continued."""
    words = shlex.split(command)
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(word for word in words if word != "--resume")


def commit() -> str | None:
    """Find the commit of the source tree this runs from, marked if files have changed since.

    Where the source came without its history, REINSTATE_COMMIT can say it.
    """

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(Path(__file__).parent), *words], capture_output=True, text=True
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie inside somebody else's repository: only a tracked file counts.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return os.environ.get("REINSTATE_COMMIT")
    head = git("rev-parse", "HEAD")
    return f"{head}+changes" if git("status", "--porcelain", "-uno") else head
