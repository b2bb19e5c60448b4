# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Fuzzing. make fuzz: mutations of known files through the parsers; make fuzz-long: libFuzzer.

FUZZ_SRC := $(call without_native,$(wildcard tests/fuzz/fuzz_*.c))
# What needs the libraries of tachbpf-elf is in a program of its own.
FUZZ_ELF := $(filter tests/fuzz/fuzz_elf_% tests/fuzz/fuzz_perf_map.c,$(FUZZ_SRC))
FUZZ_PROGRAMS := $(O)/tests/fuzz/targets $(if $(FUZZ_ELF),$(O)/tests/fuzz/elf_targets)
# 1,000 mutations take about 0.2 s.
FUZZ_RUNS ?= 10000

# A target's seeds are in tests/golden/TARGET, except for
FUZZ_SEEDS_fuzz_tach_reader     := tests/golden/tach/*.bin tests/golden/native/*.bin
FUZZ_SEEDS_fuzz_gil             := tests/golden/tach/*.bin
FUZZ_SEEDS_fuzz_collapsed       := tests/golden/collapsed/*.folded tests/golden/native/*.folded
FUZZ_SEEDS_fuzz_speedscope      := tests/golden/speedscope/*.json
FUZZ_SEEDS_fuzz_gperftools      := tests/golden/gperftools/*.prof
FUZZ_SEEDS_fuzz_pprof_read      := tests/golden/pprof/*.pb tests/golden/pprof/*.gz
FUZZ_SEEDS_fuzz_otlp_read       := tests/golden/otlp/*.otlp tests/golden/otlp/*.gz tests/golden/fuzz_otlp_split/*.bin \
	tests/golden/pprof/*.pb
FUZZ_SEEDS_fuzz_mlyze           := tests/golden/mlyze/*.mlyze
FUZZ_SEEDS_fuzz_asyncio_section := tests/golden/asyncio_*.bin
FUZZ_SEEDS_fuzz_sdt             := $(O)/tests/fuzz/sdt_seed.so
FUZZ_SEEDS_fuzz_unwind_build    := $(O)/tests/fuzz/unwind_seed.so
FUZZ_SEEDS_fuzz_elf_methods     := $(O)/tests/fuzz/methods_seed.so
FUZZ_SEEDS_fuzz_elf_parts       := $(O)/tests/fuzz/parts_seed.so
fuzz_seeds = $(or $(FUZZ_SEEDS_$(1)),tests/golden/$(1)/*)

$(O)/tests/fuzz/unwind_seed.so: tests/fuzz/unwind_seed.S
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYSROOT_FLAG) -shared -nostdlib -Wl,-z,noseparate-code -o $@ $<

$(O)/tests/fuzz/methods_seed.so: tests/fuzz/methods_seed.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYSROOT_FLAG) -O1 -fPIC -shared -nostdlib -s -Wl,-z,noseparate-code -o $@ $<

$(O)/tests/fuzz/parts_seed.so: tests/fuzz/parts_seed.c tests/unit/elf_helper/made_parts.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYSROOT_FLAG) -I. -fPIC -shared -nostdlib -Wl,-z,noseparate-code -o $@ $<

$(O)/tests/fuzz/sdt_seed.so: tests/e2e/targets/libprobed.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SYSROOT_FLAG) -O2 -fPIC -shared -nostdlib -Wl,-z,noseparate-code -o $@ $<

# One program for all targets: each one's entry gets the name of its file.
$(O)/tests/fuzz/fuzz_%.o: tests/fuzz/fuzz_%.c
	$(call compile_test,$(ALLFLAGS),--redefine-sym LLVMFuzzerTestOneInput=fuzz_$*)

# It runs bpf/, too, as tests/hostbpf does.
$(O)/tests/fuzz/fuzz_native_walk.o: tests/fuzz/fuzz_native_walk.c
	$(call compile_test,$(HOSTBPF_FLAGS),--redefine-sym LLVMFuzzerTestOneInput=fuzz_native_walk)

define fuzz_program
$(O)/tests/fuzz/$(1): $(2:%.c=$(O)/%.o) $(O)/tests/fuzz/$(1).driver.o
$(O)/tests/fuzz/$(1).driver.o: ALLFLAGS += -D'TARGETS(X)=$(patsubst %,X(%),$(basename $(notdir $(2))))'
$(O)/tests/fuzz/$(1).driver.o: tests/fuzz/driver.c tests/fuzz
	@mkdir -p $$(@D)
	$(Q)$(CCACHE) $(CC) $$(ALLFLAGS) -c -o $$@ $$<
endef
$(eval $(call fuzz_program,targets,$(filter-out $(FUZZ_ELF),$(FUZZ_SRC))))
$(eval $(call fuzz_program,elf_targets,$(FUZZ_ELF)))

$(O)/tests/fuzz/targets: $(HOSTBPF_OBJ)
$(O)/tests/fuzz/targets: LIBS += -lcmocka $(if $(filter 0,$(AGENT)),,$(AGENT_LIBS))
$(O)/tests/fuzz/elf_targets: LIBS = $(LDFLAGS) $(ELF_LIBS)
$(FUZZ_PROGRAMS): $(O)/libtachbpf.a
	$(E) LINK $@
	$(Q)$(CC) $(SYSROOT_FLAG) $(CFLAGS) $(SANFLAGS) -o $@ $(filter %.o,$^) $(O)/libtachbpf.a $(LIBS)

.PHONY: fuzz
ifeq ($(SAN),1)
fuzz: $(FUZZ_PROGRAMS) $(patsubst %,$(O)/tests/fuzz/%_seed.so,methods parts sdt unwind)
	$(FORGET)
	@$(REPORTS) $(PYTHON) tests/programs.py $(or $(TACHBPF_TIER),fuzz) -v \
		$(foreach s,$(FUZZ_SRC),"$(O)/tests/fuzz/$(if $(filter $s,$(FUZZ_ELF)),elf_)targets $(basename $(notdir $s)) \
			-runs=$(FUZZ_RUNS) $(call fuzz_seeds,$(basename $(notdir $s)))")
else
fuzz: ## mutated files through the parsers, under ASan and UBSan (FUZZ_RUNS=10000)
	$(MAKE) SAN=1 O=$(O) fuzz
endif

# clang's libFuzzer. UBSan's pointer-overflow check is off: it finds zero added to NULL.
FUZZ_SECONDS ?= 3600
FUZZ_LONG ?= fuzz_tach_reader fuzz_recover fuzz_collapsed fuzz_speedscope fuzz_gperftools fuzz_mlyze fuzz_pprof_read fuzz_otlp_read
fuzz_san := -fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined
fuzz_cov := -fprofile-instr-generate -fcoverage-mapping

.PHONY: fuzz-long
fuzz-long: ## libFuzzer on every reader of files, side by side: FUZZ_SECONDS=3600, FUZZ_LONG=targets; DOCS=1: record
	$(MAKE) CC=$(CLANG) O=$(O)/libfuzzer/fuzzer SANFLAGS="-fsanitize=fuzzer-no-link $(fuzz_san)" \
		$(FUZZ_LONG:%=$(O)/libfuzzer/fuzzer/libfuzzer/%)
	$(MAKE) CC=$(CLANG) O=$(O)/libfuzzer/covered SANFLAGS="-fsanitize=fuzzer-no-link $(fuzz_cov)" \
		$(FUZZ_LONG:%=$(O)/libfuzzer/covered/libfuzzer/%)
	DOCS=$(DOCS) CLANG=$(CLANG) sh tests/fuzz/long.sh $(O)/libfuzzer $(FUZZ_SECONDS) tests/golden $(FUZZ_LONG)

$(O)/libfuzzer/fuzz_agent_%: LIBS += $(AGENT_LIBS)
$(FUZZ_ELF:tests/fuzz/%.c=$(O)/libfuzzer/%): LIBS = $(LDFLAGS) $(ELF_LIBS)
$(O)/libfuzzer/%: tests/fuzz/%.c $(wildcard tests/fuzz/*.h) $(O)/libtachbpf.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -fsanitize=fuzzer -o $@ $< $(O)/libtachbpf.a $(LIBS)

-include $(FUZZ_SRC:%.c=$(O)/%.d)
