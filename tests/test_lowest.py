"""The lowest versions that CI tries are those that pyproject.toml allows."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "lowest.py"


def pins() -> Any:
    spec = importlib.util.spec_from_file_location("lowest", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pins


def test_every_package_has_a_lower_bound_that_is_tried() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name, bound = re.split("[>=,]+", requirement)[:2]
        assert f"{name}=={bound}" in done.stdout.splitlines()


def test_pins() -> None:
    found = pins()(["b>=2.4,<3", "a[x]>=1", "b>=2.4,<3", "reinstate[docs]"])
    assert found == ["a==1", "b==2.4"]
    with pytest.raises(SystemExit, match="c<3 has no lower bound"):
        pins()(["c<3"])
