"""JSON Lines in place of CSV: the same answers, and errors that name the line."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cli_support import CLASSES, FAST, fails, reference_frame, run, target_frame, written
from truemix.cli.tables import json_lines, open_table
from truemix.cli.tables.source import Source
from truemix.cli.tables.table import FEATURE, KEPT, LABEL, POSTERIOR

LABEL_OPTION = ("--label", "label")
LINES = ('{"egg": 1, "ham": 0, "spam": 0}', '{"egg": 0.5, "ham": 0.25, "spam": 0.25}')


def table_of(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_table(Source(path.name, path))


def column(table, name, role):
    return pa.concat_arrays([batch.column(name) for _, batch in table.batches({name: role})])


@pytest.fixture
def files(tmp_path):
    names = []
    for name, frame in {"reference": reference_frame(), "target": target_frame()}.items():
        names.append(str(tmp_path / f"{name}.jsonl"))
        frame.to_json(names[-1], orient="records", lines=True, double_precision=15)
    return names


def test_json_lines_give_the_answer_of_csv(capsys, files, tmp_path):
    options = (*LABEL_OPTION, *FAST, "--by", "week", "--format", "json", "--no-check")
    expected = run(capsys, "estimate", *written(tmp_path), *options).json
    found = run(capsys, "estimate", *files, *options).json
    assert [each["group"] for each in found["groups"]] == [
        each["group"] for each in expected["groups"]
    ]
    for group, other in zip(found["groups"], expected["groups"], strict=True):
        shares = [[each["share"] for each in one["classes"]] for one in (group, other)]
        # Fifteen decimals are written.
        np.testing.assert_allclose(*shares, atol=1e-9)


def test_compressed_json_lines_and_stdin_are_known_by_what_is_in_them(capsys, files, tmp_path):
    packed = tmp_path / "target.data"
    packed.write_bytes(gzip.compress(Path(files[1]).read_bytes()))
    options = (*LABEL_OPTION, "--method", "pcc", "--format", "json")
    expected = run(capsys, "estimate", *files, *options).json["groups"][0]["classes"]
    assert run(capsys, "estimate", files[0], packed, *options).json["groups"][0]["classes"] == (
        expected
    )


def test_folders_hold_json_lines_too(capsys, files, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    lines = Path(files[1]).read_text().splitlines(keepends=True)
    (folder / "a.jsonl").write_text("".join(lines[:70]))
    (folder / "b.ndjson").write_text("".join(lines[70:]))
    options = (*LABEL_OPTION, "--method", "pcc", "--format", "json")
    whole = run(capsys, "estimate", *files, *options).json["groups"]
    assert run(capsys, "estimate", files[0], folder, *options).json["groups"] == whole


def test_values_inside_of_objects_are_columns(capsys, tmp_path):
    names = [str(tmp_path / "reference.jsonl"), str(tmp_path / "target.jsonl")]
    frames = reference_frame(), target_frame()
    for name, frame in zip(names, frames, strict=True):
        lines = []
        for record in frame.to_dict("records"):
            probs = {each: record.pop(each) for each in CLASSES}
            lines.append(json.dumps({"answer": {"probs": probs}, **record}))
        Path(name).write_text("\n".join(lines))
    options = ("--method", "pcc", *LABEL_OPTION)
    done = run(capsys, "estimate", *names, *options)
    assert "its columns 'answer.probs.{}'" in done.err
    expected = run(capsys, "estimate", *written(tmp_path), *options)
    assert done.out == expected.out


def test_what_a_column_holds_is_kept(tmp_path):
    text = '{"n": 1, "x": 2, "t": true, "s": "a"}\n\n{"n": 2, "x": 2.5, "s": "b\\n"}\n{"n": 3}'
    table = table_of(tmp_path / "t.jsonl", text)
    assert table.columns == ["n", "x", "t", "s"]
    assert column(table, "n", LABEL).to_pylist() == [1, 2, 3]
    assert column(table, "n", POSTERIOR).type == pa.float64()
    assert column(table, "x", KEPT).to_pylist() == [2.0, 2.5, None]
    assert column(table, "t", FEATURE).to_pylist() == [True, None, None]
    assert column(table, "s", KEPT).to_pylist() == ["a", "b\n", None]


def test_blocks_are_read_one_by_one_and_lines_counted_over_them(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", 100)
    lines = [json.dumps({"x": number}) for number in range(1000)]
    table = table_of(tmp_path / "t.jsonl", "\n".join(lines))
    batches = list(table.batches({"x": POSTERIOR}))
    assert max(batch.num_rows for _, batch in batches) < 20
    assert [start for start, _ in batches[:2]] == [0, batches[0][1].num_rows]
    assert column(table, "x", POSTERIOR).to_pylist() == list(range(1000))
    lines[700] = '{"x": "many"}'
    table = table_of(tmp_path / "t.jsonl", "\n".join(lines))
    with pytest.raises(ValueError, match=r"^Line 701 of t.jsonl has 'many' in column 'x'; expec"):
        list(table.batches({"x": POSTERIOR}))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            (*LINES, '{"egg": "much", "ham": 0, "spam": 0}'),
            "Line 3 of wrong.jsonl has 'much' in column 'egg'; expected a number.",
        ),
        (
            (*LINES, "", '{"egg": 1, "ham": 0}'),
            "Line 4 of wrong.jsonl has no value in column 'spam'; expected a number. Fill it in or "
            "remove such rows.",
        ),
        (
            (*LINES, '{"egg": 0.25, "ham": 0.26, "spam": 0}'),
            "Line 3 of wrong.jsonl sums to 0.51 over the columns 'egg', 'ham', 'spam'. Posteriors "
            "must be at least 0 and sum to 1 in each row (within 0.001).",
        ),
        (
            (*LINES, '{"egg": NaN, "ham": 0, "spam": 1}'),
            "Line 3 of wrong.jsonl has no value in column 'egg'; expected a number. Fill it in or "
            "remove such rows.",
        ),
        (
            (*LINES, '{"egg": 1, "ham": 0'),
            "Line 3 of wrong.jsonl is no JSON (Expecting ',' delimiter); expected one whole object "
            "per line.",
        ),
        (
            ("{", '"egg": 1', "}"),
            "Line 1 of wrong.jsonl is no JSON (Expecting property name enclosed in double quotes); "
            "expected one whole object per line.",
        ),
        (
            (*LINES, "[1, 2]"),
            "Line 3 of wrong.jsonl holds [1, 2]; expected an object with a value for each column.",
        ),
        (
            ('[{"egg": 1, "ham": 0, "spam": 0}]',),
            "wrong.jsonl is a JSON array; write JSON Lines, one object per line, as jq -c '.[]' "
            "does.",
        ),
        (("{}",), "wrong.jsonl has no keys in its objects; expected one per column."),
        (
            ('{"egg": [1], "ham": 0, "spam": 0}',),
            "Column 'egg' of wrong.jsonl is of type list<item: null>; expected numbers. Write it "
            "as numbers.",
        ),
        (
            ('{"a.b": 1, "a": {"b": 2}}',),
            "wrong.jsonl has more than one column named 'a.b'; expected each name once. Rename or "
            "drop columns.",
        ),
        (
            (*LINES, f'{{"egg": {"[" * 100_000}}}'),
            "Line 3 of wrong.jsonl is no JSON (it is nested too deeply); expected one whole object "
            "per line.",
        ),
    ],
)
def test_errors_name_the_line(capsys, tmp_path, text, sentence):
    reference, _ = written(tmp_path)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("\n".join(text))
    options = (*LABEL_OPTION, "--method", "pcc")
    assert fails(capsys, "estimate", reference, wrong, *options) == sentence


def test_text_in_another_encoding_is_refused(capsys, tmp_path):
    reference, _ = written(tmp_path)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_bytes('{"week": "é"}\n'.encode("latin-1"))
    sentence = fails(capsys, "estimate", reference, wrong, *LABEL_OPTION, "--method", "pcc")
    assert sentence == "Line 1 of wrong.jsonl is not text in UTF-8; save the file in UTF-8."


def test_a_classifier_learns_from_json_lines(capsys, files, tmp_path):
    options = (*LABEL_OPTION, "--classifier", "logistic", "--method", "cc", "--format", "json")
    expected = run(capsys, "estimate", *written(tmp_path), *options).json
    found = run(capsys, "estimate", *files, *options).json
    assert found["settings"]["features"] == expected["settings"]["features"]
    assert found["groups"][0]["classes"] == expected["groups"][0]["classes"]
