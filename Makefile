# make repro   set up and run the quick profile: fetch, train, attack, check, report
# make test    set up, lint, type-check and test
# A first `make` of either creates .venv from requirements.lock with nothing but Python 3.11 and a package index.
PYTHON ?= python3.11
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
# What Python compiles is kept in $(VENV), whatever the shell says: else each process compiles TensorFlow anew.
export PYTHONDONTWRITEBYTECODE :=
# One thread a process: results then do not depend on the number of cores, and N workers use N cores.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: repro test lint slow bench clean lock

repro: $(STAMP)
	harness pipeline
	@# The site of the committed run takes what stages that wait for something leave of the processor.
	nice harness site --profile sequential & site=$$!; dvc repro || { kill $$site; exit 1; }; wait $$site
	@echo "this run:             reports/quick/site/index.html (a small one, which decides little)"
	@echo "the run that decides: reports/sequential/site/index.html (its tables are committed; docs/flagship.md)"

test: $(STAMP) lint
	pytest -n $(WORKERS) --dist loadfile -m "not slow"

slow: $(STAMP)
	pytest -n $(WORKERS) -m slow

# Speed beside peers: a table, and benchmarks/results.json (about 20 minutes on 2 cores; leave the machine alone).
bench: $(STAMP)
	python -m benchmarks

lint: $(STAMP)
	ruff check .
	ruff format --check .
	mypy
	harness schema --check
	harness pipeline --check

# By uv where the package index has it, else by pip: .ci/install. `INSTALLER=pip make ...` leaves uv alone.
$(STAMP): requirements.lock pyproject.toml .ci/install
	@.ci/install $(VENV) $(PYTHON)
	@touch $(STAMP)

# Resolve pyproject.toml anew.
lock: $(STAMP)
	uv pip compile pyproject.toml --extra dev --python-version 3.11 --generate-hashes --custom-compile-command "make lock" --output-file requirements.lock --quiet

clean:
	rm -rf .harness models/quick dvc.lock reports/quick/* mlflow.db* mlruns .pytest_cache .mypy_cache .ruff_cache .hypothesis
