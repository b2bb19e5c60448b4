// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * session.c - between the BPF programs and the processes. See session.h.
 *
 * Owns the skeleton, the ring buffer and the table of live processes. What is
 * known of a process lives here and in the kernel's py_procs; the kernel's copy
 * goes by itself when the process exits or execs, ours when the ring buffer
 * tells us so.
 */
#include "session.h"

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

#include "candidates.h"
#include "counters.h"
#include "discover.h"
#include "modes.h"
#include "process.h"
#include "recording.h"
#include "tachbpf.skel.h"
#include "util.h"

#define MS_NS 1000000ull
/* What waits longest: a batch that is too small to wake us (see cfg_wakeup_bytes). */
#define BATCH_MS 100
/* Per CPU: at 10 kHz and 60 frames a CPU makes 1 MB in BATCH_MS. */
#define RING_BYTES_PER_CPU (1024 * 1024)
#define RING_BYTES_MIN (4 * 1024 * 1024)
#define RING_BYTES_MAX (64 * 1024 * 1024)

struct session {
	struct session_args args;
	struct tachbpf_bpf *skel;
	struct ring_buffer *ring;
	struct sampler *sampler;
	struct discovery *discovery;
	struct u64map processes;	/* tgid -> struct process */
	struct candidates candidates;
	struct counters counters;	/* as of the last read_counters() */
	double startup_cpu_s;
	uint64_t lifecycle_lost;	/* as of the last sweep */
	uint64_t orphans, unidentified, received, seen, table_full;
	int err;			/* the first error that ends the session */
};

/* ---- processes ---- */

static void forget_in_kernel(struct session *s, pid_t tgid)
{
	uint32_t key = tgid;

	bpf_map__delete_elem(s->skel->maps.py_procs, &key, sizeof(key), 0);
}

static int tell_kernel(struct session *s, pid_t tgid, struct py_proc *py)
{
	uint32_t key = tgid;
	struct proc_stat st;
	int err = bpf_map__update_elem(s->skel->maps.py_procs, &key, sizeof(key), py, sizeof(*py),
				       BPF_ANY);

	/*
	 * Gone meanwhile, be it as a zombie: its exit could not remove what was not there
	 * yet, and nobody else would.
	 */
	if (!err && (proc_stat(tgid, &st) || st.zombie))
		forget_in_kernel(s, tgid);
	return err;
}

static void drop_process(struct session *s, struct process *p)
{
	int err;

	u64map_remove(&s->processes, process_tgid(p));
	err = recording_end_process(s->args.recording, p);
	if (err && !s->err)
		s->err = err;
	process_free(p);
}

static struct process *add_process(struct session *s, const struct process_args *args)
{
	struct process *old = u64map_get(&s->processes, args->tgid), *p;
	int err;

	if (old)
		drop_process(s, old);
	p = process_new(args);
	if (!p || u64map_put(&s->processes, args->tgid, p)) {
		process_free(p);
		s->err = s->err ? s->err : -ENOMEM;
		return NULL;
	}
	s->seen++;
	err = recording_add(s->args.recording, p);
	if (err && !s->err)
		s->err = err;
	return err ? NULL : p;
}

static uint64_t new_ident(pid_t tgid)
{
	return (now_ns() ^ (uint64_t)tgid << 40) | 1;
}

/* The kernel's count of ticks in a process that was taken for something else. */
static uint64_t other_ticks(struct session *s, pid_t tgid)
{
	struct py_proc py;
	uint32_t key = tgid;

	if (bpf_map__lookup_elem(s->skel->maps.py_procs, &key, sizeof(key), &py, sizeof(py), 0))
		return 0;
	return py.ticks;
}

/* It is Python: from now on the kernel walks it. */
static int admit(struct session *s, pid_t tgid, uint64_t start_ns,
		 const struct cpython_image *image, struct py_proc *py, uint64_t late)
{
	struct process_args args = {
		.tgid = tgid,
		.start_ns = start_ns,
		.image = image,
		.opcodes = s->args.opcodes,
	};
	struct proc_stat st;
	struct process *p;
	int err;

	if (proc_stat(tgid, &st))
		return -ESRCH;
	py->start_ns = start_ns;
	py->ident = new_ident(tgid);
	args.comm = st.comm;
	args.py = *py;
	recording_meta(s->args.recording, &args.meta);
	p = add_process(s, &args);
	if (!p)
		return s->err;
	process_add_late(p, late);
	log_debug("process %d: CPython %s", tgid, image->version);
	err = tell_kernel(s, tgid, py);
	if (err) {
		s->table_full++;	/* MAX_PROCS of them ran; looked at again later */
		drop_process(s, p);
		return err;
	}
	process_set_admitted(p, now_ns());
	return 0;
}

