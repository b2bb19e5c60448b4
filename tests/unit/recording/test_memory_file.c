// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_file.c - a recording with --mode mem, called as an observer: its Memlyze files have
 * what it was told, with our marks; session.json has the sums.
 */
#include <dirent.h>
#include <time.h>

#include "recording/sums.c"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_marks.h"
#include "formats/mlyze/mlyze_stats.h"
#include "recording/memory_file.h"
#include "recording/recording.h"
#include "recording/recording_rows.h"
#include "tests/unit/json_doc.h"
#include "tests/unit/memory_observer.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 40
#define PID 4711
#define FILE_NAME "4711-python3.mlyze"

static struct fake_codes fake;
static char dir[64];
static struct recording *recording;
static struct observer *observer;
static struct memory_observer names = MEMORY_OBSERVER;	/* of frames */

static void open_place(const char *output, enum place_kind place, bool force)
{
	struct recording_args args = {
		.output = output, .place = place, .force = force, .rate_hz = 99,
		.mode = &record_modes[RECORD_MEM], .selection = "-a",
		.memory = { .every_bytes = 65536, .interval_us = 1000000 },
	};

	recording = recording_new(&args);
	assert_non_null(recording);
	observer = recording_observer(recording);
	observer->ops->start(observer, now_ns());
}

static struct process *begin(pid_t tgid, const char *comm)
{
	struct process_args args = {
		.tgid = tgid, .start_ns = 1, .comm = comm, .command = "python3 app.py --x=\"1 2\"",
		.image = &fake.img, .observer = &names.observer,
	};
	struct process *p = process_new(&args);
	struct raw_sample raw = {
		.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 3,
		.frames = { fake_frame(&fake, 1, 2), fake_frame(&fake, 2, 2),
			    fake_frame(&fake, 3, 2) },
	};

	assert_non_null(p);
	process_set_observed(p, &names);
	assert_int_equal(process_take(p, &raw, raw_sample_bytes(raw.nframes, raw.flags)), 0);
	assert_true(process_tables(p)->frame_cnt > 0);
	assert_int_equal(observer->ops->begin(observer, p), 0);
	return p;
}

static int memory(struct process *p, const struct memory_event *ev)
{
	return observer->ops->memory(observer, p, ev);
}

static int alloc(struct process *p, uint64_t addr, uint64_t bytes, uint32_t stack, uint64_t tid)
{
	const uint32_t last = process_tables(p)->frame_cnt - 1, frames[] = { stack & last, last };
	struct memory_event ev = { .change = MEMORY_ALLOC, .time_us = now_ns() / 1000, .addr = addr,
				   .bytes = bytes, .stack = stack, .nframes = 2, .frames = frames,
				   .thread_id = tid };

	return memory(p, &ev);
}

static void freed(struct process *p, uint64_t addr)
{
	struct memory_event ev = { .change = MEMORY_FREE, .time_us = now_ns() / 1000,
				   .addr = addr };

	assert_int_equal(memory(p, &ev), 0);
}

static void check(struct process *p, uint64_t rss)
{
	struct memory_event ev = { .change = MEMORY_CHECK, .time_us = now_ns() / 1000,
				   .check = { .rss_anon = rss, .swapped = 5, .held = rss / 2 } };

	assert_int_equal(memory(p, &ev), 0);
}

static void census(struct process *p, uint64_t objects)
{
	static struct heap_census c;
	struct memory_event ev = { .change = MEMORY_CENSUS, .time_us = now_ns() / 1000,
				   .census = &c };

	c = (struct heap_census){ .took_ns = 2000, .rss = 7, .pool_bytes = 6, .row_cnt = 1 };
	c.rows[0] = (struct heap_row){ .name = "app.Session", .objects = objects, .bytes = 48 };
	assert_int_equal(memory(p, &ev), 0);
}

static void collection(struct process *p)
{
	struct memory_event ev = { .change = MEMORY_COLLECTION, .time_us = now_ns() / 1000,
				   .collection = { .generation = 2, .runs = 3, .collected = 90,
						   .uncollectable = 1, .duration_us = 800 } };

	assert_int_equal(memory(p, &ev), 0);
}

static void fate(struct process *p, uint32_t stack)
{
	struct memory_event ev = { .change = MEMORY_FATE, .time_us = now_ns() / 1000,
				   .stack = stack, .fate = { 2, 10, 20, 30 } };

	assert_int_equal(memory(p, &ev), 0);
}

