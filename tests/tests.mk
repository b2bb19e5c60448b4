# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# How tests are built and run. docs/testing.md says what each tier is for.

# What there is to see of failed ones; `make check` empties it itself.
PYTHON  := /usr/bin/python3 -B
REPORTS = TACHBPF_FAILED="$${TACHBPF_FAILED:-$(abspath $(O))/failed}" JOBS=$(JOBS)
FORGET  = @[ -n "$$TACHBPF_TALLY" ] || rm -rf $(O)/failed

# --- one program a room: its tests, each with a main() of its own that gets another name -----
UNIT_SRC   := $(call without_native,$(wildcard tests/unit/*/test_*.c))
# These replace functions or data of the program by their own, so each has a program of its own.
UNIT_ALONE := $(filter $(patsubst %,tests/unit/%.c,agent/test_agent_processes agent/test_burst capture/test_capture_records capture/test_exec_chains \
              capture/test_lifecycle capture/test_native_life capture/test_native_maps capture/test_proc_table \
              formats/test_recover native/test_native_debug native/test_native_expect native/test_native_flow native/test_native_losses \
              recording/test_shared_profile_files \
              resolve/test_budget resolve/test_native_frames resolve/test_process_deep_stacks resolve/test_process_native_frames \
              target/test_read_ahead),$(UNIT_SRC))
UNIT_SHARED := $(filter-out $(UNIT_ALONE),$(UNIT_SRC))
UNIT_ROOMS := $(sort $(patsubst tests/unit/%/,%,$(dir $(UNIT_SHARED))))
# hostbpf: bpf/ compiled for this machine, run against memory images. The BPF code reads unaligned
# and through its own types, as BPF does.
HOSTBPF_SRC := $(wildcard tests/hostbpf/test_*.c)
HOSTBPF_OBJ := $(BPF_SRC:bpf/%.c=$(O)/hostbpf/%.o) $(addprefix $(O)/tests/hostbpf/,host.o page_tables.o)
HOSTBPF_FLAGS = -D__TARGET_ARCH_$(ARCH) -Ibpf/host $(ALLFLAGS) -Ibpf -fno-strict-aliasing -Wno-unknown-pragmas \
                $(if $(SANFLAGS),-fno-sanitize=alignment)
ROOM_PROGRAMS := $(UNIT_ROOMS:%=$(O)/tests/unit/%/tests) $(UNIT_ALONE:%.c=$(O)/%) $(O)/tests/hostbpf/tests
ROOM_SLEEPS   := -Wl,--wrap=usleep,--wrap=sleep,--wrap=nanosleep
GOLDEN        := -DGOLDEN_DIR='"tests/golden"'

# $(call compile_test,FLAGS,OBJCOPY'S OPTIONS)
define compile_test
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CCACHE) $(CC) $(1) $(GOLDEN) -c -o $@ $<
	$(Q)$(OBJCOPY) $(2) $@
endef

# Some include what they test: the other tests of the program do not see it.
$(O)/tests/unit/%.o: tests/unit/%.c
	$(call compile_test,$(ALLFLAGS),--redefine-sym main=$(*F)_main $(if $(filter $<,$(UNIT_ALONE)),,--keep-global-symbol=$(*F)_main))

$(O)/tests/hostbpf/test_%.o: tests/hostbpf/test_%.c
	$(call compile_test,$(HOSTBPF_FLAGS),--redefine-sym main=test_$*_main)

$(O)/tests/hostbpf/%.o: tests/hostbpf/%.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CCACHE) $(CC) $(HOSTBPF_FLAGS) -c -o $@ $<

$(O)/hostbpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CCACHE) $(CC) $(HOSTBPF_FLAGS) -Wno-missing-prototypes -c -o $@ $<

# Some tests of the capture room include the skeleton.
$(patsubst %.c,$(O)/%.o,$(filter tests/unit/capture/%,$(UNIT_SRC))): | $(BPF_SKEL)

# $(call room_program,PROGRAM,SOURCES): the directory is newer when a file was added or removed.
define room_program
$(O)/$(1): $(2:%.c=$(O)/%.o) $(O)/$(1)_main.o
$(O)/$(1)_main.o: ALLFLAGS += -D'TESTS(X)=$(patsubst %,X(%),$(basename $(notdir $(2))))'
$(O)/$(1)_main.o: tests/room_main.c $(dir $(1))
	@mkdir -p $$(@D)
	$(Q)$(CCACHE) $(CC) $$(ALLFLAGS) -Wno-missing-prototypes -c -o $$@ $$<
endef
$(foreach r,$(UNIT_ROOMS),$(eval $(call room_program,tests/unit/$r/tests,$(filter tests/unit/$r/%,$(UNIT_SHARED)))))
$(foreach s,$(UNIT_ALONE),$(eval $(call room_program,$(basename $s),$s)))
$(eval $(call room_program,tests/hostbpf/tests,$(HOSTBPF_SRC)))

$(O)/tests/hostbpf/tests: $(HOSTBPF_OBJ)
$(ROOM_PROGRAMS): $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) $(ROOM_SLEEPS) -o $@ $(filter %.o,$^) $(O)/libtachbpf.a -lcmocka $(LIBS)

$(AGENT_ROOMS:%=$(O)/tests/unit/%/tests): LIBS += $(AGENT_LIBS)
$(O)/tests/unit/elf_helper/tests: LIBS = $(LDFLAGS) $(ELF_LIBS)
# Their second opinion is elfutils', which brings its own libelf.
ifneq ($(NATIVE),0)
$(O)/tests/unit/elf/tests: LIBS = $(LDFLAGS) -ldw -lelf -lz -lxxhash
endif

# Programs that tests in Python drive, and what check-plain compiles.
$(O)/tests/unit/%: tests/unit/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) $(GOLDEN) -o $@ $< $(O)/libtachbpf.a -lcmocka $(LIBS)

$(addprefix $(O)/tests/unit/,agent/test_agent_processes agent/test_burst \
            delivery/delivery_program delivery/test_sender_jail agent/metrics_program agent/test_metrics_jail): LIBS += $(AGENT_LIBS)

# --- unit tests: no root ---------------------------------------------------------------------
# A tachbpf that counts what it does, for tests of how that grows: the rooms that read and write
# profiles count.
WORK_SRC   := user/main.c $(foreach r,base model formats recording analysis commands,$(wildcard user/$r/*.c user/$r/*/*.c))
WORK_CALLS := memset memcpy memmove malloc calloc realloc reallocarray

