// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_json.c - the JSON of `tachbpf dump`. See dump_show.h. */
#include "commands/dump_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/identity.h"
#include "host/proc.h"
#include "look/look_locals.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define VERSION 1
#define COMMAND_BYTES 1024

static const char *const states[LOOK_STATE_CNT] = {
	[LOOK_RUNNING] = "running", [LOOK_RUNNABLE] = "runnable", [LOOK_GIL] = "gil",
	[LOOK_LOCK] = "lock", [LOOK_SLEEP] = "sleep", [LOOK_IO] = "io", [LOOK_KERNEL] = "kernel",
	[LOOK_HELD] = "held", [LOOK_OTHER] = "other",
};

/* The kernel's functions, innermost first; null: not known. */
static void write_kernel(struct json *j, const struct look_thread *t)
{
	const char *at = t->kernel;
	size_t len;

	if (!*at) {
		json_null(j, "kernel");
		return;
	}
	json_array(j, "kernel");
	for (; *at; at += len + (at[len] == '\n')) {
		len = strcspn(at, "\n");
		json_string_n(j, NULL, at, len);
	}
	json_array_end(j);
}

/* Of frame number i; null: they are not known. */
static void write_locals(struct json *j, const struct look_thread *t, uint32_t i)
{
	const struct look_frame_variables *v = t->variables ? &t->variables->frames[i] : NULL;
	uint32_t n;

	if (!v || !v->list) {
		json_null(j, "locals");
		return;
	}
	json_array(j, "locals");
	for (n = 0; n < v->cnt; n++) {
		json_object(j, NULL);
		json_string_n(j, "name", v->list[n].name, v->list[n].name_len);
		json_string_n(j, "value", v->list[n].value, v->list[n].value_len);
		json_bool(j, "argument", v->list[n].argument);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_locals_state(struct json *j, const struct look_thread *t)
{
	if (t->variables)
		json_bool(j, "locals_steady", t->variables->steady);
	else
		json_null(j, "locals_steady");
}

/* Frame number i of a thread. */
static void write_frame(struct json *j, const struct profile_tables *tables,
			const struct look_thread *t, uint32_t i, bool locals)
{
	const struct frame *f = &tables->frames[t->frames[i]];

	json_object(j, NULL);
	json_ref(j, "function", &tables->strings[f->func]);
	json_ref(j, "file", &tables->strings[f->file]);
	dump_json_line(j, "line", f->line);
	json_string(j, "kind", profile_frame_kind_name(f->kind));
	if (locals)
		write_locals(j, t, i);
	json_object_end(j);
}

static void write_thread(struct json *j, const struct look_process *p, const struct look_thread *t,
			 bool locals)
{
	uint32_t i;

	json_object(j, NULL);
	json_uint(j, "tid", t->tid);
	json_string(j, "name", thread_names_find(process_thread_names(p->process), t->tid));
	json_bool(j, "main", t->status & STATUS_MAIN_THREAD);
	json_string(j, "state", states[t->state]);
	json_bool(j, "holds_gil", t->status & STATUS_HAS_GIL);
	json_string(j, "held", *t->held ? t->held : NULL);
	json_double(j, "idle", t->idle_ms ? (double)t->idle_ms / 1e3 : NAN);
	json_string(j, "call", *t->call ? t->call : NULL);
	if (t->fd >= 0)
		json_uint(j, "fd", t->fd);
	else
		json_null(j, "fd");
	json_string(j, "fd_path", *t->file ? t->file : NULL);
	dump_json_lock(j, t->lock, t->lock ? t->lock->holder_tid : 0, t->futex_timed);
	json_bool(j, "moved", t->moved);
	json_double(j, "waited", (double)t->waited_us / 1e6);
	write_kernel(j, t);
	if (locals)
		write_locals_state(j, t);
	json_array(j, "frames");
	for (i = 0; i < t->nframes; i++)
		write_frame(j, process_tables(p->process), t, i, locals);
	json_array_end(j);
	json_object_end(j);
}

void dump_json_begin(struct json *j)
{
	json_start(j, stdout, true);
	json_object(j, NULL);
	json_uint(j, "version", VERSION);
	json_array(j, "processes");
}

void dump_json(struct json *j, const struct look_process *p, bool locals)
{
	const char *command = process_command(p->process);
	pid_t tgid = process_tgid(p->process);
	char text[COMMAND_BYTES];
	size_t i;

	if (!command && !proc_cmdline(tgid, text, sizeof(text)) && *text)
		command = text;
	json_object(j, NULL);
	json_uint(j, "pid", tgid);
	identity_json(j, process_identity(p->process), tgid);
	container_json(j, process_identity(p->process)->container);
	json_string(j, "python", process_image(p->process)->version);
	json_string(j, "comm", process_comm(p->process));
	json_string(j, "command", command);
	json_bool(j, "ended", p->ended);
	json_uint_known(j, "gil_holder", p->gil_holder);
	json_uint(j, "threads_without_stack", p->unseen);
	json_bool(j, "threads_left_out", p->beyond != 0);
	if (locals)
		json_bool(j, "locals_left_out", p->locals_cut);
	json_array(j, "threads");
	for (i = 0; i < p->cnt; i++)
		write_thread(j, p, &p->threads[i], locals);
	json_array_end(j);
	dump_tasks_json(j, p);
	dump_json_deadlocks(j, p, false);
	dump_json_deadlocks(j, p, true);
	json_object_end(j);
}

void dump_json_end(struct json *j, size_t failed)
{
	json_array_end(j);
	json_uint(j, "failed", failed);
	json_object_end(j);
	putchar('\n');
}
