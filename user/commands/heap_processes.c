// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_processes.c - see heap_processes.h. */
#include "commands/heap_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "target/discover.h"
#include "target/proc_filter_eval.h"

#define PROGRAM_COLUMNS 40
#define REFUSAL_BYTES 256

/* What a reader without rights is told. */
static const char *remedy(void)
{
	return geteuid() ? "run tachbpf as root (sudo)" :
	       "it is protected by a security module or by its user namespace";
}

static struct heap_target target_of(const struct python *p)
{
	const struct cpython_image *image = p->found->image;

	return (struct heap_target){
		.tgid = p->tgid, .minor = image->minor, .free_threaded = image->free_threaded,
		.debug = image->debug, .trace_refs = image->trace_refs,
		.musl = image->needs_musl || image->tstate_how == PY_TSTATE_TSS_MUSL,
		.runtime = p->found->proc.runtime, .interps = p->found->proc.interps,
		.layout = image->layout, .objects = image->objects,
	};
}

/* pythons_each(), pythons_find(). */
static int add_process(void *ctx, const struct python *p)
{
	const char *command = *p->command ? p->command : p->comm;
	char shown[4 * DISCOVERY_WHY_MAX];
	struct heap_processes *l = ctx;
	struct heap_process *grown;

	if (!p->profilable || !p->found) {
		log_warn("process %d cannot be read: %s", p->tgid,
			 escape_text(p->why, strlen(p->why), shown, sizeof(shown)));
		return 0;
	}
	if (l->cnt == HEAP_PROCESSES_MAX) {
		l->left_out++;
		return 0;
	}
	grown = array_grow(l->list, l->cnt, &l->cap, sizeof(*l->list));
	if (!grown)
		return -ENOMEM;
	l->list = grown;
	grown[l->cnt].python = *p;
	grown[l->cnt].python.found = NULL;
	grown[l->cnt].target = target_of(p);
	command_label(command, strlen(command), PROGRAM_COLUMNS, grown[l->cnt].program);
	l->cnt++;
	return 0;
}

/* Logs why a process that was named cannot be read: err, below and why of pythons_find(). */
static void refuse_named(pid_t pid, int err, pid_t below, const char *why)
{
	if (err == -ESRCH)
		log_error("there is no process %d (tachbpf ps lists Python processes)", pid);
	else if (err == -ENOENT && below)
		log_error("process %d is not Python, but it started process %d, which is: use that "
			  "one", pid, below);
	else if (err == -ENOENT)
		log_error("process %d is not Python: it has no interpreter and no libpython "
			  "(tachbpf ps lists Python processes)", pid);
	else if (err == -EACCES || err == -EPERM)
		log_error("process %d: the kernel does not let this user read it: %s", pid,
			  remedy());
	else
		log_error("process %d cannot be read: %s", pid, *why ? why : strerror(-err));
}

/* A process that was named. 0 or -ENOMEM. */
static int find_named(pid_t pid, struct identities *ids, struct proc_filter_eval *eval,
		      struct heap_processes *out)
{
	int err = eval ? proc_filter_eval_judge(eval, pid) : 0;
	char why[DISCOVERY_WHY_MAX] = "";
	size_t before = out->cnt;
	pid_t below = 0;

	if (err > 0)
		log_error("process %d does not match the filters", pid);
	else if (!err)
		err = pythons_find(ids, pid, &below, why, add_process, out);
	if (err < 0 && err != -ENOMEM)
		refuse_named(pid, err, below, why);
	out->failed += out->cnt == before;
	return err == -ENOMEM ? err : 0;
}

static int find_all(struct identities *ids, struct proc_filter_eval *eval,
		    struct heap_processes *out)
{
	struct pythons_counts counts;
	int err = pythons_each(ids, eval, &counts, add_process, out);

	if (!err && counts.unreadable)
		log_warn("%u %s could not be inspected%s", counts.unreadable,
			 text_plural(counts.unreadable, "process", "processes"),
			 geteuid() ? ": run tachbpf as root (sudo)" : " (-vv names them)");
	if (out->left_out)
		log_warn("%zu processes are left out: %d at most are read at once; choose them "
			 "with --container, --unit, ...", out->left_out, HEAP_PROCESSES_MAX);
	return err;
}

static int find_selected(const struct select_options *select, struct identities *ids,
			 struct heap_processes *out)
{
	struct proc_filter conditions = select->proc_filter;
	struct proc_filter_eval *eval = NULL;
	size_t i;
	int err = 0;

	if (conditions.cnt || conditions.min_age_s > 0) {
		eval = proc_filter_eval_new(&conditions);
		if (!eval)
			return -errno;
	}
	if (select->all)
		err = find_all(ids, eval, out);
	for (i = 0; !err && i < select->pid_cnt; i++)
		err = find_named(select->pids[i], ids, eval, out);
	proc_filter_eval_free(eval);
	return err;
}

int heap_processes_find(const struct select_options *select, struct identities *ids,
			struct heap_processes *out)
{
	int err;

	*out = (struct heap_processes){ .list = NULL };
	err = find_selected(select, ids, out);
	if (err)
		log_error("cannot list processes: %s", strerror(-err));
	return err;
}

void heap_processes_free(struct heap_processes *l)
{
	free(l->list);
	*l = (struct heap_processes){ .list = NULL };
}

/* Why a process cannot be read: text for the user, with its pid before it. */
static const char *refusal(const struct heap_process *p, int err, char out[REFUSAL_BYTES])
{
	const char *text = NULL;

	if (err == -ESRCH)
		text = "it has ended";
	else if (err == -ENOENT)
		text = "no objects of Python were found in its memory: it may have an allocator "
		       "of its own";
	else if (err == -ETIMEDOUT)
		text = "it cannot be read in time: part of its memory waits for another program "
		       "(userfaultfd, FUSE), or the machine is busy: try again later";
	if (text)
		snprintf(out, REFUSAL_BYTES, "%s", text);
	else if (err == -EPERM || err == -EACCES)
		snprintf(out, REFUSAL_BYTES, "the kernel does not let this user read it: %s",
			 remedy());
	else if (err == -EOPNOTSUPP)
		snprintf(out, REFUSAL_BYTES, "the memory of CPython %s cannot be read yet",
			 p->python.version);
	else
		snprintf(out, REFUSAL_BYTES, "it cannot be read now (%s): try again",
			 strerror(-err));
	return out;
}

void heap_process_refuse(struct heap_processes *l, const struct heap_process *p, int err,
			 bool named)
{
	char text[REFUSAL_BYTES];

	if (named)
		log_error("process %d: %s", p->python.tgid, refusal(p, err, text));
	else if (err != -ESRCH)
		log_warn("process %d: %s", p->python.tgid, refusal(p, err, text));
	l->failed += named;
}
