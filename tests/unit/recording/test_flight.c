// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_flight.c - a flight recorder gives a recording what came in the time to keep, of whom, with
 * the losses of that time; and what it keeps is bounded. The clock is ours.
 */
#include "recording/flight.c"
#include "base/time.h"
#include "tests/unit/resolve/process_test.h"

#include <dirent.h>

#include "recording/recording.h"
#include "recording/session_json.h"
#include "tests/unit/json_doc.h"

#define KEEP_S 10

static uint64_t now;
static struct flight *flight;
static struct observer *to;
static struct when_list when;
static char dir[64], met[256];
static int met_cnt;
static uint64_t orphans;

static uint64_t our_clock(void)
{
	return now;
}

static void note_met(void *ctx, const struct flight_met *m)
{
	met_cnt++;
	snprintf(met, sizeof(met), "%d %s: %s", m->tgid, m->comm, m->text);
}

struct flight_stats {
	size_t bytes;			/* of what is kept */
	size_t processes, over;		/* over: of these, those that have ended */
	uint64_t dropped;		/* samples that went early, for lack of room */
	uint64_t reach_ns;		/* how far back the present part and those before go */
};

static void flight_stats(const struct flight *f, struct flight_stats *out)
{
	*out = (struct flight_stats){
		.bytes = f->room.bytes,
		.processes = f->live.cnt + f->room.over,
		.over = f->room.over,
		.dropped = f->dropped,
		.reach_ns = f->started ? f->args.clock() - f->times[f->oldest % TIMES].begin_ns : 0,
	};
}

static void counts(void *ctx, struct capture_counts *out)
{
	out->orphans = orphans;
}

static struct process *begin_process(pid_t tgid, uint32_t uid, const char *command)
{
	const struct process_args args = {
		.tgid = tgid, .start_ns = 9, .comm = "python3", .command = command,
		.image = &fake.img, .observer = to, .identity.uid = uid,
	};
	struct process *made = process_new(&args);

	assert_non_null(made);
	assert_int_equal(to->ops->begin(to, made), 0);
	return made;
}

static void end_process(struct process *which)
{
	assert_int_equal(to->ops->end(to, which, now), 0);
	process_free(which);
}

static void set_up(struct flight_args args)
{
	fake_codes_in_self(&fake, CODES);
	now = (now_ns() / NS_PER_S + 1) * NS_PER_S;
	args.when = &when;
	args.met = note_met;
	args.counts = counts;
	args.clock = our_clock;
	flight = flight_new(&args);
	assert_non_null(flight);
	to = flight_observer(flight);
	met_cnt = 0;
	orphans = 0;
	p = begin_process(101, 1000, "python3 app.py");
	to->ops->start(to, now);
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
}

static void tear_down(void)
{
	char path[400];
	DIR *d = opendir(dir);
	struct dirent *e;

	if (p)
		end_process(p);
	p = NULL;
	flight_free(flight);
	fake_codes_free(&fake);
	when.cnt = 0;
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove(path);
	}
	closedir(d);
	rmdir(dir);
}

/* A sample of this process now, in the functions first and first + 1. */
static void sample(struct process *of, uint32_t first)
{
	stack(7, 2, first);
	raw.h.time_ns = now;
	raw.h.rate_hz = 100;
	assert_int_equal(process_take(of, &raw, raw_len()), 0);
}

static void next_second(void)
{
	now += NS_PER_S;
	assert_int_equal(to->ops->tick(to), 0);
}

/* So many seconds with ten samples each. */
static void seconds(int cnt, uint32_t first)
{
	int i, n;

	for (i = 0; i < cnt; i++) {
		for (n = 0; n < 10; n++, now += NS_PER_S / 10)
			sample(p, first);
		now -= NS_PER_S;
		next_second();
	}
}

static struct recording *new_recording(void)
{
	const struct recording_args args = {
		.output = dir, .place = PLACE_DIR, .rate_hz = 100,
		.mode = &record_modes[RECORD_CPU],
		.selection = "-a", .split_all = true, .trigger = "a test", .compress = true,
	};
	struct recording *r = recording_new(&args);

	assert_non_null(r);
	return r;
}

