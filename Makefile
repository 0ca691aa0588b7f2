# Two commands do everything: `make run` shows the main job, `make test` checks all of it.
# Each sets up what it needs in .venv first; a second call finds it there.

PYTHON ?= python3
PIP = -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PY := .venv/bin/python

.PHONY: run test lint types imports bench docs clean

run: .venv/.run
	.venv/bin/truemix demo out/demo --force --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic \
		--by week --report out/report.html

# Both environments are set up at the same time, then the quick checks run beside each other.
test:
	$(MAKE) --jobs=2 --output-sync=target lint types imports runtime-only
	$(PY) -m pytest -n auto --dist worksteal --durations 25

lint: .venv/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/.dev
	$(PY) -m mypy

imports: .venv/.dev
	.venv/bin/lint-imports --no-cache

# truemix must import and work with nothing but its runtime dependencies installed.
.PHONY: runtime-only
runtime-only: .venv-runtime/.done
	.venv-runtime/bin/python -W error tests/runtime_only.py

# Thousands of hostile numbers, tables and damaged files; `make test` makes a part of these attempts.
.PHONY: fuzz
fuzz: .venv/.dev
	PYTHONPATH=tests:experiments/tests $(PY) -m hostile $(FUZZ)

bench: .venv/.dev
	$(PY) benchmarks/densities.py
	$(PY) benchmarks/posterior.py
	$(PY) benchmarks/command_line.py

docs: .venv/.dev
	$(PY) examples/digits.py --picture docs/digits.png
	.venv/bin/truemix demo out/demo --force --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic \
		--by week --format csv --out out/weeks.csv --report out/report.html
	$(PY) docs/screenshot.py out/report.html docs/report.png

clean:
	rm -rf .venv .venv-runtime out

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run: pyproject.toml constraints.txt | .venv/bin/python
	$(PY) $(PIP) --editable .
	touch $@

.venv/.dev: pyproject.toml experiments/pyproject.toml constraints.txt | .venv/bin/python
	$(PY) $(PIP) --editable ".[dev]" --editable experiments
	touch $@ .venv/.run

.venv-runtime/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-runtime
	.venv-runtime/bin/python $(PIP) --editable .
	touch $@
