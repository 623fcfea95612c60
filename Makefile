# Every target says what it does in a comment of its own; "make" lists them.

GO ?= go

# Folders with goroutines, processes or transactions at work: their tests run under the race detector.
RACE = commands|internal/(app|audio/codec|blobs|eventlog|eventnode|feed|keyring|postgres|speech|todo|web|workers)
in_race = ^$(shell $(GO) list -m 2>/dev/null)/($(RACE))(/|$$)

TEST_TIMEOUT ?= 9m
BENCH ?= .
BENCH_TIME ?= 1s
FUZZ_TIME ?= 30s
SOAK_TIME ?= 10m

.DEFAULT_GOAL := help
.PHONY: help deps build run test lint bench soak clients fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install what is missing on this machine, with apt
	@deploy/deps.sh

build: ## build the three binaries into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/recitald ./cmd/recitalctl
	CGO_ENABLED=1 $(GO) build -trimpath -o bin/ ./cmd/speechworker

run: deps build ## install, build and start everything on an embedded default; Ctrl-C stops it
	@exec bin/recitald

test: deps build ## run all tests, those of concurrent packages under the race detector
	@failed=0; \
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) $$($(GO) list ./... | grep -vE '$(in_race)') || failed=1; \
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) -race $$($(GO) list ./... | grep -E '$(in_race)') || failed=1; \
	exit $$failed

lint: deps ## check the format, go vet, staticcheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=deploy/tools.mod staticcheck ./...

bench: deps build ## run the benchmarks one after the other (BENCH=regexp, BENCH_TIME=1s)
	@echo "load average: $$(cut -d ' ' -f 1-3 /proc/loadavg) on $$(nproc) cores"
	$(GO) test -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCH_TIME) -benchmem -timeout 60m ./...

soak: deps build ## run the long tests under load (SOAK_TIME=10m)
	RECITAL_SOAK=$(SOAK_TIME) $(GO) test -count=1 -p 1 -v -run '^TestSoak' -timeout 0 ./...

clients: deps build ## run clients that were published against a real recitald (needs Node and npm's registry)
	RECITAL_CLIENTS=1 $(GO) test -count=1 -v -run '^TestPublishedClients$$' ./cmd/recitald

fuzz: deps ## run each fuzz target for a while (FUZZ_TIME=30s)
	@grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u | while read -r package; do \
		grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$package"/*_test.go | while read -r _ target; do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) "$$package" || exit 1; \
		done || exit 1; \
	done

clean: ## remove what was built; data folders stay
	rm -rf bin coverage.out
