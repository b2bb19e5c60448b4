// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * skeleton.c - see skeleton.h. libbpf reads the kernel's types from a file in memory, which has only
 * those that the programs name (kernel_types.h). The BPF side tries a base of the direct map; this
 * says which ones, and what is there.
 */
#include "capture/skeleton.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/kernel_types.h"
#include "tachbpf.skel.h"

/* Our page table is at most this many GiB from the beginning of memory. A try takes some 2 us. */
#define GIB_MAX 4096

/* ---- the kernel's types ---- */

/* The file for the skeleton that is open and not loaded yet; -1: libbpf reads all types. */
static int types_fd = -1;

static void forget_types(void)
{
	if (types_fd >= 0)
		close(types_fd);
	types_fd = -1;
}

/* Writes the types that the programs name to the file. Returns 0 or -errno. */
static int write_types(const struct btf *programs, int fd)
{
	struct buf types = { 0 };
	int err = kernel_types_pick_running(programs, &types);

	if (!err)
		err = write_all(fd, types.data, types.len);
	buf_free(&types);
	return err;
}

static struct tachbpf_bpf *open_with(int fd)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return tachbpf_bpf__open_opts(fd < 0 ? NULL : &opts);
}

struct tachbpf_bpf *skeleton_open(void)
{
	struct tachbpf_bpf *skel;
	int err;

	forget_types();
	types_fd = memfd_create("tachbpf-types", MFD_CLOEXEC);
	skel = open_with(types_fd);
	/* It has to be there at the load; what it must have is known only now. */
	err = skel && types_fd >= 0 ? write_types(bpf_object__btf(skel->obj), types_fd) : 0;
	if (err) {
		log_debug("all types of the kernel are searched: %s", strerror(-err));
		tachbpf_bpf__destroy(skel);
		forget_types();
		skel = open_with(-1);
	}
	if (skel)	/* it runs once, and is unloaded */
		bpf_program__set_autoattach(skel->progs.find_direct_map, false);
	return skel;
}

int skeleton_load(struct tachbpf_bpf *skel)
{
	int err = tachbpf_bpf__load(skel);

	forget_types();
	return err;
}

/* ---- a scan ---- */

void skeleton_keep_scan(struct tachbpf_bpf *skel)
{
	struct bpf_map *const hashes[] = {
		skel->maps.py_procs, skel->maps.watched, skel->maps.known_exes,
		skel->maps.other_exes, skel->maps.marks,
	};
	struct bpf_map *const others[] = {
		skel->maps.wait_slots, skel->maps.losses, skel->maps.events, skel->maps.counters,
		skel->maps.rodata, skel->maps.rodata_filter, skel->maps.bss,
	};
	struct bpf_program *prog;
	struct bpf_map *map;
	size_t i;

	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == skel->progs.on_task);
	bpf_object__for_each_map(map, skel->obj)
		bpf_map__set_autocreate(map, false);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		bpf_map__set_autocreate(others[i], true);
	for (i = 0; i < ARRAY_SIZE(hashes); i++) {
		bpf_map__set_autocreate(hashes[i], true);
		bpf_map__set_map_flags(hashes[i],
				       bpf_map__map_flags(hashes[i]) | BPF_F_NO_PREALLOC);
	}
}

/* ---- the direct map ---- */

/* Returns find_direct_map()'s answer; negative also if it cannot run. */
static int try_base(int prog, const struct direct_trial *trial)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = trial, .ctx_size_in = sizeof(*trial));

	return bpf_prog_test_run_opts(prog, &opts) ? -1 : (int)opts.retval;
}

/* Searches with this bit of encryption, from the highest base on. */
static bool search_bases(int prog, struct direct_trial trial)
{
	int found = 0;

	for (; !found && trial.below < GIB_MAX; trial.below++)
		found = try_base(prog, &trial);
	return found > 0;
}

bool direct_map_find(struct tachbpf_bpf *skel)
{
	/* AMD's processors have one of these bits, if any: CPUID Fn8000_001F. */
	static const uint64_t encrypted[] = { 0, 1ull << 51, 1ull << 47 };
	int prog = bpf_program__fd(skel->progs.find_direct_map);
	uint64_t *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool found = false;
	size_t i;

	if (word == MAP_FAILED)
		return false;
	if (getrandom(word, sizeof(*word), GRND_NONBLOCK) != sizeof(*word))
		*word = now_ns();
	for (i = 0; !found && i < sizeof(encrypted) / sizeof(*encrypted); i++)
		found = search_bases(prog, (struct direct_trial){
			.addr = (uintptr_t)word, .word = *word, .encrypted = encrypted[i] });
	munmap(word, sizeof(*word));
	bpf_program__unload(skel->progs.find_direct_map);	/* it is a descriptor */
	return found;
}
