"""Make all attempts (``make fuzz``) and print how many of each category were refused and answered.

Exits with 1 if there is a finding.
"""

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

from hostile.attempts import ANSWERED, REFUSED, Attempt, Outcome, outcomes

OWN = ("loops", "numbers", "arrow_types", "labels", "input_files", "streams", "saved_files")
# Modules with a function ``attempts(seed) -> Iterator[Attempt]``; one is in experiments/tests.
KINDS = {**{name: f"hostile.{name}" for name in OWN}, "bench_files": "bench_files"}


def listed(kind: str, seed: int, every: int) -> Iterator[Attempt]:
    """List each ``every``-th attempt of a kind."""
    module = importlib.import_module(KINDS[kind])
    return islice(module.attempts(seed), seed % every, None, every)


def all_outcomes(kinds: list[str], seed: int, every: int) -> Iterator[Outcome]:
    for kind in kinds:
        yield from outcomes(partial(listed, kind, seed, every))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hostile", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="other mutations")
    parser.add_argument("--every", type=int, default=1, help="make only each N-th attempt")
    asked = parser.parse_args()
    began, counts, findings = time.monotonic(), Counter(), []
    for outcome in all_outcomes(list(asked.kinds), asked.seed, asked.every):
        kind = "finding" if outcome.finding else outcome.result
        counts[outcome.category, kind] += 1
        if outcome.finding:
            findings.append(outcome)
            print(f"{outcome.category}: {outcome.name}: {outcome.result}", file=sys.stderr)
    print("| category | attempts | refused | answered | findings |\n|---|---:|---:|---:|---:|")
    for category in dict.fromkeys(category for category, _ in counts):
        row = [counts[category, kind] for kind in (REFUSED, ANSWERED, "finding")]
        print(f"| {category} | {sum(row)} | {row[0]} | {row[1]} | {row[2]} |")
    minutes = (time.monotonic() - began) / 60
    print(f"\n{counts.total()} attempts in {minutes:.1f} minutes, {len(findings)} findings.")
    return 1 if findings else 0


if __name__ == "__main__":
    # Under its importable name: child processes look functions up by their module.
    sys.exit(importlib.import_module("hostile.__main__").main())
