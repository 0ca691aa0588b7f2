"""What all formats share: names and types of columns, and the wanted ones in batches."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow as pa

from truemix._archive import UNREADABLE
from truemix._arrow_columns import check_type
from truemix._typing import IntArray
from truemix.cli.tables.source import Source, damaged
from truemix.exceptions import InputError
from truemix.validation import MAX_SHOWN, shown, shown_list

BATCH_ROWS = 1 << 16
MAX_COLUMNS = 1_000_000
# Names that are compared with one that is not there: each comparison takes a while.
_MAX_COMPARED = 1000


class Column(NamedTuple):
    """What a column is wanted for.

    The role decides which Arrow types it may have (None: any). The type is how it is read from
    text, which has no types of its own (None: one that fits all values).
    """

    role: str | None
    type: pa.DataType | None


POSTERIOR = Column("posterior", pa.float64())
LABEL = Column("label", pa.string())
DECISION = Column("decision", pa.string())
GROUP = Column("group", pa.string())
FEATURE = Column("feature", None)
KEPT = Column(None, pa.string())
Types = Mapping[str, pa.DataType | None]


class Table(ABC):
    """A table in a file, which messages call ``name``.

    ``types`` are the Arrow types of its columns if the file says them, ``unnamed`` the columns that
    have only a position, and ``default_label`` that of the labels if the user names none.
    ``share_read`` is how much of the file has been read, as far as it is known.
    """

    columns: list[str]
    default_label: str | None = None
    # Where its rows are in the file, if it is a part of one.
    file_rows: IntArray | None = None

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name
        self.types: dict[str, pa.DataType] = {}
        self.unnamed: list[str] = []
        self.share_read = 0.0

    @abstractmethod
    def _read(self, types: Types) -> Iterator[pa.RecordBatch]:
        """Yield the columns in ``types``; only text is converted to these."""

    def batches(self, wanted: Mapping[str, Column]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield some thousands of rows at a time of the wanted columns, with the first row.

        A column whose type does not fit its role is refused, if possible before it is read.
        """
        known = [pa.field(name, self.types[name]) for name in wanted if name in self.types]
        self._check_roles(wanted, known)
        start = 0
        for batch in self._read({name: column.type for name, column in wanted.items()}):
            self._check_roles(wanted, batch.schema)
            yield start, batch
            start += batch.num_rows

    def features(self, columns: Iterable[str]) -> pa.Table:
        """Return feature columns at once; those of text with types that fit all their values."""
        batches = [batch for _, batch in self.batches(dict.fromkeys(columns, FEATURE))]
        return pa.Table.from_batches(batches) if batches else pa.table({n: [] for n in columns})

    def place(self, row: int) -> str:
        """Return where a row is, for a message that begins with it."""
        return f"Row {row + 1} of {self.name}"

    def bad_cell(self, row: int, column: str, found: str, expected: str) -> InputError:
        """Return the error for a cell that holds something else than it should."""
        return InputError(f"{self.place(row)} has {found} in column {shown(column)}; {expected}")

    def need(self, names: Iterable[str], what: str, hint: str = "") -> None:
        """Refuse a table that does not have all of these columns."""
        found = set(self.columns)
        missing = next((name for name in names if name not in found), None)
        if missing is not None:
            raise InputError(self._about_missing(missing, what, hint))

    def _about_missing(self, name: str, what: str, hint: str) -> str:
        lower = {each[:MAX_SHOWN].lower(): each for each in reversed(self.columns[:_MAX_COMPARED])}
        meant = difflib.get_close_matches(name[:MAX_SHOWN].lower(), lower, 1)
        advice = f"Did you mean {shown(lower[meant[0]])}? {hint}" if meant else hint
        listed = shown_list(self.columns)
        there = f"{self.name} has no column {shown(name)} ({what}); its columns are {listed}."
        return f"{there} {advice}".rstrip()

    def _take_columns(self, names: list[str]) -> None:
        """Set the names of the columns; refuse one that stands for two of them."""
        self._check_width(len(names))
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise InputError(
                f"{self.name} has more than one column named {shown(twice)}; expected each name "
                "once. Rename or drop columns."
            )
        self.columns = names

    def _check_width(self, n_columns: int) -> None:
        if n_columns > MAX_COLUMNS:
            raise InputError(
                f"{self.name} has more than {MAX_COLUMNS:,} columns; expected one row per item, so "
                "it may be on its side. Exchange rows and columns."
            )

    def _check_roles(self, wanted: Mapping[str, Column], schema: Iterable[pa.Field]) -> None:
        for field in schema:
            role = wanted[field.name].role if field.name in wanted else None
            if role is not None:
                check_type(field.type, role, f"Column {shown(field.name)} of {self.name}")

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Say in one sentence that the file is not what it should be."""
        try:
            yield
        except InputError:
            raise
        # What libraries raise on bytes that are not what they should be.
        except (pa.ArrowException, *UNREADABLE) as error:
            raise damaged(self.name, what, error) from None
