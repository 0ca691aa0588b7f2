"""truemix beside QuaPy: its evaluation takes our quantifiers, its collections are explained."""

import numpy as np
import pytest
import quapy as qp
from quapy.data import LabelledCollection
from quapy.protocol import UPP

from support import posteriors
from truemix import EMQ, KDEy
from truemix.exceptions import InputError
from truemix.metrics import absolute_error


@pytest.fixture(scope="module")
def collections():
    return LabelledCollection(*posteriors(300, 3, 0)), LabelledCollection(*posteriors(600, 3, 1))


def test_quapy_evaluates_a_quantifier_as_it_is(collections):
    train, test = collections
    quantifier = KDEy(bandwidth=0.5, shrinkage=0.1).fit(*train.Xy)
    protocol = UPP(test, sample_size=50, repeats=5, random_state=0)
    error = qp.evaluation.evaluate(quantifier, protocol=protocol, error_metric="mae")
    own = [absolute_error(truth, quantifier.predict(X)) for X, truth in protocol()]
    assert error == pytest.approx(np.mean(own))
    report = qp.evaluation.evaluation_report(quantifier, protocol, error_metrics=["mae"])
    assert report["mae"].mean() == pytest.approx(error)


def test_a_collection_is_answered_with_what_to_give(collections):
    train, test = collections
    with pytest.raises(InputError, match=r"give its items and labels: fit\(\*data\.Xy\)\.$"):
        EMQ().fit(train)
    fitted = EMQ().fit(*train.Xy)
    for wrong in (lambda: EMQ().fit(train, train.y), lambda: fitted.quantify(test)):
        with pytest.raises(InputError, match=r"^X is a LabelledCollection.*its items: data\.X\.$"):
            wrong()


def test_missing_labels_are_named(collections):
    with pytest.raises(
        InputError, match=r"^fit requires y .* None; pass a label for each row of X\.$"
    ):
        EMQ().fit(collections[0].X)
