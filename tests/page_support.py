"""The pages of README and docs: their blocks of code, run, and compared with what they show.

``python tests/page_support.py PAGE…`` writes into pages what their code prints, and beside them the
pictures that they show and their code draws.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from truemix.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.parent.name not in {"generated", "decisions", "results", "paper"}
    ),
]
SHOWN_ONLY = "text"
# Before a block whose numbers depend on a sample of items, which another processor draws otherwise.
ROUGHLY = "<!-- roughly -->"
# What a number looks like, and text that stands for anything.
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
ANYTHING = "[...]"
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and lines.

    It ``follows`` if it is the next thing after another, and shows its numbers ``roughly`` if the
    page says so.
    """

    language: str
    text: str
    first: int
    last: int
    follows: bool
    roughly: bool


@dataclass(frozen=True)
class Step:
    """Something that was run: where it stands, what it printed, and what the page shows."""

    place: str
    block: Block
    command: str
    printed: str
    shown: str


def blocks_of(page):
    """Return the fenced blocks of a page; directives of the site are none."""
    found, after = [], -1
    text = page.read_text("utf-8")
    lines = text.splitlines()
    for token in PARSER.parse(text):
        if token.type == "fence":
            first, last = token.map
            follows = after >= 0 and not "".join(lines[after:first]).strip()
            after = last
            if not token.info.startswith("{"):
                roughly = ROUGHLY in lines[max(first - 2, 0) : first]
                info = token.info.strip()
                found.append(Block(info, token.content, first, last, follows, roughly))
    return found


def run_page(page, folder):
    """Run all blocks of a page in a folder, one after the other, and yield what they print.

    Blocks of Python share their names, commands their folder. A block without a language right
    after Python is what that prints.
    """
    names, shell, blocks = {"__name__": "page"}, Shell(), blocks_of(page)
    with contextlib.chdir(folder):
        for number, block in enumerate(blocks):
            place = f"{page.relative_to(ROOT)}, line {block.first + 1}"
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            if block.language == "python":
                printed = output_of(lambda text=block.text: exec(text, names))  # noqa: S102
                shown = following.text if following and is_output(following) else ""
                yield Step(place, block, "", printed, shown)
            elif block.language == "console":
                for command, shown in sessions(block.text):
                    printed = shell.run(re.sub(r"\\\n\s*", "", command))
                    yield Step(place, block, command, printed, shown)
            elif not (is_output(block) and blocks[number - 1].language == "python"):
                assert block.language == SHOWN_ONLY, f"{place}: nothing runs this"
                check_commands(block.text)


def is_output(block):
    return block.language == "" and block.follows


def output_of(function):
    """Return all that a function prints, on both streams."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        function()
    return stream.buffer.getvalue().decode()


def sessions(text):
    """Return the commands of a terminal, each with what it shows."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append([[line[2:]], []])
        elif commands[-1][0][-1].endswith("\\"):
            commands[-1][0].append(line)
        else:
            commands[-1][1].append(line)
    return [("\n".join(command), "\n".join(shown)) for command, shown in commands]


class Shell:
    """A shell that runs truemix in this process, where it is loaded already."""

    def __init__(self):
        self.code = 0

    def run(self, command):
        """Run a command and return what it shows."""
        words = shlex.split(command)
        if words[0] == "cd":
            os.chdir(words[1])
            return ""
        if command == "echo $?":
            return f"{self.code}\n"
        if words[0] in CHECKED_ONLY:
            CHECKED_ONLY[words[0]](words)
            return ""
        if words[0] == "truemix" and not re.search(r"[|<>&;$]", command):
            return output_of(lambda: self.keep(main(words[1:])))
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        self.keep(done.returncode)
        return done.stdout.decode()

    def keep(self, code):
        self.code = code


def check_installable(words):
    """Check that the extras of a ``pip install`` exist."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for word in words[2:]:
        name, _, extras = word.rstrip("]").partition("[")
        assert name in {"truemix", "truemix-experiments", ".", "./experiments"}, word
        assert set(filter(None, extras.split(","))) <= set(settings["optional-dependencies"]), word


def check_target(words):
    """Check that a target of make exists."""
    assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), words


def check_commands(text):
    """Check that commands of truemix which are only shown exist, with all their options."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        words = shlex.split(line, comments=True) if line.startswith("truemix ") else []
        if words:
            known = output_of(lambda: main([*names_of(words), "--help"]))  # noqa: B023
            for word in words:
                assert not word.startswith("--") or word in known, line


