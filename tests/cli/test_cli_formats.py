"""Every format gives the same answer, from a file and from stdin, in a process of its own."""

import gzip
from contextlib import nullcontext
from subprocess import DEVNULL

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from cli_support import CLASSES, fails, finished, reference_frame, run, start, target_frame, written

OPTIONS = ("--label", "label", "--method", "pcc", "--format", "json", "--by", "week")


def write_csv(frame, path):
    frame.to_csv(path, index=False)


def write_csv_text(frame, path):
    path.write_text(frame.to_csv(index=False))


def write_semicolons(frame, path):
    # As spreadsheets write it: with a byte order mark, and with carriage returns.
    frame.to_csv(path, index=False, sep=";", encoding="utf-8-sig", lineterminator="\r\n")


def write_tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")


def write_gzip(frame, path):
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


def write_packed_parquet(frame, path):
    path.write_bytes(gzip.compress(frame.to_parquet(index=False)))


def write_parquet(frame, path):
    # Small row groups and a dictionary: values come in pieces and not in order.
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table, path, row_group_size=40)


def write_arrow(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)


def write_stream(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)


def write_feather(frame, path):
    feather.write_feather(frame, path, compression="lz4")


def write_polars(frame, path):
    text = [name for name in ("label", "week") if name in frame]
    pl.DataFrame(frame.to_dict("list")).with_columns(pl.col(text).cast(pl.Categorical)).write_ipc(
        path
    )


def write_columns(frame, path):
    arrays = {name: frame[name].to_numpy() for name in CLASSES}
    text = {n: frame[n].to_numpy(dtype=str) for n in ("label", "week") if n in frame}
    np.savez(path, **arrays, **text)


def write_matrix(frame, path):
    arrays = {"X": frame[CLASSES[::-1]].to_numpy(), "classes": CLASSES[::-1]}
    if "label" in frame:
        arrays["label"] = frame["label"].to_numpy(dtype=str)
    else:
        arrays["week"] = frame["week"].to_numpy(dtype=str)
    np.savez_compressed(path, **arrays)


WRITERS = {
    "data.csv": write_csv,
    "semicolons.csv": write_semicolons,
    "data.tsv": write_tsv,
    "data.csv.gz": write_gzip,
    "data.parquet": write_parquet,
    "packed.parquet.gz": write_packed_parquet,
    # Text, whatever the name says.
    "text.gz": write_csv_text,
    "data.arrow": write_arrow,
    "data.arrows": write_stream,
    "data.feather": write_feather,
    "polars.arrow": write_polars,
    "columns.npz": write_columns,
    "matrix.npz": write_matrix,
}
# Reference and target of real processes, which take long to start; + is through stdin.
PROCESSES = (
    ("+data.parquet", "data.csv"),
    ("matrix.npz", "+data.tsv"),
    ("data.csv", "data.feather"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("formats")
    for side, frame in (("reference", reference_frame()), ("target", target_frame())):
        for name, write in WRITERS.items():
            write(frame, path / f"{side}-{name}")
    return path


def started(folder, pair):
    data, arguments = DEVNULL, []
    for side, name in zip(("reference", "target"), pair, strict=True):
        path = folder / f"{side}-{name.removeprefix('+')}"
        arguments.append("-" if name.startswith("+") else path)
        if name.startswith("+"):
            data = path.open("rb")
    with nullcontext() if data == DEVNULL else data:
        return start("estimate", *arguments, *OPTIONS, stdin=data)


@pytest.fixture(scope="module")
def children(folder):
    """All processes at once: they mostly import."""
    running = {pair: started(folder, pair) for pair in PROCESSES}
    return {pair: finished(child) for pair, child in running.items()}


@pytest.fixture(scope="module")
def expected():
    """The mean posteriors of each week, which is what PCC answers."""
    return target_frame().groupby("week", sort=False)[CLASSES.tolist()].mean().to_numpy()


def shares(groups):
    return [[each["share"] for each in group["classes"]] for group in groups]


@pytest.mark.parametrize("pair", PROCESSES, ids=" ".join)
def test_the_command_reads_each_format(children, expected, pair):
    done = children[pair]
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(shares(done.json["groups"]), expected, rtol=1e-12)
    for side, name in zip(("reference", "target"), pair, strict=True):
        assert done.json[side]["name"] == ("stdin" if name[0] == "+" else f"{side}-{name}")


@pytest.mark.parametrize("name", WRITERS)
def test_it_does_not_matter_how_a_format_is_written(folder, expected, capsys, name):
    files = [folder / f"{side}-{name}" for side in ("reference", "target")]
    done = run(capsys, "estimate", *files, *OPTIONS)
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(shares(done.json["groups"]), expected, rtol=1e-12)


def test_stdin_can_only_be_one_of_the_files(capsys):
    sentence = fails(capsys, "estimate", "-", "-", "--label", "label")
    assert sentence == "REFERENCE and TARGET are both -, but stdin can be only one of them."


def test_a_wrong_extension_does_not_matter(folder, expected, tmp_path, capsys):
    for side in ("reference", "target"):
        (tmp_path / f"{side}.csv").write_bytes((folder / f"{side}-data.parquet").read_bytes())
    done = run(capsys, "estimate", tmp_path / "reference.csv", tmp_path / "target.csv", *OPTIONS)
    np.testing.assert_allclose(shares(done.json["groups"]), expected, rtol=1e-12)


def test_an_array_without_names_has_the_order_of_the_labels(tmp_path, capsys):
    reference, target = reference_frame(), target_frame()
    labels = reference["label"].to_numpy(dtype=str)
    np.savez(tmp_path / "reference.npz", X=reference[CLASSES].to_numpy(), y=labels)
    np.savez(tmp_path / "target.npz", X=target[CLASSES].to_numpy())
    options = ["--method", "pcc", "--format", "json"]
    done = run(capsys, "estimate", tmp_path / "reference.npz", tmp_path / "target.npz", *options)
    same = run(capsys, "estimate", *written(tmp_path), "--label", "label", *options)
    assert done.json["groups"] == same.json["groups"]


def test_only_needed_columns_are_read(tmp_path, capsys):
    # Text that is not UTF-8 in a column that nobody asked for.
    reference, target = written(tmp_path)
    lines = (tmp_path / "target.csv").read_bytes().splitlines()
    with (tmp_path / "target.csv").open("wb") as file:
        for number, line in enumerate(lines):
            file.write(line + (b",note\n" if number == 0 else b",caf\xe9\n"))
    done = run(capsys, "estimate", reference, target, *OPTIONS)
    assert done.code == 0
    assert done.err == "Note: not used in target.csv: 'note'.\n"


def test_rows_beyond_the_first_block_are_read(tmp_path, capsys):
    # More than one block of text and one batch of rows, and a value over two lines.
    small = target_frame(300)
    target = small.loc[np.tile(np.arange(300), 300)].assign(note='two\n"lines"')
    reference, large = written(tmp_path, target=target)
    assert (tmp_path / "target.csv").stat().st_size > 4 << 20
    command = ["estimate", reference, large, *OPTIONS]
    done = run(capsys, *command)
    small.to_csv(large, index=False)
    few = run(capsys, *command)
    assert done.json["target"]["n_items"] == 90_000
    for many, one in zip(done.json["groups"], few.json["groups"], strict=True):
        assert many["n_items"] == 300 * one["n_items"]
    np.testing.assert_allclose(*(shares(each.json["groups"]) for each in (done, few)), rtol=1e-9)
