// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture.c - between the BPF programs and the processes. See capture.h.
 *
 * Owns the skeleton, the ring buffer and the table of live processes (capture_look.c says
 * which those are, capture_records.c takes what is told of them). What is known of a process
 * lives here and in the kernel's py_procs; the kernel's copy goes by itself when the process
 * exits or execs, ours when the ring buffer tells us so.
 */
#include "capture/capture_impl.h"

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
#include "capture/proc_table.h"
#include "capture/sampler.h"
#include "host/identity.h"
#include "host/remote_mem.h"
#include "resolve/observer.h"
#include "tachbpf.skel.h"
#include "target/proc_filter_eval.h"

#define MS_NS 1000000ull
#define TABLE_SWEEP_S 10
/* Threads that sleep for long: how much of that a kill -9 can cost. */
#define SETTLE_S 10
/* At the end no sample waits any more: so long for names that there was no time to read. */
#define NAMES_AT_STOP_NS 1000000000ll
/* Records between two looks at the clock. */
#define LOOK_AT_CLOCK 32
/* What waits longest: a batch that is too small to wake us (see cfg_wakeup_bytes). */
#define BATCH_MS 100
/*
 * Room for half a second of stacks of 100 frames: on a host that is busy with more than
 * it has CPUs for we get ours that late (100 ms were seen at four threads a CPU).
 */
#define RING_SAMPLE_BYTES 1600
#define RING_LATE_S 2	/* 1 / this */
#define RING_BYTES_MIN (4 * 1024 * 1024)
#define RING_BYTES_MAX (64 * 1024 * 1024)

/*
 * After this a sample is cut. Python's own stacks take a few us; only 3.11, whose code
 * objects are all read every time, takes up to 50 us at 250 frames on cold caches.
 */
#define SAMPLE_LIMIT_NS 60000

/* ---- processes ---- */

void capture_fail(struct capture *s, int err)
{
	if (!s->err)
		s->err = err;
}

void capture_end_process(struct capture *s, struct process *p, uint64_t end_ns)
{
	uint64_t until = end_ns ? end_ns : s->stop_ns ? s->stop_ns : now_ns();
	const struct observer_ops *ops = s->args.observer->ops;

	u64map_remove(&s->processes, process_tgid(p));
	capture_fail(s, process_settle_waits(p, until));
	capture_fail(s, process_settle_names(p));
	if (ops->end)
		capture_fail(s, ops->end(s->args.observer, p, end_ns));
	process_free(p);
}

void capture_drop_process(struct capture *s, struct process *p)
{
	capture_end_process(s, p, 0);
}

void capture_process_args(const struct capture *s, struct process_args *args)
{
	args->observer = s->args.observer;
	args->opcodes = s->args.opcodes;
	args->kernel = s->args.kernel;
	args->wait_frames = s->mode->wait_frames;
	args->runnable_frames = s->mode->runnable_frames;
	if (s->mode->waits)
		args->waits = (struct wait_rules){
			.interval_ns = sampling_interval_us(s->args.rate_hz) * 1000,
			.min_ns = s->args.min_wait_ns,
			.runnable = s->mode->runnable,
		};
}

struct process *capture_add_process(struct capture *s, const struct process_args *args)
{
	struct process *old = u64map_get(&s->processes, args->tgid), *p;
	const struct observer_ops *ops = s->args.observer->ops;
	int err;

	if (old)
		capture_drop_process(s, old);
	p = process_new(args);
	if (!p || u64map_put(&s->processes, args->tgid, p)) {
		process_free(p);
		capture_fail(s, -ENOMEM);
		return NULL;
	}
	s->seen++;
	err = ops->begin ? ops->begin(s->args.observer, p) : 0;
	capture_fail(s, err);
	return err ? NULL : p;
}

/* ---- the ring buffer ---- */

/* Records may come faster than we take them: the clock and Ctrl-C want to be looked at, too. */
static int take_record(void *ctx, void *data, size_t len)
{
	struct capture *s = ctx;

	capture_take(s, data, len);
	return ++s->taken % LOOK_AT_CLOCK == 0 && now_ns() > s->take_until_ns ? -EAGAIN : 0;
}

/* 0, or -errno other than that there was no time for more. */
static int take_records(struct capture *s, uint64_t until_ns)
{
	uint64_t begin_ns = now_ns();
	int n;

	s->take_until_ns = until_ns;
	n = ring_buffer__consume(s->ring);
	if (n >= 0)
		s->taken_ns = begin_ns;
	return n < 0 && n != -EINTR && n != -EAGAIN ? n : 0;
}

/* ---- the capture ---- */

