"""Events: questions about the mix that each draw answers with yes or no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from truemix._typing import AnyArray, FloatArray
from truemix.exceptions import InputError
from truemix.validation import shown_list

EXAMPLE = 'lambda p: p["spam"] > 0.1'


class DrawsByClass:
    """Draws of the mix, by class label.

    Examples
    --------
    >>> p = DrawsByClass(np.array(["ham", "spam"]), np.array([[0.7, 0.3], [0.8, 0.2]]))
    >>> p["spam"]
    array([0.3, 0.2])
    """

    def __init__(self, classes: AnyArray, draws: FloatArray) -> None:
        self._draws = draws
        self._labels = classes.tolist()

    def __getitem__(self, label: Any) -> FloatArray:
        # A list compares labels of any kind, and there may be unhashable questions.
        if isinstance(label, np.generic):
            label = label.item()
        if type(label) not in {type(known) for known in self._labels} or label not in self._labels:
            raise InputError(
                f"There is no class {label!r}; the classes are {shown_list(self._labels)}."
            )
        return self._draws[:, self._labels.index(label)]


def probability_of(
    event: Callable[[DrawsByClass], Any], classes: AnyArray, draws: FloatArray
) -> float:
    """Return the share of the draws for which an event holds."""
    if not callable(event):
        raise InputError(
            f"The event is {event!r}; expected a function of the draws, such as {EXAMPLE}."
        )
    try:
        answers = np.asarray(event(DrawsByClass(classes, draws)))
    except InputError:
        raise
    except ValueError as error:
        if "truth value" not in str(error):
            raise
        raise InputError(
            "The event asks for a single answer where there is one per draw; combine conditions "
            'with & and | instead of "and", "or" and chained comparisons, such as '
            'lambda p: (p["spam"] > 0.1) & (p["spam"] < 0.2).'
        ) from None
    if answers.dtype != np.bool_ or answers.shape != (len(draws),):
        raise InputError(
            f"The event returned values of type {answers.dtype} and shape {answers.shape}; "
            f"expected a condition with one answer for each of the {len(draws)} draws, such as "
            f"{EXAMPLE}."
        )
    return float(answers.mean())
