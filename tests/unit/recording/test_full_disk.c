// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_full_disk.c - recordings to ever smaller disks: what is counted is what the files hold,
 * what was flushed can be read, session.json is whole, and a recording that is killed on a full
 * disk can be recovered.
 *
 * Sizes of the disks (small_disk.h) are pages, so that every size up to SIZE_MAX_KB is tried.
 */
#include <dirent.h>

#include "formats/tach/recover.h"
#include "recording/recording.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"
#include "resolve/process.h"
#include "tests/unit/resolve/fake_code.h"
#include "tests/unit/small_disk.h"

#define SIZE_MAX_KB 300
#define CODES 200
#define PROCESSES 3
#define BATCH 60	/* samples of a process between two flushes */
#define OLD_NS 1	/* start_boottime of a process that began when the machine did */

static struct fake_codes fake;
static char disk[] = "/tmp/tachbpf-disk-XXXXXX";
static char dir[64];

/* What was sent to the recording, and of that, what it has flushed without an error. */
struct sent {
	struct process *p;
	uint64_t samples, flushed;
};

static struct recording *recording;
static struct observer *observer;
static struct sent sent[PROCESSES];

static bool may_mount;

static int setup(void **state)
{
	may_mount = small_disk_possible() && mkdtemp(disk);
	fake_codes_in_self(&fake, CODES);
	log_set_level(LOG_QUIET);
	return 0;
}

static int teardown(void **state)
{
	fake_codes_free(&fake);
	rmdir(disk);
	return 0;
}

static void begin(bool compress)
{
	const struct recording_args args = {
		.output = dir, .place = PLACE_DIR, .compress = compress, .rate_hz = 100,
		.mode = &record_modes[RECORD_CPU], .selection = "-a",
	};
	uint32_t i;

	recording = recording_new(&args);
	for (i = 0; recording && i < PROCESSES; i++) {
		const struct process_args process = {
			.tgid = 101 + (pid_t)i, .start_ns = OLD_NS, .comm = "python3",
			.command = "a", .image = &fake.img,
			.observer = recording_observer(recording),
		};

		observer = recording_observer(recording);
		sent[i] = (struct sent){ .p = process_new(&process) };
		assert_int_equal(observer->ops->begin(observer, sent[i].p), 0);
	}
}

/* Stacks differ, and come to more and more code. */
static int send(struct sent *s, uint64_t *seed)
{
	struct raw_sample raw = {
		.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 2,
	};
	uint32_t known = 10 + (uint32_t)(s->samples / 20);

	*seed = hash_u64(*seed + 1);
	if (known > CODES - 1)
		known = CODES - 1;
	raw.frames[0] = fake_frame(&fake, (uint32_t)(*seed % known), 2);
	raw.frames[1] = fake_frame(&fake, (uint32_t)(*seed / known % known), 2);
	s->samples++;
	return process_take(s->p, &raw, raw_sample_bytes(raw.nframes, raw.flags));
}

/* Record until the disk is full. */
static void record(void)
{
	uint64_t seed = 1;
	int err = 0, i, j;

	while (!err && sent[0].samples < 100 * BATCH) {
		for (j = 0; !err && j < BATCH; j++)
			for (i = 0; !err && i < PROCESSES; i++)
				err = send(&sent[i], &seed);
		if (!err)
			err = observer->ops->tick(observer);
		for (i = 0; !err && i < PROCESSES; i++)
			sent[i].flushed = sent[i].samples;
	}
	assert_true(!err || err == -ENOSPC);
}

static uint64_t readable(const char *path)
{
	struct events got = { 0 };
	struct tach_reader *r = open_ok(path);
	uint64_t cnt;

	run_ok(r, &got);
	cnt = got.cnt;
	assert_int_equal(tach_reader_info(r)->sample_cnt, cnt);
	assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_RIGHT);
	tach_reader_free(r);
	events_free(&got);
	return cnt;
}

