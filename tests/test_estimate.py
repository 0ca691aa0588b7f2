import numpy as np
import pytest

from truemix import Estimate
from truemix.estimate import EstimateSet


def estimate(n_classes=3, **changes):
    share = np.arange(1.0, n_classes + 1)
    share /= share.sum()
    fields = {
        "classes": np.array([f"class {k}" for k in range(n_classes)]),
        "prevalence": share,
        "counted": np.full(n_classes, 1 / n_classes),
        "train_prevalence": share[::-1].copy(),
        "n_items": 1234,
        "method": "KDEy",
    }
    return Estimate(**{**fields, **changes})


def test_the_repr_is_the_table():
    lines = repr(estimate()).splitlines()
    assert lines[0] == "KDEy: the mix of 1,234 items"
    assert lines[1].split() == ["class", "estimate", "counted", "reference"]
    assert lines[2].split("  ")[0] == "class 0"
    assert lines[2].split()[-6:] == ["16.7", "%", "33.3", "%", "50.0", "%"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_one_item_is_not_plural():
    assert repr(estimate(n_items=1)).startswith("KDEy: the mix of 1 item\n")


def test_many_classes_show_the_largest_and_say_so():
    lines = repr(estimate(100)).splitlines()
    assert len(lines) == 2 + 30 + 1
    assert lines[2].startswith("class 99")
    assert lines[-1] == "… and 70 smaller classes: see .frame()"


def test_a_failed_diagnostic_shows():
    failed = estimate(diagnostics={"converged": False, "iterations": 7, "gap": 0.25})
    assert "Note: The solver stopped after 7 iterations before it converged (gap 2.5e-01)." in repr(
        failed
    )
    assert not estimate(diagnostics={"converged": True, "iterations": 7, "gap": 0.0}).warnings()


def test_the_frame_has_a_row_per_class():
    table = estimate().frame()
    assert table.index.name == "class"
    assert table.index.tolist() == ["class 0", "class 1", "class 2"]
    assert table.columns.tolist() == ["prevalence", "counted", "reference"]
    np.testing.assert_allclose(table["prevalence"], [1 / 6, 2 / 6, 3 / 6])


def test_a_set_is_a_mapping():
    both = EstimateSet({"a": estimate(), "b": estimate()})
    assert list(both) == ["a", "b"]
    assert both["a"].n_items == 1234
    assert len(both.frame()) == 6
    assert repr(EstimateSet({})) == "EstimateSet: no groups"
    with pytest.raises(KeyError):
        both["c"]
