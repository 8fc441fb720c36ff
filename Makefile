# Every target that needs the command line makes it first: `make up` works on a fresh clone.
#
#   STACK=NAME    the stack to work on (config/stacks/Pulumi.NAME.yaml)
#   PROVIDERS=…   plugins of `make up` and `make preview`: official, or names such as eks,kubernetes (stand-ins)
#   WORKERS=…     how many processes run tests side by side (4; test-fast: 3)
#   PYTHON=…      the Python to make .venv with: 3.11.5 or later
#   LOCK=…        options of `make lock`: "--upgrade-package NAME" or "--upgrade" for newer versions

STACK ?= checkout-dev
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PLUGINS = $(if $(PROVIDERS),--providers $(PROVIDERS))
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate \
  --custom-compile-command "make lock"
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL := $(PIP) --no-compile --require-hashes --only-binary :all:
NOT_INSTALLED := { echo "packages could not be installed: if no version of a package was found, the package index is out of reach" >&2; exit 2; }
CAPACITY = $(BIN)/multiarch capacity build/capacity-demo/Pulumi.billing-prod.yaml \
  --manifests build/capacity-demo/workloads.yaml --failure zone=a --failure zone=b --failure zone=c
# Tests that share a cluster or a sandbox run in one worker (tests/lanes.py); the longest of these begin first.
SIDE_BY_SIDE = -n $(WORKERS) --no-loadscope-reorder

# Tests start hundreds of Python processes: without bytecode on disk each compiles the project.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv venv-dev tools up preview down status registry-demo verify-demo review-demo report-demo existing-demo webhook-demo capacity-demo cluster cluster-down render check test test-fast lint format bench generate lock image docs docs-serve

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "STACK=$(STACK) unless you say otherwise."

$(STAMP): requirements.lock pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null | sed -n '/^Python [0-9]/p'); \
	  echo "$(PYTHON) is $${found:-missing, or not Python}; Python 3.11.5 or later is needed: make PYTHON=python3.12 …" >&2; exit 2; }
	@echo "making $(VENV): about 650 MB of Python packages, a few minutes (once, and when the requirements change)"
	@$(PYTHON) -m venv $(VENV)
# Python's own pip takes twice as long.
	@sed -n '/^pip==/,/[^\\]$$/p' requirements.lock | $(INSTALL) -r /dev/stdin || $(NOT_INSTALLED)
	@$(INSTALL) -r requirements.lock || $(NOT_INSTALLED)
	@$(PIP) --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(STAMP) requirements-dev.lock
	@echo "adding what tests, checks and documents need to $(VENV): about 300 MB"
	@$(INSTALL) -r requirements.lock -r requirements-dev.lock || $(NOT_INSTALLED)
	@touch $@

venv: $(STAMP) ## make .venv with the command line, .venv/bin/multiarch

venv-dev: $(DEV) ## make .venv, with what tests, checks and documents need

tools: ## build the real tools that are missing (needs Go)
	@$(PYTHON) tools/build.py --all

up: $(STAMP) ## create STACK in the sandbox; needs no AWS account
	@$(BIN)/python -m sandbox up $(STACK) $(PLUGINS)

preview: $(STAMP) ## show what `make up` would change in STACK
	@$(BIN)/python -m sandbox preview $(STACK) $(PLUGINS)

status: $(STAMP) ## say what runs in the sandbox
	@$(BIN)/python -m sandbox status

down: $(STAMP) ## destroy every stack in the sandbox and stop what it started
	@$(BIN)/python -m sandbox down

registry-demo: $(STAMP) ## start a registry with made-up images; `make down` stops it
	@$(BIN)/python -m sandbox registry

verify-demo: $(STAMP) ## show `multiarch verify` on a healthy STACK, and on 4 faults
	@$(BIN)/python -m sandbox verify-demo $(STACK)

review-demo: $(STAMP) ## show `multiarch review` for a change of STACK
	@$(BIN)/python -m sandbox review-demo $(STACK)

report-demo: $(STAMP) ## write the page of `multiarch report` about payments-prod
	@$(BIN)/python -m sandbox report-demo

existing-demo: $(STAMP) ## show a stack for a cluster that eksctl made
	@$(BIN)/python -m sandbox existing-demo

webhook-demo: $(STAMP) ## show where pods run because of the webhook (Linux, root)
	@$(BIN)/python -m sandbox webhook-demo

# A workload that is short makes the first report end with 1.
capacity-demo: $(STAMP) ## show what a zone failure stops, and the change that helps
	@rm -rf build/capacity-demo && mkdir -p build/capacity-demo && cp examples/11-capacity/*.yaml build/capacity-demo
	@$(CAPACITY) --recommend || [ $$? = 1 ]
	@printf '\n== The change is written, and all zones fail again ==\n\n'
	@$(CAPACITY) --recommend --write >/dev/null
	@$(CAPACITY)

cluster: $(STAMP) ## start real nodes with the user data of STACK (Linux, root)
	@$(BIN)/python -m sandbox cluster up $(STACK)

cluster-down: $(STAMP) ## stop and remove the cluster; `make down` does so too
	@$(BIN)/python -m sandbox cluster down

render: $(STAMP) ## show the resources of STACK, write its files to build/STACK
	@$(BIN)/multiarch stack render $(STACK)

check: $(STAMP) ## validate all stack files; needs no credentials
	@$(BIN)/multiarch stack check

# Tests of the sandbox and of the cluster mostly wait: four keep two cores busy.
test: WORKERS ?= 4
test: $(DEV) ## run all tests (needs Go)
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) --durations=10

test-fast: WORKERS ?= 3
test-fast: $(DEV) ## run the tests that need neither Go nor the sandbox
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) --fast

lint: $(DEV) ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(DEV) ## lay the code out
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV) ## measure, and print ratios
	@$(BIN)/python benchmarks/run.py

generate: $(STAMP) ## write every generated file: schemas, arguments, documents
	@$(BIN)/python -m tools.generate

lock: $(DEV) ## renew the lock files after a change in requirements*.txt
	@$(COMPILE) --output-file requirements.lock requirements.txt $(LOCK)
	@$(COMPILE) --output-file requirements-cli.lock requirements-cli.txt $(LOCK)
	@$(COMPILE) --output-file requirements-dev.lock requirements-dev.txt $(LOCK) --constraints requirements.lock \
	  $$(sed -n 's/^\([a-z0-9.-]*\)==.*/--no-emit-package \1/p' requirements.lock)

image: $(STAMP) ## build the image for both architectures (Linux, root, apt)
	@$(BIN)/python -m sandbox image

docs: $(DEV) ## build the documentation into build/site, and check links
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-serve: $(DEV) ## show the documentation on http://127.0.0.1:8000
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr 127.0.0.1:8000
