# The commands of this repository. They need Python >= 3.11 and make; `make` alone explains them.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

# Hundreds of workers are started: each would compile everything anew, which is most of its start.
unexport PYTHONDONTWRITEBYTECODE

RUNS ?= 20
SEED ?=
ARGS ?=
NAME ?=

BENCHMARKS := scan stream transforms formats tables topics latency cores spark converters rest_load metrics restart hanging

.DEFAULT_GOAL := help
.PHONY: help demo test lint conformance soak bench sbom

help: ## this text
	@echo "make TARGET [VARIABLE=value]:"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "make demo ARGS=--exit verifies and ends; make soak RUNS=200 SEED=7; make bench NAME=scan."
	@echo "Benchmarks: $(BENCHMARKS)"
	@echo "KAFKA_BOOTSTRAP=host:port  uses a broker that runs already, instead of starting one"
	@echo "CONNECTD_CACHE=directory   keeps the broker's jars there, instead of ~/.cache/connectd"
	@echo "PYTHON=python3.12          builds $(VENV) with this interpreter"

demo: $(STAMP) ## tables flow into Kafka before your eyes, on real parts; Ctrl-C ends it
	@$(PY) -m tests.demo $(ARGS)

test: lint ## everything that CI runs: lint, then all tests (or ARGS for pytest)
	$(call stage,tests,$(PY) -m $(if $(ARGS),pytest $(ARGS),tests.shares))

lint: $(STAMP) ## style, format, types, and the tower of packages
	$(call stage,ruff check,$(VENV)/bin/ruff check .)
	$(call stage,ruff format,$(VENV)/bin/ruff format --check .)
	$(call stage,mypy,$(VENV)/bin/mypy)
	$(call stage,import contracts,$(VENV)/bin/lint-imports)

conformance: $(STAMP) ## the REST API and the plugins against the real ones' answers (ARGS=--live, --record)
	@$(PY) -m tests.conformance.rest $(ARGS)

soak: $(STAMP) ## RUNS seeded crash and fault runs (SEED repeats one)
	@$(PY) -m tests.simulation.soak --runs $(RUNS) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench: $(STAMP) ## one benchmark (NAME=scan), with a line of JSON at its end
	@test -n "$(filter $(BENCHMARKS),$(NAME))" || { \
	  echo "make bench: NAME is '$(NAME)', expected one of: $(BENCHMARKS)" >&2; exit 2; }
	@$(PY) -m benchmarks.$(NAME) $(ARGS)

sbom: $(STAMP) ## what is in the worker's image, built without an engine, listed and audited: sbom.cdx.json
	@$(PY) -m tests.image.building worker --sbom sbom.cdx.json
	@$(PY) -m tests.image.audit sbom.cdx.json

# The virtual environment follows pyproject.toml, and what of the code is compiled.
$(STAMP): pyproject.toml hatch_build.py $(addprefix connectd/connectors/dynamodb/,page_scanner.pyx page_items.pxi)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than 3.11; name another: make PYTHON=python3.12" >&2; \
	  exit 1; }
	@echo "connectd: installing into $(VENV) (once, and after changes of pyproject.toml or compiled code) ..." >&2
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $@

# $(call stage,name,command): run a stage of the checks and say which one failed.
define stage
	@echo "== $(1)"
	@$(2) || { echo "make $@: the stage '$(1)' failed." >&2; exit 1; }
endef
