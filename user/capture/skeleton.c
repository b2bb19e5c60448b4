// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * skeleton.c - see skeleton.h. The BPF side tries a base of the direct map; this says which ones,
 * and what is there.
 */
#include "capture/skeleton.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/util.h"
#include "tachbpf.skel.h"

/* Our page table is at most this many GiB from the beginning of memory. A try takes some 2 us. */
#define GIB_MAX 4096

struct tachbpf_bpf *skeleton_open(void)
{
	struct tachbpf_bpf *skel = tachbpf_bpf__open();

	if (skel)	/* it runs once, and is unloaded */
		bpf_program__set_autoattach(skel->progs.find_direct_map, false);
	return skel;
}

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
