// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_life.c - see native_life.h. */
#include "capture/native_life.h"

#include "base/util.h"
#include "host/identity.h"
#include "native/native.h"
#include "resolve/process.h"

#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull
#define WAIT_OF_PROCESS_MS 100
#define WAIT_OF_LAST_MS 2000
#define WAIT_A_SECOND_MS 200
#define CATCH_UP_AT_STOP_MS 1000
#define WAIT_AT_STOP_MS 2000
#define WAIT_FOR_DEBUG_MS 60000
#define WAIT_STEP_MS 500

int native_life_begin(struct native_life *l, const struct process *p, pid_t parent)
{
	if (!l->native)
		return 0;
	return native_begin(l->native, process_tgid(p), process_start_ns(p),
			    process_identity(p)->uid, parent);
}

void native_life_stale(struct native_life *l, const struct process *p)
{
	if (l->native && p)
		native_stale(l->native, process_tgid(p));
}

/* How long to wait now. last: no other process is profiled. */
static int wait_ms(struct native_life *l, uint64_t now, bool last)
{
	uint64_t left;

	if (l->stopped)
		return 0;
	if (last && l->chosen)
		return WAIT_OF_LAST_MS;
	if (now - l->second_ns >= SECOND_NS) {
		l->second_ns = now;
		l->waited_ns = 0;
	}
	if (l->waited_ns >= WAIT_A_SECOND_MS * MS_NS)
		return 0;
	left = WAIT_A_SECOND_MS - l->waited_ns / MS_NS;
	return left < WAIT_OF_PROCESS_MS ? (int)left : WAIT_OF_PROCESS_MS;
}

static void wait_for_names(struct native_life *l, bool last)
{
	uint64_t begin = now_ns();
	int ms = wait_ms(l, begin, last);

	if (!ms)
		return;
	native_settle(l->native, WAIT_OF_PROCESS_MS, ms);
	l->waited_ns += now_ns() - begin;
}

void native_life_end(struct native_life *l, struct process *p, bool last)
{
	if (l->native && process_waits_for_names(p))
		wait_for_names(l, last);
	if (l->native)
		native_hurry(l->native, true);
	process_retry_names(p);
	if (l->native)
		native_hurry(l->native, l->stopped);
	if (l->native)
		native_end(l->native, process_tgid(p));
}

void native_life_catch_up(struct native_life *l)
{
	if (l->native)
		native_catch_up(l->native, CATCH_UP_AT_STOP_MS);
}

/* The servers are asked during the recording, too: at its end little is left. */
static void wait_for_debug_files(struct native *n)
{
	uint64_t end = now_ns() + WAIT_FOR_DEBUG_MS * MS_NS;
	size_t left, said = 0;

	while ((left = native_debug_files(n)) && now_ns() < end) {
		if (left != said)
			log_info("waiting for %zu debug file%s ...", left, left == 1 ? "" : "s");
		said = left;
		native_settle_debug(n, WAIT_STEP_MS);
	}
	if (left)
		log_warn("%zu debug files did not come within %d s: some functions have no name",
			 left, WAIT_FOR_DEBUG_MS / 1000);
	else if (said)
		native_settle(n, WAIT_AT_STOP_MS, WAIT_AT_STOP_MS);
}

void native_life_stop(struct native_life *l)
{
	if (l->native) {
		native_settle(l->native, WAIT_AT_STOP_MS, WAIT_AT_STOP_MS);
		wait_for_debug_files(l->native);
		native_hurry(l->native, true);
	}
	l->stopped = true;
}
