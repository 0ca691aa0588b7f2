"""Hostile and damaged tables in files: the same answer as from the file that was meant, or refused.

A file without checksums may hold other valid data after a byte has changed. Then an independent
reader tells what is in it: pandas for text, NumPy for archives, pyarrow as a whole for Arrow.
"""

import csv
import gzip
import io
import os
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from hostile.attempts import ANSWERED, Attempt
from hostile.command import outcome, run

NAMES = ["egg", "ham", "spam"]
ROWS = 40
OPTIONS = ("--quiet", "--format", "json", "--method", "pcc", "--label", "label")
# So that nothing else than what is unpacked takes memory, and hostile files stay small.
LARGE = 3 << 30


@cache
def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(4)
    reference = pd.DataFrame(rng.dirichlet([1, 1, 1], ROWS), columns=NAMES)
    reference.insert(0, "label", [NAMES[n % 3] for n in range(ROWS)])
    target = pd.DataFrame(rng.dirichlet([2, 1, 1], ROWS), columns=NAMES)
    target["week"] = [f"week {1 + n // 10}" for n in range(ROWS)]
    return reference, target


# --- formats ------------------------------------------------------------------------------------


def as_csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def as_tsv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, sep="\t").encode()


def as_gzip(frame: pd.DataFrame) -> bytes:
    return gzip.compress(as_csv(frame), mtime=0)


def as_parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table, file, write_page_checksum=True, row_group_size=25)
    return file.getvalue()


def as_arrow(frame: pd.DataFrame, compression: str | None = None) -> bytes:
    file = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=25)
    return file.getvalue()