static void end(struct process *p, bool exited)
{
	assert_int_equal(observer->ops->end(observer, p, exited ? now_ns() : 0), 0);
	process_free(p);
}

static struct capture_counts no_counts(void)
{
	static const uint64_t bpf[CNT_MAX];

	return (struct capture_counts){ .bpf = bpf };
}

/* session.json, to be freed; NULL: there is none. */
static struct json_doc *finish(const char *json)
{
	struct capture_counts counts = no_counts();
	struct json_doc *doc = NULL;
	struct buf b = { 0 };

	observer->ops->stop(observer, 0);
	assert_int_equal(recording_finish(recording, &counts), 0);
	if (!access(json, F_OK)) {
		b = file_bytes(json);
		doc = parse_json(&b);
	}
	buf_free(&b);
	recording_free(recording);
	return doc;
}

static uint64_t number(const struct json_doc *doc, const char *path)
{
	struct json_member m = at(doc, path);
	uint64_t v = 0;

	if (!json_member_count(&m, &v))
		fail_msg("no number: %s", path);
	return v;
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

/* ---- reading ---- */

/* The file's events as text: "mark recording; alloc 1 ...". To be freed. */
static char *events_of(const char *name, struct mlyze_stats *stats)
{
	char path[128], *text = NULL;
	struct mlyze_error error;
	struct mlyze_event ev;
	struct mlyze_cursor c;
	struct mlyze_mark m;
	struct mlyze_file *f;
	struct buf b;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int more;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	b = file_bytes(path);
	f = mlyze_open(b.data, b.len, &error);
	if (!f)
		fail_msg("%s: %s", name, error.text);
	assert_in_range(mlyze_start_us(f) / 1000000, (uint64_t)time(NULL) - 100,
			(uint64_t)time(NULL));
	mlyze_rewind(&c, f);
	while ((more = mlyze_next(&c, &ev, &error)) > 0) {
		const struct string_ref *s = &mlyze_tables(f)->strings[ev.name];

		assert_in_range(ev.time_us / 1000000, (uint64_t)time(NULL) - 100,
				(uint64_t)time(NULL));
		if (ev.type == MLYZE_ALLOC)
			fprintf(out, "alloc %u %u\n", ev.stack, ev.thread);
		if (ev.type == MLYZE_FREE)
			fprintf(out, "free\n");
		if (ev.type == MLYZE_GC)
			fprintf(out, "gc %u\n", (unsigned int)ev.objects);
		if (ev.type != MLYZE_MARKER)
			continue;
		mlyze_mark_parse(s->data, s->len, &m);
		assert_true(m.word != MARK_NONE);
		fprintf(out, "%.*s\n", (int)s->len - 8, s->data + 8);
	}
	assert_int_equal(more, 0);
	fclose(out);
	if (stats)
		assert_int_equal(mlyze_stats_collect(f, NULL, stats), 0);
	mlyze_free(f);
	buf_free(&b);
	return text;
}

static int setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0700), 0);
	fake_codes_in_self(&fake, CODES);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	fake_codes_free(&fake);
	memory_observer_free(&names);
	memset(&names.events, 0, sizeof(names.events));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static char *session_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/session.json", dir);
	return path;
}

/* ---- tests ---- */