/* Write what is kept; session.json's text, to be freed. */
static char *leave(struct recording *r)
{
	static const uint64_t none[CNT_MAX];
	struct capture_counts c = { .bpf = none };
	char path[128];

	assert_int_equal(flight_leave(flight, &c), 0);
	c.bpf = none;
	assert_int_equal(recording_finish(r, &c), 0);
	recording_free(r);
	snprintf(path, sizeof(path), "%s/session.json", dir);
	return (char *)file_bytes(path).data;
}

static char *write_all_kept(void)
{
	struct recording *r = new_recording();

	assert_int_equal(flight_enter(flight, r), 0);
	return leave(r);
}

static uint64_t number(const char *json, const char *path)
{
	const struct buf b = { .data = (uint8_t *)json, .len = strlen(json) };
	struct json_doc *doc = parse_json(&b);
	uint64_t n = (uint64_t)json_number(doc, path);

	free(doc);
	return n;
}

/* The events of a process' file, to be freed. */
static struct events events_of(pid_t tgid)
{
	struct events kept = { 0 };
	struct tach_reader *r;
	char path[128];

	snprintf(path, sizeof(path), "%s/%d-python3.tach", dir, tgid);
	r = open_ok(path);
	run_ok(r, &kept);
	tach_reader_free(r);
	return kept;
}

static bool has_file(pid_t tgid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d-python3.tach", dir, tgid);
	return !access(path, F_OK);
}

static void test_the_last_seconds(void **state)
{
	struct events kept;
	uint64_t end_us;
	size_t i;
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(100, 10);
	end_us = now / 1000;
	json = write_all_kept();
	assert_non_null(strstr(json, "\"trigger\": \"a test\""));
	kept = events_of(101);
	assert_in_range(kept.cnt, 10 * KEEP_S, 10 * (KEEP_S + 1));
	for (i = 0; i < kept.cnt; i++)
		assert_in_range(kept_event(&kept, i).time_us, end_us - (KEEP_S + 1) * 1000000,
				end_us);
	assert_true(kept_event(&kept, 0).time_us <= end_us - KEEP_S * 1000000 + 100000);
	events_free(&kept);
	free(json);
	tear_down();
}

/* Less than the time to keep has passed: all of it is there. */
static void test_a_young_recorder(void **state)
{
	struct events kept;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(3, 10);
	free(write_all_kept());
	kept = events_of(101);
	assert_int_equal(kept.cnt, 30);
	events_free(&kept);
	tear_down();
}

static void test_it_does_not_grow(void **state)
{
	struct flight_stats early, late;
	struct process *more;
	int i;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(2 * KEEP_S, 10);
	flight_stats(flight, &early);
	for (i = 0; i < 500; i++) {
		more = begin_process(1000 + i, 1000, "python3 short.py");
		sample(more, 30);
		end_process(more);
		seconds(1, 10);
		flight_stats(flight, &late);
		assert_in_range(late.over, 0, KEEP_S + 2);
		assert_in_range(late.reach_ns, KEEP_S * NS_PER_S, (KEEP_S + 2) * NS_PER_S);
	}
	seconds(2 * KEEP_S, 10);
	flight_stats(flight, &late);
	assert_int_equal(late.processes, 1);
	assert_in_range(late.bytes, 1, early.bytes + 4096);
	assert_int_equal(late.dropped, 0);
	tear_down();
}

static void test_a_process_that_ended(void **state)
{
	struct process *gone;
	struct events kept;
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	gone = begin_process(202, 1000, "python3 gone.py");
	sample(gone, 20);
	sample(gone, 21);
	rename_thread(gone, 7, "worker");
	end_process(gone);
	seconds(KEEP_S / 2, 10);
	json = write_all_kept();
	assert_non_null(strstr(json, "python3 gone.py"));
	assert_non_null(strstr(json, "\"worker\""));
	kept = events_of(202);
	assert_int_equal(kept.cnt, 2);
	events_free(&kept);
	free(json);
	tear_down();
}

