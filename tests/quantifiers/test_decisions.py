"""Decisions of one or several judges in place of posteriors."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import gammaln

import truemix
from truemix import ACC, CC, BayesianACC, Bootstrap, InputError, KDEy, MixtureQuantifier
from truemix.checks import label_shift
from truemix.inference import MaximumLikelihood
from truemix.models import Confusion
from truemix.protocols import DirichletBags
from truemix.quantifiers import decisions as module
from truemix.summaries import Summary

VALUES, CLASSES = np.array(["good", "bad", "unsure"]), np.array(["good", "bad"])
RATES = np.array([[[0.8, 0.12, 0.08], [0.2, 0.7, 0.1]], [[0.9, 0.1, 0.0], [0.3, 0.6, 0.1]]])
FAST = {"draws": 200, "warmup": 100, "random_state": 0}


def answers(n, good, seed, rates=RATES[:1]):
    """Draw labels and the verdicts of judges who are independent given the label."""
    rng = np.random.default_rng(seed)
    bad = (rng.random(n) >= good).astype(int)
    steps = np.array(rates).cumsum(axis=2)[:, bad]
    places = (rng.random((len(rates), n))[..., None] > steps).sum(axis=2)
    columns = VALUES[places.T]
    return columns[:, 0] if len(rates) == 1 else columns, CLASSES[bad]


REFERENCE, LABELS = answers(300, 0.6, 0)
TARGET, TRUTH = answers(1000, 0.85, 1)
# Two judges with combinations that are filled well enough, and with too few references.
PAIR, PAIR_LABELS = answers(600, 0.5, 2, RATES)
FEW = np.arange(100)


def one_hot(values, order):
    return (np.asarray(values)[:, None] == np.asarray(order)).astype(float)


# --- what the answers are -------------------------------------------------------------------------


def test_decisions_for_all_classes_are_one_hot_posteriors():
    kept, batch = REFERENCE != "unsure", TARGET[TARGET != "unsure"]
    order = ["bad", "good"]
    for method in (ACC(), CC(), BayesianACC(**FAST)):
        given = method.fit(REFERENCE[kept], LABELS[kept]).quantify(batch)
        posteriors = one_hot(REFERENCE[kept], order)
        other = method.fit(posteriors, LABELS[kept]).quantify(one_hot(batch, order))
        assert (given.prevalence == other.prevalence).all()


def test_the_confusion_matrix_has_a_column_for_each_decision():
    quantifier = BayesianACC(**FAST).fit(REFERENCE, LABELS)
    assert quantifier.decisions_ == ["bad", "good", "unsure"]
    expected = pd.crosstab(LABELS, REFERENCE).to_numpy()
    assert (quantifier.confusion_counts_ == expected).all()
    assert ACC().fit(REFERENCE, LABELS).confusion_.shape == (3, 2)


def test_acc_solves_the_equations_of_the_expected_shares():
    # The shares of three decisions under the mix (0.7, 0.3) exactly, so that it is recovered.
    reference = ["good"] * 6 + ["unsure"] * 4 + ["good"] * 2 + ["bad"] * 8
    labels = ["good"] * 10 + ["bad"] * 10
    batch = ["good"] * (42 + 6) + ["unsure"] * 28 + ["bad"] * 24
    share = ACC().fit(reference, labels).predict(batch)
    np.testing.assert_allclose(share, [0.3, 0.7], atol=1e-9)


def exact_mean(counts, seen):
    """Return the posterior mean of the share of the second class, over all labels of the items."""
    total = mean = 0.0
    for first in itertools.product(*(range(n + 1) for n in seen)):
        labels = np.array([first, np.array(seen) - first])
        cells = 1.0 + counts + labels
        weight = (gammaln(np.array(seen) + 1.0) - gammaln(labels + 1.0).sum(axis=0)).sum()
        weight += gammaln(1.0 + labels.sum(axis=1)).sum()
        weight += (gammaln(cells).sum(axis=1) - gammaln(cells.sum(axis=1))).sum()
        total += np.exp(weight)
        mean += np.exp(weight) * (1.0 + labels[1].sum()) / (2.0 + sum(seen))
    return mean / total


@pytest.mark.parametrize("unseen", [0, 2])
def test_the_posterior_is_the_enumerated_one_with_a_column_for_unseen_decisions(unseen):
    reference = ["a"] * 6 + ["b"] * 2 + ["?"] * 2 + ["a"] + ["b"] * 3 + ["?"]
    labels = ["a"] * 10 + ["b"] * 5
    counts, seen = np.array([[6, 2, 2], [1, 3, 1]]), [3, 4, 1]
    batch = ["a"] * 3 + ["b"] * 4 + ["?"] + ["refused"] * unseen
    quantifier = BayesianACC(draws=4000, random_state=0, estimand="population")
    estimate = quantifier.fit(reference, labels).quantify(batch)
    if unseen:
        # The class with fewer references is known less well, and more likely to say new things.
        counts, seen = np.column_stack([counts, [0, 0]]), [*seen, unseen]
        assert "2 items have decisions that no reference has" in repr(estimate)
    error = estimate.draws[:, 1].std() / np.sqrt(estimate.diagnostics["ess"])
    assert abs(estimate.prevalence[1] - exact_mean(counts, seen)) < 4 * error


def test_intervals_hold_the_mix_as_often_as_they_say():
    rng, level, n_sets = np.random.default_rng(5), 0.8, 60
    held = 0
    for _ in range(n_sets):
        # From the prior of mix and rates, under which the posterior is exactly calibrated.
        rates, mix = rng.dirichlet(np.ones(3), (1, 2)), rng.random()
        seed = int(rng.integers(2**32))
        reference, _ = answers(30, 1.0, seed, rates)
        others, _ = answers(20, 0.0, seed + 1, rates)
        quantifier = BayesianACC(draws=200, warmup=100, random_state=seed, estimand="population")
        quantifier.fit([*reference, *others], ["good"] * 30 + ["bad"] * 20)
        batch, _ = answers(100, mix, seed + 2, rates)
        low, high = quantifier.quantify(batch).interval(level)[1]
        held += low <= mix <= high
    # Three standard deviations of a binomial share.
    assert abs(held / n_sets - level) < 3 * np.sqrt(level * (1 - level) / n_sets)


def test_decisions_that_are_no_class_count_for_the_class_most_references_with_them_have():
    reference, labels = ["good", "unsure", "unsure", "bad"], ["good", "bad", "bad", "good"]
    estimate = ACC().fit(reference, labels).quantify(["good", "bad", "unsure", "unsure"])
    # "bad" is a class, although the only reference with it is good.
    assert estimate.classify_and_count.tolist() == [0.75, 0.25]


# --- several judges -------------------------------------------------------------------------------


def test_verdicts_are_combined_where_references_fill_the_combinations():
    frame = pd.DataFrame(PAIR, columns=["gpt", "claude"])
    quantifier = BayesianACC(**FAST).fit(frame, PAIR_LABELS)
    assert quantifier.settings()["judges"]["model"] == "combination"
    assert len(quantifier.decisions_) == 9
    joined = [f"{a} {b}" for a, b in PAIR]
    single = ACC().fit(joined, PAIR_LABELS)
    share = ACC().fit(frame, PAIR_LABELS).predict(frame[:200])
    np.testing.assert_allclose(share, single.predict(joined[:200]), atol=1e-9)
    assert "The verdicts of gpt and claude are taken together" in repr(
        quantifier.quantify(frame[:200])
    )


def test_judges_are_independent_given_the_class_where_references_are_few():
    quantifier = BayesianACC(**FAST).fit(PAIR[FEW], PAIR_LABELS[FEW])
    assert quantifier.settings()["judges"]["model"] == "conditional independence"
    estimate = quantifier.quantify(PAIR)
    assert "judge 1 and judge 2; given the class" in repr(estimate)
    assert estimate.diagnostics["failed"] == []
    assert ACC().fit(PAIR[FEW], PAIR_LABELS[FEW]).settings()["judges"]["model"] == "separate shares"


def test_both_models_of_several_judges_agree_where_judges_are_independent(monkeypatch):
    batch, truth = answers(2000, 0.85, 7, RATES)
    combined = BayesianACC(random_state=0).fit(PAIR, PAIR_LABELS).quantify(batch)
    monkeypatch.setattr(module, "MIN_PER_COMBINATION", 10**9)
    separate = BayesianACC(random_state=0).fit(PAIR, PAIR_LABELS).quantify(batch)
    spread = combined.draws[:, 1].std()
    # Both see the same data: they differ by less than either one's own uncertainty.
    assert abs(combined.prevalence[1] - separate.prevalence[1]) < spread
    # What is assumed in addition can only sharpen the answer, up to the chance in draws.
    assert separate.draws[:, 1].std() < 1.1 * spread
    low, high = separate.interval(0.99)[1]
    assert low <= (truth == "good").mean() <= high


def test_acc_matches_the_shares_of_each_judge_where_references_are_few():
    # Expected shares of both judges under the mix (0.75, 0.25), although they err together.
    reference = [["g", "g"]] * 9 + [["b", "b"]] + [["b", "b"]] * 8 + [["g", "g"]] * 2
    labels = ["good"] * 10 + ["bad"] * 10
    batch = [["g", "g"]] * 29 + [["b", "b"]] * 11
    quantifier = ACC().fit(reference, labels)
    assert quantifier.given_decisions.model == "separate shares"
    np.testing.assert_allclose(quantifier.predict(batch), [0.25, 0.75], atol=1e-9)


# --- everything else goes with them ---------------------------------------------------------------


def test_any_kind_of_column_is_read():
    expected = ACC().fit(REFERENCE, LABELS).predict(TARGET)
    numbers = {"good": 2, "bad": 1, "unsure": 0}
    kinds = {
        "list": list,
        "object": lambda each: np.array(each, dtype=object),
        "series": pd.Series,
        "categorical": pd.Categorical,
        "frame": lambda each: pd.DataFrame({"judge": each}),
        "polars": lambda each: pl.Series(each.tolist(), dtype=pl.Categorical),
        "arrow": lambda each: pa.array(each.tolist()).dictionary_encode(),
        "chunks": lambda each: pa.chunked_array([each.tolist()]),
        "integers": lambda each: np.array([numbers[value] for value in each]),
        "floats": lambda each: pd.Series([float(numbers[value]) for value in each]),
        "array of one column": lambda each: each[:, None],
    }
    for name, kind in kinds.items():
        found = ACC().fit(kind(REFERENCE), LABELS).predict(kind(TARGET))
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


def test_truth_values_are_decisions_for_classes_of_truth_values():
    said, truth = np.array([True, True, False, False]), np.array([True, False, False, False])
    assert CC().fit(said, truth).predict([True, False, False, False]).tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    "data",
    [(REFERENCE, LABELS), (PAIR, PAIR_LABELS), (PAIR[FEW], PAIR_LABELS[FEW])],
    ids=["one judge", "combined", "independent"],
)
def test_saved_quantifiers_and_summaries_answer_as_before(data, tmp_path):
    reference, labels = data
    batch = reference[: len(reference) // 2]
    methods = (
        ACC(),
        BayesianACC(**FAST),
        Bootstrap(ACC(), references=True, draws=20, random_state=0),
        MixtureQuantifier(model=Confusion(), inference=MaximumLikelihood()),
    )
    for quantifier in methods:
        estimate = quantifier.fit(reference, labels).quantify(batch)
        truemix.save(quantifier, tmp_path / "quantifier")
        loaded = truemix.load(tmp_path / "quantifier")
        assert (loaded.quantify(batch).prevalence == estimate.prevalence).all()
        parts = [quantifier.summarize(batch[:40]), quantifier.summarize(batch[40:])]
        (parts[0] + parts[1]).save(tmp_path / "summary")
        found = loaded.quantify(Summary.load(tmp_path / "summary"))
        assert (found.prevalence == estimate.prevalence).all()
        assert found.n_items == len(batch)


def test_batches_groups_and_bags_are_estimated():
    quantifier = ACC().fit(pd.DataFrame({"judge": REFERENCE}), LABELS)
    table = pa.table({"judge": TARGET.tolist(), "week": (np.arange(1000) // 500).tolist()})
    whole = quantifier.predict(TARGET)
    np.testing.assert_allclose(
        quantifier.predict(iter([table.select(["judge"])[:300], table.select(["judge"])[300:]])),
        whole,
    )
    weeks = quantifier.quantify_by(table, "week")
    assert [each.n_items for each in weeks.values()] == [500, 500]
    np.testing.assert_allclose(weeks[0].prevalence, quantifier.predict(TARGET[:500]))
    [bag] = quantifier.quantify_bags(TARGET, [np.arange(500)])
    np.testing.assert_allclose(bag.prevalence, weeks[0].prevalence)


def test_backtests_and_evaluations_work():
    for quantifier in (ACC(), BayesianACC(**FAST)):
        tested = truemix.backtest(
            quantifier, REFERENCE, LABELS, bag_size=30, n_bags=6, n_folds=2, n_references=100,
            random_state=0, verbose=False,
        )  # fmt: skip
        assert tested.summary()["mean_error"] < 0.35
    fitted = ACC().fit(REFERENCE, LABELS)
    frame = truemix.evaluate(fitted, TARGET, TRUTH, protocol=DirichletBags(n_bags=5, bag_size=100))
    assert frame.absolute_error.mean() < 0.2


def test_the_check_sees_decisions_that_no_mix_makes():
    quantifier = BayesianACC(**FAST).fit(*answers(1000, 0.6, 3))
    batch, _ = answers(1000, 0.85, 4)
    assert label_shift(quantifier, batch, random_state=0).passed
    changed, _ = answers(1000, 0.85, 4, [[[0.4, 0.1, 0.5], [0.2, 0.3, 0.5]]])
    estimate = quantifier.quantify(changed, check=True)
    assert not estimate.checks["label_shift"].passed
    methods = [answer.method for answer in estimate.answers.answers]
    assert methods == ["BayesianACC", "BayesianACC", "classes by decision", "reference"]


def test_labels_of_the_batch_and_performance_go_with_decisions():
    quantifier = BayesianACC(**FAST).fit(REFERENCE, LABELS)
    plain = quantifier.quantify(TARGET)
    known = quantifier.quantify(TARGET, labels=dict(enumerate(TRUTH[:400])))
    true = (TRUTH == "good").mean()
    width = [float(np.diff(each.interval()[1])[0]) for each in (plain, known)]
    assert width[1] < width[0]
    assert abs(known.prevalence[1] - true) < width[1]
    decided = np.where(TARGET == "unsure", "bad", TARGET)
    accuracy = plain.performance().accuracy
    assert accuracy.lower <= (decided == TRUTH).mean() <= accuracy.upper
    assert len(plain.choose_items(20)) == 20


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: KDEy().fit(REFERENCE, LABELS), "X holds names, but this method needs post"),
        (
            lambda: CC().fit(REFERENCE, LABELS),
            r"Row \d+ of X has the decision 'unsure', which is no class",
        ),
        (
            lambda: ACC().fit(REFERENCE, LABELS).predict(["good", "refused"]),
            "Row 1 of X has the decision 'refused', which no reference has; expected one of 'bad'",
        ),
        (
            lambda: ACC().fit(REFERENCE, LABELS).predict(["good", None]),
            "Row 1 of X has no decision; every item needs one",
        ),
        (lambda: ACC().fit(["", *REFERENCE[1:]], LABELS), "Row 0 of X has no decision"),
        (
            lambda: BayesianACC().fit(PAIR, PAIR_LABELS).predict([["good", None]]),
            "Row 0 of X has no decision of judge 2",
        ),
        (lambda: CC().fit(PAIR, PAIR_LABELS), "2 columns of decisions, but counting needs one"),
        (lambda: ACC().fit(PAIR, PAIR_LABELS).predict(REFERENCE), "X has 1 column of decisions"),
        (lambda: ACC().fit(["a"] * 4, ["x", "y"] * 2), "holds only the decision 'a'"),
        (
            lambda: ACC().fit([f"text {i}" for i in range(30)], ["x", "y"] * 15),
            "30 different values in 30 references",
        ),
        (
            lambda: ACC().fit(pd.DataFrame({"judge": REFERENCE}), LABELS).predict(
                pd.DataFrame({"other": TARGET})
            ),
            "no column 'judge'",
        ),
        (lambda: ACC().fit(REFERENCE, LABELS).predict([[0.2, 0.8]]), "expected text"),
        (lambda: ACC().fit(REFERENCE, LABELS).predict(np.ones((1, 2, 2))), "one column of names"),
        (
            lambda: truemix.selection.GridSearch(BayesianACC(), {"prior": [1.0, 2.0]}).fit(
                REFERENCE, LABELS
            ),
            "X holds decisions, whose methods have no settings",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence(act, said):
    with pytest.raises(InputError, match=said):
        act()


def test_posteriors_are_not_taken_for_decisions():
    with pytest.raises(InputError, match="a column 'week'"):
        ACC().fit(
            pd.DataFrame({"ham": [0.1, 0.9], "spam": [0.9, 0.1], "week": ["a", "b"]}),
            ["ham", "spam"],
        )
    with pytest.raises(InputError, match="1 dimension"):
        ACC().fit([0.1, 0.9], ["ham", "spam"])
    with pytest.raises(InputError, match="table of numbers"):
        ACC().fit([["0.1", "0.9"], ["0.9", "0.1"]], ["ham", "spam"])
