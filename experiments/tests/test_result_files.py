import hashlib
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from results_support import run, write_runs
from truemix import InputError
from truemix_experiments.results import (
    RunKey,
    is_done,
    read_results,
    result_path,
    write_result,
)

POINT, BAYES = RunKey("yeast", "CC"), RunKey("yeast", "Bayes-ACC", 0.1)


def test_what_is_written_is_read_again(tmp_path):
    point, bayes = run("yeast", "CC"), run("yeast", "Bayes-ACC", 0.1)
    path = write_result(tmp_path, point)
    assert path == tmp_path / "yeast" / "CC-alpha1.parquet"
    write_result(tmp_path, bayes)
    results = read_results(tmp_path, mixes=True)
    for result in (point, bayes):
        bags = results.bags[results.bags["method"] == result.key.method]
        assert set(bags["dataset"]) == {"yeast"}
        assert set(bags["modality"]) == {"tabular"}
        assert set(bags["alpha"]) == {result.key.alpha}
        for name in result.rows.columns.difference(["truth", "prevalence"]):
            np.testing.assert_array_equal(bags[name].astype(float), result.rows[name].astype(float))
        np.testing.assert_array_equal(np.stack(bags["truth"]), np.stack(result.rows["truth"]))
    no_intervals = results.bags.loc[results.bags["method"] == "CC", ["hard", "winkler"]]
    assert no_intervals.isna().all(axis=None)


def test_metadata_are_read_again(tmp_path):
    result = run("yeast", "CC")
    write_result(tmp_path, result)
    row = read_results(tmp_path).runs.iloc[0]
    assert (row["dataset"], row["method"], row["alpha"]) == ("yeast", "CC", 1.0)
    assert row["settings"] == result.about["settings"]
    assert row["seed"] == 0
    np.testing.assert_array_equal(row["train_prevalence"], result.about["train_prevalence"])


def test_mixes_are_left_out_unless_asked_for(tmp_path):
    write_result(tmp_path, run("yeast", "CC"))
    assert "truth" not in read_results(tmp_path).bags
    assert "truth" in read_results(tmp_path, mixes=True).bags


def test_the_schema_is_the_same_for_all_files(tmp_path):
    schema = pq.read_schema(write_result(tmp_path, run("yeast", "Bayes-ACC")))
    assert schema.field("bag").type == pa.int64()
    assert schema.field("truth").type == pa.list_(pa.float64())
    assert schema.field("hard").type == pa.bool_()
    rest = ("ae", "w", "shift", "soft", "amplitude", "winkler", "width")
    assert all(schema.field(name).type == pa.float64() for name in rest)
    assert json.loads(schema.metadata[b"truemix"])["n_classes"] == 3


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "x y|z", "λ", "C:\\x", "Bayes(λ)+-cal"])
def test_any_name_gives_a_file_in_the_folder(tmp_path, name):
    key = RunKey(name, name)
    write_result(tmp_path, replace(run("yeast", "CC"), key=key))
    path = result_path(tmp_path, key)
    assert path.parent.parent == tmp_path
    assert path.is_file()
    assert is_done(tmp_path, key)
    assert read_results(tmp_path).runs["method"].tolist() == [name]


def test_other_names_and_alphas_give_other_files():
    names = ["Bayes-KDEy(Ait-lambda)", "Bayes-KDEy(Ait-lambda)+", "Bayes-KDEy-Ait-lambda", "a/b"]
    keys = [RunKey("d", name, alpha) for name in [*names, "a%2Fb"] for alpha in (0.1, 1, 10.0)]
    assert len({result_path("r", key) for key in keys}) == len(keys)


def test_a_crash_while_writing_leaves_no_file(tmp_path, monkeypatch):
    def crash(table, file, **_):
        file.write(b"PAR1 half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", crash)
    with pytest.raises(KeyboardInterrupt):
        write_result(tmp_path, run("yeast", "CC"))
    assert list((tmp_path / "yeast").iterdir()) == []
    assert not is_done(tmp_path, POINT)


