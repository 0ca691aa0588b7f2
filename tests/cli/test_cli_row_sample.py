"""How many rows are enough: the rule against runs with fewer rows, and what ``--sample`` takes."""

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, fails, reference_frame, run, written
from support import posteriors
from truemix import BayesianKDEy, KDEy
from truemix.cli import _row_sample
from truemix.cli._row_sample import about_enough, capacity_of, enough_rows, sampling_width

LABEL = ("--label", "label")
MIX = [0.6, 0.3, 0.1]


def width_of(estimate):
    lower, upper = estimate.interval(0.95).T
    return upper - lower


@pytest.fixture(scope="module")
def quantifier():
    P, codes = posteriors(400, 3, 0)
    kde = BayesianKDEy(
        bandwidth=0.4, shrinkage=0.3, draws=2000, self_calibration=False, random_state=0
    )
    return kde.fit(P, codes)


@pytest.fixture(scope="module")
def estimated(quantifier):
    """Summaries of four batches of one mix, and their estimates."""
    batches = [posteriors(3000, 3, seed, mix=MIX)[0] for seed in range(1, 5)]
    summaries = [quantifier.summarize(batch) for batch in batches]
    return [(summary, quantifier.quantify(summary)) for summary in summaries]


@pytest.mark.parametrize("n_rows", [100, 300])
def test_the_width_with_fewer_rows_is_known_without_a_run(quantifier, estimated, n_rows):
    forecast, measured, whole = [], [], []
    for summary, estimate in estimated:
        whole.append(width_of(estimate))
        forecast.append(np.hypot(whole[-1], sampling_width(estimate, n_rows, 0.95)))
        sampled = quantifier.quantify(summary.limited(capacity_of(n_rows)))
        assert sampled.n_items == 3000
        measured.append(width_of(sampled))
    forecast, measured, whole = (np.mean(each, axis=0) for each in (forecast, measured, whole))
    # The sample matters here, and a width from 2,000 draws has an error of 3 %; half of that for
    # the mean of four. What a sample leaves open beside its error is not in the forecast.
    assert (measured > 1.05 * whole).any() or n_rows > 100
    np.testing.assert_allclose(forecast, measured, rtol=0.12)


def test_as_many_rows_as_proposed_give_intervals_that_are_hardly_wider(
    quantifier, estimated, monkeypatch
):
    monkeypatch.setattr(_row_sample, "MANY_ROWS", 1000)
    monkeypatch.setattr(_row_sample, "SIZES", (100, 200, 400, 800))
    monkeypatch.setattr(_row_sample, "WIDER", 0.001)
    wider = []
    for summary, estimate in estimated:
        n_rows = enough_rows(estimate, 0.95)
        assert n_rows is not None
        assert f"--sample {n_rows} takes as many" in about_enough(estimate, 0.95)
        sampled = quantifier.quantify(summary.limited(capacity_of(n_rows)))
        wider.append(width_of(sampled) - width_of(estimate))
    # Widths are about 0.05 with an error of 3 %, so that the mean difference of four pairs has one
    # of 0.001; three of them are allowed.
    assert np.mean(wider, axis=0).max() < 0.001 + 0.003


def test_nothing_is_proposed_where_it_would_save_little(estimated):
    # There are few rows,
    _, estimate = estimated[0]
    assert enough_rows(estimate, 0.95) is None
    # and a point estimate has no intervals.
    P, codes = posteriors(400, 3, 0)
    point = KDEy(bandwidth=0.4, shrinkage=0.3).fit(P, codes).quantify(P)
    assert about_enough(point, 0.95) is None


def target_of(n):
    P, _ = posteriors(n, 3, 1, mix=MIX)
    return pd.DataFrame(P, columns=CLASSES)


def test_a_sample_does_not_depend_on_the_order_of_rows_or_files(capsys, tmp_path):
    target = target_of(1000)
    files = written(tmp_path, reference_frame(), target)
    method = ("--method", "kdey", "--bandwidth", "0.3", "--shrinkage", "0.5", "--no-check")
    options = (*LABEL, *method, "--sample", "200", "--format", "json")
    whole = run(capsys, "estimate", *files, *options).json
    [group] = whole["groups"]
    assert group["n_items"] == 1000
    assert 200 <= group["diagnostics"]["summary"]["n_rows"] < 300
    assert group["diagnostics"]["summary"]["exact"] is False
    assert "--sample 200" in whole["command"]
    mixed = target.sample(frac=1.0, random_state=3)
    mixed[:300].to_csv(tmp_path / "a.csv", index=False)
    mixed[300:].to_parquet(tmp_path / "b.parquet")
    parts = [tmp_path / "b.parquet", tmp_path / "a.csv"]
    assert run(capsys, "estimate", files[0], *parts, *options).json["groups"] == [group]


def test_summaries_can_be_samples_too_and_can_be_sampled(capsys, tmp_path):
    files = written(tmp_path, reference_frame(), target_of(1000))
    options = (*LABEL, "--method", "pcc", "--format", "json")
    direct = run(capsys, "estimate", *files, *options, "--sample", "200").json["groups"]
    for name, first, then in (("a.npz", ["--sample", "200"], []), ("b.npz", [], ["--sample", 200])):
        out = tmp_path / name
        assert run(capsys, "summarize", *files, *options, *first, "--out", out).code == 0
        assert run(capsys, "estimate", files[0], out, *options, *then).json["groups"] == direct


def test_wrong_samples(capsys, tmp_path):
    files = written(tmp_path)
    expected = (
        "expected from 100 rows, which tell the error of a sample, to 200,000, which are kept"
    )
    for number in ("5", "1000000"):
        sentence = fails(capsys, "estimate", *files, *LABEL, "--sample", number)
        assert sentence.startswith(f"The option --sample is {number}; {expected}")
    labels = tmp_path / "labels.csv"
    labels.write_text("row,label\n1,egg\n")
    assert fails(capsys, "estimate", *files, *LABEL, "--labelled", labels, "--sample", "100") == (
        "With labels of TARGET all of its items are read at once, so that --sample has no meaning; "
        "leave it out."
    )
