"""Run by `make test` in an environment that holds the runtime dependencies only.

Not a pytest module: pytest is not installed there.
"""

import contextlib
import importlib.util
import io
import sys
import time

start = time.perf_counter()
import truemix  # noqa: E402

elapsed = time.perf_counter() - start

import numpy as np  # noqa: E402

for name in ("pytest", "quapy", "truemix_experiments"):
    if importlib.util.find_spec(name):
        sys.exit(f"{name} is installed here: this environment proves nothing")

for name in truemix.__all__:
    getattr(truemix, name)

reference = truemix.simplex.sample_uniform(200, 3, random_state=0)
labels = np.array(["a", "b", "c"])[reference.argmax(axis=1)]
mix = truemix.KDEy().fit(reference, labels).predict(reference)
expected = np.unique(labels, return_counts=True)[1] / len(labels)
# The labels are the largest posteriors, so that densities tell the classes apart almost exactly.
if not np.allclose(mix, expected, atol=0.01):
    sys.exit(f"KDEy returned {mix}; expected {expected}")

from truemix.cli import main  # noqa: E402

with contextlib.redirect_stderr(io.StringIO()) as said:
    code = main(["bench", "list"])
if code != 1 or "pip install truemix-experiments" not in said.getvalue():
    sys.exit(f"truemix bench ended with {code} and said {said.getvalue()!r}")
print(f"import truemix: {elapsed:.2f} s; {len(truemix.__all__)} public names; KDEy works")  # noqa: T201
