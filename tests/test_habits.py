"""Every command in docs/habits.md works on files of the shape that it is about."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli_support import run
from support import posteriors

PAGE = Path(__file__).parents[1] / "docs" / "habits.md"
ROW = re.compile(r"^\| .* \| `(truemix .*)` \|$", re.MULTILINE)
COMMANDS = ROW.findall(PAGE.read_text("utf-8"))
FIRST_SECTION = ROW.findall(PAGE.read_text("utf-8").partition("## Decisions")[0])
CLASSES = ["ham", "spam"]


def table(n, mix=None):
    P, codes = posteriors(n, 2, n, mix=mix)
    frame = pd.DataFrame(P, columns=CLASSES)
    frame["topic"] = np.array(CLASSES)[codes]
    return frame


def write_forms(reference, target):
    """Write both tables in all forms; in each the target has no labels."""

    def save(name, change, write=lambda frame, path: frame.to_csv(path, index=False), *, end=""):
        stem, dot, extension = name.partition(".")
        write(change(reference), name)
        write(change(target.drop(columns="topic")), f"{stem}-target{dot}{extension}{end}")

    def as_lines(frame, path):
        frame.to_json(path, orient="records", lines=True, double_precision=15)

    def nested(frame):
        answers = [{"probs": each} for each in frame[CLASSES].to_dict("records")]
        return frame.drop(columns=CLASSES).assign(answer=answers)

    def percent(frame):
        return frame.assign(**(100 * frame[CLASSES]))

    def two_models(frame):
        old = {f"old_{name}": 0.5 for name in CLASSES}
        return frame.rename(columns=lambda n: f"new_{n}" if n in CLASSES else n).assign(**old)

    save("prefixed.csv", lambda f: f.rename(columns={n: f"y_pred_proba_{n}" for n in CLASSES}))
    save("two-models.csv", two_models)
    save("scores.csv", lambda f: f.drop(columns="ham").rename(columns={"spam": "probability"}))
    save("rounded.csv", lambda f: f.round(2))
    save("percent.csv", percent)
    save("logits.csv", lambda f: f.assign(**np.log(f[CLASSES])))
    save("log.jsonl", lambda f: f, as_lines, end=".gz")
    save("nested.jsonl", nested, as_lines)

    def judged(frame):
        sure = np.where(frame["ham"] > 0.9, "ham", "unsure")
        verdicts = {"gpt": np.where(frame["spam"] > 0.5, "spam", sure)}
        verdicts["claude"] = np.where(frame["ham"].round(1) > 0.4, "ham", "spam")
        return frame.drop(columns=CLASSES).assign(**verdicts)

    save("judged.csv", judged)
    unlabelled = target.assign(topic=None)
    pd.concat([reference, unlabelled]).to_csv("one-file.csv", index=False)
    features = np.array(["red", "blue", "green"])
    save(
        "features.csv",
        lambda f: pd.DataFrame(
            {
                "size": f["ham"].round(1),
                "colour": features[np.arange(len(f)) % 3],
                "folder": np.where(f["ham"] > 0.5, "inbox", "junk"),
                **({"topic": f["topic"]} if "topic" in f else {}),
            }
        ),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with all files that the page names."""
    monkeypatch.chdir(tmp_path)
    reference, target = table(80), table(150, mix=[0.7, 0.3])
    write_forms(reference, target)
    reference.to_csv("reference.csv", index=False)
    reference.to_parquet("reference.parquet")
    truth = target.pop("topic")
    np.savez("target.npz", X=target[CLASSES].to_numpy(), classes=CLASSES)
    target["id"] = [f"item {number}" for number in range(len(target))]
    target["region"] = np.array(["north", "south"])[np.arange(len(target)) % 2]
    target["at"] = pd.date_range("2026-01-05", periods=len(target), freq="13h")
    target.to_csv("target.csv", index=False)
    labels = pd.DataFrame({"id": target["id"], "topic": truth}).iloc[::10]
    labels.to_csv("labels.csv", index=False)
    target.join(labels["topic"]).to_csv("partly.csv", index=False)
    for number in range(3):
        part = target.iloc[50 * number : 50 * (number + 1)]
        place = Path(f"days/day=2026-01-0{number + 1}")
        place.mkdir(parents=True)
        part.to_parquet(place / "part.parquet")
        Path("months").mkdir(exist_ok=True)
        part.to_csv(f"months/2026-0{number + 1}.csv", index=False)
    return tmp_path


def quick(command):
    """Return the arguments of a command with a method that takes no time."""
    words = shlex.split(command)[1:]
    if words[0] == "sample":
        return [*words, "--method", "kdey", "--bandwidth", "0.3", "--shrinkage", "0.1"]
    if "--labelled" in words or "partly.csv" in words:
        return [*words, "--method", "kdey", "--bandwidth", "0.3", "--shrinkage", "0.1"]
    if "--decision" in words:
        return [*words, "--method", "acc" if words.count("--decision") == 1 else "bayesian-acc"]
    return words if "--method" in words else [*words, "--method", "pcc"]


def test_the_page_has_commands():
    assert len(COMMANDS) > 20
    assert len(FIRST_SECTION) == 10


@pytest.mark.parametrize("command", COMMANDS)
def test_a_habit_is_served(capsys, folder, command):
    done = run(capsys, *quick(command), "--format", "json")
    assert done.code in {0, 3}, done.err
    assert done.json
    words = shlex.split(command)
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).exists()


@pytest.mark.parametrize("command", FIRST_SECTION[1:])
def test_all_forms_of_the_same_items_give_the_same_mix(capsys, folder, command):
    def shares(arguments):
        [group] = run(capsys, *arguments, "--format", "json").json["groups"]
        return [each["share"] for each in group["classes"]]

    expected = shares(quick(FIRST_SECTION[0]))
    # Two decimals are off by up to half a percent in each item, and less on average.
    atol = 0.002 if "rounded" in command else 1e-9
    np.testing.assert_allclose(shares(quick(command)), expected, atol=atol)