static void test_a_process_that_ended_long_ago(void **state)
{
	struct process *gone;
	struct flight_stats stats;
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	gone = begin_process(202, 1000, "python3 gone.py");
	sample(gone, 20);
	end_process(gone);
	seconds(KEEP_S + 2, 10);
	flight_stats(flight, &stats);
	assert_int_equal(stats.over, 0);
	json = write_all_kept();
	assert_null(strstr(json, "gone.py"));
	assert_false(has_file(202));
	free(json);
	tear_down();
}

/* Two processes with one pid, one after the other: the first one's end comes before the second. */
static void test_a_pid_that_is_used_again(void **state)
{
	struct events kept;
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	sample(p, 10);
	end_process(p);
	p = begin_process(101, 1000, "python3 second.py");
	sample(p, 20);
	sample(p, 20);
	json = write_all_kept();
	assert_non_null(strstr(json, "python3 app.py"));
	assert_non_null(strstr(json, "python3 second.py"));
	assert_non_null(strstr(json, "101-python3.1.tach"));
	kept = events_of(101);
	assert_int_equal(kept.cnt, 1);
	events_free(&kept);
	free(json);
	tear_down();
}

/* What was lost before is no loss of the recording. */
static void test_losses(void **state)
{
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	process_add_lost(p, 7, LOSS_RING_FULL, 100);
	orphans = 50;
	seconds(2 * KEEP_S, 10);
	process_add_lost(p, 8, LOSS_RING_FULL, 3);
	orphans = 52;
	seconds(1, 10);
	json = write_all_kept();
	assert_int_equal(number(json, "lost.ring_full"), 3);
	assert_int_equal(number(json, "lost.orphans"), 2);
	assert_null(strstr(json, "\"7\""));
	assert_non_null(strstr(json, "\"8\""));
	free(json);
	tear_down();
}

/* Losses of a process without a sample. */
static void test_losses_without_samples(void **state)
{
	char *json;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	process_add_lost(p, 7, LOSS_BUSY, 5);
	now += (2 * KEEP_S) * NS_PER_S;
	next_second();
	now += (2 * KEEP_S) * NS_PER_S;
	next_second();
	json = write_all_kept();
	assert_null(strstr(json, "\"7\""));
	free(json);
	tear_down();
}

static void test_the_largest_user_gives_way(void **state)
{
	const size_t room = 200000;
	struct flight_stats stats;
	struct events kept;
	struct process *other;
	char *json;
	int i, n;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S, .bytes_max = room });
	other = begin_process(202, 2000, "python3 other.py");
	for (i = 0; i < KEEP_S / 2; i++) {
		sample(other, 20);
		for (n = 0; n < 20000; n++)
			sample(p, n % 300);
		flight_stats(flight, &stats);
		assert_in_range(stats.bytes, 1, room);
		next_second();
	}
	assert_true(stats.dropped > 0);
	json = write_all_kept();
	kept = events_of(202);
	assert_int_equal(kept.cnt, KEEP_S / 2);
	events_free(&kept);
	kept = events_of(101);
	assert_int_equal(kept.cnt + stats.dropped, 20000 * KEEP_S / 2);
	assert_non_null(strstr(json, "\"memory\""));
	events_free(&kept);
	free(json);
	end_process(other);
	tear_down();
}

static void test_many_that_end(void **state)
{
	struct flight_stats stats;
	struct process *more;
	char *json;
	int i;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S, .over_max = 20 });
	more = begin_process(3000, 2000, "python3 honest.py");
	sample(more, 20);
	end_process(more);
	for (i = 0; i < 100; i++) {
		more = begin_process(1000 + i, 1000, "python3 flood.py");
		sample(more, 30);
		end_process(more);
		flight_stats(flight, &stats);
		assert_in_range(stats.over, 1, 20);
	}
	assert_int_equal(stats.dropped, 81);
	json = write_all_kept();
	assert_true(has_file(3000));
	assert_true(has_file(1099));
	assert_false(has_file(1000));
	assert_int_equal(number(json, "lost.orphans"), 81);
	free(json);
	tear_down();
}

