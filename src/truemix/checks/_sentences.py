"""The result of a check as sentences, for readers who decide whether to trust an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truemix.estimates.text import items, percent, shown_name

if TYPE_CHECKING:
    from truemix.checks.shift_check import ShiftCheck

# Shares of unusual or unknown items, and changes of an estimate, from here on get a sentence.
NOTABLE = 0.01


def explained(check: ShiftCheck) -> str:
    """Return a few sentences."""
    sentences_of = {"passed": _passed, "failed": _failed, "cannot tell": _cannot_tell}[
        check.verdict
    ]
    return " ".join([*sentences_of(check), *_caveats(check)])


def _passed(check: ShiftCheck) -> list[str]:
    sentences = [
        f"Nothing speaks against {_these(check)} being a mix of the reference classes "
        f"({_p_value(check)}).",
        f"With so many, up to about {_rounded(check.detectable)} unusual ones could go unnoticed.",
    ]
    n_unusual = check.n_unusual
    if n_unusual:
        verb = "is" if n_unusual == 1 else "are"
        sentences.append(f"{items(n_unusual)} {verb} unlike the references all the same.")
    return sentences


def _cannot_tell(check: ShiftCheck) -> list[str]:
    verb = "is" if check.n_items == 1 else "are"
    begin = f"Whether {_these(check)} {verb} a mix of the reference classes cannot be told"
    if check.decisions_only:
        sentences = [
            f"{begin}: there are no more different posteriors than classes, as if they were "
            "decisions, and nearly any shares of decisions are those of some mix. The "
            "classifier's posteriors, not rounded, would tell."
        ]
    else:
        sentences = [
            f"{begin} ({_p_value(check)}): with {items(check.n_compared)} and "
            f"{items(check.n_references)} in the reference even a large violation could be missed."
        ]
    return sentences if check.cause is None else [*sentences, check.cause]


def _failed(check: ShiftCheck) -> list[str]:
    verb = "does" if check.n_items == 1 else "do"
    sentences = [
        f"{_these(check, capital=True)} {verb} not look like any mix of the reference classes "
        f"({_p_value(check)}): {_how(check)}."
    ]
    if check.cause is not None:
        sentences.append(check.cause)
    n_unusual = check.n_unusual
    if n_unusual >= NOTABLE * check.n_items:
        share = n_unusual / check.n_items
        sentences.append(
            f"About {_rounded(share)} of them ({n_unusual:,}) are unlike everything in the "
            f"reference; most of these resemble class {_resembled(check)}."
        )
    elif check.unknown_share >= NOTABLE:
        sentences.append(
            f"About {_rounded(check.unknown_share)} of them could be of a class that the "
            "reference does not have."
        )
    changed = np.flatnonzero(check.class_adjusted <= check.level)
    if changed.size:
        changed_most = changed[np.argmax(np.abs(check.class_scores[changed]))]
        sentences.append(f"The class that changed most is {_name(check, int(changed_most))}.")
    sentences.append(_off(check))
    return sentences


def _how(check: ShiftCheck) -> str:
    if check.scores["energy"] > check.scores["tail"]:
        return "their scores are spread differently"
    if check.parts["tail"] > 0:
        return "too many of them are untypical of every class"
    return "they are more typical of the classes than reference items are"


def _off(check: ShiftCheck) -> str:
    if check.shift < NOTABLE:
        return (
            "Setting aside unusual items hardly changes the estimate, but where classes look "
            "different it may be off by more."
        )
    others = np.array([check.without_unusual, check.known_prevalence])
    change = np.abs(others - check.prevalence)
    which, k = np.unravel_index(change.argmax(), change.shape)
    return (
        f"Without unusual items class {_name(check, int(k))} would have "
        f"{percent(others[which, k])} instead of {percent(check.prevalence[k])}: the estimate may "
        "be off by that much or more."
    )


def _caveats(check: ShiftCheck) -> list[str]:
    caveats = []
    if check.n_compared < check.n_items:
        caveats.append(f"A random part of {items(check.n_compared)} was compared.")
    shares = check.prevalence[np.isin(check.labels, check.lonely)]
    if shares.size and shares.max() >= NOTABLE:
        label = check.lonely[int(shares.argmax())].item()
        caveats.append(
            f"Class {shown_name(label)!r} has a single reference item, so how its items vary is "
            "not known and the check is rough."
        )
    return caveats


def _these(check: ShiftCheck, *, capital: bool = False) -> str:
    if check.n_items == 1:
        return "This item" if capital else "this item"
    return f"{'These' if capital else 'these'} {check.n_items:,} items"


def _p_value(check: ShiftCheck) -> str:
    if check.adjusted_p_value is None:
        return f"p = {check.p_value:.2g}"
    return f"p = {check.adjusted_p_value:.2g} adjusted for the number of groups"


def _resembled(check: ShiftCheck) -> str:
    unusual = check.unusual_items()
    counts = None if check.item_counts is None else check.item_counts[unusual]
    return _name(check, int(np.bincount(check.item_classes[unusual], counts).argmax()))


def _name(check: ShiftCheck, k: int) -> str:
    return repr(shown_name(check.labels[k].item()))


def _rounded(share: float) -> str:
    return f"{max(1, round(100 * share))} %"
