"""A record of benchmarks/scaling.py → tables: a header and rows."""

from typing import Any

Table = tuple[list[str], list[list[str]]]


def grown(document: dict[str, Any]) -> Table:
    """Show how many times as fast several devices are, and how much of their cores they use."""
    rows = []
    for each in document["rows"]:
        low, high = each["quartiles"]
        rows.append(
            [
                each["kind"],
                str(each["devices"]),
                f"{each['seeds']} × {each['lanes']:,}",
                f"{each['steps_per_second']:,}",
                f"× {each['speedup']:.2f}",
                f"{each['efficiency']:.0%} [{low:.0%}, {high:.0%}]",
            ]
        )
    return ["way", "devices", "seeds × lanes", "steps per second", "as fast", "efficiency"], rows


def modelled(document: dict[str, Any]) -> Table:
    """Show an update of divided lanes as it was measured, and as the model has it."""
    rows = [
        [
            str(each["devices"]),
            f"{each['measured'] * 1e3:.2f} ms",
            f"{each['modelled'] * 1e3:.2f} ms",
            f"{each['off_by']:+.0%}",
        ]
        for each in document["model"]
    ]
    return ["devices", "an update, measured", "modelled", "off by"], rows


def expected(document: dict[str, Any]) -> Table:
    """Show what the model says of many GPUs."""
    rows = [
        [
            each["network"],
            str(each["devices"]),
            f"{each['lanes_per_device']:,}",
            f"{each['steps_per_second'] / 1e6:,.0f} M",
            f"{each['efficiency']:.0%}",
        ]
        for each in document["expected"]
    ]
    return ["network", "GPUs", "lanes on each", "steps per second", "efficiency"], rows
