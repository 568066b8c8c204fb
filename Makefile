# Needs make and Python 3.11 or newer; everything else is brought into .venv.
#
#   make demo    set up, then run the demonstration
#   make test    set up, then lint, types and tests: what CI runs
#   make check   set up, then lint and types only
#   make bench   set up, then the benchmarks, but for those that run for minutes (latency, soak)
#   make long    set up, then the tests that take minutes each: clusters, brokers, kills, every fault
#   make fuzz    set up, then thousands of random queries and streams against pyoxigraph, and of
#                random queries against themselves, rewritten; RUNS=N and SEED=S choose them
#   make pictures  set up, then draw the pictures of the documentation again
#   make console  build the web console again after a change of console/; needs node 20 or newer
#   make screenshots  set up, then take the pictures of the console again
#   make reference set up, then write the reference pages of commands and Python again
#   make walk    set up, then walk the way of the README in an empty folder, with a clock
#   make docs    set up, then build the site of the documentation into build/site
#   make clean   remove what make has made

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.set-up
# Java is brought along only where there is none that Spark can use.
JAVA   := $(if $(HEADRACE_JAVA_HOME),$(HEADRACE_JAVA_HOME)/bin/java,$(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java))
BROKER := examples/papers/csparql-3.4-amount-per-broker.csparql
SELLER := examples/papers/csparql-5.2-movements-per-seller.csparql
BROKERS := --static http://brokerscentral.org/brokers.rdf=examples/papers_data/brokers.ttl
EXTRAS  = $(shell "$(JAVA)" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])' || echo ,java)

.PHONY: demo test check lint types bench long fuzz pictures reference docs console screenshots walk clean

demo: $(STAMP)
	$(BIN)/headrace demo

# Hundreds of processes are started; each would compile the package again.
test long fuzz: export PYTHONDONTWRITEBYTECODE :=

test: check
	$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --durations=20

check: lint types

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	@set -e; for name in parse decode kernel windows throughput; do $(BIN)/headrace bench $$name; done

long: $(STAMP)
	HEADRACE_LONG=1 $(BIN)/python -m pytest -m long --numprocesses 2 --dist loadgroup

# So many runs of every random test, with the same seed; RUN=INDEX repeats one random group.
RUNS ?= 5000
FUZZ := $(BIN)/python -m pytest --capture=sys
RANDOM_TESTS := tests/differential tests/continuous tests/pipeline/test_random.py \
  tests/kernel/test_step.py tests/reasoning/test_matches.py \
  tests/reasoning/test_sub_patterns.py tests/rewrite/test_random_patterns.py \
  tests/rewrite/test_random_queries.py tests/execution/test_operators.py

fuzz: export HEADRACE_FUZZ := $(RUNS)
fuzz: $(STAMP)
	$(if $(RUN),HEADRACE_RUN=$(RUN)) $(if $(SEED),HEADRACE_SEED=$(SEED)) $(FUZZ) \
	  $(if $(RUN),tests/continuous/test_random_groups.py,$(RANDOM_TESTS))

pictures: $(STAMP)
	$(BIN)/headrace explain $(BROKER) $(BROKERS) --format svg --graph operators --out docs/img/broker-ograph.svg
	$(BIN)/headrace explain $(BROKER) $(BROKERS) --format svg --graph rewritten --out docs/img/broker-rewritten.svg
	$(BIN)/headrace explain $(BROKER) $(BROKERS) --format svg --graph denotational --out docs/img/broker-dgraph.svg
	$(BIN)/headrace explain $(SELLER) $(BROKERS) --format svg --graph operators --out docs/img/seller-ograph.svg
	$(BIN)/headrace explain $(SELLER) $(BROKERS) --format svg --graph rewritten --out docs/img/seller-rewritten.svg
	$(BIN)/python -m tools.pictures

reference: $(STAMP)
	$(BIN)/python -m tools.cli_reference
	$(BIN)/python -m tools.python_reference

docs: $(STAMP)
	$(BIN)/zensical build --strict --clean --config-file mkdocs.yml

console:
	cd console && npm ci --no-audit --no-fund && npm test && npm run build

walk: $(STAMP)
	$(BIN)/python -m tools.walk

screenshots: $(STAMP)
	$(BIN)/python -m tests.console.screenshots

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Headrace needs Python 3.11 or newer, and $(PYTHON) is not; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "setting up $(VENV): once, for a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev$(EXTRAS)]"
	@touch $@

clean:
	rm -rf $(VENV) .brokers .browser .cache console/node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