static void test_a_file_and_its_marks(void **state)
{
	struct mlyze_stats stats;
	struct json_doc *doc;
	struct process *p;
	char *text;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	check(p, 1000000);
	census(p, 1);	/* before the file */
	assert_false(is_there(FILE_NAME ".events"));
	assert_int_equal(alloc(p, 0x10000, 65536, 1, 700), 0);
	census(p, 2);
	assert_int_equal(alloc(p, 0x20000, 65536, 0, 701), 0);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_true(is_there(FILE_NAME ".events") && is_there(FILE_NAME ".names"));
	assert_true(recording_bytes(recording) > 0);
	freed(p, 0x10000);
	collection(p);
	check(p, 1131072);
	fate(p, 0);
	fate(p, 9);	/* a stack that is not in the file */
	process_add_lost(p, 700, LOSS_ALLOCS_RING_FULL, 3);
	end(p, true);
	assert_true(is_there(FILE_NAME) && !is_there(FILE_NAME ".events"));
	doc = finish(session_path());
	text = events_of(FILE_NAME, &stats);
	assert_string_equal(text,
		"recording mode=sampled every=65536 interval_us=1000000 version=" TACHBPF_VERSION
		"\nprocess pid=4711 comm=python3 python=3.12.0 "
		"command=python3%20app.py%20--x=\"1%202\"\n"
		"check rss_anon=1000000 swapped=5 held=500000 unchecked=0\n"
		"thread n=0 tid=700\nalloc 0 0\n"
		"census took_us=2 rss_anon=7 pools=6 limited=0 types=2\n"
		"type name=app.Session objects=2 objects_error=0 bytes=48 bytes_error=0\n"
		"type objects=0 objects_error=0 bytes=0 bytes_error=0\n"
		"thread n=1 tid=701\nalloc 1 1\nfree\n"
		"gc generation=2 runs=3 uncollectable=1 duration_us=800\ngc 90\n"
		"check rss_anon=1131072 swapped=5 held=565536 unchecked=0\n"
		"fate stack=1 pages=2 own=10 reused=20 unused=30\n"
		"lost cause=allocs_ring_full cnt=3\nend exited=1\n");
	assert_int_equal(stats.total.allocated, 131072);
	assert_int_equal(stats.total.live, 65536);
	mlyze_stats_free(&stats);
	free(text);
	assert_int_equal(number(doc, "processes.0.rss_anon_begin"), 1000000);
	assert_int_equal(number(doc, "processes.0.rss_anon_end"), 1131072);
	assert_int_equal(number(doc, "processes.0.collections"), 3);
	assert_int_equal(number(doc, "processes.0.pages_looked_at"), 4);
	assert_int_equal(number(doc, "processes.0.own_bytes"), 20);
	assert_int_equal(number(doc, "processes.0.reused_bytes"), 40);
	assert_int_equal(number(doc, "memory.unused_bytes"), 60);
	assert_int_equal(number(doc, "memory.every_bytes"), 65536);
	assert_int_equal(number(doc, "files"), 1);
	free(doc);
}

/* Checks alone are no reason for a file. */
static void test_a_process_without_events(void **state)
{
	struct json_doc *doc;
	struct json_member m;
	struct process *p;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	check(p, 1000);
	check(p, 900);
	end(p, false);
	doc = finish(session_path());
	assert_false(is_there(FILE_NAME));
	m = at(doc, "processes.0.file");
	assert_true(json_member_is(&m, JT_NULL));
	m = at(doc, "processes.0.explained");
	assert_true(json_member_is(&m, JT_NULL));
	assert_int_equal(number(doc, "processes.0.rss_anon_end"), 900);
	free(doc);
}

/* A large file is made when the recording ends. */
static void test_a_large_file(void **state)
{
	struct mlyze_stats stats;
	struct process *p;
	uint32_t i;
	char *text;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	for (i = 0; i < 300000; i++)
		assert_int_equal(alloc(p, i * 4096ull, 100, i % 3, 700), 0);
	end(p, true);
	assert_true(is_there(FILE_NAME ".events") && !is_there(FILE_NAME));
	free(finish(session_path()));
	assert_true(!is_there(FILE_NAME ".events") && !is_there(FILE_NAME ".names"));
	text = events_of(FILE_NAME, &stats);
	assert_int_equal(stats.total.live, 30000000);
	mlyze_stats_free(&stats);
	free(text);
}

/* More threads than there are numbers share the last one. */
static void test_many_threads(void **state)
{
	struct json_doc *doc;
	struct process *p;
	uint32_t i;
	char *text;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	for (i = 0; i < 65540; i++)
		assert_int_equal(alloc(p, i * 4096ull, 100, 0, 10000 + i), 0);
	end(p, false);
	doc = finish(session_path());
	assert_int_equal(number(doc, "processes.0.threads_not_kept"), 5);
	free(doc);
	text = events_of(FILE_NAME, NULL);
	assert_non_null(strstr(text, "thread n=65534 tid=75534\nalloc 0 65534\nalloc 0 65535\n"));
	assert_non_null(strstr(text, "end exited=0\n"));
	free(text);
}

/* Killed: what was flushed can be joined; before that, an earlier recording is not overwritten. */
static void test_a_killed_recording(void **state)
{
	struct recording_args args = { .output = dir, .place = PLACE_DIR, .selection = "-a",
				       .mode = &record_modes[RECORD_MEM] };
	struct mlyze_joined joined;
	struct mlyze_stats stats;
	struct process *p;
	char why[256], *text;
	int dirfd;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	assert_int_equal(alloc(p, 0x1000, 100, 0, 700), 0);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_int_equal(alloc(p, 0x2000, 100, 0, 700), 0);
	recording_free(recording);	/* as kill -9 leaves it */
	process_free(p);
	errno = 0;
	assert_null(recording_new(&args));
	assert_int_equal(errno, EEXIST);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mlyze_join(dirfd, FILE_NAME, &joined, why, sizeof(why)), 0);
	close(dirfd);
	assert_false(joined.ended);
	text = events_of(FILE_NAME, &stats);
	assert_int_equal(stats.total.count, 1);
	mlyze_stats_free(&stats);
	free(text);
}

