# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tachbpf. `make help` lists the targets.

ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error tachbpf needs at least make 4.3 (here: $(MAKE_VERSION)))
endif

VERSION := 0.1.0
O       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      = $(CROSS_$(ARCH))gcc
AR      = $(CROSS_$(ARCH))ar
CLANG   ?= clang
BPFTOOL ?= $(shell sh tools/bpftool.sh || echo bpftool)

# How libraries are linked: auto (statically where that is possible), dynamic, or static: all of
# them and the C library.
LINK ?= auto

# AGENT=0 builds without tachbpf-agent, and without the libraries that only it needs. They are not
# linked statically: curl alone would bring twenty others.
override AGENT := $(if $(filter static,$(LINK)),0,$(or $(AGENT),1))

# NATIVE=0 builds without tachbpf-elf, which reads ELF files for --native, and without the libraries
# that only it needs.
override NATIVE := $(or $(NATIVE),1)

# x86 or arm64, as the kernel's BPF headers call them; another than this machine's is
# cross-compiled into a directory of its own, with libraries from SYSROOT.
OWN_ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ARCH     ?= $(OWN_ARCH)
# Debian's development packages of the other machine type: fetched once, unpacked, not installed.
CROSS_PACKAGES := libc6-dev libbpf-dev libelf-dev zlib1g-dev libzstd-dev libprotobuf-c-dev \
                  libxxhash-dev libseccomp-dev libcmocka-dev \
                  $(if $(filter 0,$(NATIVE)),,libdw-dev libiberty-dev liblzma-dev) \
                  $(if $(filter 0,$(AGENT)),,libcurl4-openssl-dev libyaml-dev libmicrohttpd-dev)
SYSROOT  ?= $(or $(TACHBPF_CACHE),/var/cache/tachbpf)/sysroot-$(ARCH)-$(firstword $(shell echo $(CROSS_PACKAGES) | cksum))
ifneq ($(ARCH),$(OWN_ARCH))
CROSS_arm64 := aarch64-linux-gnu-
CROSS_x86   := x86_64-linux-gnu-
DEBIAN_arm64 := arm64
DEBIAN_x86   := amd64
override O   := $(O)/$(ARCH)
SYSROOT_FLAG := --sysroot=$(SYSROOT)
endif

# V=1 shows the commands.
Q := $(if $(V),,@)
E := @$(if $(V),true,printf '  %-6s %s\n')

SAN ?=
ifeq ($(SAN),1)
override O := $(O)/san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

ifeq ($(LINK),static)
override O  := $(O)/static
STATICFLAGS := -DTACHBPF_STATIC
# Without static archives of elfutils there is no tachbpf-elf, and --native says so.
override NATIVE := $(if $(filter 0,$(NATIVE)),0,$(shell sh tools/static_elf.sh $(CC) $(SYSROOT_FLAG)))
endif

# This system's libbpf if it is new enough, else one of our own, made from source (tools/libbpf.sh).
LIBBPF ?= $(if $(shell sh tools/libbpf_version.sh /usr/include/bpf/libbpf_version.h || echo old),vendor/libbpf)
ifneq ($(LIBBPF),)
LIBBPF_INCLUDE := -I$(O)/libbpf/usr/include -I$(LIBBPF)/include/uapi
LIBBPF_LINK    := -L$(O)/libbpf/usr/lib
LIBBPF_BUILT   := $(O)/libbpf/usr/lib/libbpf.a
endif

# A source tarball (make dist) brings what clang, bpftool and protoc would make.
GENERATED ?= $(wildcard generated)

CFLAGS  ?= -O2 -g
# A package is also built by compilers that were not there when the release was made.
WERROR  ?= $(if $(wildcard generated),,-Werror)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter $(WERROR)
ALLFLAGS = $(SYSROOT_FLAG) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SANFLAGS) $(STATICFLAGS) $(NO_PATHS) -D_GNU_SOURCE \
           -DTACHBPF_VERSION='"$(VERSION)"' -I. -Iuser -I$(O) $(LIBBPF_INCLUDE) -MMD -MP
# The same bytes wherever the tree is.
NO_PATHS := -ffile-prefix-map=$(CURDIR)=.
LIBS     = $(LDFLAGS) $(LIBBPF_LINK) $(file <$(O)/libs)
BPFFLAGS := -target bpf $(NO_PATHS) -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall $(WERROR) -Ivmlinux/$(ARCH) -Ibpf -I. $(LIBBPF_INCLUDE) -MMD -MP

