"""Bags that are known already: items without labels, scored by one model or by several."""

import numpy as np
import pytest

from support import posteriors
from truemix import CC, BayesianEMQ, KDEy, evaluate
from truemix.exceptions import InputError
from truemix.protocols import Bag, DirichletBags
from truemix.selection import GridSearch, calibrate_temperature

CLASSES = np.arange(3)


class Published:
    """Bags that somebody has drawn, and only their mixes are known."""

    def __init__(self, bags):
        self.known = bags

    def bags(self, y, classes):
        assert y is None
        np.testing.assert_array_equal(classes, CLASSES)
        return iter(self.known)


@pytest.fixture(scope="module")
def data():
    pool, codes = posteriors(200, 3, seed=1)
    drawn = list(DirichletBags(n_bags=6, bag_size=50).bags(codes, CLASSES))
    return posteriors(90, 3, seed=0), (pool, codes), drawn


def test_evaluation_needs_no_labels_where_mixes_are_known(data):
    references, (pool, codes), drawn = data
    fitted = {
        "classify_and_count": CC().fit(*references),
        "drawn": BayesianEMQ(draws=50, random_state=0).fit(*references),
    }
    expected = evaluate(fitted, pool, codes, protocol=DirichletBags(n_bags=6, bag_size=50))
    found = evaluate(fitted, pool, None, protocol=Published(drawn))
    mixes = ["true", "estimated"]
    for column in mixes:
        np.testing.assert_array_equal(np.stack(found[column]), np.stack(expected[column]))
    assert found.drop(columns=mixes).equals(expected.drop(columns=mixes))


def test_the_width_is_that_of_each_class_by_itself(data):
    references, (pool, _), drawn = data
    fitted = BayesianEMQ(draws=50, random_state=0).fit(*references)
    found = evaluate(fitted, pool, None, protocol=Published(drawn), metrics=["width"])
    for bag, width in zip(drawn, found["width"], strict=True):
        interval = fitted.quantify(pool[bag.index]).interval(0.95)
        assert width == pytest.approx((interval[:, 1] - interval[:, 0]).mean())


def test_evaluation_takes_posteriors_by_several_models(data):
    references, (pool, codes), drawn = data
    fitted = KDEy(bandwidth=0.4, shrinkage=0.1).fit(*references)
    several = np.stack([pool, pool[:, [1, 2, 0]]])
    found = evaluate(fitted, several, codes, protocol=DirichletBags(n_bags=6, bag_size=50))
    expected = [fitted.predict(several[:, bag.index]) for bag in drawn]
    np.testing.assert_allclose(np.stack(found["estimated"]), expected, atol=1e-9)
    with pytest.raises(InputError, match="200"):
        evaluate(fitted, several, codes[:2], protocol=DirichletBags())


def test_settings_are_chosen_on_published_bags(data):
    references, (pool, codes), drawn = data
    grid = {"bandwidth": [0.1, 0.5, 2.0], "shrinkage": [0.1]}
    options = {"refit": False, "verbose": False}
    found, expected = (
        GridSearch(KDEy(), grid, protocol=protocol, validation=(pool, y), **options)
        .fit(*references)
        .results_.drop(columns="seconds")
        for protocol, y in (
            (Published(drawn), None),
            (DirichletBags(n_bags=6, bag_size=50), codes),
        )
    )
    assert found.equals(expected)


def test_a_temperature_is_chosen_on_published_bags(data):
    references, (pool, codes), drawn = data
    found, expected = (
        calibrate_temperature(
            BayesianEMQ(draws=50, random_state=0), *references, protocol=protocol, grid=[1, 5],
            validation=(pool, y), verbose=False,
        ).results
        for protocol, y in (
            (Published(drawn), None),
            (DirichletBags(n_bags=6, bag_size=50), codes),
        )
    )  # fmt: skip
    assert found.equals(expected)


def test_protocols_that_draw_need_labels(data):
    references, (pool, _), _ = data
    with pytest.raises(InputError, match="DirichletBags draws bags by the labels of items, but y"):
        evaluate(CC().fit(*references), pool, None, protocol=DirichletBags())


@pytest.mark.parametrize(
    ("protocol", "message"),
    [(Published([]), "The protocol made no bags"), ("dirichlet", "'protocol'")],
)
def test_what_makes_no_bags_is_no_protocol(data, protocol, message):
    references, (pool, _), _ = data
    with pytest.raises(InputError, match=message):
        evaluate(CC().fit(*references), pool, None, protocol=protocol)


def test_a_bag_outside_the_items_is_an_error(data):
    references, (pool, _), _ = data
    beyond = Published([Bag(np.array([200]), np.full(3, 1 / 3))])
    with pytest.raises(InputError, match="row number 200"):
        evaluate(CC().fit(*references), pool, None, protocol=beyond)
