"""Episodic memories: the protocol that training needs, the paper's DND, and one that consolidates.

Nothing of the rest of the package is needed to use them.
"""

from reinstate.memory.dnd import DND, Consolidating, Contents, Found, Memory, Retrieval
from reinstate.registry import Registry

__all__ = ["DND", "MEMORIES", "Consolidating", "Contents", "Found", "Memory", "Retrieval"]

MEMORIES: Registry[type[Memory]] = Registry("memory", {"dnd": DND, "consolidating": Consolidating})
