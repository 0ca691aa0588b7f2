"""Decisions as observations: columns of names by one or several judges, as rows of ones and zeros.

A judge is anything that decides: a classifier, a language model, a rule, a person. Decisions are
names, and need not be those of the classes ("unsure", a finer or a coarser scale). Those of several
judges are one decision, the combination of them, where the references fill the combinations well;
else each judge has columns of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from truemix._saved_arrays import read_flag, read_names
from truemix._typing import AnyArray, BoolArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.quantifiers.decision_columns import decision_columns, names_of
from truemix.validation import shown, shown_list

# Several judges are combined if the smallest class has so many references for each combination, on
# average: with fewer, the prior of so many cells outweighs what is known of them.
MIN_PER_COMBINATION = 10
# More different decisions than this are none if they are also more than half of the references.
MAX_SURE = 20
# What an inference takes: decisions for classes, those that some reference has, or any.
CLASSES, KNOWN, ANY = "classes", "known", "any"
SINGLE, COMBINED = "single", "combination"
INDEPENDENT, SEPARATE = "conditional independence", "separate shares"
_COMBINED, _COLUMNS, _VALUES = "judges_combined", "judge_columns", "judge_values_"


class UnknownDecisionError(InputError):
    """A decision that cannot be used; ``row`` is where it is in X."""

    def __init__(self, row: int, rest: str) -> None:
        super().__init__(f"Row {row} of X {rest}")
        self.row, self.rest = row, rest


@dataclass(frozen=True, eq=False)
class GivenDecisions:
    """X holds decisions: one column of names for each judge.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    values : tuple of ndarray
        The decisions of each judge, as text: the classes first, then others in sorted order.
    columns : tuple of str
        The names of the columns, if they have any.
    combined : bool
        Whether the verdicts of several judges are one decision; so is that of a single one.
    takes : {"classes", "known", "any"}
        Which decisions may occur.
    """

    classes: AnyArray
    values: tuple[AnyArray, ...]
    columns: tuple[str, ...]
    combined: bool
    takes: str

    def __call__(self, X: Any) -> FloatArray:
        """Return decisions as rows ``(1, n, D)`` that add up to one; X may hold such rows."""
        if isinstance(X, np.ndarray) and X.ndim == 3:
            return self._checked(X)
        columns = decision_columns(X, self.columns)
        if len(columns) != self.n_judges:
            raise InputError(
                f"X has {len(columns)} column{'s' * (len(columns) != 1)} of decisions, the "
                f"references have {self.n_judges}; expected the same judges in both."
            )
        return self.encoded(columns)[None]

    # --- columns ------------------------------------------------------------------------------

    @property
    def n_judges(self) -> int:
        """How many judges there are."""
        return len(self.values)

    @property
    def n_combinations(self) -> int:
        """How many combinations of decisions there are."""
        return math.prod(len(each) for each in self.values)

    @property
    def spare(self) -> bool:
        """Whether the last column of each block is for decisions that no reference has."""
        return self.takes == ANY

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of columns in each block: of the combinations, or of each judge."""
        sizes = [len(each) for each in self.values]
        return tuple(n + self.spare for n in ([self.n_combinations] if self.combined else sizes))

    @property
    def decisions(self) -> list[Any]:
        """What the columns stand for, without the spare ones; judges with their decisions."""
        values = [each.tolist() for each in self.values]
        if self.n_judges == 1:
            return list(values[0])
        if self.combined:
            return list(product(*values))
        judges = zip(self.judges, values, strict=True)
        return [(name, value) for name, own in judges for value in own]

    @property
    def judges(self) -> list[str]:
        """What results call the judges."""
        return list(self.columns) or [f"judge {1 + j}" for j in range(self.n_judges)]

    def without_spare(self, columns: FloatArray) -> FloatArray:
        """Return columns ``(…, D)`` without the spare ones."""
        spare = np.cumsum(self.widths) - 1
        return np.delete(columns, spare, axis=-1) if self.spare else columns

    def unseen(self, rows: FloatArray) -> BoolArray:
        """Return which rows ``(n, D)`` have a decision that no reference has."""
        spare = np.cumsum(self.widths)[: len(self.widths) * self.spare] - 1
        return np.asarray((rows[:, spare] > 0.0).any(axis=1))

    @cached_property
    def named_class(self) -> IntArray:
        """The class that each column is named after; -1 for none, as for several judges."""
        found = np.full(sum(self.widths), -1, dtype=np.intp)
        if self.n_judges == 1:
            names = {str(label): k for k, label in enumerate(self.classes.tolist())}
            found[: len(self.values[0])] = [names.get(each, -1) for each in self.values[0].tolist()]
        return found

    # --- rows ---------------------------------------------------------------------------------

    def encoded(self, columns: Sequence[list[str]]) -> FloatArray:
        """Return the row of each item ``(n, D)``: a one for its decision.

        With a block for each judge there is a one in each, divided by how many there are.
        """
        codes = np.column_stack([self._codes(column, j) for j, column in enumerate(columns)])
        if self.combined:
            sizes = tuple(len(each) for each in self.values)
            place = np.ravel_multi_index(tuple(np.maximum(codes, 0).T), sizes)
            place = np.where((codes < 0).any(axis=1), self.widths[0] - 1, place)[:, None]
        else:
            starts = np.cumsum((0, *self.widths[:-1]))
            place = starts + np.where(codes < 0, np.array(self.widths) - 1, codes)
        rows = np.zeros((len(codes), sum(self.widths)))
        rows[np.arange(len(codes))[:, None], place] = 1.0 / len(self.widths)
        return rows

    def _codes(self, column: list[str], judge: int) -> IntArray:
        """Return the place of each decision among those of its judge, -1 for another one."""
        place = {value: code for code, value in enumerate(self.values[judge].tolist())}
        codes = np.array([place.get(each, -1) for each in column], dtype=np.intp)
        if not self.spare and (codes < 0).any():
            row = int(np.argmin(codes))
            raise self._unknown(row, column[row], judge)
        return codes

    def _unknown(self, row: int, value: str, judge: int) -> InputError:
        where = f" of {shown(self.judges[judge])}" if self.n_judges > 1 else ""
        found, known = f"has the decision {shown(value)}{where}", self.values[judge]
        if self.takes == CLASSES:
            return UnknownDecisionError(
                row,
                f"{found}, which is no class; counting needs decisions for classes "
                f"({shown_list(known)}). Recode it, or use BayesianACC or ACC, which take any.",
            )
        return UnknownDecisionError(
            row,
            f"{found}, which no reference has; expected one of {shown_list(known)}. Label items "
            "with that decision, recode it, or use BayesianACC, whose prior allows for it.",
        )

    def _checked(self, rows: FloatArray) -> FloatArray:
        """Return rows that were encoded before, or raise for others."""
        one = 1.0 / len(self.widths)
        if rows.shape[0] != 1 or rows.shape[2] != sum(self.widths):
            raise InputError(
                f"X has shape {rows.shape}, but the references hold decisions; expected one column "
                "of names for each judge."
            )
        single = (rows > 0.0).sum(axis=2) == len(self.widths)
        if not (np.isin(rows, (0.0, one)).all() and single.all()):
            raise InputError("X holds numbers, but the references hold decisions; expected names.")
        return rows

    # --- what is said of them -----------------------------------------------------------------

    @property
    def model(self) -> str:
        """How the verdicts of several judges are taken together."""
        if self.n_judges == 1:
            return SINGLE
        if self.combined:
            return COMBINED
        return INDEPENDENT if self.takes == ANY else SEPARATE

    def settings(self) -> dict[str, Any]:
        """Return the judges, their decisions, and how they are taken together."""
        decisions = [each.tolist() for each in self.values]
        return {"judges": {"names": self.judges, "decisions": decisions, "model": self.model}}

    def sentences(self, n_unseen: int) -> list[str]:
        """Return what is to be known about an estimate, in plain words."""
        names = f"{', '.join(self.judges[:-1])} and {self.judges[-1]}"
        few = (
            f"The references are too few to learn all {self.n_combinations:,} combinations of the "
            f"verdicts of {names}; "
        )
        found = {
            COMBINED: [
                f"The verdicts of {names} are taken together, as one decision with "
                f"{self.n_combinations:,} combinations."
            ],
            INDEPENDENT: [f"{few}given the class, judges are taken to err independently."],
            SEPARATE: [f"{few}the shares of the verdicts of each one are matched."],
        }.get(self.model, [])
        if n_unseen:
            what = "item has a decision" if n_unseen == 1 else "items have decisions"
            found.append(
                f"{n_unseen:,} {what} that no reference has; the prior of the confusion matrix "
                "allows for that."
            )
        return found

    def state(self) -> dict[str, AnyArray]:
        """Return what was learned, as arrays of text and truth values."""
        values = {f"{_VALUES}{j}": each for j, each in enumerate(self.values)}
        columns = {_COLUMNS: np.array(self.columns)} if self.columns else {}
        return {_COMBINED: np.array(self.combined), **columns, **values}