/* The row of a process: it counts what its file holds, and the rest as lost. */
static void check_row(const struct row *row, const struct sent *s)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, row->file);
	assert_int_equal(row->stats.samples + row->stats.lost[LOSS_WRITE], s->samples);
	assert_int_equal(row->file[0] ? readable(path) : 0, row->stats.samples);
	assert_true(row->stats.samples >= s->flushed);
}

/* Nothing is left but whole files. */
static void check_names(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int sessions = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		sessions += !strcmp(e->d_name, SESSION_FILE_NAME);
		assert_true(!strcmp(e->d_name, SESSION_FILE_NAME) || !strcmp(e->d_name, ".") ||
			    !strcmp(e->d_name, "..") || !strcmp(dot, ".tach"));
	}
	closedir(d);
	assert_int_equal(sessions, 1);
}

static void check_session(void)
{
	char path[128];
	struct buf b;

	snprintf(path, sizeof(path), "%s/" SESSION_FILE_NAME, dir);
	b = file_bytes(path);
	assert_true(b.len > 1000);
	assert_memory_equal(b.data + b.len - 3, "}\n\n", 3);
	buf_free(&b);
}

static void finish(void)
{
	struct capture_counts counts = { .bpf = (uint64_t[CNT_MAX]){ 0 } };
	int i;

	observer->ops->stop(observer, 0);
	for (i = 0; i < PROCESSES; i++) {
		observer->ops->end(observer, sent[i].p, 0);
		process_free(sent[i].p);
	}
	assert_int_equal(recording_finish(recording, &counts), 0);
	assert_int_equal(recording->row_cnt, PROCESSES);
	for (i = 0; i < PROCESSES; i++)
		check_row(recording->rows[i], &sent[i]);
	check_names();
	check_session();
	recording_free(recording);
}

static int count(void *ctx, const struct event *ev)
{
	*(uint64_t *)ctx += ev->weight;
	return 0;
}

/* The recording is killed: what its files and journals have is what was flushed, or more. */
static void killed(void)
{
	char path[512], journal[512], why[256];
	struct recovery *r;
	uint64_t cnt;
	int i;

	for (i = 0; i < PROCESSES; i++) {
		const struct row *row = recording->rows[i];

		if (!row->file[0]) {
			assert_int_equal(sent[i].flushed, 0);
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s", dir, row->file);
		snprintf(journal, sizeof(journal), "%s/.%s.journal", dir, row->file);
		r = recover_open(path, journal, why, sizeof(why));
		assert_true(r || !sent[i].flushed);
		cnt = 0;
		if (r)
			assert_int_equal(recover_samples(r, count, &cnt, why, sizeof(why)), 0);
		assert_true(cnt >= sent[i].flushed);
		recover_free(r);
	}
	recording_free(recording);
	for (i = 0; i < PROCESSES; i++)
		process_free(sent[i].p);
}

/* Returns how many samples were flushed. */
static uint64_t on_disk(unsigned int kb, bool compress, void (*then)(void))
{
	uint64_t flushed = 0;

	small_disk_mount(disk, kb);
	snprintf(dir, sizeof(dir), "%s/recording", disk);
	begin(compress);
	if (recording) {	/* otherwise there was not even room for session.json */
		record();
		flushed = sent[0].flushed;
		then();
	} else {
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(access(dir, F_OK), -1);
		assert_true(kb < 64);
	}
	small_disk_unmount(disk);
	return flushed;
}

static void all_sizes(bool compress, void (*then)(void))
{
	uint64_t flushed = 0, most = 0;
	unsigned int kb;

	if (!may_mount)
		skip();
	for (kb = 0; kb <= SIZE_MAX_KB; kb += SMALL_DISK_PAGE_KB) {
		flushed = on_disk(kb, compress, then);
		most = flushed > most ? flushed : most;
	}
	assert_true(most > 10 * BATCH);
}

static void test_counts(void **state)
{
	all_sizes(false, finish);
}

static void test_counts_compressed(void **state)
{
	all_sizes(true, finish);
}

static void test_killed(void **state)
{
	all_sizes(false, killed);
}

static void test_killed_compressed(void **state)
{
	all_sizes(true, killed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_counts_compressed),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_compressed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
