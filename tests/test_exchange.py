"""A cell's file, written and read without PyTorch; tests/interop reads it with PyTorch."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.cell import EpisodicLSTMCell
from reinstate.errors import UserError
from reinstate.files import read_arrays, write_arrays
from reinstate.interop.exchange import FORMAT, ORDERS, load_cell, save_cell


@pytest.mark.parametrize("episodic", [True, False])
def test_a_cell_comes_back_as_it_was(tmp_path: Path, episodic: bool) -> None:
    cell = EpisodicLSTMCell(3, 4, episodic=episodic, key=jax.random.key(0))
    save_cell(tmp_path / "cell", cell)
    again = load_cell(tmp_path / "cell")
    assert (again.hidden_size, again.episodic) == (4, episodic)
    np.testing.assert_array_equal(again.weight, cell.weight)
    np.testing.assert_array_equal(again.bias, cell.bias)
    assert read_arrays(tmp_path / "cell", "")[1] == {FORMAT: ORDERS[episodic]}


def test_short_floats_come_back_short(tmp_path: Path) -> None:
    cell = EpisodicLSTMCell(3, 4, key=jax.random.key(0))
    save_cell(tmp_path / "cell", jax.tree.map(lambda x: x.astype(jnp.bfloat16), cell))
    assert load_cell(tmp_path / "cell").weight.dtype == jnp.bfloat16


def test_what_is_no_cell_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(UserError, match="does not exist: name a file that save_cell wrote"):
        load_cell(path)
    arrays = {"weight": np.zeros((7, 20)), "bias": np.zeros(20)}
    write_arrays(path, arrays)  # which gates they are, nobody says
    with pytest.raises(UserError, match=r"not a cell's file.*reinstate\.load"):
        load_cell(path)
    for order in ORDERS.values():
        write_arrays(path, {**arrays, "bias": np.zeros(18)}, {FORMAT: order})
        with pytest.raises(UserError, match="make no cell"):
            load_cell(path)