def read_references(
    X: Any, codes: IntArray, classes: AnyArray, takes: str
) -> tuple[FloatArray, GivenDecisions]:
    """Return the decisions on references as rows ``(m, D)``, and what reads those on targets."""
    columns, names = decision_columns(X), names_of(X)
    spelt = [str(label) for label in classes.tolist()]
    if takes == CLASSES:
        if len(columns) > 1:
            raise InputError(
                f"X has {len(columns)} columns of decisions, but counting needs one decision for "
                "each item; pass one of them, or use BayesianACC or ACC."
            )
        values = [np.array(spelt)]
    else:
        values = [
            _values(column, spelt, f"Column {shown(names[j])} of X" if names else "X")
            for j, column in enumerate(columns)
        ]
    n_combinations = math.prod(len(each) for each in values)
    filled = int(np.bincount(codes).min()) >= MIN_PER_COMBINATION * n_combinations
    combined = filled or len(columns) == 1
    scorer = GivenDecisions(classes, tuple(values), names, combined, takes)
    return scorer.encoded(columns), scorer


def _values(column: list[str], classes: list[str], what: str) -> AnyArray:
    """Return the decisions that occur in a column: classes first, then others, sorted."""
    found = set(column)
    if len(found) == 1:
        raise InputError(
            f"{what} holds only the decision {shown(column[0])}; decisions that are all the same "
            "say nothing about the classes."
        )
    if len(found) > MAX_SURE and 2 * len(found) > len(column):
        raise InputError(
            f"{what} holds {len(found):,} different values in {len(column):,} references; expected "
            "decisions, which repeat. Turn texts or scores into posteriors with a classifier."
        )
    others = sorted(found.difference(classes))
    return np.array([*(each for each in classes if each in found), *others])


def scorer_of(
    state: Mapping[str, AnyArray], classes: AnyArray, takes: str
) -> GivenDecisions | None:
    """Return what reads decisions, from an untrusted state; None if that is about posteriors."""
    if _COMBINED not in state:
        return None
    values: list[AnyArray] = []
    while f"{_VALUES}{len(values)}" in state:
        values.append(read_names(state, f"{_VALUES}{len(values)}"))
    columns = tuple(read_names(state, _COLUMNS).tolist()) if _COLUMNS in state else ()
    scorer = GivenDecisions(classes, tuple(values), columns, read_flag(state, _COMBINED), takes)
    spelt = [str(label) for label in classes.tolist()]
    if (
        not values
        or len(columns) not in {0, len(values)}
        or (len(values) == 1 and not scorer.combined)
        or (takes == CLASSES and [each.tolist() for each in values] != [spelt])
    ):
        raise InputError("its decisions are not those of judges")
    return scorer