def test_a_crash_keeps_the_earlier_result(tmp_path, monkeypatch):
    before = write_result(tmp_path, run("yeast", "CC")).read_bytes()
    monkeypatch.setattr(pq, "write_table", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_result(tmp_path, run("yeast", "CC", n_bags=3))
    assert result_path(tmp_path, POINT).read_bytes() == before


def test_runs_are_done_when_their_file_can_be_read(tmp_path):
    assert not is_done(tmp_path, POINT)
    path = write_result(tmp_path, run("yeast", "CC"))
    assert is_done(tmp_path, POINT)
    assert not is_done(tmp_path, BAYES)
    path.write_bytes(path.read_bytes()[:-100])
    assert not is_done(tmp_path, POINT)


def test_files_that_are_being_written_are_not_read(tmp_path):
    path = write_result(tmp_path, run("yeast", "CC"))
    path.with_name(".CC-alpha1.parquet.xyz.parquet").write_bytes(b"half")
    assert len(read_results(tmp_path).runs) == 1


def message(call, *args):
    with pytest.raises(InputError) as caught:
        call(*args)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"text"])
def test_a_damaged_file_is_named(tmp_path, damage):
    path = write_result(tmp_path, run("yeast", "CC"))
    path.write_bytes(damage(path.read_bytes()))
    text = message(read_results, tmp_path)
    assert str(path) in text
    assert "delete the file" in text


def test_damage_inside_the_columns_is_found(tmp_path):
    path = write_result(tmp_path, run("yeast", "CC"))
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    assert str(path) in message(read_results, tmp_path)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, "no result of a benchmark"),
        ({b"truemix": b"[]"}, "cannot be read as a result"),
        ({b"truemix": b"{]"}, "its JSON cannot be read"),
        ({b"truemix": b'{"format": 3}'}, "cannot be read as a result"),
        ({b"truemix": b'{"format": 3, "n_classes": 1e300}'}, "1 bags of 1e+300 classes"),
        ({b"truemix": b'{"format": 3, "n_classes": 2}'}, "lacks the columns"),
    ],
)
def test_a_foreign_file_is_named(tmp_path, metadata, expected):
    path = tmp_path / "other.parquet"
    write_sealed(pa.table({"ae": [0.1]}), metadata, path)
    text = message(read_results, tmp_path)
    assert str(path) in text
    assert expected in text


def test_a_file_without_a_checksum_is_named(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"ae": [0.1]}), path)
    text = message(read_results, tmp_path)
    assert str(path) in text
    assert "it has no checksum" in text


@pytest.mark.parametrize("number", [1, 99])
def test_a_file_of_another_version_is_named(tmp_path, number):
    about = json.dumps({"format": number, "dataset": "d", "method": "m", "alpha": 1.0}).encode()
    write_sealed(pa.table({"ae": [0.1]}), {b"truemix": about}, tmp_path / "x.parquet")
    text = message(read_results, tmp_path)
    assert f"has format {number}, this truemix reads format 3; delete the file and run" in text


def resealed(path, about=None, **columns):
    """Change a result file and give it the checksum that belongs to it."""
    table = pq.read_table(path)
    known = json.loads(table.schema.metadata[b"truemix"]) | (about or {})
    for name, values in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, table.field(name), pa.array(values, table.field(name).type))
    write_sealed(table, {b"truemix": json.dumps(known).encode()}, path)


def write_sealed(table, metadata, path):
    zeros = b"truemix sha256 " + 64 * b"0"
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({**metadata, b"x": zeros}), file)
    content = file.getvalue()
    assert content.count(zeros) == 1
    seal = zeros[:15] + hashlib.sha256(content).hexdigest().encode()
    path.write_bytes(content.replace(zeros, seal))


def test_a_checksum_of_the_right_contents_is_right(tmp_path):
    path = write_result(tmp_path, run("yeast", "Bayes-ACC"))
    before = read_results(tmp_path, mixes=True).bags
    resealed(path)
    pd.testing.assert_frame_equal(read_results(tmp_path, mixes=True).bags, before)


