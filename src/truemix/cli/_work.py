"""From two files to a fitted quantifier and the target's posteriors: what commands share.

In place of labelled items, REFERENCE may be a quantifier that ``truemix tune`` has saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from truemix._archive import is_archive
from truemix._typing import FloatArray
from truemix.cli import _methods as methods
from truemix.cli._classifiers import ClassifierChoice, classifier_choice, few_threads, pipeline
from truemix.cli._decisions import (
    DEFAULT_METHOD,
    check_options,
    decisions_of_saved,
    located,
    posteriors_of_decisions,
)
from truemix.cli._features import Features, training_columns
from truemix.cli._layout import Layout, check_columns, layout_of
from truemix.cli._one_table import about_sides, split_by_label
from truemix.cli._options import InputOptions, MethodOptions, ReferenceOptions
from truemix.cli._progress import Progress
from truemix.cli._reading import Reference, Target, read_reference, read_target
from truemix.cli.tables import open_table
from truemix.cli.tables.source import STDIN, Source, open_source
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

# Parameters that can be changed without fitting again.
_CHANGEABLE = ("temperature", "estimand", "draws", "prior")


@dataclass(frozen=True)
class Fitted:
    """A fitted quantifier; name of the reference, and its items if it knows.

    ``training`` is the classifier, not fitted, and what to fit it on, unless posteriors were given.
    """

    quantifier: Quantifier
    name: str
    n_reference: int | None
    training: tuple[Any, Reference] | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """Which columns a classifier was trained on, and which were left out, for the output."""
        return training_columns(None if self.training is None else self.training[1].features)


@dataclass(frozen=True)
class Learner:
    """REFERENCE as it was read: a saved quantifier, or one that is yet to be fitted on it."""

    quantifier: Quantifier
    name: str
    reference: Reference | None
    layout: Layout
    model: Any = None

    @property
    def features(self) -> Features | None:
        """The features of a classifier, unless posteriors are given."""
        return None if self.reference is None else self.reference.features

    def fitted(self, options: MethodOptions, progress: Progress) -> Fitted:
        """Return the fitted quantifier."""
        if self.reference is None:
            return Fitted(self.quantifier, self.name, _n_references(self.quantifier))
        with progress.step("fit"):
            fit(self.quantifier, options, self.reference)
        on = None if self.model is None else (self.model, self.reference)
        return Fitted(self.quantifier, self.name, self.reference.n_items, on)


@dataclass(frozen=True)
class Prepared(Fitted):
    """A fitted quantifier, and a target that was read at once."""

    target: Target = field(kw_only=True)

    def scoring(self) -> AbstractContextManager[None]:
        """Return a context in which a classifier may score the target."""
        if self.training is None:
            target = self.target
            return located(lambda row: f"Row {target.row_numbers[row]} of {target.name}")
        return few_threads(len(self.target.X))

    def posteriors(self) -> FloatArray:
        """Return the target's posteriors, as given or of a classifier trained on all references."""
        if self.quantifier.given_decisions is not None:
            return posteriors_of_decisions(self.quantifier, self.target.X)
        if self.training is None:
            given: FloatArray = self.target.X
            return given
        model, reference = self.training
        with training(reference):
            model.fit(reference.X, reference.labels.items)
        with self.scoring():
            scored: FloatArray = model.predict_proba(self.target.X)
        return scored


def prepare(
    inputs: InputOptions,
    options: MethodOptions,
    progress: Progress,
    sources: tuple[Source, Source] | None = None,
) -> Prepared:
    """Read both files and fit; files are looked at before anything takes long.

    ``sources`` are the two files if they are open already.
    """
    if inputs.reference == inputs.target == STDIN:
        raise InputError("REFERENCE and TARGET are both -, but stdin can be only one of them.")
    with ExitStack() as stack:
        # Cheap checks first: a wrong name, a wrong option, a wrong header.
        if sources is None:
            source = open_source(inputs.reference, stack)
            if inputs.target is None:
                sources = split_by_label(source, inputs.label)
            else:
                sources = source, open_source(inputs.target, stack)
        source, target_source = sources
        if source.part is not None:
            progress.note(about_sides(source))
        quantifier = unfitted(source, options, inputs)
        table = open_table(target_source)
        table.need([] if inputs.grouping is None else inputs.grouping.columns, "as --by says")
        table.need(inputs.keep or [], "as --keep says")
        if inputs.key is not None:
            table.need([inputs.key], "as --key says")
            inputs = replace(inputs, keep=list(dict.fromkeys([inputs.key, *(inputs.keep or [])])))
        learner = read_learner(source, quantifier, inputs, options, progress, inputs.by)
        target = read_target(table, learner.layout, learner.features, inputs, progress)
    fitted = learner.fitted(options, progress)
    return Prepared(**vars(fitted), target=target)


