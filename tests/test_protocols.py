"""Bags are reproducible, hold the mix they claim, and follow the law they are named after."""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest

from truemix.exceptions import InputError
from truemix.protocols import DirichletBags, GridBags, NaturalBags, _apportion

Y = np.repeat(["a", "b", "c", "d"], [40, 300, 160, 500])
PROTOCOLS = [
    DirichletBags(n_bags=12, bag_size=101),
    DirichletBags(n_bags=12, bag_size=101, replace=False),
    NaturalBags(n_bags=12, bag_size=101),
    NaturalBags(n_bags=12, bag_size=101, replace=False),
    GridBags(n_points=4, bag_size=101, repeats=2),
    GridBags(n_points=4, bag_size=101, most=7, replace=False),
]
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)


def shares(y, index, classes):
    return np.array([np.mean(np.asarray(y)[index] == label) for label in classes])


# --- reproducible -----------------------------------------------------------------------------


@every_protocol
def test_a_bag_is_the_same_in_order_in_part_one_by_one_and_in_any_thread(protocol):
    whole = list(protocol.bags(Y))
    part = list(islice(protocol.bags(Y), 3))
    with ThreadPoolExecutor(4) as workers:
        numbers = list(range(len(whole)))[::-1]
        alone = list(workers.map(lambda b: protocol.bag(Y, b), numbers))[::-1]
    for expected, *others in zip(whole, alone, part + whole[3:], strict=True):
        for other in others:
            np.testing.assert_array_equal(other.index, expected.index)
            np.testing.assert_array_equal(other.prevalence, expected.prevalence)


@every_protocol
def test_bags_differ_from_each_other_and_between_seeds(protocol):
    other_seed = type(protocol)(**{**vars(protocol), "random_state": 1})
    drawn = [*protocol.bags(Y), *other_seed.bags(Y)]
    assert len({bag.index.tobytes() for bag in drawn}) == len(drawn)


@every_protocol
def test_the_stream_has_as_many_bags_as_it_says(protocol):
    assert len(list(protocol.bags(Y))) == protocol.number_of_bags(4)


def test_more_bags_leave_the_first_ones_as_they_were():
    few, many = DirichletBags(n_bags=2), DirichletBags(n_bags=5)
    for a, b in zip(few.bags(Y), many.bags(Y), strict=False):
        np.testing.assert_array_equal(a.index, b.index)


def test_a_protocol_without_a_seed_keeps_the_one_it_takes():
    protocol = DirichletBags(random_state=None)
    assert protocol != DirichletBags(random_state=None)
    np.testing.assert_array_equal(protocol.bag(Y, 3).index, protocol.bag(Y, 3).index)


def test_protocols_are_values():
    assert DirichletBags(alpha=[1, 2]) == DirichletBags(alpha=np.array([1.0, 2.0]))
    assert hash(DirichletBags(alpha=[1, 2])) == hash(DirichletBags(alpha=(1, 2)))
    expected = "NaturalBags(n_bags=500, bag_size=1000, random_state=0, replace=True)"
    assert repr(NaturalBags()) == expected


# --- what a bag holds -------------------------------------------------------------------------


@every_protocol
def test_the_prevalence_is_the_realised_one(protocol):
    for bag in protocol.bags(Y, classes=["d", "b", "a", "c"]):
        np.testing.assert_array_equal(bag.prevalence, shares(Y, bag.index, "dbac"))
        assert bag.index.dtype == np.intp


@pytest.mark.parametrize("replace", [True, False])
def test_a_bag_has_exactly_its_size(replace):
    y = np.repeat(np.arange(26), 1000)
    for size in (1, 2, 25, 333, 1000):
        for bag in DirichletBags(n_bags=40, bag_size=size, replace=replace).bags(y):
            assert len(bag.index) == size


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [0, 1], [-5, 7], [False, True]],
    ids=["strings", "integers", "any integers", "booleans"],
)
def test_labels_may_be_strings_integers_or_booleans(labels):
    y = np.repeat(np.array(labels), [30, 70])
    expected = DirichletBags().bag(np.repeat(["a", "b"], [30, 70]), 4)
    bag = DirichletBags().bag(y, 4, classes=labels)
    np.testing.assert_array_equal(bag.index, expected.index)
    np.testing.assert_array_equal(bag.prevalence, expected.prevalence)


def test_the_order_of_rows_in_the_pool_does_not_change_the_mix():
    shuffled = np.random.default_rng(0).permutation(Y)
    for a, b in zip(DirichletBags(n_bags=9).bags(Y), DirichletBags().bags(shuffled), strict=False):
        np.testing.assert_array_equal(a.prevalence, b.prevalence)


