"""Where results come from: which program made them, and by which command."""

import os
import re
import shlex
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from reinstate.analysis.results import Provenance

SOURCE = Path(__file__).resolve().parents[3]  # where the package lies in src/reinstate
PATIENCE = 10.0  # seconds for git
COMMIT = re.compile(r"[0-9a-f]{40}")
LARGEST_LIST = 10_000_000  # bytes of a repository's list of branches and tags
# Ends of lines and rights to execute differ between systems: neither is a change.
OUR_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tautocrlf = input\n\tfilemode = false\n"


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

    Where the source came without its history, REINSTATE_COMMIT can say it.
    """
    return _commit_of(SOURCE, Path(__file__).resolve()) or os.environ.get("REINSTATE_COMMIT")


def _commit_of(root: Path, file: Path) -> str | None:
    """Find the commit checked out in a folder, if that has a repository of its own with this file.

    A repository's configuration can name programs that git starts (`core.fsmonitor`, filters,
    hooks), and so can the environment. None of it is read: git gets an empty repository of ours,
    which only borrows the objects and the index.
    """
    try:
        own = _repository(root / ".git")
        common = own / _text(own / "commondir") if (own / "commondir").exists() else own
        head = _head(own, common)
        program = shutil.which("git")
        if head is None or program is None or Path(program).resolve().parent == Path.cwd():
            return None
        with TemporaryDirectory(prefix="reinstate-") as folder:
            environment = _borrow(Path(folder), head, own, common, root)
            asked = [program, *("ls-files", "--error-unmatch", str(file.relative_to(root)))]
            if _ask(asked, root, environment) != 0:
                return None  # an installed copy, inside somebody else's repository
            asked = [program, *("diff", "--quiet", "--no-ext-diff", "--no-textconv")]
            same = _ask([*asked, "--ignore-submodules=all", "HEAD"], root, environment)
            return {0: head, 1: f"{head}+changes"}.get(same)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _repository(path: Path) -> Path:
    """Return the folder of a repository; of a second working tree, a file says where it is."""
    if not path.is_file():
        return path
    return path.parent / _text(path).removeprefix("gitdir:").strip()


def _head(own: Path, common: Path) -> str | None:
    """Read which commit is checked out, as git writes it down: by itself, or as a branch's."""
    branch = _text(own / "HEAD").removeprefix("ref:").strip()
    if COMMIT.fullmatch(branch):
        return branch
    if not branch.startswith("refs/") or ".." in branch:
        return None
    if (common / branch).is_file():
        found = _text(common / branch)
        return found if COMMIT.fullmatch(found) else None
    for line in _text(common / "packed-refs").splitlines():
        if line.endswith(f" {branch}") and COMMIT.fullmatch(line[:40]):
            return line[:40]
    return None


def _text(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(path)
    with open(path, encoding="utf-8") as file:
        return file.read(LARGEST_LIST).strip()


def _borrow(folder: Path, head: str, own: Path, common: Path, root: Path) -> dict[str, str]:
    """Make a repository without configuration; return an environment in which git sees no other."""
    for name in ("objects", "refs"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text(f"{head}\n", encoding="utf-8")
    (folder / "config").write_text(OUR_CONFIG, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(root),
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_OBJECT_DIRECTORY": str(common / "objects"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }


def _ask(command: list[str], root: Path, environment: dict[str, str]) -> int:
    """Ask git a question that its exit status answers: nothing that it prints is read."""
    streams: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    done = subprocess.run(command, cwd=root, env=environment, timeout=PATIENCE, **streams)
    return done.returncode
