# Each target sets up what it needs and nothing twice: `make demo` and `make test` work in a fresh clone.
# Needed on the machine: Python 3.11 or newer, make, and the package registries (Node comes from one of them).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Node and npm of the virtual environment come first; nothing of ours phones home; no command asks for an AWS account.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
export CDK_DISABLE_CLI_TELEMETRY := 1
# Where bytecode is not kept, every synthesis compiles the CDK's modules anew: six seconds of it.
unexport PYTHONDONTWRITEBYTECODE

# make demo
CUSTOMERS ?= 1000
KEEP ?=
ORDERS ?=
WEEK ?=
RATE ?=
# make soak
SECONDS ?= 600

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test crash-matrix soak bench measure bench-setup check format synth lock clean

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  make demo CUSTOMERS=5000        more customers"
	@echo "  make demo KEEP=1                leave it running, and say how to use the command line against it"
	@echo "  make demo ORDERS=FILE WEEK=1997-W11   a real shop's order log"
	@echo "  make demo RATE=sms=20           a channel that its provider lets send no faster"

setup: $(VENV)/.installed node_modules/.installed build/.prepared ## install everything below this folder (.venv, node_modules, build)
	@:

demo: setup ## deploy both regions to an emulator on this machine, send a week, report: out/demo/report.html
	@$(BIN)/python -m ops.local.demo --customers $(CUSTOMERS) \
		$(if $(KEEP),--keep) $(if $(ORDERS),--orders '$(ORDERS)') $(if $(WEEK),--week '$(WEEK)') \
		$(if $(RATE),--rate '$(RATE)')

test: setup ## all suites: unit, integration, infrastructure, the proof's share, then end to end
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/unit tests/integration tests/infrastructure
	@$(BIN)/python -m pytest -n 2 --dist worksteal tests/proof
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/e2e

crash-matrix: setup ## die and fail at every call that a process makes, and look at what is left (a quarter of an hour on two idle cores)
	@$(BIN)/python -m tests.proof.matrix

soak: setup ## look for trouble for as long as told: make soak SECONDS=600
	@$(BIN)/python -m tests.proof.soak --seconds $(SECONDS)

bench: setup ## what planning, sending, waking and starting cost: out/bench/report.html; make bench FULL=1 takes an hour
	@$(BIN)/python -m bench $(if $(FULL),--full)

measure: setup ## count what the functions ask AWS for, for `digest cost`: ops/costs/measured.json
	@WRITE_MEASURED=1 $(BIN)/python -m pytest -q tests/integration/test_measured_costs.py

bench-setup: $(VENV)-bench/.installed ## the queues that people would use instead, for python -m bench.alternatives
	@:

check: setup ## format, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## let ruff format and mend what it can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

synth: setup ## CloudFormation templates of both stacks, in cdk.out; no account, no network
	@$(BIN)/node node_modules/aws-cdk/bin/cdk synth --quiet --app '$(BIN)/python app.py' --output cdk.out \
		--no-notices --no-version-reporting --no-asset-metadata --no-path-metadata --no-lookups
	@echo "cdk.out: $$(cd cdk.out && ls *.template.json | tr '\n' ' ')"

lock: $(VENV)/.installed ## compile requirements/*.in to *.txt; make lock UPGRADE=1 takes newer versions
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		$(if $(UPGRADE),--upgrade) requirements/lambda.in --output-file requirements/lambda.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		$(if $(UPGRADE),--upgrade) requirements/dev.in --output-file requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		$(if $(UPGRADE),--upgrade) requirements/bench.in --output-file requirements/bench.txt

clean: ## remove everything that make made
	rm -rf $(VENV) $(VENV)-bench node_modules build cdk.out out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what setup is made of: a stamp each, newer than the file that decides ---------------------------------------------

$(BIN)/uv:
	@command -v $(PYTHON) >/dev/null || { echo "No '$(PYTHON)' here: install Python 3.11 or newer, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name a newer one: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "setup: virtual environment in $(VENV), from $$($(PYTHON) -V)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements/dev.txt)"

$(VENV)/.installed: requirements/dev.txt pyproject.toml | $(BIN)/uv
	@echo "setup: Python packages"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip sync --quiet requirements/dev.txt
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

node_modules/.installed: package.json package-lock.json $(VENV)/.installed
	@echo "setup: the CDK command line"
	@$(BIN)/npm ci --silent --no-audit --no-fund
	@touch $@

build/.prepared: requirements/lambda.txt stacks/bundling.py $(VENV)/.installed
	@echo "setup: what the functions need in Lambda, and in the emulator"
	@$(BIN)/python -m stacks.bundling
	@mkdir -p $(@D) && touch $@

# Apart from everything else: no one needs it to work on the project, and CI does without.
$(VENV)-bench/.installed: requirements/bench.txt $(VENV)/.installed
	@echo "setup: the queues that people would use instead, in $(@D)"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	@VIRTUAL_ENV=$(CURDIR)/$(@D) $(BIN)/uv pip sync --quiet requirements/bench.txt
	@touch $@
