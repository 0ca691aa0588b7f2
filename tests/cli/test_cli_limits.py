"""Inputs that would fill memory or a disk, wide tables and places that are no files."""

import gzip
import io
import os
import stat
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from cli_support import CLASSES, fails, run, target_frame, written
from truemix._limits import VARIABLE
from truemix.cli.tables.arrow import messages_in, unpacked_size

OPTIONS = ("--label", "label", "--method", "pcc", "--format", "json")
# A limit that good files of these tests keep and hostile ones do not, so that both are small.
LIMIT = 200_000
ROWS = 100_000


@pytest.fixture
def estimate(tmp_path, capsys, monkeypatch):
    """Return a function that estimates the mix of some file under a limit."""
    reference, _ = written(tmp_path)

    def estimated(path, *options, limit=LIMIT, call=fails):
        monkeypatch.setenv(VARIABLE, str(limit))
        return call(capsys, "estimate", reference, path, *OPTIONS, *options)

    return estimated


def ones():
    return {name: np.full(ROWS, float(name == "egg")) for name in CLASSES.tolist()}


def write_gzip(path):
    path.write_bytes(gzip.compress(b"egg,ham,spam\n" + b"1,0,0\n" * ROWS))


def write_npz(path):
    np.savez_compressed(path, **ones())


def write_parquet(path):
    parquet.write_table(pa.table(ones()), path)


def write_arrow(path, compression="zstd"):
    table = pa.table(ones())
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table)


def write_stream(path):
    table = pa.table(ones())
    with pa.ipc.new_stream(
        path, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
    ) as writer:
        writer.write_table(table)