def test_every_item_of_a_class_is_equally_likely():
    y = np.repeat(["a", "b"], [4, 12])
    drawn = np.concatenate([bag.index for bag in DirichletBags(n_bags=300).bags(y)])
    counts = np.bincount(drawn, minlength=16)
    for of_class in (counts[:4], counts[4:]):
        mean = of_class.mean()
        # Poisson counts; five standard deviations for 16 of them.
        assert np.abs(of_class - mean).max() < 5 * math.sqrt(mean)


# --- rounding ---------------------------------------------------------------------------------


def test_counts_are_rounded_and_sum_to_the_size():
    rng = np.random.default_rng(0)
    for _ in range(300):
        K, size = int(rng.integers(2, 40)), int(rng.integers(1, 300))
        p = rng.dirichlet(np.full(K, rng.choice([0.1, 1, 10])))
        counts = _apportion(size, p, np.full(K, size), rng)
        rounded = np.rint(size * p)
        assert counts.sum() == size
        assert counts.min() >= 0
        # Rounding is corrected in one direction only, and never more than needed.
        assert np.abs(counts - rounded).sum() == abs(size - rounded.sum())


def test_what_rounding_leaves_goes_to_classes_in_proportion_to_their_share():
    rng, p = np.random.default_rng(0), np.array([0.2, 0.1, 0.7])
    # 2 * p rounds to 0, 0, 1: one item is left.
    extra = np.mean([_apportion(2, p, np.full(3, 2), rng) for _ in range(8000)], axis=0)
    # Four standard errors of a share.
    np.testing.assert_allclose(extra - [0, 0, 1], p, atol=4 * math.sqrt(0.25 / 8000))


def test_what_rounding_overshoots_is_taken_from_classes_that_were_rounded_up():
    rng, p = np.random.default_rng(0), np.array([0.16, 0.16, 0.16, 0.52])
    for _ in range(50):
        # 10 * p rounds to 2, 2, 2, 5.
        assert sorted(_apportion(10, p, np.full(4, 10), rng).tolist()) == [1, 2, 2, 5]


def test_a_class_of_share_zero_gets_nothing():
    for bag in GridBags(n_points=8, bag_size=30).bags(np.repeat(["a", "b", "c"], 9)):
        # Shares are multiples of 1/7, so a positive one asks for at least 4 of 30 items.
        assert set(np.flatnonzero(bag.prevalence * 30 < 3)) <= set(
            np.flatnonzero(bag.prevalence == 0)
        )


# --- the laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0, (4.0, 2.0, 1.0)])
def test_dirichlet_bags_have_the_moments_of_their_distribution(alpha):
    y = np.repeat(["a", "b", "c"], 50)
    found = np.array([b.prevalence for b in DirichletBags(alpha, n_bags=4000).bags(y)])
    a = np.broadcast_to(alpha, 3)
    mean = a / a.sum()
    variance = mean * (1 - mean) / (a.sum() + 1)
    # Five standard errors of the mean; rounding to 1/1000 adds far less.
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=5 * np.sqrt(variance.max() / 4000))
    # A sample variance of 4000 bounded values is within a few percent.
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.12)


@pytest.mark.parametrize(("replace", "factor"), [(True, 1.0), (False, 1 - 99 / 999)])
def test_natural_bags_vary_as_sampling_makes_them_vary(replace, factor):
    protocol = NaturalBags(n_bags=4000, bag_size=100, replace=replace)
    found = np.array([b.prevalence for b in protocol.bags(Y)])
    mean = np.array([0.04, 0.3, 0.16, 0.5])
    variance = mean * (1 - mean) / 100 * factor
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=5 * np.sqrt(0.0025 / 4000))
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.12)


def test_a_natural_bag_without_repeats_is_at_most_the_pool():
    bag = NaturalBags(bag_size=5000, replace=False).bag(Y, 0)
    assert sorted(bag.index) == list(range(len(Y)))


def test_the_grid_holds_every_mix_once():
    y = np.repeat(["a", "b", "c"], 10)
    found = {
        tuple(np.rint(4 * bag.prevalence).astype(int).tolist())
        for bag in GridBags(n_points=5, bag_size=100).bags(y)
    }
    assert found == {(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)}


def test_the_grid_of_two_classes_has_the_points_that_were_asked_for():
    found = [bag.prevalence[1] for bag in GridBags().bags(np.repeat([0, 1], 10))]
    np.testing.assert_allclose(sorted(found), np.linspace(0, 1, 21), atol=1e-12)


def test_repeats_draw_each_mix_again_with_other_items():
    bags = list(GridBags(n_points=3, bag_size=50, repeats=3).bags(np.repeat(["a", "b"], 30)))
    assert [bag.prevalence[0] for bag in bags] == [0, 0, 0, 0.5, 0.5, 0.5, 1, 1, 1]
    assert len({bag.index.tobytes() for bag in bags}) == 9


