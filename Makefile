# `make demo` shows what decluster does; `make test` runs every test, lint and format check.
# Needs Rust, Python 3.10 or newer and make; everything else is installed into .venv, but for what the C tests need of the
# system (tests/c/tools.sh).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
NODE := bindings/node
# Where cargo builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Everything that ends up in the compiled module.
RUST := Cargo.toml Cargo.lock $(shell find crates bindings/python -name '*.rs' -o -name Cargo.toml)
PACKAGE := pyproject.toml $(shell find python/decluster -name '*.py' -o -name '*.pyi' -o -name '*.jsonl')

.PHONY: demo test test-all test-cost fuzz test-rust test-python test-c test-node lint fmt vectors vocabulary score bench-segment bench-peers bench-python bench-async bench-node wheels libdecluster install uninstall header clean

## Build, install into a private environment, and read one clustered stream direct and wrapped.
demo: $(VENV)/.installed-demo
	$(BIN)/decluster demo

## All tests, lints and format checks.
test: lint test-rust test-python test-c test-node

## What takes longer: the property tests over many more cases, the SDKs on long recordings, examples with heavy frameworks (Next.js is built and served), the page of `decluster diagnose` in a browser, what the segmenter costs, a minute of each fuzzer.
test-all: test test-cost $(VENV)/.installed-clients
	PROPTEST_CASES=20000 $(CARGO) test --locked --quiet -p decluster-tests
	tests/c/tools.sh valgrind chromium
	$(BIN)/pytest -m slow tests/python tests/c
	cd $(NODE) && npm run --silent test:next
	$(MAKE) fuzz FUZZ_SECONDS=60

## Instructions, counted by valgrind: no text may cost the segmenter more than three times what prose does (marks and blanks
## 3.5), the second half of a backlog that is polled late no more than 1.1 times the first, and the way through the C
## library no more than 1.3 times the way from Rust.
test-cost:
	tests/c/tools.sh build-essential valgrind
	$(CARGO) run --locked --release --quiet -p decluster-benches --bin segment_cost
	$(CARGO) run --locked --release --quiet -p decluster-benches --bin late_cost
	$(MAKE) --silent install PREFIX='$(abspath $(TARGET))/prefix'
	$(CARGO) run --locked --release --quiet -p decluster-benches --bin c_cost '$(abspath $(TARGET))/prefix'

## Fuzz each target for FUZZ_SECONDS. What is found lies in tests/fuzz/artifacts; what fails is fixed, and the smallest
## input that showed it goes into tests/fuzz/regressions. There is no unsafe code for a sanitizer to look at.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= sse frames wire rewriter
FUZZ := RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run --sanitizer none --fuzz-dir tests/fuzz
fuzz:
	$(CARGO) fuzz --version || $(CARGO) install --locked cargo-fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p tests/fuzz/found/$$target && \
		$(FUZZ) $$target tests/fuzz/found/$$target tests/fuzz/corpus/$$target tests/fuzz/regressions/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 -dict=tests/fuzz/words.dict || exit 1; \
	done

test-rust:
	$(CARGO) test --locked --workspace --quiet

test-python: $(VENV)/.installed-test
	$(BIN)/pytest

## The C library, installed under a prefix of its own, with gcc and clang.
test-c: $(VENV)/.installed-test
	tests/c/tools.sh build-essential clang libclang-rt-dev cmake pkg-config libcurl4-openssl-dev
	$(BIN)/pytest tests/c

## The npm package over the C library.
test-node: libdecluster $(NODE)/node_modules/.installed
	cd $(NODE) && npm test --silent

# Of the interpreter in the environment; without asking whether there is a newer pyright.
PYRIGHT := PATH="$(CURDIR)/$(BIN):$$PATH" PYRIGHT_PYTHON_IGNORE_WARNINGS=1 pyright
lint: $(VENV)/.installed-test $(NODE)/node_modules/.installed
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml --check
	$(CARGO) clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --locked -p decluster --no-default-features --quiet -- -D warnings
	$(BIN)/ruff format --check python tests benches
	$(BIN)/ruff check python tests benches
	$(BIN)/mypy
	$(PYRIGHT) --warnings
	told=$$($(PYRIGHT) --ignoreexternal --verifytypes decluster) || { echo "$$told"; exit 1; }
	$(BIN)/stubtest decluster --concise --allowlist tests/python/stubtest.allow
	cd $(NODE) && npm run --silent lint
	$(NODE)/node_modules/.bin/biome ci --config-path=$(NODE) benches/node

## Format everything.
fmt: $(VENV)/.installed-test $(NODE)/node_modules/.installed
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml
	$(BIN)/ruff format python tests benches
	$(BIN)/ruff check --fix python tests benches
	cd $(NODE) && npm run --silent fmt
	$(NODE)/node_modules/.bin/biome check --write --config-path=$(NODE) benches/node

## Score pacing over recorded and made traces, and write the tables into benches/README.md.
score:
	$(CARGO) run --locked --release --quiet -p decluster-benches --bin score -- --write benches/README.md

## Score blocks over recorded reasoning, in true tokens, and write the table into benches/README.md.
bench-segment: $(VENV)/.installed-test
	$(BIN)/python benches/segment.py --write benches/README.md

