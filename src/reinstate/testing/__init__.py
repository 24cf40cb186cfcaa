"""The contract of tasks, agents and memories, as checks of your own.

    from reinstate.testing import check_agent, check_memory, check_task

    check_task(HigherLower())
    check_agent(GRUAgent)  # or a name, or a Maker
    check_memory(LastEpisode())

Each lets the thing play a little, and raises a ContractError that says which rule is broken.
`python -m reinstate.testing PACKAGE` checks whatever an installed package registers.
"""

from reinstate.testing.players import check_agent, check_memory
from reinstate.testing.worlds import ContractError, check_task, exact

__all__ = ["ContractError", "check_agent", "check_memory", "check_task", "exact"]
