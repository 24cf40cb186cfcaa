"""A record of benchmarks/speed.py → tables: a header and rows."""

from typing import Any

from reinstate.figures.style import label
from reinstate.runs.size import in_bytes

Table = tuple[list[str], list[list[str]]]
AXES = {
    "lanes": "lanes per seed",
    "seeds": "seeds",
    "hidden": "hidden units",
    "memory": "slots of the memory",
    "epoch": "episodes per epoch",
    "unroll": "steps compiled side by side",
}
KINDS = {"train": "training", "judge": "judging"}
PARTS = {
    "tasks": "drawing tasks",
    "chance": "random numbers of actions and outcomes",
    "memory": "reading and writing the memory",
    "playing": "the rest of the forward pass: network, actions, world",
    "backward": "the backward pass",
    "optimiser": "clipping and Adam",
}


def speed(document: dict[str, Any]) -> Table:
    """Show how fast agents are trained and judged at the preset, and how long that compiles."""
    rows = []
    for each in document["curves"]:
        if "axis" in each:
            continue
        spent = each["compile"]
        rows.append(
            [
                each["experiment"],
                label(each["agent"]),
                KINDS[each["kind"]],
                f"{each['seeds']} × {each['lanes']:,}",
                _rate(each),
                f"{spent['trace']:.1f} + {spent['xla']:.1f} s",
                in_bytes(each["program_bytes"]) if each["program_bytes"] else "",
            ]
        )
    header = ["experiment", "agent", "what", "seeds × lanes", "steps per second [quartiles]"]
    return [*header, "compiling: tracing + XLA", "memory of the program"], rows


def growth(document: dict[str, Any]) -> Table:
    """Show speed along every axis, one row per size."""
    found: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for each in document["curves"]:
        if "axis" in each:
            key = each["experiment"], each["agent"], each["axis"], each["value"]
            found.setdefault(key, {})[each["kind"]] = each
    rows = []
    for (_, agent, axis, value), kinds in found.items():
        trained, judged = kinds.get("train"), kinds.get("judge")
        compiling = sum(trained["compile"].values()) if trained else None
        rows.append(
            [
                AXES[axis],
                f"{value:,}",
                label(agent),
                _rate(trained) if trained else "",
                _rate(judged) if judged else "",
                "" if compiling is None else f"{compiling:.1f} s",
            ]
        )
    header = ["what grows", "to", "agent", "training, steps per second", "judging"]
    return [*header, "compiling training"], rows


def floors(document: dict[str, Any]) -> Table:
    """Show what a step takes, and how fast the machine could do that."""
    rows = []
    for each in document["curves"]:
        floor = each["floor"]
        if each.get("axis", "hidden") != "hidden" or not floor:
            continue
        at = f"{each['value']} units" if "axis" in each else "preset"
        rows.append(
            [
                f"{label(each['agent'])}, {KINDS[each['kind']]}",
                at,
                f"{floor['flops_per_step']:,.0f}",
                f"{floor['bytes_per_step']:,.0f}",
                f"{floor['by_flops']:,.0f}",
                f"{floor['by_bytes']:,.0f}",
                f"{each['steps_per_second']['median']:,.0f}",
                f"{floor['share']:.0%}",
            ]
        )
    header = ["a step of", "at", "operations", "bytes", "possible by operations"]
    return [*header, "possible by bytes", "measured", "share"], rows


def rivals(document: dict[str, Any]) -> Table:
    """Show who trains how fast, and how many times as fast ours is in the same rounds."""
    rows = []
    for each in document["rivals"]["rows"]:
        low, high = each["ours"]["quartiles"]
        rows.append(
            [
                each["name"],
                str(each.get("threads", "")),
                f"{each['batch']:,}",
                _rate(each),
                f"× {_times(each['ours']['median'])} [{_times(low)}, {_times(high)}]",
            ]
        )
    header = ["who", "threads", "lanes in all", "steps per second [quartiles]"]
    return [*header, "ours at the preset is as fast"], rows


