"""The numbers of a summary as records: the CSV output, and the file that the page offers."""

from __future__ import annotations

from typing import Any

from truemix._group_order import key_columns

_COLUMNS = (
    "class", "share", "lower", "upper", "classify_and_count", "reference", "prob_increase",
    "n_items",
)  # fmt: skip


def summary_records(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbers of a summary, one record for each class of each group."""
    records = []
    for group in summary["groups"]:
        unknown, shift = group["unknown"] or {}, group["checks"]["label_shift"]
        adjusted = shift.get("adjusted_p_value")
        of_group = {
            "keys": group["keys"],
            "n_items": group["n_items"],
            "unknown": unknown.get("share"),
            "unknown_lower": unknown.get("lower"),
            "unknown_upper": unknown.get("upper"),
            "check": shift["verdict"],
            "check_p_value": shift.get("p_value") if adjusted is None else adjusted,
        }
        ranges = group["range"] or [{"lower": None, "upper": None}] * len(group["classes"])
        records += [
            {**each, **of_group, "range_lower": bounds["lower"], "range_upper": bounds["upper"]}
            for each, bounds in zip(group["classes"], ranges, strict=True)
        ]
    return records


def csv_records(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the CSV output holds: of all records, the columns that say something."""
    columns = [name for name in _COLUMNS if summary["along"] is not None or name != "prob_increase"]
    # What was asked for in addition goes behind, the same for all classes of a group.
    if summary["groups"][0]["unknown"] is not None:
        columns += ["unknown", "unknown_lower", "unknown_upper"]
    columns += ["check", "check_p_value"]
    if any(group["range"] for group in summary["groups"]):
        columns += ["range_lower", "range_upper"]
    told = key_columns(summary["keys"], len(summary["keys"]), columns)
    return [
        {
            **dict(zip(told, each["keys"], strict=True)),
            **{name: each[name] for name in columns},
        }
        for each in summary_records(summary)
    ]
