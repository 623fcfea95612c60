# Every target says what it does in a comment of its own; "make" lists them.

GO ?= go

# Folders with goroutines, processes or transactions at work: their tests run under the race detector, all of them by
# make test-long, and by make test those for which it costs little.
RACE = commands|internal/(access|app|events/(eventlog|eventnode|feed|todo)|http/web|process/(datafolder|lifecycle|postgres|supervise|workers)|providers/(blobs|hosting|payments)|standins|speech/(audio/(codec|decode)|engineproto|enginetest|espeak|flite|installed|japanese/reader|loudness|mastering|neural|stretch|worker)|speech$$)
RACE_SHORT = commands/journal|internal/(access/(credentials|keyring)|process/(datafolder|lifecycle|supervise)|providers/blobs/(folder|sealed))
# Lives and crashes of subscriptions take long under it in full: they are shortened, and in full without it.
RACE_SHORTENED = commands/billing|internal/(providers/payments|standins/sandbox)
packages_in = $$($(GO) list ./... | grep -E '^$(module)/($(1))(/|$$)' | grep -vE '^$(module)/($(or $(2),none))(/|$$)')
packages_not_in = $$($(GO) list ./... | grep -vE '^$(module)/($(1))(/|$$)')

# Packages of arithmetic, in which no goroutine starts: the race detector slows it down tenfold and has nothing to find.
# And EventStoreDB's client (v4.2.0): when an append cannot be sent, it looks for a leader's name in the trailer, which
# gRPC may be writing for a call that was ended meanwhile. Both what it finds and nothing are handled as a failure.
module := $(shell $(GO) list -m 2>/dev/null)
UNWATCHED = $(module)/internal/speech/stretch $(module)/internal/speech/mastering $(module)/internal/speech/loudness $(module)/internal/speech/enginetest github.com/rivo/uniseg \
	github.com/EventStore/EventStore-Client-Go/v4/esdb
unwatched = $(foreach package,$(UNWATCHED),-gcflags=$(package)=-race=false)

# Many tests wait most of their time, so more of them run at once than there are processors; of those with the race
# detector and of the shortened ones, more packages, too. In full, fewer do: services that share a processor with ten
# others exceed their own time limits, and their retries cost more than running at once saves. Lint vets, and nobody
# debugs what is deleted after the test: a third of all went into both.
# In full, all tests run; otherwise, the go command keeps the results of packages of which nothing has changed that they
# contain, open or look at. Programs that they start belong to that (internal/testing/bintest).
AT_ONCE = $(if $(FULL),2,4)
TEST = $(GO) test -parallel $(AT_ONCE) -vet off -ldflags '-s -w' -timeout $(TEST_TIMEOUT)
IN_FULL = $(TEST) -count=1
TEST_TIMEOUT ?= 60m
BENCH ?= .
BENCH_TIME ?= 1s
FUZZ_TIME ?= 30s
GENERATE_TIME ?= 10m
SOAK_TIME ?= 10m
SEED ?= 1
ROOT ?= /
MINUTES ?= 5
FIXTURE ?= 1.0
VOICES ?= joe

# slowest passes on what go test prints, and ends with the ten packages that took longest.
slowest = awk '{ print; fflush() } /^(ok|FAIL) *\t/ && $$3 ~ /s$$/ { took[NR] = $$3 "\t" $$2 } \
	END { print "the slowest:"; fflush(); for (n in took) print took[n] | "sort -rn | head -n 10" }'

# folders_with lists the packages whose tests match a regular expression.
folders_with = $$(grep -rlE --include='*_test.go' '$(1)' . | xargs -r -n 1 dirname | sort -u)

.DEFAULT_GOAL := help
.PHONY: help deps deps-test deps-long build console run voices test test-plain test-race test-long test-long-plain \
	test-long-race lint bench align-report clone-report normalise-report nemo-report neural-report \
	precheck-report loudness loudness-report soak storm clients \
	fixture pydantic govulncheck fuzz clean

# Paths in what is compiled are the same in every folder and for every target, so all share the build cache.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# Tests take the binaries that make has built, and benchmarks a regular expression in which nothing is expanded.
test test-long bench soak storm clients fixture fuzz: export RECITAL_TEST_BINARIES := $(CURDIR)/bin
test test-long: export TMPDIR ?= $(shell deploy/scratch.sh)
test: export RECITAL_TEST_RUN := $(shell date +%s%N)
test: SHELL := bash
test: .SHELLFLAGS := -o pipefail -c
# A program with the race detector waits a second for races when it ends, and tests start many of them.
test-race test-long-race: export GORACE := atexit_sleep_ms=50
bench: export RECITAL_BENCH := $(value BENCH)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install what is missing on this machine, with apt
	@deploy/deps.sh

