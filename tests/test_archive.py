"""Files with a right checksum that somebody else has made."""

import json
import os
import struct
import zipfile

import numpy as np
import pytest

from archive_support import MARK, npy, seal, sealed, zipped
from truemix._archive import ArchiveKind, is_archive, read_archive, write_archive
from truemix._strict_json import read_json
from truemix.exceptions import InputError

KIND = ArchiveKind("note", "write_archive")
HEADER = {"kind": "truemix note", "format": 2, "version": "0"}
FIRST = ("truemix.npy", npy(np.frombuffer(json.dumps(HEADER).encode(), dtype=np.uint8)))


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_archive(path, KIND)
    return str(error.value)


def test_other_tools_make_files_that_are_read(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(sealed({**HEADER, "of": "today"}, {"numbers": np.arange(3.0)}))
    header, arrays = read_archive(path, KIND)
    assert header["of"] == "today"
    np.testing.assert_array_equal(arrays["numbers"], np.arange(3.0))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("a.npy", "or holds it twice"), ("../b.npy", "it holds '../b.npy'"), ("b.txt", "'b.txt'")],
)
def test_members_have_other_names_each(tmp_path, name, sentence):
    with pytest.warns() if name == "a.npy" else open(os.devnull):  # noqa: PTH123
        content = zipped([FIRST, ("a.npy", npy(np.zeros(2))), (name, npy(np.ones(2)))])
    assert sentence in refused(tmp_path / "note", content)


def test_nothing_is_unpacked(tmp_path):
    bomb = zipped([FIRST, ("a.npy", npy(np.zeros(1 << 24)))], zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 18
    assert "its arrays are larger than the file" in refused(tmp_path / "note", bomb)
    small = zipped([FIRST, ("a.npy", npy(np.arange(9.0)))], zipfile.ZIP_DEFLATED)
    assert "its arrays are compressed" in refused(tmp_path / "note", small)


def test_the_same_bytes_count_for_each_name(tmp_path):
    content = zipped([FIRST, ("a.npy", npy(np.zeros(1000))), ("b.npy", npy(np.zeros(1000)))])
    start = content.index(b"PK\x03\x04", 100)
    # The directory's entry of b leads to the bytes of a, whose name is changed to fit.
    last = content.rindex(b"PK\x01\x02")
    twice = bytearray(content)
    twice[last + 42 : last + 46] = struct.pack("<L", start)
    assert refused(tmp_path / "note", seal(bytes(twice)))


def test_a_directory_of_many_names_is_not_read(tmp_path):
    members = [(f"a{number}.npy", b"") for number in range(1100)]
    assert "it holds too many arrays" in refused(tmp_path / "note", zipped([FIRST, *members]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<f8", b"|O8"),
        (b"<f8", b"<c8"),
        (b"<f8", b">f8"),
        (b"False", b"True "),
        (b"(2, 3)", b"(2,03)"),
        (b"(2, 3)", b"(2, 2)"),
        (b"(2, 3)", b"(-2,3)"),
        (b"{'descr'", b"{'order'"),
        (b"NUMPY\x01", b"NUMPY\x02"),
        (b"\x93NUMPY\x01\x00v", b"\x93NUMPY\x01\x00u"),
    ],
)
def test_arrays_begin_as_numpy_writes_them(tmp_path, old, new):
    array = npy(np.ones((2, 3)))
    assert array.count(old) == 1
    content = zipped([FIRST, ("a.npy", array.replace(old, new))])
    assert "(a is " in refused(tmp_path / "note", content)


def test_elements_are_what_their_type_allows(tmp_path):
    flags = npy(np.array([True]))[:-1] + b"\x02"
    assert "neither true nor false" in refused(tmp_path / "n", zipped([FIRST, ("a.npy", flags)]))
    for point in (0xD800, 0x110000):
        text = npy(np.array(["x"]))[:-4] + struct.pack("<L", point)
        assert "no Unicode" in refused(tmp_path / "n", zipped([FIRST, ("a.npy", text)]))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 900 + b"]" * 900,
        b"[" * 100_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b"[" * 33 + b"]" * 33,
        b"Infinity",
        b"[-Infinity, NaN]",
        b"1" + b"0" * 400,
        b"1e400",
        b"0." + b"1" * 100,
        b'{"a": 1, "a": 1}',
        b'"\\ud800"',
        b"\xff",
        b"",
        b"{",
        b'"' + b"x" * (9 << 20) + b'"',
    ],
    ids=lambda text: text[:12].decode("latin1"),
)
def test_json_that_we_do_not_write_is_not_read(tmp_path, text):
    with pytest.raises(ValueError, match="its JSON"):
        read_json(text)
    assert "JSON" in refused(tmp_path / "note", sealed(text, {}))


def test_json_is_read_up_to_its_limits():
    deepest = b"[" * 32 + b"]" * 32
    assert json.dumps(read_json(deepest)).encode() == deepest
    assert read_json(b"-" + b"9" * 39) == 1 - 10**39


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    for header, arrays in (
        ({"a": 10**50}, {}),
        ({"a": "\ud800"}, {}),
        ({"a": float("nan")}, {}),
        ({}, {"a": np.array([{}], dtype=object)}),
        ({}, {"a": np.array(["\ud800"])}),
    ):
        with pytest.raises(InputError, match="This note cannot be saved"):
            write_archive(tmp_path / "note", KIND, header, arrays)
    assert not list(tmp_path.iterdir())


def test_what_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file"):
        read_archive(tmp_path / "pipe", KIND)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match=r"loop.* is damaged"):
        read_archive(tmp_path / "loop", KIND)
    with pytest.raises(InputError, match="is damaged"):
        read_archive("no\0name", KIND)


def test_files_are_recognised_by_how_they_begin(tmp_path):
    path = tmp_path / "note"
    write_archive(path, KIND, {}, {"a": np.arange(3)})
    assert is_archive(path)
    path.write_bytes(path.read_bytes()[:-100])
    assert is_archive(path)
    path.write_bytes(zipped([("a.npy", npy(np.zeros(2)))]))
    assert not is_archive(path)
    assert not is_archive(tmp_path / "nothing")


def test_the_checksum_is_the_end_of_the_file(tmp_path):
    write_archive(tmp_path / "note", KIND, {}, {"a": np.arange(3)})
    content = (tmp_path / "note").read_bytes()
    assert seal(content) == content
    assert content[-len(MARK) - 64 :].startswith(MARK)
    # What zip takes for a comment.
    with zipfile.ZipFile(tmp_path / "note") as archive:
        assert archive.comment == content[-len(MARK) - 64 :]


@pytest.mark.parametrize("n_zeros", [0, 1, 9, 10, 11, 20, 127, 128, 129, 1000])
def test_arrays_that_end_with_zeros_are_kept_whole(tmp_path, n_zeros):
    # The place of the checksum is zeros too until it is known.
    arrays = {
        "zeros": np.r_[1, np.zeros(n_zeros, np.int64)],
        "more": np.zeros(n_zeros, np.uint8),
        "last": np.zeros(n_zeros),
    }
    write_archive(tmp_path / "note", KIND, {}, arrays)
    _, found = read_archive(tmp_path / "note", KIND)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