def names_of(words):
    """Return the names of a command and of its subcommand, if it has any."""
    return words[1:3] if words[1] == "bench" and words[2:] else words[1:2]


# These install things or take minutes: what they name must exist.
CHECKED_ONLY = {"pip": check_installable, "make": check_target}


def compare_step(step):
    """Compare what a step printed with what its page shows."""
    compare(step.printed, step.shown, f"{step.place} {step.command}", step.block.roughly)


def compare(found, shown, place, roughly=False):
    """Compare what was printed with what a page shows, all but the last digits of numbers."""
    found, shown = (
        "\n".join(map(str.rstrip, text.strip("\n").splitlines())) for text in (found, shown)
    )
    match = re.fullmatch(pattern_of(shown), found)
    assert match, f"{place} prints\n{found}\nand the page shows\n{shown}"
    numbers = [each for part in shown.split(ANYTHING) for each in NUMBER.finditer(part)]
    for number, now in zip(numbers, match.groups(), strict=True):
        expected, tolerance = value_of(number[0]), tolerance_of(number)
        if roughly:
            # Shares estimated from about a hundred labels have a standard error of 2 to 3 points.
            tolerance = max(tolerance, 10.0, 0.2 * abs(expected))
        assert abs(value_of(now) - expected) <= tolerance, (
            f"{place} prints {now} in\n{found}\nand the page shows {number[0]} in\n{shown}"
        )


def pattern_of(shown):
    """Return a pattern of all texts that differ from this one in numbers and spaces only."""
    parts = []
    for part in shown.split(ANYTHING):
        texts = [re.sub(r"(\\ )+", r" *", re.escape(text)) for text in NUMBER.split(part)]
        # Numbers are aligned: a longer one has fewer spaces before it.
        parts.append(r"(-?\d[\d,]*(?:\.\d+)?)".join(texts))
    return r"[\s\S]*?".join(parts)


def value_of(text):
    return float(text.replace(",", ""))


def tolerance_of(number):
    """Return how far a number may be from what the page shows.

    Another processor rounds sums differently, and a chain of draws goes its own way from there:
    the end of an interval may move by eight units of its last digit (of percent: 0.8). Whole
    numbers are counts, which are exact; whole percents are rounded numbers.
    """
    text, decimals = number[0], len(number[0].partition(".")[2])
    if decimals:
        return max(8 * 10**-decimals, 0.03 * abs(value_of(text)))
    return 1.5 if re.match(r"\s?%", number.string[number.end() :]) else 0


def rewrite(page):
    """Write into a page what its blocks print, where that differs from what it shows."""
    steps = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for step in run_page(page, Path(folder)):
                steps += [step]
        except Exception:
            traceback.print_exc()
        for picture in Path(folder).rglob("*.png"):
            if f"({picture.name})" in page.read_text("utf-8"):
                shutil.copy(picture, page.parent)
    lines = page.read_text("utf-8").splitlines()
    for block in reversed(blocks_of(page)):
        own = [step for step in steps if step.block.first == block.first]
        if not own:
            continue
        if block.language == "console":
            text = "".join(f"$ {step.command}\n{kept_or_new(step)}" for step in own)
            lines[block.first + 1 : block.last - 1] = text.splitlines()
        elif block.language == "python" and (new := kept_or_new(own[0])):
            end = block.last
            while own[0].shown and lines[end] != "```":
                end += 1
            while own[0].shown and lines[end + 1] != "```":
                end += 1
            after = end + 2 if own[0].shown else end
            lines[block.last : after] = ["", "```", *new.splitlines(), "```"]
    page.write_text("\n".join(lines) + "\n", "utf-8")


def kept_or_new(step):
    """Return what a page shall show: what it shows, if that is right."""
    try:
        compare_step(step)
    except AssertionError:
        return step.printed.strip("\n") + "\n" if step.printed.strip() else ""
    return step.shown.strip("\n") + "\n" if step.shown.strip() else ""


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
