import json
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import truemix
from support import posteriors
from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    InputError,
    KDEy,
    NotFittedError,
)

QUANTIFIERS = [
    CC(),
    PCC(cv=KFold(3)),
    ACC(),
    EMQ(),
    EMQ(calibration="vs"),
    KDEy(),
    KDEy(kernel="gaussian", bandwidth=np.float64(0.2)),
    BayesianKDEy(bandwidth=0.3, shrinkage=0.1, prior=[1, 2, 0.5], random_state=0),
    BayesianEMQ(calibration="ts", prior=np.array([1, 2, 0.5]), random_state=0),
    BayesianEMQ(prior="mapls", random_state=0),
    BayesianACC(temperature=2.0, random_state=0),
    Bootstrap(EMQ(calibration="bcts"), draws=20, random_state=0),
]


@pytest.fixture
def fitted():
    P, codes = posteriors(90, 3, seed=0)
    return KDEy().fit(P, np.array(["a", "b", "c"])[codes])


@pytest.mark.parametrize("quantifier", QUANTIFIERS, ids=repr)
@pytest.mark.parametrize("names", [["b", "c c", "ä"], [-1, 5, 7]], ids=["text", "ints"])
def test_a_loaded_quantifier_gives_the_same_answers(quantifier, names, tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(50, 3, seed=1)
    quantifier.fit(P, np.array(names)[codes])
    truemix.save(quantifier, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz")
    assert type(loaded) is type(quantifier)
    np.testing.assert_array_equal(loaded.predict(target), quantifier.predict(target))
    assert loaded.classes_.tolist() == names
    np.testing.assert_array_equal(loaded.train_prevalence_, quantifier.train_prevalence_)
    assert repr(loaded.quantify(target)) == repr(quantifier.quantify(target))


@pytest.mark.parametrize("names", [["a", "b", "c"], [1, 2, 3]], ids=["text", "ints"])
def test_a_prior_by_class_survives(names, tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    prior = dict(zip(names, [1.0, 2.0, 0.5], strict=True))
    quantifier = BayesianACC(prior=prior, random_state=0).fit(P, np.array(names)[codes])
    truemix.save(quantifier, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz")
    assert loaded.prior == prior
    np.testing.assert_array_equal(loaded.predict(P), quantifier.predict(P))


def test_a_generator_as_seed_cannot_be_saved(tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    quantifier = BayesianACC(random_state=np.random.default_rng(0)).fit(P, codes)
    with pytest.raises(InputError, match="'random_state' parameter of this BayesianACC is a Gen"):
        truemix.save(quantifier, tmp_path / "q.npz")


def test_any_file_name_will_do_and_nothing_else_is_left(fitted, tmp_path):
    truemix.save(fitted, tmp_path / "model.of.mine")
    truemix.save(fitted, str(tmp_path / "model.of.mine"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.of.mine"]


def test_a_failed_write_leaves_the_old_file_whole(fitted, tmp_path, monkeypatch):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(KeyboardInterrupt):
        truemix.save(fitted, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved_is_refused(fitted, tmp_path):
    with pytest.raises(
        NotFittedError, match="This KDEy is not fitted yet; there is nothing to save"
    ):
        truemix.save(KDEy(), tmp_path / "q")
    with pytest.raises(InputError, match=r"Only truemix quantifiers can be saved; .* 'dict'"):
        truemix.save({}, tmp_path / "q")
    X = np.random.default_rng(0).normal(size=(60, 2))
    trained = PCC(classifier=LogisticRegression()).fit(X, X[:, 0] > 0)
    with pytest.raises(InputError, match="was fitted with a classifier, which cannot be saved"):
        truemix.save(trained, tmp_path / "q")
    with pytest.raises(InputError, match=r"Cannot write .* expected a folder that exists"):
        truemix.save(fitted, tmp_path / "missing" / "q")
    assert not list(tmp_path.iterdir())


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"There is no file '.*nothing'"):
        truemix.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder"):
        truemix.load(tmp_path)
    foreign = tmp_path / "foreign"
    for content in (b"", b"PK", b"hello", b"\x93NUMPY garbage", b"PK\x03\x04" + bytes(100)):
        foreign.write_bytes(content)
        with pytest.raises(InputError, match="is damaged or not a saved quantifier"):
            truemix.load(foreign)
    with foreign.open("wb") as file:
        np.savez(file, a=np.arange(3))
    with pytest.raises(InputError, match="is damaged or not a saved quantifier"):
        truemix.load(foreign)


def test_a_pickle_inside_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("code from a file was run",))

    path = tmp_path / "trap.npz"
    with path.open("wb") as file:
        np.savez(file, header=np.array([Trap()], dtype=object))
    with pytest.raises(InputError, match="is damaged or not a saved quantifier"):
        truemix.load(path)


def test_damage_anywhere_is_an_error_or_harmless(fitted, tmp_path):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    whole = path.read_bytes()
    target, _ = posteriors(20, 3, seed=1)
    expected = fitted.predict(target)
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            loaded = truemix.load(path)
        except InputError as error:
            assert str(path) in str(error)
        else:
            # A flipped byte in what nobody reads, such as a time stamp.
            np.testing.assert_array_equal(loaded.predict(target), expected)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is damaged"):
        truemix.load(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "truemix estimate"}, "holds a 'truemix estimate'; expected a truemix quantifier"),
        ({"format": 2}, "has format 2, this version of truemix .* reads format 1; update truemix"),
        (
            {"quantifier": "Oracle"},
            "holds a quantifier 'Oracle' that this version .* does not know",
        ),
        ({"quantifier": "NotFittedError"}, "does not know"),
        ({"parameters": {"depth": 3}}, "is damaged"),
        ({"parameters": {"bandwidth": -1}}, "is damaged"),
    ],
)
def test_other_kinds_and_versions_are_refused(fitted, tmp_path, change, sentence):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes()) | change
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, header=text, **arrays)
    with pytest.raises(InputError, match=sentence):
        truemix.load(path)


def test_the_file_is_a_plain_archive(fitted, tmp_path):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    assert "header.npy" in zipfile.ZipFile(path).namelist()
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
    assert header["quantifier"] == "KDEy"
    assert header["version"] == truemix.__version__
