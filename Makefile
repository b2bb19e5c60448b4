# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tachbpf. `make help` lists the targets.

ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error tachbpf needs at least make 4.3 (here: $(MAKE_VERSION)))
endif

VERSION := 0.1.0
O       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
# clang compiles the BPF programs, so it is there anyway; gcc is used where it is installed.
OWN_CC := $(if $(shell command -v gcc),gcc,clang)
CC      = $(if $(CROSS_$(ARCH)),$(CROSS_$(ARCH))gcc,$(OWN_CC))
AR      = $(CROSS_$(ARCH))ar
OBJCOPY = $(CROSS_$(ARCH))objcopy
CLANG   ?= clang
BPFTOOL ?= $(shell sh tools/bpftool.sh || echo bpftool)

# How libraries are linked: auto (statically where that is possible), dynamic, or static: all of
# them and the C library.
LINK ?= auto

# AGENT=0 builds without tachbpf-agent, and without the libraries that only it needs.
override AGENT := $(or $(AGENT),1)

# NATIVE=0 builds without tachbpf-elf, which reads ELF files for --native, and without the libraries
# that only it needs.
override NATIVE := $(or $(NATIVE),1)

# x86 or arm64, as the kernel's BPF headers call them; another than this machine's is
# cross-compiled into a directory of its own, with libraries from SYSROOT.
OWN_ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ARCH     ?= $(OWN_ARCH)
# Debian's development packages of the other machine type: fetched once, unpacked, not installed.
CROSS_PACKAGES := libc6-dev libbpf-dev libelf-dev zlib1g-dev libzstd-dev \
                  libxxhash-dev libseccomp-dev libcmocka-dev \
                  $(if $(filter 0,$(NATIVE)),,libdw-dev libiberty-dev liblzma-dev) \
                  $(if $(filter 0,$(AGENT)),,libcurl4-openssl-dev libyaml-dev libmicrohttpd-dev \
                    $(if $(filter static,$(LINK)),libssl-dev libnghttp2-dev))
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
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-format-truncation
endif

ifeq ($(LINK),static)
override O  := $(O)/static
STATICFLAGS := -DTACHBPF_STATIC
# Without static archives of elfutils there is no tachbpf-elf, and --native says so.
override NATIVE := $(if $(filter 0,$(NATIVE)),0,$(shell sh tools/static_elf.sh $(CC) $(SYSROOT_FLAG)))
STATIC_AGENT := $(if $(filter 0,$(AGENT)),,$(O)/agent-libs/lib/libcurl.a)
endif

# This system's libbpf if it is new enough, else one of our own, made from source (tools/libbpf.sh).
LIBBPF ?= $(if $(shell sh tools/libbpf_version.sh /usr/include/bpf/libbpf_version.h || echo old),vendor/libbpf)
ifneq ($(LIBBPF),)
LIBBPF_INCLUDE := -I$(O)/libbpf/usr/include -I$(LIBBPF)/include/uapi
LIBBPF_LINK    := -L$(O)/libbpf/usr/lib
LIBBPF_BUILT   := $(O)/libbpf/usr/lib/libbpf.a
endif

# A source tarball (make dist) brings what clang and bpftool would make.
GENERATED ?= $(wildcard generated)

# Sanitized code is compiled quickly; -O1 warns of lengths that -O2 knows to be right.
CFLAGS  ?= $(if $(SANFLAGS),-O1 -g1,-O2 -g)
# A package is also built by compilers that were not there when the release was made.
WERROR  ?= $(if $(wildcard generated)$(filter clang%,$(CC)),,-Werror)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
           $(if $(filter clang%,$(CC)),-Wno-missing-field-initializers -Wno-unknown-attributes) $(WERROR)
ALLFLAGS = $(SYSROOT_FLAG) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(SANFLAGS) $(STATICFLAGS) $(NO_PATHS) -D_GNU_SOURCE \
           -DTACHBPF_VERSION='"$(VERSION)"' -I. -Iuser -I$(O) $(if $(STATIC_AGENT),-I$(O)/agent-libs/include) $(LIBBPF_INCLUDE) -MMD -MP
