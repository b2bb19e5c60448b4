// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_heap.c - --allocations: probes of the allocator of the one process that is recorded.
 * Calls are counted first, to estimate the cost (heap_cost.h); then the capture records every
 * block, or in bursts (capture_bursts.h), or ends where the kernel cannot do that.
 *
 * While functions are being probed, and while calls are counted, the BPF side records nothing
 * (heap_counting): it must see both a call's entry and its return, or neither.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "bpf/abi_heap.h"
#include "capture/capture_bursts.h"
#include "capture/capture_state.h"
#include "probe/heap_cost.h"
#include "probe/heap_functions.h"
#include "probe/prober.h"
#include "tachbpf.skel.h"

#define PROBES_MAX (2 * HEAP_FUNCTION_CNT * PROBER_FILES_MAX)
#define MS_NS 1000000ull
/* How long a record may wait while a program begins that must be probed. */
#define HURRY_NS (10 * MS_NS)
/*
 * How often to look at a process without an allocator, and for how long. It is known to be Python
 * then, but on a busy machine it may take seconds to load its libraries. With PROBER_WAIT_MS for
 * the last look, and HEAP_COUNT_NS twice, there is a verdict within VERDICT_NS; the capture ends if
 * there is none.
 */
#define SEEK_AGAIN_NS (20 * MS_NS)
#define SEEK_NS (3000 * MS_NS)
#define VERDICT_NS (8000 * MS_NS)
_Static_assert(SEEK_NS + PROBER_WAIT_MS * MS_NS + 2 * HEAP_COUNT_NS <= VERDICT_NS, "time enough");

enum heap_state {
	HEAP_WAITS,		/* for a process, or until it is known to be Python */
	HEAP_SEEKS,		/* it has mapped no allocator yet */
	HEAP_COUNTS,
	HEAP_RECORDS,
	HEAP_BURSTS,
	HEAP_ENDED,
};

struct capture_heap {
	enum heap_state state;
	pid_t tgid;			/* 0: none yet */
	struct heap_prices prices;
	struct bpf_link *links[PROBES_MAX];
	unsigned int link_cnt;
	uint64_t since_ns;		/* when this state began */
	uint64_t sought_ns;		/* when its allocator was first looked for */
	uint64_t next_ns;		/* when to look again */
	struct heap_counts before;	/* calls counted so far at that time */
	bool again;			/* counts for the second time */
	bool cost_said;
	bool has_bursts;		/* this kernel can remove probes quickly */
	struct bursts *bursts;		/* NULL: every block is recorded */
};

static struct bpf_program *program_of(struct tachbpf_bpf *skel, enum heap_shape shape, bool returns)
{
	struct bpf_program *const programs[HEAP_SHAPE_CNT] = {
		[HEAP_MALLOC] = skel->progs.on_malloc,
		[HEAP_CALLOC] = skel->progs.on_calloc,
		[HEAP_REALLOC] = skel->progs.on_realloc,
		[HEAP_REALLOCARRAY] = skel->progs.on_reallocarray,
		[HEAP_ALIGNED_ALLOC] = skel->progs.on_aligned_alloc,
		[HEAP_POSIX_MEMALIGN] = skel->progs.on_posix_memalign,
		[HEAP_MMAP] = skel->progs.on_mmap,
		[HEAP_MREMAP] = skel->progs.on_mremap,
		[HEAP_FREE] = skel->progs.on_free,
		[HEAP_MUNMAP] = skel->progs.on_munmap,
	};

	return returns ? skel->progs.on_heap_return : programs[shape];
}

