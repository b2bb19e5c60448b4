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
	__u64 begin = bpf_ktime_get_ns(), at = s->next[kind];
	int i;

	for (i = 0; i < READS; i++) {
		if (bpf_probe_read_user(&at, sizeof(at), (void *)at)) {
			s->failed++;
			return;
		}
	}
	s->next[kind] = at;
	s->ns[s->runs & (RUNS_MAX - 1)][kind] = bpf_ktime_get_ns() - begin;
}

/*
 * The same with more bytes a read. ahead: before the next object is read, a word of it is, as a
 * prefetch would.
 */
static __always_inline void chase_bytes(struct read_state *s, enum read_kind kind, __u32 bytes,
					bool ahead)
{
	__u64 begin = bpf_ktime_get_ns(), at = s->next[kind], word;
	int i;

	for (i = 0; i < READS; i++) {
		if (bpf_probe_read_user(s->bytes, bytes, (void *)at)) {
			s->failed++;
			return;
		}
		at = *(__u64 *)s->bytes;
		if (ahead)
			bpf_probe_read_user(&word, sizeof(word), (void *)at);
	}
	s->next[kind] = at;
	s->ns[s->runs & (RUNS_MAX - 1)][kind] = bpf_ktime_get_ns() - begin;
}

/*
 * A step: a call, the look-up of a value in a map, eight loads and stores there at places that each
 * result chooses, and what is computed with them. Returns the last result.
 */
__noinline __u64 step(__u64 v)
{
	struct read_state *s;
	__u32 zero = 0, i, at;

	s = bpf_map_lookup_elem(&state, &zero);
	if (!s)
		return 0;
#pragma unroll
	for (i = 0; i < 8; i++) {
		at = v >> 32 & (READ_LARGEST - 8);
		v = (v ^ *(__u64 *)(s->bytes + at) ^ v >> 29) * 0xbf58476d1ce4e5b9ULL;
		*(__u64 *)(s->bytes + at) = v;
	}
	return v;
}

/* Steps instead of reads. */
static __always_inline void take_steps(struct read_state *s)
{
	__u64 begin = bpf_ktime_get_ns(), v = begin;
	int i;

	for (i = 0; i < READS; i++)
		v = step(v);
	s->next[READ_NONE] = v;
	s->ns[s->runs & (RUNS_MAX - 1)][READ_NONE] = bpf_ktime_get_ns() - begin;
}

SEC("perf_event")
int time_reads(void *ctx)
{
	struct read_state *s;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&state, &zero);
	if (!s || s->runs >= RUNS_MAX)
		return 0;
	chase(s, READ_COLD);
	chase(s, READ_WARM);
	chase_bytes(s, READ_WARM_8, 8, false);
	chase_bytes(s, READ_WARM_64, 64, false);
	chase_bytes(s, READ_WARM_128, 128, false);
	chase_bytes(s, READ_WARM_352, 352, false);
	chase_bytes(s, READ_WARM_2048, 2048, false);
	chase_bytes(s, READ_OBJECTS, OBJECT_BYTES, false);
	chase_bytes(s, READ_OBJECTS_WORD, 8, false);
	chase_bytes(s, READ_OBJECTS_AHEAD, OBJECT_BYTES, true);
	take_steps(s);
	s->runs++;
	return 0;
}
