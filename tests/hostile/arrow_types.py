"""Columns of every Arrow type in every role: read as what they mean, or refused by their type."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hostile.attempts import Attempt, outcome_of
from hostile.command import outcome, run
from truemix import PCC

ROWS = 60
NAMES = ["a", "b", "c"]
LOOKS_LIKE_NUMBERS = [0, 1, 2]
DAYS = [date(2024, 5, day) for day in (1, 2, 3)]


@dataclass(frozen=True)
class Column:
    """Three values of a type, and what truemix may take them for.

    Attributes
    ----------
    name : str
        The type, and what is special about the values.
    make : callable
        Makes a column of a list of values.
    values : list
        Three that differ.
    labels : list of str or None
        What they are called as labels; None if they cannot be labels.
    is_group : bool
        Whether they can be groups.
    numbers : list of float or None
        As posteriors of one class, what ``units`` are (or ``values``, if there are none).
    """

    name: str
    make: Callable[[list], pa.Array]
    values: list
    labels: list | None = None
    is_group: bool = False
    numbers: list | None = None
    units: list | None = None


def typed(kind: pa.DataType, values: list, name: str | None = None, **expected) -> Column:
    return Column(name or str(kind), lambda found: pa.array(found, kind), values, **expected)


def columns() -> Iterator[Column]:
    """Yield all types with values that tell what goes wrong."""
    yield from plain_columns()
    yield from dates()
    yield from extremes()
    yield from nested()
    yield from wrapped()
    yield from extensions()


def plain_columns() -> Iterator[Column]:
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield typed(kind, NAMES, labels=NAMES, is_group=True)
        yield typed(
            kind, ["7", "8", "9"], f"{kind} of digits", labels=["7", "8", "9"], is_group=True
        )
    whole = {"labels": ["0", "1", "2"], "is_group": True, "numbers": [0, 1, 1], "units": [0, 1, 1]}
    for size in (8, 16, 32, 64):
        for sign in ("", "u"):
            yield typed(getattr(pa, f"{sign}int{size}")(), LOOKS_LIKE_NUMBERS, **whole)
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        values = [0.0, 1.0, 2.0]
        half = {"numbers": [0, 0.5, 1], "units": [0.0, 0.5, 1.0]}
        yield typed(kind, values, **{**whole, **half})
        yield typed(kind, [0.5, 1.5, 2.5], f"{kind} with decimals", is_group=True, **half)
    for width, digits in ((32, 7), (64, 16), (128, 30), (256, 60)):
        make = getattr(pa, f"decimal{width}")
        values = [Decimal(n) for n in LOOKS_LIKE_NUMBERS]
        yield typed(make(digits, 0), values, **{**whole, "units": values[:2] + values[1:2]})
        units = [Decimal("0.00"), Decimal("0.50"), Decimal("1.00")]
        half = {"numbers": [0, 0.5, 1], "units": units}
        yield typed(make(digits, 2), units, is_group=True, **half)
    truth = [False, True, True]
    yield typed(pa.bool_(), truth, numbers=[0, 1, 1], units=truth)
    yield typed(pa.null(), [None] * 3)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)):
        yield typed(kind, [b"a", b"b", b"c"])


def dates() -> Iterator[Column]:
    yield typed(pa.date32(), DAYS, is_group=True)
    yield typed(pa.date64(), DAYS, is_group=True)
    for zone in (None, "UTC", "Europe/Berlin", "+05:30", "Mars/Olympus", "", "\x1b[2J", "x" * 3000):
        for unit in ("s", "ms", "us", "ns"):
            kind = pa.timestamp(unit, zone)
            name = f"timestamp[{unit}] of {ascii(zone)[:20]}"
            known = zone in (None, "", "UTC", "Europe/Berlin", "+05:30")
            values = [
                1_700_000_000 * 1000 ** ["s", "ms", "us", "ns"].index(unit) + i for i in range(3)
            ]
            yield typed(kind, values, name, is_group=known)
    for kind, times in (
        (pa.time32("s"), [1, 2, 3]),
        (pa.time32("ms"), [1, 2, 3]),
        (pa.time64("us"), [1, 2, 3]),
        (pa.time64("ns"), [1, 2, 3]),
        (pa.time64("us"), [time(8), time(9), time(10)]),
    ):
        yield typed(kind, times, f"{kind} {times[0]}", is_group=True)
    for unit in ("s", "ms", "us", "ns"):
        yield typed(pa.duration(unit), [timedelta(n) for n in (1, 2, 3)])
    yield typed(pa.month_day_nano_interval(), [pa.MonthDayNano([n, 0, 0]) for n in (1, 2, 3)])


def extremes() -> Iterator[Column]:
    above = [2**53, 2**53 + 1, 2**53 + 2]
    for kind in (pa.int64(), pa.uint64()):
        yield typed(
            kind, above, f"{kind} above 2**53", labels=[str(n) for n in above], is_group=True
        )
    ends = {"int64": [-(2**63), 0, 2**63 - 1], "uint64": [0, 2**63, 2**64 - 1]}
    for name, values in ends.items():
        kind = getattr(pa, name)()
        yield typed(kind, values, f"ends of {name}", labels=[str(n) for n in values], is_group=True)
    big = [2.0**63, 2.0**64, 2.0**65]
    yield typed(pa.float64(), big, "huge doubles", labels=[str(int(n)) for n in big], is_group=True)
    yield typed(pa.float64(), [np.nan, 1.0, 2.0], "NaN")
    yield typed(pa.float64(), [np.inf, 1.0, 2.0], "infinity", is_group=True)
    huge = [Decimal(10) ** 37 + n for n in range(3)]
    labels = [str(int(n)) for n in huge]
    yield typed(pa.decimal128(38, 0), huge, "decimals of 38 digits", labels=labels, is_group=True)
    for days in (2**31 - 1, -(2**31), 3_000_000, -800_000):
        yield typed(pa.date32(), [days, 1, 2], f"day {days}")
    for unit in ("s", "ms", "us"):
        for value in (2**63 - 1, -(2**62)):
            yield typed(pa.timestamp(unit), [value, 1, 2], f"{unit} {value}")
            yield typed(pa.timestamp(unit, "UTC"), [value, 1, 2], f"{unit} {value} UTC")
    yield typed(pa.date64(), [2**62 // 86_400_000 * 86_400_000, 0, 86_400_000], "date64 far away")
    yield typed(pa.time32("s"), [-1, 1, 2], "time before midnight")
    yield typed(pa.time64("us"), [2**62, 1, 2], "time after midnight")
    nano = [1_700_000_000_000_000_001, 1_700_000_000_000_000_002, 1_700_000_000_000_000_003]
    yield typed(pa.timestamp("ns"), nano, "a nanosecond apart", is_group=True)
    yield typed(pa.timestamp("ns", "UTC"), nano, "a nanosecond apart in UTC", is_group=True)
    day = 1_704_067_200_000_000_000
    yield typed(pa.timestamp("ns"), [day, day + 1, day + 2], "at midnight", is_group=True)
    yield typed(pa.string(), ["a", "a\0", "b"], "a zero byte", is_group=True)
    yield typed(pa.string(), ["", "a", "b"], "empty text")
    long = ["x" * 100_000 + each for each in NAMES]
    yield typed(pa.string(), long, "long text", labels=long, is_group=True)
    steering = ["\x1b[2J", "\x9b31m", "\u202e"]
    yield typed(pa.string(), steering, "escape sequences", labels=steering, is_group=True)
    formulas = ["=1+1", "@a", "-b"]
    yield typed(pa.string(), formulas, "formulas", labels=formulas, is_group=True)
    similar = ["é", "é", "\u0435\u0301"]
    yield typed(pa.string(), similar, "similar text", labels=similar, is_group=True)
    yield Column("not UTF-8", _unchecked_text, [b"a", b"\xff", b"c"])


def _unchecked_text(values: list) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def nested() -> Iterator[Column]:
    for leaf, values in (
        (pa.int64(), [0, 1, 2]),
        (pa.string(), NAMES),
        (pa.float64(), [0.0, 0.5, 1.0]),
    ):
        single = [[value] for value in values]
        yield typed(pa.list_(leaf), single)
        yield typed(pa.large_list(leaf), single)
        yield typed(pa.list_(leaf, 1), single)
        yield typed(pa.list_view(leaf), single)
        yield typed(pa.large_list_view(leaf), single)
        yield typed(pa.list_(pa.list_(leaf)), [[value] for value in single])
        yield typed(pa.struct({"x": leaf}), [{"x": value} for value in values])
        yield typed(pa.map_(pa.string(), leaf), [[("x", value)] for value in values])
    yield typed(pa.list_(pa.null()), [[], [None], None])
    yield typed(pa.struct({}), [{}, {}, {}])
    wide = pa.struct({f"field {n}\x1b": pa.int8() for n in range(300)})
    yield typed(
        wide, [{f"field {n}\x1b": k for n in range(300)} for k in range(3)], "a wide struct"
    )
    for make in ("sparse", "dense"):
        yield Column(f"{make} union", partial(_union, make), [0, 1, 2])


def _union(make: str, values: list) -> pa.Array:
    kinds = pa.array([0] * len(values), pa.int8())
    if make == "sparse":
        return pa.UnionArray.from_sparse(kinds, [pa.array(values, pa.int64())])
    places = pa.array(range(len(values)), pa.int32())
    return pa.UnionArray.from_dense(kinds, places, [pa.array(values, pa.int64())])


WRAPPED = {
    "string", "large_string", "string_view", "int8", "uint64", "float", "double", "halffloat",
    "decimal32(7, 0)", "decimal256(60, 2)", "bool", "binary", "date32[day]", "binary_view",
    "timestamp[us] of 'UTC'", "timestamp[ns] of 'Mars/Olympus'", "time64[us] 1", "day 3000000",
    "duration[s]", "list<item: int64>", "struct<x: string>", "a zero byte", "NaN", "not UTF-8",
    "int64 above 2**53", "a nanosecond apart", "long text",
}  # fmt: skip


def wrapped() -> Iterator[Column]:
    """Yield dictionaries and runs of what is fine by itself, and of what is not."""
    found = (*plain_columns(), *dates(), *extremes(), *nested())
    inner = [column for column in found if column.name in WRAPPED]
    for column in inner:
        yield replace(
            column, name=f"dictionary of {column.name}", make=partial(_coded, column, "int32")
        )
        if column.name != "not UTF-8":
            make = partial(_in_runs, column, "int32")
            yield replace(column, name=f"runs of {column.name}", make=make)
    text = inner[0]
    for index in ("int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"):
        yield replace(text, name=f"dictionary by {index}", make=partial(_coded, text, index))
    for index in ("int16", "int64"):
        yield replace(text, name=f"runs by {index}", make=partial(_in_runs, text, index))
    yield Column("dictionary with a null", _with_null, NAMES)
    yield replace(text, name="dictionary with a value twice", make=_with_twice)
    yield replace(text, name="dictionary with values that do not occur", make=_with_more)
    yield Column("dictionary without that place", _out_of_bounds, NAMES)
    coded = replace(text, make=partial(_coded, text, "int32"))
    yield replace(text, name="runs of a dictionary", make=partial(_in_runs, coded, "int32"))


def _coded(column: Column, index: str, values: list) -> pa.Array:
    # NaN is not in a list of itself; the text of a value is.
    distinct = list({repr(value): value for value in values}.values())
    shown = [repr(value) for value in distinct]
    places = pa.array([shown.index(repr(value)) for value in values], getattr(pa, index)())
    return pa.DictionaryArray.from_arrays(places, column.make(distinct))


def _in_runs(column: Column, index: str, values: list) -> pa.Array:
    ends = pa.array(range(1, len(values) + 1), getattr(pa, index)())
    return pa.RunEndEncodedArray.from_arrays(ends, column.make(values))


def _with_null(values: list) -> pa.Array:
    places = [NAMES.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array([*NAMES[:2], None]))


def _with_twice(values: list) -> pa.Array:
    places = [NAMES.index(value) + 3 * (n % 2) for n, value in enumerate(values)]
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(NAMES * 2))


def _with_more(values: list) -> pa.Array:
    places = [NAMES.index(value) + 1 for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array([None, *NAMES, "z", ""]))


def _out_of_bounds(values: list) -> pa.Array:
    places = pa.array([NAMES.index(value) + 10**6 for value in values], pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(NAMES), safe=False)


class _Own(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.int64(), "hostile.own")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


def extensions() -> Iterator[Column]:
    ids = [UUID(int=n + 10**30) for n in range(3)]
    as_bytes = [each.bytes for each in ids]
    yield typed(pa.uuid(), as_bytes, labels=[str(each) for each in ids], is_group=True)
    texts = ['"a"', '{"b": 1}', "3"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield typed(pa.json_(kind), texts, f"json of {kind}", labels=texts, is_group=True)
    truth = [False, True, True]
    yield Column("bool8", _bool8, truth, numbers=[0, 1, 1], units=truth)
    for storage in (pa.int64(), pa.string(), pa.list_(pa.int8())):
        values = [[0], [1], [2]] if storage == pa.list_(pa.int8()) else ["0", "1", "2"]
        values = [0, 1, 2] if storage == pa.int64() else values
        make = partial(_stored, pa.opaque(storage, "x\x1b", "y"), storage)
        yield Column(f"opaque {storage}", make, values)
    make = partial(_stored, pa.fixed_shape_tensor(pa.int8(), [1]), pa.list_(pa.int8(), 1))
    yield Column("tensor", make, [[0], [1], [2]])
    # Written as this type and read as a type that nobody knows.
    yield Column("unknown extension", partial(_stored, _Own(), pa.int64()), [0, 1, 2])


def _bool8(values: list) -> pa.Array:
    return _stored(pa.bool8(), pa.int8(), [None if v is None else 7 * int(v) for v in values])


def _stored(kind: pa.DataType, storage: pa.DataType, values: list) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, storage))


# --- roles ------------------------------------------------------------------------------------

THIRDS = np.arange(ROWS) % 3
SCORES = np.random.default_rng(5).dirichlet([1, 1, 1], ROWS)
PLAIN = ("--quiet", "--format", "json", "--method", "pcc")


def cycle(column: Column, values: list | None = None) -> pa.Array:
    """Return a column in which the three values follow each other."""
    return column.make([(values or column.values)[n] for n in THIRDS])


def scores(names: list) -> dict:
    return {name: pa.array(SCORES[:, place]) for place, name in enumerate(names)}


def answer(reference: dict, target: dict, options: tuple, holds, form: str = "arrow") -> str:
    """Estimate from two tables in files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, table in (("reference", reference), ("target", target)):
            paths.append(Path(folder) / f"{name}.{form}")
            write(pa.table(table), paths[-1])
        return outcome(run("estimate", *paths, *PLAIN, *options), holds)


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def shares(content: dict) -> list[dict]:
    return [
        {each["class"]: each["share"] for each in group["classes"]} for group in content["groups"]
    ]