static void refuse(struct session *s, pid_t tgid, const char *why)
{
	struct proc_stat st;
	char comm[4 * PROC_COMM_MAX];

	if (proc_stat(tgid, &st))
		return;
	if (recording_refuse(s->args.recording, tgid, st.comm, why))
		log_warn("process %d (%s) is not profiled: %s", tgid,
			 escape_text(st.comm, strlen(st.comm), comm, sizeof(comm)), why);
}

static int look(struct session *s, pid_t tgid, uint64_t start_ns, uint64_t late, char *why,
		size_t why_size)
{
	const struct cpython_image *image;
	struct py_proc py;
	int err = discovery_look(s->discovery, tgid, &image, &py, why, why_size);

	return err ? err : admit(s, tgid, start_ns, image, &py, late);
}

/* Tell the kernel not to ask again; we look by our own clock. */
static void mark_other(struct session *s, struct candidate *cand)
{
	struct py_proc py = {
		.start_ns = cand->start_ns,
		.ident = new_ident(cand->tgid),
		.state = PY_PROC_OTHER,
	};

	if (!cand->tries)
		tell_kernel(s, cand->tgid, &py);
}

static void look_at_candidate(struct session *s, struct candidate *cand)
{
	uint64_t ticks = other_ticks(s, cand->tgid);
	char why[160];
	int err;

	if (cand->tries > CANDIDATE_YOUNG_TRIES && ticks == cand->seen_ticks) {
		/* It has not run since. If it is gone, so is its entry; keep none for it. */
		if (kill(cand->tgid, 0) && errno == ESRCH)
			candidates_forget(&s->candidates, cand->tgid);
		else
			candidate_backoff(cand, now_ns());
		return;
	}
	cand->seen_ticks = ticks;
	err = look(s, cand->tgid, cand->start_ns, cand->ticks + ticks, why, sizeof(why));
	if (!err || err == -ESRCH) {
		s->unidentified += err ? cand->ticks : 0;
		candidates_forget(&s->candidates, cand->tgid);
		return;
	}
	mark_other(s, cand);
	candidate_backoff(cand, now_ns());
	if (err == -ENOTSUP) {
		refuse(s, cand->tgid, why);
		cand->next_ns = UINT64_MAX;
	} else if (err != -ENOENT && cand->tries == 1) {
		log_debug("process %d: %s", cand->tgid, why);
	}
}

static void look_at_due(struct session *s)
{
	struct candidate *cand;
	size_t pos = 0;

	while ((cand = candidates_due(&s->candidates, now_ns(), &pos)))
		look_at_candidate(s, cand);
}

/* ---- records ---- */

static void note_candidate(struct session *s, const struct raw_header *h, uint64_t ticks,
			   bool restart)
{
	struct candidate *cand = candidates_note(&s->candidates, h->tgid, h->start_ns);

	if (!cand) {
		s->err = s->err ? s->err : -ENOMEM;
		return;
	}
	if (restart)
		candidate_restart(cand);
	cand->ticks += ticks;
	if (cand->next_ns <= now_ns())
		look_at_candidate(s, cand);
}

static void take_sample(struct session *s, const struct raw_sample *raw, size_t len)
{
	struct process *p = u64map_get(&s->processes, raw->h.tgid);
	int err;

	s->received++;
	if (p && !process_knows_start(p, raw->h.start_ns)) {
		drop_process(s, p);	/* the pid came back and we missed the exit */
		p = NULL;
	}
	if (!p) {
		s->orphans++;
		note_candidate(s, &raw->h, 1, false);
		return;
	}
	if (!process_has_sink(p)) {
		err = recording_open_process(s->args.recording, p);
		if (err && !s->err)
			s->err = err;
	}
	err = process_sample(p, raw, len);
	if (err && !s->err)
		s->err = err;
}

/*
 * When we are behind, the ring buffer holds more such ticks of a process that has been
 * admitted meanwhile. Later ones mean that the kernel has forgotten it: an exec, say.
 */
static void take_unknown(struct session *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);

	if (p && process_knows_start(p, h->start_ns) && h->time_ns < process_admitted(p))
		process_add_late(p, 1);
	else
		note_candidate(s, h, 1, false);
}

