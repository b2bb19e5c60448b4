// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_bursts.c - see capture_bursts.h. How much a process is slowed down is told by how much
 * user time it has in bursts and between them: probes take time of the kernel.
 */
#include "capture/capture_bursts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/job_thread.h"
#include "base/time.h"
#include "bpf/abi_heap.h"
#include "host/proc.h"
#include "memory/block_look.h"
#include "memory/remote_mem.h"
#include "probe/heap_functions.h"
#include "probe/multi_probe.h"
#include "probe/prober.h"
#include "tachbpf.skel.h"

#define MS_NS 1000000ull
#define USER_TICK_NS 10000000ull	/* USER_HZ is 100 */
/* How often to look whether the probes are gone, and at blocks. */
#define SOON_NS (5 * MS_NS)
/* Blocks looked at between two bursts, and at the end for how long. */
#define LOOKS_A_GAP (8 * BLOCK_LOOKS_MAX)
#define LAST_LOOKS_NS (2000 * MS_NS)
/* Of user time, in ns: less than this says nothing. Old times count less and less. */
#define USER_LEAST_NS (100 * MS_NS)
#define FADES 0.7
#define MAPPING 1ull		/* as in bpf/heap.bpf.c: live_blocks */

enum phase { IS_AWAY, IS_ON, IS_LEAVING };

/* Closes links, which takes long, in a thread. */
struct closer {
	struct job job;		/* first: run() gets it */
	struct job_thread *thread;
	int links[PROBER_FILES_MAX];
	unsigned int cnt;
	bool done;		/* atomic */
};

struct probed_file {
	int fd;
	uint32_t cnt, returns_cnt;
	uint64_t places[HEAP_FUNCTION_CNT], cookies[HEAP_FUNCTION_CNT];
	uint64_t returns[HEAP_FUNCTION_CNT];	/* places of functions whose return matters */
};

/* User time in some stretches of time. */
struct user_time {
	double user_ns, ns;
};

struct bursts {
	pid_t tgid;
	enum phase phase;
	struct probed_file files[PROBER_FILES_MAX];
	uint32_t file_cnt;
	struct closer closers[2];	/* entries; returns */
	uint64_t begin_ns, end_ns;	/* of the last burst */
	uint64_t next_ns;		/* the next one begins, or this one ends */
	bool taken;			/* the records of the last one were taken */
	uint64_t pos;			/* of the next look; UINT64_MAX: all were looked at */
	uint32_t looks_left;
	struct user_time in, between;
	uint64_t mark_ns, mark_user_ns;	/* the begin of a stretch */
	double speed;			/* in bursts, as a share of that between them */
	struct heap_prices prices;
	struct heap_counts before;	/* calls before the burst */
	double cost;			/* of the last burst's calls, as a share of a CPU */
};

static uint64_t random_number(void)
{
	uint64_t n;

	return getrandom(&n, sizeof(n), GRND_NONBLOCK) == sizeof(n) ? n : now_ns();
}

bool bursts_configure(struct capture *s)
{
	struct bpf_program *const programs[] = { s->skel->progs.on_heap_call,
						 s->skel->progs.on_heap_returned };
	bool on = s->args.allocations && !s->args.costly && multi_probe_is_known();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		bpf_program__set_autoload(programs[i], on);
		bpf_program__set_autoattach(programs[i], false);
		bpf_program__set_expected_attach_type(programs[i], MULTI_PROBE_TYPE);
	}
	return on;
}

struct heap_counts bursts_calls(struct capture *s, const struct heap_counts *then)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct heap_counts *rows = cpus > 0 ? calloc((size_t)cpus, sizeof(*rows)) : NULL;
	struct heap_counts sum = { 0 };
	uint32_t zero = 0;

	if (rows && !bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.heap_counts), &zero, rows))
		for (i = 0; i < cpus; i++) {
			sum.entries += rows[i].entries;
			sum.returns += rows[i].returns;
			sum.kept += rows[i].kept;
		}
	free(rows);
	sum.entries -= then->entries;
	sum.returns -= then->returns;
	sum.kept -= then->kept;
	return sum;
}

/* ---- how fast the process is ---- */

static uint64_t user_ns(const struct bursts *b)
{
	struct proc_stat st;

	return proc_stat(b->tgid, &st) ? 0 : st.user_ticks * USER_TICK_NS;
}

/* A stretch ends, which counts as t's (NULL: as nobody's), and another one begins. */
static void end_stretch(struct bursts *b, struct user_time *t)
{
	uint64_t now = now_ns(), user = user_ns(b);

	if (t && b->mark_ns && user >= b->mark_user_ns) {
		t->user_ns = t->user_ns * FADES + (double)(user - b->mark_user_ns);
		t->ns = t->ns * FADES + (double)(now - b->mark_ns);
	}
	b->mark_ns = now;
	b->mark_user_ns = user;
}