def busy(document: dict[str, Any]) -> str:
    """Say whether the machine had other things to do."""
    load = document.get("load")
    if load is None:
        return "How busy the machine was is not recorded: trust ratios more than rates."
    if load < 0.5:
        return f"Nothing else ran at the time (load average {load:.1f})."
    return (
        f"Other programs ran at the time (load average {load:.1f} before it began): trust ratios"
        " more than rates."
    )


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def parts(document: dict[str, Any]) -> Table:
    """Show where the time of an epoch of training goes."""
    rows = [
        [PARTS[each["part"]], f"{1e3 * each['seconds']:.1f} ms", f"{each['share']:.0%}"]
        for each in document["parts"]["rows"]
    ]
    return ["part", "of an epoch of all seeds", "share"], rows


def waiting(document: dict[str, Any]) -> Table:
    """Show what a user waits for."""
    rows = []
    start = document["start"]
    for kind, words in (("cold", "nothing compiled yet"), ("warm", "started a second time")):
        peak = start[kind].get("peak_bytes")
        memory = f"peak memory of the process {in_bytes(peak)}" if peak else ""
        what = f"first progress line of `reinstate train`, {words}"
        rows.append([what, f"{start[kind]['seconds']:.1f} s", memory])
    for each in document.get("rewards", ()):
        seeds = f"{each['seeds']} seed{'s' * (each['seeds'] > 1)} of {each['lanes']} lanes"
        what = f"{each['reward']:g} per episode by {each['name']}, {seeds}"
        took = f"{each['train_seconds']:.1f} s of training"
        if each["compile_seconds"]:
            took += f", {each['compile_seconds']:.1f} s of compiling"
        if not each["reached"]:
            took = f"not within {each['epochs']} epochs"
        rows.append([what, took, f"{each['steps']:,} steps"])
    return ["what", "seconds", "besides"], rows


def _rate(row: dict[str, Any]) -> str:
    rate = row["steps_per_second"]
    low, high = rate["quartiles"]
    return f"{rate['median']:,.0f} [{low:,.0f}, {high:,.0f}]"


def kernel_speed(document: dict[str, Any]) -> Table:
    """Show benchmarks/kernel.py: training by the fused kernel, and by XLA alone."""
    rows = []
    for each in document["rows"]:
        low, high = each["ratio"]["quartiles"]
        rows.append(
            [
                each["experiment"],
                f"{each['seeds']} × {each['lanes']:,}",
                *(f"{each[way]['median'] / 1e6:.1f} M" for way in ("xla", "kernel")),
                f"× {each['ratio']['median']:.2f} [{low:.2f}, {high:.2f}]",
                *(f"{each[way]['compile_seconds']:.0f} s" for way in ("xla", "kernel")),
                f"{each['gradient']:.0e}",
            ]
        )
    header = ["experiment", "seeds × lanes", "XLA alone, steps per second", "with the kernel"]
    header += ["as fast [quartiles]", "compiling, XLA alone", "with the kernel"]
    return [*header, "gradients apart"], rows


def kernel_rewards(document: dict[str, Any], *before: dict[str, Any]) -> Table:
    """Show what agents earn that learned with the kernel, and those recorded before it."""
    rows = []
    for each, old in zip(document["rows"], before, strict=True):
        assert each["experiment"] == old["experiment"]
        rewards = old["agents"]["epl2rl"]["reward"], each["reward"]
        rows.append([each["experiment"], str(each["seeds"]), *map(_interval, rewards)])
    return ["experiment", "seeds", "XLA alone [95%]", "with the kernel [95%]"], rows


def _interval(reward: dict[str, Any]) -> str:
    low, high = reward["ci95"]
    return f"{reward['mean']:.3f} [{low:.3f}, {high:.3f}]"