static void take_code(struct session *s, const struct raw_code *raw, size_t len)
{
	struct process *p = u64map_get(&s->processes, raw->h.tgid);
	int err;

	if (!p || !process_knows_start(p, raw->h.start_ns))
		return;	/* the sample that follows sorts it out */
	err = process_code(p, raw, len);
	if (err && !s->err)
		s->err = err;
}

static void take_fork(struct session *s, const struct raw_lifecycle *ev)
{
	struct process *parent = u64map_get(&s->processes, ev->parent_tgid);
	struct process_args args;

	if (!ev->known)
		return;
	if (!parent) {
		/* The kernel knew the parent and we do not: an event was lost. */
		forget_in_kernel(s, ev->h.tgid);
		note_candidate(s, &ev->h, 0, false);
		return;
	}
	args = (struct process_args){
		.tgid = ev->h.tgid,
		.start_ns = ev->h.start_ns,
		.comm = process_comm(parent),
		.image = process_image(parent),
		.py = *process_py(parent),
		.opcodes = s->args.opcodes,
	};
	recording_meta(s->args.recording, &args.meta);
	add_process(s, &args);
}

static void take_exec(struct session *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);

	if (p)
		drop_process(s, p);
	note_candidate(s, h, 0, true);
}

static void take_exit(struct session *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);
	struct candidate *cand = candidates_find(&s->candidates, h->tgid);

	if (p && process_knows_start(p, h->start_ns))
		drop_process(s, p);
	if (cand) {
		s->unidentified += cand->tries ? 0 : cand->ticks;
		candidates_forget(&s->candidates, h->tgid);
	}
}

static int take_record(void *ctx, void *data, size_t len)
{
	const struct raw_header *h = data;
	struct session *s = ctx;

	if (len < sizeof(*h))
		return 0;
	switch (h->kind) {
	case RAW_SAMPLE:
		take_sample(s, data, len);
		break;
	case RAW_CODE:
		take_code(s, data, len);
		break;
	case RAW_UNKNOWN:
		take_unknown(s, h);
		break;
	case RAW_EXEC:
		take_exec(s, h);
		break;
	case RAW_FORK:
		if (len >= sizeof(struct raw_lifecycle))
			take_fork(s, data);
		break;
	case RAW_EXIT:
		take_exit(s, h);
		break;
	}
	return 0;
}

/* ---- the session ---- */

static uint32_t ring_bytes(int cpus)
{
	uint64_t want = (uint64_t)cpus * RING_BYTES_PER_CPU, bytes = RING_BYTES_MIN;

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

static int load(struct session *s)
{
	struct sampler_args sampling = { s->args.rate_hz, s->args.event, s->args.cpu_list };
	uint32_t bytes = ring_bytes(libbpf_num_possible_cpus());
	int err;

	s->skel = tachbpf_bpf__open();
	if (!s->skel)
		return -errno;
	s->sampler = sampler_new(s->skel, &sampling);
	if (!s->sampler)
		return -errno;
	s->skel->rodata->cfg_all = s->args.all;
	s->skel->rodata->cfg_gc = s->args.gc;
	s->skel->rodata->cfg_period_ns = sampler_period_ns(s->sampler);
	s->skel->rodata->cfg_wakeup_bytes = bytes / 4;
	bpf_map__set_max_entries(s->skel->maps.events, bytes);
	err = tachbpf_bpf__load(s->skel);
	if (!err)
		err = tachbpf_bpf__attach(s->skel);
	if (err) {
		log_error("cannot load the BPF programs: %s (`tachbpf doctor` says why)",
			  strerror(-err));
		return err;
	}
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.events), take_record, s, NULL);
	return s->ring ? 0 : -errno;
}

struct session *session_new(const struct session_args *args)
{
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->args = *args;
	libbpf_set_print(print_libbpf);
	s->discovery = discovery_new();
	err = s->discovery ? load(s) : -ENOMEM;
	if (!err)
		return s;
	session_free(s);
	errno = -err;
	return NULL;
}

void session_free(struct session *s)
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
	discovery_free(s->discovery);
	counters_free(&s->counters);
	free(s);
}

int session_add(struct session *s, pid_t tgid)
{
	char why[160];
	int err;

	if (kill(tgid, 0) && errno == ESRCH) {
		log_error("there is no process %d", tgid);
		return -ESRCH;
	}
	err = look(s, tgid, 0, 0, why, sizeof(why));
	if (s->err)
		return s->err;	/* its file cannot be made: that was said */
	if (err == -ENOENT)
		log_error("process %d is not Python: no interpreter and no libpython in it "
			  "(tachbpf -a lists what it finds)", tgid);
	else if (err)
		log_error("process %d cannot be profiled: %s", tgid, why);
	return err;
}