static void judge_speed(struct bursts *b)
{
	if (b->between.user_ns < USER_LEAST_NS || b->in.ns <= 0)
		return;
	b->speed = heap_burst_speed_by(b->in.user_ns / b->in.ns, b->between.user_ns / b->between.ns,
				b->cost);
	log_debug("bursts: process %d has %.0f %% of its speed; cost %.0f", b->tgid,
		  100 * b->speed, 100 * b->cost);
}

/* ---- probes ---- */

/* A prober_file_fn. */
static int take_file(void *ctx, int fd, const uint64_t places[PARSER_FUNCTIONS_MAX])
{
	struct bursts *b = ctx;
	struct probed_file *f = &b->files[b->file_cnt];
	unsigned int i;

	if (b->file_cnt == PROBER_FILES_MAX) {
		close(fd);
		return 0;
	}
	f->fd = fd;
	b->file_cnt++;
	for (i = 0; i < HEAP_FUNCTION_CNT; i++) {
		if (!places[i])
			continue;
		f->places[f->cnt] = places[i];
		f->cookies[f->cnt++] = heap_functions[i].shape;
		if (heap_shape_returns(heap_functions[i].shape))
			f->returns[f->returns_cnt++] = places[i];
	}
	return 0;
}

static void close_links(struct job *job)
{
	struct closer *c = (struct closer *)(void *)job;

	while (c->cnt)
		close(c->links[--c->cnt]);
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
}

/* Both at once: a place is probed until both its probes are gone. */
static void remove_probes(struct capture *s, struct bursts *b)
{
	size_t i;

	s->skel->bss->heap_counting = 1;
	s->skel->bss->heap_burst++;
	for (i = 0; i < ARRAY_SIZE(b->closers); i++) {
		b->closers[i].done = false;
		b->closers[i].job.run = close_links;
		job_put(b->closers[i].thread, &b->closers[i].job);
	}
	b->phase = IS_LEAVING;
}

static bool are_removed(const struct bursts *b)
{
	return __atomic_load_n(&b->closers[0].done, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&b->closers[1].done, __ATOMIC_ACQUIRE);
}

static void wait_removed(struct bursts *b)
{
	size_t i;

	for (i = 0; b->phase == IS_LEAVING && i < ARRAY_SIZE(b->closers); i++)
		job_wait(b->closers[i].thread, &b->closers[i].job);
	b->phase = IS_AWAY;
}

static int add_link(struct closer *c, int link)
{
	if (link < 0)
		return link;
	c->links[c->cnt++] = link;
	return 0;
}

/* Returns first: each call whose entry is seen has its return seen. */
static int probe_file(struct capture *s, struct bursts *b, const struct probed_file *f)
{
	struct multi_probe p = {
		.program = bpf_program__fd(s->skel->progs.on_heap_returned), .file = f->fd,
		.tgid = b->tgid, .returns = true, .cnt = f->returns_cnt, .places = f->returns,
		.cookies = f->cookies,
	};
	int err = add_link(&b->closers[1], multi_probe_open(&p));

	p.program = bpf_program__fd(s->skel->progs.on_heap_call);
	p.returns = false;
	p.cnt = f->cnt;
	p.places = f->places;
	return err ? err : add_link(&b->closers[0], multi_probe_open(&p));
}

/* ---- bursts ---- */

static int begin_burst(struct capture *s, struct bursts *b, struct process *p)
{
	uint32_t i;
	int err = 0;

	end_stretch(b, &b->between);
	for (i = 0; !err && i < b->file_cnt; i++)
		err = probe_file(s, b, &b->files[i]);
	b->phase = IS_ON;
	if (err) {
		remove_probes(s, b);
		return err;
	}
	judge_speed(b);
	end_stretch(b, NULL);
	b->begin_ns = now_ns();
	b->next_ns = b->begin_ns + BURST_NS;
	b->taken = false;
	err = process_burst_begin(p, b->begin_ns, heap_burst_weight(b->speed), b->speed);
	b->before = bursts_calls(s, &(struct heap_counts){ 0 });
	s->skel->bss->heap_burst++;
	s->skel->bss->heap_counting = 0;
	return err;
}

static void end_burst(struct capture *s, struct bursts *b)
{
	struct heap_counts calls;

	s->skel->bss->heap_counting = 1;
	b->end_ns = now_ns();
	end_stretch(b, &b->in);
	calls = bursts_calls(s, &b->before);
	b->cost = heap_cost(&calls, b->end_ns - b->begin_ns, &b->prices).cpu;
	remove_probes(s, b);
	b->next_ns = b->end_ns + heap_burst_gap_ns(b->end_ns - b->begin_ns, random_number());
}

/* ---- blocks ---- */

static void forget_block(struct capture *s, const struct block_place *place)
{
	uint64_t key = place->addr | (place->mapping ? MAPPING : 0);

	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.live_blocks), &key);
}

