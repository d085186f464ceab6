# `make quick` after a change, `make test` before a commit lands, `make nightly` for the long proofs.
# Each installs what is missing first. docs/design/proof.md says what each stage proves.

VERSION := 0.2.0
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
SEED ?= 1
SEEDS ?= 5000
LONG_SEEDS ?= 200000
SCREEN_STEPS ?= 1000000
COMMIT_SEEDS ?= 2000
RETENTION_SEEDS ?= 400
LOG_SEEDS ?= 400
HOSTILE_SEEDS ?= 800
HOSTILE_FRAMES ?= 400
DAMAGE_TRIALS ?= 10
TARGET ?= frame
SECONDS ?= 60
MESSAGES ?= 1000000
CONVERSATIONS ?= 1000
ACCOUNTS ?= 1000
SERVERS ?= xmpp ejabberd matrix nats jmap
SUITES ?= bookworm trixie sid

# CC=gcc in the environment breaks SwiftPM's C targets, which need clang's blocks.
SWIFT := env -u CC -u CXX swift
PYTHON := python3
RELEASE := .build-rel/release
LIB := out/lib
DIST := out/dist

SIM := .build-test/debug/tideline-sim
# Swift Testing would walk the stack at each error that is thrown: see Scripts/stages.py.
TESTS := TL_TESTED=1 SWT_SWIFT_ERROR_BACKTRACING_ENABLED=0 $(SWIFT) test --disable-index-store --scratch-path .build-test -j $(JOBS)

.DEFAULT_GOAL := lib
.PHONY: storage storage-setup lib setup check quick nightly fmt format tidy tables header build test symbols abi \
  abi-accept abidiff c py py-run probe-test probe-run matrix xmpp ejabberd nats jmap interop statuses types swift-boundary screens sim sim-bin \
  sim-test sim-storage sim-rest sim-commits sim-each-commit sim-retention sim-log import-kill handover sim-known sim-smoke sim-faults \
  sim-long sim-traces hostile faults damage asan tsan fuzz search-model bench bench-count bench-growth bench-retention \
  bench-accounts bench-rows bench-search bench-syscalls bench-worst bench-weight bench-page bench-setup server examples docs-lint demo \
  terminal terminal-test screenshots test-build test-swift test-install asan-swift size install uninstall clean \
  dist dist-twice dist-try swift-example arm64

## The shared library, as a host finds it: `out/lib/libtideline.so` and its soname. Without a run
## path: each folder in one costs a dozen system calls at each load.
lib: setup
	@sh Scripts/stale.sh .build-rel
	$(SWIFT) build -c release --product tideline --static-swift-stdlib --scratch-path .build-rel \
	  --disable-local-rpath -j $(JOBS)
	@sh Scripts/stage.sh $(RELEASE)/libtideline.so $(LIB) $(VERSION)

setup:
	@sh Scripts/setup.sh

## All static checks, the tests of the boundary and 100 seeds, in the order in which they are cheapest
## to fail.
check: setup tidy format header test-swift symbols size abi abidiff c py types swift-boundary \
  test-install sim-smoke examples docs-lint

## After a change: the tests of the modules that changed, and 100 seeds.
quick: setup
	@$(PYTHON) Scripts/quick.py --jobs $(JOBS)

## The long proofs; appends a row to docs/design/proof.md. ONLY=NAME runs one stage, and no row.
## SHARE=25 runs a quarter of the new worlds and of the fuzzers' time.
nightly: setup
	@$(PYTHON) Scripts/nightly.py --jobs $(JOBS) $(if $(ONLY),--only "$(ONLY)") $(if $(SHARE),--share $(SHARE))

fmt:
	$(SWIFT) format -i -p -r Sources Tests TestSupport Simulator examples/server/Sources examples/swift/Sources Benchmarks/VaultAlone Package.swift

format:
	$(SWIFT) format lint --strict -p -r Sources Tests TestSupport Simulator examples/server/Sources examples/swift/Sources Benchmarks/VaultAlone Package.swift