int session_watch(struct session *s, pid_t tgid)
{
	uint32_t key = tgid, one = 1;

	return bpf_map__update_elem(s->skel->maps.watched, &key, sizeof(key), &one, sizeof(one),
				    BPF_ANY);
}

static int scan_one(void *ctx, pid_t tgid)
{
	struct session *s = ctx;
	struct proc_stat st;
	struct candidate *cand;

	if (tgid == getpid() || proc_stat(tgid, &st) || st.kernel_thread || st.zombie)
		return 0;
	cand = candidates_note(&s->candidates, tgid, 0);
	if (!cand)
		return -ENOMEM;
	look_at_candidate(s, cand);
	return 0;
}

int session_start(struct session *s)
{
	int err = s->args.all ? proc_each(scan_one, s) : 0;

	if (err) {
		log_error("cannot look through /proc: %s", strerror(-err));
		return err;
	}
	recording_start(s->args.recording);
	s->startup_cpu_s = cpu_time_s();
	return sampler_start(s->sampler);
}

int session_poll(struct session *s, int timeout_ms)
{
	int limit = timeout_ms < BATCH_MS ? timeout_ms : BATCH_MS, n;
	uint64_t wait = candidates_wait_ns(&s->candidates, now_ns(), limit * MS_NS);
	struct epoll_event ev;

	n = epoll_wait(ring_buffer__epoll_fd(s->ring), &ev, 1, (wait + MS_NS - 1) / MS_NS);
	if (n < 0 && errno != EINTR)
		return -errno;
	n = ring_buffer__consume(s->ring);
	if (n < 0 && n != -EINTR && !s->err)
		s->err = n;
	look_at_due(s);
	return s->err;
}

static void read_counters(struct session *s)
{
	counters_read(&s->counters, bpf_map__fd(s->skel->maps.counters));
}

/* Exits may have been lost with a full ring buffer: see who is still there. */
static void sweep(struct session *s)
{
	struct process *p;
	size_t pos = 0;
	uint64_t lost;

	read_counters(s);
	lost = s->counters.sum[CNT_LIFECYCLE_LOST];
	if (lost == s->lifecycle_lost)
		return;
	s->lifecycle_lost = lost;
	while ((p = u64map_next(&s->processes, &pos)))
		if (kill(process_tgid(p), 0) && errno == ESRCH)
			drop_process(s, p);
}

int session_housekeep(struct session *s)
{
	struct process *p;
	size_t pos = 0;
	int err;

	sampler_refresh(s->sampler);
	sweep(s);
	while ((p = u64map_next(&s->processes, &pos))) {
		err = process_flush(p);
		if (err && !s->err)
			s->err = err;
	}
	return s->err;
}

static void set_quality(struct session *s)
{
	uint64_t *sum = s->counters.sum;
	double taken, missed;

	read_counters(s);
	taken = sum[CNT_SAMPLE];
	missed = sum[CNT_MISSED] + sum[CNT_RING_FULL];
	recording_set_quality(s->args.recording, s->args.rate_hz,
			      taken ? 100 * missed / (taken + missed) : 0);
}

int session_stop(struct session *s)
{
	struct process *p;
	size_t pos = 0;
	int n;

	sampler_stop(s->sampler);
	n = ring_buffer__consume(s->ring);
	if (n < 0 && n != -EINTR && !s->err)
		s->err = n;
	set_quality(s);
	while ((p = u64map_next(&s->processes, &pos)))
		drop_process(s, p);
	return s->err;
}

void session_counts(struct session *s, struct session_counts *out)
{
	read_counters(s);
	*out = (struct session_counts){
		.kernel = s->counters.sum,
		.cpus = s->counters.cpus,
		.cpu_cnt = s->counters.cpu_cnt,
		.received = s->received,
		.orphans = s->orphans,
		.table_full = s->table_full,
		.unidentified = s->unidentified,
		.startup_cpu_s = s->startup_cpu_s,
		.processes_seen = s->seen,
		.processes_live = s->processes.cnt,
		.processes_pending = candidates_young_cnt(&s->candidates),
		.hardware_cycles = sampler_is_hardware(s->sampler),
	};
}