/* Looks at some blocks. Returns 0, -EBUSY: not now, or -errno. */
static int look_on(struct capture *s, struct bursts *b, struct process *p)
{
	static struct block_place places[BLOCK_LOOKS_MAX];
	static struct block_words words[BLOCK_LOOKS_MAX];
	static bool gone[BLOCK_LOOKS_MAX];
	uint64_t pos = b->pos;
	size_t n = process_blocks_ask(p, &pos, places, BLOCK_LOOKS_MAX), i;
	int err = n ? remote_blocks(b->tgid, places, n, words) : 0;

	if (err)
		return err == -EBUSY || err == -ESRCH ? -EBUSY : err;
	err = n ? process_blocks_take(p, now_ns(), places, words, n, gone) : 0;
	for (i = 0; i < n; i++)
		if (gone[i])
			forget_block(s, &places[i]);
	b->pos = pos;
	b->looks_left -= n < b->looks_left ? (uint32_t)n : b->looks_left;
	return err;
}

/* After a burst: once its records were taken, and its probes are gone. */
static int settle_burst(struct capture *s, struct bursts *b, struct process *p)
{
	if (b->phase == IS_LEAVING && are_removed(b)) {
		wait_removed(b);
		end_stretch(b, NULL);
	}
	if (b->phase != IS_AWAY || b->taken || s->taken_ns <= b->end_ns)
		return 0;
	b->taken = true;
	b->looks_left = LOOKS_A_GAP;
	b->pos = b->pos == UINT64_MAX ? 0 : b->pos;
	return process_burst_end(p, b->end_ns);
}

int bursts_poll(struct capture *s, struct bursts *b, uint64_t now)
{
	struct process *p = lifecycle_process(&s->life, b->tgid);
	int err = 0;

	if (!p || b->phase == IS_ON) {
		if (b->phase == IS_ON && (!p || now >= b->next_ns))
			end_burst(s, b);
		return 0;
	}
	err = settle_burst(s, b, p);
	if (err)
		return err;
	if (b->phase == IS_AWAY && b->taken && now >= b->next_ns)
		return begin_burst(s, b, p);
	if (b->phase == IS_AWAY && b->taken && b->looks_left && b->pos != UINT64_MAX)
		err = look_on(s, b, p);
	return err == -EBUSY ? 0 : err;
}

uint64_t bursts_wait_ns(const struct bursts *b, uint64_t now, uint64_t limit_ns)
{
	uint64_t wait = b->next_ns > now ? b->next_ns - now : 0;

	if (b->phase == IS_LEAVING || (b->phase == IS_AWAY && b->looks_left &&
				       b->pos != UINT64_MAX))
		wait = wait < SOON_NS ? wait : SOON_NS;
	if (b->phase != IS_ON && !b->taken)	/* nothing else is due */
		wait = SOON_NS;
	return wait < limit_ns ? wait : limit_ns;
}

void bursts_stop(struct capture *s, struct bursts *b)
{
	if (b->phase == IS_ON)
		end_burst(s, b);
	wait_removed(b);
}

int bursts_settle(struct capture *s, struct bursts *b)
{
	struct process *p = lifecycle_process(&s->life, b->tgid);
	uint64_t end = now_ns() + LAST_LOOKS_NS;
	int err;

	if (!p)
		return 0;
	err = process_burst_end(p, b->end_ns);
	remote_mem_grant((int64_t)LAST_LOOKS_NS);
	for (b->pos = 0; !err && b->pos != UINT64_MAX && now_ns() < end;)
		err = look_on(s, b, p);
	return err == -EBUSY ? 0 : err;
}

/* ---- from start to end ---- */

struct bursts *bursts_new(struct capture *s, pid_t tgid, uint64_t start_ns,
			  const struct heap_prices *prices, double speed)
{
	struct prober_wanted wanted = { .tgid = tgid, .start_ns = start_ns };
	struct bursts *b = calloc(1, sizeof(*b));
	struct prober_found found;
	int err = b ? 0 : -ENOMEM, i;

	for (i = 0; !err && i < 2; i++) {
		b->closers[i].thread = job_thread_new();
		err = b->closers[i].thread ? 0 : -ENOMEM;
	}
	heap_functions_want(&wanted);
	if (!err)
		err = prober_find(&wanted, take_file, b, &found);
	if (!err && !b->file_cnt)
		err = -ENOENT;
	if (err) {
		bursts_free(b);
		errno = -err;
		return NULL;
	}
	b->tgid = tgid;
	b->prices = *prices;
	b->speed = heap_burst_speed(speed);
	b->taken = true;
	b->pos = UINT64_MAX;
	end_stretch(b, NULL);
	/* The first one begins anywhere in what its time would be. */
	b->next_ns = now_ns() + random_number() % (BURST_NS * BURST_GAPS);
	return b;
}

void bursts_free(struct bursts *b)
{
	uint32_t i;

	if (!b)
		return;
	wait_removed(b);
	for (i = 0; i < ARRAY_SIZE(b->closers); i++) {
		close_links(&b->closers[i].job);
		job_thread_free(b->closers[i].thread);
	}
	for (i = 0; i < b->file_cnt; i++)
		close(b->files[i].fd);
	free(b);
}
