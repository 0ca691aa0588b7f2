"""Bags of labelled items, as a protocol makes them."""

from __future__ import annotations

from typing import Any

from truemix._typing import AnyArray
from truemix.exceptions import InputError
from truemix.protocols import Bag, Protocol
from truemix.tables import labels_of
from truemix.validation import check_same_length, encode_labels, parameter_error


def check_protocol(protocol: Any) -> None:
    """Raise for an object without a method ``bags``."""
    if not callable(getattr(protocol, "bags", None)):
        raise parameter_error("protocol", "a protocol, such as DirichletBags()", protocol)


def drawn_bags(protocol: Any, y: Any, classes: AnyArray, n_items: int) -> list[Bag]:
    """Return the bags that a protocol draws; ``y`` may be None if it needs no labels."""
    labels = None
    if y is not None:
        labels = labels_of(y)
        check_same_length(n_items, labels)
        encode_labels(labels, classes)
    elif isinstance(protocol, Protocol):
        raise InputError(
            f"{type(protocol).__name__} draws bags by the labels of items, but y is None; expected "
            "one label per item."
        )
    bags = list(protocol.bags(labels, classes))
    if not bags:
        raise InputError("The protocol made no bags; expected at least one.")
    return bags
