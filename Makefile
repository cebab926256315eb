# The one list of commands, for people and for .ci/run.
#
#   make demo    build the package into .venv and do the main job on real programs
#   make test    set up what the tests need, and run them all
#   make lint    formatters, linters, type checkers, the stub against the module
#   make bench   side-by-side measurements, printed as tables
#   make soak    long runs of what must not race
#   make packaging   a wheel from the checkout and from an sdist, used without Rust
#   make doc     the documentation of the Rust crates
#   make clean

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
ROUNDS ?= 200
SOURCES := $(shell find rust python/kai_terminal -name '*.rs' -o -name '*.toml' -o -name '*.pyi' 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: demo test lint bench soak packaging doc clean check-tools rust-test python-test

demo: $(VENV)/.built
	$(BIN)/python -m kai_terminal demo

test: rust-test python-test

rust-test: check-tools
	cargo test --locked --quiet

python-test: $(VENV)/.built $(VENV)/.tools
	$(BIN)/python -m pytest -q

lint: $(VENV)/.built $(VENV)/.tools
	cargo fmt --all --check
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m mypy.stubtest kai_terminal._core

bench: $(VENV)/.release $(VENV)/.tools
	$(BIN)/pip install --quiet pexpect
	$(BIN)/python benches/python/service.py
	$(BIN)/python benches/python/roundtrip.py

soak: $(VENV)/.built $(VENV)/.tools
	cargo test --locked --quiet --no-run
	for round in $$(seq $(ROUNDS)); do cargo test --locked --quiet -p kai-terminal --test session --test guard --test spawn >/dev/null || exit 1; done
	$(BIN)/python tests/soak.py --rounds $(ROUNDS)

packaging: check-tools $(VENV)/.tools
	$(BIN)/python tests/packaging.py

doc:
	cargo doc --locked --no-deps

clean:
	rm -rf target $(VENV) dist python/kai_terminal/_bin python/kai_terminal/*.so

check-tools:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed and was not found: install it, or say PYTHON=/path/to/python3" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is needed and was not found: install Rust 1.95 or later (https://rustup.rs)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C linker (cc) is needed and was not found: install gcc or clang" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) lacks the venv module: install it (Debian: python3-venv)" >&2; exit 1; }

$(VENV)/.created: | check-tools
	$(PYTHON) -m venv $(VENV)
	touch $@

# An editable install in the dev profile: Python sources are used as they are, Rust is built when it changed.
$(VENV)/.built: $(SOURCES) $(VENV)/.created
	$(BIN)/pip install --quiet --editable .
	rm -f $(VENV)/.release
	touch $@

# Measurements want the optimised build.
$(VENV)/.release: $(SOURCES) $(VENV)/.created
	$(BIN)/pip install --quiet .
	rm -f $(VENV)/.built
	touch $@

$(VENV)/.tools: constraints.txt pyproject.toml $(VENV)/.created
	$(BIN)/pip install --quiet --requirement tests/requirements.txt
	touch $@