/* exe_cache_fn: from now on its processes are known from their exec. */
static void tell_kernel_of_exe(void *ctx, uint64_t key, const struct py_exe *exe)
{
	struct capture *s = ctx;

	bpf_map__update_elem(s->skel->maps.known_exes, &key, sizeof(key), exe, sizeof(*exe),
			     BPF_ANY);
}

static uint32_t ring_bytes(int cpus, unsigned int rate_hz)
{
	uint64_t want = (uint64_t)cpus * rate_hz * RING_SAMPLE_BYTES / RING_LATE_S;
	uint64_t bytes = RING_BYTES_MIN;

	while (bytes < want && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level > LIBBPF_WARN || log_get_level() < LOG_VERBOSE)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/* Capabilities and /sys/kernel/btf were checked before: what is left to go wrong. */
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

/* The sampler's timer wakes capture_poll(), too. */
static int wake_for_sampler(struct capture *s)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(ring_buffer__epoll_fd(s->ring), EPOLL_CTL_ADD, sampler_timer(s->sampler),
			 &ev) ? -errno : 0;
}

static int load(struct capture *s)
{
	struct sampler_args sampling = { s->args.rate_hz, s->args.event, s->args.cpu_list };
	uint32_t bytes = ring_bytes(libbpf_num_possible_cpus(), s->args.rate_hz);
	int err;

	s->skel = tachbpf_bpf__open();
	if (!s->skel)
		return -errno;
	s->sampler = sampler_new(s->skel, &sampling);
	if (!s->sampler)
		return -errno;
	capture_choose_programs(s);
	s->skel->rodata->cfg_all = s->args.all;
	s->skel->rodata->cfg_gc = s->args.gc;
	s->skel->rodata->cfg_codes_bytes = bytes / 2;
	s->skel->rodata->cfg_limit_ns = s->args.no_sample_limit ? 0 : SAMPLE_LIMIT_NS;
	s->skel->rodata->cfg_self_time = s->args.self_time;
	s->skel->rodata->cfg_period_ns = sampler_period_ns(s->sampler);
	s->skel->rodata->cfg_wakeup_bytes = RING_BYTES_MIN / 4;
	s->skel->rodata->cfg_sent_slots = s->args.code_cache;
	s->skel->rodata->cfg_hierarchies = identities_hierarchies(s->args.identities);
	/* Of processes that are asked for by number, /proc tells where they are. */
	bpf_program__set_autoload(s->skel->progs.on_cgroup_mkdir,
				  s->args.all && !access("/proc/cgroups", F_OK));
	bpf_map__set_max_entries(s->skel->maps.sent_codes, s->args.code_cache);
	bpf_map__set_max_entries(s->skel->maps.events, bytes);
	err = capture_choose_config(s);
	if (err)
		return err;
	err = tachbpf_bpf__load(s->skel);
	if (!err && s->filter_eval)
		proc_filter_eval_start(s->filter_eval, s->skel->maps.marks);
	if (!err)
		err = tachbpf_bpf__attach(s->skel);
	if (err) {
		log_error("cannot load the BPF programs: %s%s (-v shows the kernel's reasons, `tachbpf doctor` what is missing)",
			  strerror(-err), load_hint(err));
		return err;
	}
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.events), take_record, s, NULL);
	return s->ring ? wake_for_sampler(s) : -errno;
}

struct capture *capture_new(const struct capture_args *args)
{
	struct capture *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->args = *args;
	s->mode = &record_modes[args->mode];
	libbpf_set_print(print_libbpf);
	s->discovery = discovery_new();
	s->exes = s->discovery ? exe_cache_new(s->discovery, tell_kernel_of_exe, s) : NULL;
	err = s->exes ? load(s) : -ENOMEM;
	if (!err)
		return s;
	capture_free(s);
	errno = -err;
	return NULL;
}

void capture_free(struct capture *s)
{
	struct process *p;
	size_t pos = 0;

	if (!s)
		return;
	sampler_free(s->sampler);
	ring_buffer__free(s->ring);
	tachbpf_bpf__destroy(s->skel);
	while ((p = u64map_next(&s->processes, &pos)))
		process_free(p);
	u64map_free(&s->processes);
	candidates_free(&s->candidates);
	exe_cache_free(s->exes);
	discovery_free(s->discovery);
	counters_free(&s->counters);
	proc_filter_eval_free(s->filter_eval);
	remote_mem_end();
	free(s);
}

