"""Make sixty mistakes, one at a time, and see whether the tests notice.

Each of mistakes.toml is tried in a copy of src: the tests that should fail run on that copy.

    python -m torture.mistakes [NAME …]     which file of tests caught each, or that it was missed
    python -m torture.mistakes --check      only: does every edit still apply?

A mistake whose text is no longer in its file, or is there twice, does not apply: adapt it to the
code as it is now.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 900  # seconds that the tests of one mistake may take


class Mistake(NamedTuple):
    """One edit of a file."""

    file: str  # under src
    right: str
    wrong: str
    tests: str  # files under tests, in the order in which they run


def mistakes() -> dict[str, Mistake]:
    """Read all mistakes, by name."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: Mistake(file, *each[name]) for file, each in listed.items() for name in each}


def misfit(mistake: Mistake) -> str | None:
    """Say why an edit does not apply, or its tests cannot run."""
    file = ROOT / "src" / mistake.file
    times = file.read_text(encoding="utf-8").count(mistake.right) if file.exists() else 0
    if times != 1:
        return f"its text is {times} times in {mistake.file}"
    gone = [name for name in mistake.tests.split() if not (ROOT / "tests" / name).exists()]
    return f"there is no tests/{gone[0]}" if gone else None


def outcome_of(mistake: Mistake) -> str:
    """Make a mistake in a copy of src and run its tests; return `caught by …`, or what else."""
    if reason := misfit(mistake):
        return f"error: {reason}"
    with tempfile.TemporaryDirectory(prefix="reinstate-mistake-") as folder:
        src = shutil.copytree(ROOT / "src", Path(folder) / "src")
        text = (src / mistake.file).read_text(encoding="utf-8")
        wrong = text.replace(mistake.right, mistake.wrong)
        (src / mistake.file).write_text(wrong, encoding="utf-8")
        files = [f"tests/{name}" for name in mistake.tests.split()]
        # No summary of the code around a failure: it is the name of the failed test that counts.
        options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *files],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(src)},
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return f"error: its tests take more than {LONGEST} s"
    if done.returncode == 0:
        return "missed"
    failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or not failed:
        return f"error: {(done.stdout + done.stderr).strip().splitlines()[-1]}"
    return f"caught by {failed[1]}"


def main(words: Sequence[str]) -> int:
    """Make mistakes; return 1 unless all are caught, or apply."""
    known = mistakes()
    check = "--check" in words
    lines = []
    for name in [word for word in words if word != "--check"] or known:
        said = (misfit(known[name]) or "applies") if check else outcome_of(known[name])
        lines.append(said)
        print(f"{name}: {said}", flush=True)
    good = sum(line.startswith("applies" if check else "caught") for line in lines)
    print(f"{good} of {len(lines)} mistakes {'apply' if check else 'caught'}")
    return int(good < len(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
