# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Benchmarks: each prints a figure, and the peer's beside it. docs/overhead.md has those of our machines.

BENCH = TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench

DRAW = $(BENCH)/picture.py $(O)/bench.json $(O)/bench-cold.json docs/overhead.svg

.PHONY: bench
bench: $(O)/tachbpf interpreters ## what a sample costs, beside the peers (root)
	$(BENCH)/bench.py --json $(O)/bench.json $(BENCHFLAGS)
	$(DRAW)
	$(BENCH)/bench_churn.py
	$(BENCH)/bench_select.py
	$(BENCH)/bench_wait.py

.PHONY: bench-picture
bench-picture: $(O)/tachbpf $(if $(PREPARED),,interpreters) ## docs/overhead.svg from fewer interpreters: two minutes (root)
	$(BENCH)/bench.py --quick --seconds 0.4 --json $(O)/bench.json $(BENCHFLAGS)
	$(DRAW)

.PHONY: bench-cold
bench-cold: $(O)/tachbpf $(if $(PREPARED),,interpreters) ## what a sample costs at 19 to 999 Hz, when caches are cold (root; BENCHFLAGS="--quick --beside OTHER-TACHBPF"; DOCS=1)
	$(BENCH)/bench_cold.py --json $(O)/bench-cold.json $(if $(DOCS),--docs docs/overhead.md) $(BENCHFLAGS)
	$(if $(DOCS),$(DRAW))

.PHONY: pictures
pictures: $(O)/tachbpf ## README's pictures: docs/flamegraph.png, docs/top.svg; needs Chromium and tmux (root)
	$(BENCH)/screens.py docs

# Ratios that make check-truth compares with: tests/bench/budget.json, written by budget.
READ_COST = $(O)/tests/bench/read_cost
$(READ_COST): | $(O)/tests/bench/read_cost.bpf.o
truth-bpf budget check-budget: export READ_COST := $(abspath $(READ_COST))
.PHONY: budget check-budget
budget check-budget: $(O)/tachbpf $(ELF_PROGRAM) $(READ_COST) $(if $(PREPARED),,interpreters)
budget: ## record the budget anew: tests/bench/budget.json (root; two minutes)
	$(BENCH)/budget.py
check-budget: ## compare the cost of a sample with tests/bench/budget.json; a part of check-truth (root)
	$(BENCH)/budget.py --check

.PHONY: bench-hostile soak soak-hostile
bench-hostile: $(O)/tachbpf ## how long a sample of a hostile target takes at worst (root)
	$(BENCH)/bench_hostile.py $(BENCHFLAGS)

SECONDS ?= 1800
soak-hostile: $(O)/tachbpf ## half an hour of everything that users can do to a recording (root; SECONDS=300)
	$(BENCH)/soak_hostile.py --seconds $(SECONDS)

soak: $(O)/tachbpf interpreters ## ten minutes of everything at 10 kHz under stress (root)
	$(BENCH)/soak.py $(BENCHFLAGS)

.PHONY: bench-exec
bench-exec: $(O)/tachbpf interpreters ## what an exec costs with -a (root; BENCHFLAGS="--beside OTHER-TACHBPF")
	$(BENCH)/bench_exec.py $(BENCHFLAGS)

.PHONY: bench-events
bench-events: $(O)/tachbpf interpreters ## what an event of -e costs, beside perf and bpftrace (root)
	$(BENCH)/bench_events.py $(BENCHFLAGS)

.PHONY: bench-faults
bench-faults: $(O)/tachbpf $(O)/tests/bpf/fault_program ## what page faults cost with --mode mem (root)
	$(BENCH)/bench_faults.py $(BENCHFLAGS)

.PHONY: bench-flight
bench-flight: $(O)/tachbpf ## what a flight recorder takes beside 500 Pythons (root; BENCHFLAGS="--pythons 100")
	$(BENCH)/bench_flight.py $(BENCHFLAGS)

.PHONY: bench-top
bench-top: $(O)/tachbpf ## what tachbpf top costs beside 500 Pythons (root; BENCHFLAGS="--pythons 100")
	$(BENCH)/bench_top.py $(BENCHFLAGS)

