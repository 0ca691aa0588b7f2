import pytest

from truemix import InputError
from truemix_experiments.published import (
    ABLATION,
    BAYESIAN,
    BOOTSTRAP,
    METRICS,
    POINT,
    calibrated,
    paper_datasets,
    published_text,
    published_values,
    shown_method,
)
from truemix_experiments.statistics import row_ranks, symbol_matrix

# Ranks that the paper prints, over all data sets.
RANKS = {
    ("ae", POINT): [4.6, 5.7, 4.1, 2.5, 2.2, 1.9],
    ("w", POINT): [4.5, 5.5, 4.0, 2.5, 2.3, 2.2],
    ("ae", BAYESIAN): [4.6, 5.6, 3.9, 2.9, 2.1, 1.9],
    ("w", BAYESIAN): [4.5, 5.5, 3.9, 2.6, 2.5, 2.1],
    ("ae", ABLATION): [5.4, 6.5, 5.0, 3.1, 2.6, 3.2, 2.2],
    ("w", ABLATION): [5.3, 6.3, 4.8, 3.0, 2.7, 3.3, 2.6],
}


def test_nothing_is_missing():
    assert len(paper_datasets()) == 42
    count = {kind: list(paper_datasets().values()).count(kind) for kind in ("tabular", "text")}
    assert count == {"tabular": 22, "text": 15}
    for metric in ("ae", "w"):
        values = published_values(metric)
        assert values[[*ABLATION, *BAYESIAN]].notna().all(axis=None)
    for metric in ("hard", "soft", "amplitude"):
        both = [*BAYESIAN, *(calibrated(m) for m in BAYESIAN if m not in BOOTSTRAP)]
        assert published_values(metric)[both].notna().all(axis=None)
    assert published_values("shrinkage")["KDEy(Ait-lambda)"].notna().all()


@pytest.mark.parametrize(("metric", "methods"), RANKS)
def test_ranks_of_the_values_are_those_the_paper_prints(metric, methods):
    ranks = row_ranks(published_values(metric)[list(methods)]).mean(axis=0)
    # Values are rounded, so that some ties are none.
    assert ranks == pytest.approx(RANKS[metric, methods], abs=0.1)


@pytest.mark.parametrize(
    ("methods", "rows"),
    [
        (POINT, ["=≪≫≫≫≫", "≫=≫≫≫≫", "≪≪=≫≫≫", "≪≪≪=≈>", "≪≪≪≈=≈", "≪≪≪<≈="]),
        (BAYESIAN, ["=≪≫≫≫≫", "≫=≫≫≫≫", "≪≪=>≫≫", "≪≪<=>>", "≪≪≪<=≈", "≪≪≪<≈="]),
    ],
)
def test_symbols_of_the_values_are_those_the_paper_prints(methods, rows):
    matrix = symbol_matrix(published_values("ae")[list(methods)])
    assert ["".join(row) for row in matrix] == rows


@pytest.mark.parametrize(
    ("metric", "method", "mean", "sd"),
    [
        ("hard", "Bayes-ACC", 13.3, 21.7),
        ("hard", "Bayes-KDEy(Gau)-cal", 12.9, 18.0),
        ("soft", "Bayes-KDEy(Ait-lambda)", 7.9, 14.1),
        ("soft", "Boots-CC", 39.3, 28.1),
    ],
)
def test_printed_coverage_gaps_are_shortfalls(metric, method, mean, sd):
    gap = (95 - published_values(metric)[method]).clip(lower=0)
    assert gap.mean() == pytest.approx(mean, abs=0.1)
    assert gap.std(ddof=0) == pytest.approx(sd, abs=0.1)


def test_small_amplitudes_are_text_and_half_of_their_bound():
    assert published_text("amplitude").at["abalone", "Boots-CC"] == "<0.1"
    assert published_values("amplitude").at["abalone", "Boots-CC"] == 0.05


def test_unknown_datasets_are_empty_and_capitals_do_not_matter():
    text = published_text("ae", ["fashionmnist", "mine"])
    assert text.at["fashionmnist", "CC"] == "0.0083"
    assert (text.loc["mine"] == "").all()
    assert published_values("ae", ["mine"]).isna().all(axis=None)


def test_unknown_metrics_are_refused():
    with pytest.raises(InputError, match="metric"):
        published_values("kld")
    assert "ae" in METRICS


def test_shown_names():
    assert shown_method("KDEy(Ait-lambda)") == "KDEy(Ait-λ)"
    assert shown_method("Bayes-KDEy(Ait-lambda)+") == "Bayes-KDEy(Ait-λ)+"
    with pytest.raises(InputError, match="calibrated already"):
        calibrated("Bayes-ACC-cal")