tidy:
	$(PYTHON) Scripts/test_tidy.py
	$(PYTHON) Scripts/test_stages.py
	$(PYTHON) Scripts/test_header.py
	$(PYTHON) Scripts/test_docs_lint.py
	$(PYTHON) Scripts/tidy.py

## The header as C99, C11, C23 and C++17 with gcc and clang, warnings as errors.
header: setup
	$(PYTHON) Scripts/header.py check

## Tests and simulator in one build: optimised, and a changed file is compiled alone.
test-build: setup
	@sh Scripts/stale.sh .build-test
	TL_TESTED=1 $(SWIFT) build --build-tests --disable-index-store --scratch-path .build-test -j $(JOBS)

build: test-build

test-swift: setup
	@sh Scripts/stale.sh .build-test
	$(TESTS)

## What is known of Unicode, and what the tests expect of it, from a Python with that version.
tables:
	$(PYTHON) Scripts/unicode_tables.py
	$(PYTHON) Tests/TextTests/reference.py

## Everything that must pass before a commit lands; the last line sums what ran.
test: setup
	@$(PYTHON) Scripts/test.py --jobs $(JOBS)

## The header's functions, the version script and the exports are the same set.
symbols: lib
	$(PYTHON) Scripts/symbols.py $(LIB)/libtideline.so

## The stripped library is at most 10 MB.
size: lib
	@sh Scripts/size.sh $(LIB)/libtideline.so

## Signatures, constants, sizes and offsets against the snapshot that was reviewed.
abi: setup
	$(PYTHON) Scripts/header.py compare
	$(PYTHON) Scripts/bindings.py compare

## What of the header breaks programs that were compiled against the last release.
abidiff: setup
	@$(PYTHON) Scripts/test_abidiff.py
	@$(PYTHON) Scripts/abidiff.py

abi-accept: setup
	$(PYTHON) Scripts/header.py accept
	$(PYTHON) Scripts/bindings.py write

## The boundary from C: against the release library, then under the address sanitizer.
c: lib
	@sh Scripts/boundary.sh release $(LIB)
	@$(MAKE) --no-print-directory asan

## The same under AddressSanitizer; writes down in Tests/Boundary/asan-passed.txt that it passed on
## these files, and `make test` leaves it out until they change.
asan: setup
	@mkdir -p out
	@$(PYTHON) Scripts/test.py --hash-of-pointers >out/asan-hash
	@sh Scripts/stale.sh .build-asan
	TL_SANITIZE=1 $(SWIFT) build --sanitize=address --product tideline --scratch-path .build-asan \
	  -j $(JOBS)
	@sh Scripts/stage.sh .build-asan/debug/libtideline.so out/asan $(VERSION)
	@sh Scripts/boundary.sh address out/asan
	@$(PYTHON) Scripts/test.py --passed-asan "$$(cat out/asan-hash)"

## The Swift tests under AddressSanitizer.
asan-swift: setup
	@sh Scripts/stale.sh .build-asan
	TL_SANITIZE=1 $(SWIFT) build --build-tests --disable-index-store --sanitize=address --scratch-path .build-asan -j $(JOBS)
	SWT_SWIFT_ERROR_BACKTRACING_ENABLED=0 SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0 \
	  .build-asan/debug/tidelinePackageTests.xctest --testing-library swift-testing

tsan: setup
	@sh Scripts/stale.sh .build-tsan
	TL_SANITIZE=1 $(SWIFT) build --sanitize=thread --product tideline --scratch-path .build-tsan \
	  -j $(JOBS)
	@sh Scripts/stage.sh .build-tsan/debug/libtideline.so out/tsan $(VERSION)
	@sh Scripts/boundary.sh thread out/tsan

py: lib server py-run

py-run:
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Tests/Boundary/run.py

## What the probe finds out: the reference server in many configurations, and planted faults.
probe-test: lib server probe-run

probe-run:
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Tests/Probe/run.py

## A private Synapse, and a client that is carried to it by the adapter of examples/matrix; with
## WORD=terminal the client in the terminal on it.
matrix: lib
	@sh Scripts/adapted.sh matrix $(LIB) $(WORD)

