import json

import numpy as np
import pytest

import truemix
from estimate_support import estimate, sampled
from truemix import Estimate, InputError
from truemix.estimates.files import decode, encode


def same(first, second):
    for name in ("classes", "prevalence", "counted", "train_prevalence", "draws", "other_draws"):
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


def test_damage_anywhere_is_an_error_or_harmless(tmp_path):
    path = tmp_path / "e.npz"
    given = sampled([1, 2], n_draws=20)
    given.save(path)
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            loaded = Estimate.load(path)
        except InputError as error:
            assert str(path) in str(error)
        else:
            assert same(given, loaded)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"damaged or not a saved estimate .* that Estimate.save"):
        Estimate.load(path)


@pytest.mark.parametrize(
    ("header", "arrays", "sentence"),
    [
        ({"kind": "truemix quantifier"}, {}, "holds a 'truemix quantifier'; expected a truemix es"),
        ({"format": 9}, {}, "has format 9, .* reads format 1; update truemix"),
        ({"settings": 3}, {}, "is damaged"),
        ({"estimand": "both"}, {}, "is damaged"),
        ({"n_items": "many"}, {}, "is damaged"),
        ({}, {"draws": np.ones((4, 5))}, "is damaged"),
        ({}, {"counted": np.array(["a", "b"])}, "is damaged"),
    ],
)
def test_contents_that_do_not_fit_are_refused(header, arrays, sentence, tmp_path):
    path = tmp_path / "e.npz"
    sampled([1, 2], n_draws=20).save(path)
    with np.load(path) as archive:
        contents = dict(archive)
    text = json.dumps(json.loads(contents["header"].tobytes()) | header).encode()
    contents |= {"header": np.frombuffer(text, dtype=np.uint8), **arrays}
    with path.open("wb") as file:
        np.savez(file, **contents)
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
