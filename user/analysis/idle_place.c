// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* idle_place.c - see idle_place.h. */
#include "analysis/idle_place.h"

#include <string.h>

#include "base/util.h"

/* The end of a path from a "/" on, and the last part of a qualified name. */
static const struct {
	const char *file, *func;
} idle[] = {
	{ "/queue.py", "get" }, { "/selectors.py", "select" }, { "/socket.py", "accept" },
	{ "/concurrent/futures/thread.py", "_worker" },
	{ "/concurrent/futures/process.py", "_process_worker" },
	{ "/multiprocessing/queues.py", "get" }, { "/multiprocessing/connection.py", "accept" },
	{ "/billiard/queues.py", "get" }, { "/billiard/pool.py", "_recv" },
	{ "/gunicorn/arbiter.py", "sleep" }, { "/gunicorn/workers/sync.py", "wait" },
	{ "/kombu/utils/eventio.py", "poll" }, { "/asyncore.py", "poll" },
	{ "/gevent/hub.py", "run" }, { "/eventlet/hubs/hub.py", "run" },
}, part[] = {
	{ "/threading.py", "wait" }, { "/threading.py", "acquire" },
	{ "/multiprocessing/connection.py", "" }, { "/billiard/connection.py", "" },
	{ "/multiprocessing/synchronize.py", "" }, { "/billiard/synchronize.py", "" },
	{ "/billiard/compat.py", "" },
};

static bool ref_ends(struct string_ref text, const char *end)
{
	size_t len = strlen(end);

	return text.len >= len && !memcmp(text.data + text.len - len, end, len);
}

/* name "": any function. */
static bool is_named(struct string_ref func, const char *name)
{
	size_t len = strlen(name);

	return !len || (ref_ends(func, name) &&
			(func.len == len || func.data[func.len - len - 1] == '.'));
}

enum idle_place idle_place_of(struct string_ref file, struct string_ref func)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(idle); i++)
		if (ref_ends(file, idle[i].file) && is_named(func, idle[i].func))
			return IDLE_YES;
	for (i = 0; i < ARRAY_SIZE(part); i++)
		if (ref_ends(file, part[i].file) && is_named(func, part[i].func))
			return IDLE_PART;
	return IDLE_NO;
}

bool is_standard_library(struct string_ref file)
{
	static const char lib[] = "/lib/python3.", frozen[] = "<frozen ";
	const char *at = memmem(file.data, file.len, lib, strlen(lib));

	if (file.len > strlen(frozen) && !memcmp(file.data, frozen, strlen(frozen)))
		return true;
	return at && !memmem(file.data, file.len, "-packages/", strlen("-packages/"));
}
