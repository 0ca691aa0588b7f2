"""One way in for data: NumPy, SciPy sparse, pandas, polars and pyarrow become what we compute on.

Data frames keep their names: posteriors are matched to classes by column name.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from truemix._group_order import sorted_groups
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.validation import check_labels, check_posteriors, is_missing, shown_list


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a data frame, or None for anything without names.

    A pandas frame that was made without names (columns 0, 1, 2, …) has none.
    """
    frame = _as_frame(X)
    if frame is None:
        return None
    native = nw.to_native(frame)
    names = list(native.columns) if hasattr(native, "iloc") else list(frame.columns)
    if names == list(range(len(names))):
        return None
    return names


def posteriors_of(X: Any, classes: AnyArray, name: str = "X") -> FloatArray:
    """Return checked posteriors with one column per class, in the order of ``classes``."""
    names = column_names(X)
    if names is not None:
        X = _in_class_order(X, names, classes, name)
    return check_posteriors(_values(X), name, n_classes=len(classes))


def features_of(X: Any, name: str = "X") -> Any:
    """Return features as scikit-learn takes them, in a table from which rows can be selected."""
    frame = _as_frame(X)
    if frame is not None:
        if frame.shape[0] == 0:
            raise InputError(f"{name} has no rows; at least one item is needed.")
        native = nw.to_native(frame)
        return native if hasattr(native, "iloc") else frame.to_pandas()
    if not hasattr(X, "shape"):
        try:
            X = np.asarray(X)
        except ValueError:
            raise InputError(
                f"{name} cannot be read as a table: its rows differ in length; expected one row "
                "per item and one column per feature."
            ) from None
    if len(X.shape) != 2:
        raise InputError(
            f"{name} has {len(X.shape)} dimension{'s' * (len(X.shape) != 1)}; expected a table "
            f"with one row per item and one column per feature. Reshape your data: "
            f"{name}.reshape(-1, 1) for one feature, {name}.reshape(1, -1) for one item."
        )
    if X.shape[0] == 0:
        raise InputError(f"{name} has no rows; at least one item is needed.")
    # The other sparse formats (COO, BSR, DIA, …) cannot be indexed by rows.
    return X.tocsr() if getattr(X, "format", "csr") not in {"csr", "csc"} else X


def labels_of(y: Any, name: str = "y") -> AnyArray:
    """Return checked labels from a list, an array or a column of any data frame library."""
    if y is None:
        raise InputError(
            f"fit requires y to be passed, but the target {name} is None; expected one label per "
            "reference item."
        )
    frame = _as_frame(y)
    if frame is not None:
        if frame.shape[1] != 1:
            raise InputError(
                f"{name} is a table of {frame.shape[1]} columns; expected the one column of labels."
            )
        y = frame[frame.columns[0]].to_native()
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        # Lists keep booleans, integers and missing values apart, which to_numpy may not.
        y = np.array(series.to_list(), dtype=object)
    return check_labels(y, name)


def _as_frame(X: Any, name: str = "X") -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        names = [str(column) for column in X.columns]
        twice = next(column for column in names if names.count(column) > 1)
        raise InputError(
            f"{name} has more than one column named {twice!r}; expected each name once. Rename or "
            "drop columns."
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _values(X: Any) -> Any:
    frame = _as_frame(X)
    return X if frame is None else frame.to_numpy()


def _in_class_order(X: Any, names: list[Any], classes: AnyArray, name: str) -> Any:
    """Select the columns named like the classes; a class may be spelt as text or as itself."""
    spelt = [str(column) for column in names]
    wanted = [str(label) for label in classes.tolist()]
    absent = [label for label in wanted if label not in spelt]
    extra = [column for column in spelt if column not in wanted]
    if absent or extra:
        found = f"no column for class {absent[0]!r}" if absent else f"a column {extra[0]!r}"
        raise InputError(
            f"{name} has {found}: its columns are {shown_list(spelt)}, the classes are "
            f"{shown_list(wanted)}. Name the columns like the classes and drop others, or pass "
            f"an array to match columns by position."
        )
    order = [spelt.index(label) for label in wanted]
    return _values(X)[:, order]


def groups_of(groups: Any, n_rows: int) -> tuple[list[Any], list[IntArray]]:
    """Return the distinct groups, sorted as people would, and the rows of each."""
    series = nw.from_native(groups, series_only=True, pass_through=True)
    values = series.to_list() if isinstance(series, nw.Series) else np.asarray(groups).tolist()
    if not isinstance(values, list) or np.ndim(groups) != 1:
        raise InputError("groups must be one-dimensional; expected one group per item.")
    if len(values) != n_rows:
        raise InputError(
            f"X has {n_rows} rows, but groups has {len(values)} entries; expected one per row."
        )
    rows: dict[Any, list[int]] = {}
    for i, group in enumerate(values):
        if is_missing(group):
            raise InputError(
                f"The group of row {i} is missing; expected a group for every item. Fill it in or "
                "remove such rows."
            )
        rows.setdefault(group, []).append(i)
    keys = sorted_groups(rows)
    return keys, [np.array(rows[key], dtype=np.intp) for key in keys]
