# make repro   set up and run the quick profile: fetch, train, attack, judge, report
# make setup   only set up: .venv with the `harness` command, in a minute
# make test    set up, lint, type-check and test
# make unit    the tests of parts alone: a minute on two cores
# make accept  judge, report and accept anew all results that are committed, after an edit of code or specs
# make kernels the numeric tests and the quick profile as other processors compute them
# A first `make` of either creates .venv from a lock file with nothing but Python 3.11, 3.12 or 3.13 and a package index.
# Empty: the first of Python 3.11, 3.12 and 3.13 that is there (.ci/install).
PYTHON ?=
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
# What Python compiles is kept in $(VENV), whatever the shell says: else each process compiles TensorFlow anew.
export PYTHONDONTWRITEBYTECODE :=
# One thread a process: results then do not depend on the number of cores, and N workers use N cores.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: setup repro test unit accept explore lint style slow kernels bench clean lock
# Where tests of parts stand; those of them that are marked `integration` are left to `make test`.
UNIT := $(addprefix tests/,attacks auditing claims data defences experiment formulas metrics privacy spec theory) \
	$(addprefix tests/,test_identity.py test_hashing.py test_what_users_bring.py)

setup: $(STAMP)

repro: $(STAMP)
	@harness pipeline
	@# The site of the committed run takes what stages that wait for something leave of the processor.
	@nice harness site --profile sequential & site=$$!; dvc repro --quiet || { kill $$site; exit 1; }; wait $$site

# What `make lint` checks beyond style is among the tests: the schema in tests/spec/test_load.py, the pipeline in
# tests/test_pipeline.py.
test: $(STAMP) style
	pytest -n $(WORKERS) --dist loadfile -m "not slow"

unit: $(STAMP)
	pytest -n $(WORKERS) --dist worksteal -m "not slow and not integration" $(UNIT)

# Compute as other processors do: avx2 has no AVX-512, plain is older still (.ci/kernels).
KERNELS ?= avx2 plain
kernels: $(STAMP)
	for choice in $(KERNELS); do .ci/kernels $$choice || exit 1; done

slow: $(STAMP)
	pytest -n $(WORKERS) -m slow

# Judge and report anew all results that are committed, accept what comes out, and bring docs and the lock up to date.
accept: $(STAMP)
	harness pipeline
	for profile in sequential paper; do harness judge -p $$profile --brief || exit 1; done
	for profile in sequential paper; do \
	  harness report -p $$profile --brief && { harness compare -p $$profile --quiet || true; } && \
	  harness compare -p $$profile --update || exit 1; \
	done
	python docs/fill.py --write
	harness resolve -p sequential
	dvc commit -f flagship/dvc.yaml

# The tests of properties, with ten times as many examples, and others in each run.
explore: $(STAMP)
	pytest -n $(WORKERS) --dist worksteal -m "not slow and not integration" --hypothesis-profile=explore $(UNIT)

# Speed beside peers: a table, and benchmarks/results.json (about 20 minutes on 2 cores; leave the machine alone).
bench: $(STAMP)
	python -m benchmarks

lint: $(STAMP) style
	harness schema --check
	harness pipeline --check

style: $(STAMP)
	ruff check .
	ruff format --check .
	mypy

# By uv where the package index has it, else by pip: .ci/install. `INSTALLER=pip make ...` leaves uv alone.
$(STAMP): requirements.lock requirements-3.12.lock pyproject.toml .ci/install
	@.ci/install $(VENV) $(PYTHON)
	@touch $(STAMP)

# Resolve pyproject.toml anew.
lock: $(STAMP)
	uv pip compile pyproject.toml --extra dev --python-version 3.11 --generate-hashes --custom-compile-command "make lock" --output-file requirements.lock --quiet
	uv pip compile pyproject.toml --extra dev --python-version 3.12 --universal --generate-hashes --custom-compile-command "make lock" --output-file requirements-3.12.lock --quiet

clean:
	rm -rf .harness models/quick dvc.lock reports/quick/* mlflow.db* mlruns .pytest_cache .mypy_cache .ruff_cache .hypothesis
