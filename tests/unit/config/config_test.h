/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_test.h - what tests of the agent's configuration share: texts in, messages out. */
#ifndef TACHBPF_CONFIG_TEST_H
#define TACHBPF_CONFIG_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_keys.h"

/* What is printed on stderr between these two; valid until the next begin. */
static char *messages;
static size_t messages_len;
static FILE *terminal;

static inline void listen(void)
{
	free(messages);
	messages = NULL;
	terminal = stderr;
	stderr = open_memstream(&messages, &messages_len);
	assert_non_null(stderr);
}

static inline const char *heard(void)
{
	fclose(stderr);
	stderr = terminal;
	return messages;
}

/* The configuration of this file; NULL: refused, and messages says why. */
static inline struct agent_config *parse(const char *text)
{
	struct agent_config *c;

	listen();
	c = agent_config_parse("a.yaml", text, strlen(text));
	heard();
	return c;
}

static inline struct agent_config *accepted(const char *text)
{
	struct agent_config *c = parse(text);

	if (!c)
		fail_msg("refused:\n%s\n%s", text, messages);
	assert_string_equal(messages, "");
	return c;
}

/* The file is refused, with exactly this one error. */
static inline void assert_refused(const char *text, const char *error)
{
	struct agent_config *c = parse(text);
	char want[1024];

	assert_null(c);
	snprintf(want, sizeof(want), "tachbpf: error: %s\n", error);
	assert_string_equal(messages, want);
}

/* What agent_config_print() writes, to be freed. */
static inline char *printed(const struct agent_config *c)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	agent_config_print(c, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

#define MAX_WORDS 32

/* "tachbpf agent" and these words, NULL-terminated. */
struct run {
	struct agent_options o;
	struct agent_config *config;
	int status;
	char *out;
	size_t out_len;
	char *words[MAX_WORDS + 1];
};

static inline void run_words(struct run *r, const char *const *words)
{
	FILE *out;
	size_t i;

	memset(r, 0, sizeof(*r));
	for (i = 0; words[i]; i++)
		r->words[i] = (char *)words[i];
	out = open_memstream(&r->out, &r->out_len);
	assert_non_null(out);
	listen();
	r->status = agent_config_begin(&r->o, r->words, out, &r->config);
	heard();
	assert_int_equal(fclose(out), 0);
}

#define RUN(r, ...) run_words(r, (const char *const[]){ __VA_ARGS__, NULL })

static inline void run_end(struct run *r)
{
	agent_config_free(r->config);
	agent_options_free(&r->o);
	free(r->out);
}

/* A file with this text; its path is valid until the next call. */
static inline const char *file_with(const char *text)
{
	static char path[64];
	FILE *f;
	int fd;

	if (*path)
		unlink(path);
	strcpy(path, "/tmp/agent-config.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

#endif
