"""The verb `schema`: what results.json holds, for programs that read it."""

from dataclasses import dataclass
from typing import Any

from reinstate.analysis.results import Results, json_schema
from reinstate.cli.shared import Verb


@dataclass(frozen=True, kw_only=True)
class Options(Verb):
    """Print the JSON Schema (2020-12) of results.json, which `reinstate reproduce` writes.

    reinstate schema > results.schema.json
    """

    json: bool = True
    """Always: a schema is JSON."""

    def do(self, command: str) -> Any:
        return json_schema(Results)