.PHONY: bench-start
bench-start: $(O)/tachbpf ## how long a start takes, by phase, beside py-spy (root; BENCHFLAGS="--beside OTHER-TACHBPF")
	$(BENCH)/bench_start.py $(BENCHFLAGS)

.PHONY: bench-many
bench-many: $(O)/tachbpf ## what tachbpf takes beside 2,000 idle Pythons (root; BENCHFLAGS="--pythons 2000,20000 --beside OTHER-TACHBPF")
	$(BENCH)/bench_many.py $(BENCHFLAGS)

.PHONY: bench-possible
bench-possible: $(O)/tachbpf $(O)/tachbpf-elf ## what tachbpf takes for each possible CPU, on emulated machines of 2 and 128 (root)
	$(BENCH)/bench_possible.py $(BENCHFLAGS)

.PHONY: bench-reads
bench-reads: $(READ_COST) ## what a read of a target's memory costs at a tick, by its size and place (root)
	$(READ_COST) $(READ_COST).bpf.o 1

.PHONY: bench-dump
bench-dump: $(O)/tachbpf interpreters ## how long tachbpf dump takes, beside py-spy dump (root; BENCHFLAGS="--beside OTHER-TACHBPF")
	$(BENCH)/bench_dump.py $(BENCHFLAGS)

.PHONY: bench-tasks
bench-tasks: $(O)/tachbpf interpreters ## how long tachbpf dump takes to list asyncio's tasks, beside python -m asyncio pstree (root)
	$(BENCH)/bench_tasks.py $(BENCHFLAGS)

.PHONY: bench-loops
bench-loops: $(O)/tachbpf interpreters ## what a look at an event loop costs: tachbpf top --async (root)
	$(BENCH)/bench_loops.py $(BENCHFLAGS)

.PHONY: bench-period
bench-period: $(O)/tests/bench/period_change ## what it costs to change the clock's period (root)
	$<

.PHONY: bench-files
bench-files: $(O)/tachbpf $(O)/tests/bench/bench_files ## reading and writing files, beside CPython
	BENCH_FILES=$(abspath $(O))/tests/bench/bench_files \
		$(BENCH)/bench_files.py $(BENCHFLAGS)

.PHONY: bench-python
bench-python: python-wheel $(O)/tests/bench/bench_files ## reading 10^6 samples in Python, beside pandas and a speedscope file (BENCHFLAGS="--samples N")
	BENCH_FILES=$(abspath $(O))/tests/bench/bench_files $(BENCH)/bench_python.py $(O)/python $(BENCHFLAGS)

.PHONY: bench-live-files bench-large
bench-live-files: $(O)/tachbpf interpreters ## the size of live recordings, beside CPython's files of the same samples (root)
	$(BENCH)/bench_live_files.py $(BENCHFLAGS)

bench-large: $(O)/tachbpf $(O)/tests/bench/large_files ## report, flamegraph and diff of 1 GiB and of 20,000 processes
	LARGE_FILES=$(abspath $(O))/tests/bench/large_files \
		$(BENCH)/bench_large.py $(BENCHFLAGS)

.PHONY: bench-agent
bench-agent: $(PROGRAMS) ## what the agent costs a host: CPU, memory, start (root; BENCHFLAGS="--only busy --peer PROGRAM")
	$(BENCH)/bench_agent.py $(BENCHFLAGS)

.PHONY: soak-agent bench-fleet bench-collector
soak-agent: $(PROGRAMS) ## a day of the agent's windows in half an hour, with bad servers (root; SECONDS=300)
	$(BENCH)/soak_agent.py --seconds $(SECONDS)

bench-fleet: $(PROGRAMS) ## bytes that an agent sends, by rate and services (root)
	$(BENCH)/fleet_bytes.py --keep $(abspath $(O))/fleet $(BENCHFLAGS)

