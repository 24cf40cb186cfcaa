"""What a claim hangs on: the same test at every choice that the paper leaves open.

A cell is one way to make those choices: the agents that a claim is about, trained and evaluated
with the same settings. Two kinds of grids are made of cells:

    a map       every combination of some factors, at the quick preset, with few seeds: it shows
                where a claim holds
    one by one  a single factor changed from the paper preset, with other seeds, ten or more: it
                decides what the claim depends on

The rule, fixed before any grid was run:

- Factors and their levels are choices that the paper leaves open, and the size of training.
- A cell counts if the agent without memory and epL2RL learn in it: both earn at least half of what
  there is between chance and the best possible without episodic memory.
- A claim depends on a factor if changing that alone, one by one, gives both "supported" and
  "contradicted", each by the rule of `analysis.verdicts` with Holm's adjustment over the grid; and
  if a control, for which the claim is false by construction, is contradicted at both levels. In the
  control another agent's numbers stand for those of the claim's agent (`STANDS_IN`).
- If only the number of training epochs does that, the claim depends on the length of training.
- Otherwise the preset's verdict stands. A sentence tested by several claims has the worst of their
  verdicts, and one that depends on something is not counted as supported.

    results/multiverse/alone.json    all cells that were changed one by one
    results/multiverse/MAP.json      the cells of a map, and .svg
"""
