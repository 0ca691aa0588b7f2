import json

import numpy as np
import pytest

import truemix
from archive_support import contents, sealed
from estimate_support import estimate, sampled
from truemix import Estimate, InputError
from truemix.estimates.files import decode, encode


def same(first, second):
    for name in (
        "classes",
        "prevalence",
        "classify_and_count",
        "train_prevalence",
        "draws",
        "other_draws",
    ):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for name in ("n_items", "method", "estimand", "settings", "diagnostics"):
        assert getattr(first, name) == getattr(second, name)
    return True


@pytest.mark.parametrize(
    "given",
    [
        estimate(),
        estimate(2, classes=np.array([False, True]), n_items=np.int64(5)),
        sampled([1, 2, 3], classes=np.array([3, 1, 2])),
        sampled([1, 2], estimand="population", classes=np.array(["ä", "b c"], dtype=object)),
        sampled([1, 2], settings={"prior": {1: 2.0}, "seed": None}, diagnostics={"gap": np.inf}),
    ],
    ids=repr,
)
def test_an_estimate_comes_back_from_its_file(given, tmp_path):
    given.save(tmp_path / "e.npz")
    loaded = Estimate.load(str(tmp_path / "e.npz"))
    assert same(given, loaded)
    assert repr(loaded) == repr(given)


def test_settings_survive_json():
    given = {
        "ess": np.float64(3.5),
        "n": np.int64(4),
        "flag": np.bool_(True),
        "worst": -np.inf,
        "shares": np.array([0.5, np.nan]),
        "pair": (1, "a"),
        "by class": {0: 0.1, 1: [None]},
        "$float": "odd key",
        "object": complex(1, 2),
    }
    text = json.dumps(encode(given), allow_nan=False)
    found = decode(json.loads(text))
    assert np.isnan(found["shares"].pop())
    assert found == {
        **given,
        "shares": [0.5],
        "pair": [1, "a"],
        "object": "(1+2j)",
    }


def test_damage_anywhere_is_an_error(tmp_path):
    path = tmp_path / "e.npz"
    sampled([1, 2], n_draws=20).save(path)
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"is damaged, .* a saved estimate .*checksum"):
            Estimate.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"has no checksum\); expected a file that Estimate.save"):
        Estimate.load(path)


@pytest.mark.parametrize(
    ("header", "arrays", "sentence"),
    [
        ({"kind": "truemix quantifier"}, {}, "holds a 'truemix quantifier'; expected a truemix es"),
        ({"format": 9}, {}, "has format 9, .* reads format 2; use the version"),
        ({"settings": 3}, {}, "is damaged"),
        ({"estimand": "both"}, {}, "is damaged"),
        ({"n_items": "many"}, {}, "is damaged"),
        ({}, {"draws": np.ones((4, 5))}, "is damaged"),
        ({}, {"classify_and_count": np.array(["a", "b"])}, "is damaged"),
        ({}, {"prevalence": np.array([0.5, np.nan])}, "prevalence holds nan"),
        ({}, {"prevalence": np.array([1.5, -0.5])}, "prevalence holds 1.5"),
        ({}, {"prevalence": np.array([0.5, 0.6])}, "prevalence holds shares that add up to 1.1"),
        ({}, {"draws": np.full((20, 2), np.nan)}, "draws holds nan"),
        ({}, {"draws": np.full((20, 2), 0.4)}, "draws holds shares that add up to 0.8"),
        ({}, {"draws": np.full((19, 2), 0.5)}, "draws and other_draws are not of the same length"),
        ({}, {"classes": np.array(["a", "a"])}, "classes names 'a' more than once"),
        ({}, {"classes": np.array([1.0, np.nan])}, "classes has type float64"),
        ({}, {"classes": np.array([["a", "b"]])}, r"classes has type <U1 and shape \(1, 2\)"),
        ({}, {"more": np.zeros(2)}, "holds more, which does not belong there"),
        ({"more": 1}, {}, "its header does not hold what an estimate has"),
        ({"n_items": -1}, {}, "n_items is no whole number of at least 0"),
        ({"n_items": True}, {}, "n_items is no whole number"),
        ({"method": 3}, {}, "method is no text"),
        ({"diagnostics": {"failed": "all"}}, {}, "failed in its diagnostics is not a list"),
        ({"diagnostics": {"converged": False}}, {}, "iterations is no whole number"),
        ({"diagnostics": {"gap": {"$float": "1"}}}, {}, "is damaged"),
        ({"settings": {"$items": [[1, 2], [1, 3]]}}, {}, "a mapping that is none"),
        ({"checks": {"label_shift": {"passed": True}}}, {}, "a check without a verdict"),
        ({"unknown": 1.5}, {}, "the unknown share is not from 0 to 1"),
        ({"source": "here"}, {}, "replicate is missing"),
    ],
)
def test_contents_that_do_not_fit_are_refused(header, arrays, sentence, tmp_path):
    path = tmp_path / "e.npz"
    sampled([1, 2], n_draws=20).save(path)
    old_header, old_arrays = contents(path)
    path.write_bytes(sealed(old_header | header, old_arrays | arrays))
    with pytest.raises(InputError, match=sentence):
        Estimate.load(path)


def test_files_of_other_things_and_missing_ones_are_refused(tmp_path):
    path = tmp_path / "q.npz"
    truemix.save(truemix.PCC().fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"]), path)
    with pytest.raises(InputError, match="holds a 'truemix quantifier'"):
        Estimate.load(path)
    estimate().save(path)
    with pytest.raises(InputError, match="holds a 'truemix estimate'"):
        truemix.load(path)
    with pytest.raises(InputError, match="There is no file"):
        Estimate.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="expected a folder that exists"):
        estimate().save(tmp_path / "missing" / "e")