def as_label(column: Column, form: str) -> str:
    names = column.labels or NAMES

    def holds(content: dict) -> None:
        if column.labels is None:
            raise AssertionError(f"taken for labels: {shares(content)}")
        found = {str(name): share for name, share in shares(content)[0].items()}
        np.testing.assert_allclose([found[name] for name in names], SCORES.mean(axis=0), rtol=1e-9)

    reference = {"label": cycle(column), **scores(names)}
    return answer(reference, scores(names), ("--label", "label"), holds, form)


def as_group(column: Column, form: str) -> str:
    def holds(content: dict) -> None:
        distinct = len({repr(value) for value in column.values})
        if not column.is_group and column.name.split()[-1] not in {"bool", "bool8"}:
            raise AssertionError(f"taken for groups: {[g['group'] for g in content['groups']]}")
        names = [group["group"] for group in content["groups"]]
        assert len(set(names)) == len(names) == distinct, names
        assert sum(group["n_items"] for group in content["groups"]) == ROWS

    reference = {"label": pa.array([NAMES[n] for n in THIRDS]), **scores(NAMES)}
    target = {**scores(NAMES), "by": cycle(column)}
    return answer(reference, target, ("--label", "label", "--by", "by"), holds, form)


def as_posterior(column: Column, form: str) -> str:
    def holds(content: dict) -> None:
        if column.numbers is None:
            raise AssertionError(f"taken for posteriors: {shares(content)}")
        expected = float(np.mean(column.numbers))
        np.testing.assert_allclose(shares(content)[0]["a"], expected, rtol=1e-9)

    numbers = column.numbers or [0, 1, 0]
    rest = pa.array([(1 - numbers[n]) / 2 for n in THIRDS])
    reference = {"label": pa.array([NAMES[n] for n in THIRDS]), **scores(NAMES)}
    target = {"a": cycle(column, column.units), "b": rest, "c": rest}
    return answer(reference, target, ("--label", "label"), holds, form)