static int heap_configure(struct capture *s)
{
	struct tachbpf_bpf *skel = s->skel;
	bool on = s->args.allocations;
	int i;

	for (i = 0; i <= HEAP_SHAPE_CNT; i++) {
		struct bpf_program *prog =
			program_of(skel, i % HEAP_SHAPE_CNT, i == HEAP_SHAPE_CNT);

		bpf_program__set_autoload(prog, on);
		bpf_program__set_autoattach(prog, false);
	}
	if (!on) {
		bursts_configure(s);
		bpf_map__set_max_entries(skel->maps.live_blocks, 1);
		bpf_map__set_max_entries(skel->maps.heap_calls, 1);
		return 0;
	}
	skel->rodata->cfg_min_block = s->args.min_block_bytes ? s->args.min_block_bytes : 1;
	skel->bss->heap_counting = 1;
	s->heap = calloc(1, sizeof(*s->heap));
	if (!s->heap)
		return -ENOMEM;
	s->heap->has_bursts = bursts_configure(s);
	return 0;
}

/* ---- probes ---- */

static void detach_probes(void *ctx)
{
	struct capture *s = ctx;
	struct capture_heap *h = s->heap;

	s->skel->bss->heap_counting = 1;
	while (h->link_cnt)
		bpf_link__destroy(h->links[--h->link_cnt]);
}

/* The event is owned by the link, or closed. Returns 0 or -errno. */
static int attach_probe(struct capture *s, enum heap_shape shape, bool returns, int event)
{
	struct capture_heap *h = s->heap;
	struct bpf_link *link = NULL;
	int err = -ENOSPC;

	if (h->link_cnt < PROBES_MAX) {
		link = bpf_program__attach_perf_event(program_of(s->skel, shape, returns), event);
		err = link ? 0 : -errno;
	}
	if (link)
		h->links[h->link_cnt++] = link;
	else
		close(event);
	return err;
}

/* A prober_take_fn. */
static int attach_function(void *ctx, unsigned int function, bool returns, int event)
{
	return attach_probe(ctx, heap_functions[function].shape, returns, event);
}

/* A heap_price_fns.attach. */
static int attach_own(void *ctx, bool returns, int event)
{
	return attach_probe(ctx, HEAP_MALLOC, returns, event);
}

/* Measures the cost of a probe on this host. */
static int heap_open(struct capture *s)
{
	static const struct heap_price_fns fns = { .attach = attach_own, .detach = detach_probes };
	int err;

	if (!s->heap)
		return 0;
	s->skel->bss->heap_counting = 0;
	err = heap_prices_measure(&fns, s, &s->heap->prices);
	s->skel->bss->heap_counting = 1;
	if (err)
		log_error("--allocations: cannot probe functions: %s%s", strerror(-err),
			  err == -ENOENT || err == -ENODEV ?
			  " (the kernel was built without CONFIG_UPROBE_EVENTS)" : "");
	return err;
}

/* ---- cost ---- */

/* The cost of the calls since this state began. */
static struct heap_cost cost_since(struct capture *s, uint64_t now)
{
	struct heap_counts c = bursts_calls(s, &s->heap->before);

	return heap_cost(&c, now - s->heap->since_ns, &s->heap->prices);
}

/* ---- states ---- */

static void enter_state(struct capture *s, enum heap_state state)
{
	s->heap->state = state;
	s->heap->since_ns = now_ns();
	s->heap->next_ns = 0;
	s->heap->before = bursts_calls(s, &(struct heap_counts){ 0 });
}

static void fail_heap(struct capture *s, int err)
{
	detach_probes(s);
	enter_state(s, HEAP_ENDED);
	lifecycle_fail(&s->life, err);
}

static void say_found(const struct capture *s, const struct prober_found *found)
{
	char text[4 * PROBER_NAME_BYTES];
	uint32_t i;

	for (i = 0; i < found->file_cnt; i++) {
		escape_text(found->names[i], strlen(found->names[i]), text, sizeof(text));
		log_info("--allocations: process %d has its allocator in %s", s->heap->tgid, text);
	}
	if (found->first_err)
		log_warn("--allocations: not every function of the allocator could be probed: %s",
			 strerror(-found->first_err));
}

/* Probes where functions are entered, or where they return. Returns 0 or -errno. */
static int probe_functions(struct capture *s, bool returns)
{
	const struct tracked *t = lifecycle_find(&s->life, s->heap->tgid);
	struct prober_found found;
	struct prober_wanted wanted = {
		.tgid = s->heap->tgid,
		.start_ns = t ? t->start_ns : 0,
		.returns = returns,
	};
	int err;

	heap_functions_want(&wanted);
	err = prober_probe(&wanted, attach_function, s, &found);
	if (!err && !returns)
		say_found(s, &found);
	return err;
}

