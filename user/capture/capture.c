// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture.c - the BPF programs, the ring buffer and the other parts of a capture, and the order in
 * which these are called. See capture.h.
 *
 * User space keeps a process in a struct tracked (lifecycle.h), the BPF side in the map py_procs.
 * The BPF side removes the entry when the process exits or executes a program; user space learns of
 * this from a record.
 */
#include "capture/capture.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_inspect.h"
#include "capture/capture_records.h"
#include "capture/capture_state.h"
#include "capture/memory_need.h"
#include "capture/proc_table.h"
#include "capture/skeleton.h"
#include "host/identity.h"
#include "memory/reader.h"
#include "memory/remote_mem.h"
#include "native/native.h"
#include "recording/totals.h"
#include "resolve/observer.h"
#include "tachbpf.skel.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/inspector.h"
#include "worker/worker.h"

#define MS_NS 1000000ull
/* How often to check whether processes that are not Python have ended. */
#define GONE_S 10
/* How often to look for entries of ended processes, which the BPF side normally removes itself. */
#define TABLE_SWEEP_S 60
/* How often open waits are emitted: a killed recording loses at most this much of them. */
#define OPEN_WAITS_S 10
/* How long capture_settle() takes records at most. */
#define SETTLE_NS 200000000ull
/* Time at the end to read names that could not be read while samples waited. */
#define NAMES_AT_STOP_NS 1000000000ll
/* The clock is read once per this number of records. */
#define CLOCK_READ_RECORDS 32
/* The default of how long a batch may wait that is too small to wake us (cfg_wakeup_bytes). */
#define BATCH_MS 100
/* Batches stay small for this long after something new. */
#define NEW_NS 1000000000ull
/* Records are taken for at most this long before others have their turn. */
#define TAKE_MS 100
/* How often CPUs are looked for, in some files of /sys, and memory of ended processes goes back. */
#define CPUS_S 4
#define EVENT_RATE 10000
/* More than this need not wait, however large the ring buffer is. */
#define WAKEUP_BYTES_MAX (1024 * 1024)

/*
 * The time that each sample has, whatever earlier ones took: see bpf/budget.bpf.h. With cold caches
 * a stack of 128 frames takes about this on average, and up to six times as much. NAMES_SHARE: one
 * part in so many of a CPU's time comes on top, because first samples send a process' names.
 */
#define SAMPLE_LIMIT_NS 60000
#define NAMES_SHARE 512

/* ---- the ring buffer ---- */

/* Stops after s->take_until_ns even if more records arrive: signals and timers need us, too. */
static int take_record(void *ctx, void *data, size_t len)
{
	struct capture *s = ctx;

	capture_take(s, data, len);
	return ++s->taken % CLOCK_READ_RECORDS == 0 && now_ns() > s->take_until_ns ? -EAGAIN : 0;
}

/* Returns 0, even if time ran out before all records were taken; or -errno. */
static int take_records(struct capture *s, uint64_t until_ns)
{
	uint64_t begin_ns = now_ns();
	int n;

	s->take_until_ns = until_ns;
	n = ring_buffer__consume(s->ring);
	if (n >= 0)
		s->taken_ns = begin_ns;
	if (s->some_new)
		s->new_ns = begin_ns;
	s->some_new = false;
	return n < 0 && n != -EINTR && n != -EAGAIN ? n : 0;
}

static int records_configure(struct capture *s)
{
	s->skel->rodata->cfg_gc = s->args.gc;
	s->skel->rodata->cfg_limit_ns = s->args.no_sample_limit ? 0 : SAMPLE_LIMIT_NS;
	s->skel->rodata->cfg_tick_ns = SAMPLE_LIMIT_NS + NS_PER_S / s->args.rate_hz / NAMES_SHARE;
	s->skel->rodata->cfg_self_time = s->args.self_time;
	return 0;
}

