"""Bytes and JSON, changed at random."""

import json

import numpy as np

# As text, because JSON libraries refuse to write some of them.
HOSTILE_JSON = (
    "null",
    "true",
    "0",
    "-1",
    "0.5",
    "1e-310",
    "1e308",
    "1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "1" + 400 * "0",
    str(2**63),
    str(-(2**64)),
    '""',
    '"x"',
    r'"\ud800"',
    r'"\u0000"',
    '"\\u001b[2J"',
    '"__class__"',
    '"' + 3000 * "x" + '"',
    "[]",
    "[1, 2]",
    "[NaN]",
    "{}",
    '{"a": 1, "a": 2}',
    '{"$float": "inf"}',
    '{"$items": [[[], 1]]}',
    '{"$items": 3}',
    '{"mapping": [[1, 2, 3]]}',
    '{"mapping": [[{}, 1]]}',
    '{"quantifier": "KDEy", "parameters": {}}',
    '{"quantifier": "Bootstrap", "parameters": {"quantifier": null}}',
    40 * "[" + 40 * "]",
    900 * "[" + 900 * "]",
    900 * '{"a":' + "1" + 900 * "}",
)
HOLE = "\N{OBJECT REPLACEMENT CHARACTER}"


def changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of a file with one change; never the same ones."""
    size = len(content)
    start, stop = sorted(rng.integers(0, size + 1, 2).tolist())
    stop = min(max(stop, start + 1), start + 400, size)
    start = min(start, stop - 1)
    how = rng.choice(
        ["bit", "byte", "cut", "insert", "delete", "zeros", "repeat", "swap", "append"]
    )
    part = content[start:stop]
    noise = rng.bytes(len(part))
    found = {
        "bit": _with(content, start, content[start] ^ (1 << int(rng.integers(8)))),
        "byte": _with(content, start, content[start] ^ int(rng.integers(1, 256))),
        "cut": content[:start],
        "insert": content[:start] + noise + content[start:],
        "delete": content[:start] + content[stop:],
        "zeros": content[:start] + bytes(len(part)) + content[stop:],
        "repeat": content[:stop] + part + content[stop:],
        "swap": content[:start] + part[::-1] + content[stop:],
        "append": content + noise,
    }
    how = str(rng.choice(list(found)))
    # Zeros may have been zeros before.
    return found["byte"] if found[how] == content else found[how]


def _with(content: bytes, place: int, value: int) -> bytes:
    return content[:place] + bytes([value]) + content[place + 1 :]


def changed_json(value: object, rng: np.random.Generator) -> bytes:
    """Return the JSON of a value with one thing changed in any place of it."""
    paths = list(_paths(value))
    path = paths[int(rng.integers(len(paths)))]
    hostile = HOSTILE_JSON[int(rng.integers(len(HOSTILE_JSON)))]
    how = str(rng.choice(["replace", "delete", "add", "twice"], p=[0.7, 0.1, 0.1, 0.1]))
    if not path or how == "replace":
        return json.dumps(_replaced(value, path, HOLE)).replace(json.dumps(HOLE), hostile).encode()
    *parents, name = path
    copy = json.loads(json.dumps(value))
    holder = copy
    for each in parents:
        holder = holder[each]
    if how == "delete":
        del holder[name]
    elif isinstance(holder, dict):
        holder[HOLE] = HOLE
    else:
        holder.append(HOLE)
    key = json.dumps(str(name) if how == "twice" else "more")
    text = json.dumps(copy).replace(f"{json.dumps(HOLE)}: ", f"{key}: ")
    return text.replace(json.dumps(HOLE), hostile).encode()


def _paths(value: object, path: tuple[object, ...] = ()):
    yield path
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value[:5])
    for name, each in items:
        yield from _paths(each, (*path, name))


def _replaced(value: object, path: tuple[object, ...], new: object) -> object:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(copy[path[0]], path[1:], new)
    return copy


def changed_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array with other values, another shape or another type."""
    values = HOSTILE_VALUES.get(array.dtype.kind, HOSTILE_VALUES["f"])
    value = values[int(rng.integers(len(values)))]
    filled = np.full(array.shape, value, dtype=None if array.dtype.kind == "U" else array.dtype)
    made = {
        "all": filled,
        "element": _with_element(array, value, rng),
        "type": _as_type(array, rng),
    }
    made["shape"] = [array.reshape(-1), array[None], array[..., None], array.T][rng.integers(4)]
    if array.dtype.kind in "if":
        with np.errstate(over="ignore"):
            made["scale"] = (array * rng.choice([0, -1, 2, 3])).astype(array.dtype)
    if array.ndim:
        made["shuffle"] = rng.permutation(array, axis=int(rng.integers(array.ndim)))
        made["cut"] = [array[:-1], array[:0], np.repeat(array, 2, axis=0)][rng.integers(3)]
    # A single element is what checks overlook.
    return made[str(rng.choice([*made, "element", "element"]))]


def _with_element(array: np.ndarray, value: object, rng: np.random.Generator) -> np.ndarray:
    # Texts are cut off at the longest one of an array.
    copy = (
        array.astype(f"<U{max(5, array.itemsize // 4)}")
        if array.dtype.kind == "U"
        else array.copy()
    )
    if array.size:
        copy.reshape(-1)[int(rng.integers(array.size))] = value
    return copy


def _as_type(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    kinds = ["<f8", "<f4", "<i8", "|b1", "<U7", ">f8", "<c16", "<M8[ns]", "|S3"]
    with np.errstate(all="ignore"):
        try:
            return array.astype(kinds[int(rng.integers(len(kinds)))])
        except (TypeError, ValueError):
            return np.zeros(array.shape)


HOSTILE_VALUES = {
    "f": (np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1.0, 2.0, 1e308, 5e-324, 1e-310, 0.5),
    "i": (-1, 0, 1, 2**62, -(2**63), 7),
    "u": (0, 255),
    "b": (False, True),
    "U": ("", "x", "\x00", "nan", "-1", "9" * 30, "\x1b[2J"),
    "S": (b"", b"x"),
}
