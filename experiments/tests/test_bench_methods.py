"""Names of methods and data sets, as users write them."""

import pytest

from truemix.exceptions import InputError
from truemix_experiments.bench import dataset_names, plan
from truemix_experiments.datasets import SUITES
from truemix_experiments.methods import GROUPS, METHODS, method_names, quantifier_of, settings_of
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.published import ABLATION, BAYESIAN, VARIANTS, published_values


def test_every_published_column_can_be_run():
    assert set(published_values("ae").columns) <= set(METHODS)
    assert method_names(["all"]) == tuple(METHODS)
    assert set(GROUPS["point"]) == {*ABLATION, *VARIANTS}
    assert set(BAYESIAN) < set(GROUPS["bootstrap"]) | set(GROUPS["bayesian"])


def test_the_grids_are_those_of_the_paper():
    settings = BenchSettings()
    sizes = {
        point: len(settings_of(point, settings)) * len(settings.classifiers())
        for point in GROUPS["point"]
    }
    assert sizes["CC"] == sizes["EMQ"] == 18
    assert sizes["KDEy(Gau)"] == sizes["KDEy(Ait)"] == 180
    assert sizes["KDEy(Ait-lambda)"] == 1080


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_a_quantifier(name):
    method, settings = METHODS[name], BenchSettings()
    quantifier = quantifier_of(method, settings_of(method.point, settings)[0], settings)
    quantifier.checked_parts()
    assert hasattr(quantifier, "draws") == (method.kind != "point")
    if method.kind == "bayesian":
        assert quantifier.estimand == "population"
        assert getattr(quantifier, "reference_uncertainty", None) == (
            "bootstrap" if method.own else None
        )


def test_unknown_names_are_errors_with_a_hint():
    with pytest.raises(InputError, match=r"no method 'KDE'; expected one of CC, PCC.*calibrated\."):
        method_names(["KDE"])
    with pytest.raises(InputError, match=r"no method 'Bayes-ACD'; did you mean 'Bayes-ACC'\?"):
        method_names(["Bayes-ACD"])
    with pytest.raises(InputError, match="The alpha of a run is -1"):
        plan(["sklearn-iris"], alphas=[-1.0])


def test_suites_run_from_small_to_large_and_names_as_given():
    assert set(dataset_names(["paper"])) == set(SUITES["paper"])
    assert dataset_names(["tabular"]).index("cmc") < dataset_names(["tabular"]).index("letter")
    assert dataset_names(["letter", "cmc", "letter"]) == ("letter", "cmc")


def test_settings_name_what_is_wrong():
    with pytest.raises(InputError, match="bags"):
        BenchSettings(n_bags=0)
    with pytest.raises(InputError, match="seed"):
        BenchSettings(seed=-1)
