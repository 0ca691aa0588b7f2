"""Streams that are closed, full, terminals or devices, and outputs that are no files."""

import json
import os
import pty
import resource
import shlex
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

from hostile.attempts import ANSWERED, REFUSED, Attempt, check_sentence
from hostile.command import outcome, run
from hostile.input_files import OPTIONS, as_csv, frames

STEERING = "\x1b[2J\x9b31m\u202e"
# Without colours, no escape sequence on a terminal is our own.
PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}
CHARACTER_DEVICES = {"null": 3, "zero": 5, "full": 7}


def files(folder: str, name: str = "target.csv") -> list[str]:
    """Write both tables and return their names."""
    reference, target = frames()
    paths = [Path(folder) / "reference.csv", Path(folder) / name]
    paths[0].write_bytes(as_csv(reference))
    paths[1].write_bytes(as_csv(target))
    return [str(path) for path in paths]


def command(kind: str, folder: str) -> list[str]:
    if kind == "estimate":
        return ["estimate", *files(folder), *OPTIONS]
    if kind == "stdin":
        return ["estimate", "-", files(folder)[1], *OPTIONS]
    return ["estimate", "missing.csv", "missing.csv"] if kind == "missing" else [kind]


def child(arguments: list[str], redirected: str = "", **options) -> subprocess.CompletedProcess:
    words = shlex.join([sys.executable, "-m", "truemix.cli", *arguments])
    environment = {**PLAIN, **options.pop("environment", {})}
    return subprocess.run(  # noqa: S602
        f"exec {words} {redirected}",
        shell=True,
        check=False,
        timeout=100,
        capture_output=True,
        env=environment,
        **options,
    )


def judge(done: subprocess.CompletedProcess, *, complete: bool) -> str:
    """Refuse anything but one sentence or, if ``complete``, all of an answer."""
    said, out = done.stderr.decode(), done.stdout.decode()
    if "Traceback" in said + out or "Exception ignored" in said or done.returncode not in (0, 1):
        raise AssertionError(f"exit code {done.returncode}: {said[-400:]!r}")
    if done.returncode:
        for line in said.splitlines():
            check_sentence(line)
        return REFUSED
    if complete and out.startswith("{"):
        json.loads(out)
    elif complete and not out:
        raise AssertionError("nothing was written")
    return ANSWERED


def closed(kind: str, numbers: tuple) -> str:
    """Run a command with some of the first three files closed."""
    with tempfile.TemporaryDirectory() as folder:
        redirected = " ".join(f"{number}>&-" if number else "0<&-" for number in numbers)
        done = child(command(kind, folder), redirected)
        if 1 in numbers and done.stdout:
            raise AssertionError("written to a closed file")
        if done.returncode == 0 and 1 in numbers and kind == "estimate":
            raise AssertionError("a result went nowhere")
        return judge(done, complete=1 not in numbers)


