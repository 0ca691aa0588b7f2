"""Files appear whole or not at all; links, pipes, devices and private files stay what they are."""

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from cli_support import contents
from truemix import InputError
from truemix._files import atomic_write

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs links, pipes and modes of POSIX")

LINUX = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the /proc of Linux")


def written(path, data=b"new"):
    with atomic_write(path) as file:
        file.write(data)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def read_in_background(path):
    """Return a function that waits for all that is written to a pipe."""
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()

    def result():
        reader.join(timeout=30)
        return found[0]

    return result


@POSIX
@pytest.mark.parametrize("target", ["file", "../kept/file", "{folder}/kept/file"])
def test_a_link_stays_and_its_file_is_replaced(tmp_path, target):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"old")
    link = tmp_path / "kept" / "link"
    link.symlink_to(target.format(folder=tmp_path))
    outer = tmp_path / "outer"
    outer.symlink_to("kept/link")
    written(outer)
    assert outer.is_symlink()
    assert link.is_symlink()
    assert not (tmp_path / "kept" / "file").is_symlink()
    assert (tmp_path / "kept" / "file").read_bytes() == b"new"
    assert contents(tmp_path / "kept") == ["file", "link"]


@POSIX
def test_a_link_to_nothing_makes_the_file_it_names(tmp_path):
    (tmp_path / "link").symlink_to("file")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


@POSIX
def test_links_in_a_circle_are_said(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match=r"^Cannot write '.*a' .*symbolic links"):
        written(tmp_path / "a")


def test_a_name_that_no_file_can_have_is_said():
    with pytest.raises(InputError, match=r"^Cannot write 'a\\x00b' "):
        written("a\0b")


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    written(path)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode


@POSIX
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        written(tmp_path / "file")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == mode


@POSIX
def test_nobody_else_can_read_a_private_file_while_it_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_write(path) as file:
        file.write(b"new")
        assert {mode_of(each) for each in tmp_path.iterdir()} == {0o600}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    written(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode_of(path)) == (12345, 23456, 0o640)


@POSIX
def test_other_names_of_a_file_keep_what_they_had(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"old")
    os.link(path, other)
    written(path)
    assert path.read_bytes() == b"new"
    assert other.read_bytes() == b"old"


@POSIX
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o600)
    result = read_in_background(path)
    # More than a pipe holds at once, so that it takes several writes.
    data = os.urandom(1 << 20)
    written(path, data)
    assert result() == data
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert contents(tmp_path) == ["pipe"]


@POSIX
def test_formats_that_go_back_in_their_file_can_go_to_a_pipe(tmp_path):
    # Arrow asks where it is, which a pipe cannot tell.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    result = read_in_background(path)
    table = pa.table({"a": [1, 2]})
    with atomic_write(path) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert pa.ipc.open_file(io.BytesIO(result())).read_all() == table


@POSIX
def test_a_pipe_gets_nothing_if_the_work_fails(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
            file.write(b"half")
            file.flush()
            raise ZeroDivisionError
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def device(path, minor):
    """Make a device of our own: where a test fails, that of the system would be lost."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError:
        pytest.skip("this system lets us make no devices")
    return path


@POSIX
def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    path = device(tmp_path / "null", 3)
    written(path)
    assert stat.S_ISCHR(path.stat().st_mode)
    (tmp_path / "link").symlink_to("null")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(path.stat().st_mode)


@POSIX
def test_a_full_device_is_said(tmp_path):
    path = device(tmp_path / "full", 7)
    with pytest.raises(InputError, match=r"^Cannot write '.*full' \(No space left on device\)\.$"):
        written(path)
    assert stat.S_ISCHR(path.stat().st_mode)


@LINUX
@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "link"])
def test_open_files_of_the_process_go_on_where_they_are(tmp_path, name):
    # What came before in the same file stays, and what comes after is not lost.
    if name == "link":
        # As /dev/stdout is one.
        (tmp_path / name).symlink_to("/proc/self/fd/1")
        name = str(tmp_path / name)
    code = (
        "import os; from truemix._files import atomic_write\n"
        "os.write(1, b'before ')\n"
        f"with atomic_write({name!r}) as file: file.write(b'new ')\n"
        "os.write(1, b'after')"
    )
    path = tmp_path / "file"
    with path.open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)  # noqa: S603
    assert path.read_bytes() == b"before new after"


@LINUX
def test_a_file_that_is_not_open_is_said():
    with pytest.raises(InputError, match=r"^Cannot write '/dev/fd/987' \(Bad file descriptor\)"):
        written("/dev/fd/987")


@pytest.mark.parametrize("exists", [True, False])
def test_work_that_fails_changes_nothing(tmp_path, exists):
    path = tmp_path / "file"
    if exists:
        path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert contents(tmp_path) == ["file"] * exists
    assert not exists or path.read_bytes() == b"old"


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 250)
    written(path)
    assert path.read_bytes() == b"new"


def test_a_file_in_a_folder_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(InputError, match="expected a folder that exists and can be written to"):
        written(tmp_path / "missing" / "file")
    with pytest.raises(InputError, match="it is a folder"):
        written(tmp_path)