# What is the agent's: $(call without_agent,FILES) leaves it out if there is none.
AGENT_ROOMS := delivery config metrics exporters agent
AGENT_FILES := $(foreach r,$(AGENT_ROOMS),user/$r/% tests/unit/$r/%) tests/fuzz/fuzz_agent_% tests/fuzz/fuzz_sender.c
without_agent = $(filter-out $(if $(filter 0,$(AGENT)),$(AGENT_FILES)),$(1))
# What is tachbpf-elf's alone: it starts by elf_start.c, and elf_channel.c needs no library.
ELF_FILES := $(filter-out %/elf_start.c %/elf_channel.c,$(wildcard user/elf_helper/*.c)) tests/unit/elf_helper/% \
             tests/fuzz/fuzz_elf_symbols.c tests/fuzz/fuzz_elf_wire.c tests/fuzz/fuzz_perf_map.c \
             tests/unit/unwind/test_unwind_truth.c tests/unit/native/test_native_live.c
without_native = $(filter-out $(if $(filter 0,$(NATIVE)),$(ELF_FILES)),$(call without_agent,$(1)))
LIB_SRC := $(call without_native,$(wildcard user/*/*.c user/*/*/*.c))
ELF_PROGRAM := $(if $(filter 0,$(NATIVE)),,$(O)/tachbpf-elf)
PROGRAMS := $(O)/tachbpf $(if $(filter 0,$(AGENT)),,$(O)/tachbpf-agent) $(ELF_PROGRAM)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(O)/user/formats/pprof/profile.pb-c.o
# One object: see bpf/tachbpf.bpf.c.
BPF_OBJ := $(O)/bpf/tachbpf.bpf.o
BPF_SRC := $(filter-out bpf/tachbpf.bpf.c,$(wildcard bpf/*.bpf.c))
UNIT_SRC := $(call without_native,$(wildcard tests/unit/*/test_*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(O)/%)
FUZZ_SRC := $(call without_native,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:%.c=$(O)/%)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help clean

all: $(PROGRAMS) ## build build/tachbpf (the default; NATIVE=0: without what --native needs); ARCH=arm64: cross-build build/arm64/tachbpf

# What only the agent links.
AGENT_LIBS := -lcurl -lyaml -lmicrohttpd

$(O)/tachbpf: $(O)/user/main.o
$(O)/tachbpf-agent: $(O)/user/agent_main.o
$(O)/tachbpf-agent: LIBS += $(AGENT_LIBS)
$(O)/tachbpf $(O)/tachbpf-agent: $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) -o $@ $(filter %.o,$^) $(O)/libtachbpf.a $(LIBS)

# What only tachbpf-elf links. One libelf for us and for libdw.
ELF_LIBS := $(if $(filter static,$(LINK)),-static) -ldw -lelf -liberty -llzma -lseccomp -lz -lxxhash $(if $(filter static,$(LINK)),-lzstd)

$(O)/tachbpf-elf: $(O)/user/elf_main.o $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(LDFLAGS) $(ELF_LIBS)

# Is all that the build needs here, and new enough?
VERSIONS := $(O)/versions$(if $(filter 0,$(AGENT)),-no-agent)$(if $(filter 0,$(NATIVE)),-no-native)
$(VERSIONS): tools/versions.sh $(LIBBPF_BUILT)
	@mkdir -p $(@D)
	$(Q)AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/versions.sh $(if $(GENERATED),- -,$(CLANG) $(BPFTOOL)) $(CC:$(CROSS_$(ARCH))%=%) $(LIBBPF_INCLUDE)
	@touch $@

$(LIB_OBJ) $(BPF_OBJ) $(O)/user/main.o $(O)/user/agent_main.o $(O)/user/elf_main.o: | $(VERSIONS)

# Which libraries can be linked statically here.
$(O)/libs: tools/libs.sh $(LIBBPF_BUILT) $(if $(SYSROOT_FLAG),| $(SYSROOT)/usr/include)
	@mkdir -p $(@D)
	$(E) GEN $@
	$(Q)sh tools/libs.sh $(LINK) $(CC) $(SYSROOT_FLAG) $(LIBBPF_LINK) >$@

ifneq ($(LIBBPF),)
$(LIBBPF)/src/libbpf.h:
	sh tools/libbpf.sh $(LIBBPF)

$(LIBBPF_BUILT): $(LIBBPF)/src/libbpf.h
	$(E) LIBBPF $@
	$(Q)$(MAKE) -s -C $(LIBBPF)/src CC="$(CC) $(SYSROOT_FLAG)" CFLAGS="-O2 -g -w" NO_PKG_CONFIG=1 BUILD_STATIC_ONLY=1 \
		OBJDIR=$(abspath $(O))/libbpf/obj DESTDIR=$(abspath $(O))/libbpf PREFIX=/usr LIBDIR=/usr/lib install >/dev/null
	$(Q)touch $@

$(LIB_OBJ) $(BPF_OBJ) $(O)/user/main.o $(O)/user/agent_main.o $(O)/user/elf_main.o: | $(LIBBPF_BUILT)
endif

$(O)/libtachbpf.a: $(LIB_OBJ) | $(O)/libs
	$(Q)rm -f $@; $(AR) rcs $@ $^

ifdef SYSROOT_FLAG
$(LIB_OBJ) $(O)/user/main.o $(O)/user/agent_main.o $(O)/user/elf_main.o $(O)/syscall_names.inc: | $(SYSROOT)/usr/include

$(SYSROOT)/usr/include:
	sh tools/sysroot.sh $(DEBIAN_$(ARCH)) host $(SYSROOT) $(CROSS_PACKAGES)
endif

# The skeleton is generated: whatever includes it must wait for it. That is the capture room,
# and the doctor's trial.
$(filter $(O)/user/capture/%,$(LIB_OBJ)) $(O)/user/doctor/doctor_trial.o: $(O)/tachbpf.skel.h

# Numbers of system calls, but for two that stand for how many there are.
$(O)/syscall_names.inc:
	@mkdir -p $(@D)
	$(E) GEN $@
	$(Q)echo '#include <asm/unistd.h>' | $(CC) $(SYSROOT_FLAG) -E -dM - | \
		sed -n 's/^#define \(__NR_\([a-z][a-z0-9_]*\)\) .*/[\1] = "\2",/p' | \
		grep -v -e __NR_syscalls -e __NR_arch_specific_syscall | sort >$@.new
	$(Q)mv $@.new $@

$(O)/user/host/syscall_name.o: $(O)/syscall_names.inc

# --- pprof's messages, by protobuf-c; what is generated is not held to our warnings --------
# protoc-c is deprecated where protoc can use protobuf-c's plugin.
PROTOC_C ?= $(if $(and $(shell command -v protoc),$(shell command -v protoc-gen-c)),protoc,protoc-c)