static void record_blocks(struct capture *s)
{
	int err = probe_functions(s, true);

	if (err == -ESRCH || err == -ENOENT) {	/* it has ended, or executes a program */
		detach_probes(s);
		enter_state(s, HEAP_WAITS);
	} else if (err) {
		log_error("--allocations: cannot probe process %d: %s", s->heap->tgid,
			  strerror(-err));
		fail_heap(s, err);
	} else {
		enter_state(s, HEAP_RECORDS);
		s->skel->bss->heap_counting = 0;
	}
}

static void seek_allocator(struct capture *s, uint64_t now)
{
	struct capture_heap *h = s->heap;
	int err;

	if (now < h->next_ns)
		return;
	h->next_ns = now + SEEK_AGAIN_NS;
	err = probe_functions(s, false);
	if (!err && s->args.costly) {
		record_blocks(s);
	} else if (!err) {
		enter_state(s, HEAP_COUNTS);
	} else if (err == -ESRCH) {
		enter_state(s, HEAP_WAITS);
	} else if ((err != -ENOENT && err != -EBUSY) || now - h->since_ns > SEEK_NS) {
		log_error("--allocations: no allocator was found in process %d: %s", h->tgid,
			  err == -ENOENT ? "none of its files defines malloc() and free()" :
			  err == -ETIMEDOUT ? "a file that it has mapped does not answer" :
			  err == -EMFILE ? "too many open files: raise the limit (ulimit -n)" :
			  strerror(-err));
		fail_heap(s, err);
	}
}

/* What is left of a process' speed with all probes; calls were counted by those of entries only. */
static double speed_left(const struct capture_heap *h, const struct heap_cost *cost)
{
	double counting = cost->calls_per_s * h->prices.enter_us / 1e6;

	return 1 / (1 + cost->cpu / (counting < 0.9 ? 1 - counting : 0.1));
}

static void record_in_bursts(struct capture *s, const struct heap_cost *cost, const char *text)
{
	struct capture_heap *h = s->heap;
	const struct tracked *t = lifecycle_find(&s->life, h->tgid);

	detach_probes(s);
	h->bursts = bursts_new(s, h->tgid, t ? t->start_ns : 0, &h->prices, speed_left(h, cost));
	if (h->bursts) {
		enter_state(s, HEAP_BURSTS);
		log_info("--allocations: %s, more than %.0f %%: sampled: %llu ms of each second; "
			 "--accept-cost records every block", text, 100 * HEAP_COST_MAX,
			 BURST_NS / MS_NS);
	} else if (errno == ESRCH || errno == ENOENT) {
		enter_state(s, HEAP_WAITS);
	} else {
		log_error("--allocations: cannot probe process %d in bursts: %s", h->tgid,
			  strerror(errno));
		fail_heap(s, -errno);
	}
}

/* There is neither a cost nor an error: other programs have used the CPUs for too long. */
static void give_up(struct capture *s)
{
	log_error("--allocations: the cost for process %d was still unknown after %.0f s: the "
		  "machine is too busy; try again, use --accept-cost, or leave "
		  "out --allocations", s->heap->tgid, VERDICT_NS / 1e9);
	fail_heap(s, -ETIMEDOUT);
}