int capture_watch(struct capture *s, pid_t tgid, enum watch how)
{
	uint32_t key = tgid, value = how;

	return bpf_map__update_elem(s->skel->maps.watched, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

static int scan_one(void *ctx, pid_t tgid)
{
	struct capture *s = ctx;
	struct proc_stat st;
	struct candidate *cand;

	if (tgid == getpid() || proc_stat(tgid, &st) || st.kernel_thread ||
	    !proc_living_task(tgid) || !capture_chooses(s, tgid))
		return 0;
	cand = candidates_note(&s->candidates, tgid, 0);
	if (!cand)
		return -ENOMEM;
	cand->chosen = true;
	capture_look(s, cand);
	return 0;
}

int capture_start(struct capture *s)
{
	int err = s->args.all ? proc_each(scan_one, s) : 0;

	exe_cache_learn_likely(s->exes);
	if (err) {
		log_error("cannot look through /proc: %s", strerror(-err));
		return err;
	}
	if (s->args.observer->ops->start)
		s->args.observer->ops->start(s->args.observer, now_ns());
	s->startup_cpu_s = cpu_time_s();
	remote_mem_hurry(true);	/* from now on samples wait */
	err = capture_follow_scheduler(s);
	if (!err)
		err = sampler_start(s->sampler);
	if (!err)
		capture_look_asleep(s);
	return err;
}

int capture_poll(struct capture *s, int timeout_ms)
{
	int limit = timeout_ms < BATCH_MS ? timeout_ms : BATCH_MS, n;
	uint64_t wait = candidates_wait_ns(&s->candidates, now_ns(), limit * MS_NS);
	struct epoll_event ev;

	n = epoll_wait(ring_buffer__epoll_fd(s->ring), &ev, 1, (wait + MS_NS - 1) / MS_NS);
	if (n < 0 && errno != EINTR)
		return -errno;
	sampler_vary(s->sampler);
	capture_fail(s, take_records(s, now_ns() + BATCH_MS * MS_NS));
	capture_look_at_due(s);
	return s->err;
}

static void read_counters(struct capture *s)
{
	counters_read(&s->counters, bpf_map__fd(s->skel->maps.counters));
}

/*
 * Exits may have been lost with a full ring buffer: see who is still there. Again and again,
 * for one whose parent has not waited for it yet is there still.
 */
static void sweep(struct capture *s)
{
	struct process *p;
	size_t pos = 0;

	read_counters(s);
	if (!s->counters.sum[CNT_LIFECYCLE_LOST])
		return;
	while ((p = u64map_next(&s->processes, &pos)))
		if (kill(process_tgid(p), 0) && errno == ESRCH)
			capture_drop_process(s, p);
}

int capture_housekeep(struct capture *s)
{
	const struct observer_ops *ops = s->args.observer->ops;
	struct process *p;
	size_t pos = 0;

	sampler_refresh(s->sampler);
	capture_look_asleep(s);
	sweep(s);
	if (++s->housekeeps % TABLE_SWEEP_S == 0)
		proc_table_sweep(s->skel->maps.py_procs);
	while ((p = u64map_next(&s->processes, &pos))) {
		if (s->housekeeps % SETTLE_S == 0 && s->mode->waits)
			capture_settle_waits(s, p);
		capture_fail(s, process_settle_names(p));
	}
	if (ops->tick)
		capture_fail(s, ops->tick(s->args.observer));
	return s->err;
}

/* Of the samples that should be there, in percent. */
static double missed_pct(struct capture *s)
{
	uint64_t *sum = s->counters.sum;
	double taken, missed;

	read_counters(s);
	taken = sum[CNT_SAMPLE];
	missed = sum[CNT_MISSED] + sum[CNT_RING_FULL];
	return taken ? 100 * missed / (taken + missed) : 0;
}

int capture_stop(struct capture *s)
{
	const struct observer_ops *ops = s->args.observer->ops;
	struct process *p;
	size_t pos = 0;

	sampler_stop(s->sampler);
	capture_leave_scheduler(s);
	s->stop_ns = now_ns();
	capture_fail(s, take_records(s, UINT64_MAX));
	if (ops->stop)
		ops->stop(s->args.observer, missed_pct(s));
	remote_mem_grant(NAMES_AT_STOP_NS);
	while ((p = u64map_next(&s->processes, &pos)))
		capture_drop_process(s, p);
	return s->err;
}

void capture_counts(struct capture *s, struct capture_counts *out)
{
	read_counters(s);
	*out = (struct capture_counts){
		.kernel = s->counters.sum,
		.cpus = s->counters.cpus,
		.cpu_cnt = s->counters.cpu_cnt,
		.received = s->received,
		.asleep = s->asleep,
		.orphans = s->orphans,
		.table_full = s->table_full,
		.unidentified = s->unidentified,
		.containers_beyond = identities_beyond(s->args.identities),
		.startup_cpu_s = s->startup_cpu_s,
		.processes_seen = s->seen,
		.processes_live = s->processes.cnt,
		.processes_pending = candidates_young_cnt(&s->candidates),
		.code_cache = s->args.code_cache,
		.hardware_cycles = sampler_is_hardware(s->sampler),
	};
	if (s->args.self_time)
		counters_read_cost(&out->cost, bpf_map__fd(s->skel->maps.sample_times));
}