# The same bytes wherever the tree is.
NO_PATHS := -ffile-prefix-map=$(CURDIR)=.
LIBS     = $(LDFLAGS) $(LIBBPF_LINK) $(file <$(O)/libs)
BPFFLAGS := -target bpf $(NO_PATHS) -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall $(WERROR) -Ivmlinux/$(ARCH) -Ibpf -I. $(LIBBPF_INCLUDE) -MMD -MP

# What is the agent's: $(call without_agent,FILES) leaves it out if there is none.
AGENT_ROOMS := delivery config agent
AGENT_FILES := $(foreach r,$(AGENT_ROOMS),user/$r/% tests/unit/$r/%) tests/fuzz/fuzz_agent_% tests/fuzz/fuzz_sender.c
without_agent = $(filter-out $(if $(filter 0,$(AGENT)),$(AGENT_FILES)),$(1))
# What is tachbpf-elf's alone: it starts by elf_start.c, and elf_wire.c needs no library.
ELF_FILES := $(filter-out %/elf_start.c %/elf_wire.c,$(wildcard user/elf_helper/*.c)) tests/unit/elf_helper/% \
             tests/fuzz/fuzz_elf_% tests/fuzz/fuzz_perf_map.c \
             tests/unit/elf/test_unwind_truth.c tests/unit/native/test_native_live.c
without_native = $(filter-out $(if $(filter 0,$(NATIVE)),$(ELF_FILES)),$(call without_agent,$(1)))
LIB_SRC := $(call without_native,$(wildcard user/*/*.c user/*/*/*.c))
ELF_PROGRAM := $(if $(filter 0,$(NATIVE)),,$(O)/tachbpf-elf)
PROGRAMS := $(O)/tachbpf $(if $(filter 0,$(AGENT)),,$(O)/tachbpf-agent) $(ELF_PROGRAM)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
# One object, see bpf/tachbpf.bpf.c; and a part of it, see bpf/scan.bpf.c.
BPF_OBJECTS := tachbpf scan
BPF_OBJ := $(BPF_OBJECTS:%=$(O)/bpf/%.bpf.o)
BPF_SKEL := $(BPF_OBJECTS:%=$(O)/%.skel.h)
BPF_SRC := $(filter-out $(BPF_OBJECTS:%=bpf/%.bpf.c),$(wildcard bpf/*.bpf.c))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help clean

all: $(PROGRAMS) ## build build/tachbpf (the default; NATIVE=0: without what --native needs); ARCH=arm64: cross-build build/arm64/tachbpf

# What only the agent links. A static one has a libcurl and a libmicrohttpd of its own.
AGENT_LIBS := -lcurl -lyaml -lmicrohttpd
ifneq ($(STATIC_AGENT),)
AGENT_LIBS := -L$(O)/agent-libs/lib $(AGENT_LIBS) -lnghttp2 -lssl -lcrypto

$(STATIC_AGENT): tools/agent_libs.sh $(if $(SYSROOT_FLAG),| $(SYSROOT)/usr/include)
	$(E) LIBS $(@D)
	$(Q)sh tools/agent_libs.sh $(O)/agent-libs $(CC) $(SYSROOT_FLAG)
	$(Q)touch $@
endif

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

$(LIB_OBJ) $(BPF_OBJ) $(O)/user/main.o $(O)/user/agent_main.o $(O)/user/elf_main.o: | $(VERSIONS) $(STATIC_AGENT)

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

# Newer when the list has changed: a file was removed, or AGENT, NATIVE are others.
$(O)/objects: FORCE
	@mkdir -p $(@D)
	@echo '$(LIB_OBJ)' | cmp -s - $@ || echo '$(LIB_OBJ)' >$@

$(O)/libtachbpf.a: $(LIB_OBJ) $(O)/objects | $(O)/libs
	$(Q)rm -f $@; $(AR) rcs $@ $(filter %.o,$^)

ifdef SYSROOT_FLAG
$(LIB_OBJ) $(O)/user/main.o $(O)/user/agent_main.o $(O)/user/elf_main.o $(O)/syscall_names.inc: | $(SYSROOT)/usr/include

# To be there before make looks at what can be linked statically (NATIVE).
.PHONY: sysroot
sysroot: $(SYSROOT)/usr/include

$(SYSROOT)/usr/include:
	sh tools/sysroot.sh $(DEBIAN_$(ARCH)) host $(SYSROOT) $(CROSS_PACKAGES)
endif

# The skeleton is generated: whatever includes it must wait for it. That is the capture room,
# and the doctor's trial.
$(filter $(O)/user/capture/%,$(LIB_OBJ)) $(O)/user/doctor/doctor_trial.o: $(BPF_SKEL)

# Numbers of system calls, but for two that stand for how many there are.
$(O)/syscall_names.inc:
	@mkdir -p $(@D)
	$(E) GEN $@
	$(Q)echo '#include <asm/unistd.h>' | $(CC) $(SYSROOT_FLAG) -E -dM - | \
		sed -n 's/^#define \(__NR_\([a-z][a-z0-9_]*\)\) .*/[\1] = "\2",/p' | \
		grep -v -e __NR_syscalls -e __NR_arch_specific_syscall | sort >$@.new
	$(Q)mv $@.new $@

$(O)/user/host/syscall_name.o: $(O)/syscall_names.inc

# CCACHE=ccache: what was compiled before is not compiled again; tests/check.py does so.
$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(E) CC $<
	$(Q)$(CCACHE) $(CC) $(ALLFLAGS) -c -o $@ $<

ifneq ($(GENERATED),)
$(BPF_SKEL): $(O)/%.skel.h: $(GENERATED)/$(ARCH)/%.skel.h
	$(Q)install -D -m 644 $< $@
else
$(O)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(E) CLANG $<
	$(Q)$(CCACHE) $(CLANG) $(BPFFLAGS) -c -o $@ $<

$(BPF_OBJECTS:%=$(O)/%.bpf.o): $(O)/%.bpf.o: $(O)/bpf/%.bpf.o
	$(E) GEN $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(BPF_SKEL): $(O)/%.skel.h: $(O)/%.bpf.o
	$(E) GEN $@
	$(Q){ echo '#include "bpf/abi.h"'; $(BPFTOOL) gen skeleton $< name $*_bpf; } > $@
endif

# The kernel's walk, for user space: of threads that sleep and are read from outside.
$(O)/user/capture/offcpu_scan_walk.o: ALLFLAGS := -D__TARGET_ARCH_$(ARCH) -Ibpf/host $(ALLFLAGS) -Ibpf -fno-strict-aliasing \
                                     -Wno-unknown-pragmas $(if $(SANFLAGS),-fno-sanitize=alignment)

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

# The script without indentation, comments of whole lines and empty lines: each picture has it.
$(O)/user/formats/svg/svg_script.text: user/formats/svg/svg_script.js
	@mkdir -p $(@D)
	$(E) GEN $@
	$(Q)sed -e 's/^\t*//' -e '/SPDX/b' -e '/^\/\*.*\*\/$$/d' -e '/^$$/d' $< >$@

$(O)/user/formats/svg/svg_script.o: user/formats/svg/svg_script.S $(O)/user/formats/svg/svg_script.text
	$(E) AS $<
	$(Q)$(CC) -c -Wa,-I$(O) -o $@ $<

$(O)/user/formats/parquet/parquet_script.o: user/formats/parquet/parquet_script.S user/formats/parquet/parquet_script.py
	@mkdir -p $(@D)
	$(E) AS $<
	$(Q)$(CC) -c -o $@ $<

$(O)/libtachbpf.a: $(O)/user/formats/html/html_pages.o $(O)/user/formats/svg/svg_script.o $(O)/user/formats/parquet/parquet_script.o
# --------------------------------------------------------------------------------------------

# --- what people type ------------------------------------------------------------------------
.PHONY: vendor
vendor: ## put the source of a libbpf that is new enough into vendor/, for systems whose own is not
	sh tools/libbpf.sh vendor/libbpf

.PHONY: deps demo
deps: ## install what the build needs (Debian, Ubuntu; root)
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh build
ifdef SYSROOT_FLAG
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh cross
endif

demo: ## install what is missing, build, profile a small program for 5 seconds, say what that showed (root)
	@MAKE="$(MAKE)" sh tools/demo.sh $(O)

include tests/tests.mk tests/fuzz/fuzz.mk tests/bench/bench.mk packaging/install.mk packaging/packages.mk

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove what was built
	rm -rf $(O)

-include $(LIB_OBJ:.o=.d) $(O)/user/main.d $(O)/user/agent_main.d $(O)/user/elf_main.d $(BPF_OBJ:.o=.d)
