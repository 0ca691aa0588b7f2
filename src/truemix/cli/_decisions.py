"""Decisions of judges in files: columns of names, in place of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from truemix._typing import AnyArray, FloatArray
from truemix.cli._columns import Codes
from truemix.cli.tables.table import DECISION, Table
from truemix.exceptions import InputError
from truemix.validation import shown

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

METHODS = ("bayesian-acc", "acc", "cc", "bootstrap-acc", "bootstrap-cc")
DEFAULT_METHOD = METHODS[0]


def check_options(decisions: Sequence[str], method: str, classifier: str | None) -> None:
    """Refuse what does not go with decisions, before any file is read."""
    if classifier is not None:
        raise InputError(
            "--decision names decisions that are made already, and --classifier trains a model "
            "that makes them; give one of them."
        )
    if method not in METHODS:
        raise InputError(
            f"The method {method} needs posteriors, but --decision names decisions; expected one "
            f"of {', '.join(METHODS)}."
        )
    twice = next((name for name in decisions if list(decisions).count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"The option --decision names {shown(twice)} more than once; a judge has one voice. "
            "Leave it out, or name another column."
        )


def decisions_of_saved(
    quantifier: Quantifier, given: Sequence[str] | None, name: str
) -> list[str] | None:
    """Return the columns of decisions that a saved quantifier reads, if it reads any."""
    known = quantifier.given_decisions
    if known is None:
        if given:
            raise InputError(
                f"{name} is a saved quantifier that was fitted on posteriors, so that --decision "
                "does not go with it; leave it out."
            )
        return None
    columns = list(given or known.columns)
    if len(columns) != known.n_judges:
        raise InputError(
            f"{name} is a saved quantifier that reads {known.n_judges} column"
            f"{'s' * (known.n_judges != 1)} of decisions, but --decision names {len(columns)}; "
            "name the column of each judge, in the order that it was fitted with."
        )
    return columns


def read_decisions(table: Table, decisions: Sequence[str], label: str) -> pa.Table:
    """Return the decisions on labelled items, as a table of text."""
    if label in decisions:
        raise InputError(
            f"--label and --decision both name {shown(label)}; expected the column that people "
            "labelled, and that of a judge."
        )
    table.need(decisions, "decisions, as --decision says")
    parts = [
        decisions_in(batch, decisions, table, start)
        for start, batch in table.batches(dict.fromkeys(decisions, DECISION))
    ]
    rows = np.concatenate(parts).reshape(-1, len(decisions))
    return pa.table({name: pa.array(rows[:, j].tolist()) for j, name in enumerate(decisions)})


def decisions_in(
    batch: pa.RecordBatch, decisions: Sequence[str], table: Table, start: int
) -> AnyArray:
    """Return the decisions of a batch as text: ``(n,)``, or ``(n, J)`` of several judges."""
    from truemix.quantifiers.decision_columns import decision_columns

    columns = []
    for name in decisions:
        codes = Codes(table, name, "decision")
        places = codes.encode(start, batch.column(name))
        values: list[str] = decision_columns(codes.values)[0] if codes.values else []
        columns.append(np.array(values, dtype=object)[places])
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


@contextmanager
def located(place: Callable[[int], str]) -> Iterator[None]:
    """Say of a decision that cannot be read where it is in the file."""
    from truemix.quantifiers.decisions import UnknownDecisionError

    try:
        yield
    except UnknownDecisionError as error:
        raise InputError(f"{place(error.row)} {error.rest}") from None


class DecisionRows:
    """Decisions that grow by rows."""

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []

    def add(self, values: Any) -> None:
        """Append rows."""
        self._parts.append(values)

    def array(self) -> Any:
        """Return all rows."""
        return np.concatenate(self._parts)


def posteriors_of_decisions(quantifier: Quantifier, X: Any) -> FloatArray:
    """Return the class probabilities of items by their decisions, for the mix of the reference."""
    model, share = quantifier.model_, np.log(quantifier.train_prevalence_)
    joint = model.log_likelihood(quantifier.posteriors(X)[0]) + share
    posteriors = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(posteriors / posteriors.sum(axis=1, keepdims=True))
