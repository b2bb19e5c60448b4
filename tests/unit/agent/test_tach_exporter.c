// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach_exporter.c - recordings one after the other: each sample is in one of them, what a
 * kill leaves can be recovered, the oldest go, and no error of a file ends anything.
 */
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/tach_exporter.h"
#include "base/time.h"
#include "formats/tach/recover.h"
#include "recording/capture_counts.h"
#include "recording/session_json.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "resolve/record_mode.h"
#include "tests/unit/resolve/fake_code.h"
#include "tests/unit/small_disk.h"

#define CODES 400
#define OLD_NS 1	/* start_boottime of a process that began when the machine did */
#define HOUR (3600 * NS_PER_S)

static struct fake_codes fake;
static char dir[64], disk[64];
static bool may_mount;

/* The agent: it has data of its own attached to processes, which nobody else may change. */
struct agent {
	struct observer observer;
	struct tach_exporter *exporter;
	uint32_t tick_ns;
	uint64_t now_ns, bpf[CNT_MAX];
};
static struct agent agent;

static int on_event(struct observer *o, struct process *p, const struct event *ev)
{
	assert_ptr_equal(process_observed(p), &agent);
	tach_exporter_event(agent.exporter, p, ev, agent.tick_ns);
	return 0;
}

static const struct observer_ops ops = { .event = on_event };

static void counts(void *ctx, struct capture_counts *out)
{
	*out = (struct capture_counts){ .bpf = agent.bpf };
}

static struct tach_exporter_args args_of(const char *to)
{
	return (struct tach_exporter_args){
		.dir = to, .rotate_time_ns = HOUR, .rotate_size_bytes = 1ull << 40, .keep = 1000,
		.rate_hz = 100, .mode = &record_modes[RECORD_CPU], .counts = counts,
	};
}

static void start(const struct tach_exporter_args *args)
{
	memset(&agent, 0, sizeof(agent));
	agent.observer.ops = &ops;
	agent.exporter = tach_exporter_new(args);
	assert_non_null(agent.exporter);
	agent.now_ns = now_ns();
}

static struct process *begin(pid_t tgid, uint64_t start_ns)
{
	const struct process_args args = {
		.tgid = tgid, .start_ns = start_ns, .comm = "python3", .command = "a b",
		.image = &fake.img, .observer = &agent.observer,
	};
	struct process *p = process_new(&args);
	struct raw_code code;
	uint32_t i;

	assert_non_null(p);
	for (i = 0; i < CODES; i++)
		assert_int_equal(process_take(p, &code, fake_snapshot(&fake, i, &code)), 0);
	process_set_observed(p, &agent);
	assert_int_equal(tach_exporter_begin(agent.exporter, p), 0);
	return p;
}

static void end(struct process *p, uint64_t end_ns)
{
	tach_exporter_end(agent.exporter, p, end_ns);
	process_free(p);
}

/* cnt samples in the functions first and first + 1. */
static void samples(struct process *p, uint32_t first, int cnt)
{
	struct raw_sample raw = {
		.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 2,
		.frames = { fake_frame(&fake, first, 2), fake_frame(&fake, first + 1, 2) },
	};

	while (cnt--)
		assert_int_equal(process_take(p, &raw,
						raw_sample_bytes(raw.nframes, raw.flags)), 0);
}

static void tick(uint64_t seconds)
{
	agent.now_ns += seconds * NS_PER_S;
	tach_exporter_tick(agent.exporter, agent.now_ns);
}

static struct tach_exporter_stats stats(void)
{
	struct tach_exporter_stats s;

	tach_exporter_stats(agent.exporter, &s);
	return s;
}

static void stop(void)
{
	tach_exporter_free(agent.exporter);
}

/* ---- what is in the directory ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_recording(const struct dirent *e)
{
	return e->d_name[0] == '2' && e->d_type == DT_DIR;
}

static int is_profile(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 5 && !strcmp(e->d_name + len - 5, ".tach");
}

struct names {
	struct dirent **list;
	int cnt;
};

static struct names names_in(const char *path, int (*filter)(const struct dirent *))
{
	struct names n;

	n.cnt = scandir(path, &n.list, filter, by_name);
	assert_true(n.cnt >= 0);
	return n;
}

static void free_names(struct names *n)
{
	while (n->cnt)
		free(n->list[--n->cnt]);
	free(n->list);
}

static int recordings(void)
{
	struct names n = names_in(dir, is_recording);
	int cnt = n.cnt;

	free_names(&n);
	return cnt;
}

/* What a recording's files hold: samples, and those whose innermost function is f<want>. */
struct held {
	uint64_t samples, want;
	int files;
};