/* -o FILE.mlyze, and an exec: the second file is beside it; with FILE.json. */
static void test_a_file_that_the_user_named(void **state)
{
	char path[128], json[140], *text;
	struct json_doc *doc;
	struct process *p;
	int i;

	snprintf(path, sizeof(path), "%s/x.mlyze", dir);
	snprintf(json, sizeof(json), "%s.json", path);
	open_place(path, PLACE_FILE, false);
	p = begin(PID, "python3");
	assert_true(is_there("x.mlyze.names"));
	end(p, false);		/* it got no memory, and leaves the file to the next program */
	for (i = 0; i < 2; i++) {
		p = begin(PID, "python3");
		assert_int_equal(alloc(p, 0x1000, 100, 0, 700), 0);
		end(p, false);
	}
	doc = finish(json);
	assert_int_equal(number(doc, "processes.0.pid"), PID);
	free(doc);
	for (i = 0; i < 2; i++) {
		text = events_of(i ? "x.1.mlyze" : "x.mlyze", NULL);
		assert_non_null(strstr(text, "alloc 0 0\n"));
		free(text);
	}
	assert_false(is_there("x.2.mlyze"));
	assert_false(is_there("x.1.mlyze.names"));
}

/* A killed recording's file is in the way; --force replaces it. */
static void test_a_killed_file_is_in_the_way(void **state)
{
	struct recording_args args = { .place = PLACE_FILE, .selection = "-a",
				       .mode = &record_modes[RECORD_MEM] };
	char path[128], json[140];
	struct process *p;

	snprintf(path, sizeof(path), "%s/x.mlyze", dir);
	snprintf(json, sizeof(json), "%s.json", path);
	args.output = path;
	open_place(path, PLACE_FILE, false);
	p = begin(PID, "python3");
	assert_int_equal(alloc(p, 0x1000, 100, 0, 700), 0);
	assert_int_equal(observer->ops->tick(observer), 0);
	recording_free(recording);
	process_free(p);
	errno = 0;
	assert_null(recording_new(&args));
	assert_int_equal(errno, EEXIST);
	open_place(path, PLACE_FILE, true);
	end(begin(PID, "python3"), false);
	free(finish(json));
	assert_true(is_there("x.mlyze") && !is_there("x.mlyze.names") &&
		    !is_there(".x.mlyze.names.replaced"));
}

/* One process' file is gone: it counts as lost, and the others go on. */
static void test_a_file_that_was_removed(void **state)
{
	struct recording_result result;
	struct capture_counts counts = no_counts();
	struct process *p, *other;
	char path[128], *text;

	open_place(dir, PLACE_DIR, false);
	p = begin(PID, "python3");
	other = begin(12, "other");
	assert_int_equal(alloc(p, 0x1000, 100, 0, 700), 0);
	assert_int_equal(alloc(other, 0x1000, 100, 0, 12), 0);
	snprintf(path, sizeof(path), "%s/" FILE_NAME ".events", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_int_equal(alloc(p, 0x2000, 100, 0, 700), 0);
	assert_int_equal(alloc(other, 0x2000, 100, 0, 12), 0);
	end(p, false);
	end(other, false);
	recording_result(recording, &counts, &result);
	assert_int_equal(result.lost_processes, 1);
	free(finish(session_path()));
	text = events_of("12-other.mlyze", NULL);
	assert_non_null(strstr(text, "alloc 0 0\nalloc 0 0\n"));
	free(text);
}

static void test_explained(void **state)
{
	struct memory_sums m = { .held_begin = 10, .held_end = 105, .rss_anon_begin = 1000,
				 .rss_anon_end = 1080,
				 .swapped_begin = 0, .swapped_end = 20 };
	double share;

	assert_true(memory_sums_explained(&m, &share));
	assert_true(share > 0.949 && share < 0.951);
	m.rss_anon_end = 980;
	assert_false(memory_sums_explained(&m, &share));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_file_and_its_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_process_without_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_large_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_killed_recording, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_that_the_user_named, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_killed_file_is_in_the_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_that_was_removed, setup, teardown),
		cmocka_unit_test(test_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
