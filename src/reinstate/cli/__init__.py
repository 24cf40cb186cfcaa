"""The command `reinstate`: one module per verb."""

from reinstate.cli.command import main

__all__ = ["main"]
