// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_process.c - a process in the output of `tachbpf dump`: text and JSON. See dump_show.h. */
#include "commands/dump_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/containers.h"
#include "host/identity.h"
#include "host/proc.h"
#include "look/look_locals.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define COMMAND_BYTES 1024
#define VERSION 1		/* of the JSON */

/* Returns a process' command line; NULL: unknown. text: room for it. */
static const char *command_of(const struct process *p, char text[COMMAND_BYTES])
{
	const char *command = process_command(p);

	if (!command && !proc_cmdline(process_tgid(p), text, COMMAND_BYTES) && *text)
		return text;
	return command;
}

/* ---- text ---- */

static void print_process(const struct look_process *p)
{
	const struct container *c = process_identity(p->process)->container;
	char text[COMMAND_BYTES], label[CONTAINER_LABEL_BYTES];
	const char *command = command_of(p->process, text);

	if (!command)
		command = process_comm(p->process);
	printf("%sProcess %d: ", colour_on(stdout, COLOUR_BOLD), process_tgid(p->process));
	dump_text_escaped(command, strnlen(command, COMMAND_BYTES));
	printf("%s\nPython %s", colour_off(stdout), process_image(p->process)->version);
	if (c && container_is(c)) {
		printf(", container ");
		container_label(c, label);
		dump_text_escaped(label, strlen(label));
	}
	printf("\n");
}

/* Prints ", has not run for 2 h 5 min". */
static void print_idle(const struct look_thread *t)
{
	uint64_t s = t->idle_ms / 1000;

	if (!t->idle_ms)
		return;
	printf(", has not run for ");
	if (s < 60)
		printf("%.1f s", (double)t->idle_ms / 1000);
	else if (s < 3600)
		printf("%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		printf("%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
}

/* Prints ": waits for I/O: read, descriptor 3 (pipe:[4711])". */
static void print_state(const struct look_process *p, const struct look_thread *t)
{
	printf(": %s", t->state == LOOK_HELD ? t->held : look_state_name(t->state));
	if (t->state == LOOK_GIL && p->gil_holder)
		printf(", which thread %" PRIu64 " holds", p->gil_holder);
	else if (*t->call)
		printf(" (%s", t->call);
	if (t->fd >= 0)
		printf(", descriptor %d", t->fd);
	if (t->fd >= 0 && *t->file) {
		printf(": ");
		dump_text_escaped(t->file, strlen(t->file));
	}
	if (*t->call)
		printf(")");
	print_idle(t);
	dump_text_lock(t);
	dump_text_loop(t->loop);
	if (t->status & STATUS_HAS_GIL)
		printf(", holds the GIL");
	if (t->moved)
		printf(", moved meanwhile");
}

/* Prints the kernel's functions, innermost first. */
static void print_kernel(const struct look_thread *t)
{
	const char *at = t->kernel;
	size_t len;

	for (; *at; at += len + (at[len] == '\n')) {
		len = strcspn(at, "\n");
		printf("    ");
		dump_text_escaped(at, len);
		printf(" (kernel)\n");
	}
}

static void print_variable(const struct look_local *l)
{
	printf("            ");
	dump_text_escaped(l->name, l->name_len);
	printf(": ");
	dump_text_escaped(l->value, l->value_len);
	printf("\n");
}

static void print_variables(const struct look_frame_variables *v, bool arguments, const char *title)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < v->cnt; i++) {
		if (v->list[i].argument != arguments)
			continue;
		if (!any)
			printf("        %s:\n", title);
		any = true;
		print_variable(&v->list[i]);
	}
}

/* Prints the arguments and locals of frame number i below it, if they are known. */
static void print_locals(const struct look_thread *t, uint32_t i)
{
	if (!t->variables)
		return;
	print_variables(&t->variables->frames[i], true, "Arguments");
	print_variables(&t->variables->frames[i], false, "Locals");
}

/* Prints ", variables read while it ran". */
static void print_locals_state(const struct look_thread *t, bool asked)
{
	if (!asked)
		return;
	if (!t->variables)
		printf(", variables not read");
	else if (!t->variables->steady)
		printf(", variables read while it ran");
}

static void print_thread(const struct look_process *p, const struct look_thread *t, bool locals)
{
	uint32_t i;

	printf("\nThread ");
	dump_text_thread(p, t);
	if (t->status & STATUS_MAIN_THREAD)
		printf(" (main)");
	print_state(p, t);
	print_locals_state(t, locals);
	printf("\n");
	print_kernel(t);
	for (i = 0; i < t->nframes; i++) {
		dump_text_frame(process_tables(p->process), t->frames[i]);
		print_locals(t, i);
	}
}

void dump_keep_blocked(struct look_process *p, uint32_t watch_ms, struct look_thread *kept)
{
	/* A wait has a resolution of milliseconds, and starts when the scan found it. */
	uint64_t least_us = watch_ms * 900ull;
	size_t i, n = 0;

	for (i = 0; i < p->cnt; i++)
		if (!p->threads[i].advanced && p->threads[i].waited_us >= least_us)
			kept[n++] = p->threads[i];
	p->threads = kept;
	p->cnt = n;
}

void dump_text(const struct look_process *p, bool first, bool locals)
{
	size_t i;

	if (!first)
		printf("\n");
	print_process(p);
	dump_text_circles(p);
	if (locals)
		printf("The variables below are data of the process, and may contain secrets.\n");
	for (i = 0; i < p->cnt; i++)
		print_thread(p, &p->threads[i], locals);
	dump_text_deadlocks(p, false);
	if (p->beyond)
		printf("\nThreads beyond %d are left out.\n", LOOK_THREADS_MAX);
	if (p->locals_cut)
		printf("\nVariables beyond 1 MiB are left out.\n");
	if (p->ended)
		printf("\nThe process has ended.\n");
	else if (p->unseen)
		printf("\n%" PRIu32 " more %s no Python stack.\n", p->unseen,
		       p->unseen == 1 ? "thread has" : "threads have");
	dump_tasks_text(p);
	dump_greenlets_text(p);
}

/* ---- JSON ---- */

static const char *const states[LOOK_STATE_CNT] = {
	[LOOK_RUNNING] = "running", [LOOK_RUNNABLE] = "runnable", [LOOK_GIL] = "gil",
	[LOOK_LOCK] = "lock", [LOOK_SLEEP] = "sleep", [LOOK_IO] = "io", [LOOK_KERNEL] = "kernel",
	[LOOK_HELD] = "held", [LOOK_OTHER] = "other",
};

/* Writes the kernel's functions, innermost first; null: unknown. */
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

/* Writes those of frame number i; null: unknown. */
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

/* Writes frame number i of a thread. */
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
	pid_t tgid = process_tgid(p->process);
	char text[COMMAND_BYTES];
	size_t i;

	json_object(j, NULL);
	json_uint(j, "pid", tgid);
	identity_json(j, process_identity(p->process), tgid);
	container_json(j, process_identity(p->process)->container);
	json_string(j, "python", process_image(p->process)->version);
	json_string(j, "comm", process_comm(p->process));
	json_string(j, "command", command_of(p->process, text));
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
	dump_json_loops(j, p);
	dump_greenlets_json(j, p);
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
