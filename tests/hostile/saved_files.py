"""Saved quantifiers and estimates: damaged, edited, and edited with a right checksum.

What is damaged must be refused. What has a right checksum may be read, if it is what somebody
could have saved: then it is saved again as it was read, and its answers hold.
"""

import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

import truemix
from archive_support import MARK, contents, npy, seal, sealed, zipped
from hostile.attempts import Attempt, outcome_of
from hostile.mutations import changed_array, changed_bytes, changed_json
from support import posteriors
from truemix.report.summary import summarize

N_DAMAGED, N_RESEALED, N_ARRAYS, N_JSON = 1600, 1000, 1000, 800
BAYESIAN = {"draws": 200, "warmup": 50, "random_state": 0}
MODELS = {
    "PCC": truemix.PCC(),
    "ACC": truemix.ACC(),
    "EMQ": truemix.EMQ(),
    "KDEy": truemix.KDEy(bandwidth=0.3, shrinkage=0.1),
    "KDEy(auto)": truemix.KDEy(kernel="gaussian"),
    "BayesianKDEy": truemix.BayesianKDEy(
        kernel="gaussian", prior={"a": 1.0, "b": 2.0, "c": 1.0}, **BAYESIAN
    ),
    "BayesianEMQ": truemix.BayesianEMQ(**BAYESIAN),
    "BayesianACC": truemix.BayesianACC(prior=[1, 2, 1], **BAYESIAN),
    "Bootstrap": truemix.Bootstrap(truemix.ACC(), references=True, draws=20, random_state=0),
}
ESTIMATES = {
    "estimate of EMQ": truemix.EMQ(),
    "estimate with draws": truemix.BayesianKDEy(
        bandwidth=0.3, shrinkage=0.1, unknown=True, **BAYESIAN
    ),
    "estimate with a check": truemix.KDEy(bandwidth=0.3, shrinkage=0.1),
}
NAMES = (*MODELS, *ESTIMATES)
# More would be a quantifier that somebody asked to work long.
MAX_DRAWS = 2000


@cache
def folder() -> Path:
    """Return a folder of this process; it goes away with its object, at the end."""
    folder.kept = tempfile.TemporaryDirectory(prefix="truemix-hostile-")
    return Path(folder.kept.name)


@cache
def target() -> np.ndarray:
    return posteriors(20, 3, seed=1)[0]


@cache
def original(name: str) -> bytes:
    P, codes = posteriors(60, 3, seed=0)
    labels = np.array(["a", "b", "c"])[codes]
    path = folder() / "original"
    if name in MODELS:
        truemix.save(MODELS[name].fit(P, labels), path)
    else:
        fitted = ESTIMATES[name].fit(P, labels)
        fitted.quantify(target(), check=name.endswith("check")).save(path)
    return path.read_bytes()


@cache
def parts(name: str) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    (folder() / "parts").write_bytes(original(name))
    return contents(folder() / "parts")


@cache
def answers(name: str) -> list[object]:
    (folder() / "expected").write_bytes(original(name))
    return numbers(load(name, folder() / "expected"))


def load(name: str, path: Path) -> object:
    return truemix.load(path) if name in MODELS else truemix.Estimate.load(path)


def numbers(loaded: object) -> list[object]:
    """Return what is asked of a quantifier or of an estimate, after checking what must hold."""
    if isinstance(loaded, truemix.Estimate):
        estimate = loaded
    else:
        wanted = {name: getattr(loaded, name, 0) for name in ("draws", "warmup")}
        if max(wanted.values()) > MAX_DRAWS:
            return [loaded.get_params()]
        estimate = loaded.quantify(target())
    text = repr(estimate) + json.dumps(summarize(estimate), allow_nan=False)
    found = [estimate.prevalence, estimate.classify_and_count, estimate.train_prevalence]
    if estimate.draws is not None:
        found += [*estimate.draws, *(() if estimate.other_draws is None else estimate.other_draws)]
        estimate.interval()
    for shares in found:
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise AssertionError(f"no shares: {shares}")
        if abs(shares.sum() - 1) > 1e-6:
            raise AssertionError(f"shares of {shares.sum()}")
    return [text, np.concatenate(found).tolist()]


def refuse(content: bytes, loaded: object) -> None:
    raise AssertionError("a changed file was read")


def same(name: str, loaded: object) -> None:
    """Check that what was read answers as what was written; only bytes without meaning differ."""
    if numbers(loaded) != answers(name):
        raise AssertionError("another answer")