static void read_file(const char *path, uint32_t want, struct held *out)
{
	struct tach_reader *r = open_ok(path);
	struct events got = { 0 };
	size_t i;

	run_ok(r, &got);
	assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_RIGHT);
	assert_int_equal(tach_reader_info(r)->sample_cnt, got.cnt);
	for (i = 0; i < got.cnt; i++)
		out->want += frame_is_fake(tach_reader_tables(r), kept_event(&got, i).frames[0],
					   want, 2);
	out->samples += got.cnt;
	out->files++;
	events_free(&got);
	tach_reader_free(r);
}

/* The recording number i, from the oldest. */
static struct held read_recording(int i, uint32_t want)
{
	struct names n = names_in(dir, is_recording), files;
	struct held out = { 0 };
	char path[600], sub[320];
	int k;

	assert_in_range(i, 0, n.cnt - 1);
	snprintf(sub, sizeof(sub), "%s/%s", dir, n.list[i]->d_name);
	files = names_in(sub, is_profile);
	for (k = 0; k < files.cnt; k++) {
		snprintf(path, sizeof(path), "%s/%s", sub, files.list[k]->d_name);
		read_file(path, want, &out);
	}
	free_names(&files);
	free_names(&n);
	return out;
}

static uint64_t all_samples(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < recordings(); i++)
		sum += read_recording(i, 0).samples;
	return sum;
}

static char *session(int i)
{
	struct names n = names_in(dir, is_recording);
	char path[400];
	struct buf b;

	snprintf(path, sizeof(path), "%s/%s/session.json", dir, n.list[i]->d_name);
	free_names(&n);
	b = file_bytes(path);
	return (char *)b.data;
}

static void assert_session(int i, const char *has)
{
	char *text = session(i);

	if (!strstr(text, has))
		fail_msg("session.json %d has no %s: %s", i, has, text);
	free(text);
}

static void put_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static char *in_dir(const char *name)
{
	static char path[4][200];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* ---- set-up ---- */

static int new_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	fake_codes_in_self(&fake, CODES);
	log_set_level(LOG_QUIET);
	return 0;
}

static int remove_dir(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	fake_codes_free(&fake);
	return system(command);
}

/* ---- tests ---- */

/*
 * Three processes live on while recordings come and go: what was sampled before a cut is in the old
 * recording, what was sampled after it in the new one, with names of frames that are old.
 */
static void test_rotation(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *p[3];
	struct held h;
	int i, k;

	start(&args);
	for (i = 0; i < 3; i++)
		p[i] = begin(101 + i, OLD_NS);
	for (k = 0; k < 4; k++) {
		for (i = 0; i < 3; i++) {
			samples(p[i], 0, 5);
			samples(p[i], 10 * (uint32_t)(k + 1), 7 + i);
		}
		tick(1);
		assert_int_equal(recordings(), k + 1);
		tick(3600);
	}
	end(p[0], now_ns());
	stop();
	for (i = 1; i < 3; i++)
		process_free(p[i]);
	assert_int_equal(recordings(), 5);
	for (k = 0; k < 4; k++) {
		h = read_recording(k, 10 * (uint32_t)(k + 1));
		assert_int_equal(h.files, 3);
		assert_int_equal(h.samples, 15 + 24);
		assert_int_equal(h.want, 24);
		assert_int_equal(read_recording(k, 0).want, 15);
		assert_session(k, "\"samples\": 39");
		assert_session(k, "\"pid\": 103");
	}
	assert_int_equal(read_recording(4, 0).samples, 0);
	assert_session(4, "\"pid\": 103");
}

/* Processes that are younger than a second have their samples in memory, and may share a file. */
static void test_young_processes(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *young, *brief;
	struct timespec now;
	uint64_t boot_ns;
	struct held h;

	start(&args);
	/*
	 * On a machine that stands still they get old: then they have files, and the same samples.
	 */
	clock_gettime(CLOCK_BOOTTIME, &now);
	boot_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - 1;
	young = begin(101, boot_ns);
	brief = begin(102, boot_ns);
	samples(young, 0, 5);
	samples(brief, 10, 3);
	end(brief, now_ns());
	tick(3600);
	samples(young, 20, 4);
	end(young, now_ns());
	stop();
	h = read_recording(0, 0);
	assert_int_equal(h.samples, 8);
	assert_int_equal(h.want, 5);
	assert_int_equal(read_recording(1, 20).want, 4);
	assert_int_equal(all_samples(), 12);
}

