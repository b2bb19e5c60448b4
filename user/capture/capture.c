// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture.c - the BPF programs, the ring buffer and the sampler of a capture. See capture.h.
 *
 * User space keeps a process in a struct tracked (lifecycle.h), the BPF side in the map py_procs.
 * The BPF side removes the entry when the process exits or executes a program; user space learns
 * of it by a record.
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
#include "capture/capture_async.h"
#include "capture/capture_event.h"
#include "capture/capture_faults.h"
#include "capture/capture_filter.h"
#include "capture/capture_find.h"
#include "capture/capture_heap.h"
#include "capture/capture_inspect.h"
#include "capture/capture_losses.h"
#include "capture/capture_memory.h"
#include "capture/capture_native.h"
#include "capture/capture_records.h"
#include "capture/capture_state.h"
#include "capture/capture_tasks.h"
#include "capture/capture_thin.h"
#include "capture/capture_wait.h"
#include "capture/direct_map.h"
#include "capture/memory_need.h"
#include "capture/offcpu_scan.h"
#include "capture/proc_table.h"
#include "capture/sampler.h"
#include "capture/skeleton.h"
#include "host/identity.h"
#include "host/reader.h"
#include "host/remote_mem.h"
#include "native/native.h"
#include "recording/totals.h"
#include "resolve/observer.h"
#include "tachbpf.skel.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/inspector.h"
#include "target/proc_filter_eval.h"
#include "worker/worker.h"

#define MS_NS 1000000ull
/* How often processes that are no Python are looked at, whether they have ended. */
#define GONE_S 10
/* How often entries of ended processes are looked for, which the BPF side removes itself. */
#define TABLE_SWEEP_S 60
/* How often open waits are emitted: a killed recording loses at most this much of them. */
#define OPEN_WAITS_S 10
/* How long capture_settle() takes records at most. */
#define SETTLE_NS 200000000ull
/* Time at the end to read names that there was no time for while samples waited. */
#define NAMES_AT_STOP_NS 1000000000ll
/* The clock is read once per this number of records. */
#define CLOCK_READ_RECORDS 32
/* How long a batch may wait that is too small to wake us (cfg_wakeup_bytes), if nobody says. */
#define BATCH_MS 100
/* For so long after something was new, batches are no larger. */
#define NEW_NS 1000000000ull
/* The same while a program begins that must be probed. */
#define HURRY_MS 10
/* Records are taken for so long, before others have their turn. */
#define TAKE_MS 100
/* CPUs that have gone online or offline are looked for so often: it costs some files of /sys. */
#define CPUS_S 4
#define EVENT_RATE 10000

/*
 * The time limit of a walk. Usual stacks take a few us; 3.11, where each walk reads all code
 * objects, takes up to 50 us for 250 frames with cold caches.
 */
#define SAMPLE_LIMIT_NS 60000

/* How long a code object may go unread at most, up to 3.11: see pywindow.bpf.h. */
#define CODE_WINDOW_NS 8000000

/* ---- the ring buffer ---- */

/* Stops after s->take_until_ns even if more records arrive: signals and timers need us, too. */
static int take_record(void *ctx, void *data, size_t len)
{
	struct capture *s = ctx;

	capture_take(s, data, len);
	return ++s->taken % CLOCK_READ_RECORDS == 0 && now_ns() > s->take_until_ns ? -EAGAIN : 0;
}

/* 0, also if time ran out before all records were taken; or -errno. */
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

/* ---- the capture ---- */

/* exe_cache_fn */
static void set_known_exe(void *ctx, uint64_t key, const struct py_exe *exe)
{
	struct capture *s = ctx;
	struct bpf_map *map = s->skel->maps.known_exes;

	if (exe)
		bpf_map__update_elem(map, &key, sizeof(key), exe, sizeof(*exe), BPF_ANY);
	else
		bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

/* exe_cache_other_fn */
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
		return ": /sys/kernel/btf/vmlinux cannot be made sense of";
	default:
		return "";
	}
}

