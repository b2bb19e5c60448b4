// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_loops.c - see top_state.h: with --async, how the event loops of processes fare. */
#include "commands/top_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "commands/options.h"
#include "live/live_counts.h"
#include "look/loop_poll.h"
#include "resolve/process.h"

static void see_process(void *ctx, const struct process *p)
{
	loop_poll_see(ctx, p);
}

void top_loops_second(struct top_session *s)
{
	if (!s->loops)
		return;
	live_each(s->live, see_process, s->loops);
	loop_poll_seen(s->loops);
}

int top_loops_wait_ms(const struct top_session *s, int ms)
{
	uint64_t now = now_ns(), next = s->loops ? loop_poll_next_ns(s->loops) : UINT64_MAX;

	if (next <= now)
		return 0;
	return next - now < (uint64_t)ms * NS_PER_MS ? (int)((next - now) / NS_PER_MS) + 1 : ms;
}

/* The seconds that a table or line of JSON is about, and the screen. */
static uint32_t seconds_of(const struct top_session *s)
{
	double interval = s->opts->interval_s;

	return interval < 2 ? 2 : interval > LOOP_HEALTH_SECONDS ? LOOP_HEALTH_SECONDS :
								   (uint32_t)interval;
}

static bool figures_of(const struct top_session *s, const struct process *p, uint32_t seconds,
		       struct loop_poll_figures *out)
{
	return s->loops && loop_poll_of(s->loops, p, seconds, out) && out->loops.looks;
}

/* "0.84 s", "12 ms" */
static void put_time(uint64_t ns, char *out, size_t size)
{
	if (ns >= NS_PER_S / 10)
		snprintf(out, size, "%.2f s", ns / 1e9);
	else
		snprintf(out, size, "%.0f ms", ns / 1e6);
}

void top_loops_lag(const struct top_session *s, const struct process *p, char out[TOP_LAG_BYTES])
{
	struct loop_poll_figures f;

	*out = '\0';
	if (!s->loops)
		return;
	if (!figures_of(s, p, seconds_of(s), &f) || f.loops.lag_ns == LOOP_UNKNOWN)
		snprintf(out, TOP_LAG_BYTES, "-");
	else
		put_time(f.loops.lag_ns, out, TOP_LAG_BYTES);
}

static void append(char *out, size_t size, const char *text)
{
	size_t len = strlen(out);

	snprintf(out + len, size - len, "%s", text);
}

void top_loops_line(const struct top_session *s, const struct process *p, uint32_t seconds,
		    char out[TOP_LOOP_BYTES])
{
	struct loop_poll_figures f;
	char part[64], time[24];

	*out = '\0';
	if (!figures_of(s, p, seconds, &f))
		return;
	if (f.loops.loops > 1)
		snprintf(out, TOP_LOOP_BYTES, "%" PRIu32 " loops: ", f.loops.loops);
	else
		snprintf(out, TOP_LOOP_BYTES, "loop: ");
	if (f.tasks != LOOP_UNKNOWN) {
		snprintf(part, sizeof(part), "%" PRIu64 " task%s, ", f.tasks,
			 f.tasks == 1 ? "" : "s");
		append(out, TOP_LOOP_BYTES, part);
	}
	if (f.loops.ready_max == LOOP_UNKNOWN) {
		append(out, TOP_LOOP_BYTES, "queue and times unknown: not asyncio's own loop");
		return;
	}
	snprintf(part, sizeof(part), "up to %" PRIu64 " ready", f.loops.ready_max);
	append(out, TOP_LOOP_BYTES, part);
	if (f.loops.lag_ns == LOOP_UNKNOWN)
		return;
	put_time(f.loops.longest_ns, time, sizeof(time));
	snprintf(part, sizeof(part), ", longest callback %s", time);
	append(out, TOP_LOOP_BYTES, part);
	put_time(f.loops.lag_ns, time, sizeof(time));
	snprintf(part, sizeof(part), ", lag %s", time);
	append(out, TOP_LOOP_BYTES, part);
}

static void json_count(struct json *j, const char *name, uint64_t value)
{
	if (value == LOOP_UNKNOWN)
		json_null(j, name);
	else
		json_uint(j, name, value);
}

static void json_seconds(struct json *j, const char *name, uint64_t ns)
{
	if (ns == LOOP_UNKNOWN)
		json_null(j, name);
	else
		json_double(j, name, ns / 1e9);
}

void top_loops_json(const struct top_session *s, const struct process *p, struct json *j)
{
	struct loop_poll_figures f;

	if (!figures_of(s, p, seconds_of(s), &f)) {
		json_null(j, "asyncio");
		return;
	}
	json_object(j, "asyncio");
	json_uint(j, "loops", f.loops.loops);
	json_uint(j, "looks", f.loops.looks);
	json_count(j, "tasks", f.tasks);
	json_count(j, "ready_max", f.loops.ready_max);
	if (f.loops.ready_max == LOOP_UNKNOWN)
		json_null(j, "ready_mean");
	else
		json_double(j, "ready_mean", f.loops.ready_mean);
	json_seconds(j, "longest_callback_s", f.loops.longest_ns);
	json_seconds(j, "lag_s", f.loops.lag_ns);
	json_object_end(j);
}
