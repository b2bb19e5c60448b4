// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_frame.c - names of processes in files that several share: what was written is
 * read, and nothing else is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/intern.h"
#include "model/process_frame.h"
#include "model/sample_filter.h"

static uint32_t named(struct intern *in, const char *file, const char *func)
{
	struct frame f = { .line = LINE_NONE, .end_line = LINE_NONE, .column = COLUMN_NONE,
			   .end_column = COLUMN_NONE, .opcode = OPCODE_NONE };
	uint32_t id;

	if (!strcmp(file, SYNTHETIC_FILE))
		f.kind = FRAME_SYNTHETIC;
	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static void test_there_and_back(void **state)
{
	static const char *const comms[] = { "python3", "a b", "", "<process 3 x>", "x>", "a@b @",
					     "x @prod @y", "\xff\n" };
	static const char *const containers[] = { "", "web", "shop/pay-0/pay", "a @b>", "" };
	char name[PROCESS_FRAME_BYTES], comm[PROCESS_FRAME_BYTES];
	const char *container, *want;
	struct intern *in = intern_new();
	uint32_t tgid, id;
	size_t i;

	for (i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
		want = containers[i % (sizeof(containers) / sizeof(containers[0]))];
		process_frame_name(name, 4194304 - i, comms[i], want);
		id = named(in, SYNTHETIC_FILE, name);
		assert_true(process_frame_parse(intern_tables(in), id, &tgid, comm, &container));
		assert_string_equal(container, want);
		assert_int_equal(tgid, 4194304 - i);
		if (i < 5)	/* the others were escaped */
			assert_string_equal(comm, comms[i]);
		assert_null(strchr(comm, '\n'));
	}
	intern_free(in);
}

static void test_anything_else(void **state)
{
	static const char *const names[] = {
		"", "<process >", "<process 1>", "<process 0 x>", "<process x y>", "<process 12 x",
		"process 12 x>", "<process 99999999999999999999 x>", "<process 4294967295 x>",
		"<GC>",
	};
	char comm[PROCESS_FRAME_BYTES], huge[4096];
	const char *container;
	struct intern *in = intern_new();
	uint32_t tgid, id;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(process_frame_parse(intern_tables(in),
						 named(in, SYNTHETIC_FILE, names[i]), &tgid, comm,
						 &container));
	/* A function can be called so. It is none of ours, whatever its file. */
	assert_false(process_frame_parse(intern_tables(in), named(in, "x.py", "<process 1 x>"),
					 &tgid, comm, &container));
	assert_int_equal(intern_synthetic(in, FRAME_KERNEL, "<process 1 x>", &id), 0);
	assert_false(process_frame_parse(intern_tables(in), id, &tgid, comm, &container));
	memset(huge, 'x', sizeof(huge));
	memcpy(huge, "<process 1 ", 11);
	memcpy(huge + sizeof(huge) - 2, ">", 2);
	assert_false(process_frame_parse(intern_tables(in), named(in, SYNTHETIC_FILE, huge), &tgid,
					 comm, &container));
	assert_false(process_frame_parse(intern_tables(in), UINT32_MAX, &tgid, comm, &container));
	intern_free(in);
}

static int count(void *ctx, const struct event *ev)
{
	*(int *)ctx += 1;
	return 0;
}

/* Of three processes in a file, those that --process names. */
static void test_filter(void **state)
{
	static const char *const asked[] = { "12", "web*" };
	struct sample_filter_options o = { .processes = (const char **)asked, .process_cnt = 2 };
	struct intern *in = intern_new();
	uint32_t leaf = named(in, "x.py", "f"), stack[3][2] = {
		{ leaf, named(in, SYNTHETIC_FILE, "<process 11 job>") },
		{ leaf, named(in, SYNTHETIC_FILE, "<process 12 job>") },
		{ leaf, named(in, SYNTHETIC_FILE, "<process 13 web-1>") },
	};
	struct profile_meta meta = { .start_us = 0 };
	struct sample_filter *f;
	int passed = 0, i;

	assert_true(sample_filter_wants_tables(&o, intern_tables(in), NULL));
	f = sample_filter_new();
	assert_non_null(f);
	sample_filter_begin(f, &o, &meta, intern_tables(in), count, &passed);
	sample_filter_by_process_frames(f, NULL);
	for (i = 0; i < 3; i++) {
		struct event ev = { .nframes = 2, .frames = stack[i], .weight = 1 };

		assert_int_equal(sample_filter_event(f, &ev), 0);
		assert_int_equal(passed, i);
	}
	/* A stack of nobody's, and none at all */
	assert_int_equal(sample_filter_event(f, &(struct event){ .nframes = 1, .frames = &leaf }),
			 0);
	assert_int_equal(sample_filter_event(f, &(struct event){ .nframes = 0 }), 0);
	assert_int_equal(passed, 2);
	sample_filter_free(f);
	o.process_cnt = 1;
	o.processes = (const char *[]){ "14" };
	assert_false(sample_filter_wants_tables(&o, intern_tables(in), NULL));
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_anything_else),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
