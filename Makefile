.DEFAULT_GOAL := help
.PHONY: help install browser databases promtool demo test fast coverage security soak-short soak soak-queries soak-values soak-parsers soak-examples kill-test kill-test-sinks kill-test-changes kill-test-tables kill-test-databases fuzz spark-matrix scale page bench conformance docs dist release check audit lock clean

PYTHON ?= python3
# Tests wait about half of their time for leases, sessions and retries: three for the two processors of CI.
JOBS ?= 3
# The tests of `make fast` wait about half of their time, too, on any number of processors.
FAST_JOBS ?= $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")
# Hypothesis's examples of each test of a property: 20, the same in each run, but for `make soak-examples`.
EXAMPLES ?= 2000
DRAWN := core/test_interleavings.py pipeline/sink/test_sink_interleavings.py hosts/chains/test_random.py http/test_openapi.py
BIN := .venv/bin
STAMP := .venv/.installed
IMAGE_EXTRAS := registry opentelemetry openlineage
CONFORMANCE ?= ../shared/conformance

# Tests start Python a thousand times, and each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

install: $(STAMP)  ## create .venv with all dependencies; needs only python3 (3.11 or newer)

$(STAMP): requirements.lock pyproject.toml
	@PYTHON="$(PYTHON)" sh scripts/install
	@touch $@

browser:  ## install Chromium, which the tests of the page need, by apt-get
	@sh scripts/browser

promtool:  ## unpack Prometheus' promtool, which tests of alerts need, by apt-get
	@sh scripts/promtool

databases:  ## install PostgreSQL and MariaDB, which tests of databases need, by apt-get
	@sh scripts/databases

demo: $(STAMP)  ## run a broker, a worker and connectors with real data, on this machine
	$(BIN)/penstock demo

test: $(STAMP)  ## run all tests but the soaks, in JOBS=3 processes, each with its own Kafka broker and Spark
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m support.spark.class_data
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not soak"

fast: $(STAMP)  ## run the tests that need neither Kafka, a JVM, a browser nor an environment of their own
	$(BIN)/pytest -n $(FAST_JOBS) --dist loadfile -m "not integration and not slow"

coverage: $(STAMP)  ## measure which lines of src the tests reach, in all processes (build/coverage); ARGS="tests/core" runs those
	@rm -rf build/coverage && mkdir -p build/coverage
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m support.spark.class_data
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not soak" $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --skip-covered --sort=cover > build/coverage/report.txt
	@tail -1 build/coverage/report.txt; echo "The report by line is build/coverage/html/index.html."

security: $(STAMP)  ## run the tests of security boundaries
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m support.spark.class_data
	$(BIN)/pytest -n $(JOBS) --dist loadfile -m security

soak-short: $(STAMP)  ## run the tests of the soaks themselves, with a few kills each, which make test leaves out
	$(BIN)/pytest -m soak

soak: $(STAMP)  ## inject about 150 faults in 15 minutes: workers, Sparks and tasks are killed while connectors, their origins and offsets change; the next run continues until there are 300; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak churn $(ARGS)

soak-queries: $(STAMP)  ## 30 minutes: 20 queries on one worker while an operator restarts and pauses them; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak queries $(ARGS)

kill-test: $(STAMP)  ## 100 kills of workers, Sparks and tasks, and other faults if asked for, exactly once; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak kills $(ARGS)

kill-test-sinks: $(STAMP)  ## 100 kills while 5 million records go into a file, a Parquet and a Delta table; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak sinks $(ARGS)

kill-test-changes: $(STAMP)  ## 100 kills and freezes while Debezium streams 100,000 changes of a PostgreSQL; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak changes $(ARGS)

kill-test-tables: $(STAMP)  ## 100 kills while a million rows of a PostgreSQL go into a topic and two tables; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak tables $(ARGS)

kill-test-databases: $(STAMP)  ## 100 kills of Spark while rows go into tables of PostgreSQL, MariaDB and SQLite, exactly once; continues what it has done; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak databases $(ARGS)

fuzz: $(STAMP)  ## 10,000 random requests and attacks by four roles and a stranger, with secrets to be found; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m fuzz $(ARGS)

soak-values: $(STAMP)  ## pass 10,000 values of each type through the JDBC connectors, SparkSink and SparkSource and the registry's converters, past foreign readers and writers; ARGS="--minutes 8" does a part, and the next run continues
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m soak values $(ARGS)

soak-parsers: $(STAMP)  ## 100,000 hostile inputs for each parser of bytes from outside; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m fuzz.parsers $(ARGS)

soak-examples: $(STAMP)  ## look for examples that refute a property, EXAMPLES=2000 new ones for each, and as many orders of events
	PENSTOCK_TEST_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n $(JOBS) --dist load -m "hypothesis and not soak" tests
	PENSTOCK_TEST_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n $(JOBS) $(addprefix tests/,$(DRAWN))

spark-matrix: $(STAMP)  ## run hosted tasks, queries of each format and JDBC on each supported version of Spark, and write docs/spark-versions.md; ARGS="--spark 4.1" runs one
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m matrix $(ARGS)

scale: $(STAMP)  ## measure the load of 10,000 connectors on 500 workers on the leader and the internal topics
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m scale $(ARGS)

page: $(STAMP)  ## measure 500 connectors on one worker against the goals of page, list and status; ARGS="--connectors 50" sets another number
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m scale.page $(ARGS)

bench: $(STAMP)  ## measure performance, compared with Java's Connect if one is given; ARGS="--help" lists the options
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m bench $(ARGS)

conformance: $(STAMP)  ## run the conformance suite in CONFORMANCE=folder against a worker of its own; ARGS="--kafka 4.4" gives it a broker of Kafka 4.4
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m conformance $(CONFORMANCE) $(ARGS)

docs: $(STAMP)  ## build the documentation site in build/site, with a reference made from the code
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html, or run \`$(BIN)/mkdocs serve\`."

dist: $(STAMP)  ## build the wheel, the sdist and a bill of materials (CycloneDX) in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python scripts/sbom.py dist/penstock.cdx.json

release: check test docs dist  ## check everything, and build what a release has

check: $(STAMP)  ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

audit: $(STAMP)  ## compare requirements.lock with FILE=advisories.json (OSV or PyPI), offline; without FILE by pip-audit
	@if [ -n "$(FILE)" ]; then $(BIN)/python scripts/audit.py requirements.lock "$(FILE)"; \
	else $(BIN)/pip-audit --requirement requirements.lock --require-hashes --disable-pip; fi

lock:  ## pin the dependencies of pyproject.toml in requirements.lock, and those of the image (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		$(addprefix --extra ,demo registry opentelemetry openlineage postgres iceberg dlt aws azure gcp docs dev) \
		--custom-compile-command "make lock" pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		$(addprefix --extra ,$(IMAGE_EXTRAS)) --constraint requirements.lock \
		--custom-compile-command "make lock" pyproject.toml -o deploy/requirements.lock
	printf 'setuptools\nwheel\n' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" - -o deploy/build.lock

clean:  ## remove .venv and what tests and builds left here
	rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache spark-warehouse metastore_db derby.log flight-delays.svg
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
