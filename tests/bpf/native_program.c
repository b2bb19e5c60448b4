// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_program.c - the BPF side's walk of machine code, without the rooms that make its tables.
 *
 * native_program PID TLS_OFF START END BIAS TABLE WALKS: the process has one mapping with code;
 * the file TABLE has its rows (struct unwind_row), sorted. All its threads are without Python:
 * the word at the thread pointer plus TLS_OFF is 0. Prints each walk on a line: how it ended, its
 * frames' addresses in the file; at last what a tick costs. Ends after so many walks.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/abi_native.h"
#include "tachbpf.skel.h"

#define TABLE_CHUNK 8u
#define SHIFT 8
#define RATE_HZ 997
#define CODES 512	/* NATIVE_CODES */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct tachbpf_bpf *load(void)
{
	struct tachbpf_bpf *skel = tachbpf_bpf__open();

	if (!skel)
		die("open");
	skel->rodata->cfg_native = !getenv("NATIVE_OFF");
	skel->rodata->cfg_native_threads = true;
	skel->rodata->cfg_wakeup_bytes = 1 << 20;
	bpf_map__set_max_entries(skel->maps.native_memory, NATIVE_SLABS);
	bpf_map__set_max_entries(skel->maps.unwind_tables, UNWIND_TABLES);
	bpf_map__set_max_entries(skel->maps.native_places, 1024);
	bpf_map__set_max_entries(skel->maps.native_codes, CODES);
	bpf_map__set_max_entries(skel->maps.losses, (unsigned int)libbpf_num_possible_cpus());
	if (tachbpf_bpf__load(skel))
		die("load");
	return skel;
}

static int slab;	/* the first one */

static void put(unsigned int chunk, const uint8_t *bytes, size_t len)
{
	uint8_t value[NATIVE_CHUNK];
	size_t n;

	for (; len; len -= n, bytes += n, chunk++) {
		n = len < sizeof(value) ? len : sizeof(value);
		memset(value, 0, sizeof(value));
		memcpy(value, bytes, n);
		if (bpf_map_update_elem(slab, &chunk, value, BPF_ANY))
			die("chunk");
	}
}

static void put_table(struct tachbpf_bpf *skel, const char *path)
{
	static struct unwind_row rows[400000];
	static uint32_t index[100000];
	struct unwind_table t = { .chunk = TABLE_CHUNK, .shift = SHIFT, .stamp = 1 };
	uint32_t one = 1, i, k;
	size_t cnt, bytes;
	FILE *f = fopen(path, "rb");

	if (!f)
		die(path);
	cnt = fread(rows, sizeof(rows[0]), 400000, f);
	fclose(f);
	t.row_cnt = (uint32_t)cnt;
	t.bytes = rows[cnt - 1].addr;
	for (i = 0, k = 0; i <= (t.bytes >> SHIFT) + 1; i++) {
		while (k + 1 < cnt && rows[k + 1].addr <= i << SHIFT)
			k++;
		index[i] = k;
	}
	bytes = (cnt * sizeof(rows[0]) + NATIVE_CHUNK - 1) / NATIVE_CHUNK * NATIVE_CHUNK;
	t.index_at = (uint32_t)(bytes / 4);
	put(TABLE_CHUNK, (const uint8_t *)rows, cnt * sizeof(rows[0]));
	put(TABLE_CHUNK + (uint32_t)(bytes / NATIVE_CHUNK), (const uint8_t *)index, 4ul * i);
	if (bpf_map__update_elem(skel->maps.unwind_tables, &one, sizeof(one), &t, sizeof(t), 0))
		die("table");
}

/* A process whose threads have no state: see the comment at the top. */
static void put_process(struct tachbpf_bpf *skel, uint32_t tgid, char **args)
{
	struct native_mapping m = { strtoull(args[1], NULL, 0), strtoull(args[2], NULL, 0),
				    strtoull(args[3], NULL, 0), 1, 1 };
	struct native_place place = { .chunk = 0, .cnt = 1, .stamp = 1 };
	struct py_proc p = { .ident = 1, .state = PY_PROC_PYTHON, .tstate_how = PY_TSTATE_TLS_TP,
			     .tls_off = strtoll(args[0], NULL, 0) };

	put(0, (const uint8_t *)&m, sizeof(m));
	if (bpf_map__update_elem(skel->maps.native_places, &tgid, sizeof(tgid), &place,
				 sizeof(place), 0) ||
	    bpf_map__update_elem(skel->maps.py_procs, &tgid, sizeof(tgid), &p, sizeof(p), 0))
		die("process");
}

static void attach(struct tachbpf_bpf *skel, int pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1, .sample_freq = RATE_HZ,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);

	if (fd < 0 || !bpf_program__attach_perf_event(skel->progs.on_cpu_tick, fd))
		die("attach");
}

static long walks;

static int take(void *ctx, void *data, size_t len)
{
	const struct raw_native *r = data;
	int i;

	if (r->h.kind != RAW_NATIVE)
		return 0;
	walks--;
	printf("walk %u", r->end);
	for (i = 0; i < r->nframes; i++)
		printf(" %llx", (unsigned long long)r->slots[r->nentries + i].addr);
	puts("");
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_prog_info info = {};
	struct ring_buffer *ring;
	/* As the BPF side has declared it: the kernel compares them. */
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct tachbpf_bpf *skel;
	uint32_t zero = 0, len = sizeof(info);

	if (argc != 8)
		return 2;
	skel = load();
	slab = bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", 4, NATIVE_CHUNK, NATIVE_SLAB_CHUNKS,
			      &opts);
	if (slab < 0 || bpf_map__update_elem(skel->maps.native_memory, &zero, sizeof(zero), &slab,
					     sizeof(slab), 0))
		die("slab");
	put_table(skel, argv[6]);
	put_process(skel, (uint32_t)atoi(argv[1]), argv + 2);
	ring = ring_buffer__new(bpf_map__fd(skel->maps.events), take, NULL, NULL);
	if (!ring || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		die("ring");
	attach(skel, atoi(argv[1]));
	for (walks = atol(argv[7]); walks > 0;)
		ring_buffer__poll(ring, 100);
	ring_buffer__consume(ring);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.on_cpu_tick), &info, &len))
		die("info");
	printf("cost %llu %llu\n", (unsigned long long)info.run_time_ns,
	       (unsigned long long)info.run_cnt);
	return 0;
}
