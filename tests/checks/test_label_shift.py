"""The check of label shift: its size, its power and its words."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import kstest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import truemix
from support import Given, posteriors
from truemix import (
    ACC,
    EMQ,
    PCC,
    BayesianKDEy,
    Bootstrap,
    InputError,
    KDEy,
    NotFittedError,
    limit_threads,
)
from truemix.checks import ShiftCheck, _monte_carlo, _targets, label_shift, label_shift_by


@pytest.fixture
def few_bags(monkeypatch):
    """Where only the distribution of p-values matters, 99 bags do."""
    monkeypatch.setattr(_monte_carlo, "MAX_BAGS", 99)


def fitted(m=600, n_classes=3, seed=0, kind=KDEy, **settings):
    P, codes = posteriors(m, n_classes, seed)
    labels = np.array([f"c{k:02d}" for k in range(n_classes)])[codes]
    if kind is KDEy or kind is BayesianKDEy:
        settings = {"bandwidth": 0.4, "shrinkage": 0.2, **settings}
    return kind(**settings).fit(P, labels)


def sharpened(P, power):
    return P**power / (P**power).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n", "n_classes"), [(60, 3), (300, 2), (150, 8)])
def test_p_values_are_uniform_under_label_shift(n, n_classes, few_bags):
    """References and targets are new each time; as many targets as references in one case."""
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mix = rng.dirichlet(np.ones(n_classes))
        target, _ = posteriors(n, n_classes, 1000 + seed, mix=mix)
        quantifier = fitted(300, n_classes, seed)
        p_values.append(label_shift(quantifier, target, random_state=seed).p_value)
    # Of true uniforms one set in 200 fails; the seeds are fixed, so this one does not.
    assert kstest(p_values, "uniform").pvalue > 0.005
    # The mean of 40 uniforms has a standard error of 0.046: 3 of them.
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.14)


def test_a_clear_violation_fails_and_is_explained():
    quantifier = fitted()
    target, _ = posteriors(300, 3, 1)
    check = label_shift(quantifier, sharpened(target, 0.5), random_state=0)
    assert check.p_value == 1 / 1000
    assert not check.passed
    assert check.explanation.startswith(
        "These 300 items do not look like any mix of the reference classes (p = 0.001): "
    )
    assert "off by" in check.explanation
    assert repr(check).startswith("Label shift: failed at level 0.05\nThese 300 items")


def test_a_mix_of_the_references_passes_and_says_what_could_be_missed():
    target, _ = posteriors(300, 3, 1, mix=[0.7, 0.2, 0.1])
    check = label_shift(fitted(), target, random_state=0)
    assert check.passed
    assert check.explanation.startswith(
        "Nothing speaks against these 300 items being a mix of the reference classes (p = 0."
    )
    assert "unusual ones could go unnoticed" in check.explanation
    assert check.verdict == "passed"
    assert 0.01 < check.detectable < 0.2


def unusual_new_items(quantifier, n_classes, seed):
    """Return the most unusual twentieth of new items of each class."""
    P, codes = posteriors(2000, n_classes, seed)
    p_values = label_shift(quantifier, P, random_state=0).item_p_values
    return np.concatenate(
        [
            P[members[np.argsort(p_values[members])[: len(members) // 20]]]
            for members in (np.flatnonzero(codes == k) for k in range(n_classes))
        ]
    )


@pytest.mark.parametrize(("m", "n", "n_classes"), [(600, 300, 3), (300, 60, 2)])
def test_what_is_detectable_is_detected(m, n, n_classes, few_bags):
    rng = np.random.default_rng(0)
    failed, with_quarter = [], []
    for seed in range(25):
        quantifier = fitted(m, n_classes, seed)
        unusual = unusual_new_items(quantifier, n_classes, 1000 + seed)
        target, _ = posteriors(n, n_classes, 2000 + seed)
        share = label_shift(quantifier, target, random_state=seed).detectable
        for part, found in ((1.0, failed), (0.25, with_quarter)):
            rows = rng.random(n) < part * share
            changed = target.copy()
            changed[rows] = unusual[rng.integers(0, len(unusual), rows.sum())]
            found.append(not label_shift(quantifier, changed, random_state=seed).passed)
    # 80 % is wanted; 25 targets have a standard error of 8 %, and the share is a rough one itself.
    assert np.mean(failed) >= 0.6
    # But it is not a far larger share than needed either.
    assert np.mean(with_quarter) <= 0.4


def decisions(n, n_classes, rng, mix=None, accuracy=0.8):
    """One-hot rows: a class of which some items are put into any class."""
    codes = np.arange(n) % n_classes if mix is None else rng.choice(n_classes, n, p=mix)
    decided = np.where(rng.random(n) < accuracy, codes, rng.integers(0, n_classes, n))
    return np.eye(n_classes)[decided], codes


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("kind", [KDEy, EMQ])
def test_decisions_as_posteriors_cannot_tell(n_classes, kind):
    """Nearly a third of the decisions are random, and a mix explains them all the same."""
    rng = np.random.default_rng(0)
    P, codes = decisions(1000, n_classes, rng)
    settings = {"bandwidth": 0.4, "shrinkage": 0.2} if kind is KDEy else {}
    quantifier = kind(**settings).fit(P, codes)
    target, _ = decisions(400, n_classes, rng, mix=rng.dirichlet(np.ones(n_classes)))
    target[:120] = np.eye(n_classes)[rng.integers(0, n_classes, 120)]
    check = label_shift(quantifier, target, random_state=0)
    assert check.verdict == "cannot tell"
    assert check.detectable == 1
    assert check.passed
    assert not check.conclusive
    assert check.explanation.startswith(
        "Whether these 400 items are a mix of the reference classes cannot be told: there are no "
        "more different posteriors than classes, as if they were decisions"
    )
    assert check.cause is None
    assert repr(check).startswith("Label shift: cannot tell at level 0.05\nWhether these")


def test_posteriors_are_not_like_decisions_in_the_reference():
    """What the reference does not have at all can be told."""
    rng = np.random.default_rng(0)
    P, codes = decisions(1000, 3, rng)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, codes)
    target, _ = posteriors(200, 3, 1)
    assert label_shift(quantifier, target, random_state=0).verdict == "failed"


@pytest.mark.parametrize(("m", "n", "n_classes"), [(600, 3, 3), (600, 1, 2), (9, 300, 3)])
def test_few_items_or_references_cannot_tell(m, n, n_classes):
    target, _ = posteriors(n, n_classes, 1)
    check = label_shift(fitted(m, n_classes), target, random_state=0)
    assert check.verdict == "cannot tell"
    assert "cannot be told (p = " in check.explanation
    assert "even a large violation could be missed" in check.explanation


@pytest.mark.parametrize("trees", [2, 10])
def test_few_values_keep_the_level(trees):
    """Posteriors that are counts of trees: targets and references share their values."""

    def votes(P, rng):
        return np.array([rng.multinomial(trees, p) for p in P]) / trees

    failed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        P, codes = posteriors(1000, 3, seed)
        target, _ = posteriors(300, 3, 1000 + seed, mix=rng.dirichlet(np.ones(3)))
        quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(votes(P, rng), codes)
        failed += not label_shift(quantifier, votes(target, rng), random_state=seed).passed
    # 3 of 60 are expected; 8 or more happen in 1 % of cases.
    assert failed <= 7


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("n_classes", [2, 50])
def test_few_items_and_many_classes_give_sensible_answers(n, n_classes, few_bags):
    quantifier = fitted(500, n_classes)
    target, _ = posteriors(n, n_classes, 7)
    check = label_shift(quantifier, target, random_state=0)
    assert np.isfinite(check.statistic)
    assert np.isfinite(check.null).all()
    assert len(check.null) == 99
    # The target is one of a hundred bags; equal numbers may differ by rounding.
    as_large = (check.null >= check.statistic * (1 - 1e-8)).sum()
    assert check.p_value == pytest.approx((1 + as_large) / 100)
    # In standard deviations of the bags, so these differ by one at least.
    assert np.ptp(check.null) > 1
    assert check.prevalence.sum() == pytest.approx(1)
    assert sorted(check.items()["item"]) == list(range(n))
    assert ("this item" if n == 1 else "these 5 items") in check.explanation.lower()


def test_an_item_like_no_other_fails_alone(few_bags):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.beta(2, 40, 500), rng.beta(40, 2, 500)])
    P = np.column_stack([1 - p, p])
    quantifier = KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, np.repeat([0, 1], 500))
    assert not label_shift(quantifier, [[0.5, 0.5]], random_state=0).passed
    assert label_shift(quantifier, [[0.95, 0.05]], random_state=0).passed


def test_the_same_seed_gives_the_same_p_value(few_bags):
    quantifier, (target, _) = fitted(), posteriors(100, 3, 1)
    first, again, other = (label_shift(quantifier, target, random_state=s) for s in (3, 3, 4))
    assert first.p_value == again.p_value
    assert np.array_equal(first.null, again.null)
    assert not np.array_equal(first.null, other.null)
    unseeded = label_shift(quantifier, target)
    repeated = label_shift(quantifier, target, random_state=unseeded.random_state)
    assert unseeded.p_value == repeated.p_value


def test_cross_fitted_models_are_compared_like_with_like(few_bags):
    """An over-fitted classifier: its refitted scores would look unlike the references."""
    rng = np.random.default_rng(0)
    failed = 0
    for seed in range(8):
        y = rng.integers(0, 2, 300)
        X = rng.normal(size=(300, 30)) + 0.5 * y[:, None] * (np.arange(30) < 3)
        target = rng.integers(0, 2, 150)
        Z = rng.normal(size=(150, 30)) + 0.5 * target[:, None] * (np.arange(30) < 3)
        quantifier = KDEy(classifier=LogisticRegression(C=100), bandwidth=0.3, shrinkage=0.1).fit(
            X, y
        )
        failed += not label_shift(quantifier, Z, random_state=seed).passed
    # Five in a hundred: more than 2 of 8 happen in 0.6 % of cases.
    assert failed <= 2


def test_any_quantifier_that_keeps_posteriors_can_be_checked(few_bags):
    target, _ = posteriors(200, 3, 1, mix=[0.6, 0.3, 0.1])
    for kind, settings in ((EMQ, {}), (PCC, {}), (ACC, {}), (BayesianKDEy, {"draws": 10})):
        quantifier = fitted(kind=kind, **settings)
        assert label_shift(quantifier, target, random_state=0).passed
        assert not label_shift(quantifier, sharpened(target, 0.4), random_state=0).passed
    P, codes = posteriors(600, 3, 0)
    wrapped = Bootstrap(EMQ(), draws=10).fit(P, codes)
    alone = EMQ().fit(P, codes)
    checks = [label_shift(q, target, random_state=0).p_value for q in (wrapped, alone)]
    assert checks[0] == checks[1]


def test_the_references_are_those_of_the_fit_whatever_the_caller_does_later(few_bags):
    P, codes = posteriors(300, 3, 0)
    target, _ = posteriors(100, 3, 1)
    quantifier = EMQ().fit(P, codes)
    before = label_shift(quantifier, target, random_state=0).p_value
    P[:] = 1 / 3
    assert label_shift(quantifier, target, random_state=0).p_value == before


def test_a_saved_kdey_can_be_checked_others_say_why_not(tmp_path, few_bags):
    target, _ = posteriors(50, 3, 1)
    for kind in (KDEy, EMQ):
        truemix.save(fitted(kind=kind), tmp_path / kind.__name__)
    loaded = truemix.load(tmp_path / "KDEy")
    expected = label_shift(fitted(), target, random_state=0).p_value
    assert label_shift(loaded, target, random_state=0).p_value == expected
    with pytest.raises(InputError, match=r"This EMQ was loaded from a file, .* Fit it again"):
        label_shift(truemix.load(tmp_path / "EMQ"), target)


def test_groups_are_checked_alone_and_adjusted_together():
    quantifier = fitted()
    good, _ = posteriors(200, 3, 1)
    bad = sharpened(posteriors(100, 3, 2)[0], 0.3)
    groups = np.repeat(["a", "b", "c"], 100)
    checks = label_shift_by(quantifier, np.concatenate([good, bad]), groups, random_state=0)
    assert {key: check.passed for key, check in checks.items()} == {
        "a": True,
        "b": True,
        "c": False,
    }
    alone = label_shift(quantifier, good[:100], random_state=0)
    assert checks["a"].p_value == alone.p_value
    # No bag of any group is as bad.
    assert checks["c"].adjusted_p_value == checks["c"].p_value == 1 / 1000
    assert checks["a"].adjusted_p_value > checks["a"].p_value
    assert "adjusted for the number of groups" in checks["c"].explanation


def test_bags_are_as_many_as_the_p_value_needs():
    quantifier = fitted()
    good, _ = posteriors(300, 3, 2)
    clear = label_shift(quantifier, good, random_state=0)
    assert clear.p_value > 0.2
    assert len(clear.null) == 99
    bad = label_shift(quantifier, sharpened(good, 0.6), random_state=0)
    assert len(bad.null) == 999
    strict = label_shift(quantifier, sharpened(good, 0.6), level=0.002, random_state=0)
    assert len(strict.null) == 1999


def test_many_groups_share_the_bags():
    quantifier = fitted(kind=KDEy)
    target, _ = posteriors(50 * 12, 3, 1)
    checks = label_shift_by(quantifier, sharpened(target, 0.3), np.arange(600) % 50, random_state=0)
    assert {len(check.null) for check in checks.values()} <= {99, 199}
    assert not any(check.passed for check in checks.values())


def test_stopping_early_keeps_the_level():
    """The p-value of a statistic that stops at ten larger draws, as the check does."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(4000):
        observed, null = rng.normal(), rng.normal(size=999)
        stop = next(
            n for n in range(99, 1000, 100) if n == 999 or (null[:n] >= observed).sum() >= 10
        )
        p_values.append((1 + (null[:stop] >= observed).sum()) / (1 + stop))
    for level in (0.005, 0.05, 0.1, 0.2, 0.5):
        # Three standard errors of 4000 cases.
        assert np.mean(np.array(p_values) <= level) <= level + 3 * np.sqrt(level / 4000)


