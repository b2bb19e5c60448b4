// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_inspect.c - see capture_inspect.h. inspect_schedule.c decides when a process is
 * inspected, discover.c inspects its files, lifecycle.c makes the transition.
 */
#include "capture/capture_inspect.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_filter.h"
#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "host/identity.h"
#include "host/proc.h"
#include "resolve/observer.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/inspector.h"

/* A Python that cannot be walked yet is inspected again after 2 ms << tries, at most 128 ms. */
#define UNREADY_TRIES 6
#define CMDLINE_MAX 4096

/* The result of an inspection: an event, and its details. */
struct finding {
	enum proc_event event;
	int err;			/* the result of discovery_inspect() */
	struct proc_info who;
	struct discovered found;
};

/* The cache is told what an executable runs again only after this time. */
#define SEEN_AGAIN_NS 10000000000ull

/* A process_args.entry. */
static int entry_of(void *ctx, pid_t tgid, struct py_proc *out)
{
	return proc_table_get(ctx, tgid, out) ? 0 : -ENOENT;
}

void capture_process_args(const struct capture *s, struct process_args *args)
{
	args->observer = s->args.observer;
	args->image_mem = discovery_mem;
	args->image_hold = known_image_hold;
	args->image_release = known_image_release;
	args->entry = entry_of;
	args->entry_ctx = s->life.table;
	args->unit = s->mode->unit;
	args->memory = s->mode->memory;
	args->opcodes = s->args.opcodes;
	args->share_names = s->args.share_names;
	args->kernel = s->args.kernel;
	args->native = s->life.machine.native;
	args->native_full = s->args.native_full;
	args->async = s->args.async;
	args->task_names = s->args.task_names;
	args->wait_frames = s->mode->wait_frames;
	args->runnable_frames = s->mode->runnable_frames;
	if (s->mode->waits)
		args->waits = (struct wait_rules){
			.interval_ns = sampling_interval_us(s->args.rate_hz) * 1000,
			.min_ns = s->args.min_wait_ns,
			.runnable = s->mode->runnable,
		};
}

void capture_end_program(struct capture *s, struct tracked *t, uint64_t end_ns)
{
	capture_take_losses(s);
	capture_heap_exec(s, t->tgid);
	lifecycle_step(&s->life, t, PROC_EV_EXEC, &(struct step){ .end_ns = end_ns });
}

/* ---- what is found ---- */

/* Returns true if it is the CPython that is profiled. */
static bool is_same(const struct process *p, const struct discovered *found)
{
	/* If the BPF side resolved the libpython, user space does not know its address (0). */
	return p && process_image(p) == found->image &&
	       (process_py(p)->runtime == found->proc.runtime || !process_py(p)->runtime);
}

static enum proc_event event_of(const struct finding *f, const struct process *p)
{
	switch (f->err) {
	case 0:
		return is_same(p, &f->found) ? PROC_EV_FOUND_SAME : PROC_EV_FOUND;
	case -ESRCH:
		return PROC_EV_ENDED;
	case -EAGAIN:
		return PROC_EV_FOUND_UNREADY;
	case -ENOTSUP:
		return PROC_EV_FOUND_UNSUPPORTED;
	case -ENOENT:
		return PROC_EV_FOUND_NOTHING;
	case -EALREADY:
		return PROC_EV_FOUND_UNCHANGED;
	default:
		return PROC_EV_INSPECT_FAILED;
	}
}

/* Returns true if all records from before *since, set at the first call, have been taken. */
static bool took_since(const struct capture *s, uint64_t *since)
{
	if (!*since)
		*since = now_ns();
	return s->taken_ns > *since;
}

/*
 * Returns true if the process executes another program than the last record says. The record of
 * that exec is waited for: what the last program did comes before it. If it was lost, or none was
 * sent, the next inspection takes the program.
 */
static bool awaits_exec(struct capture *s, struct tracked *t, uint64_t program)
{
	if (!t->program || !program || program == t->program)
		return false;
	if (took_since(s, &t->moved_ns)) {
		capture_end_program(s, t, 0);
		t->program = program;
		t->program_seen = t->executed = true;
	}
	return true;
}

/* who: NULL if it was not just read. */
static void find_python(struct capture *s, struct tracked *t, const struct proc_info *who,
			struct finding *f)
{
	uint64_t runtime = t->process ? process_py(t->process)->runtime : 0;