def write_runs(path):
    runs = {n: pa.RunEndEncodedArray.from_arrays([ROWS], v[:1]) for n, v in ones().items()}
    table = pa.table(runs)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "large.csv.gz": write_gzip,
    "large.npz": write_npz,
    "large.parquet": write_parquet,
    "large.arrow": write_arrow,
    "large.arrows": write_stream,
    "runs.arrow": write_runs,
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_that_unpack_to_too_much_are_refused(estimate, tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    assert path.stat().st_size < LIMIT
    assert estimate(path) == (
        f"{name} unpacks to more than 200,000 bytes, which may be meant to fill the memory or the "
        "disk; if it is what you want to read, set the environment variable TRUEMIX_MAX_BYTES to "
        "the number of bytes to allow."
    )
    done = estimate(path, limit=10**8, call=run)
    assert [each["share"] for each in done.json["groups"][0]["classes"]] == [1.0, 0.0, 0.0]


def test_a_long_name_that_is_repeated_is_refused(estimate, tmp_path):
    # A dictionary holds the name once; as text it would be 100 MB.
    table = pa.table({**{n: v[:1000] for n, v in ones().items()}, "week": ["x" * 100_000] * 1000})
    parquet.write_table(table, tmp_path / "long.parquet")
    assert (tmp_path / "long.parquet").stat().st_size < LIMIT
    sentence = estimate(tmp_path / "long.parquet", "--by", "week")
    assert sentence.startswith("long.parquet unpacks to more than 200,000 bytes")


def test_an_archive_that_says_less_than_it_holds_is_refused(estimate, tmp_path):
    path = tmp_path / "large.npz"
    write_npz(path)
    data = bytearray(path.read_bytes())
    size = (ROWS * 8 + 128).to_bytes(4, "little")
    assert data.count(size) > 0
    path.write_bytes(data.replace(size, (1000).to_bytes(4, "little")))
    # No more is read than is said, and then the checksum is wrong.
    assert estimate(path).startswith("large.npz is not a complete NPZ file (Bad CRC-32")


@pytest.mark.parametrize("limit", ["many", "-1", "0", "1e9", ""])
def test_the_limit_must_be_a_number(estimate, tmp_path, limit):
    write_npz(tmp_path / "large.npz")
    sentence = estimate(tmp_path / "large.npz", limit=limit)
    assert sentence.startswith(f"The environment variable TRUEMIX_MAX_BYTES is {limit!r}; expected")


@pytest.mark.skipif(
    not hasattr(os, "mkfifo") or os.geteuid() != 0, reason="only root makes devices"
)
def test_a_device_without_end_is_refused(estimate, tmp_path):
    # The numbers of /dev/zero.
    try:
        os.mknod(tmp_path / "zeros", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        (tmp_path / "zeros").open("rb").close()
    except PermissionError:
        pytest.skip("no devices in this container")
    sentence = estimate(tmp_path / "zeros", limit=10**7)
    assert sentence.startswith("zeros sends more than 9 MiB, which may be meant to fill the memory")


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_sizes_of_arrow_batches_are_those_of_their_buffers(compression, stream):
    frame = target_frame()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    coded = table.append_column("coded", table["week"].dictionary_encode())
    file = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(
        file, coded.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(coded, max_chunksize=100)
    found = list(messages_in(pa.py_buffer(file.getvalue())))
    found = [message for message in found if message.type != "schema"]
    assert [message.type for message in found] == ["dictionary", "record batch", "record batch"]
    for batch, part in zip(found[1:], (frame[:100], frame[100:]), strict=True):
        # Three columns of floats, the places of a dictionary, and text with its offsets.
        exact = len(part) * (8 * 3 + 4) + (len(part) + 1) * 4 + part["week"].str.len().sum()
        # Buffers that are not packed are filled up to 64 bytes each, at most ten of them.
        assert exact <= unpacked_size(batch) <= exact + 640


def test_a_long_header_is_read(estimate, tmp_path):
    # Longer than a block of the reader of text.
    frame = target_frame().rename(columns={"week": "w" * (5 << 20)})
    frame.to_csv(tmp_path / "long.csv", index=False)
    done = estimate(tmp_path / "long.csv", limit=10**9, call=run)
    expected = target_frame()[CLASSES].mean().to_numpy()
    found = [each["share"] for each in done.json["groups"][0]["classes"]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(done.err) < 200


def test_a_line_without_end_is_refused(estimate, tmp_path, monkeypatch):
    monkeypatch.setattr("truemix.cli.tables.text._MAX_LINE", 1000)
    (tmp_path / "line.csv").write_text("egg,ham,spam" + "x" * 2000)
    assert estimate(tmp_path / "line.csv").startswith("Line 1 of line.csv is longer than ")


def test_too_many_columns_are_refused(estimate, tmp_path, monkeypatch):
    monkeypatch.setattr("truemix.cli.tables.table.MAX_COLUMNS", 10)
    (tmp_path / "wide.csv").write_text(",".join(map(str, range(11))) + "\n")
    assert estimate(tmp_path / "wide.csv").startswith("wide.csv has more than 10 columns; expected")


def test_too_many_groups_are_refused_early(estimate, tmp_path):
    frame = target_frame(20_000).assign(week=[f"week {n}" for n in range(20_000)])
    frame.to_csv(tmp_path / "groups.csv", index=False)
    assert estimate(tmp_path / "groups.csv", "--by", "week", limit=10**9) == (
        "Column 'week' of groups.csv has more than 10,000 different values; expected groups of "
        "items, such as weeks or regions."
    )


@pytest.mark.parametrize("member", [b"", b"no header", b"\x93NUMPY\x01\x00\xff\xff{'descr'"])
def test_an_array_without_header_is_damaged(estimate, tmp_path, member):
    with zipfile.ZipFile(tmp_path / "wrong.npz", "w") as archive:
        archive.writestr("X.npy", member)
    sentence = estimate(tmp_path / "wrong.npz")
    assert sentence.startswith("wrong.npz is not a complete NPZ file (")


@pytest.mark.parametrize(
    "column",
    [np.ones(3, ">f8"), np.ones(3, np.longdouble), np.ones(3, np.float16), np.ones(3, bool)],
)
def test_numbers_of_numpy_are_read_whatever_their_type(estimate, tmp_path, column):
    np.savez(tmp_path / "types.npz", egg=column, ham=np.zeros(3), spam=np.zeros(3))
    done = estimate(tmp_path / "types.npz", call=run)
    assert [each["share"] for each in done.json["groups"][0]["classes"]] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("column", [np.ones(3, complex), np.zeros(3, "V8"), np.ones(3, "m8[s]")])
def test_what_is_no_column_is_refused(estimate, tmp_path, column):
    np.savez(tmp_path / "types.npz", egg=column, ham=np.zeros(3), spam=np.zeros(3))
    sentence = estimate(tmp_path / "types.npz")
    assert sentence.startswith("The array 'egg' in types.npz is of type '")


def test_loops_of_links(tmp_path, capsys):
    reference, target = written(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for files in ((loop, target), (reference, loop)):
        sentence = fails(capsys, "estimate", *files, *OPTIONS)
        assert sentence.startswith(f"The file {str(loop)!r} cannot be read (Too many levels")
    for option in ("--out", "--report"):
        sentence = fails(capsys, "estimate", reference, target, *OPTIONS, option, loop)
        assert sentence.startswith(f"Cannot write {str(loop)!r} (Too many levels")
