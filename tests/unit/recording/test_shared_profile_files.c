// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_shared_profile_files.c - short-lived processes without end, with ever other commands: what
 * the files that they share keep in memory, and how many are open, is bounded. The limits of memory
 * are small here.
 */
#define MEMBERS_MAX 40
#define FRAMES_MAX 200
#define ALL_MEMBERS_MAX 100
#define ALL_FRAMES_MAX 400
#include "user/recording/shared_profile_files.c"

#include <dirent.h>
#include <time.h>

#include "tests/unit/resolve/fake_code.h"

#define CODES 40
/* Eight files with their journals are open; and the rows of ended processes are on disk. */
#define OPEN_MAX_FDS (8 * 2 + 1)

static struct fake_codes fake;
static char dir[] = "/tmp/tachbpf-test-XXXXXX";
static struct recording *recording;
static struct observer *observer;

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* A process that has so many samples, each of another function, and ends at once. */
static void live(pid_t tgid, const char *command, uint32_t samples)
{
	struct process_args args = {
		.tgid = tgid, .comm = "python3", .command = command,
		.image = &fake.img, .observer = observer,
	};
	struct process *p;
	uint32_t i;

	args.start_ns = boot_ns();
	p = process_new(&args);
	assert_non_null(p);
	assert_int_equal(observer->ops->begin(observer, p), 0);
	for (i = 0; i < samples; i++) {
		struct raw_sample raw = {
			.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 1,
			.frames = { fake_frame(&fake, i % CODES, 2 * (i / CODES % 60)) },
		};

		assert_int_equal(process_take(p, &raw, raw_sample_bytes(1, 0)), 0);
	}
	/* as if it had lived for a millisecond, however long that took */
	assert_int_equal(observer->ops->end(observer, p,
					    now_ns() - (boot_ns() - args.start_ns) + 1000000), 0);
	process_free(p);
}

static size_t sum_of(size_t (*count)(const struct group *g))
{
	size_t i, sum = 0;

	for (i = 0; i < recording->group_cnt; i++)
		sum += count(recording->groups[i]);
	return sum;
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int cnt = 0;

	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

/* On a slow machine one may have got a file of its own. */
static void count_processes(void *ctx, const struct row *row)
{
	*(size_t *)ctx += row->merged_cnt ? row->merged_cnt : 1;
}

static void run(int processes, int commands, uint32_t samples)
{
	struct recording_args args = {
		.output = dir, .place = PLACE_DIR, .compress = true, .rate_hz = 100, .force = true,
		.mode = &record_modes[RECORD_CPU], .features = FEATURE_ALL_THREADS,
		.selection = "-a",
	};
	struct capture_counts counts = { .bpf = (uint64_t[CNT_MAX]){ 0 } };
	char command[64];
	size_t cnt = 0;
	int i, fds;

	recording = recording_new(&args);
	assert_non_null(recording);
	observer = recording_observer(recording);
	fake_codes_in_self(&fake, CODES);
	live(99, "python3", 1);		/* starts the reader of memory */
	fds = open_fds();
	for (i = 0; i < processes; i++) {
		snprintf(command, sizeof(command), "python3 -m number%d", i % commands);
		live(100 + i, command, samples);
		assert_true(sum_of(members_of) <= ALL_MEMBERS_MAX);
		assert_true(sum_of(frames_of) <= ALL_FRAMES_MAX + FRAMES_MAX);
		assert_true(open_fds() - fds <= OPEN_MAX_FDS);
	}
	assert_int_equal(recording_finish(recording, &counts), 0);
	recording_each_row(recording, count_processes, &cnt);
	assert_int_equal(cnt, processes + 1);	/* each is in some file */
	recording_free(recording);
	assert_true(open_fds() <= fds);
	fake_codes_free(&fake);
}

static void test_members_of_all_groups(void **state)
{
	run(600, 20, 1);
}

static void test_frames_of_all_groups(void **state)
{
	run(200, 50, 90);
}

static int set_up(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_of_all_groups),
		cmocka_unit_test(test_frames_of_all_groups),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
