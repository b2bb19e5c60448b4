// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_look.c - which processes are Python: looks at them, tells the kernel and the
 * recording what they are. When to look is candidates.c's, what is in them discover.c's.
 */
#include "capture/capture_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "capture/proc_table.h"
#include "host/proc.h"
#include "resolve/observer.h"
#include "tachbpf.skel.h"

/* Of several CPythons in a process none is initialised: look every 128 ms at least. */
#define UNSETTLED_TRIES 6

uint64_t capture_new_ident(pid_t tgid)
{
	return ((now_ns() ^ (uint64_t)tgid << 40) | 3) ^ 1;
}

bool capture_kernel_knows(struct capture *s, pid_t tgid, struct py_proc *py)
{
	uint32_t key = tgid;

	return !bpf_map__lookup_elem(s->skel->maps.py_procs, &key, sizeof(key), py, sizeof(*py),
				     0);
}

bool capture_is_arrival(struct capture *s, pid_t tgid, uint64_t start_ns)
{
	struct py_proc py;

	return capture_kernel_knows(s, tgid, &py) && py.exe && !py.strange && !py.unselected &&
	       (!start_ns || py.start_ns == start_ns);
}

/* It is Python: from now on the kernel walks it. */
static int admit(struct capture *s, pid_t tgid, uint64_t start_ns, uint64_t looked_ns,
		 struct discovered *found, uint64_t late)
{
	struct process_args args = {
		.tgid = tgid,
		.start_ns = start_ns,
		.image = found->image,
	};
	struct py_proc *py = &found->proc;
	struct proc_stat st;
	struct process *p;
	int err;

	if (proc_stat(tgid, &st))
		return -ESRCH;
	py->start_ns = start_ns;
	py->ident = capture_new_ident(tgid);
	py->euid = EUID_NEVER;
	args.comm = st.comm;
	args.py = *py;
	identity_of_pid(s->args.identities, tgid, &args.identity);
	capture_process_args(s, &args);
	p = capture_add_process(s, &args);
	if (!p)
		return s->err;
	process_add_late(p, late);
	log_debug("process %d: CPython %s", tgid, found->image->version);
	err = proc_table_put(s->skel->maps.py_procs, tgid, py);
	if (err) {
		s->table_full++;	/* MAX_PROCS of them ran; looked at again later */
		capture_drop_process(s, p);
		return err;
	}
	process_set_admitted(p, looked_ns, now_ns());
	s->asleep_due = true;
	return 0;
}

/* Tell the user what there is to know of a process, once: the observer and the log. */
static void remark(struct capture *s, pid_t tgid, const char *before, const char *text)
{
	struct observer *o = s->args.observer;
	struct proc_stat st;
	char comm[4 * PROC_COMM_MAX];

	if (!text[0] || proc_stat(tgid, &st))
		return;
	if (!o->ops->remark || o->ops->remark(o, tgid, st.comm, text))
		log_warn("process %d (%s)%s: %s", tgid,
			 escape_text(st.comm, strlen(st.comm), comm, sizeof(comm)), before, text);
}

/* The same CPython as the one it is walked by? */
static bool is_known(struct capture *s, pid_t tgid, const struct discovered *found)
{
	struct process *p = u64map_get(&s->processes, tgid);

	/* Of one that the kernel let in we do not know where its runtime is. */
	return p && process_image(p) == found->image &&
	       (process_py(p)->runtime == found->proc.runtime || !process_py(p)->runtime);
}

/*
 * Look and admit. 0: it is walked as it should be, -EAGAIN: so far, but of several CPythons in
 * it none was initialised yet; or not at all, because its C library is not mapped yet. Others as discovery_look().
 */
static int look(struct capture *s, pid_t tgid, uint64_t start_ns, uint64_t late,
		uint64_t *files, struct discovered *found)
{
	const struct process *p = u64map_get(&s->processes, tgid);
	uint64_t looked_ns = now_ns();
	int err = discovery_look(s->discovery, tgid, files, p ? process_py(p)->runtime : 0, found);

	if (!err && !is_known(s, tgid, found))
		err = admit(s, tgid, start_ns, looked_ns, found, late);
	if (err)
		return err;
	if (!found->copied)
		exe_cache_seen(s->exes, tgid, found->image, &found->proc);
	remark(s, tgid, "", found->also);
	return found->several && found->ready != READY_YES ? -EAGAIN : 0;
}

/*
 * Tell the kernel not to ask again; we look by our own clock. A process that has executed
 * Python since we looked is the kernel's.
 */