def test_the_answer_does_not_depend_on_the_number_of_threads():
    quantifier, (target, _) = fitted(1000), posteriors(400, 3, 1)
    groups = np.arange(400) % 4
    many = label_shift_by(quantifier, target, groups, random_state=0)
    with limit_threads(1):
        one = label_shift_by(quantifier, target, groups, random_state=0)
    for group, check in many.items():
        assert check.summary() == one[group].summary()


def test_unusual_items_are_those_put_in():
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.beta(2, 60, 2000), rng.beta(60, 2, 2000)])
    quantifier = KDEy(bandwidth=0.3, shrinkage=0.05)
    quantifier = quantifier.fit(np.column_stack([1 - p, p]), np.repeat(["no", "yes"], 2000))
    p = np.concatenate([np.full(30, 0.5), rng.beta(2, 60, 170), rng.beta(60, 2, 100)])
    check = label_shift(quantifier, np.column_stack([1 - p, p]), random_state=0)
    unusual = check.unusual_items(fdr=0.1)
    assert set(range(30)) <= set(unusual.tolist())
    # One in ten may be usual, which is 3.3 beside the 30: 8 or more of a Poisson number of these
    # come in 3 % of cases, and the seed is fixed.
    assert len(unusual) < 38
    assert check.items()["unusual"].iloc[:30].all()
    assert set(check.items()["item"]) == set(range(300))
    # Some usual items in the tails come with them: 0.149 on average, with a standard deviation of
    # 0.007 over six seeds.
    assert 0.12 <= check.unknown_share <= 0.18
    # Without the 30 there are 170 and 100, and the classes do not overlap: 8 of them more or fewer
    # in one class move the share by 0.011 at most.
    assert check.without_unusual[0] == pytest.approx(170 / 270, abs=0.011)
    assert "are unlike everything in the reference; most of these resemble class" in (
        check.explanation
    )