@pytest.mark.parametrize(
    ("about", "columns", "expected"),
    [
        ({}, {"ae": 1e305}, "has ae that is not that of the mixes"),
        ({}, {"w": 0.0}, "has w that is not that of the mixes"),
        ({}, {"shift": 3.0}, "has shift that is not that of the mixes"),
        ({}, {"soft": 1.01}, "has soft outside of 0 to 1"),
        ({}, {"amplitude": -1.0}, "has amplitude outside of 0 to 100"),
        ({}, {"width": 1.5}, "has width outside of 0 to 1"),
        ({}, {"winkler": 0.0}, "has winkler below width"),
        ({}, {"winkler": np.nan}, "has winkler that is no number"),
        ({}, {"prevalence": [0.5, 0.5, 0.5]}, "has prevalence that are no shares"),
        ({}, {"truth": [1.5, -0.5, 0.0]}, "has truth that are no shares"),
        ({"n_classes": 4}, {}, "has a train_prevalence that is no mix of 4 classes"),
        ({"train_prevalence": [0.0, 0.5, 0.5]}, {}, "no mix of 3 classes"),
        ({"seconds": -1}, {}, "has taken less than no time"),
        ({"modality": 3}, {}, "has modality in its metadata that is none"),
        ({"alpha": -1.0}, {}, "expected a positive number"),
    ],
)
def test_edits_that_no_run_gives_are_refused(tmp_path, about, columns, expected):
    path = write_result(tmp_path, run("yeast", "Bayes-ACC", n_bags=5))
    resealed(path, about, **{name: [value] * 5 for name, value in columns.items()})
    text = message(read_results, tmp_path)
    assert str(path) in text
    assert expected in text
    assert not is_done(tmp_path, RunKey("yeast", "Bayes-ACC"))


def test_every_flipped_bit_is_noticed(tmp_path):
    path = write_result(tmp_path, run("yeast", "Bayes-ACC", n_bags=5))
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        assert "checksum" in message(read_results, tmp_path)
        assert not is_done(tmp_path, RunKey("yeast", "Bayes-ACC"))


def test_the_same_run_twice_is_refused(tmp_path):
    path = write_result(tmp_path, run("yeast", "CC"))
    copy = path.with_name("copy.parquet")
    copy.write_bytes(path.read_bytes())
    text = message(read_results, tmp_path)
    assert str(path) in text
    assert str(copy) in text


def test_a_folder_without_results_is_named(tmp_path):
    assert str(tmp_path) in message(read_results, tmp_path)
    assert "truemix bench run" in message(read_results, tmp_path / "missing")


def with_rows(**changes):
    result = run("yeast", "Bayes-ACC")
    return replace(result, rows=result.rows.assign(**changes))


def test_wrong_results_are_refused(tmp_path):
    good = run("yeast", "Bayes-ACC")
    nan = np.full(len(good.rows), np.nan)
    cases = {
        "lacks the columns ['w']": replace(good, rows=good.rows.drop(columns="w")),
        "lacks the columns ['soft']": replace(good, rows=good.rows.drop(columns="soft")),
        "unknown columns ['extra']": with_rows(extra=1.0),
        "has ae that is no number": with_rows(ae=nan),
        "has truth of [2] shares; expected 3": with_rows(truth=[[0.5, 0.5]] * len(good.rows)),
        "the same bag twice": with_rows(bag=0),
        "cannot be stored": with_rows(ae="much"),
        "has no bags": replace(good, rows=good.rows[:0]),
        "lacks ['seed'] in about": replace(
            good, about={k: v for k, v in good.about.items() if k != "seed"}
        ),
        "has ['alpha'] in about": replace(good, about={**good.about, "alpha": 1.0}),
        "metadata that are no JSON": replace(good, about={**good.about, "seconds": np.inf}),
    }
    for part, result in cases.items():
        assert part in message(write_result, tmp_path, result)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", [("", "CC", 1.0), ("d", " ", 1.0), ("d", "CC", 0.0)])
def test_keys_must_name_a_run(key):
    message(RunKey, *key)


def test_many_files_are_one_frame(tmp_path):
    write_runs(tmp_path, ["yeast", "mhr"], ["CC", "Bayes-ACC"], n_bags=5)
    results = read_results(tmp_path)
    assert len(results.runs) == 4
    assert len(results.bags) == 20
    assert pd.api.types.is_float_dtype(results.bags["hard"])
