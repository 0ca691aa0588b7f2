"""Results of ``truemix bench``, and choices that are kept: damaged, and edited with a checksum."""

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile.attempts import ANSWERED, REFUSED, Attempt, outcome_of
from hostile.mutations import HOSTILE_VALUES, changed_bytes, changed_json
from results_support import run
from truemix_experiments.results import read_results, write_result
from truemix_experiments.running.choosing import read_sealed, write_sealed

METHODS = ("CC", "Bayes-ACC")
N_DAMAGED, N_NUMBERS, N_JSON, N_CHOICES = 800, 300, 300, 200
CHOICE = {
    "classifier": {"C": 0.1, "class_weight": "balanced"},
    "setting": {"bandwidth": 0.1, "shrinkage": 0.25},
    "error": 0.0123,
    "n_candidates": 600,
    "unconverged": 0,
    "seconds": 12.5,
}


@cache
def folder() -> Path:
    """Return a folder of this process; it goes away with its object, at the end."""
    folder.kept = tempfile.TemporaryDirectory(prefix="truemix-hostile-")
    return Path(folder.kept.name)


@cache
def original(method: str) -> bytes:
    return write_result(folder() / "original", run("yeast", method, n_bags=20)).read_bytes()


@cache
def choice() -> bytes:
    write_sealed(folder() / "choice.json", CHOICE)
    return (folder() / "choice.json").read_bytes()


def read(content: bytes) -> object:
    place = folder() / "results"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "x.parquet").write_bytes(content)
    return read_results(place, mixes=True)


def resealed(table: pa.Table, about: bytes) -> bytes:
    """Return a Parquet file with a right checksum, by other means than truemix's."""
    zeros = b"truemix sha256 " + 64 * b"0"
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"truemix": about, b"seal": zeros}), file)
    content = file.getvalue()
    return content.replace(zeros, zeros[:15] + hashlib.sha256(content).hexdigest().encode())


def refuse(found: object) -> None:
    raise AssertionError("a changed file was read")


def possible(content: bytes, found: object) -> None:
    """Check numbers by what they mean, and that another reader finds the same ones."""
    bags, about = found.bags, found.runs.iloc[0]
    truth, estimate = np.stack(bags["truth"]), np.stack(bags["prevalence"])
    train = np.array(about["train_prevalence"])
    for shares in (truth, estimate, train[None]):
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1, atol=1e-3):
            raise AssertionError("no shares")
    # Twice the tolerance of truemix, for sums in another order.
    near = {"rtol": 2e-9, "atol": 2e-9}
    np.testing.assert_allclose(bags["ae"], np.abs(truth - estimate).mean(axis=1), **near)
    np.testing.assert_allclose(bags["shift"], np.abs(truth - train).sum(axis=1), **near)
    if "soft" in bags and bags["soft"].notna().any():
        for name, most in (
            ("hard", 1), ("soft", 1), ("width", 1), ("amplitude", 100),
            ("batch_hard", 1), ("batch_soft", 1), ("batch_width", 1),
        ):  # fmt: skip
            if not bags[name].between(0, most * (1 + 2e-9)).all():
                raise AssertionError(f"{name} out of bounds")
    known = pq.read_table(pa.BufferReader(content))
    for name in ("bag", "ae", "w", "shift"):
        np.testing.assert_array_equal(bags[name], known[name].to_numpy())


def attempts(seed: int) -> Iterator[Attempt]:
    def rng(kind: int, number: int) -> np.random.Generator:
        return np.random.default_rng([seed, kind, number])

    def damaged(method: str, number: int) -> str:
        content = changed_bytes(original(method), rng(0, number))
        return outcome_of(partial(read, content), refuse)

    def numbers(method: str, number: int) -> str:
        random = rng(1, number)
        table = pq.read_table(pa.BufferReader(original(method)))
        name = str(random.choice(table.column_names))
        values = table[name].to_pylist()
        row = int(random.integers(len(values)))
        kind = "i" if name == "bag" else "b" if name.endswith("hard") else "f"
        hostile = HOSTILE_VALUES[kind]
        value = hostile[int(random.integers(len(hostile)))]
        if isinstance(values[row], list):
            values[row][int(random.integers(len(values[row])))] = value
        else:
            values[row] = value
        field = table.field(name)
        changed = table.set_column(
            table.column_names.index(name), field, pa.array(values, field.type)
        )
        content = resealed(changed, table.schema.metadata[b"truemix"])
        return outcome_of(partial(read, content), partial(possible, content))

    def edited(method: str, number: int) -> str:
        table = pq.read_table(pa.BufferReader(original(method)))
        about = changed_json(json.loads(table.schema.metadata[b"truemix"]), rng(2, number))
        content = resealed(table, about)
        return outcome_of(partial(read, content), partial(possible, content))

    def choices(_: str, number: int) -> str:
        random = rng(3, number)
        path = folder() / "mutated.json"
        if number % 2:
            path.write_bytes(changed_bytes(choice(), random))
        else:
            path.write_bytes(changed_json(json.loads(choice()), random))
        try:
            found = read_sealed(path, set(CHOICE))
        except ValueError:
            return REFUSED
        # White space may differ, and how a number is written.
        if found != CHOICE:
            raise AssertionError(f"another choice: {found}")
        return ANSWERED

    kinds = (
        ("damaged", N_DAMAGED, damaged),
        ("numbers, checksum right", N_NUMBERS, numbers),
        ("JSON, checksum right", N_JSON, edited),
        ("choices", N_CHOICES, choices),
    )
    for kind, count, make in kinds:
        for number in range(count):
            method = METHODS[number % len(METHODS)]
            yield Attempt(
                f"bench files: {kind}",
                f"{method}, number {number}",
                partial(make, method, number),
            )