## The same with a private Prosody, and with a private ejabberd.
xmpp: lib
	@sh Scripts/setup.sh xmpp
	@sh Scripts/adapted.sh xmpp $(LIB) $(WORD)

ejabberd: lib
	@sh Scripts/adapted.sh ejabberd $(LIB) $(WORD)

## The same with a private NATS server, and with a private Cyrus.
nats: lib
	@sh Scripts/adapted.sh nats $(LIB) $(WORD)
	@[ -n "$(WORD)" ] || sh Scripts/adapted.sh nats $(LIB) python Tests/Interop/places.py out/nats/places

jmap: lib
	@sh Scripts/adapted.sh jmap $(LIB) $(WORD)
	@[ -n "$(WORD)" ] || sh Scripts/adapted.sh jmap $(LIB) python Tests/Interop/places.py out/jmap/places

## Each of these servers with faults: kills, lost answers, restores, a purge, stamps that go back.
## Some 5 minutes each; SERVERS=xmpp runs one.
interop: lib
	@sh Scripts/setup.sh xmpp
	@sh Scripts/interop.sh $(LIB) $(SERVERS)

## The types of the Python package, and ruff with its defaults.
types: setup
	@sh Scripts/types.sh

## docs/reference/statuses.md anew, from what each call gives.
statuses: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Tests/Boundary/test_statuses.py write

## The boundary from Swift: a package of its own that imports the header and links the library. Each
## function has to be called by a test.
swift-boundary: lib
	@$(PYTHON) Scripts/swift_boundary.py $(LIB) --jobs $(JOBS)

sim-bin: setup
	TL_TESTED=1 $(SWIFT) build --product tideline-sim --disable-index-store --scratch-path .build-test -j $(JOBS)

## One seed, replayed exactly.
sim: sim-bin
	$(SIM) seed $(SEED)

sim-test: sim-bin
	$(SIM) run --seeds $(SEEDS) --jobs $(JOBS) --worlds mix \
	  --twice 1

## The same, and worlds on a file reach it as a storage of the host's is.
sim-storage: sim-bin
	SIM_STORAGE=1 $(SIM) run --seeds $(SEEDS) --jobs $(JOBS) --worlds mix

## A host that keeps a part of what it fetches, with a mirror of the feed.
sim-retention: sim-bin
	$(SIM) run --seeds $(RETENTION_SEEDS) --jobs $(JOBS) \
	  --worlds retention

## The same, and each client rests before each of its turns.
sim-rest: sim-bin
	SIM_REST=1 $(SIM) run --seeds $(SEEDS) --jobs $(JOBS) --worlds mix

## A server that keeps a log. The control, which appends what it hears, has to fail in nearly all.
sim-log: sim-bin
	$(SIM) control --seeds 100 --jobs $(JOBS) --worlds log
	$(SIM) run --seeds $(LOG_SEEDS) --jobs $(JOBS) --worlds log --twice 19

## 200,000 messages of an older cache, killed at 50 points; `make py` does 6,000 with 12.
import-kill: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src:Tests/Boundary \
	  TL_IMPORT_MESSAGES=200000 TL_IMPORT_KILLS=50 $(PYTHON) -m unittest -v test_import.Import.test_killed_and_resumed

## 2,000 hand-overs of one file between two processes, with kills; `make py` does 200.
handover: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src:Tests/Boundary \
	  TL_HANDOVERS=2000 $(PYTHON) -m unittest -v \
	  test_handover.HandOver.test_hundreds_of_hand_overs_with_kills_lose_nothing

## Seeds that failed once.
sim-known: sim-bin
	$(SIM) known Simulator/seeds.txt

sim-smoke: sim-bin
	$(SIM) run --seeds 100 --jobs $(JOBS) --worlds mix

## One drawn commit of each world fails: memory is as it was, and the engine that goes on shows what
## one shows that is opened from the file.
sim-commits: sim-bin
	$(SIM) commits --seeds $(COMMIT_SEEDS) --jobs $(JOBS) --worlds mix