$(O)/work/%.o: %.c | $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(ALLFLAGS) -I$(O) -fsanitize-coverage=trace-pc -c -o $@ $<

$(O)/work/work_count.o: tests/unit/work_count.c
	@mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(ALLFLAGS) -c -o $@ $<

$(O)/work/tachbpf: $(WORK_SRC:%.c=$(O)/work/%.o) $(O)/work/work_count.o $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) $(WORK_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(LIBS)

# Copies, so that the logs are in build/, too.
$(O)/tests/%.py: tests/%.py
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

# It reads what this one writes.
$(O)/tests/unit/telemetry/test_otlp.py: | $(O)/tests/unit/telemetry/write_windows

# What is not sanitized: these measure the program's memory and work, those try a jail that
# sanitizers cannot live in, or want an allocator that may fail.
PLAIN_PY   := $(addprefix tests/unit/commands/,test_linear.py test_metadata_memory.py)
PLAIN_SRC  := $(call without_native,$(addprefix tests/unit/,capture/test_jails.c delivery/test_sender_jail.c \
              agent/test_metrics_jail.c worker/test_worker.c resolve/test_process.c host/test_containers.c))
# Rules of the tree, and tests of these rules and of the tests' own tools.
RULES      := $(addprefix tests/,rooms.py circles.py lines.py unused.py documents.py stack_depth.py)
RULE_TESTS := tests/imports.py $(wildcard tests/unit/*.py tests/unit/bench/*.py tests/unit/tools/*.py)
UNIT_PY    := $(call without_native,$(filter-out $(RULE_TESTS) $(PLAIN_PY),$(wildcard tests/unit/*/*.py)))
UNIT_DRIVEN := $(PROGRAMS) $(addprefix $(O)/,$(call without_agent,tests/unit/delivery/delivery_program \
               tests/unit/agent/metrics_program))

# $(call unit_program,SOURCE), $(call unit_commands,SOURCES): a quoted word of the shell for each.
unit_program  = $(O)/$(if $(filter %.py,$(1)),$(1),$(if $(filter $(1),$(UNIT_ALONE)),$(basename $(1)),$(dir $(1))tests))
unit_commands = $(foreach s,$(1),"$(strip $(call unit_program,$s) $(if $(filter %/tests,$(call unit_program,$s)),$(basename $(notdir $s))))")
unit_needs    = $(sort $(foreach s,$(1),$(call unit_program,$s)))

