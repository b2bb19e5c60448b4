// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ctl_request.c - see ctl_request.h. */
#include "agent/ctl_request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_members.h"
#include "base/time.h"


static const char *const words[] = {
	[CTL_STATUS] = "status", [CTL_BURST] = "burst", [CTL_BURST_STOP] = "burst-stop",
	[CTL_RELOAD] = "reload",
};

void ctl_request_free(struct ctl_request *r)
{
	proc_filter_free(&r->filter);
	r->pid_cnt = 0;
}

/* ---- writing ---- */

/* Finishes what json has written to f and puts it into line. */
static int finish_line(FILE *f, char **text, size_t *len, struct buf *line)
{
	int err = fflush(f) || ferror(f) ? -ENOMEM : 0;

	fclose(f);
	if (!err)
		err = buf_add(line, *text, *len);
	free(*text);
	return err ? err : buf_add(line, "\n", 1);
}

static void start_json(struct json *j, FILE *f)
{
	json_start(j, f, false);
	json_object(j, NULL);
}

static void write_burst(struct json *j, const struct ctl_request *r)
{
	size_t i;

	json_uint(j, "rate_hz", r->rate_hz);
	json_uint(j, "for_ms", r->for_ns / NS_PER_MS);
	json_array(j, "conditions");
	for (i = 0; i < r->filter.cnt; i++) {
		json_array(j, NULL);
		json_string(j, NULL, proc_filter_kind_name(r->filter.rules[i].kind));
		json_string(j, NULL, r->filter.rules[i].text);
		json_array_end(j);
	}
	json_array_end(j);
	json_array(j, "pids");
	for (i = 0; i < r->pid_cnt; i++)
		json_uint(j, NULL, r->pids[i]);
	json_array_end(j);
}

int ctl_request_write(const struct ctl_request *r, struct buf *line)
{
	size_t before = line->len, len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);
	struct json j;
	int err;

	if (!f)
		return -ENOMEM;
	start_json(&j, f);
	json_string(&j, "command", words[r->what]);
	if (r->what == CTL_STATUS)
		json_bool(&j, "json", r->json);
	if (r->what == CTL_BURST)
		write_burst(&j, r);
	json_object_end(&j);
	err = finish_line(f, &text, &len, line);
	return err ? err : line->len - before > CTL_REQUEST_MAX ? -E2BIG : 0;
}

int ctl_answer_write(int status, const void *output, size_t output_len, struct buf *line)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	if (!f)
		return -ENOMEM;
	start_json(&j, f);
	json_int(&j, "status", status);
	json_string_n(&j, "output", output_len ? output : "", output_len);
	json_object_end(&j);
	return finish_line(f, &text, &len, line);
}

/* ---- reading ---- */

__attribute__((format(printf, 2, 3)))
static int refuse_request(char why[CTL_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, CTL_WHY_BYTES, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Reads the next element, a string, and adds a NUL. */
static bool next_text(struct json_pull *j, struct buf *text)
{
	text->len = 0;
	return json_pull_element(j) && json_pull_string(j, text) && !buf_add(text, "", 1) &&
	       strlen((char *)text->data) + 1 == text->len;
}

/* Conditions that may be requested: those that include, except cgroups by path. */
static int kind_of(const char *name)
{
	static const enum proc_filter_kind kinds[] = {
		FILTER_CONTAINER, FILTER_POD, FILTER_UNIT, FILTER_UID, FILTER_COMM, FILTER_EXE,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, proc_filter_kind_name(kinds[i])))
			return kinds[i];
	return -1;
}

/* A condition is [kind, text]. */
static int read_condition(struct ctl_request *r, struct json_pull *j, char *why)
{
	struct buf kind = { 0 }, text = { 0 };
	const char *remedy = "";
	int err, k;

	if (!json_pull_enter(j, JT_ARRAY) || !next_text(j, &kind) || !next_text(j, &text) ||
	    json_pull_element(j) || j->err) {
		err = refuse_request(why, "a condition is not a kind and a text");
	} else if ((k = kind_of((char *)kind.data)) < 0) {
		err = refuse_request(why, "there is no such condition");
	} else if (r->filter.cnt >= CTL_CONDITIONS_MAX) {
		err = refuse_request(why, "more than %d conditions", CTL_CONDITIONS_MAX);
	} else {
		err = proc_filter_try(&r->filter, k, false, (char *)text.data, &remedy);
		if (err == -EINVAL)
			refuse_request(why, "bad --%s: %s", proc_filter_kind_name(k), remedy);
	}
	buf_free(&kind);
	buf_free(&text);
	return err;
}

static int read_conditions(struct ctl_request *r, const struct json_member *m, char *why)
{
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(m, JT_ARRAY, &j))
		return 0;
	while (!err && json_pull_element(&j))
		err = read_condition(r, &j, why);
	return err;
}