def said_in_file(content: bytes, loaded: object) -> None:
    """Check that what was read is what another reader finds in the file, and answers."""
    path = folder() / "again"
    if isinstance(loaded, truemix.Estimate):
        loaded.save(path)
    else:
        truemix.save(loaded, path)
    (folder() / "read").write_bytes(content)
    header, arrays = contents(folder() / "read")
    again, saved = contents(path)
    header["version"] = again["version"]
    if again != header or saved.keys() != arrays.keys():
        raise AssertionError("other contents")
    for name, array in arrays.items():
        # Of texts only the longest one decides the type.
        if array.dtype.kind != saved[name].dtype.kind or not np.array_equal(array, saved[name]):
            raise AssertionError(f"other {name}")
    numbers(loaded)


def attempt(
    kind: str,
    name: str,
    how: str,
    make: Callable[[], bytes],
    holds: Callable[[bytes, object], None],
) -> Attempt:
    def outcome() -> str:
        content = make()
        path = folder() / "mutated"
        path.write_bytes(content)
        return outcome_of(partial(load, name, path), partial(holds, content))

    return Attempt(f"saved files: {kind}", f"{name}, {how}", outcome)


def attempts(seed: int) -> Iterator[Attempt]:
    def rng(kind: int, number: int) -> np.random.Generator:
        return np.random.default_rng([seed, kind, number])

    def damaged(name: str, number: int) -> bytes:
        return changed_bytes(original(name), rng(0, number))

    def resealed(name: str, number: int) -> bytes:
        before = original(name)
        return seal(changed_bytes(before[: -len(MARK) - 64], rng(1, number)) + before[-79:])

    def arrays(name: str, number: int) -> bytes:
        header, known = parts(name)
        random = rng(2, number)
        changed = dict(known)
        for _ in range(int(random.integers(1, 3))):
            chosen = str(random.choice(sorted(changed)))
            how = random.integers(12)
            if how == 0:
                del changed[chosen]
            elif how == 1:
                changed[chosen + "_more"] = changed[chosen]
            elif how == 2:
                other = str(random.choice(sorted(changed)))
                changed[chosen], changed[other] = changed[other], changed[chosen]
            else:
                changed[chosen] = changed_array(changed[chosen], random)
        return sealed(header, changed)

    def edited(name: str, number: int) -> bytes:
        header, known = parts(name)
        return sealed(changed_json(header, rng(3, number)), known)

    kinds = (
        ("damaged", N_DAMAGED, damaged, lambda n, c, loaded: refuse(c, loaded)),
        ("damaged, checksum right", N_RESEALED, resealed, lambda n, c, loaded: same(n, loaded)),
        ("arrays, checksum right", N_ARRAYS, arrays, lambda n, c, loaded: said_in_file(c, loaded)),
        ("JSON, checksum right", N_JSON, edited, lambda n, c, loaded: said_in_file(c, loaded)),
    )
    for kind, count, make, holds in kinds:
        for number in range(count):
            name = NAMES[number % len(NAMES)]
            how = f"number {number}"
            yield attempt(kind, name, how, partial(make, name, number), partial(holds, name))
    for name in ("PCC", "KDEy", "estimate with draws"):
        for how, make in MADE.items():
            yield attempt("made by hand", name, how, partial(make, name), refuse)
        for how, begin in HEADERS.items():
            yield attempt("array headers", name, how, partial(with_header, name, begin), refuse)


# --- files that no random change makes ----------------------------------------------------------


def members(name: str) -> list[tuple[str, bytes]]:
    header, arrays = parts(name)
    first = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return [(f"{each}.npy", npy(array)) for each, array in {"truemix": first, **arrays}.items()]


def bomb(name: str) -> bytes:
    """Return a file of 2 MB whose last array would be 1.6 GB."""
    file = io.BytesIO()
    block = bytes(1 << 24)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = bytes(len(MARK) + 64)
        for each, content in members(name)[:-1]:
            archive.writestr(each, content)
        with archive.open(members(name)[-1][0], "w") as member:
            for _ in range(96):
                member.write(block)
    return seal(file.getvalue())


def one_entry_for_all(name: str) -> bytes:
    """Return a file whose directory leads to the same large array many times."""
    large = npy(np.zeros(1 << 20))
    names = [f"a{number:03}.npy" for number in range(200)]
    whole = zipped([*members(name), ("large.npy", large)])
    record = whole.rindex(b"PK\x01\x02")
    end = whole.rindex(b"PK\x05\x06")
    entry = whole[record:end]
    start = struct.unpack("<L", whole[end + 16 : end + 20])[0]
    more = b"".join(
        entry[:28] + struct.pack("<H", len(each)) + entry[30:46] + each.encode() for each in names
    )
    count = len(members(name)) + 1 + len(names)
    tail = whole[end : end + 8] + struct.pack("<HHLL", count, count, end + len(more) - start, start)
    return seal(whole[:end] + more + tail + whole[end + 20 :])