def _is_a_mix(content: dict) -> None:
    for found in shares(content):
        assert abs(sum(found.values()) - 1) < 1e-9


def as_feature(column: Column, name: str, form: str, *, in_reference: bool = True) -> str:
    text = pa.array([NAMES[n] for n in THIRDS])
    feature = cycle(column)
    table = {name: feature if in_reference else text, "x": pa.array(SCORES[:, 0])}
    options = ("--label", "label", "--classifier", "logistic")
    return answer({"label": text, **table}, {**table, name: feature}, options, _is_a_mix, form)


def as_kept(column: Column, kind: str) -> str:
    reference = {"label": pa.array([NAMES[n] for n in THIRDS]), **scores(NAMES)}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("reference.arrow", "target.arrow", f"out{kind}")]
        write(pa.table(reference), paths[0])
        write(pa.table({**scores(NAMES), "kept": cycle(column)}), paths[1])
        options = ["--label", "label", "--method", "pcc", "--quiet", "--format", "json"]
        done = run("adapt", *paths[:2], *options, "--keep", "kept", "--out", paths[2])
        found = outcome(done, lambda content: None)
        if done.code == 1 and paths[2].exists():
            raise AssertionError("a file was left behind")
        return found


# --- the library ------------------------------------------------------------------------------


def library_label(column: Column) -> str:
    found = pa.chunked_array([cycle(column)])

    def holds(quantifier: PCC) -> None:
        distinct = {repr(value) for value in column.values}
        assert len(quantifier.classes_) == len(distinct), quantifier.classes_
        if column.labels is None and "bool" not in column.name and column.name != "empty text":
            raise AssertionError(f"taken for labels: {quantifier.classes_}")

    n_classes = len({repr(value) for value in column.values})
    X = SCORES if n_classes == 3 else np.column_stack([SCORES[:, 0], 1 - SCORES[:, 0]])
    return outcome_of(lambda: PCC().fit(X, found), holds)


