// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_native.c - see capture_native.h. */
#include "capture/capture_native.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi_native.h"
#include "capture/capture_state.h"
#include "elf_helper/elf_start.h"
#include "host/memory_limit.h"
#include "native/native.h"
#include "tachbpf.skel.h"

/* Of native memory; less where the cgroup's limit leaves less. */
#define MEMORY_BYTES (128ull << 20)
/*
 * So long the first sample waits for tables, which are read from disk in some 20 ms. To build them
 * for the first time takes 10 ms a library, and 0.3 s for the largest.
 */
#define PREPARE_MS 1000

/* Is there an executable that reads the files? 0, or -errno after logging. */
static int look_for_helper(void)
{
	char path[PATH_MAX];
	int err = elf_helper_find(path, sizeof(path));

	if (err)
		log_error("--native needs the executable " ELF_HELPER_NAME ": %s. Install the "
			  "whole package (`tachbpf doctor` says more), or leave --native out",
			  err == -ENOENT ? "it is not there" :
			  err == -EPERM ? "others than root can change it" : strerror(-err));
	return err;
}

int capture_native_configure(struct capture *s)
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

/* The kernel charges the BPF side's memory to our cgroup: half of what is left there at most. */
static size_t memory_bytes(void)
{
	struct memory_limit l;

	return memory_limit_find(&l) && l.left / 2 < MEMORY_BYTES ? l.left / 2 : MEMORY_BYTES;
}

int capture_native_start(struct capture *s)
{
	struct native_args args = {
		.memory_bytes = memory_bytes(),
		.cache = CAPTURE_NATIVE_TABLES,
		.lines = s->args.native_lines,
	};

	if (!s->args.native)
		return 0;
	s->native_maps = (struct map_set){
		.memory = bpf_map__fd(s->skel->maps.native_memory),
		.tables = bpf_map__fd(s->skel->maps.unwind_tables),
		.places = bpf_map__fd(s->skel->maps.native_places),
		.life = &s->life,
	};
	args.maps = native_maps_of(&s->native_maps);
	s->life.machine.native = native_new(&args);
	return s->life.machine.native ? 0 : -errno;
}

void capture_native_free(struct capture *s)
{
	native_free(s->life.machine.native);
	s->life.machine.native = NULL;
	native_maps_close(&s->native_maps);
}

void capture_native_prepare(struct capture *s)
{
	if (s->life.machine.native)
		native_prepare(s->life.machine.native, PREPARE_MS);
}

void capture_native_poll(struct capture *s)
{
	if (s->life.machine.native)
		native_poll(s->life.machine.native);
}

void capture_native_counts(const struct capture *s, struct native_counts *out)
{
	*out = (struct native_counts){ .files = 0 };
	if (s->life.machine.native)
		native_counts(s->life.machine.native, out);
}
