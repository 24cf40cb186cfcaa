"""The documentation's tables are the recorded ones."""

import re
from pathlib import Path

import fill_pages
from claim_tables import agreement, named
from fill_pages import BLOCK, fill, pages
from reinstate.analysis.verdicts import ALPHA, holm
from reinstate.files import read_json

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
SUMMARIES = ["summary.json", "replicate/summary.json"]


def cells_of(table: str) -> list[list[str]]:
    """The rows of a table, without its header."""
    _, _, *rows = table.splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_tables_on_pages_are_the_recorded_ones() -> None:
    """If not: `make tables`."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    for page, text in texts.items():
        assert fill(text) == text, page
    assert len(BLOCK.findall("".join(texts.values()))) > 25


def test_what_is_out_of_date_is_written_again() -> None:
    block = "<!-- results: water-maze -->\nold\n<!-- /results -->"
    assert fill(block) == fill(fill(block)) != block


def test_what_is_not_recorded_is_said_to_be_missing() -> None:
    assert "Not recorded yet: nowhere" in fill("<!-- results: nowhere -->\n<!-- /results -->")


def test_comments_are_those_of_tables() -> None:
    for page in pages():
        assert "<!--" not in BLOCK.sub("", page.read_text(encoding="utf-8")), page


def test_claims_call_agents_by_the_names_that_readers_know() -> None:
    claim = "epl2rl's lead over l2rl-context and epl2rl-recognition; epl2rl-input-16 is at chance"
    assert named(claim) == (
        "epL2RL's lead over L2RL+Context and epL2RL+Recognition; `epl2rl-input-16` is at chance"
    )


def test_optima_stand_below_the_agents() -> None:
    results = fill_pages.read("barcode-bandits")
    table, _ = fill_pages.table("results", ["barcode-bandits"]).split("\n\n")
    rewards = {row[0].strip("*"): row[1] for row in cells_of(table)}
    assert rewards["own memory"] == f"{results['optimum']['own_memory']:.4f}"
    assert rewards["epL2RL"].startswith(f"{results['agents']['epl2rl']['reward']['mean']:.2f} [")


def test_record_and_replicate_stand_side_by_side() -> None:
    record, again = (read_json(RESULTS / name) for name in SUMMARIES)
    rows = cells_of(fill_pages.table("paper-claims", SUMMARIES))
    checks = [check for part in record["experiments"].values() for check in part["checks"]]
    values = sorted(f"{check['value']:.3f}" for check in checks if check["paper"])
    assert sorted(re.sub(r"[a-z* ]*([-.\d]+).*", r"\1", row[2]) for row in rows) == values
    for column, document in ((2, record), (3, again)):
        for verdict in ("contradicted", "undecided"):
            stressed = [row for row in rows if f"**{verdict}**" in row[column]]
            assert len(stressed) == document["totals"][verdict]
    # One agent was not run again.
    assert [row[0] for row in rows if row[3] == "–"] == ["4.3: as in 4.1"]


def test_an_undecided_claim_shows_the_adjusted_p() -> None:
    quick = ["quick/summary.json"]
    (row,) = [r for r in cells_of(fill_pages.table("paper-claims", quick)) if "IMB … cued" in r[1]]
    (check,) = [
        check
        for check in read_json(RESULTS / quick[0])["experiments"]["two-step"]["checks"]
        if "uses IMB on cued" in check["claim"]
    ]
    assert check["p"] < 0.05 < check["p_holm"]
    assert row[2].endswith(f"*p = .{check['p_holm']:.3f}*".replace(".0.", "."))


def test_all_claims_of_our_own_are_supported_on_both_sets_of_seeds() -> None:
    for name in SUMMARIES:
        parts = read_json(RESULTS / name)["experiments"].values()
        ours = [check for part in parts for check in part["checks"] if not check["paper"]]
        assert len(ours) == 12 and {check["verdict"] for check in ours} == {"supported"}


def test_every_recorded_file_is_listed_with_what_made_it() -> None:
    rows = cells_of(fill_pages.table("recorded-files", []))
    listed = {f"{file}.json" for row in rows for file in row[1].split(", ")}
    assert listed == {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.json")}
    made = {file: row[0] for row in rows for file in row[1].split(", ")}
    assert made["two-step/results"].startswith("`reinstate reproduce all --preset paper`, f961d00")


def test_experiment_1_alone_supports_its_claims_at_the_quick_preset() -> None:
    page = " ".join((ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8").split())
    assert "“supported” for three of the paper's claims" in page
    part = read_json(RESULTS / "quick" / "summary.json")["experiments"]["barcode-bandits"]
    checks = [check for check in part["checks"] if check["paper"]]
    assert len(checks) == 3 and max(holm([check["p"] for check in checks])) <= ALPHA
    assert all(check["value"] >= check["region"][0] for check in checks)


def test_verdicts_survive_other_seeds() -> None:
    record, again = (read_json(RESULTS / name) for name in SUMMARIES)
    shared, same, flips = agreement(record, again)
    assert flips == 0 and same > 0.8 * shared
    _, second = cells_of(fill_pages.table("verdicts", SUMMARIES))
    assert second[-1] == f"{same} of {shared} claims, none reversed"


def test_a_reversed_verdict_is_seen() -> None:
    record, again = (read_json(RESULTS / SUMMARIES[0]) for _ in range(2))
    again["experiments"]["two-step"]["checks"][0]["verdict"] = "contradicted"
    again["experiments"]["two-step"]["checks"][2]["verdict"] = "supported"
    again["experiments"]["two-step"]["checks"][3]["verdict"] = "undecided"
    shared, same, flips = agreement(record, again)
    assert (shared - same, flips) == (3, 2)