def test_the_class_that_changed_is_named():
    P, codes = posteriors(900, 3, 0, sharpness=12)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, codes)
    target, of_class = posteriors(450, 3, 1, sharpness=12)
    softer = np.where(of_class[:, None] == 2, sharpened(target, 0.55), target)
    frame = label_shift(quantifier, softer, random_state=0).classes
    assert frame["adjusted"].idxmin() == 2
    assert frame["adjusted"][2] < 0.01
    assert frame["statistic"][2] > 3
    assert (frame["adjusted"][:2] > 0.05).all()
    assert (frame["adjusted"] >= frame["p_value"]).all()


def test_the_summary_is_plain_and_complete(few_bags):
    target, _ = posteriors(80, 3, 1)
    check = label_shift(fitted(), target, random_state=0)
    summary = check.summary()
    again = json.loads(json.dumps(summary))
    assert again["p_value"] == check.p_value
    assert again["explanation"] == check.explanation
    assert [row["class"] for row in again["classes"]] == ["c00", "c01", "c02"]
    assert again["passed"] is True


def test_the_picture_shows_the_statistic(few_bags):
    target, _ = posteriors(80, 3, 1)
    check = label_shift(fitted(), target, random_state=0)
    figure = check.plot()
    assert isinstance(figure, Figure)
    lines = [line.get_xdata()[0] for line in figure.axes[0].get_lines()]
    assert check.statistic in lines
    axes = Figure().add_subplot()
    assert check.plot(ax=axes) is axes.figure
    with pytest.raises(InputError, match="ax is an object of type 'str'; expected matplotlib Axes"):
        check.plot("here")


