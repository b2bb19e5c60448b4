// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * read_cost.bpf.c - times reads of a process' memory, where samples are taken: at a tick.
 */
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>

#include "tests/bench/read_cost.h"

char _license[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct read_state);
} state SEC(".maps");

/* A chase: each read says where the next one is, so none begins before the one before it ended. */
static __always_inline void chase(struct read_state *s, enum read_kind kind)
{
	__u64 at = s->next[kind];
	int i;

	for (i = 0; i < READS; i++) {
		if (bpf_probe_read_user(&at, sizeof(at), (void *)at)) {
			s->failed++;
			return;
		}
	}
	s->next[kind] = at;
}

SEC("perf_event")
int time_reads(void *ctx)
{
	__u32 zero = 0, run;
	struct read_state *s = bpf_map_lookup_elem(&state, &zero);
	__u64 begin, between;

	if (!s)
		return 0;
	run = s->runs;
	if (run >= RUNS_MAX)
		return 0;
	begin = bpf_ktime_get_ns();
	chase(s, READ_COLD);
	between = bpf_ktime_get_ns();
	chase(s, READ_WARM);
	s->ns[run][READ_WARM] = bpf_ktime_get_ns() - between;
	s->ns[run][READ_COLD] = between - begin;
	s->runs = run + 1;
	return 0;
}
