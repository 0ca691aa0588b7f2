import json
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import truemix
from archive_support import contents, sealed
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

    class Interrupted(zipfile.ZipFile):
        def open(self, *args, **options):
            self.fp.write(b"half")
            raise KeyboardInterrupt

    monkeypatch.setattr(zipfile, "ZipFile", Interrupted)
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
        with pytest.raises(InputError, match="or is not a saved quantifier"):
            truemix.load(foreign)
    with foreign.open("wb") as file:
        np.savez(file, a=np.arange(3))
    with pytest.raises(InputError, match="is not a saved quantifier"):
        truemix.load(foreign)


def test_a_pickle_inside_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("code from a file was run",))

    path = tmp_path / "trap.npz"
    with path.open("wb") as file:
        np.savez(file, header=np.array([Trap()], dtype=object))
    with pytest.raises(InputError, match="is not a saved quantifier"):
        truemix.load(path)


def test_damage_anywhere_is_an_error(fitted, tmp_path):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"is damaged, was changed, .* checksum"):
            truemix.load(path)
    for part in (whole[: len(whole) // 2], whole[1:], whole + b"x", b"x" + whole):
        path.write_bytes(part)
        with pytest.raises(InputError, match=r"is damaged, was changed, .* checksum"):
            truemix.load(path)


def test_the_same_quantifier_is_the_same_file(fitted, tmp_path):
    for name in ("a", "b"):
        truemix.save(fitted, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "truemix estimate"}, "holds a 'truemix estimate'; expected a truemix quantifier"),
        ({"format": 1}, "has format 1, this version of truemix .* reads format 2; use the version"),
        ({"format": "2"}, "is damaged"),
        (
            {"quantifier": "Oracle"},
            "holds a quantifier 'Oracle' that this version .* does not know",
        ),
        ({"quantifier": "NotFittedError"}, "does not know"),
        ({"parameters": {"depth": 3}}, "is damaged"),
        ({"parameters": {}}, "its parameters are not all those of the quantifier"),
        ({"parameters": None}, "is damaged"),
        ({"more": 1}, "holds more, which does not belong there"),
    ],
)
def test_other_kinds_and_versions_are_refused(fitted, tmp_path, change, sentence):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    header, arrays = contents(path)
    path.write_bytes(sealed(header | change, arrays))
    with pytest.raises(InputError, match=sentence):
        truemix.load(path)