deps-test: ## install what the tests need as well
	@deploy/deps.sh test

deps-long: ## install what the longest tests need as well
	@deploy/deps.sh long

# Programs that tests run later are built beside what comes first.
build_tools = for tool in versitygw stripe-mock; do $(GO) tool -modfile=deploy/tools.mod -n $$tool; done >/dev/null 2>&1

# go build touches programs that are as they were. With their former time, tests that start them need not run again.
keep_times = for program in bin/*; do \
	built=bin/.$${program\#bin/}.built; id=$$($(GO) tool buildid $$program); \
	[ "$$id" = "$$(cat $$built 2>/dev/null)" ] || echo "$$id" >$$built; \
	touch -r $$built $$program; done

build: ## build the binaries into bin/
	CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/recitald ./cmd/recitalctl ./cmd/standins \
		./cmd/japanesereader
	CGO_ENABLED=1 $(GO) build -o bin/ ./cmd/speechworker ./cmd/neuralworker
	@$(keep_times)

run: deps build ## install, build and start everything on an embedded default; Ctrl-C stops it
	@exec bin/recitald

voices: ## fetch voices of neural networks, and install them in what make run runs (VOICES="joe jenny", FROM=folder: offline)
	@deploy/voices.sh describe $(VOICES)
	@[ -n "$(FROM)" ] || deploy/deps.sh voices $(VOICES)
	@$(MAKE) --no-print-directory deps build
	@deploy/voices.sh install "$(FROM)" $(VOICES)

console: ## build the console's page from its sources (needs Node and npm's registry; what it builds is committed)
	cd console && npm ci --ignore-scripts --no-audit --no-fund
	GO=$(GO) console/build.sh console internal/http/console/dist

test: deps-test build ## run the tests, the longest ones shortened, some with the race detector (FULL=1: make test-long)
	@$(build_tools) &
	@deploy/onnxruntime.sh >/dev/null || echo "NEURAL VOICES ARE NOT TESTED, for want of ONNX Runtime"
	@$(MAKE) --no-print-directory --keep-going --jobs $(if $(FULL),1,2) \
		$(if $(FULL),test-long-race test-long-plain,test-race test-plain) | $(slowest)

test-race:
	@$(TEST) -p 6 -short -race $(unwatched) $(call packages_in,$(RACE_SHORT))

test-plain:
	@$(TEST) -p 6 -short $(call packages_not_in,$(RACE_SHORT))

test-long: deps-long ## run all tests once in full, all that runs concurrently under the race detector
	@$(MAKE) --no-print-directory test FULL=1

test-long-race:
	@$(IN_FULL) -p 3 -race $(unwatched) $(call packages_in,$(RACE),$(RACE_SHORTENED)); others=$$?; \
	$(IN_FULL) -p 3 -race -short $(unwatched) $(call packages_in,$(RACE_SHORTENED)) && exit $$others

test-long-plain: AT_ONCE = 3
test-long-plain:
	@$(IN_FULL) $(call packages_not_in,$(RACE)) $(call packages_in,$(RACE_SHORTENED))

# With -trimpath, checkouts share what cgo has generated, and linters open the files that it names, which may be gone.
# The option with the path keeps it apart for each checkout.
lint: deps ## check the format, the code with golangci-lint, and the alert rules
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; }
	CGO_CFLAGS="-O2 -g '-I$(CURDIR)'" $(GO) tool -modfile=deploy/lint.mod golangci-lint run ./...
	@deploy/promtool.sh check rules deploy/alerts.yml
	@deploy/promtool.sh test rules deploy/alerts_test.yml

bench: deps build ## run the benchmarks and print a table of their targets (BENCH=regexp, BENCH_TIME=1s; BENCH=quick: all, in three minutes)
	@echo "load average: $$(cut -d ' ' -f 1-3 /proc/loadavg) on $$(nproc) cores"
	@export RECITAL_TEST_VOICE="$${RECITAL_TEST_VOICE-$$(deploy/voices.sh package joe)}"; \
	export RECITAL_TEST_KOKORO="$${RECITAL_TEST_KOKORO-$$(deploy/voices.sh package heart)}"; \
	export RECITAL_TEST_ACTIVITY="$${RECITAL_TEST_ACTIVITY-$$(deploy/voices.sh activity)}"; \
	set -- -p 1 -bench "$$RECITAL_BENCH" -benchtime $(BENCH_TIME) -timeout 60m; \
	[ "$$RECITAL_BENCH" != quick ] || set -- -p 1 -bench . -benchtime 100ms -short; \
	$(GO) run ./internal/testing/benchtest/table $(GO) test -run '^$$' -vet off -benchmem "$$@" $(call folders_with,^func Benchmark)

REPORT = $(GO) test -count=1 -v -timeout 0 ./internal/speech/reporttest -run "^TestReport$$" -report

align-report: deps build ## print how far the words that alignment finds are from where they are
	@$(REPORT) align

clone-report: deps build ## print how far clones are from their speakers (ROOT=/: of Debian's prompts; PACKAGES=folder,...: bases)
	@$(REPORT) clone -root $(ROOT) -packages "$(PACKAGES)"

loudness: deps build ## measure how loud the engines are, and write the gains that bring all voices to one loudness
	@$(REPORT) calibrate

loudness-report: deps build ## print how loud the voices are, by engine and language
	@$(REPORT) loudness

neural-report: deps build ## have judges that are no part of this hear the voices of the recitald that runs here (AUDIO=folder: keep what they hear; SPEAKS=fr)
	@deploy/deps.sh judges
	@internal/speech/reporttest/judges/judge.sh --audio "$(or $(AUDIO),$$(mktemp -d))" --language "$(or $(SPEAKS),en)"

precheck-report: deps build ## print what the precheck finds in recordings whose noise is known
	@$(REPORT) precheck

normalise-report: deps ## print how many texts are said as expected, by language and kind, and which are not
	@$(REPORT) normalise

nemo-report: deps ## compare with the English cases that NeMo-text-processing publishes (CASES=its folder .../en/data_text_normalization)
	@$(REPORT) nemo -cases $(CASES)

soak: deps build ## run the long tests under load (SOAK_TIME=10m)
	RECITAL_SOAK=$(SOAK_TIME) $(GO) test -count=1 -p 1 -v -run '^TestSoak' -timeout 0 ./...

storm: deps build ## kill, freeze and slow the parts of a service that is at work (SEED=1 MINUTES=5)
	RECITAL_STORM=$(MINUTES) RECITAL_STORM_SEED=$(SEED) $(GO) test -count=1 -v -run '^TestStorm$$' -timeout 0 ./cmd/recitald

fixture: deps-test build ## run this build and keep what it leaves on disk, which later builds must serve (FIXTURE=1.0)
	RECITAL_FIXTURE=testdata/releases/$(FIXTURE).tar.zst $(GO) test -count=1 -run '^TestWriteTheFixture$$' ./cmd/recitald

clients: deps build ## run clients that were published against a real recitald (needs Node, Python, and npm's and PyPI's registries)
	RECITAL_CLIENTS=1 $(GO) test -count=1 -timeout 40m -v -run '^TestPublishedClients' ./cmd/recitald

pydantic: ## ask pydantic and FastAPI what the binder's tests expect of them, and compare (needs Python and PyPI)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && vectors=$(CURDIR)/internal/http/web/bind/testdata && \
	version() { sed -n '1s/.*"'$$1'": "\([^"]*\)".*/\1/p' "$$vectors/$$1.json"; } && python3 -m venv "$$folder/venv" && \
	"$$folder/venv/bin/pip" install --quiet "pydantic==$$(version pydantic)" "fastapi==$$(version fastapi)" python-multipart httpx && \
	cd "$$folder" && venv/bin/python -W ignore "$$vectors/generate.py" && diff pydantic.json "$$vectors" && diff fastapi.json "$$vectors" && echo "the same answers"

govulncheck: ## look for known vulnerabilities in code that is called (needs their database)
	@$(GO) tool -modfile=deploy/lint.mod govulncheck ./...

fuzz: deps-long build ## run each fuzz target for a while (FUZZ_TIME=30s), and generate requests from the description (GENERATE_TIME=10m)
	RECITAL_GENERATE=$(GENERATE_TIME) $(GO) test -count=1 -v -timeout 0 \
		-run '^TestGeneratedRequestsAreAnsweredAsDescribed$$' ./cmd/recitald
	@grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u | while read -r package; do \
		grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$package"/*_test.go | while read -r _ target; do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) "$$package" || exit 1; \
		done || exit 1; \
	done

clean: ## remove what was built; data folders stay
	rm -rf bin coverage.out
