"""Rivals of episodic reinstatement: agents whose memory lasts an epoch, one file per kind.

Importing this package registers their names; what makes one is imported once it is needed. Those
named after their kind alone have as many weights as epL2RL, or nearly; the others have a width of
their own.
"""

from collections.abc import Mapping

from reinstate.agent import Maker, Wiring  # whose agents are the first in every list
from reinstate.registry import Later, later, register

ORACLE = "reinstate.rivals.oracle:OracleMaker"
RECURRENT = "reinstate.rivals.recurrent:RecurrentMaker"
LRU = "reinstate.rivals.recurrent:LRUMaker"
DELTANET = "reinstate.rivals.deltanet:DeltaNetMaker"
TRANSFORMER = "reinstate.rivals.attention:TransformerMaker"
HCAM = "reinstate.rivals.attention:HCAMMaker"
KEYS = "reinstate.rivals.keys:KeysMaker"

EQUAL: Mapping[str, Later] = {
    "epl2rl-oracle": later(
        ORACLE,
        "episodic LSTM handed its own context's newest state: no error of retrieval",
        "epL2RL, oracle recall",
        "#17697A",
    ),
    "lstm-epoch": later(
        RECURRENT,
        "LSTM that sees the context and is carried through the epoch",
        "LSTM, epoch",
        "#B3541E",
    ),
    "gru-epoch": later(
        RECURRENT,
        "GRU that sees the context and is carried through the epoch",
        "GRU, epoch",
        "#8C6D1F",
        cell="gru",
    ),
    "lru": later(LRU, "linear recurrent units, 2 layers, through the epoch", "LRU", "#5B7F2B"),
    "deltanet": later(
        DELTANET,
        "matrix states written by the delta rule, 2 layers, through the epoch",
        "DeltaNet",
        "#B0307A",
    ),
    "transformer": later(
        TRANSFORMER,
        "causal transformer over the whole epoch, 2 layers, 4 heads",
        "Transformer",
        "#6A3FA0",
    ),
    "hcam": later(
        HCAM, "attention to the 4 earlier episodes that matter most (HCAM)", "HCAM", "#3B5BA9"
    ),
}

# Wide enough to tell whether size is what an agent lacks, and small enough for a CPU.
MEDIUM: Mapping[str, Maker | Later] = {
    "epl2rl-110": Wiring(
        "epl2rl of 110 units", "epL2RL, 110", "#00507D", route="gate", hidden_size=110
    ),
    "epl2rl-recognition-110": Wiring(
        "epl2rl-recognition of 110 units",
        "epL2RL+Recognition, 110",
        "#C26A00",
        route="gate",
        recognises=True,
        hidden_size=110,
    ),
    "deltanet-64": later(DELTANET, "deltanet of width 64", "DeltaNet, 64", "#922763", width=64),
    "transformer-64": later(
        TRANSFORMER, "transformer of width 64", "Transformer, 64", "#573287", width=64
    ),
    "gru-epoch-128": later(
        RECURRENT, "gru-epoch of 128 units", "GRU, epoch, 128", "#755B19", width=128, cell="gru"
    ),
}

WIDE: Mapping[str, Later] = {
    "lstm-epoch-256": later(
        RECURRENT, "lstm-epoch of 256 units", "LSTM, epoch, 256", "#7A3412", width=256
    ),
    "gru-epoch-256": later(
        RECURRENT, "gru-epoch of 256 units", "GRU, epoch, 256", "#5E4813", width=256, cell="gru"
    ),
    "lru-128": later(LRU, "lru of width 128", "LRU, 128", "#3A541A", width=128),
    "deltanet-128": later(DELTANET, "deltanet of width 128", "DeltaNet, 128", "#741D50", width=128),
    "transformer-128": later(
        TRANSFORMER, "transformer of width 128", "Transformer, 128", "#43246B", width=128
    ),
    "hcam-128": later(HCAM, "hcam of width 128", "HCAM, 128", "#243A70", width=128),
}

READERS: Mapping[str, Later] = {
    "epl2rl-keys": later(
        KEYS,
        "episodic LSTM that learns which part of a context to look memories up by",
        "epL2RL+Keys",
        "#DC267F",
    ),
    "epl2rl-soft": later(
        KEYS,
        "the same read without learned keys: contexts are compared as they are",
        "epL2RL, soft read",
        "#785EF0",
        compared="raw",
    ),
    "epl2rl-keys-told": later(
        KEYS,
        "the same read by which context it is: what perfect keys would earn",
        "epL2RL+Keys, told",
        "#000000",
        compared="told",
    ),
}

for _name, _maker in {**EQUAL, **MEDIUM, **WIDE, **READERS}.items():
    register("agent", _name, _maker)
