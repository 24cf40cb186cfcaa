"""Deliberate mistakes apply to the code as it is; whether tests catch them, torture says."""

import pytest
from torture.mistakes import misfit, mistakes


@pytest.mark.parametrize("name", mistakes())
def test_a_mistake_can_be_made(name: str) -> None:
    assert misfit(mistakes()[name]) is None
