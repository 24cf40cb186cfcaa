"""The verb `schema`: the JSON Schema of results.json."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from reinstate.analysis.documents import json_schema
from reinstate.analysis.results import Results


@dataclass(frozen=True)
class Schema:
    """Print the JSON Schema (2020-12) of results.json, which `reinstate reproduce` writes.

    For example:

      reinstate schema > results.schema.json
    """

    json: ClassVar = False  # a schema is JSON always

    def do(self, command: str) -> Any:
        return json_schema(Results)

    def show(self, result: Any) -> None:
        print(json.dumps(result, indent=1))