## Each commit of a world, one a run.
sim-each-commit: sim-bin
	$(SIM) commits --each --seeds 100 --jobs $(JOBS) --worlds mix

## Faults planted on purpose, each of which must be found by its seed in Simulator/faults.txt: without
## this green seeds show nothing. SEARCH=1 looks for the seeds anew.
sim-faults: sim-bin
	$(SIM) faults $(if $(SEARCH),--seeds 300,--recorded Simulator/faults.txt) --jobs $(JOBS)

## The traces of seeds 1 to 2,000 are those that were kept: nothing that is seen has changed.
sim-traces: sim-bin
	$(PYTHON) Scripts/traces.py $(SIM) --jobs $(JOBS)

## Seeds nobody has tried, or those from FROM on; prints where it began.
sim-long: sim-bin
	@sh Scripts/sim-long.sh $(JOBS) $(LONG_SEEDS) $(FROM)

## Servers that mean harm: 320,000 frames of numbers, times, ids and sizes at their edges. A trap
## takes a process down, and its seed is named.
hostile: sim-bin
	$(SIM) hostile --seeds $(HOSTILE_SEEDS) --frames $(HOSTILE_FRAMES) \
	  --jobs $(JOBS)

## A million random steps of what a screen shows, each beside a slow and obvious reference;
## `make test` does 10,000.
screens: setup
	TL_SCREEN_STEPS=$(SCREEN_STEPS) $(TESTS) --filter 'ViewportTests.PropertyTests|TimelineTests.ItemListTests'

## 100,000 random operations of four seeds on files with search, with kills at any write: what is
## found equals a scan. `make test` does 2,400.
search-model: setup
	TL_SEARCH_OPERATIONS=25000 $(TESTS) --filter SearchModelTests

## A file of 100,000 messages with 1, 10 and 100 harmed pages: what is left of it.
damage: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Tests/Boundary/damage.py --messages 100000 --trials $(DAMAGE_TRIALS)

## Each write, sync and read of a session fails once; each crash point is reopened.
faults: setup
	TL_ROUNDS=20 $(TESTS) --filter 'Fault|Crash|Flip|PowerCuts'

## Tideline beside plain SQLite and encrypted ones, on the same messages in one run.
bench: lib bench-setup
	$(PYTHON) Benchmarks/run.py --messages $(MESSAGES) --conversations $(CONVERSATIONS)

## Instructions of each figure, against those in Benchmarks/counts.json.
bench-count: lib bench-setup
	$(PYTHON) Benchmarks/count.py

## How the figures grow with the messages; MILLION=1 goes on to a million.
bench-growth: lib bench-setup
	$(PYTHON) Benchmarks/growth.py --count $(if $(MILLION),--million)

## System calls, syncs and bytes written of each figure.
bench-syscalls: lib bench-setup
	$(PYTHON) Benchmarks/syscalls.py

## What the frames that hold the writer longest take, beside a page of as many bytes.
bench-worst: lib bench-setup
	$(PYTHON) Benchmarks/worst.py $(if $(COUNT),--count)

## Size and load time of the library, memory of a process that uses it.
bench-weight: lib
	$(PYTHON) Benchmarks/weigh.py --messages $(MESSAGES) --conversations $(CONVERSATIONS)

## Memory and descriptors of an account in a process with ACCOUNTS of them, open and at rest, and that
## an idle one writes nothing and wakes nobody.
bench-accounts: lib
	$(PYTHON) Benchmarks/accounts.py --accounts $(ACCOUNTS)

## What a purge of a million messages to a tenth takes: longest call, and the file.
bench-retention: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Benchmarks/retention.py --messages $(MESSAGES)

## What keeping a Python list of a window takes, beside the window's own poll.
bench-rows: lib
	@TIDELINE_LIBRARY=$(CURDIR)/$(LIB)/libtideline.so.1 PYTHONPATH=examples/python/src \
	  $(PYTHON) Benchmarks/python_rows.py