/* Of a wait of 30 s a recording has what is of its time. */
static void test_a_wait_that_began_before(void **state)
{
	const uint32_t none = 0;
	struct event wait = { .thread_id = 9, .weight = 3000, .status = 0, .frames = &none };
	struct events kept;
	uint64_t start_us;
	size_t i;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(2 * KEEP_S, 10);
	wait.time_us = now / 1000 - wait.weight * 10000;
	assert_int_equal(to->ops->event(to, p, &wait), 0);
	start_us = now / 1000 - (KEEP_S + 1) * 1000000;
	free(write_all_kept());
	kept = events_of(101);
	for (i = 0; i < kept.cnt; i++)
		assert_true(kept_event(&kept, i).time_us >= start_us);
	assert_in_range(kept.cnt, 10 * KEEP_S + 100 * KEEP_S,
			10 * (KEEP_S + 1) + 100 * (KEEP_S + 1));
	events_free(&kept);
	tear_down();
}

/* A recording that goes on gets what was kept, and then what comes, also of new processes. */
static void test_it_goes_on(void **state)
{
	struct recording *r;
	struct process *more;
	struct events kept;

	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(2, 10);
	r = new_recording();
	assert_int_equal(flight_enter(flight, r), 0);
	seconds(3, 15);
	more = begin_process(202, 1000, "python3 more.py");
	sample(more, 20);
	end_process(more);
	assert_int_equal(flight_error(flight), 0);
	free(leave(r));
	kept = events_of(101);
	assert_int_equal(kept.cnt, 50);
	events_free(&kept);
	kept = events_of(202);
	assert_int_equal(kept.cnt, 1);
	events_free(&kept);
	tear_down();
}

static void test_without_keeping(void **state)
{
	struct flight_stats stats;
	struct recording *r;
	struct events kept;

	set_up((struct flight_args){ .keep_ns = 0 });
	seconds(2, 10);
	flight_stats(flight, &stats);
	assert_int_equal(stats.dropped, 0);
	r = new_recording();
	assert_int_equal(flight_enter(flight, r), 0);
	seconds(1, 15);
	free(leave(r));
	kept = events_of(101);
	assert_int_equal(kept.cnt, 10);
	events_free(&kept);
	tear_down();
}

/* Ten samples a second of 10 ms each: 10 % of a CPU. */
static void test_conditions(void **state)
{
	when = (struct when_list){ .cnt = 1, .list = { { WHEN_CPU, 5, 3, "cpu>5% for 3s" } } };
	set_up((struct flight_args){ .keep_ns = KEEP_S * NS_PER_S });
	seconds(3, 10);
	assert_int_equal(met_cnt, 0);
	seconds(2, 10);
	assert_int_equal(met_cnt, 1);
	assert_string_equal(met, "101 python3: used 10 % of a CPU for 3 s");
	seconds(5, 10);
	assert_int_equal(met_cnt, 1);
	next_second();
	next_second();
	next_second();
	seconds(5, 10);
	assert_int_equal(met_cnt, 2);
	tear_down();
}

/* This process itself has threads and memory. */
static void test_conditions_of_proc(void **state)
{
	struct process *self;

	when = (struct when_list){ .cnt = 2, .list = { { WHEN_THREADS, 0, 2, "threads>0 for 2s" },
						       { WHEN_RSS, 1e6, 2, "rss>1M for 2s" } } };
	set_up((struct flight_args){ .keep_ns = 0 });
	end_process(p);
	p = NULL;
	self = begin_process(getpid(), 0, "python3 self.py");
	next_second();
	next_second();
	next_second();
	next_second();
	assert_int_equal(met_cnt, 2);
	assert_non_null(strstr(met, "MiB of memory for 2 s"));
	end_process(self);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_seconds),
		cmocka_unit_test(test_a_young_recorder),
		cmocka_unit_test(test_it_does_not_grow),
		cmocka_unit_test(test_a_process_that_ended),
		cmocka_unit_test(test_a_process_that_ended_long_ago),
		cmocka_unit_test(test_a_pid_that_is_used_again),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_losses_without_samples),
		cmocka_unit_test(test_the_largest_user_gives_way),
		cmocka_unit_test(test_many_that_end),
		cmocka_unit_test(test_a_wait_that_began_before),
		cmocka_unit_test(test_it_goes_on),
		cmocka_unit_test(test_without_keeping),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_conditions_of_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
