"""UCI sets from a folder, from the cache, and by a download that is cached with its checksum."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from truemix import InputError
from truemix_experiments.datasets import DatasetUnavailable, available, load_dataset


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def save(folder, name="cmc", **arrays):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    y = np.arange(1473) % 3
    np.savez(folder / f"{name}.npz", **{"X": rng.normal(size=(1473, 9)), "y": y} | arrays)
    return folder


def install(monkeypatch, fetch):
    """Put a stand-in for ucimlrepo in its place."""
    module = ModuleType("ucimlrepo")
    module.__spec__ = ModuleSpec("ucimlrepo", None)
    module.fetch_ucirepo = fetch
    monkeypatch.setitem(sys.modules, "ucimlrepo", module)


def fetched(n=600, **columns):
    """Return what ucimlrepo returns: frames of features and of one target."""
    sizes = np.linspace(0, 1, n)
    features = pd.DataFrame({"sex": np.array(["F", "I", "M"])[np.arange(n) % 3], "size": sizes})
    targets = pd.DataFrame({"rings": np.array(["old", "young"])[np.arange(n) % 2]})
    data = {"features": features, "targets": targets} | columns
    return SimpleNamespace(data=SimpleNamespace(**data))


def test_a_file_in_the_folder_is_loaded_and_has_the_papers_counts(tmp_path):
    data = load_dataset("cmc", folder=save(tmp_path / "data"))
    assert data.notes == ()
    assert data.classes.tolist() == [0, 1, 2]
    assert (len(data.train), len(data.validation), len(data.test)) == (1031, 413, 442)
    assert data.validation_bags is None and not data.given_posteriors


def test_a_folder_of_folders_is_searched(tmp_path):
    save(tmp_path / "tabular")
    assert available(["cmc"], folder=tmp_path)[0].available


def test_counts_that_differ_are_noted(tmp_path):
    y = np.repeat(["x", "y"], [700, 773])
    folder = save(tmp_path / "data", y=y, X=np.zeros((1473, 4)))
    notes = load_dataset("cmc", folder=folder).notes
    assert notes == (
        "The training items have 4 features, 9 expected (paper's table).",
        "The labels have 2 classes, 3 expected (paper's table).",
    )


def test_class_names_in_the_file_are_kept(tmp_path):
    folder = save(tmp_path / "data", classes=np.array(["none", "long", "short"]))
    assert load_dataset("cmc", folder=folder).classes.tolist() == ["none", "long", "short"]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((3, 9))}, "has 3 rows, but y has 1473 labels"),
        ({"X": np.full((1473, 9), np.nan)}, r"Row 0, column 0 of X in .* is nan"),
        ({"X": np.full((1473, 9), "a")}, r"expected a table of numbers"),
        ({"y": np.arange(1473) % 3, "classes": np.array(["a", "b"])}, r"Row 2 of y in .* is 2"),
        ({"y": np.full(1473, "a"), "classes": np.array(["a", "b"])}, "expected class numbers"),
        ({"y": np.array([{}] * 1473)}, "without Python objects"),
    ],
)
def test_each_wrong_array_has_its_sentence(tmp_path, arrays, sentence):
    with pytest.raises(InputError, match=sentence):
        load_dataset("cmc", folder=save(tmp_path / "data", **arrays))


def test_files_that_are_no_archives_have_their_sentence(tmp_path):
    (tmp_path / "cmc.npz").write_bytes(b"not a zip")
    with pytest.raises(InputError, match=r"cmc\.npz' cannot be read as a NumPy archive"):
        load_dataset("cmc", folder=tmp_path)
    np.savez(tmp_path / "cmc.npz", data=np.zeros(3))
    with pytest.raises(InputError, match=r"has no array 'X' \(it has data\); expected X, y"):
        load_dataset("cmc", folder=tmp_path)


def test_a_missing_set_says_what_to_do(tmp_path):
    with pytest.raises(DatasetUnavailable, match=r"no folder given.*or allow the download"):
        load_dataset("chess")
    with pytest.raises(DatasetUnavailable, match=r"no chess\.npz in .*arrays X and y"):
        load_dataset("chess", folder=tmp_path)


def test_a_download_is_encoded_cached_and_read_again_without_the_network(tmp_path, monkeypatch):
    asked = []

    def fetch(id):  # noqa: A002 - the name of ucimlrepo
        asked.append(id)
        return fetched()

    install(monkeypatch, fetch)
    cache = tmp_path / "new" / "cache"
    first = load_dataset("abalone", cache=cache, download=True)
    assert asked == [1]
    assert first.classes.tolist() == ["old", "young"]
    # One column of text with three values becomes two.
    assert first.train.X.shape == (420, 3)
    assert (cache / "abalone.npz.sha256").read_text().endswith("  abalone.npz\n")
    again = load_dataset("abalone", cache=cache)
    assert asked == [1]
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert available(["abalone"], cache=cache)[0].explanation == str(cache / "abalone.npz")


def test_the_default_cache_is_in_the_users_cache_folder(tmp_path, monkeypatch):
    install(monkeypatch, lambda id: fetched())  # noqa: A006
    load_dataset("abalone", download=True)
    assert (tmp_path / "home" / "truemix" / "datasets" / "abalone.npz").is_file()


@pytest.mark.parametrize("damage", ["data", "checksum", "no checksum", "empty checksum"])
def test_a_damaged_cache_is_one_clear_sentence(tmp_path, monkeypatch, damage):
    install(monkeypatch, lambda id: fetched())  # noqa: A006
    load_dataset("abalone", cache=tmp_path, download=True)
    path, checksum = tmp_path / "abalone.npz", tmp_path / "abalone.npz.sha256"
    if damage == "data":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "checksum":
        checksum.write_text("0" * 64)
    elif damage == "no checksum":
        checksum.unlink()
    else:
        checksum.write_text("")
    expected = "no readable checksum" if "no" in damage or "empty" in damage else "is damaged"
    with pytest.raises(InputError, match=expected + ".*Delete it") as found:
        load_dataset("abalone", cache=tmp_path, download=True)
    assert not isinstance(found.value, DatasetUnavailable)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ucimlrepo", None)
    with pytest.raises(DatasetUnavailable, match=r"pip install 'truemix-experiments\[bench\]'"):
        load_dataset("chess", download=True)
    assert not available(["chess"], download=True)[0].available


def test_a_package_that_cannot_be_imported_counts_as_missing(monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.util.find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(DatasetUnavailable, match=r"pip install 'truemix-experiments\[bench\]'"):
        load_dataset("chess", download=True)


def test_without_a_network_the_reason_and_the_other_way_are_named(tmp_path, monkeypatch):
    def fetch(id):  # noqa: A002
        raise ConnectionError("Error connecting to server")

    install(monkeypatch, fetch)
    sentence = r"UCI number 23.*could not be downloaded \(Error connecting.*chess\.npz"
    with pytest.raises(DatasetUnavailable, match=sentence):
        load_dataset("chess", cache=tmp_path, download=True)
    assert not list(tmp_path.glob("*.npz"))
    report = available(["chess"], cache=tmp_path, download=True)[0]
    assert report.available and report.explanation == "download of UCI set 23"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"targets": None}, "not exactly one target"),
        ({"targets": pd.DataFrame({"a": [1], "b": [2]})}, "not exactly one target"),
        ({"features": pd.DataFrame({"a": [1.0, np.nan] * 300})}, "Row 1, column 0 of features"),
    ],
)
def test_a_download_that_is_no_classification_problem_is_refused(
    tmp_path, monkeypatch, columns, sentence
):
    install(monkeypatch, lambda id: fetched(**columns))  # noqa: A006
    with pytest.raises(InputError, match=sentence):
        load_dataset("abalone", cache=tmp_path, download=True)


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    install(monkeypatch, lambda id: fetched())  # noqa: A006
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot make the folder"):
        load_dataset("abalone", cache=tmp_path / "file" / "cache", download=True)