def as_stream(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    return file.getvalue()


def as_npz(frame: pd.DataFrame, save: Callable = np.savez) -> bytes:
    file = io.BytesIO()
    rest = {n: frame[n].to_numpy(dtype=str) for n in frame if n not in NAMES}
    save(file, X=frame[NAMES].to_numpy(), classes=np.array(NAMES), **rest)
    return file.getvalue()


FORMATS = {
    "csv": as_csv,
    "tsv": as_tsv,
    "csv.gz": as_gzip,
    "parquet": as_parquet,
    "arrow": as_arrow,
    "lz4.arrow": partial(as_arrow, compression="lz4"),
    "arrows": as_stream,
    "npz": as_npz,
    "packed.npz": partial(as_npz, save=np.savez_compressed),
}
# Formats in which everything that is read has a checksum.
CHECKED = {"csv.gz", "npz", "packed.npz"}


def independent(kind: str, data: bytes) -> pd.DataFrame:
    """Return what another reader finds in a file without checksums."""
    if kind in {"csv", "tsv"}:
        # Python's own reader of CSV; empty lines are no rows.
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        delimiter = "\t" if kind == "tsv" else ","
        header, *rows = [row for row in csv.reader(text, delimiter=delimiter) if row]
        return pd.DataFrame(rows, columns=header).astype(dict.fromkeys(NAMES, float))
    if kind == "parquet":
        table = parquet.read_table(io.BytesIO(data), page_checksum_verification=True)
        return table.replace_schema_metadata(None).to_pandas()
    opened = pa.ipc.open_stream if kind == "arrows" else pa.ipc.open_file
    return opened(data).read_all().replace_schema_metadata(None).to_pandas()


# --- mutations ----------------------------------------------------------------------------------


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a few bytes, cut, repeat or exchange parts."""
    changed = bytearray(data)
    place, other = (int(n) for n in rng.integers(len(data), size=2))
    length = int(rng.integers(1, 64))
    match rng.integers(9):
        case 0:
            changed[place] ^= 1 << int(rng.integers(8))
        case 1:
            changed[place] = int(rng.integers(256))
        case 2:
            del changed[place:]
        case 3:
            del changed[place : place + length]
        case 4:
            changed[place:place] = changed[other : other + length]
        case 5:
            changed[place : place + length] = bytes(len(changed[place : place + length]))
        case 6:
            changed[place : place + 8] = struct.pack(
                "<q", int(rng.choice([-1, 2**31, 2**40, 2**62]))
            )
        case 7:
            changed += bytes(rng.integers(256, size=length, dtype=np.uint8))
        case _:
            for each in rng.integers(len(data), size=8):
                changed[each] ^= 1 << int(rng.integers(8))
    return bytes(changed)


@cache
def right_answer() -> list:
    return _shares(frames()[1])


def _shares(target: pd.DataFrame) -> list:
    groups = target.groupby("week", sort=False)[NAMES].mean()
    return sorted((str(name), row.round(9).tolist()) for name, row in groups.iterrows())


def _found(content: dict) -> list:
    return sorted(
        (str(group["group"]), [round(each["share"], 9) for each in group["classes"]])
        for group in content["groups"]
    )


def estimate(folder: str, kind: str, data: bytes, holds, *, side: str = "target") -> str:
    reference, target = frames()
    files = {"reference": ("csv", as_csv(reference)), "target": ("csv", as_csv(target))}
    files[side] = (kind, data)
    paths = []
    for name, (ending, contents) in files.items():
        paths.append(Path(folder) / f"{name}.{ending}")
        paths[-1].write_bytes(contents)
    return outcome(run("estimate", *paths, *OPTIONS, "--by", "week"), holds)


def damaged(kind: str, side: str, seed: int) -> str:
    """Estimate from a file of which a part was changed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    original = FORMATS[kind](frames()[side == "target"])
    data = mutated(original, rng)

    def holds(content: dict) -> None:
        found = _found(content)
        if found == right_answer():
            return
        if kind in CHECKED:
            raise AssertionError(f"a changed answer: {found}")
        try:
            other = independent(kind, data)
            other[NAMES] = other[NAMES].div(other[NAMES].sum(axis=1), axis=0)
            expected = _shares(other) if side == "target" else right_answer()
        except Exception as error:
            raise AssertionError(f"others cannot read it ({error!r:.200}): {found}") from None
        if len(found) != len(expected):
            raise AssertionError(f"{found} instead of {expected}")
        for (name, ours), (same, theirs) in zip(found, expected, strict=True):
            assert name == same, (name, same)
            np.testing.assert_allclose(ours, theirs, atol=2e-9)

    with tempfile.TemporaryDirectory() as folder:
        return estimate(folder, kind, data, holds, side=side)


def undamaged(kind: str, side: str) -> str:
    """Estimate from the file that the damaged ones were."""

    def holds(content: dict) -> None:
        assert _found(content) == right_answer()

    with tempfile.TemporaryDirectory() as folder:
        found = estimate(folder, kind, FORMATS[kind](frames()[side == "target"]), holds, side=side)
    if found != ANSWERED:
        raise AssertionError("a good file was refused")
    return found


# --- hostile files ------------------------------------------------------------------------------


def hostile_files() -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Yield names, kinds and the contents of files that were made to break something."""
    yield from hostile_text()
    yield from hostile_archives()
    yield from hostile_arrow()


HEADER, ROW = b"egg,ham,spam,week\n", b"1,0,0,week 1\n"


def hostile_text() -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    texts = {
        "nothing": b"",
        "a line end": b"\n",
        "only commas": b"," * 100_000,
        "a header of 5 MB": b"x" * (5 << 20) + b"," + HEADER + b"," + ROW,
        "a header of 70 MB": b"x" * (70 << 20) + b"," + HEADER + b"," + ROW,
        "an open quote": HEADER + b'"' + ROW * 10_000,
        "an open quote in the header": b'"' + HEADER + ROW * 10_000,
        "quotes only": b'"' * 99_999,
        "zero bytes": HEADER + b"1,0,0,\0\0\n",
        "zero bytes late": HEADER + ROW * 100_000 + b"1,0,0,\0\n",
        "UTF-16": (HEADER + ROW).decode().encode("utf-16"),
        "UTF-32": (HEADER + ROW).decode().encode("utf-32"),
        "Latin-1": HEADER + b"1,0,0,\xe9\n",
        "carriage returns": (HEADER + ROW * 3).replace(b"\n", b"\r"),
        "numbers of other scripts": HEADER + "\u0661,0,0,x\n".encode(),
        "hexadecimal": HEADER + b"0x1,0,0,x\n",
        "underscores": HEADER + b"1_0e-1,0,0,x\n",
        "a huge exponent": HEADER + b"1e999999999,0,0,x\n",
        "many digits": HEADER + b"0." + b"3" * 100_000 + b",0.66666666,0,x\n",
        "infinity": HEADER + b"inf,-inf,nan,x\n",
        "a long value": HEADER + b"1,0,0," + b"x" * (5 << 20) + b"\n",
        "a row too short": HEADER + ROW + b"1,0\n",
        "a row too long": HEADER + ROW + b"1,0,0,x,y\n",
        "100,000 columns": b"".join(b"c%d," % n for n in range(100_000)) + HEADER + ROW,
        "two million columns": b"," * 2_000_000 + b"\n",
        "a column twice": b"egg,egg,ham,spam,week\n0,1,0,0,x\n",
        "escape sequences": HEADER.replace(b"week", b"\x1b[2Jweek") + ROW,
        "20,000 groups": HEADER + b"".join(b"1,0,0,%d\n" % n for n in range(20_000)),
        "half a character": HEADER + b"1,0,0,\xed\xa0\x80\n",
        "a mark of byte order only": b"\xef\xbb\xbf",
        "PAR1 only": b"PAR1",
        "ARROW1 only": b"ARROW1",
        "PK only": b"PK\x03\x04",
        "an empty archive": b"PK\x05\x06" + bytes(18),
        "gzip only": b"\x1f\x8b",
        "an Arrow stream only": b"\xff\xff\xff\xff",
        "NumPy only": b"\x93NUMPY",
        "a stream of a negative length": b"\xff\xff\xff\xff\xff\xff\xff\xff" * 4,
    }  # fmt: skip
    for name, text in texts.items():
        yield name, "csv", partial(bytes, text)
        yield f"{name}, packed", "csv.gz", partial(gzip.compress, text, 1)
        yield f"{name}, twice", "csv", partial(bytes.__mul__, text[: 1 << 20], 2)
    yield "gzip of zeros", "csv.gz", partial(_gzip_of, b"", b"0" * (1 << 20), LARGE >> 20)
    yield "gzip of rows", "csv.gz", partial(_gzip_of, HEADER, ROW * 80_000, LARGE >> 20)
    yield (
        "gzip of short rows",
        "csv.gz",
        partial(_gzip_of, b"egg,ham,spam,week\n", b"1,0,0,x\n" * (1 << 17), 2000),
    )
    yield "gzip of one line", "csv.gz", partial(_gzip_of, HEADER, b"x" * (1 << 20), LARGE >> 20)
    yield "gzip of line ends", "csv.gz", partial(_gzip_of, HEADER, b"\n" * (1 << 20), LARGE >> 20)
    yield "gzip of commas", "csv.gz", partial(_gzip_of, HEADER, b"," * (1 << 20), LARGE >> 20)
    yield "gzip in gzip", "csv.gz", lambda: gzip.compress(gzip.compress(HEADER + ROW))
    yield "gzip with a tail", "csv.gz", lambda: gzip.compress(HEADER + ROW) + b"tail"
    yield "two members", "csv.gz", lambda: gzip.compress(HEADER) + gzip.compress(ROW)


def _gzip_of(first: bytes, block: bytes, times: int) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(first)]
    parts += [packer.compress(block) for _ in range(times)]
    return b"".join(parts) + packer.flush()


def hostile_archives() -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    good = {"egg": np.ones(3), "ham": np.zeros(3), "spam": np.zeros(3), "week": np.array(["x"] * 3)}
    columns = {
        "big endian": np.ones(3, ">f8"),
        "long double": np.ones(3, np.longdouble),
        "half": np.ones(3, np.float16),
        "complex": np.ones(3, complex),
        "truth": np.ones(3, bool),
        "text": np.array(["1"] * 3),
        "bytes": np.array([b"1"] * 3),
        "bytes that are not UTF-8": np.array([b"\xff"] * 3),
        "void": np.zeros(3, "V8"),
        "fields": np.zeros(3, [("a", float)]),
        "fields with names": np.zeros(3, [("\u00e4\u4e2d", float)]),
        "objects": np.array([1, "a", None], object),
        "nothing": np.empty(0),
        "a number": np.array(1.0),
        "two dimensions": np.ones((3, 3)),
        "32 dimensions": np.ones((1,) * 32),
        "text of no length": np.zeros(3, "U0"),
        "dates": np.array(["2024-01-01"] * 3, "M8[D]"),
        "months": np.array(["2024-01"] * 3, "M8[M]"),
        "far years": np.array([2**62] * 3, "M8[Y]"),
        "not a time": np.array(["NaT"] * 3, "M8[ns]"),
        "attoseconds": np.array([1] * 3, "M8[as]"),
        "spans": np.array([1] * 3, "m8[s]"),
        "large integers": np.array([2**63] * 3, np.uint64),
        "by columns": np.asfortranarray(np.ones((3, 1)))[:, 0],
    }  # fmt: skip
    for name, column in columns.items():
        for place in ("egg", "week", "X", "classes"):
            yield f"{name} as {place}", "npz", partial(_npz, {**good, place: column})
    headers = {
        "no header": b"",
        "no magic": b"x" * 100,
        "a huge shape": _npy("<f8", (2**40,)),
        "a shape of nothing": _npy("|V0", (2**62,)),
        "rows of text without length": _npy("<U0", (2**40,)),
        "a negative shape": _npy("<f8", (-1,)),
        "too many bytes": _npy("<f8", (3,)) + bytes(100),
        "too few bytes": _npy("<f8", (3,)) + bytes(8),
        "a long type": _npy("<U100000000", (3,)),
        "code": b"\x93NUMPY\x01\x00\x18\x00__import__('os').abort()",
        "a deep header": b"\x93NUMPY\x02\x00" + struct.pack("<I", 60_000) + b"[" * 60_000,
        "a long header": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31),
        "version 9": b"\x93NUMPY\x09\x00" + bytes(100),
        "no columns": _npy("<f8", (0, 2**40)),
        "many columns": _npy("<f8", (1, 2_000_000)) + bytes(16_000_000),
        "wrong keys": b"\x93NUMPY\x01\x00" + struct.pack("<H", 20) + b"{'shape': 3}".ljust(20),
    }  # fmt: skip
    for name, member in headers.items():
        for place in ("egg", "X", "classes", "week"):
            yield f"{name} as {place}", "npz", partial(_zip_with, good, place, member)
    yield "zeros, packed", "npz", partial(_zip_of_zeros, LARGE, zipfile.ZIP_DEFLATED)
    yield "zeros, packed with LZMA", "npz", partial(_zip_of_zeros, LARGE >> 3, zipfile.ZIP_LZMA)
    yield "zeros, packed with bzip2", "npz", partial(_zip_of_zeros, LARGE >> 3, zipfile.ZIP_BZIP2)
    yield "zeros that are said to be few", "npz", lambda: _said_small(_zip_of_zeros(LARGE, 8))
    yield "a member twice", "npz", _member_twice
    yield "no arrays", "npz", partial(_zip, {"word/document.xml": b"<a/>"})
    yield "a path", "npz", partial(_zip, {"../../egg.npy": b"x", "/etc/passwd.npy": b"x"})


def _npz(arrays: dict) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.savez(file, **arrays)
    return file.getvalue()


def _npy(dtype: str, shape: tuple) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"


def _zip(members: dict, compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return file.getvalue()


def _zip_with(good: dict, place: str, member: bytes) -> bytes:
    members = {}
    for name, array in good.items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"{name}.npy"] = file.getvalue()
    return _zip({**members, f"{place}.npy": member}, zipfile.ZIP_DEFLATED)


def _zip_of_zeros(size: int, compression: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            member.write(_npy("<f8", (size // 24, 3)))
            for _ in range(size >> 24):
                member.write(bytes(1 << 24))
        names = io.BytesIO()
        np.save(names, np.array(NAMES))
        archive.writestr("classes.npy", names.getvalue())
    return file.getvalue()


def _said_small(data: bytes) -> bytes:
    """Let the directory of an archive say that its first member is small."""
    place = data.index(b"PK\x01\x02")
    changed = bytearray(data)
    extra = place + 46 + struct.unpack_from("<H", data, place + 28)[0]
    changed[place + 24 : place + 28] = struct.pack("<I", 1000)
    if data[extra : extra + 2] == b"\x01\x00":
        changed[extra + 4 : extra + 12] = struct.pack("<Q", 1000)
    return bytes(changed)


def _member_twice() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (0.0, 1.0):
            member = io.BytesIO()
            np.save(member, np.full(3, value))
            for name in (*NAMES, "week"):
                archive.writestr(f"{name}.npy", member.getvalue())
    return file.getvalue()


def hostile_arrow() -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    for codec in ("zstd", "lz4"):
        yield f"zeros, packed with {codec}", "arrow", partial(_arrow_zeros, LARGE // 24, codec)
        yield (
            f"a stream of zeros, packed with {codec}",
            "arrows",
            partial(_arrow_zeros, LARGE // 24, codec, 1),
        )
    yield "a run of 2**31 rows", "arrow", partial(_arrow_runs, 2**31 - 1)
    yield "a run of 2**30 rows", "arrow", partial(_arrow_runs, 2**30)
    yield "nulls without end", "arrow", partial(_arrow_nulls, 2**31 - 1)
    yield "a long name often", "arrow", partial(_long_name, as_arrow, 10**6, 5000)
    yield "a long name often, Parquet", "parquet", partial(_long_name, as_parquet, 10**6, 5000)
    yield "zeros, Parquet", "parquet", partial(_parquet_zeros, 20_000_000, "zstd")
    yield "zeros in dictionaries, Parquet", "parquet", partial(_parquet_zeros, 20_000_000, "none")


def _arrow_zeros(rows: int, codec: str, stream: bool = False) -> bytes:
    file = io.BytesIO()
    # One buffer for all columns: who makes the file needs no memory either.
    buffer = pa.py_buffer(np.zeros(rows))
    column = pa.Array.from_buffers(pa.float64(), rows, [None, buffer])
    table = pa.record_batch(dict.fromkeys(NAMES, column))
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(file, table.schema, options=options) as writer:
        writer.write_batch(table)
    return file.getvalue()


def _arrow_runs(rows: int) -> bytes:
    columns = {
        name: pa.RunEndEncodedArray.from_arrays([rows], [n == 0]) for n, name in enumerate(NAMES)
    }
    columns["week"] = pa.RunEndEncodedArray.from_arrays([rows], ["x"])
    return _written(pa.record_batch(columns))


def _arrow_nulls(rows: int) -> bytes:
    return _written(pa.record_batch({name: pa.nulls(rows) for name in (*NAMES, "week")}))


def _written(batch: pa.RecordBatch) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
    return file.getvalue()


def _long_name(write: Callable, length: int, rows: int) -> bytes:
    places = pa.array(np.zeros(rows, np.int32))
    column = pa.DictionaryArray.from_arrays(places, pa.array(["x" * length]))
    table = pa.table(
        {"egg": np.ones(rows), "ham": np.zeros(rows), "spam": np.zeros(rows), "week": column}
    )
    file = io.BytesIO()
    if write is as_parquet:
        # Without the Arrow schema nobody knows that it was a dictionary.
        parquet.write_table(table, file, store_schema=False)
        return file.getvalue()
    return _written(table.to_batches()[0])


def _parquet_zeros(rows: int, codec: str) -> bytes:
    file = io.BytesIO()
    columns = {name: np.full(1 << 20, float(n == 0)) for n, name in enumerate(NAMES)}
    table = pa.table({**columns, "week": np.zeros(1 << 20, np.int8)})
    with parquet.ParquetWriter(file, table.schema, compression=codec) as writer:
        for _ in range(rows >> 20):
            writer.write_table(table)
    return file.getvalue()


def made(kind: str, contents: Callable[[], bytes], side: str) -> str:
    """Estimate from a file that was made to break something."""
    with tempfile.TemporaryDirectory() as folder:
        return estimate(folder, kind, contents(), lambda content: None, side=side)


# --- places -------------------------------------------------------------------------------------


def odd_places() -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Yield what a path can lead to instead of a file."""

    def loop(path: Path) -> None:
        path.symlink_to(path.name)

    def fifo_of_zeros(path: Path) -> None:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))

    yield "a loop of links", loop
    yield "a link to nothing", lambda path: path.symlink_to("nothing")
    yield "a folder", lambda path: path.mkdir()
    yield "a device without end", fifo_of_zeros


