"""Saved summaries: the same again, and nothing but what a batch could have left."""

import numpy as np
import pytest

from archive_support import contents, npy, zipped
from support import posteriors
from truemix import InputError, KDEy, Summary, save
from truemix.summaries import is_summary


@pytest.fixture
def quantifier():
    return KDEy(bandwidth=0.4, shrinkage=0.2).fit(*posteriors(100, 3, 0))


@pytest.mark.parametrize("capacity", [None, 100])
def test_a_loaded_summary_is_the_saved_one(quantifier, tmp_path, capacity):
    P, _ = posteriors(1000, 3, 1)
    summary = quantifier.summarize(P, capacity=capacity)
    summary.save(tmp_path / "summary.npz")
    found = Summary.load(tmp_path / "summary.npz")
    assert (found.n_items, found.n_rows, found.exact) == (1000, summary.n_rows, summary.exact)
    np.testing.assert_array_equal(
        quantifier.quantify(found).prevalence, quantifier.quantify(summary).prevalence
    )
    more, _ = posteriors(500, 3, 2)
    added = quantifier.summarize(more, capacity=capacity)
    (found + added).save(tmp_path / "a")
    quantifier.summarize([P, more], capacity=capacity).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_are_told_apart(quantifier, tmp_path):
    quantifier.summarize(posteriors(10, 3, 1)[0]).save(tmp_path / "summary")
    save(quantifier, tmp_path / "quantifier")
    (tmp_path / "text").write_text("a,b\n")
    found = {name: is_summary(tmp_path / name) for name in ("summary", "quantifier", "text", "no")}
    assert found == {"summary": True, "quantifier": False, "text": False, "no": False}
    with pytest.raises(InputError, match="expected a truemix summary"):
        Summary.load(tmp_path / "quantifier")


def changed(path, **arrays):
    """Write a saved file with other arrays and a right checksum."""
    _, found = contents(path)
    with np.load(path) as archive:
        header = archive["truemix"]
    members = {"truemix": header, **found, **arrays}
    members = {name: array for name, array in members.items() if array is not None}
    path.write_bytes(zipped([(f"{name}.npy", npy(array)) for name, array in members.items()]))


WRONG = {
    "rows": lambda rows: rows[::-1].copy(),
    "counts": lambda counts: counts * 0,
    "totals": lambda totals: totals + 1,
    "decided": lambda decided: decided + 1,
    "moments": lambda moments: moments + 2**40,
    "sizes": lambda sizes: sizes * 0,
    "source": lambda source: None,
    "classes": lambda classes: classes[:2],
}


@pytest.mark.parametrize("name", WRONG)
def test_changed_arrays_are_refused(quantifier, tmp_path, name):
    path = tmp_path / "summary.npz"
    quantifier.summarize(posteriors(1000, 3, 1)[0], capacity=100).save(path)
    changed(path, **{name: WRONG[name](contents(path)[1][name])})
    with pytest.raises(InputError, match=r"summary.npz' is damaged, was changed"):
        Summary.load(path)


def test_a_truncated_summary_needs_its_rows(quantifier, tmp_path):
    """Otherwise what is kept of batches to come would be wrong."""
    path = tmp_path / "summary.npz"
    quantifier.summarize(posteriors(50, 3, 1)[0]).save(path)
    sizes = contents(path)[1]["sizes"]
    changed(path, sizes=np.array([*sizes[:2], 1, sizes[3]]))
    with pytest.raises(InputError, match="fewer rows than in a sample"):
        Summary.load(path)
