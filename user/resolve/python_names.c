// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_names.c - see python_names.h. */
#include "resolve/python_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/proc.h"
#include "memory/remote_mem.h"

/* A thread is tried at most this many times. */
#define TRIES 4
/* Records of threads that began together arrive together. No tid is reused that soon. */
#define FRESH_NS 100000000ull
/*
 * Reading takes 1/SHARE of the time. The pause is at least PAUSE_NS, and at most PAUSE_NS_MAX: on a
 * busy machine a read is slow because it waits for a CPU, which costs nothing.
 */
#define SHARE 100
#define PAUSE_NS 20000000ull
#define PAUSE_NS_MAX 1000000000ull

void python_names_init(struct python_names *n, pid_t tgid, const struct python_threads_at *at,
		       python_named_fn named, python_interps_fn interps, void *ctx)
{
	*n = (struct python_names){
		.tgid = tgid, .named = named, .interps = interps, .ctx = ctx, .at = *at,
		.nested = -1,
	};
}

void python_names_free(struct python_names *n)
{
	thread_names_drop(n->found);
	free(n->again);
	n->found = NULL;
	n->again = NULL;
	n->again_cnt = 0;
}

/* Returns the thread's id in the process' own pid namespace; 0: it has ended. */
static uint32_t own_tid(struct python_names *n, uint32_t tid)
{
	char path[32], status[4096], *line;
	struct proc_status st;
	uint32_t own = 0;
	int used;

	if (n->nested < 0)
		n->nested = !proc_status(n->tgid, &st) && st.ns_tgid_cnt > 1;
	if (!n->nested)
		return tid;
	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (proc_read(n->tgid, path, status, sizeof(status)) <= 0)
		return 0;
	line = strstr(status, "\nNSpid:");
	line = line ? line + strlen("\nNSpid:") : "";
	while (sscanf(line, " %u%n", &own, &used) == 1)
		line += used;
	return own;
}

static void keep_names(struct python_names *n, const struct python_threads *threads)
{
	uint32_t i;

	thread_names_drop(n->found);
	n->found = thread_names_new();
	for (i = 0; n->found && i < threads->cnt; i++)
		thread_names_set(n->found, threads->list[i].tid, threads->list[i].name);
}

/* Returns how long no names are read after a read that took `took` ns. */
static uint64_t pause_ns(uint64_t took)
{
	if (took * SHARE < PAUSE_NS)
		return PAUSE_NS;
	return took < PAUSE_NS_MAX / SHARE ? took * SHARE : PAUSE_NS_MAX;
}

/* Reads the names, if it is time to. Returns true if they were read. */
static bool read_names(struct python_names *n)
{
	const struct python_threads *threads;
	uint64_t now = now_ns(), took;

	if (now < n->next_ns)
		return false;
	n->at.interps = n->interps(n->ctx);
	if (!n->at.interps || remote_python_threads(n->tgid, &n->at, &threads)) {
		n->at.active = 0;
		threads = NULL;
	}
	took = now_ns() - now;
	n->next_ns = now + took + pause_ns(took);
	if (!threads)
		return false;
	n->at.active = threads->active;
	n->found_ns = now;
	keep_names(n, threads);
	return true;
}

/* Returns true if the thread has a name among those that were read. */
static bool name_thread(struct python_names *n, uint32_t tid)
{
	uint32_t own = own_tid(n, tid);
	const char *name = own ? thread_names_find(n->found, own) : NULL;

	if (name && !python_thread_is_dummy(name))
		n->named(n->ctx, tid, name, !python_thread_is_numbered(name));
	return name || !own;
}

/* Without memory the thread keeps the name that it has. */
static void add_again(struct python_names *n, uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < n->again_cnt; i++)
		if (n->again[i].tid == tid)
			return;
	if (!n->again)
		n->again = calloc(PYTHON_NAMES_AGAIN, sizeof(*n->again));
	if (!n->again || n->again_cnt == PYTHON_NAMES_AGAIN)
		return;
	n->again[n->again_cnt].tries = TRIES;
	n->again[n->again_cnt++].tid = tid;
}

/* Names the threads to be retried that have a name now. */
static void name_rest(struct python_names *n)
{
	uint32_t i, kept = 0;

	for (i = 0; i < n->again_cnt; i++)
		if (!name_thread(n, n->again[i].tid))
			n->again[kept++] = n->again[i];
	n->again_cnt = kept;
}

void python_names_thread(struct python_names *n, uint32_t tid)
{
	bool fresh = n->found_ns && now_ns() - n->found_ns < FRESH_NS;

	if (!python_threads_known(&n->at.objects) || tid == (uint32_t)n->tgid)
		return;
	if (fresh && name_thread(n, tid))
		return;
	add_again(n, tid);
	if (read_names(n))
		name_rest(n);
}

void python_names_retry(struct python_names *n)
{
	uint32_t i, kept = 0;

	if (!n->again_cnt || now_ns() < n->next_ns)
		return;		/* does not count as a try */
	if (read_names(n))
		name_rest(n);
	for (i = 0; i < n->again_cnt; i++)
		if (--n->again[i].tries)
			n->again[kept++] = n->again[i];
	n->again_cnt = kept;
}
