"""Convert input data (NumPy, SciPy sparse, pandas, polars, pyarrow) to the arrays we compute on.

Data frames keep their names: posteriors are matched to classes by column name.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from truemix._escaping import visible
from truemix._group_order import n_keys, sorted_groups
from truemix._optional import require
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.validation import check_labels, check_posteriors, is_missing, shown, shown_list

ITEMS_ONLY = "give its items: data.X"


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


def native_columns(X: Any) -> list[Any] | None:
    """Return the columns of a data frame as its library has them; None for anything else."""
    frame = _as_frame(X)
    if frame is None:
        return None
    return [column.to_native() for column in frame.iter_columns()]


def pop_columns(X: Any, names: str | tuple[str, ...]) -> tuple[Any, Any]:
    """Return a data frame without some columns, and these: a column, or a frame of several."""
    frame = _as_frame(X)
    wanted = [names] if isinstance(names, str) else list(names)
    missing = [name for name in wanted if frame is None or name not in frame.columns]
    if frame is None or missing:
        found = "no column names" if frame is None else f"the columns {shown_list(frame.columns)}"
        raise InputError(
            f"X has {found}, but groups is {missing[0]!r}; expected the name of a column of X, or "
            "one group per item."
        )
    popped = frame[wanted[0]] if isinstance(names, str) else frame.select(wanted)
    return nw.to_native(frame.drop(wanted)), nw.to_native(popped)


def keys_of(groups: Any) -> list[Any]:
    """Return the columns that tell groups: those of a data frame, or the parts of tuples.

    Examples
    --------
    >>> keys_of([("north", 1), ("south", 2)]), keys_of(["north", "south"])
    ([['north', 'south'], [1, 2]], [['north', 'south']])
    """
    frame = _as_frame(groups)
    if frame is not None:
        return [nw.to_native(frame[name]) for name in frame.columns]
    if _are_tuples(groups) and n_keys(groups) > 1:
        return [list(column) for column in zip(*groups, strict=True)]
    return [groups]


def _are_tuples(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, tuple) for value in values)


def posteriors_of(X: Any, classes: AnyArray, name: str = "X") -> FloatArray:
    """Return checked posteriors with one column per class, in the order of ``classes``."""
    names = column_names(X)
    if names is not None:
        X = _in_class_order(X, names, classes, name)
    return check_posteriors(_values(X, name), name, n_classes=len(classes))


def features_of(X: Any, name: str = "X") -> Any:
    """Return features in a container that scikit-learn accepts and whose rows can be selected."""
    check_container(X, ITEMS_ONLY)
    frame = _as_frame(X)
    if frame is not None:
        if frame.shape[0] == 0:
            raise InputError(f"{name} has no rows; at least one item is needed.")
        native = nw.to_native(frame)
        if hasattr(native, "iloc"):
            return native
        library = type(native).__module__.partition(".")[0]
        require("pandas", f"A classifier on a table of {library}")
        return frame.to_pandas()
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
    y = _python_values(y, "label", name)
    frame = _as_frame(y)
    if frame is not None:
        if frame.shape[1] != 1:
            raise InputError(
                f"{name} is a table of {frame.shape[1]} columns; expected the one column of labels."
            )
        y = _python_values(frame[frame.columns[0]].to_native(), "label", name)
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        # Lists keep booleans, integers and missing values apart, which to_numpy may not.
        y = _listed(series, name)
    return check_labels(y, name)


def _python_values(values: Any, role: str, name: str) -> Any:
    """Return a column of pyarrow, which has many types, as a list; everything else as it is."""
    if not _is_arrow(values) or hasattr(values, "columns"):
        return values
    from truemix._arrow_columns import python_values

    return python_values(values, role, name)


def _is_arrow(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pyarrow"


def _listed(series: nw.Series[Any], name: str) -> list[Any]:
    try:
        return series.to_list()
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        reason = visible(str(error))[:120]
        raise InputError(f"{name} cannot be read as single values ({reason}).") from None


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


def check_container(X: Any, remedy: str) -> None:
    """Refuse items and labels in one object, as QuaPy has them.

    Parameters
    ----------
    X : object
    remedy : str
        What to give instead, of an object called ``data``.

    Examples
    --------
    >>> check_container([[0.5, 0.5]], "give its items: data.X")
    """
    if hasattr(X, "Xy") and hasattr(X, "labels"):
        raise InputError(f"X is a {type(X).__name__}, which holds items and labels; {remedy}.")


def _values(X: Any, name: str = "X") -> Any:
    check_container(X, ITEMS_ONLY)
    frame = _as_frame(X)
    if frame is None:
        return X
    native = nw.to_native(frame)
    if _is_arrow(native):
        from truemix._arrow_columns import float_columns

        return float_columns(native, name)
    try:
        return frame.to_numpy()
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read as a table of numbers ({visible(str(error))[:120]}); expected "
            "one number per class."
        ) from None


def _in_class_order(X: Any, names: list[Any], classes: AnyArray, name: str) -> Any:
    """Select the columns named like the classes; a class may be spelt as text or as itself."""
    spelt = [str(column) for column in names]
    wanted = [str(label) for label in classes.tolist()]
    places = {column: place for place, column in enumerate(spelt)}
    absent = [label for label in wanted if label not in places]
    extra = sorted(set(spelt).difference(wanted), key=places.__getitem__)
    if absent or extra:
        found = (
            f"no column for class {shown(absent[0])}" if absent else f"a column {shown(extra[0])}"
        )
        raise InputError(
            f"{name} has {found}: its columns are {shown_list(spelt)}, the classes are "
            f"{shown_list(wanted)}. Name the columns like the classes and drop others, or pass "
            f"an array to match columns by position."
        )
    order = [places[label] for label in wanted]
    return _values(X, name)[:, order]


def groups_of(groups: Any, n_rows: int) -> tuple[list[Any], list[IntArray]]:
    """Return the distinct groups, sorted as people would, and the rows of each.

    Several columns, or tuples, make groups of tuples.
    """
    columns = [values_of(column, "group", "groups") for column in keys_of(groups)]
    for column in columns:
        if len(column) != n_rows:
            raise InputError(
                f"X has {n_rows} rows, but groups has {len(column)} entries; expected one per row."
            )
        _check_truth(column)
        _check_present(column)
    values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    rows: dict[Any, list[int]] = {}
    for i, group in enumerate(values):
        try:
            rows.setdefault(group, []).append(i)
        except TypeError:
            raise InputError(
                f"The group of row {i} is of type {type(group).__name__}; expected text, a number, "
                "a truth value or a date."
            ) from None
    keys = sorted_groups(rows)
    return keys, [np.array(rows[key], dtype=np.intp) for key in keys]


def _check_present(values: list[Any]) -> None:
    row = next((row for row, value in enumerate(values) if is_missing(value)), None)
    if row is not None:
        raise InputError(
            f"The group of row {row} is missing; expected a group for every item. Fill it in or "
            "remove such rows."
        )


def times_of(column: Any) -> Any:
    """Return a column of dates or times for Arrow: with their type, or as text.

    Examples
    --------
    >>> times_of(np.array(["2024-03-01"], dtype="datetime64[D]")).type
    DataType(date32[day])
    >>> import datetime
    >>> times_of([datetime.date(2024, 3, 1), "1 March 2024"]).to_pylist()
    ['2024-03-01', '1 March 2024']
    """
    import pyarrow as pa

    if _is_arrow(column) and not hasattr(column, "columns"):
        return column
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Datetime | nw.Date):
        return series.to_arrow()
    if isinstance(column, np.ndarray) and column.dtype.kind == "M" and column.ndim == 1:
        unit = np.datetime_data(column.dtype)[0]
        if unit in {"D", "s", "ms", "us", "ns"}:
            return pa.array(column)
        # Arrow has no others; months and years stay such.
        column = [None if np.isnat(each) else str(each) for each in column]
    values = values_of(column, "group", "groups")
    _check_present(values)
    return pa.array([_time_as_text(value) for value in values], pa.string())


def _time_as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def values_of(column: Any, role: str, name: str) -> list[Any]:
    """Return a list, an array or a column of any data frame library as a list of single values.

    Parameters
    ----------
    column : array-like of shape (n,)
    role : {"label", "group"}
        What the values are, which decides the Arrow types that they may have.
    name : str
        What messages call the column.

    Examples
    --------
    >>> values_of(np.array([1.0, np.nan]), "label", "labels")
    [1.0, nan]
    """
    column = _python_values(column, role, name)
    series = nw.from_native(column, series_only=True, pass_through=True)
    return (
        _listed(series, name) if isinstance(series, nw.Series) else _value_list(column, role, name)
    )


def _value_list(values: Any, role: str, name: str) -> list[Any]:
    if _are_tuples(values):
        return list(values)
    # Not of one kind, as NumPy makes a list: it would take 1 and "1" for the same.
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional; expected one {role} per item.")
    if array.dtype == np.dtype("datetime64[ns]"):
        # Python has no nanoseconds; NumPy turns them into whole numbers.
        return [None if np.isnat(each) else each for each in array]
    return list(array.tolist())


def _check_truth(groups: Iterable[Any]) -> None:
    """Raise for booleans among numbers: to Python, True equals 1."""
    kinds = {type(group) for group in groups if group is not None}
    truth = {kind for kind in kinds if issubclass(kind, bool | np.bool_)}
    if truth and any(issubclass(kind, Number) for kind in kinds - truth):
        raise InputError(
            "groups holds truth values and numbers, and True is the same as 1; expected one kind. "
            "Convert them to strings."
        )