int capture_wake_for(struct capture *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(ring_buffer__epoll_fd(s->ring), EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* To be called when all other maps have their sizes. 0, or -ENOMEM after logging. */
static int size_ring(struct capture *s)
{
	/* Events come in bursts, whatever the rate of ticks is. */
	uint32_t rate = s->mode->memory || s->mode->events ? EVENT_RATE : s->args.rate_hz;
	uint32_t bytes = memory_need_ring(libbpf_num_possible_cpus(), rate);

	bytes = memory_need_check(memory_need_maps(s->skel->obj), bytes, RING_BYTES_MIN);
	if (!bytes)
		return -ENOMEM;
	s->skel->rodata->cfg_codes_bytes = bytes / 2;
	bpf_map__set_max_entries(s->skel->maps.events, bytes);
	return 0;
}

/* What the modes and the user's wishes make of the programs and maps, before they are loaded. 0 or -errno. */
static int configure(struct capture *s)
{
	int err;

	capture_wait_configure(s);
	capture_faults_configure(s);
	capture_event_configure(s);
	capture_async_configure(s);
	s->skel->rodata->cfg_all = s->args.all;
	s->skel->rodata->cfg_reads_begin = s->args.reads_begin || s->args.native ||
					   s->args.trace_context || s->args.async;
	s->skel->rodata->cfg_gc = s->args.gc;
	s->skel->rodata->cfg_limit_ns = s->args.no_sample_limit ? 0 : SAMPLE_LIMIT_NS;
	/* A mode that wants a status wants none of these threads. */
	s->skel->rodata->cfg_native_threads = s->args.native_threads && !s->mode->need_status;
	s->skel->rodata->cfg_trace_context = s->args.trace_context;
	s->skel->rodata->cfg_self_time = s->args.self_time;
	s->skel->rodata->cfg_window_ns = s->args.fewer_reads ? CODE_WINDOW_NS : 0;
	s->skel->rodata->cfg_period_ns = sampler_period_ns(s->sampler);
	s->skel->rodata->cfg_wakeup_bytes = RING_BYTES_MIN / 4;
	s->skel->rodata->cfg_sent_slots = s->args.sent_codes;
	s->skel->rodata->cfg_hierarchies = identities_hierarchies(s->args.identities);
	/* Without -a, user space reads the cgroups of processes from /proc. */
	bpf_program__set_autoload(s->skel->progs.on_cgroup_mkdir,
				  s->args.all && !access("/proc/cgroups", F_OK));
	if (!s->args.bursts)
		bpf_map__set_max_entries(s->skel->maps.burst_procs, 1);
	bpf_map__set_max_entries(s->skel->maps.sent_codes, s->args.sent_codes);
	capture_losses_configure(s);
	err = capture_native_configure(s);
	if (!err)
		err = capture_heap_configure(s);
	if (!err)
		err = capture_filter_configure(s);
	if (!err)
		err = size_ring(s);
	return err;
}

/* Fit the programs to the kernel, have them verified, and attach those that need no event. 0 or -errno. */
static int load_programs(struct capture *s)
{
	bool waits = s->args.all && !capture_finds_late(s->mode);
	int err;

	if (!s->mode->scan_only)	/* which is over before anything is executed */
		inspector_begin_likely(s->args.first, waits);
	reader_prepare();	/* it, too, has the time until the programs are loaded */
	err = tachbpf_bpf__load(s->skel);
	if (!s->mode->scan_only && !err)
		exe_cache_learn_likely(s->exes);
	s->life.table = s->skel->maps.py_procs;
	if (!err && !s->args.no_direct_reads && !direct_map_find(s->skel))
		log_debug("the kernel's direct map was not found: a helper reads all memory");
	if (!err)
		err = capture_filter_start(s);
	if (!err)
		err = capture_losses_start(s);
	if (!err)
		err = tachbpf_bpf__attach(s->skel);
	if (err)
		log_error("cannot load the BPF programs: %s%s (-v shows the kernel's reasons, "
			  "`tachbpf doctor` what is missing)", strerror(-err), load_hint(err));
	return err;
}

/* Open the events, and what reads the records. 0 or -errno. */
static int open_events(struct capture *s)
{
	int err = sampler_open(s->sampler);

	if (!err)
		err = capture_faults_open(s);
	if (!err)
		err = capture_event_open(s);
	if (!err)
		err = capture_heap_prepare(s);
	if (err)
		return err;
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.events), take_record, s, NULL);
	err = s->ring ? capture_wake_for(s, sampler_timer(s->sampler)) : -errno;
	if (!err)
		err = capture_memory_start(s);
	if (!err && s->memory)
		err = capture_wake_for(s, capture_memory_fd(s));
	if (!err)
		err = capture_native_start(s);
	if (err || !s->life.machine.native)
		return err;
	return capture_wake_for(s, native_fd(s->life.machine.native));
}