def test_large_targets_are_compared_in_part(monkeypatch, few_bags):
    monkeypatch.setattr(_targets, "MAX_COMPARED", 50)
    target, _ = posteriors(120, 3, 1)
    check = label_shift(fitted(), target, random_state=0)
    assert (check.n_items, check.n_compared) == (120, 50)
    assert "A random part of 50 items was compared." in check.explanation
    assert len(check.item_p_values) == 120


def test_a_single_reference_item_is_mentioned(few_bags):
    P, codes = posteriors(200, 2, 0)
    kept = np.flatnonzero((codes == 0) | (np.arange(200) == 1))
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P[kept], codes[kept])
    target, _ = posteriors(60, 2, 1)
    check = label_shift(quantifier, target, random_state=0)
    assert isinstance(check, ShiftCheck)
    assert "Class '1' has a single reference item" in check.explanation


def test_wrong_input_gets_one_sentence(few_bags):
    P, codes = posteriors(90, 3, 0)
    target, _ = posteriors(10, 3, 1)
    with pytest.raises(InputError, match="The 'quantifier' parameter must be a truemix quantifier"):
        label_shift("KDEy", target)
    with pytest.raises(NotFittedError, match="This KDEy is not fitted yet; call fit"):
        label_shift(KDEy(), target)
    with pytest.raises(
        InputError,
        match=r"The 'level' parameter must be a positive number between 0\.0001 and 0\.9",
    ):
        label_shift(fitted(), target, level=5)
    with pytest.raises(InputError, match="The 'random_state' parameter must be"):
        label_shift(fitted(), target, random_state="now")
    refitted = EMQ(classifier=Given()).fit(P, codes)
    with pytest.raises(InputError, match=r"This EMQ scores targets with a classifier refitted .*"):
        label_shift(refitted, target)
    decided = ACC(classifier=Given(), crossfit=True).fit(P, codes)
    with pytest.raises(InputError, match="This ACC keeps only the classifier's decisions"):
        label_shift(decided, target)
    frozen = EMQ(classifier=FrozenEstimator(Given().fit(P, codes))).fit(P, codes)
    assert label_shift(frozen, target, random_state=0).n_items == 10


