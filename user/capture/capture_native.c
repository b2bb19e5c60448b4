// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_native.c - the part of a capture for --native: sizes of the maps, the helpers that read
 * files, and their answers.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi_native.h"
#include "capture/capture_state.h"
#include "elf_helper/elf_start.h"
#include "host/memory_limit.h"
#include "native/native.h"
#include "resolve/process.h"
#include "tachbpf.skel.h"
#include "target/script.h"

/* The limit of native memory; less if the cgroup's limit leaves less. */
#define MEMORY_BYTES (128ull << 20)
/*
 * How long the first sample waits for tables, which are read from disk in some 20 ms. Building them
 * for the first time takes 10 ms a library, and 0.3 s for the largest.
 */
#define PREPARE_MS 1000
/* Words of a command in which a Python is looked for. */
#define EXPECT_WORDS 64

/* Checks for the executable that reads the files. Returns 0, or -errno after logging. */
static int look_for_helper(void)
{
	char path[PATH_MAX];
	int err = elf_helper_find(path, sizeof(path));

	if (err)
		log_error("--native needs the executable " ELF_HELPER_NAME ": %s. Install the "
			  "whole package (see `tachbpf doctor`), or leave out --native",
			  err == -ENOENT ? "it does not exist" :
			  err == -EPERM ? "users other than root can change it" : strerror(-err));
	return err;
}

/*
 * Without --native the maps stay tiny, except the memory of each CPU: up to Linux 6.7 the verifier
 * also checks functions that are never called, and these use it.
 */
static int native_configure(struct capture *s)
{
	struct tachbpf_bpf *skel = s->skel;

	skel->rodata->cfg_native = s->args.native;
	if (!s->args.native)
		return 0;
	bpf_map__set_max_entries(skel->maps.native_memory, NATIVE_SLABS);
	bpf_map__set_max_entries(skel->maps.unwind_tables, UNWIND_TABLES);
	bpf_map__set_max_entries(skel->maps.native_places,
				 bpf_map__max_entries(skel->maps.py_procs));
	bpf_map__set_max_entries(skel->maps.native_codes, NATIVE_CODES);
	return look_for_helper();
}

/* The kernel charges the BPF side's memory to our cgroup: take at most half of what is left. */
static size_t memory_bytes(void)
{
	struct memory_limit l;

	return memory_limit_find(&l) && l.left / 2 < MEMORY_BYTES ? l.left / 2 : MEMORY_BYTES;
}

static int native_open(struct capture *s)
{
	struct native_args args = {
		.memory_bytes = memory_bytes(),
		.cache = CAPTURE_NATIVE_TABLES,
		.lines = s->args.native_lines,
		.debug_urls = s->args.debug_urls,
		.debug_cache = CAPTURE_DEBUG_FILES,
	};

	if (!s->args.native)
		return 0;
	s->native_maps = (struct map_set){
		.memory = bpf_map__fd(s->skel->maps.native_memory),
		.tables = bpf_map__fd(s->skel->maps.unwind_tables),
		.places = bpf_map__fd(s->skel->maps.native_places),
		.life = &s->life,
	};
	if (args.debug_urls)
		log_info("debug files are requested from %s, which is sent the build IDs of "
			 "libraries without symbols", args.debug_urls);
	args.maps = native_maps_of(&s->native_maps);
	s->life.machine.native = native_new(&args);
	s->life.machine.chosen = !s->args.all;
	return s->life.machine.native ? 0 : -errno;
}

/* A descriptor that is readable when helpers have answered. */
static int native_answers_fd(const struct capture *s)
{
	return s->life.machine.native ? native_fd(s->life.machine.native) : -1;
}

static void native_free_maps(struct capture *s)
{
	native_free(s->life.machine.native);
	s->life.machine.native = NULL;
	native_maps_close(&s->native_maps);
}

/*
 * Expects the program that a word of the command names; of a script, its interpreter. only_python:
 * only if it is a Python. Returns true if it is one.
 */
static bool expect_word(struct native *n, const char *word, bool only_python)
{
	char path[PATH_MAX], program[PATH_MAX], *full;
	bool python;

	if (!script_find_program(word, path, sizeof(path)))
		return false;
	if (!script_runs(path, program))
		strcpy(program, path);
	full = realpath(program, NULL);
	python = full && (script_names_python(program) || script_names_python(full));
	if (full && (python || !only_python))
		native_expect(n, full);
	free(full);
	return python;
}

void capture_expect(struct capture *s, char *const words[])
{
	struct native *n = s->life.machine.native;
	unsigned int i;

	for (i = 0; n && i < EXPECT_WORDS && words[i] && !expect_word(n, words[i], i); i++)
		continue;
}

/* Waits for the tables of the known processes. */
static void native_wait_for_tables(struct capture *s)
{
	if (s->life.machine.native)
		native_prepare(s->life.machine.native, PREPARE_MS);
}

static void native_take_answers(struct capture *s)
{
	if (s->life.machine.native)
		native_poll(s->life.machine.native);
}

static uint64_t native_wait(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	const struct native *n = s->life.machine.native;

	return n ? native_wait_ns(n, now_ns, limit_ns) : limit_ns;
}

static void native_settle_names(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	native_life_catch_up(&s->life.machine);
	while (s->life.machine.native && (t = lifecycle_next_profiled(&s->life, &pos)))
		process_retry_names(t->process);
	native_life_stop(&s->life.machine);
}

const struct source_ops capture_native_source = {
	.configure = native_configure,
	.open = native_open,
	.fd = native_answers_fd,
	.prepare = native_wait_for_tables,
	.poll = native_take_answers,
	.wait_ns = native_wait,
	.settle = native_settle_names,
	.free = native_free_maps,
};