/* Call it when all other maps have their sizes. Returns 0, or -ENOMEM after logging. */
static int size_ring(struct capture *s)
{
	/* Events come in bursts, whatever the rate of ticks is. */
	uint32_t rate = s->mode->memory || s->mode->events ? EVENT_RATE : s->args.rate_hz;
	uint32_t bytes = memory_need_ring(&s->host, rate, s->mode->waits);
	uint32_t least = RING_BYTES_MIN;

	/* No program writes to it in a scan. */
	if (capture_only_scans(s))
		bytes = least = (uint32_t)sysconf(_SC_PAGESIZE);
	bytes = memory_need_check(memory_need_maps(s->skel->obj), bytes, least);
	if (!bytes)
		return -ENOMEM;
	s->skel->rodata->cfg_codes_bytes = bytes / 2;
	s->skel->rodata->cfg_wakeup_bytes = bytes / 4 < WAKEUP_BYTES_MAX ? bytes / 4 :
									   WAKEUP_BYTES_MAX;
	bpf_map__set_max_entries(s->skel->maps.events, bytes);
	return 0;
}

static int records_open(struct capture *s)
{
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.events), take_record, s, NULL);
	return s->ring ? 0 : -errno;
}

static void records_poll(struct capture *s)
{
	lifecycle_fail(&s->life, take_records(s, now_ns() + TAKE_MS * MS_NS));
}

static void records_free(struct capture *s)
{
	ring_buffer__free(s->ring);
}

static const struct source_ops records_source = {
	.scans = true,
	.configure = records_configure,
	.open = records_open,
	.poll = records_poll,
	.free = records_free,
};

/* ---- the parts ---- */

/*
 * The order of all calls except stop() and free(), which go from the last to the first.
 * - The conditions and the losses are in their maps before a program is attached.
 * - The scheduler programs follow all threads, events are sampled and page faults counted, before
 *   the ticks begin: tests see by the ticks' timer that recording has begun.
 * - At each poll the clocks change first, because records may take TAKE_MS. Records are taken
 *   before processes are inspected, and these before their memory, code and tasks are looked at.
 * - The maps of machine code and of asyncio's places are as large as that of processes, which is
 *   configured before them. The ring buffer gets what memory is left: size_ring().
 * - Processes are found before tables of their code are waited for, and before they are looked at
 *   for asyncio.
 */
static const struct source_ops *const sources[] = {
	&capture_filter_source,
	&capture_losses_source,
	&capture_wait_source,
	&capture_event_source,
	&capture_faults_source,
	&capture_ticks_source,
	&records_source,
	&capture_processes_source,
	&capture_memory_source,
	&capture_census_source,
	&capture_native_source,
	&capture_heap_source,
	&capture_async_source, &capture_chains_source, &capture_tasks_source,
};
#define SOURCES (int)ARRAY_SIZE(sources)

static bool is_part(const struct capture *s, int i)
{
	return sources[i]->scans || !capture_only_scans(s);
}

/* Each source of `s` that has this function, in order, until err. */
#define EACH_SOURCE(i, err, function) \
	for (i = 0; !(err) && i < SOURCES; i++) \
		if (sources[i]->function && is_part(s, i))
/* Likewise, from the last to the first. */
#define EACH_SOURCE_BACK(i, function) \
	for (i = SOURCES; i-- > 0;) \
		if (sources[i]->function && is_part(s, i))

