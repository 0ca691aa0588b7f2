"""How files have posteriors, as far as options say: names of columns, one score, logits."""

from __future__ import annotations

from dataclasses import dataclass

from truemix.cli._options import ReferenceOptions
from truemix.exceptions import InputError
from truemix.validation import shown, shown_list

# What stands for the class in a pattern.
CLASS = "{}"


@dataclass(frozen=True)
class Layout:
    """How a table has the posteriors of its classes.

    Attributes
    ----------
    classes : list of str
        The classes in order.
    pattern : str or None
        The name of each column, with ``{}`` for the class; None if that is to be found.
    seen : str or None
        The pattern that was found in the reference, and is looked for first.
    decisions : list of str or None
        Columns of decisions, which are read in place of posteriors.
    score, positive : str or None
        The only column, and the class that it is the posterior of.
    logits : bool
        Whether columns hold logits.
    """

    classes: list[str]
    pattern: str | None = None
    score: str | None = None
    positive: str | None = None
    logits: bool = False
    seen: str | None = None
    decisions: list[str] | None = None


def check_columns(given: ReferenceOptions) -> None:
    """Refuse options about columns that do not go together, before any file is read."""
    about_posteriors = {
        "--columns": given.columns,
        "--score": given.score,
        "--positive": given.positive,
        "--logits": given.logits or None,
    }
    named = [option for option, value in about_posteriors.items() if value is not None]
    if given.decision and named:
        raise InputError(
            f"The option {named[0]} is about columns of posteriors, but --decision names decisions "
            "in place of them; leave one of them out."
        )
    if given.classifier is not None and named:
        raise InputError(
            f"The option {named[0]} is about columns of posteriors, but --classifier trains on "
            "features; leave one of them out."
        )
    for option, names in {"--features": given.features, "--drop": given.drop}.items():
        if names and given.classifier is None:
            raise InputError(
                f"The option {option} says what --classifier is trained on; name a classifier "
                "too, or leave the option out."
            )
    if given.features and given.drop:
        raise InputError(
            "--features names all columns to train on, and --drop those to leave out; give one of "
            "them."
        )
    if given.columns is not None and given.columns.count(CLASS) != 1:
        raise InputError(
            f"The option --columns is {shown(given.columns)}; expected one {CLASS} where the class "
            f"is in the names of columns, as in 'proba_{CLASS}'."
        )
    if given.score is None and given.positive is not None:
        raise InputError(
            "The option --positive says which class --score is the posterior of; name that column "
            "too: --score COLUMN."
        )
    if given.score is None:
        return
    if given.positive is None:
        raise InputError(
            f"The option --score names the column {shown(given.score)}; say which class it is the "
            "posterior of: --positive CLASS."
        )
    if given.columns is not None:
        raise InputError(
            "--columns is about a column for each class and --score about one column; give one of "
            "them."
        )
    if given.logits:
        raise InputError(
            "--logits is about a column for each class; a --score must be a posterior from 0 to 1. "
            "Leave --logits out, and apply the logistic function if it is a logit."
        )


def layout_of(given: ReferenceOptions, classes: list[str]) -> Layout:
    """Return how posteriors are written, as far as the options say."""
    if given.score is not None:
        if len(classes) != 2:
            raise InputError(
                f"The option --score is about two classes, but there are {len(classes)}: "
                f"{shown_list(classes)}. Give a column for each, or --columns."
            )
        if given.positive not in classes:
            raise InputError(
                f"The option --positive is {shown(given.positive)}; expected one of the classes "
                f"{shown_list(classes)}."
            )
    return Layout(classes, given.columns, given.score, given.positive, given.logits)