# --- in estimates ---------------------------------------------------------------------------------


def test_an_estimate_carries_its_check_when_asked(tmp_path):
    quantifier = fitted()
    good, _ = posteriors(300, 3, 1)
    found = quantifier.quantify(good, check=True)
    check = found.checks["label_shift"]
    # The very check that would be made by itself.
    assert check.p_value == label_shift(quantifier, good, random_state=0).p_value
    assert check.passed
    assert not found.warnings()
    assert repr(found).endswith(check.explanation)
    assert quantifier.quantify(good).checks == {}
    np.testing.assert_array_equal(found.prevalence, quantifier.quantify(good).prevalence)

    bad = quantifier.quantify(sharpened(good, 0.5), check=True)
    assert bad.warnings() == [bad.checks["label_shift"].explanation]
    assert "Note: These 300 items do not look like" in repr(bad)
    bad.save(tmp_path / "estimate")
    again = truemix.Estimate.load(tmp_path / "estimate")
    assert not again.checks["label_shift"].passed
    assert again.warnings() == bad.warnings()
    assert again.checks["label_shift"].summary()["p_value"] == bad.checks["label_shift"].p_value


def test_groups_are_checked_with_a_correction_for_their_number():
    quantifier = fitted(kind=BayesianKDEy, random_state=3)
    target, _ = posteriors(600, 3, 1)
    target[400:] = sharpened(target[400:], 0.4)
    groups = np.repeat(["a", "b", "c"], 200)
    found = quantifier.quantify_by(target, groups, check=True)
    expected = label_shift_by(quantifier, target, groups, random_state=3)
    assert [estimate.checks["label_shift"].passed for estimate in found.values()] == [
        True,
        True,
        False,
    ]
    checks = {group: estimate.checks["label_shift"] for group, estimate in found.items()}
    for group, check in checks.items():
        assert check.adjusted_p_value == expected[group].adjusted_p_value
        # Never smaller than alone, nor larger than by Bonferroni's rule.
        assert check.p_value <= check.adjusted_p_value <= min(1.0, 3 * check.p_value)


def test_what_cannot_be_checked_is_refused_before_the_work():
    P, codes = posteriors(200, 3, 0)
    quantifier = EMQ(classifier=Given()).fit(P, codes)
    with pytest.raises(InputError, match="crossfit=True"):
        quantifier.quantify(P, check=True)