## The segmenter's speed beside that of other sentence splitters, in Rust and in Python.
bench-peers: $(VENV)/.installed-peers
	$(CARGO) bench --locked --quiet -p decluster-benches --bench segment
	$(BIN)/python benches/segment_peers.py

## What reading costs in Python, beside httpx-sse and openai's decoder, and write the tables into benches/README.md.
bench-python: $(VENV)/.installed-overhead
	$(BIN)/python benches/overhead.py --write benches/README.md

## How late the pieces of 1,000 async streams come in one event loop, and write the table into benches/README.md.
bench-async: $(VENV)/.installed-overhead
	$(BIN)/python benches/async_streams.py --write benches/README.md

## What smoothing costs and gives in Node, beside the npm packages ai and @librechat/agents, and write the tables into
## benches/README.md. Fails where decluster does not cost less than both. Nobody else should be at work on the machine.
bench-node: libdecluster $(NODE)/node_modules/.installed
	cd $(NODE) && npm run --silent build
	cd benches/node && npm ci --silent --no-audit --no-fund --ignore-scripts --engine-strict=false
	node benches/node/cadence.mjs --write benches/README.md
	node benches/node/cpu.mjs --write benches/README.md

## The C library: build it; put it with header, pkg-config file and CMake package under PREFIX; take it away again, given
## the same places; write the header anew from the sources. LIBDIR and INCLUDEDIR are absolute or below PREFIX
## (LIBDIR=lib/x86_64-linux-gnu); DESTDIR is a packager's, in front of all. What is built and newer than the sources is
## not built again, so `sudo make install` needs no cargo after `make libdecluster` (it must be told CARGO_TARGET_DIR, too).
PREFIX ?= /usr/local
LIBDIR ?= lib
INCLUDEDIR ?= include
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
ABI := $(shell sed -n 's/.*DECLUSTER_ABI_VERSION: u32 = \(.*\);/\1/p' bindings/c/src/version.rs)
LIBRARY_SOURCES := Cargo.toml Cargo.lock $(shell find crates/decluster bindings/c -name '*.rs' -o -name Cargo.toml)
# Make parts words at blanks.
BLANK := $(subst ,, )
LIBRARY := $(subst $(BLANK),\ ,$(TARGET))/release/libdecluster.so
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export LIBDIR := $(LIBDIR)
install uninstall: export INCLUDEDIR := $(INCLUDEDIR)
install uninstall: export DESTDIR := $(DESTDIR)
install uninstall: export VERSION := $(VERSION)
install uninstall: export ABI := $(ABI)
install uninstall: export BUILT := $(TARGET)/release
libdecluster: $(LIBRARY)

$(LIBRARY): $(LIBRARY_SOURCES)
	$(CARGO) build --locked --release --quiet -p decluster-c
	touch '$(TARGET)/release/libdecluster.so'

install: $(LIBRARY)
	bindings/c/install.sh install

uninstall:
	bindings/c/install.sh uninstall

header:
	UPDATE_HEADER=1 $(CARGO) test --locked --quiet -p decluster-c --test header

## Write the shared vectors (tests/vectors) anew, after pacing or segmentation has changed.
vectors:
	UPDATE_VECTORS=1 $(CARGO) test --locked --quiet -p decluster-tests --test vectors

## Write the tables of the token estimate anew; needs the English words of Debian's wamerican.
WORDS ?= /usr/share/dict/american-english
vocabulary: $(VENV)/.installed-vocabulary
	$(BIN)/python benches/vocabulary.py $(WORDS)

## Into dist: a wheel for Linux on this processor (glibc 2.17, CPython 3.10 or newer), and an sdist. Looks into both, and
## installs and uses them: the sdist here, the wheel with every interpreter of PYTHONS that there is.
PYTHONS ?= $(foreach minor,10 11 12 13 14,python3.$(minor)) $(wildcard $(HOME)/.pyenv/versions/*/bin/python3)
wheels: $(VENV)/.installed-wheels
	rm -rf dist
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --locked --zig --compatibility manylinux2014 --out dist
	$(BIN)/maturin sdist --out dist
	$(BIN)/twine check --strict dist/*
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/python/check_wheels.py dist $(PYTHONS)

clean:
	rm -rf $(VENV) target dist tests/fuzz/target $(NODE)/node_modules $(NODE)/build $(NODE)/dist $(NODE)/lib benches/node/node_modules

$(NODE)/node_modules/.installed: $(NODE)/package-lock.json
	node -e 'process.exit(Number(process.versions.node.split(".")[0] < 20))' || { echo "decluster needs Node 20 or newer" >&2; exit 1; }
	cd $(NODE) && npm ci --silent --no-audit --no-fund --ignore-scripts
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "decluster needs Python 3.10 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed-demo: $(VENV)/bin/python $(RUST) $(PACKAGE)
	$(BIN)/python -m pip install --quiet '.[demo]'
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed-demo
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.installed-clients: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --group clients --group recipes
	touch $@

$(VENV)/.installed-wheels: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --group wheels
	touch $@

$(VENV)/.installed-vocabulary: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --group vocabulary
	touch $@

$(VENV)/.installed-peers: $(VENV)/.installed-demo
	$(BIN)/python -m pip install --quiet --group peers
	touch $@

$(VENV)/.installed-overhead: $(VENV)/.installed-demo
	$(BIN)/python -m pip install --quiet --group overhead
	touch $@
