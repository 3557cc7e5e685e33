.DEFAULT_GOAL := help
.PHONY: help install demo test unit soak kill-test kill-test-sinks scale bench conformance check lock clean

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.installed
CONFORMANCE ?= ../shared/conformance

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

install: $(STAMP)  ## make .venv with everything in it; nothing but python3 (3.11 or newer) is needed

$(STAMP): requirements.lock pyproject.toml
	@PYTHON="$(PYTHON)" sh scripts/install
	@touch $@

demo: $(STAMP)  ## a broker, a worker and connectors with real data, on this machine
	$(BIN)/penstock demo

test: $(STAMP)  ## every test, in JOBS=2 processes with a Kafka broker and Spark of their own
	$(BIN)/pytest -n $(JOBS) --dist loadfile

unit: $(STAMP)  ## the tests that need neither Kafka nor a JVM: seconds
	$(BIN)/pytest -n $(JOBS) --dist loadfile -m "not integration and not slow"

soak: $(STAMP)  ## 15 minutes: workers are killed while connectors change; ARGS="--help" tells the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak churn $(ARGS)

kill-test: $(STAMP)  ## 100 kills of workers, Sparks and tasks, exactly once; ARGS="--help" tells the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak kills $(ARGS)

kill-test-sinks: $(STAMP)  ## 100 kills while 5 million records go into a file, a Parquet and a Delta table; ARGS="--help" tells the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak sinks $(ARGS)

scale: $(STAMP)  ## what 10,000 connectors on 500 workers ask of the leader and of the internal topics
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m scale $(ARGS)

bench: $(STAMP)  ## how fast it is, beside Java's Connect if one is given; ARGS="--help" tells the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m bench $(ARGS)

conformance: $(STAMP)  ## the suite for Connect clusters that is in CONFORMANCE=folder, against a worker of its own
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m conformance $(CONFORMANCE) $(ARGS)

check: $(STAMP)  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lock:  ## pin the dependencies of pyproject.toml anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" pyproject.toml -o requirements.lock

clean:  ## remove .venv and what tests and builds left here
	rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache spark-warehouse metastore_db derby.log flight-delays.svg
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
