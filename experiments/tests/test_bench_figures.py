import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from results_support import run, write_runs
from truemix import InputError
from truemix_experiments.figures import (
    FIGURES,
    WITHOUT_RESULTS,
    draw_figure,
    kernels,
    shrinkage,
    write_figures,
)
from truemix_experiments.figures.coverage import coverage_points
from truemix_experiments.figures.shift import shift_ranks
from truemix_experiments.figures.violins import errors_by_alpha
from truemix_experiments.published import BAYESIAN, calibrated
from truemix_experiments.results import read_results, write_result

OWN = "Bayes-KDEy(Ait-lambda)+"
METHODS = (*BAYESIAN, OWN, *(calibrated(m) for m in BAYESIAN[2:]))
ALPHAS = (0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_runs(folder, ["yeast", "sst"], METHODS, ALPHAS, n_bags=15)
    write_runs(folder, ["MNIST"], METHODS, n_bags=15)
    return read_results(folder)


def parameters():
    # Looking at the backend is what chooses it.
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}


@pytest.fixture(autouse=True)
def nothing_global_changes():
    """Other libraries that tests import change matplotlib's style for the whole process."""
    with mpl.rc_context():
        mpl.rcdefaults()
        before = parameters()
        yield
        assert parameters() == before


@pytest.fixture(autouse=True)
def coarse_grids(monkeypatch):
    monkeypatch.setattr(kernels, "SIZE", 61)
    monkeypatch.setattr(shrinkage, "SIZE", 41)


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_shown_names_and_no_text_crosses_their_edge(results, name):
    figure = draw_figure(name, results)
    if name not in WITHOUT_RESULTS:
        assert "Bayes-KDEy(Ait-λ)+" in texts(figure)
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    assert box.min.min() > -0.02
    assert (box.max < figure.get_size_inches() + 0.02).all()


def test_figures_are_written_in_the_format_of_their_ending(results, tmp_path):
    endings = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    paths = write_figures(
        tmp_path / "new", results, names=["coverage-amplitude"], endings=list(endings)
    )
    assert [p.name for p in paths] == [f"coverage-amplitude.{e}" for e in endings]
    for path in paths:
        assert path.read_bytes().startswith(endings[path.suffix[1:]])


def test_without_results_only_the_pictures_of_kernels_are_drawn(tmp_path):
    paths = write_figures(tmp_path, endings=["png"])
    assert [p.stem for p in paths] == ["kernel-mismatch", "shrinkage"]
    with pytest.raises(InputError, match="shows results"):
        draw_figure("shift-ranks")
    with pytest.raises(InputError, match="endings"):
        write_figures(tmp_path, endings=["gif"])
    with pytest.raises(InputError, match="name"):
        draw_figure("pie")


def test_results_without_intervals_are_refused_by_name(tmp_path):
    write_result(tmp_path, run("yeast", "CC"))
    results = read_results(tmp_path)
    for name in ("shift-ranks", "error-violins", "coverage-amplitude"):
        with pytest.raises(InputError, match="expected some for the figure"):
            draw_figure(name, results)


def test_bags_are_split_into_thirds_by_shift(results):
    ranks = shift_ranks(results)
    assert set(ranks["modality"]) == {"tabular", "text", "image"}
    one = ranks[(ranks["modality"] == "tabular") & (ranks["method"] == "Boots-CC")]
    assert one["n_bags"].tolist() == [5, 5, 5]
    rows = [run("yeast", m, n_bags=15).rows for m in (*BAYESIAN,)]
    low = np.argsort(rows[0]["shift"].to_numpy())[:5]
    errors = np.column_stack([r["ae"].to_numpy()[low] for r in rows])
    expected = (errors <= errors[:, :1]).sum(axis=1)
    assert one["mean"].iloc[0] == pytest.approx(expected.mean())
    assert one["sd"].iloc[0] == pytest.approx(expected.std())


def test_violins_leave_out_datasets_without_all_alphas(results):
    errors = errors_by_alpha(results)
    assert set(errors["dataset"]) == {"yeast", "sst"}
    assert set(errors["alpha"]) == set(ALPHAS)
    assert "bags of 2 data sets" in " ".join(texts(draw_figure("error-violins", results)))


def test_coverage_has_a_point_per_dataset_and_method(results):
    points = coverage_points(results)
    assert (points["panel"] == "T = 1").sum() == 3 * 7
    assert (points["panel"] != "T = 1").sum() == 3 * 4
    one = points[(points["dataset"] == "sst") & (points["method"] == "Bayes-EMQ")]
    rows = run("sst", "Bayes-EMQ-cal", n_bags=15).rows
    assert one["hard"].iloc[1] == pytest.approx(100 * rows["hard"].mean())
    assert one["amplitude"].iloc[1] == pytest.approx(rows["amplitude"].mean())


def test_gaussian_kernels_leak_as_much_as_samples_do(monkeypatch):
    monkeypatch.setattr(kernels, "SIZE", 201)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, kernels.BANDWIDTHS["gaussian"], size=(100_000, 3))
    noise -= noise.mean(axis=1, keepdims=True)
    sampled = [((centre + noise) < 0).any(axis=1).mean() for centre in kernels.CENTRES]
    np.testing.assert_allclose(kernels.mass_outside(), sampled, atol=0.01)


def test_kernels_are_normal_in_their_coordinates():
    centre, h = kernels.CENTRES[1], kernels.BANDWIDTHS
    mix = np.array([[[0.2, 0.5, 0.3]]])
    euclid = ((mix[0, 0] - centre) ** 2).sum() / (2 * h["gaussian"] ** 2)
    assert kernels.log_kernels(mix, "gaussian")[0, 0, 1] == pytest.approx(-euclid)
    log = np.log(mix[0, 0] / centre)
    aitchison = ((log - log.mean()) ** 2).sum() / (2 * h["aitchison"] ** 2)
    assert kernels.log_kernels(mix, "aitchison")[0, 0, 1] == pytest.approx(-aitchison)
    outside = np.array([[[-0.1, 0.6, 0.5]]])
    assert np.isneginf(kernels.log_kernels(outside, "aitchison")).all()
    assert np.isfinite(kernels.log_kernels(outside, "gaussian")).all()


def test_shrunk_kernels_become_round():
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    circle = shrinkage.CENTRE + 0.3 * np.column_stack([np.cos(angles), np.sin(angles)]) @ plane
    spread = [np.ptp(shrinkage.kernel_values(circle, 0.75, lam)) for lam in (0.0, 0.5, 0.9, 0.999)]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] > 0.1
    assert spread[-1] < 1e-3


def test_both_rows_of_the_shrinkage_figure_show_the_same_kernel():
    mixes = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    shrunk = 0.75 * mixes + 0.25 / 3
    np.testing.assert_allclose(
        shrinkage.kernel_values(shrunk, 0.75 * 0.75, 0.0),
        shrinkage.kernel_values(mixes, 0.75, 0.25),
    )


def test_tables_do_not_import_matplotlib():
    code = (
        "import sys, truemix_experiments.tables, truemix_experiments.figures; "
        "heavy = {'matplotlib', 'pandas', 'pyarrow', 'scipy', 'sklearn'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