static void judge_cost(struct capture *s, uint64_t now)
{
	struct heap_cost cost = cost_since(s, now);
	enum heap_verdict verdict = heap_judge(&cost, now - s->heap->since_ns, s->heap->again);
	char text[96];

	if (verdict == HEAP_COUNT_ON) {
		if (now - s->heap->sought_ns > VERDICT_NS)
			give_up(s);
		return;
	}
	if (verdict == HEAP_COUNT_AGAIN) {
		enter_state(s, HEAP_COUNTS);
		s->heap->again = true;
		return;
	}
	heap_cost_text(&cost, text, sizeof(text));
	s->heap->cost_said = true;
	if (verdict == HEAP_CHEAP) {
		record_blocks(s);
		if (s->heap->state == HEAP_RECORDS)
			log_info("--allocations: %s; recording blocks from now on", text);
		return;
	}
	if (s->heap->has_bursts) {
		record_in_bursts(s, &cost, text);
		return;
	}
	log_error("--allocations would cost process %d %s, more than %.0f %%: use --accept-cost, "
		  "or leave out --allocations (Linux 6.6 and later can sample: in bursts)",
		  s->heap->tgid, text, 100 * HEAP_COST_MAX);
	fail_heap(s, -EDQUOT);
}

/* With --accept-cost nothing was counted before. */
static void say_cost(struct capture *s, uint64_t now)
{
	struct heap_cost cost;
	char text[96];

	if (s->heap->cost_said || now - s->heap->since_ns < HEAP_COUNT_NS)
		return;
	cost = cost_since(s, now);
	heap_cost_text(&cost, text, sizeof(text));
	s->heap->cost_said = true;
	log_info("--allocations: %s", text);
}

void capture_heap_choose(struct capture *s, pid_t tgid)
{
	if (s->heap && !s->heap->tgid)
		s->heap->tgid = tgid;
}

void capture_heap_exec(struct capture *s, pid_t tgid)
{
	if (!s->heap || s->heap->tgid != tgid || s->heap->state == HEAP_ENDED)
		return;
	detach_probes(s);
	bursts_free(s->heap->bursts);
	s->heap->bursts = NULL;
	enter_state(s, HEAP_WAITS);
}

/* An error in a process that has ended, or is about to, is none. */
static void poll_bursts(struct capture *s, uint64_t now)
{
	int err = bursts_poll(s, s->heap->bursts, now);

	if (!err || err == -ESRCH || !lifecycle_process(&s->life, s->heap->tgid))
		return;
	log_error("--allocations: cannot probe process %d: %s", s->heap->tgid, strerror(-err));
	fail_heap(s, err);
}

static void heap_poll(struct capture *s)
{
	struct capture_heap *h = s->heap;
	uint64_t now;

	if (!h || !h->tgid || s->life.err)
		return;
	if (h->state == HEAP_WAITS && lifecycle_process(&s->life, h->tgid)) {
		enter_state(s, HEAP_SEEKS);
		h->sought_ns = h->since_ns;
		h->again = false;
	}
	now = now_ns();	/* not before the state's begin */
	if (h->state == HEAP_SEEKS)
		seek_allocator(s, now);
	else if (h->state == HEAP_COUNTS)
		judge_cost(s, now);
	else if (h->state == HEAP_RECORDS)
		say_cost(s, now);
	else if (h->state == HEAP_BURSTS)
		poll_bursts(s, now);
}

static uint64_t heap_wait_ns(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	bool hurries = s->heap && s->heap->state <= HEAP_SEEKS;

	if (s->heap && s->heap->state == HEAP_BURSTS)
		return bursts_wait_ns(s->heap->bursts, now_ns, limit_ns);
	return hurries && limit_ns > HURRY_NS ? HURRY_NS : limit_ns;
}

static void heap_stop(struct capture *s)
{
	if (!s->heap)
		return;
	detach_probes(s);
	if (s->heap->bursts)
		bursts_stop(s, s->heap->bursts);
	enter_state(s, HEAP_ENDED);
}

static void heap_settle(struct capture *s)
{
	if (s->heap && s->heap->bursts)
		lifecycle_fail(&s->life, bursts_settle(s, s->heap->bursts));
}

static void heap_free(struct capture *s)
{
	if (!s->heap)
		return;
	detach_probes(s);
	bursts_free(s->heap->bursts);
	prober_end();
	free(s->heap);
}

const struct source_ops capture_heap_source = {
	.configure = heap_configure,
	.open = heap_open,
	.poll = heap_poll,
	.wait_ns = heap_wait_ns,
	.stop = heap_stop,
	.settle = heap_settle,
	.free = heap_free,
};