static int load(struct capture *s)
{
	struct sampler_args sampling = { s->args.rate_hz, s->args.event, s->args.cpu_list };
	int err;

	s->skel = skeleton_open();
	if (!s->skel)
		return -errno;
	if (s->args.all)
		bpf_map__set_max_entries(s->skel->maps.py_procs, memory_need_processes(
					 bpf_map__max_entries(s->skel->maps.py_procs)));
	s->sampler = sampler_new(s->skel, &sampling);
	if (!s->sampler)
		return -errno;
	err = configure(s);
	if (!err)
		err = load_programs(s);
	return err ? err : open_events(s);
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
	err = s->exes ? load(s) : -ENOMEM;
	if (!err)
		return s;
	capture_free(s);
	errno = -err;
	return NULL;
}

void capture_free(struct capture *s)
{
	if (!s)
		return;
	sampler_free(s->sampler);
	capture_faults_free(s);
	capture_event_free(s);
	ring_buffer__free(s->ring);
	capture_losses_free(s);
	capture_memory_free(s);
	capture_find_free(s);
	lifecycle_free(&s->life);
	u64map_free(&s->held_since);
	capture_native_free(s);
	capture_heap_free(s);
	capture_tasks_free(s);
	tachbpf_bpf__destroy(s->skel);
	exe_cache_free(s->exes);
	discovery_free(s->discovery);
	counters_free(&s->counters);
	proc_filter_eval_free(s->filter_eval);
	offcpu_scan_end();
	reader_end();
	inspector_end();
	free(s);
}

int capture_start(struct capture *s)
{
	int err = s->args.all ? capture_find(s) : 0;

	if (err) {
		log_error("cannot list the processes in /proc: %s", strerror(-err));
		return err;
	}
	capture_native_prepare(s);
	capture_async_poll(s);
	if (s->args.observer->ops->start)
		s->args.observer->ops->start(s->args.observer, now_ns());
	s->startup_cpu_s = cpu_time_s();
	remote_mem_hurry(true);	/* from now on samples wait for user space */
	err = capture_wait_start(s);
	if (!err)
		err = capture_event_start(s);
	if (!err)
		err = sampler_start(s->sampler);
	if (!err)
		err = capture_faults_start(s);
	if (!err && !s->mode->scan_only)
		capture_wait_scan(s);
	return err;
}

void capture_scan(struct capture *s)
{
	if (s->mode->scan_only)
		capture_wait_scan(s);
}

void capture_emit_waits(struct capture *s)
{
	if (s->mode->scan_only)
		capture_wait_emit_open(s);
}

void capture_scan_again(struct capture *s, capture_chosen_fn chosen, void *ctx)
{
	if (s->mode->scan_only)
		capture_wait_scan_again(s, chosen, ctx);
}

static bool is_quiet(const struct capture *s)
{
	return now_ns() > s->new_ns + NEW_NS;
}

/*
 * How long a small batch may wait: longer while nothing is new, unless samples make user space read
 * processes, which may end. From then on, the BPF side wakes us for what is new. What came before it
 * knew is taken first.
 */
static int begin_wait_ms(struct capture *s)
{
	int batch = s->args.batch_ms ? s->args.batch_ms : BATCH_MS;
	bool reads = s->args.native || s->args.async || s->args.trace_context ||
		     s->args.fewer_reads || s->memory || s->heap || s->event;

	if (s->args.quiet_batch_ms <= batch || reads || !is_quiet(s))
		return batch;
	s->skel->bss->waits_long = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	lifecycle_fail(&s->life, take_records(s, now_ns() + TAKE_MS * MS_NS));
	return is_quiet(s) ? s->args.quiet_batch_ms : batch;
}

/* Without workers nothing could be found, read or named any more, which nobody would notice. */
static int check_keeper(void)
{
	int err = keeper_check();

	if (err)
		log_error("the process " KEEPER_NAME " (%d) was killed: without it nothing can be "
			  "found or named, and the rights to start another were given up; what was "
			  "sampled until now is kept", keeper_pid());
	return err;
}