def unfitted(source: Source, options: MethodOptions, inputs: ReferenceOptions) -> Quantifier | None:
    """Return the quantifier that is to be fitted on REFERENCE; None if that is a saved one."""
    if source.kind() == "NPZ" and is_archive(source.path):
        return None
    if inputs.decision:
        options = replace(options, method=options.method or DEFAULT_METHOD)
        check_options(inputs.decision, methods.method_name(options.method), inputs.classifier)
    return methods.quantifier_of(options)


def read_learner(
    source: Source,
    quantifier: Quantifier | None,
    inputs: ReferenceOptions,
    options: MethodOptions,
    progress: Progress,
    by: Sequence[str] | None = None,
) -> Learner:
    """Read REFERENCE; ``by`` are columns that it may have and that are no features."""
    if quantifier is None:
        if inputs.label is not None:
            progress.note(f"--label is not needed: {source.name} is a saved quantifier.")
        check_columns(inputs)
        with progress.step("read quantifier"):
            loaded = _load(source, options, inputs.classifier)
            decided = decisions_of_saved(loaded, inputs.decision, source.name)
            layout = layout_of(inputs, [str(label) for label in loaded.classes_.tolist()])
            return Learner(loaded, source.name, None, replace(layout, decisions=decided))
    choice = None if inputs.classifier is None else classifier_choice(inputs.classifier)
    with progress.step("read reference"):
        reference = read_reference(open_table(source), inputs, by, progress)
    model = give_classifier(quantifier, choice, reference, options)
    layout = reference.layout or Layout(reference.labels.names)
    return Learner(quantifier, reference.name, reference, layout, model)


def give_classifier(
    quantifier: Quantifier,
    choice: ClassifierChoice | None,
    reference: Reference,
    options: MethodOptions,
) -> Any:
    """Let the quantifier, or the one inside of it, train the chosen classifier; return that."""
    if choice is None or reference.features is None:
        return None
    model = pipeline(choice, reference.features, methods.seed_of(options))
    inner = hasattr(quantifier, "quantifier")
    quantifier.set_params(**{"quantifier__classifier" if inner else "classifier": model})
    return model


def fit(quantifier: Quantifier, options: MethodOptions, reference: Reference) -> None:
    """Fit the quantifier on the reference."""
    labels = reference.labels
    if options.prior:
        quantifier.set_params(prior=methods.prior_of(options.prior, labels.classes))
    with training(reference):
        quantifier.fit(reference.X, labels.items)


@contextmanager
def training(reference: Reference) -> Iterator[None]:
    """Train a classifier if there are features; a failure of it is an error of one sentence."""
    if reference.features is None:
        with located(reference.place):
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


# --- saved quantifiers ------------------------------------------------------------------------


def _load(source: Source, options: MethodOptions, classifier: str | None) -> Quantifier:
    """Return a saved quantifier with the parameters that the user changes."""
    from truemix.persistence import load

    quantifier = load(source.path)
    known = quantifier.get_params()
    changes = methods.given_parameters(options)
    changes |= {"prior": options.prior} if options.prior else {}
    changes |= {} if classifier is None else {"classifier": classifier}
    _check_changes(quantifier, options.method, changes, source.name)
    if options.prior:
        changes["prior"] = methods.prior_of(options.prior, quantifier.classes_)
    if options.seed is not None and "random_state" in known:
        changes["random_state"] = methods.seed_of(options)
    if not changes:
        return quantifier
    changed = type(quantifier)(**{**quantifier.get_params(deep=False), **changes})
    # As if it had been saved with these parameters: what follows from them is made again.
    changed.restore(quantifier.state())
    return changed


def _check_changes(
    quantifier: Quantifier, method: str | None, changes: dict[str, Any], name: str
) -> None:
    kind = type(quantifier).__name__
    inner = getattr(quantifier, "quantifier", None)
    own = kind if inner is None else f"{kind}{type(inner).__name__}"
    if method is not None and methods.method_name(method).replace("-", "") != own.lower():
        raise InputError(
            f"{name} is a saved quantifier of the method {own}, but --method is {method}; leave "
            "the option out, or give labelled items as REFERENCE."
        )
    for parameter in changes:
        option = methods.option_of(parameter)
        if parameter not in _CHANGEABLE:
            raise InputError(
                f"{name} is a saved quantifier, whose {parameter} is already decided; leave "
                f"{option} out, or give labelled items as REFERENCE."
            )
        if parameter not in quantifier.get_params():
            raise InputError(
                f"{name} is a saved quantifier of the method {kind}, which has no {parameter}; "
                f"leave {option} out."
            )


def _n_references(quantifier: Quantifier) -> int | None:
    """Return the number of items that a quantifier was fitted on, if it remembers."""
    if quantifier.references_ is not None:
        return len(quantifier.references_[1])
    counts = getattr(quantifier.model_, "counts_", None)
    return None if counts is None else round(counts.sum())