static void mark_other(struct capture *s, struct candidate *cand)
{
	struct py_proc py = {
		.start_ns = cand->start_ns,
		.ident = capture_new_ident(cand->tgid),
		.exec_pages = cand->exec_pages,
		.euid = EUID_NEVER,
		.state = PY_PROC_OTHER,
	};

	if (!cand->tries && !capture_is_arrival(s, cand->tgid, cand->start_ns))
		proc_table_put(s->skel->maps.py_procs, cand->tgid, &py);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* It has not run since the last look, and is not young: nothing can be new. */
static bool is_idle(const struct candidate *cand, uint64_t ticks)
{
	return cand->tries > CANDIDATE_YOUNG_TRIES && ticks == cand->seen_ticks && !cand->changed;
}

static int look_timed(struct capture *s, struct candidate *cand, uint64_t ticks,
		      struct discovered *found)
{
	uint64_t files = cand->files, begin = cpu_ns();
	int err = look(s, cand->tgid, cand->start_ns, cand->ticks + ticks, &cand->files, found);

	candidate_looked(cand, now_ns(), cpu_ns() - begin, files != cand->files);
	return err;
}

static void candidate_is_other(struct capture *s, struct candidate *cand, int err,
			       const char *why)
{
	mark_other(s, cand);
	candidate_backoff(cand, now_ns());
	if (err == -ENOTSUP)
		remark(s, cand->tgid, " is not profiled", why);
	else if (err != -ENOENT && err != -EALREADY && cand->tries == 1)
		log_debug("process %d: %s", cand->tgid, why);
	if (err != -EALREADY)
		cand->refused = err == -ENOTSUP;
	if (cand->refused)
		cand->next_ns = UINT64_MAX;
}

void capture_look(struct capture *s, struct candidate *cand)
{
	uint64_t ticks = proc_table_ticks(s->skel->maps.py_procs, cand->tgid);
	struct discovered found;
	int err;

	if (!capture_is_chosen(s, cand))
		return;
	if (!cand->orphan && !u64map_get(&s->processes, cand->tgid) &&
	    capture_is_arrival(s, cand->tgid, cand->start_ns)) {
		candidate_backoff(cand, now_ns());	/* the exec's record is on its way */
		return;
	}
	if (is_idle(cand, ticks)) {
		/* If it is gone, so is its entry; keep none for it. */
		if (kill(cand->tgid, 0) && errno == ESRCH)
			candidates_forget(&s->candidates, cand->tgid);
		else
			candidate_backoff(cand, now_ns());
		return;
	}
	cand->seen_ticks = ticks;
	err = look_timed(s, cand, ticks, &found);
	if (err == -ESRCH) {
		s->unidentified += cand->ticks;
		candidates_forget(&s->candidates, cand->tgid);
	} else if (err == -EAGAIN) {
		cand->files = 0;	/* the next look is not about files */
		if (cand->tries > UNSETTLED_TRIES)
			cand->tries = UNSETTLED_TRIES;
		candidate_backoff(cand, now_ns());
	} else if (u64map_get(&s->processes, cand->tgid)) {
		cand->ticks = 0;
		cand->next_ns = UINT64_MAX;	/* but the kernel may tell of a change */
	} else {
		candidate_is_other(s, cand, err, found.why);
	}
}

void capture_look_at_due(struct capture *s)
{
	struct candidate *cand;
	size_t pos = 0;

	while ((cand = candidates_due(&s->candidates, now_ns(), &pos)))
		capture_look(s, cand);
}

int capture_add(struct capture *s, pid_t tgid)
{
	struct discovered found;
	struct candidate *cand;
	uint64_t files = 0;
	int err;

	if (kill(tgid, 0) && errno == ESRCH) {
		log_error("there is no process %d", tgid);
		return -ESRCH;
	}
	if (!capture_chooses(s, tgid))
		return -EAGAIN;
	err = look(s, tgid, 0, 0, &files, &found);
	if (err == -EAGAIN) {
		cand = candidates_note(&s->candidates, tgid, 0);
		return cand ? 0 : -ENOMEM;
	}
	if (s->err)
		return s->err;	/* its file cannot be made: that was said */
	if (err == -ENOENT && s->args.children)
		log_warn("process %d is not Python: only what it starts is recorded", tgid);
	else if (err == -ENOENT)
		log_error("process %d is not Python: no interpreter and no libpython in it "
			  "(tachbpf -a lists what it finds)", tgid);
	else if (err)
		log_error("process %d cannot be profiled: %s", tgid, found.why);
	return err;
}
