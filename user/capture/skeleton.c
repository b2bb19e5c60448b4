// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * skeleton.c - see skeleton.h. libbpf reads the kernel's types from a file in memory, which has
 * only those that the programs name (kernel_types.h). The BPF side tries a base of the direct map;
 * this says which ones, and what is there.
 */
#include "capture/skeleton.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/kernel_types.h"
#include "scan.skel.h"
#include "tachbpf.skel.h"

/* Our page table is at most this many GiB from the beginning of memory. A try takes some 2 us. */
#define GIB_MAX 4096

/* ---- the kernel's types ---- */

/* The file for the skeleton that is open and not loaded yet; -1: libbpf reads all types. */
static int types_fd = -1;
static uint32_t task_iterator;	/* as in kernel_types.h */

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
	int err = kernel_types_pick_running(programs, &types, &task_iterator);

	if (!err)
		err = write_all(fd, types.data, types.len);
	buf_free(&types);
	return err;
}

typedef struct tachbpf_bpf *(*open_fn)(const struct bpf_object_open_opts *opts);

/* Opens an object that has a file of types. Returns NULL with errno on failure. */
static struct tachbpf_bpf *open_with_types(open_fn open)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	struct tachbpf_bpf *skel;
	int err;

	forget_types();
	types_fd = memfd_create("tachbpf-types", MFD_CLOEXEC);
	if (types_fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	skel = open(&opts);
	/* The file is read at the load; what it must have is known only now. */
	err = skel ? write_types(bpf_object__btf(skel->obj), types_fd) : -errno;
	if (!err)
		return skel;
	log_debug("all types of the kernel are searched: %s", strerror(-err));
	tachbpf_bpf__destroy(skel);
	forget_types();
	errno = -err;
	return NULL;
}

struct tachbpf_bpf *skeleton_open(void)
{
	struct tachbpf_bpf *skel = open_with_types(tachbpf_bpf__open_opts);

	if (!skel)
		skel = tachbpf_bpf__open();
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

/* Both objects are from the same files, so their settings are at the same places. */
#define SAME_PLACE(section, member) \
	_Static_assert(offsetof(struct tachbpf_bpf__##section, member) == \
		       offsetof(struct scan_bpf__##section, member), "the same settings")
SAME_PLACE(rodata, cfg_wait_slots);
SAME_PLACE(rodata_filter, cfg_filter);
SAME_PLACE(bss, ended_procs);

/*
 * A libbpf_prog_prepare_load_fn_t. libbpf reads all types of the kernel for a program whose type
 * is known to be this one, to find the id that is known already.
 */
static int become_iterator(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	opts->expected_attach_type = BPF_TRACE_ITER;
	opts->attach_btf_id = task_iterator;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/* The handler of the section of scan.bpf.c. Returns 0 or -errno. */
static int handle_section(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = become_iterator);
	static int handler;

	if (handler <= 0)
		handler = libbpf_register_prog_handler("scan", BPF_PROG_TYPE_SOCKET_FILTER, 0,
						       &opts);
	return handler < 0 ? handler : 0;
}

/* Names of sections have the object's name before them. */
static bool same_name(const char *a, const char *b)
{
	const char *dot_a = strchr(a, '.'), *dot_b = strchr(b, '.');

	return !strcmp(dot_a ? dot_a : a, dot_b ? dot_b : b);
}

/*
 * Keeps those of cnt elements of a table whose name is also in another table of the same kind, the
 * name being an element's first member. Returns how many these are.
 */
static int keep_common(void *table, int cnt, const void *other, int other_cnt, int bytes)
{
	char *at = table;
	int i, k, kept = 0;

	for (i = 0; i < cnt; i++) {
		for (k = 0; k < other_cnt; k++)
			if (same_name(*(const char **)(at + i * bytes),
				      *(const char *const *)((const char *)other + k * bytes)))
				break;
		if (k < other_cnt)
			memmove(at + kept++ * bytes, at + i * bytes, (size_t)bytes);
	}
	return kept;
}

/* Has the skeleton describe the other object. */
static void describe(struct bpf_object_skeleton *s, const struct bpf_object_skeleton *scan)
{
	s->data = scan->data;
	s->data_sz = scan->data_sz;
	s->map_cnt = keep_common(s->maps, s->map_cnt, scan->maps, scan->map_cnt, s->map_skel_sz);
	s->prog_cnt = keep_common(s->progs, s->prog_cnt, scan->progs, scan->prog_cnt,
				  s->prog_skel_sz);
}

/* An open_fn. */
static struct tachbpf_bpf *open_scan(const struct bpf_object_open_opts *opts)
{
	struct tachbpf_bpf *skel = calloc(1, sizeof(*skel));
	struct scan_bpf scan = { 0 };
	int err = skel ? tachbpf_bpf__create_skeleton(skel) : -ENOMEM;

	if (!err)
		err = scan_bpf__create_skeleton(&scan);
	if (!err) {
		describe(skel->skeleton, scan.skeleton);
		err = bpf_object__open_skeleton(skel->skeleton, opts);
		bpf_object__destroy_skeleton(scan.skeleton);
	}
	if (!err)
		return skel;
	tachbpf_bpf__destroy(skel);
	errno = -err;
	return NULL;
}

struct tachbpf_bpf *skeleton_open_scan(void)
{
	struct tachbpf_bpf *skel = handle_section() ? NULL : open_with_types(open_scan);

	if (skel && task_iterator)
		return skel;
	tachbpf_bpf__destroy(skel);
	return skeleton_open();
}

void skeleton_keep_scan(struct tachbpf_bpf *skel)
{
	struct bpf_map *const hashes[] = {
		skel->maps.py_procs, skel->maps.watched, skel->maps.known_exes,
		skel->maps.other_exes, skel->maps.marks,
	};
	struct bpf_map *const others[] = {
		skel->maps.wait_slots, skel->maps.events, skel->maps.counters, skel->maps.rodata,
		skel->maps.rodata_filter, skel->maps.bss,
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