# A server's own time limits decide there: not for a busy machine.
UNIT_TIMED  := $(addprefix tests/unit/agent/,test_metrics_server.py test_prometheus.py)
check_unit  := $(filter-out $(if $(filter gate,$(SELECT)),$(UNIT_TIMED)),$(UNIT_PY)) $(UNIT_SRC) $(HOSTBPF_SRC) $(RULES)
check_rules := $(RULE_TESTS)
# A program each: their rooms' other tests are not compiled for them.
plain_programs := $(PLAIN_SRC:%.c=$(O)/%) $(addprefix $(O)/,$(PLAIN_PY))
.PHONY: check-unit check-plain check-rules
check-unit: $(call unit_needs,$(check_unit)) | $(UNIT_DRIVEN) ## tests/unit, tests/hostbpf; goes on after a failure, SAN=1 with sanitizers
check-plain: $(plain_programs) | $(O)/tachbpf $(O)/work/tachbpf ## of these, what a sanitizer cannot judge
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/programs.py $(or $(TACHBPF_TIER),plain) $^

check-rules: $(call unit_needs,$(check_rules) $(RULES)) | $(PROGRAMS) ## tests of the tests' own tools
check-unit check-rules: check-%:
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/programs.py $(or $(TACHBPF_TIER),$*) $(call unit_commands,$(check_$*))

# --- tests against real interpreters (tests/e2e, tests/bpf, tests/bench) -------------------
# pytest and xdist are Debian's, so that nothing comes from PyPI; caches stay out of the tree.
# JOBS: how many tests at a time, 0 without xdist. SELECT: gate (what make check has), truth, or
# all else. PREPARED: tests/check.py did it before.
PYTESTS = TACHBPF=$(abspath $(O))/tachbpf $(REPORTS) PHASE=$(PHASE) $(PYTHON) tests/pytests.py
READY   = $(O)/tachbpf $(ELF_PROGRAM) $(if $(PREPARED),,interpreters pytest-ready)
.PHONY: interpreters pytest-ready check-e2e check-bpf

interpreters: ## find and prepare the real Pythons that tests and benchmarks use (root; MORE=name, MORE=few)
	$(PYTHON) tests/e2e/lib/interpreters.py $(MORE)

pytest-ready:
	@/usr/bin/python3 -c 'import pytest, xdist' 2>/dev/null || DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends python3-pytest python3-pytest-xdist

check-e2e: $(READY) ## profiles of a few real interpreters (root; JOBS=1, SELECT=gate, PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) e2e tests/e2e $(PYTESTFLAGS)

check-bpf truth-bpf: $(addprefix $(O)/tests/bpf/,capture_program fault_program heap_program native_program)
# A source tarball needs no clang: there the budget is not checked.
truth-bpf: $(if $(GENERATED),,$(O)/tests/bench/read_cost $(O)/tests/bench/read_cost.bpf.o)
check-bpf: $(READY) ## the BPF side's own counters (root; JOBS=1, SELECT=gate, PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) bpf tests/bpf $(PYTESTFLAGS)

# It takes the records of page faults itself.
$(O)/tests/bpf/fault_program: ALLFLAGS += -Wl,--wrap=capture_take

$(O)/tests/bpf/%: tests/bpf/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(O)/libtachbpf.a $(LIBS)

# The OpenTelemetry Collector is built the first time: from the Go module proxy, in some minutes.
.PHONY: check-servers
check-servers: $(READY) $(filter %-agent,$(PROGRAMS)) $(O)/tests/unit/telemetry/write_windows ## the agent with an OpenTelemetry Collector and a Prometheus (root; PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) servers tests/servers $(PYTESTFLAGS)

# JOBS=0: each engine wants the machine, and 10^7 rows are made once.
.PHONY: check-warehouse
check-warehouse: JOBS = 0
check-warehouse: $(READY) ## packaging/warehouse's queries in DuckDB, ClickHouse and Spark, on 10^7 rows (root, Java; PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) warehouse tests/warehouse $(PYTESTFLAGS)