	f->found.why[0] = '\0';
	f->err = 0;
	if (who)
		f->who = *who;
	else
		f->err = proc_info_read(t->tgid, &f->who);
	f->found.program = f->found.seen_ns = 0;
	if (!f->err)
		f->err = discovery_inspect(s->discovery, &f->who, &t->files, runtime, &f->found);
	if (awaits_exec(s, t, f->found.program)) {
		t->files = f->found.seen_ns = 0;
		f->err = -EAGAIN;
	}
	f->event = event_of(f, t->process);
}

/* Reports something about a process to the observer and, the first time, to the log. */
static void remark_once(struct capture *s, const struct proc_info *who, const char *before,
			const char *text)
{
	const char *comm = who->stat.comm;
	struct observer *o = s->args.observer;
	char escaped[4 * PROC_COMM_MAX];

	if (!text[0])
		return;
	if (!o->ops->remark ||
	    o->ops->remark(o, who->tgid, inspector_owner(who->task), comm, text))
		log_warn("process %d (%s)%s: %s", who->tgid,
			 escape_text(comm, strlen(comm), escaped, sizeof(escaped)), before, text);
}

/* ---- consequences ---- */

/*
 * Ticks in the process in which it may have been Python before it was found to be. They have no
 * samples. What a program does before it loads Python does not count.
 */
static uint64_t late_ticks(const struct tracked *t)
{
	uint64_t known = t->bpf_ticks > t->plain_ticks ? t->bpf_ticks - t->plain_ticks : 0;

	return t->process ? 0 : t->asked + known;
}

/* The process had no Python that can be walked then; 0: nobody has looked. */
static void note_plain(struct tracked *t, uint64_t seen_ns)
{
	if (t->process || !seen_ns)
		return;
	t->asked = 0;
	t->plain_ns = seen_ns;
	t->plain_ticks = t->bpf_ticks;
	t->plain = true;
}

/*
 * Admits a process: ticks walk it from now on. Returns 0, or -errno: the map py_procs has no room,
 * or the capture ends (s->life.err; then t may be freed).
 */
static int profile_process(struct capture *s, struct tracked *t, struct finding *f)
{
	char command[CMDLINE_MAX] = "";
	struct process_args args = {
		.tgid = t->tgid,
		.program = f->found.program,
		.comm = f->who.stat.comm,
		.command = command,
		.image = f->found.image,
		.executed_here = t->executed,
	};
	struct step step = { .args = &args, .inspected_ns = f->found.seen_ns };
	uint64_t late = late_ticks(t);
	int err;

	f->found.proc.ident = lifecycle_new_ident(t->tgid);
	if (f->event == PROC_EV_FOUND_SAME)
		f->found.proc.trace = process_py(t->process)->trace;
	args.py = f->found.proc;
	if (f->event == PROC_EV_FOUND) {
		proc_cmdline(f->who.task, command, sizeof(command));
		identity_of_process(s->args.identities, &f->who, &args.identity);
		capture_process_args(s, &args);
	}
	err = lifecycle_step(&s->life, t, f->event, &step);
	if (err || s->life.err)
		return err ? err : s->life.err;
	if (f->event == PROC_EV_FOUND && !t->program) {
		t->program = f->found.program;
		t->program_seen = t->program;
	}
	if (f->event == PROC_EV_FOUND) {
		log_debug("process %d: CPython %s", t->tgid, f->found.image->version);
		process_add_lost(t->process, 0, LOSS_LATE_DISCOVERY, late);
		s->scan_due = true;
	}
	t->asked = 0;
	return 0;
}

static void inspect_again_soon(struct tracked *t)
{
	t->files = 0;	/* inspect it even if it maps the same files */
	if (t->schedule.tries > UNREADY_TRIES)
		t->schedule.tries = UNREADY_TRIES;
	inspect_backoff(&t->schedule, now_ns());
}

/*
 * Tells the cache what the executable runs. Thousands of processes may run the same one, and each
 * time its file is opened; so not again within SEEN_AGAIN_NS.
 */
static void say_seen(struct capture *s, const struct finding *f)
{
	struct exe_seen *seen = &s->exes_seen[f->found.exe_ino % EXES_SEEN];
	uint64_t now = now_ns();

	if (f->found.exe_ino && seen->ino == f->found.exe_ino && seen->dev == f->found.exe_dev &&
	    seen->image == f->found.image && seen->self_below == f->found.proc.self_below &&
	    now < seen->time_ns + SEEN_AGAIN_NS)
		return;
	exe_cache_seen(s->exes, &f->who, f->found.image, &f->found.proc);
	*seen = (struct exe_seen){ f->found.exe_dev, f->found.exe_ino, f->found.image,
				   f->found.proc.self_below, now };
}

