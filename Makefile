# Two commands matter to a newcomer: `make demo` and `make test`. Each sets itself up in .venv.
PYTHON ?= python3.11
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

.PHONY: demo serve test checks compiled weights lint types docs bench torture release size audit clean

# All commands once, on synthesised music, or: make demo MUSIC=dir LISTENS=file
demo: $(VENV)/base
	$(BIN)/nearsong demo --folder .demo $(if $(MUSIC),--music "$(MUSIC)") $(if $(LISTENS),--listens "$(LISTENS)")
	@echo "Or run: make serve"

# The page on the demo's library; runs the demo first if needed.
serve: $(VENV)/base
	@test -e .demo/library.sqlite || $(MAKE) demo
	$(BIN)/nearsong serve --library .demo/library.sqlite --open

test: $(VENV)/dev
	@$(MAKE) --no-print-directory -j 2 checks
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 15

# What comes before the tests, two at a time: mypy uses one core, so the other one compiles.
checks: lint compiled types weights

# Compiled functions in the cache of numba; without them each test process would compile its own.
compiled: $(VENV)/dev
	$(BIN)/python tests/warm_up.py

# The weights of musicnn, for the test that compares its numbers with TensorFlow's; it skips where PyPI is unreachable.
weights: $(VENV)/dev
	@test -e $(VENV)/encoders/musicnn.npz || NEARSONG_ENCODERS=$(VENV)/encoders $(BIN)/nearsong encoders install musicnn \
		|| echo "musicnn could not be downloaded; the test that needs its weights skips."

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

# What an installation without extras takes on disk, by package.
size:
	$(PYTHON) -m venv --clear build/size
	build/size/bin/pip install -q -c constraints.txt .
	build/size/bin/python release/install_size.py

# Known vulnerabilities of the pinned dependencies, from PyPI; fails where it cannot be asked.
audit: $(VENV)/release
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r constraints.txt

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)

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
