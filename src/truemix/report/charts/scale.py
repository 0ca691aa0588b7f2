"""Axes of shares: round limits, a few ticks, and where a share is on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from truemix.estimates.text import percent

# Room at both ends, in percent of the width, so that marks at 0 % and 100 % are whole.
MARGIN = 2.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Tick:
    """A place on an axis: its position in percent and what stands there.

    ``anchor`` is the side of the label that is at the position: labels at the ends stay inside.
    """

    at: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Scale:
    """Shares from ``low`` to ``high``, across the width of a picture.

    Examples
    --------
    >>> scale = Scale.covering(0.0, 0.34)
    >>> [tick.label for tick in scale.ticks()]
    ['0 %', '10 %', '20 %', '30 %', '40 %']
    >>> scale.at(0.2)
    50.0
    """

    low: float
    high: float
    step: float
    margin: float = MARGIN
    # Ticks are within these: shares are, and differences of shares.
    bounds: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def covering(cls, low: float, high: float, most: int = 5, margin: float = MARGIN) -> Scale:
        """Return a scale with round limits and a limited number of ticks, within 0 and 1."""
        step = round_step(max(high - low, 1e-6), most)
        return cls(
            max(0.0, math.floor(low / step + 1e-9) * step),
            min(1.0, math.ceil(high / step - 1e-9) * step),
            step,
            margin,
        )

    @classmethod
    def over(cls, low: float, high: float, most: int = 4, margin: float = 0.0) -> Scale:
        """Return a scale with exactly these limits; ticks are round numbers between them."""
        return cls(low, high, round_step(high - low, most), margin)

    @classmethod
    def around_zero(cls, low: float, high: float, most: int = 6) -> Scale:
        """Return a scale of differences, with round limits on both sides of 0."""
        low, high = min(low, 0.0), max(high, 0.0)
        if high - low < 1e-4:
            low, high = -0.01, 0.01
        step = round_step(high - low, most)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(max(low, -1.0), min(high, 1.0), step, bounds=(-1.0, 1.0))

    def at(self, share: float) -> float:
        """Return where a share is, in percent of the width; beyond the limits, at the end."""
        part = min(max((share - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(self.margin + (100.0 - 2.0 * self.margin) * part, 2)

    def span(self, lower: float, upper: float) -> tuple[float, float]:
        """Return where an interval starts and how wide it is."""
        start = self.at(lower)
        return start, round(self.at(upper) - start, 2)

    def ticks(self, *, inside: bool = False) -> list[Tick]:
        """Return the round shares on the axis; labels in the middle, or kept inside at its ends."""
        first = math.ceil(max(self.low, self.bounds[0]) / self.step - 1e-6)
        last = math.floor(min(self.high, self.bounds[1]) / self.step + 1e-6)
        digits = digits_of(self.step)
        ticks = []
        for count in range(first, last + 1):
            share = count * self.step
            at = self.at(share)
            side = "start" if at < 8 else "end" if at > 92 else "middle"
            label = percent(share, digits)
            ticks.append(Tick(at, label, side if inside else "middle"))
        return ticks


def round_step(width: float, most: int) -> float:
    """Return the smallest round step that divides ``width`` into fewer than ``most`` parts.

    Examples
    --------
    >>> round_step(1.0, 5), round_step(0.034, 5)
    (0.25, 0.01)
    """
    rough = width / (most - 1)
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * step for step in _STEPS if size * step >= rough * (1 - 1e-9))


def digits_of(step: float, most: int = 6) -> int:
    """Return how many decimals percentages in these steps need.

    Examples
    --------
    >>> digits_of(0.1), digits_of(0.025)
    (0, 1)
    """
    for digits in range(most):
        scaled = 100.0 * step * 10**digits
        if abs(scaled - round(scaled)) < 1e-6 and round(scaled):
            return digits
    return most
