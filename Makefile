# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tachbpf. `make help` lists the targets.

VERSION := 0.1.0
O       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      := gcc
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
ARCH    ?= $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
PYTEST  ?= $(O)/venv/bin/python -m pytest

# V=1 shows the commands.
Q := $(if $(V),,@)
E := @$(if $(V),true,printf '  %-6s %s\n')

SAN ?=
ifeq ($(SAN),1)
override O := $(O)/san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Werror
ALLFLAGS = -std=gnu11 $(CFLAGS) $(WARN) $(SANFLAGS) -D_GNU_SOURCE -DTACHBPF_VERSION='"$(VERSION)"' \
           -I. -Iuser -I$(O) -MMD -MP
LIBS    := -Wl,-Bstatic -lbpf -lelf -lz -lzstd -lxxhash -ljson-c -Wl,-Bdynamic -lm -lpthread
BPFFLAGS := -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -Ivmlinux/$(ARCH) -Ibpf -I. -MMD -MP

LIB_SRC := $(filter-out user/main.c,$(wildcard user/*.c user/cpython/*.c user/sinks/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
# maps first: the linker resolves the others' extern maps against it.
BPF_SRC := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJ := $(BPF_SRC:%.bpf.c=$(O)/%.bpf.o)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(O)/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(O)/%)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help clean

all: $(O)/tachbpf ## build build/tachbpf (the default)

$(O)/tachbpf: $(O)/user/main.o $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(LIBS)

$(O)/libtachbpf.a: $(LIB_OBJ)
	$(Q)rm -f $@; ar rcs $@ $^

# The skeleton is generated: whatever includes it must wait for it.
$(O)/user/session.o $(O)/user/modes.o: $(O)/tachbpf.skel.h

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -c -o $@ $<

$(O)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(E) CLANG $<
	$(Q)$(CLANG) $(BPFFLAGS) -c -o $@ $<

$(O)/tachbpf.bpf.o: $(BPF_OBJ)
	$(E) GEN $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(O)/tachbpf.skel.h: $(O)/tachbpf.bpf.o
	$(E) GEN $@
	$(Q)$(BPFTOOL) gen skeleton $< name tachbpf_bpf > $@

$(O)/tests/unit/%: tests/unit/%.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CC) $(ALLFLAGS) -DGOLDEN_DIR='"$(CURDIR)/tests/golden"' -o $@ $< $(O)/libtachbpf.a -lcmocka $(LIBS)

# --- fuzz: mutations of known files through the parsers, without libFuzzer -----------------
# A target's seeds: FUZZ_SEEDS_<target>. FUZZ_RUNS mutations take about 10 s.
FUZZ_RUNS ?= 40000
FUZZ_SEEDS_fuzz_tach_reader = tests/golden/tach/*.bin

$(O)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -o $@ $< tests/fuzz/driver.c $(O)/libtachbpf.a $(LIBS)

.PHONY: fuzz
ifeq ($(SAN),1)
fuzz: $(FUZZ_BIN)
	@set -e; $(foreach b,$(FUZZ_BIN),$(b) -runs=$(FUZZ_RUNS) $(FUZZ_SEEDS_$(notdir $(b)));)
else
fuzz: ## mutated files through the parsers, under ASan and UBSan
	$(MAKE) SAN=1 O=$(O) fuzz
endif
# --------------------------------------------------------------------------------------------

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove what was built
	rm -rf $(O)

-include $(LIB_OBJ:.o=.d) $(O)/user/main.d $(BPF_OBJ:.o=.d) $(UNIT_BIN:=.d)