/* Takes a Python that can be walked. Errors as profile_process(). */
static int take_python(struct capture *s, struct tracked *t, struct finding *f)
{
	int err = profile_process(s, t, f);

	if (err) {
		snprintf(f->found.why, sizeof(f->found.why),
			 "the BPF programs' table of processes is full: %s", strerror(-err));
		return err;
	}
	if (!f->found.copied)
		say_seen(s, f);
	remark_once(s, &f->who, "", f->found.also);
	if (f->found.several && f->found.ready != READY_YES)
		inspect_again_soon(t);	/* another CPython in it may become initialised first */
	else
		inspect_no_more(&t->schedule);
	return 0;
}

/* No Python that can be walked was found. */
static void take_other(struct capture *s, struct tracked *t, const struct finding *f)
{
	bool is_first = !t->schedule.tries;

	lifecycle_step(&s->life, t, f->event, NULL);
	if (t->process) {
		t->asked = 0;
		inspect_no_more(&t->schedule);
		return;
	}
	inspect_backoff(&t->schedule, now_ns());
	if (t->state == PROC_REFUSED)
		inspect_no_more(&t->schedule);
	if ((f->err == -ETIMEDOUT || f->err == -EUSERS) && !t->stuck) {
		t->stuck = true;
		s->files_stuck++;
		remark_once(s, &f->who, " cannot be inspected", f->found.why);
	}
	if (f->event == PROC_EV_FOUND_UNSUPPORTED)
		remark_once(s, &f->who, " is not profiled", f->found.why);
	else if (f->event == PROC_EV_INSPECT_FAILED && is_first)
		log_debug("process %d: %s", t->tgid, f->found.why);
}

bool capture_took_last(const struct capture *s, struct tracked *t)
{
	if (!t->process)
		return true;
	return took_since(s, &t->gone_ns);
}

/*
 * Returns true for a profiled process that has released its memory: its last ticks, and then its
 * RAW_EXIT, still come, unless such a record was lost.
 */
static bool will_report_its_end(const struct capture *s, struct tracked *t)
{
	return t->process && (!s->counters.sum[CNT_LIFECYCLE_LOST] || !capture_took_last(s, t));
}

static void take_finding(struct capture *s, struct tracked *t, struct finding *f)
{
	switch (f->event) {
	case PROC_EV_FOUND:
	case PROC_EV_FOUND_SAME:
		if (!take_python(s, t, f) || s->life.err)
			return;
		f->event = PROC_EV_INSPECT_FAILED;
		take_other(s, t, f);
		break;
	case PROC_EV_FOUND_UNREADY:
		note_plain(t, f->found.seen_ns);
		lifecycle_step(&s->life, t, f->event, NULL);
		inspect_again_soon(t);
		break;
	case PROC_EV_FOUND_NOTHING:
	case PROC_EV_FOUND_UNCHANGED:
		note_plain(t, f->found.seen_ns);
		take_other(s, t, f);
		break;
	case PROC_EV_ENDED:
		if (will_report_its_end(s, t)) {
			inspect_backoff(&t->schedule, now_ns());
			break;
		}
		s->unidentified += lifecycle_unidentified(t);
		lifecycle_step(&s->life, t, f->event, NULL);
		break;
	default:
		take_other(s, t, f);
	}
}

/* ---- inspections ---- */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns true if there was no tick since the last inspection. A young process is never idle. */
static bool is_idle(const struct tracked *t, uint64_t bpf_ticks)
{
	return t->schedule.tries > INSPECT_YOUNG_TRIES && bpf_ticks == t->bpf_ticks &&
	       !t->schedule.changed;
}

static void inspect_timed(struct capture *s, struct tracked *t, const struct proc_info *who)
{
	uint64_t files = t->files, begin = cpu_ns();
	struct finding f;

	find_python(s, t, who, &f);
	if (files != t->files)
		native_life_stale(&s->life.machine, t->process);
	inspect_done(&t->schedule, now_ns(), cpu_ns() - begin, files != t->files);
	take_finding(s, t, &f);
}

