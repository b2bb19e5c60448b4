// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_ticks.c - the ticks of every CPU as a part of a capture, their rate, and which processes
 * are walked at each of them: the map burst_procs, by which the BPF side thins the ticks of all other
 * processes.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "capture/capture_state.h"
#include "capture/sampler.h"
#include "tachbpf.skel.h"

static int ticks_configure(struct capture *s)
{
	struct sampler_args args = { s->args.rate_hz, s->args.event, s->args.cpu_list };

	s->sampler = sampler_new(s->skel, &args);
	if (!s->sampler)
		return -errno;
	s->skel->rodata->cfg_ticks = s->mode->ticks;
	s->skel->rodata->cfg_period_ns = sampler_period_ns(s->sampler);
	/* A mode that wants a status wants none of these threads. */
	s->skel->rodata->cfg_native_threads = s->args.native_threads && !s->mode->need_status;
	if (!s->args.bursts)
		bpf_map__set_max_entries(s->skel->maps.burst_procs, 1);
	return 0;
}

static int ticks_open(struct capture *s)
{
	return sampler_open(s->sampler);
}

static int ticks_fd(const struct capture *s)
{
	return sampler_timer(s->sampler);
}

static int ticks_start(struct capture *s)
{
	return sampler_start(s->sampler);
}

static void ticks_poll(struct capture *s)
{
	sampler_vary(s->sampler);
}

static void ticks_pause(struct capture *s, bool pause)
{
	sampler_pause(s->sampler, pause);
}

static void ticks_refresh(struct capture *s)
{
	sampler_refresh(s->sampler);
}

static void ticks_stop(struct capture *s)
{
	sampler_stop(s->sampler);
}

static void ticks_free(struct capture *s)
{
	sampler_free(s->sampler);
}

const struct source_ops capture_ticks_source = {
	.configure = ticks_configure,
	.open = ticks_open,
	.fd = ticks_fd,
	.start = ticks_start,
	.poll = ticks_poll,
	.pause = ticks_pause,
	.refresh = ticks_refresh,
	.stop = ticks_stop,
	.free = ticks_free,
};

/* ---- the rate ---- */

int capture_set_rate(struct capture *s, uint32_t hz)
{
	return sampler_set_rate(s->sampler, hz);
}

uint32_t capture_rate(const struct capture *s)
{
	return sampler_rate(s->sampler);
}

/* ---- a burst ---- */

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