ifneq ($(GENERATED),)
$(O)/user/formats/pprof/profile.pb-c.c $(O)/user/formats/pprof/profile.pb-c.h &: $(GENERATED)/profile.pb-c.c
	$(Q)install -D -m 644 -t $(O)/user/formats/pprof $(GENERATED)/profile.pb-c.[ch]
else
$(O)/user/formats/pprof/profile.pb-c.c $(O)/user/formats/pprof/profile.pb-c.h &: user/formats/pprof/profile.proto
	@mkdir -p $(@D)
	$(E) GEN $@
	$(Q)$(PROTOC_C) --c_out=$(O) $<
endif

$(O)/user/formats/pprof/profile.pb-c.o: $(O)/user/formats/pprof/profile.pb-c.c
	$(Q)$(CC) $(filter-out $(WARN),$(ALLFLAGS)) -c -o $@ $<

$(O)/user/formats/pprof/pprof.o: $(O)/user/formats/pprof/profile.pb-c.h
# --------------------------------------------------------------------------------------------

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -c -o $@ $<

ifneq ($(GENERATED),)
$(O)/tachbpf.skel.h: $(GENERATED)/$(ARCH)/tachbpf.skel.h
	$(Q)install -D -m 644 $< $@
else
$(O)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(E) CLANG $<
	$(Q)$(CLANG) $(BPFFLAGS) -c -o $@ $<

$(O)/tachbpf.bpf.o: $(BPF_OBJ)
	$(E) GEN $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(O)/tachbpf.skel.h: $(O)/tachbpf.bpf.o
	$(E) GEN $@
	$(Q){ echo '#include "bpf/abi.h"'; $(BPFTOOL) gen skeleton $< name tachbpf_bpf; } > $@
endif

$(O)/tests/unit/%: tests/unit/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -DGOLDEN_DIR='"$(CURDIR)/tests/golden"' -o $@ $< $(O)/libtachbpf.a -lcmocka $(LIBS)

$(addprefix $(O)/tests/,$(foreach r,$(AGENT_ROOMS),unit/$r/%) bench/bench_agent_% bench/bench_delivery fuzz/fuzz_agent_%) \
$(O)/libfuzzer/fuzz_agent_%: LIBS += $(AGENT_LIBS)

$(O)/tests/unit/elf_helper/% $(addprefix $(O)/tests/fuzz/,fuzz_elf_symbols fuzz_elf_wire fuzz_perf_map) \
$(addprefix $(O)/libfuzzer/,fuzz_elf_symbols fuzz_elf_wire fuzz_perf_map): LIBS = $(LDFLAGS) $(ELF_LIBS)
# Its second opinion is elfutils', which brings its own libelf.
$(O)/tests/unit/unwind/test_unwind_truth: LIBS = $(LDFLAGS) -ldw -lelf -lz -lxxhash

# It shares the unit tests' data.
$(addprefix $(O)/tests/bench/,bench_agent_tach bench_native_merge bench_resolve): LIBS += -lcmocka

# --- hostbpf: bpf/ compiled for this machine, run against memory images --------------------
# The BPF code reads unaligned and through its own types, as BPF does.
HOSTBPF_SRC := $(wildcard tests/hostbpf/test_*.c)
HOSTBPF_BIN := $(HOSTBPF_SRC:%.c=$(O)/%)
HOSTBPF_OBJ := $(BPF_SRC:bpf/%.c=$(O)/hostbpf/%.o) $(addprefix $(O)/tests/hostbpf/,host.o page_tables.o)
HOSTBPF_FLAGS = -D__TARGET_ARCH_$(ARCH) -Ibpf/host $(ALLFLAGS) -Ibpf -fno-strict-aliasing -Wno-unknown-pragmas \
                $(if $(SANFLAGS),-fno-sanitize=alignment)

$(O)/hostbpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(HOSTBPF_FLAGS) -Wno-missing-prototypes -c -o $@ $<

$(O)/tests/hostbpf/%.o: tests/hostbpf/%.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(HOSTBPF_FLAGS) -c -o $@ $<

$(O)/tests/hostbpf/test_%: tests/hostbpf/test_%.c $(HOSTBPF_OBJ) $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(HOSTBPF_FLAGS) -DGOLDEN_DIR='"$(CURDIR)/tests/golden"' -o $@ $< $(HOSTBPF_OBJ) \
		$(O)/libtachbpf.a -lcmocka $(LIBS)
# --------------------------------------------------------------------------------------------

# The kernel's walk, for user space: of threads that sleep and are read from outside.
$(O)/user/capture/offcpu_scan_walk.o: ALLFLAGS := -D__TARGET_ARCH_$(ARCH) -Ibpf/host $(ALLFLAGS) -Ibpf -fno-strict-aliasing \
                                     -Wno-unknown-pragmas $(if $(SANFLAGS),-fno-sanitize=alignment)

# --- what tests leave -----------------------------------------------------------------------
# What there is to see of failed ones; `make check` empties it itself.
PYTHON  := /usr/bin/python3 -B
REPORTS = TACHBPF_FAILED="$${TACHBPF_FAILED:-$(abspath $(O))/failed}" JOBS=$(JOBS)
FORGET  = @[ -n "$$TACHBPF_TALLY" ] || rm -rf $(O)/failed
# ------------------------------------------------------------------------------------------

# --- unit tests (cmocka): no root; Python looks at sources and objects only -------------------------
# Copies, so that the logs are in build/, too.
UNIT_PY := $(addprefix $(O)/,$(addprefix tests/,rooms.py circles.py imports.py documents.py stack_depth.py) \
           $(call without_native,$(wildcard tests/unit/*.py tests/unit/*/*.py)))

$(O)/tests/%.py: tests/%.py
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

