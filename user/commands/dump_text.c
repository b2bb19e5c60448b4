// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_text.c - the text of `tachbpf dump`. See dump_show.h. */
#include "commands/dump_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/containers.h"
#include "host/proc.h"
#include "look/look_locals.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define COMMAND_BYTES 1024

static void print_process(const struct look_process *p)
{
	const struct container *c = process_identity(p->process)->container;
	const char *command = process_command(p->process);
	char text[COMMAND_BYTES], label[CONTAINER_LABEL_BYTES];

	if (!command && !proc_cmdline(process_tgid(p->process), text, sizeof(text)) && *text)
		command = text;
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

/* ", has not run for 2 h 5 min" */
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

/* ": waits for I/O: read, descriptor 3 (pipe:[4711])" */
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
	if (t->status & STATUS_HAS_GIL)
		printf(", holds the GIL");
	if (t->moved)
		printf(", moved meanwhile");
}

static void print_frame(const struct profile_tables *tables, uint32_t id)
{
	const struct frame *f = &tables->frames[id];
	const struct string_ref *func = &tables->strings[f->func], *file = &tables->strings[f->file];

	printf("    ");
	dump_text_escaped(func->data, func->len);
	if (file->len != strlen(SYNTHETIC_FILE) || memcmp(file->data, SYNTHETIC_FILE, file->len)) {
		printf(" (");
		dump_text_escaped(file->data, file->len);
		if (f->line != LINE_NONE)
			printf(":%d", f->line);
		printf(")");
	}
	printf("\n");
}

/* The kernel's functions, innermost first. */
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

/* Below frame number i its arguments and locals, if they are known. */
static void print_locals(const struct look_thread *t, uint32_t i)
{
	if (!t->variables)
		return;
	print_variables(&t->variables->frames[i], true, "Arguments");
	print_variables(&t->variables->frames[i], false, "Locals");
}

/* ", variables read while it ran" */
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
		print_frame(process_tables(p->process), t->frames[i]);
		print_locals(t, i);
	}
}

void dump_keep_blocked(struct look_process *p, uint32_t watch_ms, struct look_thread *kept)
{
	/* A wait is seen in whole milliseconds, from when the scan found it. */
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
		printf("\nMore variables than 1 MiB are left out.\n");
	if (p->ended)
		printf("\nThe process has ended.\n");
	else if (p->unseen)
		printf("\n%" PRIu32 " more %s no Python stack.\n", p->unseen,
		       p->unseen == 1 ? "thread has" : "threads have");
	dump_tasks_text(p);
}