/* A recording ends by its size, but not sooner than after ten seconds. */
static void test_size(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *p;
	uint64_t seed = 1;
	int i, k;

	args.rotate_size_bytes = 40000;
	start(&args);
	p = begin(101, OLD_NS);
	for (k = 0; k < 11; k++) {
		for (i = 0; i < 2000; i++)
			samples(p, (uint32_t)(rnd(&seed) % (CODES - 1)), 1);
		tick(1);
		assert_int_equal(recordings(), k < 9 ? 1 : 2);
	}
	end(p, 0);
	stop();
	assert_int_equal(all_samples(), 22000);
}

/* The oldest go; what is not a recording's stays, and no link is followed. */
static void test_keep(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *p;
	int i;

	assert_int_equal(mkdir(in_dir("victim"), 0700), 0);
	put_file(in_dir("victim/x.tach"));
	assert_int_equal(symlink("victim", in_dir("20200101T000000Z")), 0);
	assert_int_equal(mkdir(in_dir("20200102T000000Z"), 0700), 0);
	put_file(in_dir("20200102T000000Z/notes"));
	assert_int_equal(mkdir(in_dir("20200103T000000Z"), 0700), 0);
	assert_int_equal(symlink("../victim/x.tach", in_dir("20200103T000000Z/y.tach")), 0);
	assert_int_equal(mkdir(in_dir("20200103T000000Z-extra"), 0700), 0);
	assert_int_equal(mkdir(in_dir("20200104T000000Z"), 0700), 0);
	put_file(in_dir("20200104T000000Z/x.tach"));
	args.keep = 2;
	start(&args);
	p = begin(101, OLD_NS);
	for (i = 0; i < 6; i++) {
		samples(p, 0, 1 + i);
		tick(3600);
	}
	assert_int_equal(access(in_dir("20200104T000000Z"), F_OK), -1);
	assert_int_equal(access(in_dir("victim/x.tach"), F_OK), 0);
	assert_int_equal(access(in_dir("20200101T000000Z"), F_OK), 0);
	assert_int_equal(access(in_dir("20200102T000000Z/notes"), F_OK), 0);
	assert_int_equal(access(in_dir("20200103T000000Z/y.tach"), F_OK), 0);
	/* Those two, two finished ones, and the one that is being written; and "-extra". */
	assert_int_equal(recordings(), 3 + 2 + 1);
	assert_int_equal(stats().removed, 5);
	end(p, 0);
	stop();
	assert_int_equal(recordings(), 3 + 2);
	assert_int_equal(read_recording(3, 0).samples, 6);
}

/* The clock has gone back: recordings from the future are the first to go. */
static void test_from_the_future(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *p;

	assert_int_equal(mkdir(in_dir("29990101T000000Z"), 0700), 0);
	put_file(in_dir("29990101T000000Z/x.tach"));
	args.keep = 1;
	start(&args);
	p = begin(101, OLD_NS);
	samples(p, 0, 3);
	tick(3600);
	assert_int_equal(access(in_dir("29990101T000000Z"), F_OK), -1);
	assert_int_equal(read_recording(0, 0).samples, 3);
	end(p, 0);
	stop();
}

static int count(void *ctx, const struct event *ev)
{
	*(uint64_t *)ctx += ev->weight;
	return 0;
}