@pytest.mark.parametrize(
    ("quantifier", "name", "value", "sentence"),
    [
        (PCC(), "bandwidth", 0.1, "is damaged"),
        (PCC(), "classifier", {"quantifier": "PCC", "parameters": {}}, "it names a classifier"),
        (PCC(), "crossfit", 1, "'crossfit' parameter must be True or False"),
        (PCC(), "cv", "many", "'cv' parameter must be a whole number of folds"),
        (KDEy(), "bandwidth", -1, "'bandwidth' parameter must be a positive number"),
        (KDEy(), "bandwidth", 0.123, "smoothing is not the one that the parameters ask for"),
        (KDEy(), "kernel", "boxcar", "'kernel' parameter must be one of"),
        (BayesianACC(random_state=0), "temperature", 0, "'temperature' parameter must be"),
        (BayesianACC(random_state=0), "prior", [1, 2], "'prior' parameter must be"),
        (BayesianACC(random_state=0), "random_state", 1, "seed does not fit the parameters"),
        (BayesianEMQ(random_state=0), "calibration", "ts", "TemperatureScaling has no bias"),
        (EMQ(), "calibration", None, "holds calibrator_.*, which does not belong there"),
        (Bootstrap(PCC(), random_state=0), "quantifier", 3, "'quantifier' parameter must be"),
    ],
)
def test_parameters_of_files_follow_the_rules_of_fit(quantifier, name, value, sentence, tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    path = tmp_path / "q.npz"
    truemix.save(quantifier.fit(P, codes), path)
    header, arrays = contents(path)
    header["parameters"][name] = value
    path.write_bytes(sealed(header, arrays))
    with pytest.raises(InputError, match=sentence):
        truemix.load(path)


THIRDS = np.full((3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("quantifier", "name", "change", "sentence"),
    [
        (PCC(), "classes", lambda a: a[[0, 0, 1]], "classes names 'a' more than once"),
        (PCC(), "classes", lambda a: a[:, None], "classes has type <U1 and shape"),
        (PCC(), "classes", lambda a: a[:1], "There is only one class, 'a'"),
        (PCC(), "classes", lambda a: np.array([0, 1, np.nan]), "classes has type float64"),
        (PCC(), "train_prevalence", lambda a: a * np.nan, "train_prevalence holds nan"),
        (PCC(), "train_prevalence", lambda a: a - [2, -1, -1], "train_prevalence holds -1.6"),
        (PCC(), "train_prevalence", lambda a: a * 0.9, "shares that add up to 0.9; expected 1"),
        (PCC(), "train_prevalence", lambda a: a[:2], "train_prevalence has type float64 and shape"),
        (PCC(), "train_prevalence", lambda a: a.astype("f4"), "is no array of numbers or text"),
        (PCC(), "source", lambda a: np.array("x"), "source holds 'x'"),
        (PCC(), "more", None, "holds more, which does not belong there"),
        (ACC(), "counts", lambda a: THIRDS[:2], "counts has type float64 and shape"),
        (ACC(), "counts", lambda a: a * [[2], [1], [1]], "not have the shares of train_prevalence"),
        (BayesianACC(), "counts", lambda a: -a, "counts holds -"),
        (BayesianACC(), "counts", lambda a: a / 3, "are not those of references"),
        (BayesianACC(), "counts", lambda a: a[:, :2], "counts has type"),
        (BayesianACC(), "seed", lambda a: np.array("-1"), "seed holds '-1'"),
        (EMQ(), "calibrator_scale_", lambda a: a[:2], "scale_ has type float64 and shape"),
        (EMQ(), "calibrator_scale_", lambda a: a * [1, 1, 2], "scale_ differs between classes"),
        (EMQ(), "calibrator_bias_", lambda a: a + np.inf, "bias_ holds inf"),
        (EMQ(), "calibrator_bias_", lambda a: a + 1e300, "bias_ holds 1e"),
        (EMQ(), "calibrator_floor_", lambda a: -a, "floor_ holds -"),
        (EMQ(), "calibrator_classes_", lambda a: a + 1, "calibration map is one of other classes"),
        (EMQ(calibration="ts"), "calibrator_bias_", lambda a: a + 1, "has no bias"),
        (BayesianEMQ(), "map_shares", lambda a: a[:50], "map_shares has type"),
        (BayesianEMQ(), "map_scale_", lambda a: a[:50], "maps are not there for each"),
        (BayesianEMQ(), "map_scale_", lambda a: a * np.nan, "scale_ holds nan"),
        (KDEy(), "reference", lambda a: a * 1.001, "reference holds shares that add up to"),
        (KDEy(), "reference", lambda a: a[:-1], "codes has type int64 and shape"),
        (KDEy(), "codes", lambda a: a + 1, "codes holds numbers outside of 0 to 2"),
        (KDEy(), "codes", lambda a: np.roll(a, 1) * 0, "codes lack a class"),
        (KDEy(), "bandwidth", lambda a: a * 2, "selection does not begin with the setting in use"),
        (KDEy(), "bandwidth", lambda a: a * np.nan, "bandwidth holds nan"),
        (KDEy(), "shrinkage", lambda a: a + 1, "'shrinkage' parameter must be"),
        (KDEy(), "selection", lambda a: a[:0], "selection has 0 rows"),
        (KDEy(), "selection", lambda a: a - [0, 0, 1, 0], "an error or a tie that is none"),
        (
            Bootstrap(ACC(), references=True, draws=20),
            "resampled_counts",
            lambda a: a[:3],
            "resampled_counts has shape",
        ),
        (
            Bootstrap(ACC(), references=True, draws=20),
            "resampled_counts",
            lambda a: -a,
            "counts holds -",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(quantifier, name, change, sentence, tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    path = tmp_path / "q.npz"
    truemix.save(quantifier.fit(P, np.array(["a", "b", "c"])[codes]), path)
    header, arrays = contents(path)
    arrays[name] = np.zeros(3) if change is None else change(arrays[name])
    path.write_bytes(sealed(header, arrays))
    with pytest.raises(InputError, match=sentence):
        truemix.load(path)


def test_the_file_is_a_plain_archive(fitted, tmp_path):
    path = tmp_path / "q.npz"
    truemix.save(fitted, path)
    assert zipfile.ZipFile(path).namelist()[0] == "truemix.npy"
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(archive["truemix"].tobytes())
        np.testing.assert_array_equal(archive["classes"], fitted.classes_)
    assert header["quantifier"] == "KDEy"
    assert header["version"] == truemix.__version__
