"""Where numbers come from → what the page says of it: name, date, command, settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reinstate.figures.markup import Markup, folded, joined, row, table, tag
from reinstate.figures.numbers import finite
from reinstate.figures.page.sources import Origin, shared_settings

CODE = ("command", "commit")


def origins(found: Sequence[Origin]) -> Iterator[Markup]:
    """Show the facts of each origin, and settings, once where all have the same."""
    same = shared_settings(found)
    for place, origin in enumerate(found):
        pairs = [(name, _fact(name, value)) for name, value in origin.facts.items() if value]
        if origin.label:
            yield tag("h4", origin.label)
        facts = (joined([tag("dt", k), tag("dd", v)]) for k, v in pairs)
        yield tag("dl", *facts, class_="facts")
        if origin.settings and (not same or place == len(found) - 1):
            title = "Settings" if same or not origin.label else f"Settings of {origin.label}"
            rows = [row(tag("code", name), value) for name, value in _flat(origin.settings)]
            yield folded(title, table(title, ["setting", "value"], rows))


def _fact(name: str, value: Any) -> object:
    if name == "rejudged":
        return joined([f"by version {value['version']}, ", tag("code", value["commit"])])
    if name == "seconds":
        spent = [(part, finite(seconds)) for part, seconds in value.items()]
        return ", ".join(f"{seconds:.1f} {part}" for part, seconds in spent if seconds is not None)
    return tag("code", value) if name in CODE else value


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested settings by their names, joined by dots; a file may nest them very deep."""
    left = [*settings.items()][::-1]
    while left:
        name, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{name}.{inner}", each) for inner, each in value.items()][::-1]
        else:
            yield name, str(value)
