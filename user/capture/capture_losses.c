// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_losses.c - assigns what the BPF side has lost to processes: reads the map losses in our
 * memory, and the processes that it names.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/loss_table.h"
#include "tachbpf.skel.h"

static int losses_configure(struct capture *s)
{
	return bpf_map__set_max_entries(s->skel->maps.losses,
					(uint32_t)libbpf_num_possible_cpus());
}

static int losses_load(struct capture *s)
{
	int cpus = libbpf_num_possible_cpus();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)cpus * sizeof(struct loss_table);
	void *map;

	bytes = (bytes + page - 1) / page * page;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(s->skel->maps.losses), 0);
	if (map == MAP_FAILED)
		return -errno;
	s->loss_tables = map;
	s->loss_tables_bytes = bytes;
	s->losses = loss_reader_new(map, cpus);
	return s->losses ? 0 : -ENOMEM;
}

static void losses_free(struct capture *s)
{
	loss_reader_free(s->losses);
	if (s->loss_tables)
		munmap(s->loss_tables, s->loss_tables_bytes);
}

const struct source_ops capture_losses_source = {
	.configure = losses_configure,
	.load = losses_load,
	.free = losses_free,
};

/* A loss_news_fn. */
static bool add_to_process(void *ctx, const struct loss_news *news)
{
	struct capture *s = ctx;
	struct tracked *t = lifecycle_find(&s->life, (pid_t)news->tgid);
	enum loss_cause cause;
	int i;

	if (!t || !t->process || (t->start_ns && t->start_ns != news->start_ns))
		return false;
	for (i = 0; i < LOSS_KINDS; i++) {
		cause = loss_of_counter(CNT_LOSSES + i);
		if (news->cnt[i] && cause < LOSS_CNT)
			process_add_lost(t->process, news->tid, cause, news->cnt[i]);
	}
	return true;
}

void capture_take_losses(struct capture *s)
{
	if (s->losses)
		loss_reader_read(s->losses, now_ns(), add_to_process, s);
}
