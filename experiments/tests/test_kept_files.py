"""Files are written whole or not at all, and what is in them is read as it was written."""

import numpy as np
import pytest

from truemix import InputError
from truemix_experiments import kept_arrays
from truemix_experiments.files import atomic_write, read_json


def test_an_error_while_writing_keeps_what_was_there(tmp_path):
    path = tmp_path / "note"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"half of it")
        raise ZeroDivisionError
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_and_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    for text in (b"one", b"two"):
        with atomic_write(tmp_path / "note") as file:
            file.write(text)
        assert (tmp_path / "note").read_bytes() == text
    assert (tmp_path / "note").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("name", ["missing/note", "file/note", "folder"])
def test_what_cannot_be_written_is_one_sentence(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    sentence = r"^Cannot write '.*' \(.+\); expected a folder"
    with pytest.raises(InputError, match=sentence), atomic_write(tmp_path / name) as file:
        file.write(b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{]",
        b"\xff",
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b'{"a": 1, "a": 1}',
        b'"\\ud800"',
        b"9" * 5000,
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_json_that_is_ambiguous_or_without_end_is_refused(text):
    with pytest.raises(ValueError, match="its JSON cannot be read"):
        read_json(text)


def test_every_flipped_bit_of_kept_arrays_is_noticed(tmp_path):
    path = tmp_path / "kept.npz"
    kept_arrays.write(path, {"x": np.arange(3.0)})
    np.testing.assert_array_equal(kept_arrays.read(path, ("x",))["x"], np.arange(3.0))
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x02]) + whole[at + 1 :])
        with pytest.raises(InputError, match="is damaged"):
            kept_arrays.read(path, ("x",))
