"""Run every program of torture in full, one after the other: `make torture`."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDS = Path("results/torture")
PROGRAMS = {  # name → what makes it a full run
    "kills": (),
    "fuzz": ("--cases", "100000"),
    "long_runs": (),
    "sweeps": (),
    "ranks": (),
}


def main(names: Sequence[str]) -> int:
    """Run programs by their names, or all; return 1 if any of them found trouble."""
    unknown = {*names} - {*PROGRAMS}
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    path = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    failed = []
    for name in names or PROGRAMS:
        record = RECORDS / f"{name.replace('_', '-')}.json"
        words = [*("-m", f"torture.{name}"), *PROGRAMS[name], "--record", str(record)]
        print(f"torture: python {' '.join(words)}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=os.environ | {"PYTHONPATH": path}
        )
        failed += [name] if done.returncode else []
    print(f"records are in {RECORDS}; {', '.join(failed) or 'no program'} found trouble")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
