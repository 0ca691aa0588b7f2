"""Arrow columns are read as what they mean, or refused by their type and the role they have."""

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from cli_support import CLASSES, fails, reference_frame, run, target_frame

OPTIONS = ("--label", "label", "--method", "pcc", "--format", "json")
N_REFERENCES, N_TARGETS = 120, 150


def write(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.fixture
def estimate(tmp_path, capsys):
    """Return a function that estimates with some columns replaced, or fails with a sentence."""

    def estimated(*options, label=None, replaced=None, to_fail=False):
        frames = [reference_frame(N_REFERENCES), target_frame(N_TARGETS)]
        tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in frames]
        if label is not None:
            place = tables[0].column_names.index("label")
            tables[0] = tables[0].set_column(place, "label", label)
        for name, column in (replaced or {}).items():
            place = tables[1].column_names.index(name)
            tables[1] = tables[1].set_column(place, name, column)
        names = ("reference.arrow", "target.arrow")
        paths = [write(table, tmp_path / n) for table, n in zip(tables, names, strict=True)]
        call = fails if to_fail else run
        return call(capsys, "estimate", *paths, *OPTIONS, *options)

    return estimated


def labels(kind):
    return pa.array(reference_frame(N_REFERENCES)["label"].tolist(), kind)


@pytest.mark.parametrize(
    "column",
    [
        labels(pa.string_view()),
        labels(pa.large_string()).dictionary_encode(),
        pa.ExtensionArray.from_storage(pa.json_(), labels(pa.string())),
        pa.DictionaryArray.from_arrays(
            pa.array([1 + CLASSES.tolist().index(name) for name in reference_frame()["label"]]),
            pa.array([None, *CLASSES.tolist()]),
        ),
    ],
    ids=lambda column: str(column.type),
)
def test_text_is_text_however_it_is_written(estimate, column):
    done = estimate(label=column)
    expected = target_frame(N_TARGETS)[CLASSES].mean()
    (group,) = done.json["groups"]
    found = {each["class"]: each["share"] for each in group["classes"]}
    assert found == pytest.approx(expected.to_dict(), rel=1e-12)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            pa.array([["egg"]] * N_REFERENCES),
            "Column 'label' of reference.arrow is of type list<item: string>; labels must be text, "
            "whole numbers or truth values. Write them as text.",
        ),
        (
            pa.array([{"name": "egg"}] * N_REFERENCES),
            "Column 'label' of reference.arrow is of type struct<name: string>; labels must be",
        ),
        (
            pa.array([b"egg"] * N_REFERENCES),
            "Column 'label' of reference.arrow is of type binary; labels must be",
        ),
        (
            pa.array([date(2024, 5, 1)] * N_REFERENCES),
            "Column 'label' of reference.arrow holds dates; labels must be",
        ),
        (
            pa.array(["egg", "egg\0"] * (N_REFERENCES // 2)),
            r"The label 'egg\x00' in column 'label' of reference.arrow ends with a zero byte",
        ),
        (
            pa.Array.from_buffers(
                pa.string(), N_REFERENCES, pa.array([b"\xff"] * N_REFERENCES).buffers()
            ),
            "reference.arrow is not a complete Arrow file (Invalid UTF8",
        ),
    ],
)
def test_labels_of_another_type_are_refused(estimate, column, sentence):
    assert estimate(label=column, to_fail=True).startswith(sentence)


def test_identifiers_are_labels(estimate):
    # A UUID of each class: 16 bytes, but read and written as text.
    codes = [CLASSES.tolist().index(name) for name in reference_frame()["label"]]
    column = pa.array([bytes([0] * 15 + [code]) for code in codes], pa.uuid())
    sentence = estimate(label=column, to_fail=True)
    assert "no column '00000000-0000-0000-0000-000000000000'" in sentence


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pa.array([[1]] * N_TARGETS), "Column 'week' of target.arrow is of type list<item: int64>"),
        (
            pa.array([2**31 - 1] * N_TARGETS, pa.date32()),
            "Row 1 of target.arrow has no date of a year from 1 to 9999",
        ),
        (
            pa.array([0] * N_TARGETS, pa.timestamp("s", "Mars/Olympus")),
            "Column 'week' of target.arrow has times of the unknown time zone 'Mars/Olympus'",
        ),
    ],
)
def test_groups_that_cannot_be_named_are_refused(estimate, column, sentence):
    assert estimate("--by", "week", replaced={"week": column}, to_fail=True).startswith(sentence)


def test_groups_a_nanosecond_apart_have_names_of_their_own(estimate):
    midnight = np.datetime64("2024-01-01", "ns").astype(np.int64)
    column = pa.array(midnight + np.arange(N_TARGETS) % 3, pa.timestamp("ns"))
    done = estimate("--by", "week", replaced={"week": column})
    assert [group["group"] for group in done.json["groups"]] == [
        "2024-01-01",
        "2024-01-01 00:00:00.000000001",
        "2024-01-01 00:00:00.000000002",
    ]


def test_posteriors_of_any_kind_of_number(estimate):
    ones = pa.array([Decimal(1)] * N_TARGETS, pa.decimal128(5, 2)).cast(pa.decimal32(5, 2))
    runs = pa.RunEndEncodedArray.from_arrays([N_TARGETS], pa.array([0.0]))
    halves = pa.array(np.zeros(N_TARGETS, np.float16))
    done = estimate(replaced={"egg": ones, "ham": runs, "spam": halves})
    (group,) = done.json["groups"]
    assert [each["share"] for each in group["classes"]] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            pa.array([2**53 + 1] * N_TARGETS),
            "Row 1 of target.arrow has 9007199254740993 in column 'egg'; whole numbers beyond",
        ),
        (
            pa.array([[0.5]] * N_TARGETS),
            "Column 'egg' of target.arrow is of type list<item: double>; expected numbers.",
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([7] * N_TARGETS), pa.array([0.5]), safe=False),
            "target.arrow is not a complete Arrow file",
        ),
    ],
)
def test_posteriors_that_are_no_numbers_are_refused(estimate, column, sentence):
    assert estimate(replaced={"egg": column}, to_fail=True).startswith(sentence)
