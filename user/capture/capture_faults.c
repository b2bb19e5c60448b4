// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_faults.c - the page faults of --mode mem: perf events on each CPU, and the program that
 * follows moves of memory.
 *
 * An event with a fixed period always hits a program that touches that many pages in a loop at the
 * same point: one of its functions gets all faults. So the periods change at random during a
 * recording. The BPF side weighs by what the kernel has counted, so weights stay exact.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/cpu_events.h"
#include "tachbpf.skel.h"

/* An event's periods are its mean plus or minus this fraction of it. */
#define SPREAD 4
/* The largest period that fits 32 bits with its spread. */
#define PAGES_MAX (1u << 28)
/* Changing an event takes an interrupt on its CPU: 3 to 10 us, in virtual machines 30 us. */
#define CPU_TURN_NS 100000000ull
#define TURN_NS_MIN 10000000ull

struct capture_faults {
	struct cpu_events cpus;	/* first member: its functions get it as struct cpu_events */
	uint64_t every_bytes;	/* one fault per N bytes, at random */
	uint32_t page_bytes;
	int turn;		/* index of the CPU whose period changes next */
	uint64_t turn_ns;	/* when it changes */
	uint64_t random;	/* state of the random generator; not 0 */
};

/* ---- periods ---- */

/*
 * A period by a random number: within a quarter of its mean, and at least 1 from it. The mean is
 * the pages in every_bytes; if that is one page, the period is always 1. Slightly more faults are
 * chosen than one in every_bytes: 2 %, and 22 % for the shortest mean, which is 2.
 */
static uint32_t fault_period(uint64_t every_bytes, uint32_t page_bytes, uint64_t random)
{
	uint64_t mean = every_bytes / page_bytes;
	uint32_t spread;

	if (mean > PAGES_MAX)
		mean = PAGES_MAX;
	if (mean <= 1)
		return 1;
	spread = mean < SPREAD ? 1 : (uint32_t)mean / SPREAD;
	return (uint32_t)mean - spread + (uint32_t)(random % (2 * spread + 1));
}

/*
 * The time in ns between two changes, each of one CPU's event. Each CPU has ten a second, but all
 * CPUs together at most 100: a thousandth of a CPU, in virtual machines three.
 */
static uint64_t fault_turn_ns(unsigned int cpus)
{
	uint64_t ns = CPU_TURN_NS / (cpus ? cpus : 1);

	return ns < TURN_NS_MIN ? TURN_NS_MIN : ns;
}

/* xorshift64* (Vigna 2016) */
static uint64_t next_random(struct capture_faults *f)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * 0x2545f4914f6cdd1dull) >> 16;
}

/* A cpu_events_args.period. */
static uint64_t next_period(struct cpu_events *c, struct cpu_event *e)
{
	struct capture_faults *f = (struct capture_faults *)c;

	return fault_period(f->every_bytes, f->page_bytes, next_random(f));
}

static void begin_turn(struct capture_faults *f)
{
	f->turn_ns = now_ns() + fault_turn_ns((unsigned int)f->cpus.cnt);
}

/* Gives the next CPU's event another period, if it is due. */
static void vary_periods(struct capture_faults *f)
{
	struct cpu_event *e;
	uint64_t period;

	if (!f->cpus.started || f->cpus.paused || now_ns() < f->turn_ns)
		return;
	begin_turn(f);
	f->turn = (f->turn + 1) % f->cpus.cnt;
	e = &f->cpus.events[f->turn];
	period = next_period(&f->cpus, e);
	/* The BPF side notices a change by the period. */
	if (e->fd >= 0 && period != e->period && !ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period))
		e->period = period;
}

/* ---- the part of a capture ---- */

/* Page faults are the events, not blocks of an allocator. */
static bool is_on(const struct capture *s)
{
	return s->mode->memory && !s->args.allocations;
}

/* Returns true if the kernel says where it finds free addresses (5.10 does if built with BTF). */
static bool has_tracepoint(void)
{
	return libbpf_find_vmlinux_btf_id("vm_unmapped_area", BPF_TRACE_RAW_TP) > 0;
}

static int faults_configure(struct capture *s)
{
	struct tachbpf_bpf *skel = s->skel;

	bpf_program__set_autoload(skel->progs.on_page_fault, is_on(s));
	bpf_program__set_autoload(skel->progs.on_unmapped_area, is_on(s) && has_tracepoint());
	bpf_program__set_autoattach(skel->progs.on_unmapped_area, false);
	skel->rodata->cfg_page_bytes = (unsigned int)sysconf(_SC_PAGESIZE);
	skel->rodata->cfg_contents = s->args.contents;
	return 0;
}

static void init_random(struct capture_faults *f)
{
	/* A seed that programs cannot know; the time if there is no random number yet. */
	if (getrandom(&f->random, sizeof(f->random), GRND_NONBLOCK) < 0)
		f->random = now_ns();
	f->random |= 1;
}

static int faults_open(struct capture *s)
{
	struct cpu_events_args args = {
		.program = s->skel->progs.on_page_fault,
		.attr = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN },
		.name = "page faults",
		.cpu_list = s->args.cpu_list,
		.period = next_period,
	};
	struct capture_faults *f;
	int err;

	if (!is_on(s))
		return 0;
	f = s->faults = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->every_bytes = s->args.every_bytes;
	f->page_bytes = s->skel->rodata->cfg_page_bytes;
	init_random(f);
	err = cpu_events_init(&f->cpus, &args);
	if (err)
		return err;
	err = cpu_events_open(&f->cpus);
	return err ? cpu_events_complain(&f->cpus, err) : 0;
}

/* Returns 0, or -errno after logging. */
static int follow_moves(struct capture *s)
{
	int err;

	if (!bpf_program__autoload(s->skel->progs.on_unmapped_area))
		return 0;
	s->skel->links.on_unmapped_area = bpf_program__attach(s->skel->progs.on_unmapped_area);
	if (s->skel->links.on_unmapped_area)
		return 0;
	err = -errno;
	log_error("cannot trace moves of memory: %s", strerror(-err));
	return err;
}

static int faults_start(struct capture *s)
{
	int err = s->faults ? follow_moves(s) : 0;

	if (err || !s->faults)
		return err;
	begin_turn(s->faults);
	return cpu_events_start(&s->faults->cpus);
}

static void faults_poll(struct capture *s)
{
	if (s->faults)
		vary_periods(s->faults);
}

static void faults_pause(struct capture *s, bool pause)
{
	if (s->faults)
		cpu_events_pause(&s->faults->cpus, pause);
}

static void faults_refresh(struct capture *s)
{
	if (s->faults)
		cpu_events_refresh(&s->faults->cpus);
}

static void faults_stop(struct capture *s)
{
	if (!s->faults)
		return;
	cpu_events_stop(&s->faults->cpus);
	bpf_link__destroy(s->skel->links.on_unmapped_area);
	s->skel->links.on_unmapped_area = NULL;
}

static void faults_free(struct capture *s)
{
	if (s->faults)
		cpu_events_free(&s->faults->cpus);
	free(s->faults);
}

const struct source_ops capture_faults_source = {
	.configure = faults_configure,
	.open = faults_open,
	.start = faults_start,
	.poll = faults_poll,
	.pause = faults_pause,
	.refresh = faults_refresh,
	.stop = faults_stop,
	.free = faults_free,
};
