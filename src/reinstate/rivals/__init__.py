"""Rivals of episodic reinstatement: agents whose memory lasts an epoch, one file per kind.

Importing this package registers their names; `makers` is imported once one of them is asked for.
"""

from reinstate import agent  # noqa: F401  (its agents are the first in every list)
from reinstate.registry import Later, register

EQUAL = (
    "epl2rl-oracle",
    "lstm-epoch",
    "gru-epoch",
    "lru",
    "deltanet",
    "transformer",
    "hcam",
)  # as many weights as epL2RL, or nearly
MEDIUM = (
    "epl2rl-110",
    "epl2rl-recognition-110",
    "deltanet-64",
    "transformer-64",
    "gru-epoch-128",
)
WIDE = (
    "lstm-epoch-256",
    "gru-epoch-256",
    "lru-128",
    "deltanet-128",
    "transformer-128",
    "hcam-128",
)

for _name in (*EQUAL, *MEDIUM, *WIDE):
    register("agent", _name, Later("reinstate.rivals.makers", "RIVALS"))