def lying(name: str, place: int, value: int) -> bytes:
    """Return a file whose directory says another size of an array."""
    whole = bytearray(zipped(members(name)))
    record = whole.rindex(b"PK\x01\x02")
    whole[record + place : record + place + 4] = struct.pack("<L", value)
    return seal(bytes(whole))


def swapped(name: str) -> bytes:
    found = dict(members(name))
    first, second, *_ = [each for each in found if each != "truemix.npy"]
    found[first], found[second] = found[second], found[first]
    return zipped(found.items())


def repeated(name: str) -> bytes:
    """Return a file in which an array occurs twice; Python warns when it writes such a thing."""
    whole = zipped([*members(name), ("classet.npy", npy(np.array(["x", "y", "z"])))])
    return seal(whole.replace(b"classet.npy", b"classes.npy"))


MADE = {
    "zip bomb": bomb,
    "one entry for all": one_entry_for_all,
    "compressed": lambda name: zipped(members(name), zipfile.ZIP_DEFLATED),
    "lzma": lambda name: zipped(members(name), zipfile.ZIP_LZMA),
    "no header": lambda name: zipped(members(name)[1:]),
    "header only": lambda name: zipped(members(name)[:1]),
    "empty zip": lambda name: zipped([]),
    "swapped members": swapped,
    "repeated member": repeated,
    "extra array": lambda name: zipped([*members(name), ("extra.npy", npy(np.zeros(2)))]),
    "extra text": lambda name: zipped([*members(name), ("README", b"hello")]),
    "a folder": lambda name: zipped([*members(name), ("folder/", b"")]),
    "a path": lambda name: zipped([*members(name), ("../../etc/x.npy", npy(np.zeros(2)))]),
    "no array": lambda name: zipped([*members(name), ("extra.npy", b"")]),
    "30,000 entries": lambda name: zipped([(f"a{n}.npy", b"") for n in range(30_000)]),
    "size too large": lambda name: lying(name, 24, 1 << 30),
    "size too small": lambda name: lying(name, 24, 10),
    "packed size too large": lambda name: lying(name, 20, 1 << 30),
    "packed size zero": lambda name: lying(name, 20, 0),
    "encrypted": lambda name: lying(name, 8, 1),
    "place outside": lambda name: lying(name, 42, 1 << 31),
    "only a checksum": lambda name: seal(bytes(len(MARK) + 64)),
    "nothing": lambda name: b"",
    "a pickle": lambda name: b"\x80\x04cos\nsystem\n",
    "9 MB of JSON": lambda name: sealed(b"[" + b"0," * (9 << 19) + b"0]", {}),
    "8 MB of lists": lambda name: sealed(b"[" + b"[]," * ((8 << 20) // 3 - 10) + b"0]", {}),
    "8 MB of names": lambda name: sealed(
        json.dumps(dict.fromkeys(map(str, range(600_000)), 0)).encode(), {}
    ),
    "the header of another": lambda name: zipped([members("ACC")[0], *members(name)[1:]]),
}

HEADERS = {
    "object": "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "structured": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
    "subarray": "{'descr': ('<f8', (3,)), 'fortran_order': False, 'shape': (1,), }",
    "void": "{'descr': '|V24', 'fortran_order': False, 'shape': (1,), }",
    "dates": "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }",
    "big-endian": "{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }",
    "long double": "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }",
    "huge text": "{'descr': '<U999999999', 'fortran_order': False, 'shape': (3,), }",
    "Fortran": "{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }",
    "huge shape": "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,), }",
    "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
    "huge and empty": "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9999999999999999), }",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    "true": "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3), }",
    "many dimensions": "{'descr': '<f8', 'fortran_order': False, 'shape': (" + 60 * "1, " + "3), }",
    "no shape": "{'descr': '<f8', 'fortran_order': False, }",
    "an expression": "__import__('os').abort()",
    "deep": 3000 * "(" + 3000 * ")",
    "nothing": "",
}


def with_header(name: str, begin: str) -> bytes:
    """Return a file whose shares begin with another header."""
    text = begin + " " * (-(10 + len(begin) + 1) % 64) + "\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(24)
    found = dict(members(name))
    return zipped({**found, "train_prevalence.npy": array}.items())
