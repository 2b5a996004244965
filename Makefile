# Two commands matter to a newcomer: `make demo` and `make test`. Each sets itself up in .venv.
# Any Python from 3.11 up: the lowest that is found, so that all see the same; or: make demo PYTHON=python3.13
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3.15 python3; do \
	$$name -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && echo $$name && break; done)
SYSTEM_PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
BENCH ?= full
PROFILE ?= full
ATTACK ?=
WORKERS ?= 3
MUSIC ?=
LISTENS ?=

# Each process would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve test checks compiled weights clients lint types docs bench torture release matrix story size python audit deploy-check clean

# All commands once, on synthesised music, or: make demo MUSIC=dir LISTENS=file
demo: $(VENV)/base
	$(BIN)/nearsong demo --folder .demo $(if $(MUSIC),--music "$(MUSIC)") $(if $(LISTENS),--listens "$(LISTENS)")
	@echo "Or run: make serve"

# The page on the demo's library; runs the demo first if needed.
serve: $(VENV)/base
	@test -e .demo/library.sqlite || $(MAKE) demo
	$(BIN)/nearsong serve --library .demo/library.sqlite --open

# Tests wait for jobs of the service, which yield to other programs; at the tests' own low priority they need not wait long.
# A few that fail are run once more, alone.
test: $(VENV)/dev
	@$(MAKE) --no-print-directory -j 2 checks
	@rm -f .pytest_cache/v/cache/lastfailed
	nice -n 18 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 15 \
		|| { test $$? -eq 1 && $(BIN)/python tests/run_again.py; }

# The month of five households whole, which takes five minutes; `make test` tells two of them.
story: $(VENV)/dev
	NEARSONG_STORY=whole $(BIN)/python -m pytest -q tests/story/test_month.py

# What comes before the tests, two at a time: mypy uses one core, so the other one compiles.
checks: lint compiled types weights clients

# Compiled functions in the cache of numba; without them each test process would compile its own.
compiled: $(VENV)/dev
	$(BIN)/python tests/warm_up.py

# The weights of musicnn, for the test that compares its numbers with TensorFlow's; it skips where PyPI is unreachable.
weights: $(VENV)/dev
	@test -e $(VENV)/encoders/musicnn.npz || NEARSONG_ENCODERS=$(VENV)/encoders $(BIN)/nearsong encoders install musicnn \
		|| echo "musicnn could not be downloaded; the test that needs its weights skips."

# Players that nobody here wrote, for the tests that drive them; those skip where one cannot be installed.
clients: $(VENV)/dev
	@test -e $(VENV)/clients/py_sonic-*.dist-info || $(BIN)/pip --python $(SYSTEM_PYTHON) install -q --no-deps \
		--target $(VENV)/clients -r tests/clients/requirements.txt \
		|| echo "the players in Python could not be installed; the tests that drive them skip."
	@test -e $(VENV)/clients/node_modules/subsonic-api || npm install --silent --no-audit --no-fund --no-save \
		--prefix $(VENV)/clients subsonic-api@3.3.1 \
		|| echo "subsonic-api could not be installed from npm; the test that drives it skips."

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

# The documentation as a site, gallery included: site/index.html
docs: $(VENV)/dev
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs site
	@echo "Open site/index.html"

bench: $(VENV)/peers
	@for file in benchmarks/bench_*.py; do $(BIN)/python $$file --profile $(BENCH) || exit 1; done

# The attack on nearsong, in .torture; continues where it was stopped. make torture PROFILE=smoke ATTACK="kill files"
torture: $(VENV)/dev
	PYTHONPATH=tests:. $(BIN)/python -m torture $(ATTACK) --profile $(PROFILE)

# Wheel, sdist, bill of materials and hashes; the same commit gives the same bytes.
release: $(VENV)/release
	rm -rf dist
	$(BIN)/python release/make_release.py dist

# The wheel on every Python from 3.11 up that is found here, with pinned and with the newest dependencies.
matrix: $(VENV)/release
	$(BIN)/python release/matrix.py

# What an installation without extras takes on disk, by package; fails above the limit.
size: python
	$(PYTHON) -m venv --clear build/size
	build/size/bin/pip install -q -c constraints.txt .
	build/size/bin/python release/install_size.py

# Known vulnerabilities of the pinned dependencies, from PyPI; fails where it cannot be asked.
audit: $(VENV)/release
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r constraints.txt

# The files in deploy/: linted, the Containerfile carried out in a bare Debian root, and the unit run there by a systemd of
# its own (needs root and debootstrap).
deploy-check: $(VENV)/release
	$(BIN)/python deploy/check.py

$(BIN)/python: | python
	$(PYTHON) -m venv $(VENV)

python:
	@test -n "$(PYTHON)" || { echo "No Python from 3.11 up was found; install one (Debian: apt-get install python3-venv)," \
		"or name yours: make PYTHON=/path/to/python3.12" >&2; exit 1; }

# Marker files: what is installed, redone when the dependencies change.
$(VENV)/base: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install -q -c constraints.txt -e .
	@touch $@

$(VENV)/dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	@touch $@ $(VENV)/base $(VENV)/release

$(VENV)/release: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install -q -c constraints.txt -e ".[release]"
	@touch $@ $(VENV)/base

$(VENV)/peers: $(VENV)/dev
	$(BIN)/pip install -q -c constraints.txt -e ".[dev,peers]"
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
