// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach_huge.c - beyond 4 GiB and 2^32 samples, without writing as much: the
 * writer and the decoder are set to just before, from the inside.
 */
#include "formats/tach/tach_write.c"
#undef RECORD_MAX_BYTES
#undef REPEAT_MAX_BYTES
#include "formats/tach/tach_decode.c"

#include "formats/formats.h"
#include "formats/tach/tach_write.h"
#include "tests/unit/tach_test.h"

#define BEFORE ((1ULL << 32) - 3)
#define FAR (5ULL << 30)	/* where in the file; memory files can be sparse */

static const struct profile_meta meta = { .start_us = 1, .interval_us = 1 };

/* A sink that believes to have written BEFORE samples in FAR bytes. */
static struct sink *start(int fd, enum profile_layout layout, struct intern *in)
{
	const uint64_t mark[3] = { FAR, BEFORE };
	const struct sink_args args = { .fd = fd, .layout = layout };
	struct sink *s = sink_tach.open(&args);
	struct tach_sink *t = to_tach(s);

	assert_non_null(s);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	t->sample_cnt = t->buffered_cnt = BEFORE;
	assert_int_equal(t->file.marks.len, sizeof(mark));
	memcpy(t->file.marks.data, mark, sizeof(mark));
	return s;
}

static int put(struct sink *s, uint64_t i, uint32_t id)
{
	const struct event ev = { .time_us = 1 + i, .thread_id = 1, .nframes = 1, .frames = &id,
				  .weight = 1 };

	return s->ops->event(s, &ev);
}

static struct intern *tables(void)
{
	struct intern *in = intern_new();
	uint32_t id;

	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "a", &id), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "b", &id), 0);
	return in;
}

static void test_release(void **state)
{
	struct intern *in = tables();
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, in);
	struct tach_reader *r;
	uint64_t i;

	for (i = 0; i < 10; i++)
		assert_int_equal(put(s, i, i & 1), 0);
	assert_int_equal(s->ops->end(s, NULL), 0);
	assert_int_equal(tach_sample_cnt(s), BEFORE + 10);
	assert_int_equal(s->ops->close(s), 0);
	r = open_ok(path);
	assert_true(tach_reader_info(r)->sample_cnt == BEFORE + 10);
	assert_true(tach_reader_info(r)->file_size > FAR);
	assert_int_equal(tach_reader_tables(r)->frame_cnt, 2);
	tach_reader_free(r);
	intern_free(in);
	close(fd);
}

/* Their headers count to 2^32 - 1: an error then, and what was written is kept. */
static void test_drafts(void **state)
{
	static const enum profile_layout layouts[] = { LAYOUT_DRAFT1, LAYOUT_DRAFT2 };
	struct intern *in = tables();
	char path[PATH_BYTES];
	struct tach_reader *r;
	struct sink *s;
	size_t i;
	int fd;

	for (i = 0; i < 2; i++) {
		fd = memory_file(path);
		s = start(fd, layouts[i], in);
		assert_int_equal(put(s, 0, 0), 0);
		assert_int_equal(put(s, 1, 1), 0);
		assert_int_equal(put(s, 2, 0), -EOVERFLOW);
		assert_int_equal(s->ops->end(s, NULL), -EOVERFLOW);
		s->ops->close(s);
		r = open_ok(path);
		assert_true(tach_reader_info(r)->sample_cnt == UINT32_MAX);
		tach_reader_free(r);
		close(fd);
	}
	intern_free(in);
}

/* Counts that become samples: the bound is all of a file's, and what was written is kept. */
static void test_weights(void **state)
{
	uint32_t id = 0;
	struct event ev = { .time_us = 1, .thread_id = 1, .nframes = 1, .frames = &id };
	struct intern *in = tables();
	char path[PATH_BYTES];
	int fd = memory_file(path);
	const struct sink_args args = { .fd = fd };
	struct sink *s = sink_tach.open(&args);
	struct tach_reader *r;

	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	ev.weight = 1000;
	assert_int_equal(s->ops->event(s, &ev), 0);
	ev.weight = 0;
	assert_int_equal(s->ops->event(s, &ev), 0);
	assert_true(to_tach(s)->repeated_cnt == 999);
	to_tach(s)->repeated_cnt = REPEATED_MAX - 2;
	ev.weight = 3;
	assert_int_equal(s->ops->event(s, &ev), 0);
	ev.weight = 1;
	assert_int_equal(s->ops->event(s, &ev), 0);
	ev.weight = 2;
	assert_int_equal(s->ops->event(s, &ev), -EOVERFLOW);
	assert_int_equal(s->ops->end(s, NULL), -EOVERFLOW);
	s->ops->close(s);
	r = open_ok(path);
	assert_true(tach_reader_info(r)->sample_cnt == 1004);
	tach_reader_free(r);
	close(fd);
	fd = memory_file(path);
	s = sink_tach.open(&(struct sink_args){ .fd = fd });
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	ev.weight = UINT64_MAX;
	assert_int_equal(s->ops->event(s, &ev), -EOVERFLOW);
	s->ops->close(s);
	close(fd);
	intern_free(in);
}

static void test_decoder(void **state)
{
	/* thread 1, interpreter 0, seven repeats of an empty stack, 1 µs apart. */
	static const uint8_t samples[] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, TACH_REPEAT,
					   7, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 };
	struct tach_info info = { .sample_cnt = BEFORE + 7, .thread_cnt = 1 };
	char why[256] = "";
	struct tach_decoder *d = tach_decoder_new(&info, samples, sizeof(samples), why,
						  sizeof(why));
	struct event ev;
	int i;

	assert_non_null(d);
	d->sample_cnt = BEFORE;
	for (i = 0; i < 7; i++)
		assert_int_equal(tach_decoder_next(d, &ev), 1);
	assert_true(ev.time_us == 7);
	assert_int_equal(tach_decoder_next(d, &ev), 0);
	tach_decoder_free(d);
	info.sample_cnt--;
	d = tach_decoder_new(&info, samples, sizeof(samples), why, sizeof(why));
	d->sample_cnt = BEFORE;
	for (i = 0; i < 6; i++)
		assert_int_equal(tach_decoder_next(d, &ev), 1);
	assert_int_equal(tach_decoder_next(d, &ev), -EBADMSG);
	assert_non_null(strstr(why, "4294967299"));
	tach_decoder_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_drafts),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_decoder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
