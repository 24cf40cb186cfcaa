"""What others rely on does not change unnoticed."""

from importlib.util import find_spec

import pytest

from public_api import LIST, MODULES, lines_of

NEEDS = {"gymnasium": "gymnasium", "stoa": "stoa", "torch": "torch"}  # of an adapter, its library
ADVICE = """The public API is not the recorded one. If that is meant, add a line to CHANGELOG.md
and renew the list: PYTHONPATH=src:tests python -m public_api"""


@pytest.mark.parametrize("module", MODULES)
def test_public_names_and_signatures_are_the_recorded_ones(module: str) -> None:
    library = NEEDS.get(module.rpartition(".")[2])
    if library and not find_spec(library):
        pytest.skip(f"no {library}")
    recorded = LIST.read_text(encoding="utf-8").splitlines()
    deeper = [other for other in MODULES if other.startswith(f"{module}.")]
    kept = [
        line
        for line in recorded
        if line.startswith(f"{module}.")
        and not any(line.startswith(f"{other}.") for other in deeper)
    ]
    assert kept == lines_of(module), ADVICE


def test_every_recorded_line_is_of_a_public_module() -> None:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len({*lines}) > 100
    assert all(any(line.startswith(f"{module}.") for module in MODULES) for line in lines)