def library_group(column: Column) -> str:
    quantifier = PCC().fit(SCORES, THIRDS)
    found = pa.chunked_array([cycle(column)])

    def holds(estimates) -> None:
        distinct = {repr(value) for value in column.values}
        assert len(estimates) == len(distinct)

    return outcome_of(lambda: quantifier.quantify_by(SCORES, found), holds)


def library_posterior(column: Column) -> str:
    quantifier = PCC().fit(SCORES, [NAMES[n] for n in THIRDS])
    numbers = column.numbers or [0, 1, 0]
    rest = pa.array([(1 - numbers[n]) / 2 for n in THIRDS])
    table = pa.table({"a": cycle(column, column.units), "b": rest, "c": rest})

    def holds(share: np.ndarray) -> None:
        if column.numbers is None:
            raise AssertionError(f"taken for posteriors: {share}")
        np.testing.assert_allclose(share[0], np.mean(column.numbers), rtol=1e-9)

    return outcome_of(lambda: quantifier.predict(table), holds)


def attempts(seed: int) -> Iterator[Attempt]:
    """Yield each type in each role; nothing is random."""
    for column in columns():

        def named(role: str, made: Callable[[], str], name: str = column.name) -> Attempt:
            return Attempt(f"Arrow types: {role}", name, made)

        for form in ("arrow", "parquet"):
            if form == "parquet" and not _has_parquet(column):
                continue
            yield named("label", partial(as_label, column, form))
            yield named("group", partial(as_group, column, form))
            yield named("posterior", partial(as_posterior, column, form))
        yield named("feature", partial(as_feature, column, "f", "arrow"))
        yield named(
            "feature of the target", partial(as_feature, column, "f", "arrow", in_reference=False)
        )
        yield named("key", partial(as_feature, column, "id", "arrow"))
        for kind in (".csv", ".parquet", ".npz"):
            yield named("kept", partial(as_kept, column, kind))
        yield named("label, library", partial(library_label, column))
        yield named("group, library", partial(library_group, column))
        yield named("posterior, library", partial(library_posterior, column))


def _has_parquet(column: Column) -> bool:
    """Tell whether Parquet keeps the type of a column; it has fewer types than Arrow."""
    table, file = pa.table({"x": column.make(column.values)}), pa.BufferOutputStream()
    try:
        parquet.write_table(table, file)
        return parquet.read_schema(pa.BufferReader(file.getvalue())).equals(table.schema)
    except (pa.ArrowException, OverflowError):
        return False
