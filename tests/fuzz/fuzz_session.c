// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_session.c - any bytes as session.json: whatever is taken of it can be asked for, twice
 * with the same answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "recording/session_json.h"

struct sums {
	uint64_t all, cnt;
};

static void add_loss(void *ctx, const char *cause, uint64_t cnt)
{
	struct sums *s = ctx;

	s->all += cnt + strlen(cause);
	s->cnt++;
}

static int add_thread(void *ctx, uint64_t thread_id, const char *name,
		      const struct session_gil *gil)
{
	add_loss(ctx, name ? name : "", thread_id + gil->wait_ns + gil->waits);
	return gil->known ? 0 : -EINVAL;
}

static uint64_t length(const char *s)
{
	return s ? strlen(s) : 0;
}

static struct sums ask(const struct session_json *s, const char *file)
{
	struct sums sums = { 0 };
	struct session_process p;
	struct session_gil gil;

	session_json_process(s, file, &p);
	sums.all += p.tgid + length(p.comm) + length(p.command) + length(p.container) +
		    length(p.image) + length(p.unit);
	session_json_losses(s, NULL, add_loss, &sums);
	session_json_losses(s, file, add_loss, &sums);
	session_json_gil(s, file, &gil);
	if (session_json_gil_threads(s, file, add_thread, &sums))
		abort();
	sums.all += gil.wait_ns + session_json_utc_ns(s, 1) + length(session_json_kernel(s)) +
		    (uint64_t)session_json_duration(s) + session_json_free_threaded(s, file);
	return sums;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session_json *s;
	struct buf text = { 0 };
	struct sums once, again;
	char why[128];

	if (buf_add(&text, data, size))
		abort();
	s = session_json_parse(&text, why, sizeof(why));
	buf_free(&text);
	if (!s)
		return 0;
	once = ask(s, "12-app.tach");
	again = ask(s, "12-app.tach");
	if (memcmp(&once, &again, sizeof(once)))
		abort();
	session_json_free(s);
	return 0;
}