int capture_poll(struct capture *s, int timeout_ms)
{
	int batch = begin_wait_ms(s), n;
	int soon = capture_heap_hurries(s) ? HURRY_MS : capture_memory_batch(s, batch);
	int limit = timeout_ms < soon ? timeout_ms : soon;
	uint64_t wait = capture_async_wait_ns(s, now_ns(), limit * MS_NS);
	struct epoll_event ev;

	wait = capture_tasks_wait_ns(s, now_ns(), wait);
	wait = lifecycle_wait_ns(&s->life, now_ns(), wait);
	wait = capture_finds(s) ? 0 : wait;
	n = epoll_wait(ring_buffer__epoll_fd(s->ring), &ev, 1, (wait + MS_NS - 1) / MS_NS);
	s->skel->bss->waits_long = 0;
	if (n < 0 && errno != EINTR)
		return -errno;
	lifecycle_fail(&s->life, check_keeper());
	if (s->life.err)
		return s->life.err;
	sampler_vary(s->sampler);
	capture_faults_vary(s);
	lifecycle_fail(&s->life, take_records(s, now_ns() + TAKE_MS * MS_NS));
	capture_find_more(s);
	capture_inspect_due(s);
	capture_memory_poll(s);
	capture_native_poll(s);
	capture_heap_poll(s);
	capture_async_poll(s);
	capture_tasks_poll(s);
	return s->life.err;
}

int capture_set_rate(struct capture *s, uint32_t hz)
{
	return sampler_set_rate(s->sampler, hz);
}

void capture_pause(struct capture *s, bool pause)
{
	capture_wait_pause(s, pause);
	sampler_pause(s->sampler, pause);
	capture_faults_pause(s, pause);
	capture_event_pause(s, pause);
}

uint64_t capture_walk_ns(struct capture *s)
{
	struct sample_cost cost = { 0 };

	if (s->args.self_time)
		counters_read_cost(&cost, bpf_map__fd(s->skel->maps.sample_times));
	return cost.cnt * cost.mean_ns;
}

uint32_t capture_rate(const struct capture *s)
{
	return sampler_rate(s->sampler);
}

static void read_counters(struct capture *s)
{
	struct counters *c = &s->counters;
	size_t i;

	s->no_event = 0;
	counters_read(c, bpf_map__fd(s->skel->maps.counters));
	for (i = 0; i < c->cpu_cnt; i++) {
		uint64_t missed = sampler_missed(s->sampler, c->cpus[i].cpu);

		c->cpus[i].missed += missed;
		c->sum[CNT_MISSED] += missed;
		s->no_event += missed;
	}
}

/*
 * End the processes that no longer exist, if exit records were lost. Repeated in every call,
 * because a zombie still exists.
 */
static void sweep(struct capture *s)
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

/* Of thousands of processes, few have had records since they had nothing left to do. */
static void care_for_heard(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	while ((t = lifecycle_next_heard(&s->life, &pos))) {
		if (t->process) {
			lifecycle_fail(&s->life, process_settle_late(t->process));
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

	if (s->housekeeps % CPUS_S == 0) {
		sampler_refresh(s->sampler);
		capture_faults_refresh(s);
		capture_event_refresh(s);
	}
	capture_wait_scan(s);
	capture_take_losses(s);
	sweep(s);
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
		lifecycle_fail(&s->life, process_settle(t->process));
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

	sampler_stop(s->sampler);
	capture_faults_stop(s);
	capture_event_stop(s);
	capture_wait_stop(s);
	capture_heap_stop(s);
	s->life.stop_ns = now_ns();
	lifecycle_fail(&s->life, take_records(s, UINT64_MAX));
	capture_take_losses(s);
	if (ops->stop)
		ops->stop(s->args.observer, missed_pct(s));
	capture_memory_stop(s);
	remote_mem_grant(NAMES_AT_STOP_NS);
	native_life_stop(&s->life.machine);
	while ((t = lifecycle_next_profiled(&s->life, &pos)))
		lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
	return s->life.err;
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
		.sent_codes = s->args.sent_codes,
		.hardware_cycles = sampler_is_hardware(s->sampler),
	};
	capture_native_counts(s, &out->native);
	if (s->args.self_time)
		counters_read_cost(&out->cost, bpf_map__fd(s->skel->maps.sample_times));
}