# After bench-fleet; BENCHFLAGS="--hosts 200 --bodies DIRECTORY".
bench-collector: ## what the output of 200 agents costs an OpenTelemetry Collector
	$(BENCH)/replay_hosts.py --bodies $(abspath $(O))/fleet/mixed-20-19 $(BENCHFLAGS)

.PHONY: bench-rows
bench-rows: $(PROGRAMS) ## Parquet of a host in an hour: rows, bytes, CPU time (root; TACHBPF_PYTHON; BENCHFLAGS="--minutes 30")
	$(BENCH)/fleet_rows.py $(BENCHFLAGS)

.PHONY: bench-delivery
bench-delivery: $(O)/tests/bench/bench_delivery ## what it costs to send 50 requests to a server on this machine
	$<

.PHONY: bench-unwind
bench-unwind: $(O)/tests/bench/bench_unwind_build ## how long unwind tables take to build (BENCHFLAGS="FILE...")
	BENCH_UNWIND_BUILD=$(abspath $<) $(BENCH)/bench_unwind.py $(BENCHFLAGS)

.PHONY: bench-native-merge
bench-native-merge: $(O)/tests/bench/bench_native_merge ## what machine code costs user space for each sample
	$<

.PHONY: bench-resolve
bench-resolve: $(O)/tests/bench/bench_resolve ## what user space needs for a sample (BENCHFLAGS="--beside PROGRAM": beside another build's)
	BENCH_RESOLVE=$(abspath $<) $(BENCH)/bench_resolve.py $(BENCHFLAGS)

.PHONY: bench-recorder
bench-recorder: $(O)/tachbpf interpreters ## CPU time of the whole recorder for a sample (root; BENCHFLAGS="--beside PROGRAM")
	$(BENCH)/bench_recorder.py $(BENCHFLAGS)

.PHONY: bench-async
bench-async: $(O)/tachbpf interpreters ## what --async costs a sample (root)
	$(BENCH)/bench_async.py

.PHONY: bench-native
bench-native: $(O)/tachbpf $(ELF_PROGRAM) interpreters ## what frames of machine code cost, beside the peers (root; BENCHFLAGS="--only kernel --peer PROGRAM")
	$(BENCH)/bench_native.py $(BENCHFLAGS)

.PHONY: bench-deep
bench-deep: $(O)/tachbpf $(ELF_PROGRAM) $(if $(PREPARED),,interpreters) ## which share of deep stacks of machine code is cut beside busy loops (root; BENCHFLAGS="--beside OTHER-TACHBPF")
	$(BENCH)/bench_deep.py $(BENCHFLAGS)

.PHONY: bench-heap
bench-heap: $(O)/tachbpf $(if $(PREPARED),,interpreters) ## what a census of 1 GB of objects takes, and what its process feels of it (root)
	$(BENCH)/bench_heap.py $(BENCHFLAGS)

.PHONY: bench-heap-why
bench-heap-why: $(O)/tachbpf $(if $(PREPARED),,interpreters) ## what looking for who keeps objects takes in a heap of 1 GB (root)
	$(BENCH)/bench_heap_why.py $(BENCHFLAGS)

.PHONY: bench-memory
bench-memory: $(O)/tachbpf interpreters ## what a recording of memory costs an allocation-heavy program, beside memray and tracemalloc (root)
	$(BENCH)/bench_memory.py $(BENCHFLAGS)

.PHONY: bench-bursts
bench-bursts: $(O)/tachbpf ## what --allocations costs a program, every block and in bursts (root)
	$(BENCH)/bench_bursts.py $(BENCHFLAGS)

.PHONY: bench-processes
bench-processes: $(O)/tachbpf ## what 100,000, 200,000 and 400,000 processes in a file cost each command
	$(BENCH)/bench_processes.py $(BENCHFLAGS)

$(O)/tests/bench/%: tests/bench/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(O)/libtachbpf.a $(LIBS)


$(O)/tests/bench/bench_delivery $(O)/tests/bench/bench_agent_%: LIBS += $(AGENT_LIBS)
# They share the unit tests' data.
$(addprefix $(O)/tests/bench/,bench_agent_tach bench_native_merge bench_resolve): LIBS += -lcmocka
