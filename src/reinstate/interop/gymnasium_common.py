"""What single and vector environments of Gymnasium share, and the check that Gymnasium is there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        'the Gymnasium environments need Gymnasium: pip install "reinstate[gym]"'
    ) from error
if gymnasium.__version__.startswith("1.0"):
    raise ImportError(
        "Gymnasium 1.0 has no word for when a vector environment resets:"
        ' pip install "gymnasium>=1.1", or 0.29'
    )

from gymnasium.error import Error, InvalidAction, ResetNeeded, UnsupportedMode  # noqa: F401
from gymnasium.spaces import Box, Discrete

from reinstate.errors import nearest
from reinstate.interop import rendering
from reinstate.interop.functional import Environment, Per
from reinstate.interop.lane import LaneState
from reinstate.interop.making import make_world
from reinstate.tasks.base import World

RENDER_MODES = ["rgb_array", "ansi"]
METADATA: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 4}
ARGUMENTS = ("per", "last_step", "evaluation", "render_mode")  # beside the settings of worlds
NEW_EPOCH = "new_epoch"


def make_environment(
    world: World | type[World] | str,
    per: Per,
    last_step: bool,
    evaluation: bool,
    settings: Mapping[str, Any],
) -> Environment:
    """Make the functional environment that is played, which must be a key for what is compiled."""
    made = make_world(world, settings, ARGUMENTS)
    environment = Environment(made.for_evaluation() if evaluation else made, per, last_step)
    try:
        hash(environment)
    except TypeError as error:
        raise TypeError(
            f"{type(made).__name__} cannot be hashed: make it a frozen dataclass without arrays"
        ) from error
    return environment


def make_spaces(environment: Environment) -> tuple[Any, Any]:
    """Return the spaces of observations and of actions."""
    bounds = environment.observation_space()
    box = Box(np.asarray(bounds.low), np.asarray(bounds.high), bounds.shape, np.float32)
    return box, Discrete(environment.num_actions)


def require_render_mode(mode: str | None) -> None:
    """Refuse a render mode that there is not."""
    if mode is not None and mode not in RENDER_MODES:
        raise UnsupportedMode(f"unknown render_mode {mode!r}: choose rgb_array or ansi")


def wants_new_epoch(environment: Environment, options: Mapping[str, Any] | None) -> bool:
    """Read the options of a reset: whether a new epoch starts, or the epoch's next exposure."""
    options, always = options or {}, environment.per == "epoch"
    for name in options:
        if name != NEW_EPOCH:
            raise Error(nearest("option", name, [NEW_EPOCH]))
    wanted = options.get(NEW_EPOCH, always)
    if not isinstance(wanted, bool | np.bool_):
        raise Error(f"new_epoch must be True or False, not {wanted!r}")
    if always and not wanted:
        raise Error('new_epoch can be False only where episodes are exposures: use per="exposure"')
    return bool(wanted)


def render(
    environment: Environment, mode: str, state: LaneState, info: Mapping[str, Any]
) -> np.ndarray | str:
    """Show where a lane is."""
    scene = rendering.scene(environment.world, state, info)
    return rendering.picture(scene) if mode == "rgb_array" else rendering.text(scene)
