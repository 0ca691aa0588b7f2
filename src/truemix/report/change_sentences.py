"""What changed, as sentences: in percentage points, with an interval and how sure that is."""

from __future__ import annotations

from typing import Any

from truemix.estimates.text import chance, percent
from truemix.report.sentences import class_name, group_name

# From these probabilities on, a direction is called so.
_WORDS = ((0.99, "almost certainly"), (0.9, "very likely"), (2 / 3, "probably"))
# From here on, a change is worth a sentence of its own.
SURE = 0.9
_MAX_NAMED = 3
# Below, whole percentages are enough.
_EXACT = 0.99
_MINUS = "\N{MINUS SIGN}"


def about_change(change: dict[str, Any] | None, by: str | None) -> list[str]:
    """Return what changed from the first group to the last one.

    Examples
    --------
    >>> a = {"class": "a", "difference": 0.042, "lower": 0.021, "upper": 0.063}
    >>> b = {"class": "b", "difference": -0.01, "lower": -0.03, "upper": 0.01}
    >>> a["prob_increase"], b["prob_increase"] = 0.97, 0.3
    >>> c = {**b, "class": "c"}
    >>> about_change({"from": 1, "to": 9, "classes": [a, b, c]}, "week")
    ['From week 1 to week 9, a changed by +4.2 points (2.1 to 6.3): very likely higher (97 %).']
    """
    if change is None:
        return []
    classes = change["classes"][1:] if len(change["classes"]) == 2 else change["classes"]
    lead = f"From {group_name(change['from'], by)} to {group_name(change['to'], by)}"
    sure = [entry for entry in classes if sureness(entry) >= SURE]
    if not sure:
        most = max(classes, key=_size)
        if most["lower"] is None:
            which = "" if len(classes) == 1 else ", most of all"
            return [f"{lead}, {class_name(most)} changed by {points(most)}{which}."]
        if len(classes) == 1:
            return [f"{lead}, {class_name(most)} has not surely changed: {points(most)}."]
        return [
            f"{lead}, no share has surely changed; the largest difference is that of "
            f"{class_name(most)}, {points(most)}{direction(most, ', ')}."
        ]
    sure.sort(key=_size, reverse=True)
    parts = [
        f"{class_name(entry)} changed by {points(entry)}{direction(entry, ': ')}"
        for entry in sure[:_MAX_NAMED]
    ]
    more = len(sure) - _MAX_NAMED
    parts += [f"{more} more classes changed less"] if more > 0 else []
    return [f"{lead}, {'; '.join(parts)}."]


def about_largest(
    move: dict[str, Any] | None, change: dict[str, Any] | None, by: str | None
) -> list[str]:
    """Return the largest move between any two groups, unless it was said, or may be chance.

    Examples
    --------
    >>> move = {"from": 2, "to": 7, "class": "a", "before": 0.06, "now": 0.441}
    >>> move |= {"difference": 0.381, "lower": 0.27, "upper": 0.489, "prob_increase": 1.0}
    >>> move |= {"among": 264, "chosen_lower": 0.158, "chosen_upper": 0.615}
    >>> about_largest(move, None, "week")
    ['The largest move is that of a: from 6.0 % in week 2 to 44.1 % in week 7, +38.1 points (27.0 to
    48.9), almost certainly higher (more than 99.9 %).']
    """
    if move is None:
        return []
    lower, upper = move["chosen_lower"], move["chosen_upper"]
    if lower is not None and lower <= 0 <= upper:
        return ["Of all moves between any two groups, none stands out from chance."]
    if change is not None and (move["from"], move["to"]) == (change["from"], change["to"]):
        return []
    places = [group_name(move[end], by) for end in ("from", "to")]
    return [
        f"The largest move is that of {class_name(move)}: from {percent(move['before'])} in "
        f"{places[0]} to {percent(move['now'])} in {places[1]}, {points(move)}"
        f"{direction(move, ', ')}."
    ]


def about_difference(move: dict[str, Any] | None, by: str | None) -> list[str]:
    """Return by how much groups without an order differ most, and whether that may be chance.

    Examples
    --------
    >>> move = {"from": "east", "to": "west", "class": "a", "difference": 0.3, "among": 3}
    >>> move |= {"lower": 0.27, "upper": 0.33, "chosen_lower": 0.26, "chosen_upper": 0.34}
    >>> about_difference(move, "region")
    ['The surest difference is that of a: +30.0 points (27.0 to 33.0) in region west compared with
    region east.']
    """
    if move is None or move["lower"] is None:
        return []
    if move["chosen_lower"] <= 0 <= move["chosen_upper"]:
        return ["Differences between groups are no larger than chance explains."]
    to, start = (group_name(move[end], by) for end in ("to", "from"))
    return [
        f"The surest difference is that of {class_name(move)}: {points(move)} in {to} compared "
        f"with {start}."
    ]


def points(entry: dict[str, Any], *, unit: str = " points") -> str:
    """Return a difference in percentage points, with its interval where that is known.

    Examples
    --------
    >>> points({"difference": 0.042, "lower": 0.021, "upper": 0.063})
    '+4.2 points (2.1 to 6.3)'
    """
    text = signed(entry["difference"], sign="+") + unit
    if entry["lower"] is None:
        return text
    return f"{text} ({signed(entry['lower'])} to {signed(entry['upper'])})"


def signed(share: float, *, sign: str = "") -> str:
    """Return a difference of shares as a number of points, with a minus sign that is one.

    Examples
    --------
    >>> signed(0.05, sign="+"), signed(-0.0001) == signed(0.0)
    ('+5.0', True)
    """
    text = percent(share, sign=sign, unit="").replace("-", _MINUS)
    return "0.0" if text.strip("+") == "0.0" else text


def direction(entry: dict[str, Any], before: str = "") -> str:
    """Return how sure a direction is: never as a percentage that could be read as a change.

    Examples
    --------
    >>> direction({"prob_increase": 0.97}), direction({"prob_increase": 0.004})
    ('very likely higher (97 %)', 'almost certainly lower (99.6 %)')
    >>> direction({"prob_increase": 0.5})
    'direction unclear'
    """
    if entry["prob_increase"] is None:
        return ""
    probability = sureness(entry)
    word = next((word for least, word in _WORDS if probability >= least), None)
    if word is None:
        return f"{before}direction unclear"
    where = "higher" if entry["prob_increase"] > 0.5 else "lower"
    shown = (
        percent(probability, 0) if probability < _EXACT else chance(probability, more="more than")
    )
    return f"{before}{word} {where} ({shown})"


def sureness(entry: dict[str, Any]) -> float:
    """Return the probability of the likelier direction of a change; 0 if it is not known."""
    increase = entry["prob_increase"]
    return 0.0 if increase is None else max(float(increase), 1.0 - float(increase))


def left_out(n_failed: int, n_groups: int) -> list[str]:
    """Return that groups are not compared because they failed a check, if some did.

    Examples
    --------
    >>> left_out(2, 12)
    ['2 of 12 groups failed a check and are not compared.']
    """
    if not n_failed:
        return []
    if n_groups - n_failed < 2:
        passed = "none" if n_failed == n_groups else "only one"
        return [
            f"What has changed cannot be said: of {n_groups} groups, {passed} passed the checks."
        ]
    verb = "is" if n_failed == 1 else "are"
    return [f"{n_failed} of {n_groups} groups failed a check and {verb} not compared."]


def _size(entry: dict[str, Any]) -> float:
    return abs(float(entry["difference"]))