# A tachbpf that counts what it does, for tests of how that grows: the rooms that read and write
# profiles count.
WORK_SRC   := user/main.c $(foreach r,base model formats recording analysis commands,$(wildcard user/$r/*.c user/$r/*/*.c))
WORK_CALLS := memset memcpy memmove malloc calloc realloc reallocarray

$(O)/work/%.o: %.c | $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALLFLAGS) -I$(O) -fsanitize-coverage=trace-pc -c -o $@ $<

$(O)/work/tachbpf: $(WORK_SRC:%.c=$(O)/work/%.o) $(O)/tests/unit/work_count.o $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) $(WORK_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(LIBS)

# It reads what this one writes.
$(O)/tests/unit/telemetry/test_otlp.py: | $(O)/tests/unit/telemetry/write_windows

# These measure the program's memory and work, not a sanitizer's.
UNIT_MEASURES := $(O)/tests/unit/commands/test_linear.py $(O)/tests/unit/commands/test_metadata_memory.py
UNIT_MEASURED := $(O)/tachbpf $(O)/work/tachbpf
UNIT_DRIVEN   := $(PROGRAMS) $(addprefix $(O)/,$(call without_agent,tests/unit/delivery/delivery_program \
                 tests/unit/metrics/metrics_program))
ifeq ($(SAN),1)
UNIT_PY       := $(filter-out $(UNIT_MEASURES),$(UNIT_PY))
UNIT_MEASURED :=
endif

.PHONY: check-unit
check-unit: $(UNIT_BIN) $(HOSTBPF_BIN) $(UNIT_PY) | $(UNIT_MEASURED) $(UNIT_DRIVEN) ## tests/unit, tests/hostbpf; goes on after a failure, SAN=1 with sanitizers
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/programs.py $(or $(TACHBPF_TIER),unit) $^
# ------------------------------------------------------------------------------------------

# --- tests against real interpreters (tests/e2e, tests/bpf, tests/bench) -------------------
# pytest and xdist are Debian's, so that nothing comes from PyPI; caches stay out of the tree.
# JOBS: how many tests at a time, 0 without xdist. PREPARED: tests/check.py did it before.
PYTESTS = TACHBPF=$(abspath $(O))/tachbpf $(REPORTS) PHASE=$(PHASE) $(PYTHON) tests/pytests.py
READY   = $(O)/tachbpf $(ELF_PROGRAM) $(if $(PREPARED),,interpreters pytest-ready)
.PHONY: interpreters pytest-ready check-e2e check-bpf bench

interpreters: ## find and prepare the real Pythons that check-e2e and bench use (root; MORE=name)
	$(PYTHON) tests/e2e/lib/interpreters.py $(MORE)

pytest-ready:
	@/usr/bin/python3 -c 'import pytest, xdist' 2>/dev/null || DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends python3-pytest python3-pytest-xdist

check-e2e: $(READY) ## profiles of a few real interpreters (root; JOBS=1, PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) e2e tests/e2e $(PYTESTFLAGS)

check-bpf truth-bpf: $(addprefix $(O)/tests/bpf/,capture_program fault_program heap_program native_program)
# A source tarball needs no clang: there the budget is not checked.
truth-bpf: $(if $(GENERATED),,$(O)/tests/bench/read_cost $(O)/tests/bench/read_cost.bpf.o)
check-bpf: $(READY) ## the BPF side's own counters (root; JOBS=1, PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) bpf tests/bpf $(PYTESTFLAGS)

# The OpenTelemetry Collector is built the first time: from the Go module proxy, in some minutes.
.PHONY: check-servers
check-servers: $(READY) $(filter %-agent,$(PROGRAMS)) $(O)/tests/unit/telemetry/write_windows ## the agent with an OpenTelemetry Collector and a Prometheus (root; PYTESTFLAGS="-k NAME")
	$(FORGET)
	$(PYTESTS) servers tests/servers $(PYTESTFLAGS)

# By hand, and before a release; one program after the other. DOCS=1: the table goes to docs/testing.md.
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

bench: $(O)/tachbpf interpreters ## what a sample costs, beside the peers (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench.py --json $(O)/bench.json $(BENCHFLAGS)
	$(PYTHON) tests/bench/picture.py $(O)/bench.json docs/overhead.svg
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_churn.py
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_select.py
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_wait.py

.PHONY: bench-picture
bench-picture: $(O)/tachbpf $(if $(PREPARED),,interpreters) ## docs/overhead.svg from fewer interpreters: two minutes (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench.py --quick --seconds 0.4 --json $(O)/bench.json $(BENCHFLAGS)
	$(PYTHON) tests/bench/picture.py $(O)/bench.json docs/overhead.svg

# Ratios that make check-truth compares with: tests/bench/budget.json, written by budget.
READ_COST = $(O)/tests/bench/read_cost
$(READ_COST): | $(O)/tests/bench/read_cost.bpf.o
truth-bpf budget check-budget: export READ_COST := $(abspath $(READ_COST))
.PHONY: budget check-budget
budget check-budget: $(O)/tachbpf $(ELF_PROGRAM) $(READ_COST) $(if $(PREPARED),,interpreters)
budget: ## record the budget anew: tests/bench/budget.json (root; two minutes)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/budget.py
check-budget: ## has a sample become dearer than tests/bench/budget.json says? A part of check-truth (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/budget.py --check

.PHONY: bench-hostile soak soak-hostile
bench-hostile: $(O)/tachbpf ## how long a sample of a hostile target takes at worst (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_hostile.py $(BENCHFLAGS)

SECONDS ?= 1800
soak-hostile: $(O)/tachbpf ## half an hour of everything that users can do to a recording (root; SECONDS=300)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/soak_hostile.py --seconds $(SECONDS)

soak: $(O)/tachbpf interpreters ## ten minutes of everything at 10 kHz under stress (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/soak.py $(BENCHFLAGS)

.PHONY: bench-exec
bench-exec: $(O)/tachbpf interpreters ## what an exec costs with -a (root; BENCHFLAGS=ANOTHER-TACHBPF)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_exec.py $(BENCHFLAGS)

.PHONY: bench-events
bench-events: $(O)/tachbpf interpreters ## what an event of -e costs, beside perf and bpftrace (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_events.py $(BENCHFLAGS)

.PHONY: bench-faults
bench-faults: $(O)/tachbpf $(O)/tests/bpf/fault_program ## what page faults cost with --mode mem (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_faults.py $(BENCHFLAGS)

.PHONY: bench-flight
bench-flight: $(O)/tachbpf ## what a flight recorder takes beside 500 Pythons (root; BENCHFLAGS="--pythons 100")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_flight.py $(BENCHFLAGS)

.PHONY: bench-top
bench-top: $(O)/tachbpf ## what tachbpf top costs beside 500 Pythons (root; BENCHFLAGS="--pythons 100")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_top.py $(BENCHFLAGS)

.PHONY: bench-start
bench-start: $(O)/tachbpf ## how long a start takes, by phase, beside py-spy (root; BENCHFLAGS="--before OTHER_TACHBPF")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_start.py $(BENCHFLAGS)

.PHONY: bench-many
bench-many: $(O)/tachbpf ## what tachbpf takes beside 2,000 idle Pythons (root; BENCHFLAGS="--pythons 2000,20000 --before OTHER_TACHBPF")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_many.py $(BENCHFLAGS)

.PHONY: bench-possible
bench-possible: $(O)/tachbpf $(O)/tachbpf-elf ## what tachbpf takes for each possible CPU, on emulated machines of 2 and 128 (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_possible.py $(BENCHFLAGS)

.PHONY: bench-reads
bench-reads: $(READ_COST) ## what a read of a target's memory costs at a tick, by its size and place (root)
	$(READ_COST) $(READ_COST).bpf.o 1

.PHONY: bench-dump
bench-dump: $(O)/tachbpf interpreters ## how long tachbpf dump takes, beside py-spy dump (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_dump.py $(BENCHFLAGS)

.PHONY: bench-tasks
bench-tasks: $(O)/tachbpf interpreters ## how long tachbpf dump takes to list asyncio's tasks, beside python -m asyncio pstree (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_tasks.py $(BENCHFLAGS)

.PHONY: bench-period
bench-period: $(O)/tests/bench/period_change ## what it costs to change the clock's period (root)
	$<

.PHONY: bench-files
bench-files: $(O)/tachbpf $(O)/tests/bench/bench_files ## reading and writing files, beside CPython
	TACHBPF=$(abspath $(O))/tachbpf BENCH_FILES=$(abspath $(O))/tests/bench/bench_files \
		$(PYTHON) tests/bench/bench_files.py $(BENCHFLAGS)

.PHONY: bench-live-files bench-large
bench-live-files: $(O)/tachbpf interpreters ## the size of live recordings, beside CPython's files of the same samples (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_live_files.py $(BENCHFLAGS)

bench-large: $(O)/tachbpf $(O)/tests/bench/large_files ## report, flamegraph and diff of 1 GiB and of 20,000 processes
	TACHBPF=$(abspath $(O))/tachbpf LARGE_FILES=$(abspath $(O))/tests/bench/large_files \
		$(PYTHON) tests/bench/bench_large.py $(BENCHFLAGS)

.PHONY: bench-agent
bench-agent: $(PROGRAMS) ## what the agent costs a host: CPU, memory, start (root; BENCHFLAGS="--only busy --peer PROGRAM")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_agent.py $(BENCHFLAGS)

.PHONY: soak-agent bench-fleet bench-collector
soak-agent: $(PROGRAMS) ## a day of the agent's windows in half an hour, with bad servers (root; SECONDS=300)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/soak_agent.py --seconds $(SECONDS)

bench-fleet: $(PROGRAMS) ## bytes that an agent sends, by rate and services (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/fleet_bytes.py --keep $(abspath $(O))/fleet $(BENCHFLAGS)

# After bench-fleet; BENCHFLAGS="--hosts 200 --bodies DIRECTORY".
bench-collector: ## what the output of 200 agents costs an OpenTelemetry Collector
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/replay_hosts.py --bodies $(abspath $(O))/fleet/mixed-20-19 $(BENCHFLAGS)

.PHONY: bench-delivery
bench-delivery: $(O)/tests/bench/bench_delivery ## what it costs to send 50 requests to a server on this machine
	$<

.PHONY: bench-unwind
bench-unwind: $(O)/tests/bench/bench_unwind_build ## how long unwind tables take to build (BENCHFLAGS="FILE...")
	BENCH_UNWIND_BUILD=$(abspath $<) $(PYTHON) tests/bench/bench_unwind.py $(BENCHFLAGS)

.PHONY: bench-native-merge
bench-native-merge: $(O)/tests/bench/bench_native_merge ## what machine code costs user space for each sample
	$<

.PHONY: bench-resolve
bench-resolve: $(O)/tests/bench/bench_resolve ## what user space needs for a sample (BENCHFLAGS="--before PROGRAM": beside another build's)
	BENCH_RESOLVE=$(abspath $<) $(PYTHON) tests/bench/bench_resolve.py $(BENCHFLAGS)

.PHONY: bench-recorder
bench-recorder: $(O)/tachbpf interpreters ## CPU time of the whole recorder for a sample (root; BENCHFLAGS="--before PROGRAM")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_recorder.py $(BENCHFLAGS)

.PHONY: bench-async
bench-async: $(O)/tachbpf interpreters ## what --async costs a sample (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_async.py

.PHONY: bench-native
bench-native: $(O)/tachbpf $(ELF_PROGRAM) interpreters ## what frames of machine code cost, beside the peers (root; BENCHFLAGS="--only kernel --peer PROGRAM")
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_native.py $(BENCHFLAGS)

.PHONY: bench-memory
bench-memory: $(O)/tachbpf interpreters ## what a recording of memory costs an allocation-heavy program, beside memray and tracemalloc (root)
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_memory.py $(BENCHFLAGS)

.PHONY: bench-processes
bench-processes: $(O)/tachbpf ## what 100,000, 200,000 and 400,000 processes in a file cost each command
	TACHBPF=$(abspath $(O))/tachbpf $(PYTHON) tests/bench/bench_processes.py $(BENCHFLAGS)

$(O)/tests/bench/%: tests/bench/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(O)/libtachbpf.a $(LIBS)

# It takes the records of page faults itself.
$(O)/tests/bpf/fault_program: ALLFLAGS += -Wl,--wrap=capture_take

$(O)/tests/bpf/%: tests/bpf/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(O)/libtachbpf.a $(LIBS)
# ------------------------------------------------------------------------------------------

# --- kernels: one binary on Debian's kernels, in qemu (tests/kernels) -------------------------
.PHONY: check-kernels
check-kernels: $(READY) ## Linux 5.10 in qemu (root); ALL=1: every kernel, arm64 too; DOCS=1: record
	$(FORGET)
	$(REPORTS) TACHBPF=$(abspath $(O))/tachbpf ARCH=$(ARCH) ALL=$(ALL) KERNELS="$(KERNELS)" DOCS=$(DOCS) \
		REFRESH=$(REFRESH) $(PYTHON) tests/kernels/check_kernels.py
ifeq ($(ARCH)-$(if $(KERNELS),,$(ALL)),x86-1)
	@$(MAKE) --no-print-directory O=$(O) ARCH=arm64 check-kernels
endif
# ------------------------------------------------------------------------------------------

# --- distributions: README's first command in fresh roots of other systems (tests/distros) -----
.PHONY: check-distros
check-distros: PHASE = beside
check-distros: JOBS = 0
check-distros: $(if $(PREPARED),,pytest-ready) ## `make demo` on fresh Debian and Ubuntu (root; DISTROS=debian-13,ubuntu-22.04)
	$(FORGET)
	DISTROS=$(DISTROS) $(PYTESTS) distros tests/distros $(PYTESTFLAGS)
# ------------------------------------------------------------------------------------------

# --- fuzz: mutations of known files through the parsers; fuzz-long: libFuzzer -------------
# A target's seeds: FUZZ_SEEDS_<target>. FUZZ_RUNS mutations take about 2 s.
FUZZ_RUNS ?= 10000
FUZZ_SEEDS_fuzz_tach_reader = tests/golden/tach/*.bin tests/golden/native/*.bin
FUZZ_SEEDS_fuzz_gil         = tests/golden/tach/*.bin
FUZZ_SEEDS_fuzz_collapsed = tests/golden/collapsed/*.folded tests/golden/native/*.folded
FUZZ_SEEDS_fuzz_speedscope = tests/golden/speedscope/*.json
FUZZ_SEEDS_fuzz_gperftools = tests/golden/gperftools/*.prof
FUZZ_SEEDS_fuzz_mlyze = tests/golden/mlyze/*.mlyze
FUZZ_SEEDS_fuzz_mlyze_join  = tests/golden/fuzz_mlyze_join/*.bin
FUZZ_SEEDS_fuzz_mlyze_marks = tests/golden/fuzz_mlyze_marks/*.bin
FUZZ_SEEDS_fuzz_recover     = tests/golden/fuzz_recover/*.bin
FUZZ_SEEDS_fuzz_arm64       = tests/golden/fuzz_arm64/*.bin
FUZZ_SEEDS_fuzz_image       = tests/golden/fuzz_image/*.bin
FUZZ_SEEDS_fuzz_proc_filter      = tests/golden/fuzz_proc_filter/*.txt
FUZZ_SEEDS_fuzz_resolver    = tests/golden/fuzz_resolver/*.bin
FUZZ_SEEDS_fuzz_containers  = tests/golden/fuzz_containers/*.txt
FUZZ_SEEDS_fuzz_session     = tests/golden/fuzz_session/*.json
FUZZ_SEEDS_fuzz_asyncio_section = tests/golden/asyncio_*.bin
FUZZ_SEEDS_fuzz_maps        = tests/golden/fuzz_maps/*.txt
FUZZ_SEEDS_fuzz_elf         = tests/golden/fuzz_elf/*.bin
FUZZ_SEEDS_fuzz_sdt         = $(O)/tests/fuzz/sdt_seed.so
FUZZ_SEEDS_fuzz_elf_symbols = tests/golden/fuzz_elf_symbols/*.bin
FUZZ_SEEDS_fuzz_elf_wire    = tests/golden/fuzz_elf_wire/*.bin
FUZZ_SEEDS_fuzz_perf_map    = tests/golden/fuzz_perf_map/*.txt
FUZZ_SEEDS_fuzz_agent_config = tests/golden/fuzz_agent_config/*.yaml
FUZZ_SEEDS_fuzz_agent_ctl   = tests/golden/fuzz_agent_ctl/*.json
FUZZ_SEEDS_fuzz_container_files = tests/golden/fuzz_container_files/*.bin
FUZZ_SEEDS_fuzz_process_ctx = tests/golden/fuzz_process_ctx/*.bin
FUZZ_SEEDS_fuzz_thread_ctx  = tests/golden/fuzz_thread_ctx/*.bin
FUZZ_SEEDS_fuzz_python_threads = tests/golden/fuzz_python_threads/*.bin
FUZZ_SEEDS_fuzz_value       = tests/golden/fuzz_value/*.bin
FUZZ_SEEDS_fuzz_tasks       = tests/golden/fuzz_tasks/*.bin
FUZZ_SEEDS_fuzz_keys         = tests/golden/fuzz_keys/*.bin
FUZZ_SEEDS_fuzz_when        = tests/golden/fuzz_when/*.txt
FUZZ_SEEDS_fuzz_service     = tests/golden/fuzz_service/*.bin
FUZZ_SEEDS_fuzz_otlp_split  = tests/golden/fuzz_otlp_split/*.bin
FUZZ_SEEDS_fuzz_sender      = tests/golden/fuzz_sender/*.bin
FUZZ_SEEDS_fuzz_native_record = tests/golden/fuzz_native_record/*.bin
FUZZ_SEEDS_fuzz_async_record = tests/golden/fuzz_async_record/*.bin
FUZZ_SEEDS_fuzz_agent_metrics = tests/golden/fuzz_agent_metrics/*.bin
FUZZ_SEEDS_fuzz_native_wire = tests/golden/fuzz_native_wire/*.bin
FUZZ_SEEDS_fuzz_page_book   = tests/golden/fuzz_page_book/*.bin
FUZZ_SEEDS_fuzz_unwind_build = $(O)/tests/fuzz/unwind_seed.so
FUZZ_SEEDS_fuzz_native_walk = tests/golden/fuzz_native_walk/*.bin

# It runs bpf/, too, as tests/hostbpf does.
$(O)/tests/fuzz/fuzz_native_walk: tests/fuzz/fuzz_native_walk.c tests/fuzz/driver.c $(HOSTBPF_OBJ) $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(CC) $(HOSTBPF_FLAGS) -DGOLDEN_DIR='"$(CURDIR)/tests/golden"' -o $@ $< tests/fuzz/driver.c $(HOSTBPF_OBJ) \
		$(O)/libtachbpf.a -lcmocka $(LIBS)

$(O)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c $(wildcard tests/fuzz/*.h) $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -o $@ $< tests/fuzz/driver.c $(O)/libtachbpf.a $(LIBS)

$(O)/tests/fuzz/fuzz_unwind_build: | $(O)/tests/fuzz/unwind_seed.so
$(O)/tests/fuzz/unwind_seed.so: tests/fuzz/unwind_seed.S
	@mkdir -p $(@D)
	$(CC) $(SYSROOT_FLAG) -shared -nostdlib -Wl,-z,noseparate-code -o $@ $<

$(O)/tests/fuzz/fuzz_sdt: | $(O)/tests/fuzz/sdt_seed.so
$(O)/tests/fuzz/sdt_seed.so: tests/e2e/targets/libprobed.c
	@mkdir -p $(@D)
	$(CC) $(SYSROOT_FLAG) -O2 -fPIC -shared -nostdlib -Wl,-z,noseparate-code -o $@ $<

.PHONY: fuzz
ifeq ($(SAN),1)
fuzz: $(FUZZ_BIN)
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/programs.py $(or $(TACHBPF_TIER),fuzz) -v \
		$(foreach b,$(FUZZ_BIN),"$(b) -runs=$(FUZZ_RUNS) $(FUZZ_SEEDS_$(notdir $(b)))")
else
fuzz: ## mutated files through the parsers, under ASan and UBSan
	$(MAKE) SAN=1 O=$(O) fuzz
endif

# clang's libFuzzer. UBSan's pointer-overflow check is off: it finds zero added to NULL.
FUZZ_SECONDS ?= 3600
FUZZ_LONG ?= fuzz_tach_reader fuzz_recover fuzz_collapsed fuzz_speedscope fuzz_gperftools fuzz_mlyze
fuzz_san := -fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined
fuzz_cov := -fprofile-instr-generate -fcoverage-mapping

.PHONY: fuzz-long
fuzz-long: ## libFuzzer on every reader of files, side by side: FUZZ_SECONDS=3600, FUZZ_LONG=targets
	$(MAKE) CC=$(CLANG) O=$(O)/libfuzzer/fuzzer SANFLAGS="-fsanitize=fuzzer-no-link $(fuzz_san)" \
		$(FUZZ_LONG:%=$(O)/libfuzzer/fuzzer/libfuzzer/%)
	$(MAKE) CC=$(CLANG) O=$(O)/libfuzzer/covered SANFLAGS="-fsanitize=fuzzer-no-link $(fuzz_cov)" \
		$(FUZZ_LONG:%=$(O)/libfuzzer/covered/libfuzzer/%)
	sh tests/fuzz/long.sh $(O)/libfuzzer $(FUZZ_SECONDS) tests/golden $(FUZZ_LONG)

$(O)/libfuzzer/%: tests/fuzz/%.c $(wildcard tests/fuzz/*.h) $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -fsanitize=fuzzer -o $@ $< $(O)/libtachbpf.a $(LIBS)
# --------------------------------------------------------------------------------------------

# --- what people type ------------------------------------------------------------------------
.PHONY: vendor
vendor: ## put the source of a libbpf that is new enough into vendor/, for systems whose own is not
	sh tools/libbpf.sh vendor/libbpf

.PHONY: deps check-deps demo check check-truth check-quick install install-tachbpf install-agent uninstall
deps: ## install what the build needs (Debian, Ubuntu; root)
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh build
ifdef SYSROOT_FLAG
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh cross
endif

check-deps: ## install what the tests need, too
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh check

demo: deps ## build, profile real Python for 5 seconds, show the result (root)
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@sh tools/demo.sh $(O)/tachbpf

CHECK = @BUILD=$(O) $(PYTHON) tests/check.py

check: check-deps ## all tests whose verdict is the same under load; what CI runs (root, minutes)
	$(CHECK) check

check-truth: check-deps ## what measures: statistics, times, every interpreter and kernel; wants a quiet machine (root)
	$(CHECK) truth

.PHONY: check-planted
check-planted: $(READY) ## plants bugs in a copy of the tree: the first tier must find each (root; BUGS=names)
	$(PYTHON) tests/planted/run.py $(BUGS)

# One interpreter's every behaviour, from the kernel to CPython's own reader.
check-quick: all check-unit $(READY) ## build, unit tests, one interpreter end to end: a minute (root)
	$(FORGET)
	TACHBPF_INTERPRETERS=one $(PYTESTS) quick tests/e2e/capture/test_profile.py -n 0 $(PYTESTFLAGS)

# Where systemd looks for the units of packages, and of an administrator's own programs.
UNITS   ?= $(if $(filter /usr,$(PREFIX)),/usr/lib/systemd/system,/etc/systemd/system)
CONFIG  := /etc/default/tachbpf
AGENT_CONFIG := /etc/tachbpf/agent.yaml
SHARE   := $(PREFIX)/share
BASH_COMPLETION := $(SHARE)/bash-completion/completions/tachbpf
ZSH_DIR         ?= $(SHARE)/zsh/site-functions
ZSH_COMPLETION  := $(ZSH_DIR)/_tachbpf
FISH_COMPLETION := $(SHARE)/fish/vendor_completions.d/tachbpf.fish

install: install-tachbpf $(if $(filter 0,$(AGENT)),,install-agent) ## put programs, man pages, completions and (disabled) services under PREFIX (/usr/local)

# The completions are made by the binary itself, so it must run on this machine.
install-tachbpf: all
	install -D -m 755 $(O)/tachbpf $(DESTDIR)$(PREFIX)/bin/tachbpf
ifneq ($(NATIVE),0)
	install -D -m 755 $(O)/tachbpf-elf $(DESTDIR)$(PREFIX)/libexec/tachbpf/tachbpf-elf
endif
	install -D -m 644 docs/tachbpf.1 $(DESTDIR)$(SHARE)/man/man1/tachbpf.1
	mkdir -p $(dir $(addprefix $(DESTDIR),$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION) $(UNITS)/))
	$(O)/tachbpf completion bash >$(DESTDIR)$(BASH_COMPLETION)
	$(O)/tachbpf completion zsh >$(DESTDIR)$(ZSH_COMPLETION)
	$(O)/tachbpf completion fish >$(DESTDIR)$(FISH_COMPLETION)
	sed 's#@PREFIX@#$(PREFIX)#' packaging/tachbpf.service >$(DESTDIR)$(UNITS)/tachbpf.service
	[ -e $(DESTDIR)$(CONFIG) ] || install -D -m 644 packaging/tachbpf.default $(DESTDIR)$(CONFIG)

install-agent: all
	install -D -m 755 $(O)/tachbpf-agent $(DESTDIR)$(PREFIX)/bin/tachbpf-agent
	install -D -m 644 docs/tachbpf-agent.8 $(DESTDIR)$(SHARE)/man/man8/tachbpf-agent.8
	mkdir -p $(DESTDIR)$(UNITS)
	sed 's#@PREFIX@#$(PREFIX)#' packaging/tachbpf-agent.service >$(DESTDIR)$(UNITS)/tachbpf-agent.service
	[ -e $(DESTDIR)$(AGENT_CONFIG) ] || install -D -m 644 packaging/agent.yaml $(DESTDIR)$(AGENT_CONFIG)

uninstall: ## take them away again, but for /etc/default/tachbpf and /etc/tachbpf
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/tachbpf $(SHARE)/man/man1/tachbpf.1 $(UNITS)/tachbpf.service \
		$(PREFIX)/libexec/tachbpf/tachbpf-elf $(PREFIX)/bin/tachbpf-agent $(SHARE)/man/man8/tachbpf-agent.8 $(UNITS)/tachbpf-agent.service \
		$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	rmdir $(DESTDIR)$(PREFIX)/libexec/tachbpf 2>/dev/null || true
# --------------------------------------------------------------------------------------------

# --- HTML reports: pages put together here, embedded by html_pages.S -----------------------
HTML_DIR   := user/formats/html/pages
HTML_PAGES := $(foreach page,flamegraph heatmap gil,$(O)/$(HTML_DIR)/$(page).page)

$(O)/$(HTML_DIR)/%.page: tools/html_page.sh $(wildcard $(HTML_DIR)/*)
	@mkdir -p $(@D)
	$(E) PAGE $@
	$(Q)sh tools/html_page.sh $(HTML_DIR) $* > $@

$(O)/user/formats/html/html_pages.o: user/formats/html/html_pages.S $(HTML_PAGES)
	$(E) AS $<
	$(Q)$(CC) -c -Wa,-I$(O) -o $@ $<

$(O)/libtachbpf.a: $(O)/user/formats/html/html_pages.o
# --------------------------------------------------------------------------------------------

include packaging/packages.mk

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove what was built
	rm -rf $(O)

-include $(LIB_OBJ:.o=.d) $(O)/user/main.d $(O)/user/elf_main.d $(WORK_SRC:%.c=$(O)/work/%.d) $(O)/tests/unit/work_count.d $(BPF_OBJ:.o=.d) $(UNIT_BIN:=.d) \
         $(HOSTBPF_OBJ:.o=.d) $(HOSTBPF_BIN:=.d)