static int read_pids(struct ctl_request *r, const struct json_member *m, char *why)
{
	struct json_pull j;
	uint64_t pid;

	if (!json_member_enter(m, JT_ARRAY, &j))
		return 0;
	while (json_pull_element(&j)) {
		if (r->pid_cnt == CTL_PIDS_MAX)
			return refuse_request(why, "more than %d pids", CTL_PIDS_MAX);
		if (!json_pull_uint(&j, &pid) || !pid || pid > INT32_MAX)
			return refuse_request(why, "a pid is no number");
		r->pids[r->pid_cnt++] = (pid_t)pid;
	}
	return 0;
}

enum { COMMAND, JSON, RATE_HZ, FOR_MS, CONDITIONS, PIDS, MEMBERS };

static int read_burst(struct ctl_request *r, const struct json_member *m, char *why)
{
	uint64_t rate, ms;
	int err;

	if (!json_member_count(&m[RATE_HZ], &rate) || !rate || rate > CTL_RATE_MAX_HZ)
		return refuse_request(why, "the rate is not 1 to %d Hz", CTL_RATE_MAX_HZ);
	if (!json_member_count(&m[FOR_MS], &ms) || !ms || ms > CTL_BURST_MAX_NS / NS_PER_MS)
		return refuse_request(why, "the time is not 1 ms to 1 h");
	r->rate_hz = rate;
	r->for_ns = ms * NS_PER_MS;
	err = read_conditions(r, &m[CONDITIONS], why);
	return err ? err : read_pids(r, &m[PIDS], why);
}

int ctl_request_read(struct ctl_request *r, const void *line, size_t len, char why[CTL_WHY_BYTES])
{
	struct json_member m[MEMBERS] = {
		[COMMAND] = { .key = "command" }, [JSON] = { .key = "json" },
		[RATE_HZ] = { .key = "rate_hz" }, [FOR_MS] = { .key = "for_ms" },
		[CONDITIONS] = { .key = "conditions" }, [PIDS] = { .key = "pids" },
	};
	struct buf command = { 0 };
	struct json_pull j;
	int err;
	size_t i;

	*r = (struct ctl_request){ .what = CTL_STATUS };
	snprintf(why, CTL_WHY_BYTES, "out of memory");
	json_pull_start(&j, line, len, 0);
	if (!json_members(&j, m, MEMBERS) || !json_pull_finish(&j) ||
	    !json_member_string(&m[COMMAND], &command)) {
		buf_free(&command);
		return refuse_request(why, "the request is not an object of JSON with a command");
	}
	for (i = 0; i < ARRAY_SIZE(words) && strcmp((char *)command.data, words[i]); i++)
		;
	buf_free(&command);
	if (i == ARRAY_SIZE(words))
		return refuse_request(
			why, "this agent does not know the command: is it older than `ctl`?");
	r->what = i;
	r->json = json_member_is(&m[JSON], JT_TRUE);
	err = r->what == CTL_BURST ? read_burst(r, m, why) : 0;
	return err;
}

int ctl_answer_read(const void *line, size_t len, struct buf *text)
{
	struct json_member m[] = { { .key = "status" }, { .key = "output" } };
	struct json_pull j;
	uint64_t status;

	json_pull_start(&j, line, len, 0);
	if (!json_members(&j, m, ARRAY_SIZE(m)) || !json_pull_finish(&j) ||
	    !json_member_count(&m[0], &status) || status > 255 || !json_member_string(&m[1], text))
		return -EINVAL;
	return (int)status;
}