@pytest.mark.parametrize("n_classes", [4, 26], ids=["listed", "drawn"])
def test_a_grid_that_is_too_large_gives_different_mixes_of_the_grid(n_classes):
    y = np.repeat(np.arange(n_classes), 5)
    found = np.array([b.prevalence for b in GridBags(most=300, bag_size=200).bags(y)])
    assert len(np.unique(found, axis=0)) == 300
    steps = found * 20
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-12)
    # Uniform over the grid: each share has mean 1/K and a standard deviation below 1/K.
    np.testing.assert_allclose(found.mean(axis=0), 1 / n_classes, atol=5 / n_classes / 300**0.5)


# --- no item twice ----------------------------------------------------------------------------


@every_protocol
def test_no_item_repeats_when_repeats_are_excluded(protocol):
    if not protocol.replace:
        for bag in protocol.bags(Y):
            assert len(np.unique(bag.index)) == len(bag.index)


def test_without_repeats_a_small_pool_makes_a_smaller_bag_of_the_same_mix():
    y = np.repeat(["a", "b"], [10, 1000])
    bag = GridBags(n_points=5, bag_size=200, replace=False).bag(y, 1)
    # A quarter of class a: its ten items allow 40 in all.
    np.testing.assert_array_equal(bag.prevalence, [0.25, 0.75])
    assert len(bag.index) == 40


def test_without_repeats_no_larger_bag_could_hold_the_drawn_mix():
    sizes = np.array([3, 40, 7, 500, 12])
    y = np.repeat(np.arange(5), sizes)
    for bag in DirichletBags(n_bags=200, bag_size=400, replace=False).bags(y):
        counts, n = np.rint(bag.prevalence * len(bag.index)), len(bag.index)
        assert (counts <= sizes).all()
        # Full, or the class that limits the bag is used up, but for the one item that rounding
        # may take.
        assert n == 400 or (sizes - counts).min() <= 1


# --- what may come in -------------------------------------------------------------------------


def test_a_class_without_items_is_named_when_a_bag_needs_it():
    with pytest.raises(InputError, match=r"Class 'e' has no items in y, but a bag asks for \d+"):
        list(DirichletBags(n_bags=5).bags(Y, classes=[*"abcde"]))
    with pytest.raises(InputError, match="Class 'e' has no items in y"):
        list(DirichletBags(n_bags=5, replace=False).bags(Y, classes=[*"abcde"]))


def test_a_class_without_items_is_fine_while_its_share_is_zero():
    y = ["a"] * 5 + ["c"] * 5
    grid = GridBags(n_points=2, bag_size=10)
    assert grid.bag(y, 0, classes=["b", "c", "a"]).prevalence.tolist() == [0, 0, 1]
    assert NaturalBags().bag(y, 0, classes=["a", "b", "c"]).prevalence[1] == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: DirichletBags(alpha=0), "The 'alpha' parameter must be a positive number"),
        (lambda: DirichletBags(alpha=[1, -1]), "a positive number between 1e-6 and 1e12. Got -1"),
        (lambda: DirichletBags(alpha="1"), "The 'alpha' parameter"),
        (lambda: DirichletBags(alpha=[[1]]), "The 'alpha' parameter"),
        (lambda: DirichletBags(alpha=np.nan), "The 'alpha' parameter"),
        (
            lambda: DirichletBags(alpha=[1, 2, 3]).bags(Y),
            "3 numbers, but there are 4 classes",
        ),
        (lambda: DirichletBags(n_bags=0), "The 'n_bags' parameter must be a whole number"),
        (lambda: NaturalBags(n_bags=2.5), "The 'n_bags' parameter must be a whole number"),
        (lambda: NaturalBags(bag_size=0), "The 'bag_size' parameter must be a whole number"),
        (lambda: NaturalBags(random_state="x"), "The 'random_state' parameter must be"),
        (lambda: NaturalBags(replace=1), "The 'replace' parameter must be True or False"),
        (lambda: GridBags(n_points=1), "The 'n_points' parameter must be"),
        (lambda: GridBags(repeats=0), "The 'repeats' parameter must be"),
        (lambda: GridBags(most=0), "The 'most' parameter must be"),
        (lambda: NaturalBags(n_bags=3).bag(Y, 3), "below that of bags, 3. Got 3"),
        (lambda: NaturalBags().bags([]), "y is empty"),
        (lambda: NaturalBags().bags(["a", None]), "row 1 of y is missing"),
        (lambda: NaturalBags().bags(Y, classes=["a", "b"]), "The label 'c' in row 340 of y is not"),
        (lambda: NaturalBags().bags(Y, classes=[1, 2]), "The label 'a' in row 0 of y is not"),
    ],
)
def test_wrong_input_is_named_at_once(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
