/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlyze_test.h - a .mlyze file for a test: written and joined as recordings are, then opened. */
#ifndef TACHBPF_MLYZE_TEST_H
#define TACHBPF_MLYZE_TEST_H

#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_stream.h"
#include "tests/unit/tach_test.h"

struct mlyze_test {
	char dir[64];
	int dirfd, out;
	struct intern *in;
	struct mlyze_stream *stream;	/* to write to, until mlyze_test_open() */
	struct buf bytes;
	struct mlyze_file *file;
};

static inline struct mlyze_test mlyze_test_new(uint64_t start_us)
{
	struct mlyze_test t = { .dir = "/dev/shm/mlyze_test.XXXXXX", .in = intern_new() };

	assert_non_null(mkdtemp(t.dir));
	t.dirfd = open(t.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.stream = mlyze_stream_new(t.dirfd, "x", start_us, intern_tables(t.in));
	assert_non_null(t.stream);
	return t;
}

static inline uint32_t mlyze_test_frame(struct mlyze_test *t, const struct string_ref *file,
					const struct string_ref *func, int32_t line)
{
	struct frame f = { .line = line, .end_line = line, .column = COLUMN_NONE,
			   .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = FRAME_PYTHON };
	uint32_t id;

	assert_int_equal(intern_string(t->in, file->data, file->len, &f.file), 0);
	assert_int_equal(intern_string(t->in, func->data, func->len, &f.func), 0);
	assert_int_equal(intern_frame(t->in, &f, &id), 0);
	return id;
}

static inline void mlyze_test_mark(struct mlyze_test *t, uint64_t time_us, const char *text,
				   size_t len)
{
	struct mlyze_mark_text mark = { .len = len };

	assert_true(len <= sizeof(mark.text));
	memcpy(mark.text, text, len);
	assert_int_equal(mlyze_stream_mark(t->stream, time_us, &mark), 0);
}

/* Join what was written, and open it as t->file. */
static inline void mlyze_test_open(struct mlyze_test *t)
{
	struct mlyze_joined joined;
	struct mlyze_error error;
	char path[PATH_BYTES], why[256] = "";

	assert_int_equal(mlyze_stream_flush(t->stream), 0);
	mlyze_stream_free(t->stream);
	t->out = memory_file(path);
	if (mlyze_join_to(t->out, t->dirfd, "x", &joined, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(joined.dropped, 0);
	mlyze_remove_parts(t->dirfd, "x");
	t->bytes = file_bytes(path);
	t->file = mlyze_open(t->bytes.data, t->bytes.len, &error);
	if (!t->file)
		fail_msg("%s", error.text);
}

static inline void mlyze_test_free(struct mlyze_test *t)
{
	mlyze_free(t->file);
	buf_free(&t->bytes);
	intern_free(t->in);
	close(t->out);
	close(t->dirfd);
	rmdir(t->dir);
}

#endif