void capture_inspect_read(struct capture *s, struct tracked *t, const struct proc_info *who)
{
	uint64_t bpf_ticks;
	struct py_proc py;

	if (!capture_filter_admits(s, t))
		return;
	if (!t->orphan && !t->process && lifecycle_bpf_admitted(&s->life, t->tgid, t->start_ns)) {
		inspect_backoff(&t->schedule, now_ns());	/* its RAW_EXEC will come */
		return;
	}
	bpf_ticks = proc_table_get(s->life.table, t->tgid, &py) ? py.ticks : 0;
	if (!is_idle(t, bpf_ticks)) {
		t->bpf_ticks = bpf_ticks;
		inspect_timed(s, t, who);
	} else if (kill(t->tgid, 0) && errno == ESRCH && capture_took_last(s, t)) {
		lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
	} else {
		inspect_backoff(&t->schedule, now_ns());
	}
}

void capture_inspect(struct capture *s, struct tracked *t)
{
	capture_inspect_read(s, t, NULL);
}

void capture_inspect_if_due(struct capture *s, struct tracked *t)
{
	if (t->schedule.next_ns <= now_ns())
		capture_inspect(s, t);
}

void capture_inspect_due(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	while ((t = lifecycle_next_due(&s->life, now_ns(), &pos)))
		capture_inspect(s, t);
}

/* ---- processes that the user selected ---- */

/* The first Python process that a process has started. */
struct python_below {
	struct capture *s;
	pid_t ancestor;
	struct proc_info who;
};

static int find_below(void *ctx, pid_t tgid)
{
	struct python_below *b = ctx;
	struct discovered found;
	uint64_t files = 0;
	int err;

	if (tgid == b->ancestor || !proc_descends_from(tgid, b->ancestor) ||
	    proc_info_read(tgid, &b->who))
		return 0;
	err = discovery_inspect(b->s->discovery, &b->who, &files, 0, &found);
	return !err || err == -EAGAIN || err == -ENOTSUP;
}

/* As with PyInstaller, whose programs start themselves again, or a shell. */
static void say_not_python(struct capture *s, pid_t tgid)
{
	struct python_below b = { .s = s, .ancestor = tgid };
	char comm[4 * PROC_COMM_MAX];

	if (proc_each(find_below, &b) > 0)
		log_error("process %d is not Python, but it started process %d (%s), which is: use "
			  "that one", tgid, b.who.tgid,
			  escape_text(b.who.stat.comm, strlen(b.who.stat.comm), comm,
				      sizeof(comm)));
	else
		log_error("process %d is not Python: it has no interpreter and no libpython "
			  "(tachbpf ps lists Python processes)", tgid);
}

/*
 * Logs why a process that the user named is not recorded: err and why are of discovery_inspect().
 * If it is not Python, names the first Python process that it has started. Returns the error.
 */
static int refuse_process(struct capture *s, pid_t tgid, int err, const char *why)
{
	if (s->life.err)
		return s->life.err;	/* its file cannot be created; that was logged */
	if (err == -ENOENT && s->args.children)
		log_warn("process %d is not Python: only its child processes are recorded", tgid);
	else if (err == -ENOENT)
		say_not_python(s, tgid);
	else if (err == -EACCES || err == -EPERM)
		log_error("process %d cannot be profiled: the kernel does not let this user read "
			  "its memory (%s): it is protected by a security module or by its user "
			  "namespace", tgid, why);
	else
		log_error("process %d cannot be profiled: %s", tgid, why);
	return err;
}

int capture_add(struct capture *s, pid_t tgid)
{
	struct finding f;
	struct tracked *t;

	if (kill(tgid, 0) && errno == ESRCH) {
		log_error("there is no process %d", tgid);
		return -ESRCH;
	}
	capture_heap_choose(s, tgid);
	capture_event_choose(s, tgid);
	if (!capture_filter_meets(s, tgid))
		return -EAGAIN;
	t = lifecycle_ask(&s->life, tgid, 0);
	if (!t)
		return s->life.err;
	t->selected = true;
	find_python(s, t, NULL, &f);
	if (f.event == PROC_EV_FOUND_UNREADY)
		return lifecycle_step(&s->life, t, f.event, NULL);
	if (f.event == PROC_EV_FOUND || f.event == PROC_EV_FOUND_SAME) {
		f.err = take_python(s, t, &f);
		if (!f.err)
			return 0;
	}
	if (!s->life.err)	/* do not inspect it again */
		lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
	return refuse_process(s, tgid, f.err, f.found.why);
}