/* The agent is killed: what it has flushed can be read, and the next agent counts it for keep. */
static void test_killed(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	char path[200], journal[200], why[256];
	struct recovery *r;
	struct process *p;
	struct names n;
	uint64_t cnt = 0;
	pid_t pid = fork();
	int status;

	if (!pid) {
		start(&args);
		p = begin(101, OLD_NS);
		samples(p, 0, 9);
		tick(3600);
		samples(p, 10, 5);
		tick(1);
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(recordings(), 2);
	n = names_in(dir, is_recording);
	assert_int_equal(read_recording(0, 0).samples, 9);
	snprintf(path, sizeof(path), "%s/%.30s/101-python3.tach", dir, n.list[1]->d_name);
	snprintf(journal, sizeof(journal), "%s/%.30s/.101-python3.tach.journal", dir,
		 n.list[1]->d_name);
	r = recover_open(path, journal, why, sizeof(why));
	assert_non_null(r);
	assert_int_equal(recover_source(r), RECOVERY_JOURNAL);
	assert_int_equal(recover_samples(r, count, &cnt, why, sizeof(why)), 0);
	assert_int_equal(cnt, 5);
	recover_free(r);
	args.keep = 1;
	start(&args);
	assert_int_equal(recordings(), 2);	/* the killed one, and the new one */
	assert_int_equal(access(path, F_OK), 0);
	free_names(&n);
	stop();
}

/* Readers see a recording while it is written. */
static void test_read_while_written(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	char path[400], journal[400], why[256];
	struct recovery *r;
	struct process *p;
	uint64_t cnt = 0;

	start(&args);
	p = begin(101, OLD_NS);
	samples(p, 0, 4);
	tick(3600);
	samples(p, 0, 6);
	tick(1);
	snprintf(path, sizeof(path), "%s/101-python3.tach", tach_exporter_path(agent.exporter));
	snprintf(journal, sizeof(journal), "%s/.101-python3.tach.journal",
		 tach_exporter_path(agent.exporter));
	r = recover_open(path, journal, why, sizeof(why));
	assert_non_null(r);
	assert_true(recover_is_live(r));
	assert_int_equal(recover_samples(r, count, &cnt, why, sizeof(why)), 0);
	assert_int_equal(cnt, 6);
	recover_free(r);
	end(p, 0);
	stop();
}

/* On disks of all sizes nothing ends but recordings, and every sample is written or lost. */
static void test_full_disk(void **state)
{
	struct tach_exporter_args args = args_of(disk);
	struct tach_exporter_stats s;
	uint64_t seed = 1, offered = 0;
	struct process *p;
	unsigned int kb;
	int i, k;

	if (!may_mount)
		skip();
	args.rotate_size_bytes = 4 << 20;
	for (kb = 8; kb <= 88; kb += 16) {
		small_disk_mount(disk, kb);
		start(&args);
		p = begin(101, OLD_NS);
		for (k = 0, offered = 0; k < 40; k++, offered += 500) {
			for (i = 0; i < 500; i++)
				samples(p, (uint32_t)(rnd(&seed) % (CODES - 1)), 1);
			tick(1);
		}
		s = stats();
		assert_int_equal(s.samples, offered);
		assert_true(s.lost > 0 && s.errors > 0);
		assert_null(tach_exporter_path(agent.exporter));
		tick(3600);		/* the disk is still full: no other one begins */
		assert_null(tach_exporter_path(agent.exporter));
		small_disk_grow(disk, 4096);
		tick(60);
		assert_non_null(tach_exporter_path(agent.exporter));
		samples(p, 0, 11);
		tick(3600);
		s = stats();
		assert_int_equal(s.samples, offered + 11);
		assert_int_equal(s.written + s.lost, offered + 11);
		assert_true(s.written >= 11);
		end(p, 0);
		stop();
		small_disk_unmount(disk);
	}
}

/* The recordings' directory goes away: the agent goes on, and so does the exporter later. */
static void test_no_directory(void **state)
{
	struct tach_exporter_args args = args_of(in_dir("sub"));
	struct process *p;
	char command[200];

	start(&args);
	p = begin(101, OLD_NS);
	samples(p, 0, 2);
	snprintf(command, sizeof(command), "rm -r %s", in_dir("sub"));
	assert_int_equal(system(command), 0);
	tick(3600);
	samples(p, 0, 3);
	assert_int_equal(stats().samples, 5);
	assert_true(stats().lost >= 3);
	assert_true(stats().errors > 0);
	assert_true(stats().on && !stats().works);
	tick(3600);		/* it is made again */
	assert_true(stats().works);
	samples(p, 0, 4);
	end(p, 0);
	stop();
	snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/sub");
	assert_int_equal(all_samples(), 4);
	*strrchr(dir, '/') = '\0';
}

/* The rate that is in force differs from the nominal one: totals are right. */
static void test_weights(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct event ev = { .time_us = now_ns() / 1000, .thread_id = 8, .nframes = 1,
			    .weight = 3 };
	const uint32_t frame = 0;
	struct process *p;

	start(&args);
	p = begin(101, OLD_NS);
	agent.tick_ns = 10000000;	/* nominal */
	samples(p, 0, 10);
	agent.tick_ns = 25000000;	/* 40 Hz: 2.5 intervals each */
	samples(p, 10, 10);
	ev.frames = &frame;
	tach_exporter_event(agent.exporter, p, &ev, 30000000);	/* all of its weight, nominal */
	tach_exporter_event(agent.exporter, p, &ev, 70000000);
	tach_exporter_event(agent.exporter, p, &ev, 0);
	tick(3600);
	agent.tick_ns = 1000000;	/* 1000 Hz: each tenth one */
	samples(p, 20, 1000);
	end(p, 0);
	stop();
	assert_int_equal(read_recording(0, 0).want, 10 + 3 + 7 + 3);
	assert_int_equal(read_recording(0, 10).want, 25);
	assert_int_equal(read_recording(0, 10).samples, 35 + 3 + 7 + 3);
	assert_int_equal(read_recording(1, 20).want, 100);
}

/* Off, on, elsewhere, another rate. */
static void test_configure(void **state)
{
	struct tach_exporter_args args = args_of("");
	struct process *p;
	char other[100], *text;

	start(&args);
	p = begin(101, OLD_NS);
	samples(p, 0, 5);
	tick(1);
	assert_int_equal(stats().samples, 0);
	args.dir = dir;
	assert_int_equal(tach_exporter_configure(agent.exporter, &args), 0);
	samples(p, 0, 3);
	assert_int_equal(tach_exporter_configure(agent.exporter, &args), 0);
	assert_int_equal(recordings(), 1);
	args.rate_hz = 50;
	assert_int_equal(tach_exporter_configure(agent.exporter, &args), 0);
	samples(p, 0, 2);
	args.dir = "/dev/null/x";
	assert_true(tach_exporter_configure(agent.exporter, &args) < 0);
	samples(p, 0, 2);
	snprintf(other, sizeof(other), "%s", in_dir("other"));
	args.dir = other;
	assert_int_equal(tach_exporter_configure(agent.exporter, &args), 0);
	samples(p, 0, 1);
	args.dir = "";
	assert_int_equal(tach_exporter_configure(agent.exporter, &args), 0);
	samples(p, 0, 9);
	assert_int_equal(stats().samples, 8);
	assert_int_equal(stats().written, 8);
	end(p, 0);
	stop();
	assert_int_equal(recordings(), 2);
	assert_int_equal(read_recording(0, 0).samples, 3);
	assert_int_equal(read_recording(1, 0).samples, 4);
	text = session(1);
	assert_non_null(strstr(text, "50"));
	free(text);
}

/* Each recording has its own losses, and the remarks on processes that still live. */
static void test_losses_and_remarks(void **state)
{
	struct tach_exporter_args args = args_of(dir);
	struct process *p;
	char *text;

	start(&args);
	p = begin(101, OLD_NS);
	samples(p, 0, 1);
	tach_exporter_remark(agent.exporter, getpid(), 0, "old", "Python 2.7 is not supported");
	tach_exporter_remark(agent.exporter, 0x7ffffff0, 0, "gone", "Python 2.6 was here");
	agent.bpf[CNT_RING_FULL] = 40;
	tick(3600);
	samples(p, 0, 1);
	agent.bpf[CNT_RING_FULL] = 42;
	end(p, 0);
	stop();
	assert_session(0, "\"ring_full\": 40");
	assert_session(0, "Python 2.6 was here");
	assert_session(1, "\"ring_full\": 2");
	assert_session(1, "Python 2.7 is not supported");
	text = session(1);
	assert_null(strstr(text, "Python 2.6"));
	free(text);
}

/* A place that others could misuse is refused, and so is one that another exporter uses. */
static void test_refused_places(void **state)
{
	struct tach_exporter_args args = args_of(dir);

	assert_int_equal(chmod(dir, 0777), 0);
	assert_null(tach_exporter_new(&args));
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(symlink(dir, in_dir("link")), 0);
	args.dir = in_dir("link");
	assert_null(tach_exporter_new(&args));
	args.dir = dir;
	start(&args);
	assert_null(tach_exporter_new(&args));
	assert_int_equal(errno, EBUSY);
	stop();
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, new_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rotation), TEST(test_young_processes), TEST(test_size),
		TEST(test_keep), TEST(test_from_the_future), TEST(test_killed),
		TEST(test_read_while_written), TEST(test_full_disk), TEST(test_no_directory),
		TEST(test_weights), TEST(test_configure), TEST(test_losses_and_remarks),
		TEST(test_refused_places),
	};
	int err;

	snprintf(disk, sizeof(disk), "/tmp/tachbpf-disk-XXXXXX");
	may_mount = small_disk_possible() && mkdtemp(disk);
	err = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(disk);
	return err;
}
