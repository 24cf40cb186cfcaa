"""The documentation's numbers and tables are the recorded ones."""

from pathlib import Path

import pytest

import recorded
from claim_tables import agreement, named
from fill_pages import BLOCK, NUMBER, fill, pages
from reinstate.files import read_json
from words import NBSP

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
SUMMARIES = ["summary.json", "replicate/summary.json"]


def cells_of(table: str) -> list[list[str]]:
    """The rows of a table, without its header."""
    _, _, *rows = table.splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_tables_and_numbers_on_pages_are_the_recorded_ones() -> None:
    """If not: `make tables`."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    for page, text in texts.items():
        assert fill(text) == text, page
    everything = "".join(texts.values())
    assert len(BLOCK.findall(everything)) > 50 and len(NUMBER.findall(everything)) > 80


def test_what_is_out_of_date_is_written_again() -> None:
    where = "water-maze agents.epl2rl.reward.mean .2f"
    assert fill(f"(1,000<!-- {where} -->)") == f"({recorded.number(where)}<!-- {where} -->)"
    block = "<!-- optimum: water-maze -->\nold\n<!-- /optimum -->"
    assert fill(block) == fill(fill(block)) != block
    device = fill("on x<!-- water-maze device -->")  # words, in one piece
    assert device == fill(device) and "x<" not in device


def test_claims_are_those_of_the_file() -> None:
    checks = recorded.read("two-step")["checks"]
    paper, words, ours = recorded.table("claims", ["two-step"]).split("\n\n")
    assert words == "Claims of ours, each judged alone:"
    rows = cells_of(paper)
    assert len(rows) == sum(bool(check["paper"]) for check in checks)
    assert len(cells_of(ours)) == sum(not check["paper"] for check in checks)
    refuted = next(c for c in checks if c["verdict"] == "contradicted" and c["tried"])
    low, high = refuted["ci95"]
    assert [
        refuted["paper"],
        named(f"{refuted['claim']}: {refuted['bound']}"),
        f"{refuted['value']:.3f} [{low:.3f},{NBSP}{high:.3f}]",
        f"<{NBSP}.001",
        f"<{NBSP}.001",
        f"**contradicted**; tried: {refuted['tried']}",
    ] in rows
    (supported,) = [row for row in rows if row[1].startswith("epL2RL uses EMB on cued")]
    assert supported[-1] == "supported"


def test_claims_call_agents_by_the_names_that_readers_know() -> None:
    claim = "epl2rl's lead over l2rl-context and epl2rl-recognition; epl2rl-input-16 is at chance"
    assert named(claim) == (
        "epL2RL's lead over L2RL+Context and epL2RL+Recognition; `epl2rl-input-16` is at chance"
    )


def test_optima_by_exposure_have_a_small_table_of_their_own() -> None:
    optima, by_exposure = recorded.table("optimum", ["barcode-bandits"]).split("\n\n")
    values = recorded.read("barcode-bandits")["optimum"]
    assert all(len(row) == 2 and "  " not in row[1] for row in cells_of(optima))
    ((name, *cells),) = cells_of(by_exposure)
    assert name == "own memory by exposure"
    assert cells == [f"{value:.4f}" for value in values["own_memory_by_exposure"]]


def test_a_number_is_found_by_its_path() -> None:
    results = recorded.read("two-step")
    reward = results["agents"]["epl2rl"]["reward"]
    assert recorded.number("two-step agents.epl2rl.reward.mean .3f") == f"{reward['mean']:.3f}"
    smallest = recorded.number("two-step agents.epl2rl.reward.per_seed.min .4f")
    assert smallest == f"{min(reward['per_seed']):.4f}"
    (imf,) = [c for c in results["checks"] if "uses IMF on cued" in c["claim"]]
    assert recorded.number("two-step checks.IMF-on-cued.value .3f") == f"{imf['value']:.3f}"
    with pytest.raises(ValueError, match="too many values"):
        recorded.number("two-step checks.IMF.value")  # uncued or cued?
    probes = recorded.read("compositional-bandits")["agents"]["epl2rl"]["probes"]
    where = "compositional-bandits agents.epl2rl.probes.memory-cleared.mean .2f"
    assert recorded.number(where) == f"{probes['memory cleared']['mean']:.2f}"
    with pytest.raises(KeyError):
        recorded.number("two-step agents.nobody.reward.mean .3f")


def test_record_and_replicate_stand_side_by_side() -> None:
    record, again = (read_json(RESULTS / name) for name in SUMMARIES)
    *rows, total, supported, contradicted, undecided = cells_of(
        recorded.table("paper-claims", SUMMARIES)
    )
    ours = cells_of(recorded.table("our-claims", SUMMARIES))
    checks = [check for part in record["experiments"].values() for check in part["checks"]]
    for kept, its in ((True, rows), (False, [["", *row] for row in ours])):
        for row, check in zip(its, [c for c in checks if bool(c["paper"]) is kept], strict=True):
            assert row[2].startswith(named(f"{check['claim']}: "))
            assert row[3].strip("*").startswith(check["verdict"])
            assert f" {check['value']:.3f} [" in row[3]
    # One agent was not run again.
    assert [row[0] for row in rows if not row[4]] == ["4.3"]
    assert total[3:] == [str(part["totals"]["claims"]) for part in (record, again)]
    assert supported[3] == str(record["totals"]["supported"])
    assert contradicted[4] == str(again["totals"]["contradicted"])
    assert undecided[3] == str(record["totals"]["undecided"])


def test_verdicts_survive_other_seeds() -> None:
    record, again = (read_json(RESULTS / name) for name in SUMMARIES)
    shared, same, flips = agreement(record, again)
    assert flips == 0 and same > 0.8 * shared
    _, second = cells_of(recorded.table("verdicts", SUMMARIES))
    assert second[-1] == f"{same} of {shared} claims, none reversed"


def test_a_reversed_verdict_is_seen() -> None:
    record, again = (read_json(RESULTS / SUMMARIES[0]) for _ in range(2))
    again["experiments"]["two-step"]["checks"][0]["verdict"] = "contradicted"
    again["experiments"]["two-step"]["checks"][2]["verdict"] = "supported"
    again["experiments"]["two-step"]["checks"][3]["verdict"] = "undecided"
    shared, same, flips = agreement(record, again)
    assert (shared - same, flips) == (3, 2)