def full(kind: str, size: int, unbuffered: str) -> str:
    """Write to a disk that is full after some bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with tempfile.TemporaryDirectory() as folder:
        arguments = command(kind, folder)
        out = Path(folder) / "out"
        # Python ignores the signal by itself, so that writing fails instead.
        done = child(
            arguments,
            f"> {shlex.quote(str(out))}",
            preexec_fn=limit,
            environment={"PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        found = judge(done, complete=False)
        if found == ANSWERED and out.stat().st_size >= size:
            raise AssertionError("cut, and exit code 0")
        if found == REFUSED and not done.stderr:
            raise AssertionError("refused without a sentence")
        return found


def on_terminal(where: str, form: str) -> str:
    """Show names that steer a terminal on one."""
    reference, target = frames()
    with tempfile.TemporaryDirectory() as folder:
        name = f"{STEERING}.csv" if where == "file" else "target.csv"
        if where == "group":
            target = target.assign(week=[STEERING + week for week in target["week"]])
        if where == "header":
            target = target.rename(columns={"egg": f"egg{STEERING}"})
        if where == "class":
            reference = reference.rename(columns={"egg": STEERING})
            reference["label"] = reference["label"].replace("egg", STEERING)
            target = target.rename(columns={"egg": STEERING})
        paths = [Path(folder) / "reference.csv", Path(folder) / name]
        paths[0].write_bytes(as_csv(reference))
        paths[1].write_bytes(as_csv(target))
        ours, theirs = pty.openpty()
        words = [
            "estimate",
            *map(str, paths),
            "--label",
            "label",
            "--method",
            "pcc",
            "--by",
            "week",
        ]
        started = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "truemix.cli", *words, "--format", form],
            stdout=theirs,
            stderr=theirs,
            env=PLAIN,
        )
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:
            # The end, as Linux tells it.
            pass
        os.close(ours)
        code = started.wait()
        text = shown.decode("utf-8", "replace")
        if any(letter in text for letter in STEERING if not letter.isascii() or letter == "\x1b"):
            raise AssertionError(f"the terminal was steered: {text[:300]!a}")
        if "Traceback" in text or code not in (0, 1):
            raise AssertionError(f"exit code {code}: {text[-300:]!a}")
        return REFUSED if code else ANSWERED


def to_device(device: str, option: str) -> str:
    """Write to a device of our own, which must stay one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / device
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, CHARACTER_DEVICES[device]))
            os.close(os.open(path, os.O_RDWR))
        except PermissionError:
            return REFUSED
        done = run("estimate", *files(folder), *OPTIONS, option, path)
        if not stat.S_ISCHR(path.lstat().st_mode):
            raise AssertionError("the device is no device any more")
        if device == "full" and done.code != 1:
            raise AssertionError("writing to a full device succeeded")
        return _without_output(done, option)


def to_pipe(option: str, read: int) -> str:
    """Write to a pipe whose reader stops after some bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path, received = Path(folder) / "pipe", []
        os.mkfifo(path)

        def reader() -> None:
            with path.open("rb") as pipe:
                received.append(pipe.read(read))

        thread = threading.Thread(target=reader, daemon=True)
        thread.start()
        done = run("estimate", *files(folder), *OPTIONS, option, path)
        thread.join(20)
        if not stat.S_ISFIFO(path.lstat().st_mode):
            raise AssertionError("the pipe is no pipe any more")
        if read < 0 and option == "--out":
            json.loads(received[0])
        # 141 is what shells report of a program whose reader has gone.
        return ANSWERED if done.code == 141 else _without_output(done, option)


def through_link(option: str, target: str) -> str:
    """Write through symbolic links: they stay, and nothing appears in their place."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "link"
        path.symlink_to(target)
        done = run("estimate", *files(folder), *OPTIONS, option, path)
        if not path.is_symlink():
            raise AssertionError("the link is no link any more")
        return _without_output(done, option)


def _without_output(done, option: str) -> str:
    if done.code == 0 and option == "--out":
        return ANSWERED
    return outcome(done, lambda content: None)


def attempts(seed: int) -> Iterator[Attempt]:
    """Yield all of them; nothing is random."""
    made: list[tuple[str, str, Callable[[], str]]] = []
    for option in ("--out", "--report"):
        made += [
            ("devices", f"{option} {each}", partial(to_device, each, option))
            for each in CHARACTER_DEVICES
        ]
        made += [("pipes", f"{option} read {n}", partial(to_pipe, option, n)) for n in (-1, 0, 10)]
        links = ("link", "nothing", "missing/nothing", "target.csv", ".", "x" * 300)
        made += [
            ("links", f"{option} to {each[:20]}", partial(through_link, option, each))
            for each in links
        ]
    combinations = [[n for n in range(3) if bits >> n & 1] for bits in range(8)]
    for kind, numbers in product(
        ("--help", "--version", "missing", "stdin", "estimate"), combinations
    ):
        made.append(
            ("closed streams", f"{kind} without {numbers}", partial(closed, kind, tuple(numbers)))
        )
    for kind, size, unbuffered in product(
        ("--help", "--version", "estimate"), (0, 5, 1000), ("", "1")
    ):
        made.append(
            ("full disk", f"{kind} {size} {unbuffered}", partial(full, kind, size, unbuffered))
        )
    for where, form in product(("group", "file", "header", "class"), ("table", "csv", "json")):
        made.append(("terminal", f"{where} {form}", partial(on_terminal, where, form)))
    for each in made:
        yield Attempt(*each)
