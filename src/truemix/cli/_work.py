"""From two files to a fitted quantifier and the target's posteriors: what commands share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truemix._typing import FloatArray
from truemix.cli._classifiers import classifier_choice, few_threads, pipeline
from truemix.cli._features import Features
from truemix.cli._formats import Table, free_read_memory, open_table
from truemix.cli._methods import MethodOptions, prior_of, quantifier_of
from truemix.cli._progress import Progress, Update
from truemix.cli._reading import (
    Beside,
    Reference,
    Target,
    read_features,
    read_posteriors,
    read_reference,
    read_target_features,
)
from truemix.cli._saved import is_saved, load_saved, n_references
from truemix.cli._source import STDIN, Source, open_source
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier


@dataclass(frozen=True)
class Inputs:
    """What the user said about the data.

    Attributes
    ----------
    reference, target : str
        Arguments: names of files, or - for stdin.
    label, by : str or None
        Columns of labels and of groups.
    classifier : str or None
        The classifier to train on features.
    keep : sequence of str
        Columns of the target to pass through.
    """

    reference: str
    target: str
    label: str | None = None
    by: str | None = None
    classifier: str | None = None
    keep: Sequence[str] = ()

    @property
    def beside(self) -> Beside:
        """Columns of the target that go along."""
        return Beside(self.by, self.keep)


@dataclass(frozen=True)
class Prepared:
    """A fitted quantifier and the target.

    Attributes
    ----------
    name, n_reference : str, int or None
        Name of the reference and number of its items, as far as it is known.
    training : tuple or None
        The classifier, not fitted, and what to fit it on; None if posteriors were given.
    """

    quantifier: Quantifier
    target: Target
    name: str
    n_reference: int | None
    training: tuple[Any, Reference] | None = None

    @property
    def features(self) -> Features | None:
        """The columns that a classifier was trained on; None if posteriors were given."""
        return None if self.training is None else self.training[1].features

    def scoring(self) -> AbstractContextManager[None]:
        """Return a context in which a classifier may score the target."""
        return nullcontext() if self.training is None else few_threads(len(self.target.X))

    def posteriors(self) -> FloatArray:
        """Return the target's posteriors, as given or of a classifier trained on all references."""
        if self.training is None:
            given: FloatArray = self.target.X
            return given
        model, reference = self.training
        with training(reference):
            model.fit(reference.X, reference.labels.items)
        with self.scoring():
            scored: FloatArray = model.predict_proba(self.target.X)
        return scored


def prepare(inputs: Inputs, options: MethodOptions, say: Progress) -> Prepared:
    """Read both files and fit; files are looked at before anything takes long."""
    if inputs.reference == inputs.target == STDIN:
        raise InputError("REFERENCE and TARGET are both -, but stdin can be only one of them.")
    with ExitStack() as stack:
        # What is cheap to find out comes first: a wrong name, a wrong option, a wrong header.
        source = open_source(inputs.reference, stack)
        target_source = open_source(inputs.target, stack)
        quantifier = None if is_saved(source) else quantifier_of(options)
        table = open_table(target_source)
        inputs.beside.check(table)
        if quantifier is None:
            return _prepare_saved(source, table, inputs, options, say)
        choice = None if inputs.classifier is None else classifier_choice(inputs.classifier)
        with say.step("read reference"):
            reference = read_labelled(open_table(source), inputs, say, features=choice is not None)
        inputs.beside.check_apart(reference.labels.names)
        with say.step("read target") as update:
            target = _read_target(table, reference, inputs, say, update)
        free_read_memory()
    training = None
    if choice is not None and reference.features is not None:
        model = pipeline(choice, reference.features, options.random_state)
        give_classifier(quantifier, model)
        training = model, reference
    with say.step("fit"):
        fit(quantifier, options, reference)
    return Prepared(quantifier, target, reference.name, reference.n_items, training)


def read_labelled(table: Table, inputs: Inputs, say: Progress, *, features: bool) -> Reference:
    """Return the labelled items, with posteriors or with features."""
    if features:
        return read_features(table, inputs.label, inputs.by, say)
    return read_reference(table, inputs.label, inputs.by, say)


def _read_target(
    table: Table, reference: Reference, inputs: Inputs, say: Progress, update: Update
) -> Target:
    if reference.features is None:
        return read_posteriors(table, reference.labels.names, inputs.beside, say, update)
    return read_target_features(table, reference.features, inputs.beside, say, update)


def give_classifier(quantifier: Quantifier, model: Any) -> None:
    """Let the quantifier, or the one inside of it, train a classifier."""
    inner = hasattr(quantifier, "quantifier")
    quantifier.set_params(**{"quantifier__classifier" if inner else "classifier": model})


def fit(quantifier: Quantifier, options: MethodOptions, reference: Reference) -> None:
    """Fit the quantifier on the reference."""
    labels = reference.labels
    if options.prior:
        quantifier.set_params(prior=prior_of(options.prior, labels.classes))
    with training(reference):
        quantifier.fit(reference.X, labels.items)


@contextmanager
def training(reference: Reference) -> Iterator[None]:
    """Train a classifier if there are features, and say in one sentence why it cannot be done."""
    if reference.features is None:
        yield
        return
    try:
        with few_threads(reference.n_items):
            yield
    except InputError:
        raise
    except ValueError as error:
        # What scikit-learn says first; the rest is for programmers.
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"The classifier cannot be trained: {reason}.") from None


def _prepare_saved(
    source: Source,
    table: Table,
    inputs: Inputs,
    options: MethodOptions,
    say: Progress,
) -> Prepared:
    if inputs.label is not None:
        say.note(f"--label is not needed: {source.name} is a saved quantifier.")
    with say.step("read quantifier"):
        quantifier = load_saved(source, options, inputs.classifier)
    names = [str(label) for label in quantifier.classes_.tolist()]
    inputs.beside.check_apart(names)
    with say.step("read target") as update:
        target = read_posteriors(table, names, inputs.beside, say, update)
    free_read_memory()
    return Prepared(quantifier, target, source.name, n_references(quantifier))
