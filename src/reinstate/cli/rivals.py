"""The word `rivals` of `reproduce`: agents whose memory lasts an epoch, against reinstatement."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from reinstate.analysis.intervals import with_interval
from reinstate.cli.shared import Computing, Names, shown
from reinstate.cli.tables import PER_EPISODE, print_table, say
from reinstate.errors import UserError
from reinstate_paper.contest.plan import Plan, changed, find_plan
from reinstate_paper.contest.tables import rows


@dataclass(frozen=True, kw_only=True)
class Rivals(Computing):
    """Let agents whose memory lasts an epoch compete with episodic reinstatement.

    Every agent is tuned, trained and judged in every event, then judged with frozen weights in
    worlds that it was not trained in. All goes to OUT/EVENT/AGENT; OUT/rivals.json has the numbers,
    and OUT/EVENT.png shows them. After an interruption the same command continues: what is finished
    is not done again.
    """

    preset: str = "quick"
    """Where settings come from: quick, small (a CPU, an hour or two), small-wide (larger agents
    in two small tasks, as long) or paper (an accelerator)."""
    events: Annotated[tuple[str, ...], shown("NAME …", "all of the preset")] = ()
    """Which events."""
    agents: Annotated[Names, shown("NAME …", "all of the preset")] = ()
    """Which agents; `reinstate list` describes them."""
    seeds: Annotated[int | None, shown("INT", "the preset's own")] = None
    """How many agents of each kind are trained."""
    trials: Annotated[int | None, shown("INT", "the preset's own")] = None
    """How many learning rates and entropy costs are tried for each agent."""
    longer: int = 1
    """How many times as long as in the preset agents are trained."""
    out: Path = Path("reproduction/rivals")
    """Folder for everything that is written."""

    @property
    def plan(self) -> Plan:
        """The preset's contest, with what was asked for."""
        plan = find_plan(self.preset)
        known = {event.name: event for event in plan.events}
        if unknown := [name for name in self.events if name not in known]:
            raise UserError(f"unknown event {unknown[0]!r}: choose among {', '.join(known)}")
        events = tuple(known[name] for name in self.events or known)
        search = plan.search if self.trials is None else replace(plan.search, trials=self.trials)
        plan = replace(plan, events=events, agents=self.agents or plan.agents, search=search)
        return changed(plan, self.seeds, self.longer)

    def do(self, command: str) -> dict[str, Any]:
        from reinstate.agent import AGENTS
        from reinstate.runs.progress import Reporter
        from reinstate_paper.contest.holding import hold

        plan = self.plan
        for agent in plan.agents:
            AGENTS.find(agent)  # refuses what there is not, before anything is trained
        self.start()
        return hold(plan, self.preset, self.out, Reporter(), command=command)

    def show(self, result: dict[str, Any]) -> None:
        left, right = ["event", "agent"], ["weights", "state", "reward [95%]", "of ceiling"]
        right += ["exposure 1", "2", "last", "steps to 90%", "s per seed"]
        cells: list[list[str]] = []
        for event in result["events"].values():
            for place, row in enumerate(rows(event)):
                reached = sorted(step for step in row.learned_at if step is not None)
                seeds = len(row.learned_at)
                middle = f"{reached[len(reached) // 2]:,}" if 2 * len(reached) > seeds else "–"
                share = "" if row.of_ceiling is None else f"{row.of_ceiling:.0%}"
                first, second, last = (f"{row.exposures[at]:.2f}" for at in (0, 1, -1))
                cells.append(
                    [
                        "" if place else event["title"], row.agent, f"{row.weights:,}",
                        f"{row.state_bytes:,} B", with_interval(row.reward), share, first, second,
                        last, middle, f"{row.seconds:.1f}",
                    ]
                )  # fmt: skip
            cells.append([])
        print_table(PER_EPISODE, left, right, cells)
        say(f"{result['seconds']:.0f} s; rivals.json and figures are in {self.out}")
