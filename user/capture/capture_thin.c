// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_thin.c - fills the map burst_procs, by which the BPF side thins the ticks of all other
 * processes. See capture_thin.h.
 */
#include "capture/capture_thin.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "capture/capture_state.h"
#include "tachbpf.skel.h"

void capture_thin_more(struct capture *s)
{
	struct bpf_map *map = s->skel->maps.burst_procs;
	struct tracked *t;
	uint64_t judged;
	size_t pos = 0;

	while (s->chosen && (t = lifecycle_next_profiled(&s->life, &pos))) {
		uint32_t tgid = t->tgid;
		bool known = !bpf_map__lookup_elem(map, &tgid, sizeof(tgid), &judged,
						   sizeof(judged), 0);

		if (!t->start_ns || (known && (!judged || judged == t->start_ns)))
			continue;
		judged = s->chosen(s->chosen_ctx, t->process) ? t->start_ns : 0;
		bpf_map__update_elem(map, &tgid, sizeof(tgid), &judged, sizeof(judged), BPF_ANY);
	}
}

/* Processes that have ended, too. */
static void forget_all(struct capture *s)
{
	struct bpf_map *map = s->skel->maps.burst_procs;
	uint32_t tgid;

	while (!bpf_map__get_next_key(map, NULL, &tgid, sizeof(tgid)))
		if (bpf_map__delete_elem(map, &tgid, sizeof(tgid), 0))
			break;
}

int capture_thin(struct capture *s, unsigned int every, capture_chosen_fn chosen, void *ctx)
{
	s->skel->bss->tick_thinning = 0;
	forget_all(s);
	s->chosen = NULL;
	if (every <= 1)
		return 0;
	if (every > THINNING_MAX || !chosen || !s->args.bursts)
		return -EINVAL;
	s->chosen = chosen;
	s->chosen_ctx = ctx;
	capture_thin_more(s);
	s->skel->bss->tick_thinning = every;
	return 0;
}