def placed(make: Callable[[Path], object], option: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        reference, target = frames()
        paths = {"reference": Path(folder) / "r.csv", "target": Path(folder) / "t.csv"}
        paths["reference"].write_bytes(as_csv(reference))
        paths["target"].write_bytes(as_csv(target))
        odd = Path(folder) / "odd"
        try:
            make(odd)
        except PermissionError:
            odd.mkdir()
        extra = []
        if option in paths:
            paths[option] = odd
        else:
            extra = [option, odd]
        done = run("estimate", *paths.values(), *OPTIONS, *extra)
        return outcome(done, lambda content: None)


def attempts(seed: int) -> Iterator[Attempt]:
    """Yield hostile files, and damaged ones that differ by seed."""
    for name, make in odd_places():
        for option in ("reference", "target"):
            yield Attempt("input places", f"{name} as {option}", partial(placed, make, option))
    for name, kind, contents in hostile_files():
        for side in ("target", "reference"):
            yield Attempt("hostile files", f"{name} as {side}", partial(made, kind, contents, side))
    for kind in FORMATS:
        for side in ("target", "reference"):
            yield Attempt(f"damaged {kind}", f"{side} undamaged", partial(undamaged, kind, side))
    for number in range(150):
        for kind in FORMATS:
            for side in ("target", "reference"):
                make = partial(damaged, kind, side, 1000 * seed + number)
                yield Attempt(f"damaged {kind}", f"{side} {number}", make)