# The wheel alone, as it is shipped, without the agent, which its tests do not start.
.PHONY: python-wheel check-python
python-wheel:
	$(Q)rm -f $(O)/python/tachbpf-*.whl
	$(Q)$(MAKE) --no-print-directory AGENT=0 WHEELS=$(O)/python wheel

check-python: python-wheel ## the Python package, from its wheel, in Python 3.9, 3.12 and 3.15 (PYTESTFLAGS="-k NAME")
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/python/run.py $(O)/python $(O)/python $(PYTESTFLAGS)

# One program after the other. DOCS=1: the table goes to docs/zoo.md.
.PHONY: check-zoo
check-zoo: PHASE = beside
check-zoo: JOBS = 0
check-zoo: export DOCS := $(DOCS)
check-zoo: $(READY) ## real programs from PyPI and Debian, each with its truth (root; DOCS=1, PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) zoo tests/zoo $(PYTESTFLAGS)

# Parts of check-truth.
.PHONY: truth-e2e truth-bpf check-waiting
truth-e2e truth-bpf check-waiting: export TACHBPF_INTERPRETERS ?= all
truth-e2e truth-bpf check-waiting: export SELECT = truth

truth-e2e: $(O)/tests/bench/bench_files
truth-e2e truth-bpf: truth-%: $(READY)
	$(FORGET)
	$(PYTESTS) truth-$* tests/$* $(PYTESTFLAGS)

check-waiting: $(READY) ## times of waiting as threads measure them; wants a machine of its own (root)
	$(FORGET)
	$(PYTESTS) waiting tests/e2e/capture/test_wait_truth.py $(PYTESTFLAGS)

# --- other kernels in qemu (tests/kernels), README's first command in fresh systems (tests/distros)
.PHONY: check-kernels check-distros
check-kernels: $(READY) ## Linux 5.10 in qemu (root); ALL=1: every kernel, arm64 too; DOCS=1: record
	$(FORGET)
	$(REPORTS) TACHBPF=$(abspath $(O))/tachbpf ARCH=$(ARCH) ALL=$(ALL) KERNELS="$(KERNELS)" DOCS=$(DOCS) \
		REFRESH=$(REFRESH) $(PYTHON) tests/kernels/check_kernels.py
ifeq ($(ARCH)-$(if $(KERNELS),,$(ALL)),x86-1)
	@$(MAKE) --no-print-directory O=$(O) ARCH=arm64 check-kernels
endif

check-distros: PHASE = beside
check-distros: JOBS = 0
check-distros: $(if $(PREPARED),,pytest-ready) ## `make demo` on fresh Debian and Ubuntu, packages, static files (root; DISTROS=debian-13,ubuntu-22.04)
	$(FORGET)
	DISTROS="$(DISTROS)" $(PYTESTS) distros tests/distros $(PYTESTFLAGS)

# --- the tiers, added up -----------------------------------------------------------------------
# The compiler's cache is where the interpreters are: a fresh clone compiles what changed.
CHECK = @BUILD=$(O) DOCS=$(DOCS) $(PYTHON) tests/check.py
.PHONY: check-deps check-all-deps check check-all check-truth check-planted check-quick
check-deps: ## install what the tests of make check need, too
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh check

check-all-deps: ## install what all tests need
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh check-all

check: check-deps ## what decides whether a change breaks something; what CI runs (root, at most 12 minutes)
	$(CHECK) check

check-all: check-all-deps ## all else that needs no quiet machine: interpreters, kernels, distributions, servers (root, hours; DOCS=1: record)
	$(CHECK) all

check-truth: check-all-deps ## what measures: statistics, times, every interpreter and kernel; wants a quiet machine (root)
	$(CHECK) truth

check-planted: $(READY) ## plants bugs in a copy of the tree: make check must find each (root; BUGS=names)
	$(PYTHON) tests/planted/run.py $(BUGS)

# One interpreter's every behaviour, from the kernel to CPython's own reader.
check-quick: all check-unit $(READY) ## build, unit tests, one interpreter end to end: a minute (root)
	$(FORGET)
	TACHBPF_INTERPRETERS=one $(PYTESTS) quick tests/e2e/capture/test_profile.py -n 0 $(PYTESTFLAGS)

-include $(UNIT_SRC:%.c=$(O)/%.d) $(HOSTBPF_SRC:%.c=$(O)/%.d) $(HOSTBPF_OBJ:.o=.d) $(WORK_SRC:%.c=$(O)/work/%.d) $(O)/work/work_count.d
