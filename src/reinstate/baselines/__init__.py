"""Bandit algorithms and exact optima.

`…_optimum` returns what is best in a world, whatever its settings, as a dict of values by name.

Values are reward per episode (in the maze: goals), except for the maze's `steps_…`. Where they are
known, each dict has

- `chance`: of random actions;
- `without_memory`: the ceiling of an agent that remembers nothing of earlier episodes;
- `with_memory`: the ceiling of an agent whose memory lasts an epoch, exact where it is attained and
  otherwise a bound from above; each function says which.

What is reachable, where that is less than the bound, stands beside it. What is simulated, not
exact, says so in its name or has a half width, of its 95% interval, beside it. A task that cannot
be solved raises Unsolvable.
"""
