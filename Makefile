# make help lists the targets. Nothing is installed without being asked for,
# except that `make test` as root (or with sudo) installs the Debian packages
# of the list below that are missing, and says so.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(LEAT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/leat)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PACKAGES := ./...
# Everything that runs without a server; the e2e packages follow without -race.
UNITS = $(shell go list ./... | grep -v '^leat/e2e\(/\|$$\)')
LINT_VERSION := v2.15.0
LINT := $(CACHE)/golangci-lint-$(LINT_VERSION)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@internal/tools/need.sh report

.PHONY: setup
setup: ## install the missing Debian packages (as root or with sudo)
	@internal/tools/need.sh install

.PHONY: build
build: ## build bin/leat
	@internal/tools/need.sh check go
	@command -v g++ >/dev/null || echo "g++ is missing (make setup installs it): leat is built without DuckDB, which joins and groups need"
	CGO_ENABLED=$(if $(shell command -v g++),1,0) go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/leat ./cmd/leat

.PHONY: demo
demo: build ## run the demo: MySQL, a live workload, a kill, a comparison
	bin/leat demo

.PHONY: test
test: ## everything: vet, lint, units with -race, end to end
	@internal/tools/need.sh ensure
	@start=$$SECONDS; \
	$(MAKE) --no-print-directory vet lint race e2e; \
	echo "make test: all passed in $$((SECONDS - start)) s"

.PHONY: vet
vet: ## go vet
	go vet $(PACKAGES)

.PHONY: unit
unit: ## unit tests without -race
	go test $(UNITS)

.PHONY: race
race: ## unit tests with -race
	@internal/tools/need.sh check go gcc g++
	CGO_ENABLED=1 go test -race -timeout 25m $(UNITS)

# -count=1: the cache of test results does not see that the program changed.
.PHONY: e2e
e2e: build ## end-to-end tests on real servers and readers
	@internal/tools/need.sh check go java javac mvn python3 venv mysql
	LEAT_BIN=$(CURDIR)/bin/leat go test -count=1 -timeout 30m ./e2e/...

# SOAK is how long each of the three goes on; `make test` gives them less than a minute.
# SEED repeats the rounds of a seed that make soak printed.
SOAK ?= 5m
SEED ?= 0
.PHONY: soak
soak: build ## random sources, jobs and accidents, random schema changes, two leats and Paimon on one table, 5 minutes each
	@internal/tools/need.sh check go java javac mvn mysql
	LEAT_BIN=$(CURDIR)/bin/leat go test -count=1 -timeout 24h -v ./e2e/soak -run TestSoak -soak $(SOAK) -seed $(SEED)
	LEAT_BIN=$(CURDIR)/bin/leat go test -count=1 -timeout 24h -v ./e2e/sync -run 'TestSync(FollowsColumns|TakesUpTables)' -soak $(SOAK) -seed $(SEED)
	LEAT_BIN=$(CURDIR)/bin/leat go test -count=1 -timeout 24h -v ./e2e/writers -run TestCompetition -soak $(SOAK)

.PHONY: lint
lint: $(LINT) ## golangci-lint
	$(LINT) run --allow-parallel-runners $(PACKAGES)

# Built once a version, a few minutes; the pin is internal/tools/go.mod, whose time in a fresh clone says nothing.
$(LINT): | internal/tools/go.mod
	@echo "building golangci-lint $(LINT_VERSION) (once, takes minutes)"
	@mkdir -p $(CACHE)
	go build -modfile=internal/tools/go.mod -o $@.new github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@mv $@.new $@ && touch $@

.PHONY: fmt
fmt: $(LINT) ## format the source
	$(LINT) fmt

.PHONY: tidy
tidy: ## tidy both modules
	go mod tidy
	cd internal/tools && go mod tidy

.PHONY: bench
bench: build ## measure W1, W2, W3, the merge tree, data files and the bare limits into bench.jsonl
	@internal/tools/need.sh check go java javac mvn python3 venv mysql
	go run ./e2e/bench/cmd -leat bin/leat -out bench.jsonl $(BENCH)

.PHONY: clean
clean: ## remove what was built here; the cache folder stays
	rm -rf bin dist bench.jsonl