int capture_wake_for(struct capture *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(ring_buffer__epoll_fd(s->ring), EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* What a source's poll() waits for wakes us, too. */
static int wake_for_sources(struct capture *s)
{
	int i, fd, err = 0;

	EACH_SOURCE(i, err, fd) {
		fd = sources[i]->fd(s);
		err = fd < 0 ? 0 : capture_wake_for(s, fd);
	}
	return err;
}

/* ---- the capture ---- */

/* An exe_cache_fn. */
static void set_known_exe(void *ctx, uint64_t key, const struct py_exe *exe)
{
	struct capture *s = ctx;
	struct bpf_map *map = s->skel->maps.known_exes;

	if (exe)
		bpf_map__update_elem(map, &key, sizeof(key), exe, sizeof(*exe), BPF_ANY);
	else
		bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

/* An exe_cache_other_fn. */
static void set_other_exe(void *ctx, const struct exe_file *file, bool other)
{
	struct capture *s = ctx;
	struct bpf_map *map = s->skel->maps.other_exes;
	uint32_t value = 1;

	if (other)
		bpf_map__update_elem(map, file, sizeof(*file), &value, sizeof(value), BPF_ANY);
	else
		bpf_map__delete_elem(map, file, sizeof(*file), 0);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level > LIBBPF_WARN || log_get_level() < LOG_VERBOSE)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/* Causes that remain after capabilities and /sys/kernel/btf were checked. */
static const char *load_hint(int err)
{
	switch (err) {
	case -EPERM:
		return ": bpf(2) is denied, by a seccomp filter (containers have one) or by "
		       "lockdown=confidentiality";
	case -ESRCH:
		return ": /sys/kernel/btf/vmlinux cannot be parsed";
	default:
		return "";
	}
}

/* Loads the programs as the kernel needs them; attaches those that need no event. 0 or -errno. */
static int load_programs(struct capture *s)
{
	bool waits = s->args.all && !capture_finds_late(s->mode);
	int i, err;

	if (!s->mode->scan_only)	/* it ends before anything is executed */
		inspector_begin_likely(s->args.first, waits);
	reader_prepare();	/* it uses the time in which the programs are loaded */
	err = skeleton_load(s->skel);
	if (!s->mode->scan_only && !err)
		exe_cache_learn_likely(s->exes);
	s->life.table = s->skel->maps.py_procs;
	if (!err && !capture_only_scans(s) && !s->args.no_direct_reads &&
	    !direct_map_find(s->skel))
		log_debug("the kernel's direct map was not found: all memory is read through a "
			  "helper");
	EACH_SOURCE(i, err, load)
		err = sources[i]->load(s);
	if (!err)
		err = tachbpf_bpf__attach(s->skel);
	if (err)
		log_error("cannot load the BPF programs: %s%s (-v shows the kernel's messages, "
			  "`tachbpf doctor` what is missing)", strerror(-err), load_hint(err));
	return err;
}

static int load_all(struct capture *s)
{
	int i, err = 0;

	s->skel = capture_only_scans(s) ? skeleton_open_scan() : skeleton_open();
	if (!s->skel)
		return -errno;
	host_size_find(&s->host, s->args.all);
	EACH_SOURCE(i, err, configure)
		err = sources[i]->configure(s);
	if (!err && capture_only_scans(s))
		skeleton_keep_scan(s->skel);
	if (!err)
		err = size_ring(s);
	if (!err)
		err = load_programs(s);
	EACH_SOURCE(i, err, open)
		err = sources[i]->open(s);
	return err ? err : wake_for_sources(s);
}

struct capture *capture_new(const struct capture_args *args)
{
	struct capture *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->args = *args;
	s->mode = args->mode;
	s->life.observer = args->observer;
	libbpf_set_print(print_libbpf);
	s->discovery = discovery_new();
	if (s->discovery)
		s->exes = exe_cache_new(s->discovery, set_known_exe, set_other_exe, s);
	err = s->exes ? load_all(s) : -ENOMEM;
	if (!err)
		return s;
	capture_free(s);
	errno = -err;
	return NULL;
}

void capture_free(struct capture *s)
{
	int i;

	if (!s)
		return;
	lifecycle_free(&s->life);
	EACH_SOURCE_BACK(i, free)
		sources[i]->free(s);
	tachbpf_bpf__destroy(s->skel);
	exe_cache_free(s->exes);
	discovery_free(s->discovery);
	counters_free(&s->counters);
	reader_end();
	inspector_end();
	free(s);
}

int capture_start(struct capture *s)
{
	int i, err;

	EACH_SOURCE(i, s->life.err, prepare)
		sources[i]->prepare(s);
	err = s->life.err;
	if (err)
		return err;
	if (s->args.observer->ops->start)
		s->args.observer->ops->start(s->args.observer, now_ns());
	s->startup_cpu_s = cpu_time_s();
	remote_mem_hurry(true);	/* from now on samples wait for user space */
	EACH_SOURCE(i, err, start)
		err = sources[i]->start(s);
	if (!err && !s->mode->scan_only)
		capture_wait_scan(s);
	return err;
}

static bool is_quiet(const struct capture *s)
{
	return now_ns() > s->new_ns + NEW_NS;
}

/*
 * How long a small batch may wait: longer while nothing is new, unless samples make user space read
 * processes, which may end. From then on, the BPF side wakes us for what is new. What came before
 * it knew is taken first.
 */
static int begin_wait_ms(struct capture *s)
{
	int batch = s->args.batch_ms ? s->args.batch_ms : BATCH_MS;
	bool reads = s->args.native || s->args.async || s->args.trace_context ||
		     s->memory || s->heap || s->event;

	if (s->args.quiet_batch_ms <= batch || reads || !is_quiet(s))
		return batch;
	s->skel->bss->waits_long = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	lifecycle_fail(&s->life, take_records(s, now_ns() + TAKE_MS * MS_NS));
	return is_quiet(s) ? s->args.quiet_batch_ms : batch;
}

/* Without workers nothing could be found, read or named any more, and nobody would notice. */
static int check_keeper(void)
{
	int err = keeper_check();

	if (err)
		log_error("the process " KEEPER_NAME " (%d) was killed: without it no process can "
			  "be found or named, and the privileges to start another one were "
			  "dropped; the samples up to now are kept", keeper_pid());
	return err;
}

int capture_poll(struct capture *s, int timeout_ms)
{
	int batch = begin_wait_ms(s), i, n;
	uint64_t wait = (timeout_ms < batch ? timeout_ms : batch) * MS_NS;
	struct epoll_event ev;

	EACH_SOURCE(i, false, wait_ns)
		wait = sources[i]->wait_ns(s, now_ns(), wait);
	n = epoll_wait(ring_buffer__epoll_fd(s->ring), &ev, 1, (wait + MS_NS - 1) / MS_NS);
	s->skel->bss->waits_long = 0;
	if (s->life.err || (n < 0 && errno != EINTR))
		return s->life.err ? s->life.err : -errno;
	EACH_SOURCE(i, false, poll)
		sources[i]->poll(s);
	return s->life.err;
}

void capture_pause(struct capture *s, bool pause)
{
	int i;

	EACH_SOURCE(i, false, pause)
		sources[i]->pause(s, pause);
}

uint64_t capture_walk_ns(struct capture *s)
{
	struct sample_cost cost = { 0 };

	if (s->args.self_time)
		counters_read_cost(&cost, bpf_map__fd(s->skel->maps.sample_times));
	return cost.cnt * cost.mean_ns;
}

static void read_counters(struct capture *s)
{
	struct counters *c = &s->counters;
	size_t i;

	s->no_event = 0;
	counters_read(c, bpf_map__fd(s->skel->maps.counters));
	for (i = 0; i < c->cpu_cnt; i++) {
		uint64_t missed = capture_ticks_missed(s, c->cpus[i].cpu);

		c->cpus[i].missed += missed;
		c->sum[CNT_MISSED] += missed;
		s->no_event += missed;
	}
}

/*
 * Ends the processes that no longer exist, in case exit records were lost. Repeated in every call,
 * because a zombie still exists.
 */
static void end_gone_processes(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	read_counters(s);
	if (!s->counters.sum[CNT_LIFECYCLE_LOST])
		return;
	while ((t = lifecycle_next_profiled(&s->life, &pos)))
		if (kill(t->tgid, 0) && errno == ESRCH && capture_took_last(s, t))
			lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
}

/* Of thousands of processes, few have had records since they last had work. */
static void care_for_heard(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	while ((t = lifecycle_next_heard(&s->life, &pos))) {
		if (t->process) {
			process_retry_names(t->process);
			process_watch_jit(t->process);
		}
		if (!t->process || !process_has_rest(t->process))
			lifecycle_quiet(t);
	}
}

int capture_housekeep(struct capture *s)
{
	const struct observer_ops *ops = s->args.observer->ops;
	int i;

	if (s->housekeeps % CPUS_S == 0) {
		EACH_SOURCE(i, false, refresh)
			sources[i]->refresh(s);
		lifecycle_forget_ended(&s->life);
	}
	capture_wait_scan(s);
	capture_take_losses(s);
	end_gone_processes(s);
	capture_thin_more(s);
	if (++s->housekeeps % GONE_S == 0)
		s->unidentified += lifecycle_sweep_gone(&s->life);
	if (s->housekeeps % TABLE_SWEEP_S == 0)
		proc_table_sweep(s->skel->maps.py_procs);
	if (s->housekeeps % OPEN_WAITS_S == 0)
		capture_wait_emit_open(s);
	care_for_heard(s);
	if (ops->tick)
		lifecycle_fail(&s->life, ops->tick(s->args.observer));
	lifecycle_fail(&s->life, check_keeper());
	return s->life.err;
}

int capture_settle(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	lifecycle_fail(&s->life, take_records(s, now_ns() + SETTLE_NS));
	capture_take_losses(s);
	capture_wait_emit_open(s);
	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		process_retry_names(t->process);
		process_watch_jit(t->process);
	}
	return s->life.err;
}

static double missed_pct(struct capture *s)
{
	struct capture_counts counts;

	capture_counts(s, &counts);
	return tick_sums_missed_pct(&counts);
}

int capture_stop(struct capture *s)
{
	const struct observer_ops *ops = s->args.observer->ops;
	struct tracked *t;
	size_t pos = 0;
	int i;

	EACH_SOURCE_BACK(i, stop)
		sources[i]->stop(s);
	s->life.stop_ns = now_ns();
	lifecycle_fail(&s->life, take_records(s, UINT64_MAX));
	capture_take_losses(s);
	if (ops->stop)
		ops->stop(s->args.observer, missed_pct(s));
	remote_mem_grant(NAMES_AT_STOP_NS);
	EACH_SOURCE(i, false, settle)
		sources[i]->settle(s);
	while ((t = lifecycle_next_profiled(&s->life, &pos)))
		lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
	return s->life.err;
}

uint32_t capture_live(struct capture *s)
{
	return s->life.live_cnt + lifecycle_young_cnt(&s->life);
}

void capture_counts(struct capture *s, struct capture_counts *out)
{
	read_counters(s);
	*out = (struct capture_counts){
		.bpf = s->counters.sum,
		.cpus = s->counters.cpus,
		.cpu_cnt = s->counters.cpu_cnt,
		.no_event = s->no_event,
		.received = s->received,
		.scan = s->scan,
		.orphans = s->orphans,
		.table_full = s->life.table_full,
		.unidentified = s->unidentified,
		.files_stuck = s->files_stuck,
		.workers_lost = worker_lost_cnt(),
		.containers_beyond = identities_beyond(s->args.identities),
		.containers_unnamed = identities_unnamed(s->args.identities),
		.startup_cpu_s = s->startup_cpu_s,
		.processes_seen = s->life.begun_cnt,
		.processes_live = s->life.live_cnt,
		.processes_pending = lifecycle_young_cnt(&s->life),
		.hardware_cycles = capture_ticks_are_hardware(s),
	};
	out->async_others = capture_chains_others(s);
	if (s->life.machine.native)
		native_counts(s->life.machine.native, &out->native);
	if (s->args.self_time)
		counters_read_cost(&out->cost, bpf_map__fd(s->skel->maps.sample_times));
}