## Search beside plain FTS5 that is given the same tokens, SQLCipher's, and LIKE. CPU=1 counts the
## time that a process had a core, on a machine that others use.
bench-search: lib bench-setup
	$(PYTHON) Benchmarks/search.py --messages $(MESSAGES) \
	  --conversations $(CONVERSATIONS) $(if $(CPU),--cpu)

## The tables and plots of docs/design/benchmarks.md, from what the last runs left.
bench-page:
	out/bench/venv/bin/python Benchmarks/page.py

bench-setup:
	@sh Scripts/setup.sh bench

fuzz: setup
	@sh Tests/Fuzz/run.sh $(TARGET) $(SECONDS)

## Storages in a dict, LMDB and PostgreSQL against the contract, and a fleet of bots whose workers
## and database are killed: some minutes. WORD=check, errors, lmdb, fleet, failover or bench chooses.
## WORD=failover has 10,000 accounts and takes 20 minutes; with ACCOUNTS=100 two.
storage: lib storage-setup
	@ACCOUNTS=$(ACCOUNTS) sh Scripts/storage.sh $(LIB) $(WORD)

storage-setup:
	@sh Scripts/setup.sh storage

## The reference server: `out/tideline-server`. It is not optimised: that would take twice as long to
## build, and it answers fast enough for 20,000 messages.
server: setup
	$(SWIFT) build --package-path examples/server -j $(JOBS)
	@mkdir -p out
	@ln -sf ../examples/server/.build/debug/tideline-server out/tideline-server

examples: lib
	@sh Scripts/examples.sh $(LIB)

## The example in Swift: a package that sees the header and the library alone, and what it prints.
swift-example: lib
	@sh Scripts/swift_example.sh $(LIB) $(JOBS)

docs-lint:
	$(PYTHON) Scripts/test_diagrams.py
	$(PYTHON) Scripts/docs_lint.py

## The pictures of ARCHITECTURE.md, from its tables and docs/images/map.txt.
.PHONY: diagrams
diagrams:
	$(PYTHON) Scripts/diagrams.py

demo: setup
	@sh Scripts/demo.sh

## The chat client in the terminal, with a server and its data; both are built where they are missing.
## With WORD=--log the server keeps a log.
terminal: setup
	@sh Scripts/terminal.sh run $(WORD)

## What a person does with it, in a pseudo-terminal and in virtual time; WORD=jump chooses.
terminal-test: setup lib server
	@sh Scripts/terminal.sh test $(WORD)

## The pictures of it in docs/, anew.
screenshots: setup lib server
	@sh Scripts/terminal.sh shots

install: lib
	@sh Scripts/install.sh "$(RELEASE)/libtideline.so" "$(DESTDIR)" "$(PREFIX)" "$(VERSION)"

uninstall:
	@sh Scripts/uninstall.sh "$(DESTDIR)" "$(PREFIX)" "$(VERSION)"

## Both in an empty root, and a program that is built against what they installed.
test-install: lib
	@sh Scripts/test_install.sh

## For those who do not build: wheel, tarball and Debian packages in out/dist, of a library that needs
## glibc alone. docs/howto/install.md says what is in them. On Debian, for its static libraries.
dist: setup
	@sh Scripts/dist/build.sh $(VERSION) $(JOBS) $(DIST)

## The last commit built once more elsewhere gives the same bytes. Some minutes.
dist-twice: dist
	@sh Scripts/dist/twice.sh $(DIST)

## The packages in clean roots without network, which debootstrap makes once: as root.
dist-try:
	@for suite in $(SUITES); do sh $(DIST)/try.sh $$suite || exit 1; done

## The library for arm64 in out/arm64, and the tests of the boundary from C on it under qemu. On Debian;
## 15 minutes, and 2 GB below ROOTS.
arm64: setup
	@sh Scripts/setup.sh arm64
	@sh Scripts/arm64.sh $(VERSION) $(JOBS) out/arm64

clean:
	rm -rf .build .build-rel .build-dist .build-test .build-asan .build-tsan .build-arm64 .build-boundary \
	  examples/server/.build out
