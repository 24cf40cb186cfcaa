"""Choices in other people's packages: pandas before the fit, ArviZ after it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import reinstate
from reinstate.choices.comparison import Posterior, compare_by_loo, leave_one_out, save_draws
from reinstate.choices.model import NAMES, count_choices, group_one_back, join_choices, simulate
from reinstate.choices.tables import COLUMNS, read_choices
from reinstate.errors import UserError
from reinstate.runs.choice_fits import example_rows, write_example

pandas = pytest.importorskip("pandas")
if not find_spec("arviz"):  # importing it writes a stamp once a day, on which workers collide
    pytest.skip("no arviz", allow_module_level=True)
pytest.importorskip("h5netcdf")
pytest.importorskip("numpyro")


def arviz() -> Any:
    from reinstate.choices.comparison import require_arviz

    return require_arviz()


def test_a_data_frame_is_fitted_like_its_file(tmp_path: Path) -> None:
    write_example(tmp_path / "choices.csv")
    frame = pandas.read_csv(tmp_path / "choices.csv")
    found = reinstate.fit_choices(frame)
    assert found["rows"] == reinstate.fit_choices(tmp_path / "choices.csv")["rows"]
    rows = pandas.DataFrame(found.participants)
    assert list(rows.columns[:4]) == ["participant", "part", "strategy", "estimate"]
    mean = rows[(rows.part == "cued") & (rows.strategy == "EMB")].estimate.mean()
    assert mean == pytest.approx(found["group"]["cued"]["EMB"]["mean"])


def test_the_dtypes_of_data_frames() -> None:
    frame = pandas.DataFrame(example_rows(), columns=COLUMNS).replace("", None)
    plain = read_choices(frame).choices
    typed = frame.astype({"participant": "category", "cued": bool, "cue_episode": "Int64"})
    typed = typed.rename(columns={"reward": "win"}).astype({"win": float, "action": "string"})
    again = read_choices(typed.sample(frac=1, random_state=1), {"reward": "win"}).choices
    np.testing.assert_array_equal(count_choices(again), count_choices(plain))
    frame.loc[6, "reward"] = 7
    with pytest.raises(UserError, match="row 7: reward is '7', expected 0 or 1"):
        read_choices(frame)


def a_posterior() -> Posterior:
    """Draws of two participants' weights, as good as any."""
    played = [simulate({"IMB": 1.0}, 1, 40, seed=seed) for seed in range(2)]
    both = join_choices(played)
    data = [group_one_back(own, "uncued") for own in count_choices(both)]
    rng = np.random.default_rng(0)
    beta = 0.5 + 0.3 * rng.standard_normal((4, 250, 2, 4))
    mu, diverging = beta.mean(axis=2), rng.random((4, 250)) < 0.01
    names = NAMES["uncued"]
    return Posterior("uncued", names, ["a", "b"], [0, 1], data, beta, mu, mu, diverging)


def test_kinds_of_choices_count_as_often_as_they_were_made() -> None:
    """Against ArviZ's own leave-one-out of every single choice."""
    posterior = a_posterior()
    single = []
    for person, own in enumerate(posterior.data):
        eta = posterior.beta[:, :, person] @ own.x.T  # (chains, draws, patterns)
        for pattern, (chosen, total) in enumerate(zip(own.chosen, own.total, strict=True)):
            single += [special.log_expit(eta[..., pattern])] * int(chosen)
            single += [special.log_expit(-eta[..., pattern])] * int(total - chosen)
    draws = {"mu": posterior.mu, "tau": posterior.tau}
    likelihood = {"choice": np.stack(single, axis=-1)}
    whole = arviz().from_dict(posterior=draws, log_likelihood=likelihood)
    theirs = arviz().loo(whole, pointwise=True, scale="log")
    ours = leave_one_out(posterior)
    assert ours.made.sum() == len(single) and len(ours.made) < len(single)
    assert ours.total == pytest.approx(theirs.elpd_loo)
    assert ours.parameters == pytest.approx(theirs.p_loo)
    assert ours.standard_error() == pytest.approx(theirs.se, rel=0.02)
    assert ours.doubtful == int((np.asarray(theirs.pareto_k) > 0.7).sum())
    assert ours.standard_error(ours) == 0


def test_draws_come_back_from_netcdf(tmp_path: Path) -> None:
    posterior = a_posterior()
    save_draws([posterior], tmp_path / "new" / "draws.nc")
    back = arviz().from_netcdf(tmp_path / "new" / "draws.nc")
    beta = back.posterior["uncued_beta"]
    assert beta.dims == ("chain", "draw", "uncued_participant", "uncued_weight")
    own = beta.sel(uncued_participant="b", uncued_weight="IMB")
    np.testing.assert_array_equal(own, posterior.beta[:, :, 1, 1])
    np.testing.assert_array_equal(back.sample_stats["diverging"], posterior.diverging)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["draws.nc"]


def test_the_model_that_made_the_choices_predicts_them_best() -> None:
    people = [simulate({"IMB": 1.5}, 2, 40, seed=seed, cued=0.0) for seed in range(4)]
    counts, names = count_choices(join_choices(people)), list("abcd")
    from reinstate.choices.hierarchical import sample_posteriors

    full = sample_posteriors(counts, names, chains=2, warmup=200, draws=200)
    found, _ = compare_by_loo(full, counts, names)
    models = {row["model"]: row for row in found["uncued"]}
    assert set(models) == {
        "hierarchical", "hierarchical without IMF", "hierarchical without IMB",
    }  # fmt: skip
    worst = found["uncued"][-1]
    assert worst["model"] == "hierarchical without IMB"
    assert worst["delta_elpd"] > 2 * worst["delta_se"] > 0
    assert found["uncued"][0]["delta_elpd"] == 0
