# The front door: every target does its own set-up. CMake does the work (CMakePresets.json says how).
.DEFAULT_GOAL := help
.PHONY: help bench test build self-test check debug asan tsan sanitize format format-check tidy install clean

QUIRE := build/release/bin/quire
PREFIX ?= /usr/local

help:  ## show this list
	@echo "make <target> [ARGS=\"flags for quire\"] [PREFIX=/usr/local]"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1 \2/p' Makefile | \
	  while read -r target text; do printf '  %-13s %s\n' "$$target" "$$text"; done

bench: build  ## prove and time every implementation: the table (ARGS="--batch-sizes 8 --seq-lens 4096")
	@$(QUIRE) bench $(ARGS)

test: everything-release  ## build all, run all tests
	@ctest --preset release

build: tool-release  ## build the command line tool: build/release/bin/quire

self-test: build  ## plant faults; each must be caught
	@$(QUIRE) self-test $(ARGS)

check: build  ## prove every implementation right on ragged, unmapped, shared and strided cases; no timing
	@$(QUIRE) check $(ARGS)

debug: everything-debug  ## build all without optimisation, run all tests
	@ctest --preset debug

asan: everything-asan  ## the tests under the address and undefined-behaviour sanitizers
	@ctest --preset asan

tsan: everything-tsan  ## the tests under the thread sanitizer
	@ctest --preset tsan

sanitize: asan tsan  ## both of them

format:  ## format every C++ file
	@tools/format

format-check:  ## fail where a C++ file is not formatted
	@tools/format --check

tidy:  ## run clang-tidy over every C++ file (ARGS="src/validate.cpp" for some)
	@tools/tidy $(ARGS)

install: everything-release  ## install library, headers, CMake package and tool under PREFIX
	@cmake --install build/release --prefix $(PREFIX)

clean:  ## remove everything that was built
	@rm -rf build

# tool-<preset> and everything-<preset>: what a preset builds, for `bench` and for the tests.
configure-%:
	@tools/bootstrap
	@mkdir -p build
	@echo "quire: configuring build/$*"
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }

tool-%: configure-%
	@echo "quire: building build/$*/bin/quire (the first time takes minutes)"
	@cmake --build --preset $* --target quire_tool

everything-%: configure-%
	@echo "quire: building all of build/$* (the first time takes minutes)"
	@cmake --build --preset $*
