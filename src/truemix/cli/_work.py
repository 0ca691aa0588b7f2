"""From two files to a fitted quantifier and the target's posteriors: what commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truemix._typing import FloatArray
from truemix.cli._classifiers import classifier_choice, few_threads, pipeline
from truemix.cli._features import Features
from truemix.cli._methods import prior_of, quantifier_of, seed_of
from truemix.cli._options import InputOptions, MethodOptions
from truemix.cli._progress import Progress
from truemix.cli._reading import Reference, Target, read_reference, read_target
from truemix.cli._saved import is_saved, load_saved, n_references
from truemix.cli.tables import open_table
from truemix.cli.tables.source import STDIN, open_source
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier


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


def prepare(inputs: InputOptions, options: MethodOptions, progress: Progress) -> Prepared:
    """Read both files and fit; files are looked at before anything takes long."""
    if inputs.reference == inputs.target == STDIN:
        raise InputError("REFERENCE and TARGET are both -, but stdin can be only one of them.")
    with ExitStack() as stack:
        # Cheap checks first: a wrong name, a wrong option, a wrong header.
        source = open_source(inputs.reference, stack)
        target_source = open_source(inputs.target, stack)
        quantifier = None if is_saved(source) else quantifier_of(options)
        table = open_table(target_source)
        if inputs.by is not None:
            table.need(inputs.by, "as --by says")
        table.need_all(inputs.keep, "as --keep says")
        if quantifier is None:
            if inputs.label is not None:
                progress.note(f"--label is not needed: {source.name} is a saved quantifier.")
            with progress.step("read quantifier"):
                quantifier = load_saved(source, options, inputs.classifier)
            names = [str(label) for label in quantifier.classes_.tolist()]
            target = read_target(table, names, None, inputs, progress)
            return Prepared(quantifier, target, source.name, n_references(quantifier))
        choice = None if inputs.classifier is None else classifier_choice(inputs.classifier)
        with progress.step("read reference"):
            reference = read_reference(
                open_table(source), inputs.label, inputs.by, progress, features=choice is not None
            )
        target = read_target(table, reference.labels.names, reference.features, inputs, progress)
    model = None
    if choice is not None and reference.features is not None:
        model = pipeline(choice, reference.features, seed_of(options))
        give_classifier(quantifier, model)
    with progress.step("fit"):
        fit(quantifier, options, reference)
    fitted_on = None if model is None else (model, reference)
    return Prepared(quantifier, target, reference.name, reference.n_items, fitted_on)


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
    """Train a classifier if there are features; a failure of it is an error of one sentence."""
    if reference.features is None:
        yield
        return
    try:
        with few_threads(reference.n_items):
            yield
    except InputError:
        raise
    except ValueError as error:
        # The first line of scikit-learn's message; the rest is for programmers.
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"The classifier cannot be trained: {reason}.") from None
