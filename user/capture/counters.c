// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* counters.c - adds up the rows of per-CPU maps. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_state.h"

int counters_read(struct counters *c, int fd)
{
	int cpus = libbpf_num_possible_cpus(), cpu, i, err = 0;
	uint64_t (*rows)[CNT_MAX];
	uint32_t zero = 0;

	if (cpus < 0)
		return cpus;
	memset(c->sum, 0, sizeof(c->sum));
	c->cpu_cnt = 0;
	rows = calloc(cpus, sizeof(*rows));
	if (!c->cpus)
		c->cpus = calloc(cpus, sizeof(*c->cpus));
	if (!rows || !c->cpus) {
		free(rows);
		return -ENOMEM;
	}
	if (bpf_map_lookup_elem(fd, &zero, rows))
		err = -errno;
	for (cpu = 0; !err && cpu < cpus; cpu++) {
		for (i = 0; i < CNT_MAX; i++)
			c->sum[i] += rows[cpu][i];
		if (rows[cpu][CNT_TICK])
			c->cpus[c->cpu_cnt++] = (struct cpu_ticks){
				.cpu = cpu,
				.delivered = rows[cpu][CNT_TICK],
				.missed = rows[cpu][CNT_MISSED],
			};
	}
	free(rows);
	return err;
}

static void add_times(struct sample_times *sum, const struct sample_times *t)
{
	int i;

	sum->max_ns = t->max_ns > sum->max_ns ? t->max_ns : sum->max_ns;
	sum->sum_ns += t->sum_ns;
	sum->stalls += t->stalls;
	sum->stalled_ns += t->stalled_ns;
	for (i = 0; i < SAMPLE_TIME_CLASSES; i++)
		sum->cnt[i] += t->cnt[i];
}

int counters_read_cost(struct sample_cost *cost, int fd)
{
	int cpus = libbpf_num_possible_cpus(), i, err = 0;
	struct sample_times *rows, sum = { 0 };
	uint32_t zero = 0;
	uint64_t seen = 0;

	memset(cost, 0, sizeof(*cost));
	if (cpus < 0)
		return cpus;
	rows = calloc(cpus, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &zero, rows))
		err = -errno;
	for (i = 0; !err && i < cpus; i++)
		add_times(&sum, &rows[i]);
	free(rows);
	for (i = 0; i < SAMPLE_TIME_CLASSES; i++)
		cost->cnt += sum.cnt[i];
	if (err || !cost->cnt)
		return err;
	for (i = 0; i < SAMPLE_TIME_CLASSES && seen * 1000 < cost->cnt * 999; i++)
		seen += sum.cnt[i];
	cost->max_ns = sum.max_ns;
	cost->stalls = sum.stalls;
	cost->stalled_ns = sum.stalled_ns;
	cost->mean_ns = sum.sum_ns / cost->cnt;
	cost->p999_ns = sample_time_end(i - 1) < sum.max_ns ? sample_time_end(i - 1) : sum.max_ns;
	return 0;
}

void counters_free(struct counters *c)
{
	free(c->cpus);
	memset(c, 0, sizeof(*c));
}
