"""Colours that stand out on a light and on a dark page: the figures' own, moved where they must."""

from collections.abc import Iterable

LIGHT, DARK = "#ffffff", "#14181d"  # the backgrounds in page.css
CONTRAST = 3.0  # what WCAG 2.2 asks of graphics (1.4.11)
STEP = 0.04


def colour_class(colour: str) -> str:
    return f"c{colour.removeprefix('#').lower()}"


def style_of(colours: Iterable[str]) -> str:
    """A class for each colour that sets --c, lighter or darker as the page's scheme needs."""
    names = sorted(set(colours))
    light = "".join(f".{colour_class(c)}{{--c:{readable(c, LIGHT)}}}" for c in names)
    dark = "".join(f".{colour_class(c)}{{--c:{readable(c, DARK)}}}" for c in names)
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def readable(colour: str, background: str) -> str:
    """The colour itself, or the nearest shade or tint of it that can be seen."""
    towards = (0, 0, 0) if luminance(background) > 0.2 else (255, 255, 255)
    start, share, found = _rgb(colour), 0.0, colour.lower()
    while contrast(found, background) < CONTRAST:
        share += STEP
        mixed = (round((1 - share) * a + share * b) for a, b in zip(start, towards, strict=True))
        found = "#" + "".join(f"{part:02x}" for part in mixed)
    return found


def contrast(colour: str, background: str) -> float:
    """WCAG's ratio, 1 to 21."""
    low, high = sorted((luminance(colour), luminance(background)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, 0 to 1."""
    parts = [part / 255 for part in _rgb(colour)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
