"""The Dirichlet prior of a mix, as users write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truemix._typing import AnyArray, FloatArray
from truemix.exceptions import InputError
from truemix.validation import check_prior, shown_list


def prior_vector(prior: Any, classes: AnyArray) -> FloatArray:
    """Return one Dirichlet parameter per class from a number, a sequence or a mapping.

    Examples
    --------
    >>> import numpy as np
    >>> prior_vector({"ham": 2, "spam": 1}, np.array(["ham", "spam"]))
    array([2., 1.])
    """
    labels = classes.tolist()
    if isinstance(prior, Mapping):
        unknown = [label for label in prior if label not in labels]
        absent = [label for label in labels if label not in prior]
        if unknown or absent:
            wrong = f"names {unknown[0]!r}" if unknown else f"does not name {absent[0]!r}"
            raise InputError(
                f"The 'prior' parameter {wrong}; expected a number for each of the classes "
                f"{shown_list(labels)}."
            )
        prior = [prior[label] for label in labels]
    return check_prior(prior, len(labels))
