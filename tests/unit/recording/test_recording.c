// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_recording.c - a recording, called as an observer: its files can be read, losses are
 * counted, session.json has a row for each process.
 */
#include <dirent.h>
#include <sys/resource.h>

#include "formats/tach/recover.h"
#include "recording/recording.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"
#include "resolve/process.h"
#include "tests/unit/json_doc.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 40
#define OLD_NS 1	/* start_boottime of a process that began when the machine did */

static struct fake_codes fake;
static char dir[64];
static struct recording *recording;
static struct observer *observer;

static void open_place(const char *output, enum place_kind place, bool force)
{
	struct recording_args args = {
		.output = output,
		.place = place,
		.force = force,
		.compress = true,
		.rate_hz = 100,
		.mode = &record_modes[RECORD_CPU],
		.features = FEATURE_ALL_THREADS,
		.selection = "-a",
	};

	recording = recording_new(&args);
	assert_non_null(recording);
	observer = recording_observer(recording);
	fake_codes_in_self(&fake, CODES);
}

static void open_recording(const char *output, bool single)
{
	open_place(output, single ? PLACE_FILE : PLACE_DIR, false);
}

static struct process *begin(pid_t tgid, uint64_t start_ns, const char *command)
{
	struct process_args args = {
		.tgid = tgid, .start_ns = start_ns, .comm = "python3", .command = command,
		.image = &fake.img, .observer = observer,
	};
	struct process *p = process_new(&args);

	assert_non_null(p);
	assert_int_equal(observer->ops->begin(observer, p), 0);
	return p;
}

static int sample(struct process *p, uint32_t first)
{
	struct raw_sample raw = {
		.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 2,
		.frames = { fake_frame(&fake, first, 2), fake_frame(&fake, first + 1, 2) },
	};

	return process_take(p, &raw, raw_sample_bytes(raw.nframes, raw.flags));
}

static int end(struct process *p, uint64_t end_ns)
{
	int err = observer->ops->end(observer, p, end_ns);

	process_free(p);
	return err;
}

/* The last components of recording_paths() when the recording was finished, with a space each. */
static char finished_paths[256];

static void note_paths(void)
{
	struct recording_paths paths;
	size_t i, len = 0;

	finished_paths[0] = '\0';
	assert_int_equal(recording_paths(recording, &paths), 0);
	for (i = 0; i < paths.cnt; i++) {
		if (recording_process_cnt(recording))
			assert_int_equal(access(paths.paths[i], F_OK), 0);
		len += snprintf(finished_paths + len, sizeof(finished_paths) - len, "%s ",
				strrchr(paths.paths[i], '/') + 1);
	}
	recording_paths_free(&paths);
}

/* The summary's first line, up to the numbers, with the directory as "DIR". */
static char summary_begin[256];

/* To be freed. */
static char *counts_text(const struct capture_counts *counts, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	recording_print_head(recording, counts, f);
	recording_print_counts(recording, counts, f, all);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *summary_text(const struct capture_counts *counts)
{
	return counts_text(counts, true);
}

static void note_summary(const struct capture_counts *counts)
{
	char *text = summary_text(counts), *p, *out = summary_begin;

	assert_non_null(strstr(text, ": "));
	*strstr(text, ": ") = '\0';
	for (p = text; *p; out++) {
		bool is_dir = !strncmp(p, dir, strlen(dir));

		assert_true(out < summary_begin + sizeof(summary_begin) - 4);
		if (is_dir)
			memcpy(out, "DIR", 3);
		else
			*out = *p;
		p += is_dir ? strlen(dir) : 1;
		out += is_dir ? 2 : 0;
	}
	*out = '\0';
	free(text);
}

/* session.json's text, for the caller to free; NULL: there is no such file. */
static char *finish(void)
{
	struct capture_counts counts = { .bpf = (uint64_t[CNT_MAX]){ 0 } };
	char path[128];
	struct buf b = { 0 };

	assert_int_equal(recording_finish(recording, &counts), 0);
	note_paths();
	note_summary(&counts);
	snprintf(path, sizeof(path), "%s/session.json", dir);
	if (!access(path, F_OK))
		b = file_bytes(path);
	recording_free(recording);
	fake_codes_free(&fake);
	return (char *)b.data;
}

static int file_cnt(const char *suffix)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int cnt = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		cnt += strlen(e->d_name) >= strlen(suffix) &&
		       !strcmp(e->d_name + strlen(e->d_name) - strlen(suffix), suffix);
	closedir(d);
	return cnt;
}

/* The file has the right meta data and so many events. */
static void check_file(const char *name, size_t events)
{
	struct events kept = { 0 };
	struct tach_reader *r;
	char path[128];

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/",
		 name);
	r = open_ok(path);
	assert_int_equal(tach_reader_info(r)->meta.python_minor, 12);
	assert_int_equal(tach_reader_info(r)->meta.interval_us, 10000);
	run_ok(r, &kept);
	assert_int_equal(kept.cnt, events);
	events_free(&kept);
	tach_reader_free(r);
}

/* A file of this name cannot be created: there is a directory. */
static void take_name(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int new_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0700), 0);
	return 0;
}

static int remove_dir(void **state)
{
	char path[400];
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove(path);
	}
	closedir(d);
	return rmdir(dir);
}

static void test_a_file_for_each_old_process(void **state)
{
	struct process *a, *b, *idle;
	char *json;
	int i;

	open_recording(dir, false);
	a = begin(101, OLD_NS, "python3 a.py");
	observer->ops->start(observer, now_ns());
	b = begin(102, OLD_NS, "python3 b.py");
	idle = begin(103, OLD_NS, "python3 idle.py");
	assert_int_equal(file_cnt(".tach"), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(sample(a, i), 0);
		if (i < 3)
			assert_int_equal(sample(b, i), 0);
		assert_int_equal(observer->ops->tick(observer), 0);
	}
	assert_int_equal(file_cnt(".journal"), 2);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(a, 0), 0);
	assert_int_equal(end(b, now_ns()), 0);
	assert_int_equal(end(idle, 0), 0);
	json = finish();
	assert_int_equal(file_cnt(".tach"), 2);
	assert_int_equal(file_cnt(".journal"), 0);
	check_file("101-python3.tach", 5);
	check_file("102-python3.tach", 3);
	assert_non_null(strstr(json, "python3 idle.py"));
	free(json);
}

/* Of all counts that stand in a column, the last digits are below each other. */
static void test_counts_are_in_one_column(void **state)
{
	uint64_t bpf[CNT_MAX] = { 0 };
	struct capture_counts counts = { .bpf = bpf, .cost = { .stalls = 2, .stalled_ns = 1 } };
	char *summary, *samples, *stalls;
	struct process *a;

	open_recording(dir, false);
	a = begin(101, OLD_NS, "python3 a.py");
	observer->ops->start(observer, now_ns());
	assert_int_equal(sample(a, 1), 0);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(a, 0), 0);
	assert_int_equal(recording_finish(recording, &counts), 0);
	summary = summary_text(&counts);
	samples = strstr(summary, "\n  samples ");
	stalls = strstr(summary, "\n  machine stalled ");
	assert_non_null(samples);
	assert_non_null(stalls);
	assert_int_equal(strcspn(samples, "1"), strcspn(stalls, "2"));
	free(summary);
	recording_free(recording);
	fake_codes_free(&fake);
}

/* Whose a loss is, in session.json and the summary; what the BPF side counts beyond is no one's. */
static void test_losses_of_processes(void **state)
{
	uint64_t bpf[CNT_MAX] = { [CNT_RING_FULL] = 12, [CNT_WAIT_LOST] = 2, [CNT_BUSY] = 1 };
	struct capture_counts counts = { .bpf = bpf };
	struct process *a, *b;
	struct json_doc *doc;
	char path[128], *summary;
	struct buf text;

	open_recording(dir, false);
	a = begin(101, OLD_NS, "python3 a.py");
	b = begin(102, OLD_NS, "python3 b.py");
	observer->ops->start(observer, now_ns());
	assert_int_equal(sample(a, 1), 0);
	process_add_lost(a, 7, LOSS_RING_FULL, 5);
	process_add_lost(a, 8, LOSS_RING_FULL, 1);
	process_add_lost(a, 0, LOSS_LATE_DISCOVERY, 4);
	process_add_lost(b, 9, LOSS_RING_FULL, 4);
	process_add_lost(b, 9, LOSS_WAITS_RING_FULL, 2);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(a, 0), 0);
	assert_int_equal(end(b, 0), 0);
	assert_int_equal(recording_finish(recording, &counts), 0);
	snprintf(path, sizeof(path), "%s/session.json", dir);
	text = file_bytes(path);
	doc = parse_json(&text);
	assert_int_equal(json_number(doc, "lost_total"), 12 + 2 + 1 + 4);
	assert_int_equal(json_length(doc, "lost_unnamed"), 2);
	assert_int_equal(json_number(doc, "lost_unnamed.ring_full"), 12 - 6 - 4);
	assert_int_equal(json_number(doc, "lost_unnamed.busy"), 1);
	assert_int_equal(json_number(doc, "processes.0.lost.ring_full"), 6);
	assert_int_equal(json_number(doc, "processes.0.lost.late_discovery"), 4);
	assert_int_equal(json_length(doc, "processes.0.lost_threads"), 2);
	assert_int_equal(json_number(doc, "processes.0.lost_threads.7.ring_full"), 5);
	assert_int_equal(json_number(doc, "processes.0.lost_threads.8.ring_full"), 1);
	assert_int_equal(json_number(doc, "processes.1.lost.waits_ring_full"), 2);
	assert_int_equal(json_number(doc, "processes.1.lost_threads.9.waits_ring_full"), 2);
	free(doc);
	buf_free(&text);
	summary = summary_text(&counts);
	assert_non_null(strstr(summary, "10  of process 101 (python3), most in thread 7: 5\n"));
	assert_non_null(strstr(summary, " 4  samples: the process was not yet recognised as "
				       "Python\n"));
	assert_non_null(strstr(summary, " 6  of process 102 (python3), most in thread 9: 6\n"));
	assert_non_null(strstr(summary, " 2  starts or ends of waits: the ring buffer was full\n"));
	assert_null(strchr(summary, '_'));	/* no keys */
	assert_non_null(strstr(summary, " 3  of unknown processes\n"));
	free(summary);
	recording_free(recording);
	fake_codes_free(&fake);
}

/* Samples lost for each of these reasons: what the brief summary says below its first two lines. */
static char *brief_losses(const uint64_t bpf[CNT_MAX])
{
	struct capture_counts counts = { .bpf = bpf };
	struct process *a;
	char *text, *rest;

	open_place(dir, PLACE_DIR, true);
	a = begin(101, OLD_NS, "python3 a.py");
	observer->ops->start(observer, now_ns());
	observer->ops->stop(observer, 0);
	assert_int_equal(end(a, 0), 0);
	assert_int_equal(recording_finish(recording, &counts), 0);
	text = counts_text(&counts, false);
	rest = strstr(text, " lost; tachbpf itself");
	assert_non_null(rest);
	rest = strdup(strchr(rest, '\n') + 1);
	free(text);
	recording_free(recording);
	fake_codes_free(&fake);
	return rest;
}

/* The largest first; four and more would push the answer off the first screen. */
static void test_the_brief_summary_has_three_lines_of_losses(void **state)
{
	uint64_t bpf[CNT_MAX] = {
		[CNT_BUSY] = 200, [CNT_TSTATE_UNREADABLE] = 300, [CNT_RING_FULL] = 400,
	};
	char *three = brief_losses(bpf), *four;

	bpf[CNT_TSTATE_UNCERTAIN] = 100;
	four = brief_losses(bpf);
	assert_string_equal(three, "   44.4 %  lost samples: the ring buffer was full\n"
				   "   33.3 %  lost samples: the thread state could not be read\n"
				   "   22.2 %  lost samples: the tick interrupted another BPF "
				   "program\n");
	assert_string_equal(four, "   40.0 %  lost samples: the ring buffer was full\n"
				  "   30.0 %  lost samples: the thread state could not be read\n"
				  "  and 2 smaller ones: record with -v to see them\n");
	free(three);
	free(four);
}

/* The count in the summary's line that begins with name and ends with what; 0: there is none. */
static unsigned long count_in(const char *summary, const char *name, const char *what)
{
	char line[256], begin[64], end[128];
	const char *at, *next;

	snprintf(begin, sizeof(begin), "  %s ", name);
	snprintf(end, sizeof(end), "%s\n", what);
	for (at = summary; at && *at; at = next) {
		next = strchr(at, '\n');
		next = next ? next + 1 : NULL;
		snprintf(line, sizeof(line), "%.*s", next ? (int)(next - at) : 0, at);
		if (!strncmp(line, begin, strlen(begin)) && strlen(line) > strlen(end) &&
		    !strcmp(line + strlen(line) - strlen(end), end))
			return strtoul(line + strlen(begin), NULL, 10);
	}
	return 0;
}

/* A recording of one process with 70 samples, and 3 ticks from before it was known. */
static char *summary_of(const struct capture_counts *counts)
{
	struct process *p;
	char *summary;
	int i;

	open_recording(dir, false);
	p = begin(101, OLD_NS, "python3 a.py");
	observer->ops->start(observer, now_ns());
	for (i = 0; i < 70; i++)
		assert_int_equal(sample(p, 1), 0);
	process_add_lost(p, 0, LOSS_LATE_DISCOVERY, 3);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(p, 0), 0);
	assert_int_equal(recording_finish(recording, counts), 0);
	summary = summary_text(counts);
	recording_free(recording);
	fake_codes_free(&fake);
	return summary;
}

/* Samples and what has none add up to the CPU time, of which all shares are. */
static void test_the_summary_adds_up(void **state)
{
	uint64_t bpf[CNT_MAX] = {
		[CNT_TICK] = 5000, [CNT_SAMPLE] = 50, [CNT_NO_STACK] = 20, [CNT_NO_FRAMES] = 12,
		[CNT_NATIVE_THREAD] = 6, [CNT_NOT_READY] = 2 + 11, [CNT_ENDED] = 4,
		[CNT_MISSED] = 9, [CNT_BUSY] = 1, [CNT_LIFECYCLE_LOST] = 5, [CNT_OTHER] = 4000,
		[CNT_UNKNOWN] = 900,
	};
	struct capture_counts counts = { .bpf = bpf, .unidentified = 5, .no_event = 2 };
	char *summary = summary_of(&counts);

	assert_int_equal(count_in(summary, "CPU time", "s of Python processes"),
			 70 + 4 + 11 + 4 + 7);
	assert_int_equal(count_in(summary, "samples", " 72.917 % of the CPU time"), 70);
	assert_int_equal(count_in(summary, "lost", " 4.167 % of the CPU time"), 3 + 1);
	assert_int_equal(count_in(summary, "also lost", "records other than samples"), 5);
	assert_int_equal(count_in(summary, "start of Python",
				  "11.458 % of the CPU time: exec and linker"), 11);
	assert_int_equal(count_in(summary, "end of Python",
				  "4.167 % of the CPU time: after the exit"), 4);
	assert_int_equal(count_in(summary, "missed ticks", "7.292 % of the CPU time"), 9 - 2);
	assert_int_equal(count_in(summary, "unidentified ticks",
				  "4.950 % of the CPU time, if it was Python"), 5);
	assert_int_equal(count_in(summary, "ticks of new CPUs",
				  "did not occur, whatever ran there"), 2);
	assert_int_equal(count_in(summary, "without a stack",
				  "20.833 % of the CPU time was outside Python"), 20);
	assert_null(strstr(summary, "other programs"));		/* they are not the command's */
	assert_null(strstr(summary, " 0.000 %"));
	free(summary);
}

/* With --no-native-threads what has no Python stack is in no file, and in a line of its own. */
static void test_the_summary_adds_up_without_native_threads(void **state)
{
	uint64_t bpf[CNT_MAX] = { [CNT_SAMPLE] = 70, [CNT_NO_FRAMES] = 12,
				  [CNT_NATIVE_THREAD] = 6, [CNT_NOT_READY] = 9 };
	struct capture_counts counts = { .bpf = bpf };
	char *summary = summary_of(&counts);

	assert_int_equal(count_in(summary, "CPU time", "s of Python processes"), 100);
	assert_int_equal(count_in(summary, "samples", " 70.000 % of the CPU time"), 70);
	assert_int_equal(count_in(summary, "start of Python",
				  " 9.000 % of the CPU time: exec and linker"), 9);
	assert_int_equal(count_in(summary, "without a stack",
				  "18.000 % of the CPU time: outside Python, not in the files"),
				  18);
	free(summary);
}

/* Processes that live for less than a second share a file; one that still lives gets its own. */
static void test_short_lives_share(void **state)
{
	struct timespec boot;
	struct process *p;
	char *json;
	uint64_t now;
	int i;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	now = boot.tv_sec * 1000000000ull + boot.tv_nsec;
	open_recording(dir, false);
	for (i = 0; i < 3; i++) {
		p = begin(200 + i, now, "python3 -m pip install x");
		assert_int_equal(sample(p, i), 0);
		assert_int_equal(observer->ops->tick(observer), 0);
		assert_int_equal(file_cnt(".tach"), i ? 1 : 0);
		assert_int_equal(end(p, now_ns()), 0);
	}
	recording_set_command(recording, 300);
	p = begin(300, now, "python3 -m pip install x");
	assert_int_equal(sample(p, 5), 0);
	assert_int_equal(end(p, now_ns()), 0);
	p = begin(301, now, "python3 -m pip install y");	/* it may live on */
	assert_int_equal(sample(p, 5), 0);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(p, 0), 0);
	json = finish();
	free(json);
	assert_int_equal(file_cnt(".tach"), 3);
	check_file("merged-python3.tach", 3);
	check_file("300-python3.tach", 1);
	check_file("301-python3.tach", 1);
}

static void test_single_file(void **state)
{
	struct process *p;
	char path[128];

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_recording(path, true);
	p = begin(getpid(), OLD_NS, NULL);
	assert_int_equal(file_cnt("x.tach"), 1);
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(end(p, 0), 0);
	p = begin(getpid(), OLD_NS, NULL);	/* it has executed another program */
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(sample(p, 2), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
	check_file(path, 1);
	check_file("x.1.tach", 2);
	assert_string_equal(finished_paths, "x.tach x.1.tach ");
	assert_int_equal(file_cnt(".json"), 2);
	assert_int_equal(file_cnt("session.json"), 0);
}

/* After an exec no file is overwritten either: the next number that is free. */
static void test_single_file_after_an_exec(void **state)
{
	struct process *p;
	char path[128];
	int i, fd;

	for (i = 1; i < 3; i++) {	/* x.1.tach is another's, and so is x.2.tach.json */
		snprintf(path, sizeof(path), "%s/x.%d.tach%s", dir, i, i == 2 ? ".json" : "");
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(write_all(fd, "mine", 4), 0);
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_recording(path, true);
	for (i = 0; i < 2; i++) {
		p = begin(getpid(), OLD_NS, NULL);
		assert_int_equal(sample(p, 1), 0);
		assert_int_equal(end(p, 0), 0);
	}
	free(finish());
	check_file("x.tach", 1);
	check_file("x.3.tach", 1);
	assert_int_equal(file_cnt("x.2.tach"), 0);
}

/* What ended by an exec before it had a sample leaves the file to what has some. */
static void test_a_program_without_a_sample(void **state)
{
	struct process *p;
	char path[128], *json;
	int i;

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_recording(path, true);
	for (i = 0; i < 4; i++) {
		p = begin(getpid(), OLD_NS, i ? "python3 second.py" : "python3 first.py");
		if (i >= 2)
			assert_int_equal(sample(p, i), 0);
		assert_int_equal(end(p, now_ns()), 0);
	}
	json = finish();
	check_file("x.tach", 1);
	check_file("x.1.tach", 1);
	assert_int_equal(file_cnt(".tach"), 2);
	assert_int_equal(file_cnt(".json"), 2);
	assert_string_equal(finished_paths, "x.tach x.1.tach ");
	free(json);
}

/* If nothing was sampled at all, the file is there. */
static void test_no_sample_at_all(void **state)
{
	char path[128];
	int i;

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_recording(path, true);
	for (i = 0; i < 2; i++)
		assert_int_equal(end(begin(getpid(), OLD_NS, NULL), now_ns()), 0);
	free(finish());
	check_file("x.tach", 0);
	assert_string_equal(finished_paths, "x.tach ");
	assert_int_equal(file_cnt(".json"), 1);
}

/* The JSON beside a file is of that file's process alone, and readers find it by the name. */
static void test_json_beside(void **state)
{
	struct session_json *s;
	struct session_process said;
	struct process *p;
	char path[128];
	int fd = open(dir, O_RDONLY | O_DIRECTORY), i;

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_recording(path, true);
	for (i = 0; i < 2; i++) {
		p = begin(getpid(), OLD_NS, i ? "python3 second.py" : "python3 first.py");
		assert_int_equal(sample(p, 1), 0);
		assert_int_equal(end(p, 0), 0);
	}
	free(finish());
	for (i = 0; i < 2; i++) {
		s = session_json_read_beside(fd, i ? "x.1.tach" : "x.tach", "x");
		assert_non_null(s);
		session_json_process(s, "renamed", &said);
		assert_int_equal(said.tgid, getpid());
		assert_string_equal(said.command, i ? "python3 second.py" : "python3 first.py");
		session_json_free(s);
	}
	close(fd);
}

/* The command's own file, and a directory for its children, if there are any. */
static void test_command_file(void **state)
{
	struct process *p, *child;
	char path[128], children[160];
	char *json;

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	snprintf(children, sizeof(children), "%s.d", path);
	open_place(path, PLACE_COMMAND, false);
	recording_set_command(recording, 101);
	p = begin(101, OLD_NS, "python3 app.py");
	assert_int_equal(file_cnt("x.tach"), 1);
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(access(children, F_OK), -1);
	child = begin(102, OLD_NS, "python3 child.py");
	assert_int_equal(sample(child, 1), 0);
	assert_int_equal(sample(child, 2), 0);
	assert_int_equal(end(child, 0), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
	check_file("x.tach", 1);
	check_file("x.tach.d/102-python3.tach", 2);
	assert_string_equal(finished_paths, "x.tach x.tach.d ");
	assert_string_equal(summary_begin, "DIR/x.tach, DIR/x.tach.d");
	strcat(children, "/session.json");
	json = (char *)file_bytes(children).data;
	assert_non_null(strstr(json, "\"x.tach.d/102-python3.tach\""));
	assert_non_null(strstr(json, "\"x.tach\""));
	free(json);
	*strrchr(children, '/') = '\0';
	snprintf(path, sizeof(path), "rm -r '%s'", children);
	assert_int_equal(system(path), 0);
}

/* A command that is no Python has no file, and one without children no directory. */
static void test_command_alone_or_none(void **state)
{
	struct process *p;
	char path[128], children[160];

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	open_place(path, PLACE_COMMAND, false);
	recording_set_command(recording, 101);
	p = begin(101, OLD_NS, "python3 app.py");
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
	assert_string_equal(finished_paths, "x.tach ");
	assert_string_equal(summary_begin, "DIR/x.tach");
	snprintf(path, sizeof(path), "%s/y.tach", dir);
	snprintf(children, sizeof(children), "rm -r '%s.d'", path);
	open_place(path, PLACE_COMMAND, false);
	recording_set_command(recording, 101);
	p = begin(102, OLD_NS, "python3 child.py");
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
	assert_string_equal(finished_paths, "y.tach.d ");
	assert_string_equal(summary_begin, "DIR/y.tach.d");
	assert_int_equal(system(children), 0);
}

static void refuse_place(const char *output, enum place_kind place, bool force)
{
	struct recording_args args = {
		.output = output, .place = place, .force = force, .rate_hz = 100,
		.mode = &record_modes[RECORD_CPU], .selection = "-a",
	};

	assert_null(recording_new(&args));
}

/* One sample of a process, whose command is given, into a file. */
static void record_one(const char *path, bool force, const char *command)
{
	struct process *p;

	open_place(path, PLACE_FILE, force);
	p = begin(getpid(), OLD_NS, command);
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
}

static bool json_has(const char *path, const char *text)
{
	char json[160];
	char *said;
	bool has;

	snprintf(json, sizeof(json), "%s.json", path);
	said = (char *)file_bytes(json).data;
	has = strstr(said, text);
	free(said);
	return has;
}

/* Without --force what is there stays; with it, it goes when the new one is finished. */
static void test_force(void **state)
{
	struct process *p;
	char path[128];

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	record_one(path, false, "python3 old.py");
	refuse_place(path, PLACE_FILE, false);
	refuse_place(path, PLACE_DIR, false);
	refuse_place(path, PLACE_COMMAND, false);
	check_file("x.tach", 1);
	open_place(path, PLACE_FILE, true);
	p = begin(getpid(), OLD_NS, "python3 new.py");
	check_file(".x.tach.replaced", 1);	/* whole until the new one is */
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(sample(p, 2), 0);
	assert_int_equal(end(p, 0), 0);
	free(finish());
	check_file("x.tach", 2);
	assert_true(json_has(path, "new.py"));
	assert_int_equal(file_cnt(""), 4);	/* "." and "..", the profile and its JSON */
}

/* One that cannot begin, or sees no Python, leaves all as it was. */
static void test_force_and_nothing_comes(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/x.tach", dir);
	record_one(path, false, "python3 old.py");
	open_place(path, PLACE_FILE, true);
	process_free(begin(getpid(), OLD_NS, "python3 new.py"));
	recording_discard(recording);
	recording_free(recording);
	fake_codes_free(&fake);
	check_file("x.tach", 1);
	open_place(path, PLACE_DIR, true);
	free(finish());
	check_file("x.tach", 1);
	assert_true(json_has(path, "old.py"));
	assert_int_equal(file_cnt(""), 4);
}

/* A recording without a Python leaves no directory; one that was there stays. */
static void test_nothing_seen(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/new", dir);
	open_place(path, PLACE_DIR, false);
	free(finish());
	assert_int_equal(access(path, F_OK), -1);
	open_place(dir, PLACE_DIR, false);
	free(finish());
	assert_int_equal(access(dir, F_OK), 0);
	assert_int_equal(file_cnt(""), 2);
}

/* The second process' file cannot be created: it is lost, and the recording goes on. */
static void test_errors(void **state)
{
	struct process *a, *b;

	open_recording(dir, false);
	take_name("102-python3.tach");
	a = begin(101, OLD_NS, "a");
	b = begin(102, OLD_NS, "b");
	assert_int_equal(sample(a, 1), 0);
	assert_int_equal(sample(b, 1), 0);
	assert_int_equal(sample(b, 1), 0);
	assert_int_equal(sample(a, 2), 0);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(a, 0), 0);
	assert_int_equal(end(b, 0), 0);
	assert_int_equal(recording->lost_cnt, 1);
	assert_int_equal(recording_process_cnt(recording), 2);
	assert_int_equal(recording->rows[0]->stats.samples, 2);
	assert_int_equal(recording->rows[1]->stats.samples, 0);
	assert_int_equal(recording->rows[1]->stats.lost[LOSS_WRITE], 2);
	free(finish());
	check_file("101-python3.tach", 2);
}

static void limit_descriptors(rlim_t cnt)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = cnt < lim.rlim_max ? cnt : lim.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

/*
 * Without descriptors a process is lost, and said once; when there are some again, later processes
 * have files, of their own and shared ones.
 */
static void test_too_few_descriptors(void **state)
{
	struct timespec boot;
	struct process *p[4];
	uint64_t young;
	char *json;
	int i;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	young = boot.tv_sec * 1000000000ull + boot.tv_nsec;
	open_recording(dir, false);
	for (i = 0; i < 4; i++)
		p[i] = begin(101 + i, i < 2 ? OLD_NS : young, "a");
	limit_descriptors(12);
	assert_int_equal(sample(p[0], 1), 0);
	assert_int_equal(sample(p[2], 1), 0);
	assert_int_equal(end(p[2], now_ns()), 0);	/* the group's file */
	limit_descriptors(RLIM_INFINITY);
	assert_int_equal(sample(p[0], 2), 0);
	assert_int_equal(sample(p[1], 1), 0);
	assert_int_equal(sample(p[3], 1), 0);
	assert_int_equal(end(p[3], now_ns()), 0);
	observer->ops->stop(observer, 0);
	assert_int_equal(end(p[0], 0), 0);
	assert_int_equal(end(p[1], 0), 0);
	assert_int_equal(recording->lost_cnt, 2);
	json = finish();
	assert_non_null(strstr(json, "\"processes_lost\": 2"));
	assert_non_null(strstr(json, "\"error\": \"Too many open files\""));
	assert_non_null(strstr(json, "\"no_file\": 2"));
	assert_non_null(strstr(json, "\"write\": 1"));	/* of the shared file, which came later */
	free(json);
	check_file("102-python3.tach", 1);
	assert_int_equal(file_cnt(".tach"), 2);
}

/* In a mode with waits: a sample of a thread that waits, or is on a CPU. */
static void wall_sample(struct process *p, bool on_cpu)
{
	struct raw_sample raw = {
		.h = { .kind = RAW_SAMPLE, .time_ns = now_ns() }, .tid = 7, .nframes = 1,
		.status = on_cpu ? STATUS_ON_CPU : 0,
		.frames = { fake_frame(&fake, 1, 2) },
	};

	assert_int_equal(process_take(p, &raw, raw_sample_bytes(1, 0)), 0);
}

/* Processes that never ran share a file; one that runs later has its own from then on. */
static void test_the_idle_share(void **state)
{
	const int held = 40000;		/* more than is kept in memory */
	struct process *p[4];
	char *json;
	int i;

	open_recording(dir, false);
	recording->args.mode = &record_modes[RECORD_WALL];
	for (i = 0; i < 4; i++) {
		p[i] = begin(101 + i, OLD_NS, "a");
		wall_sample(p[i], i == 3);
	}
	for (i = 0; i < held; i++)
		wall_sample(p[2], false);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_int_equal(file_cnt(".tach"), 2);	/* of 104; the shared one, with samples of 103 */
	for (i = 0; i < held; i++)
		wall_sample(p[1], false);
	assert_int_equal(observer->ops->tick(observer), 0);
	wall_sample(p[1], false);
	wall_sample(p[2], true);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_int_equal(file_cnt(".tach"), 3);
	assert_int_equal(end(p[0], now_ns()), 0);
	observer->ops->stop(observer, 0);
	for (i = 1; i < 4; i++)
		assert_int_equal(end(p[i], 0), 0);
	json = finish();
	assert_non_null(strstr(json, "\"merged\": 3"));
	assert_non_null(strstr(json, "\"samples\": 80006"));	/* all */
	assert_non_null(strstr(json, "\"samples\": 80004"));	/* of the shared file */
	assert_non_null(strstr(json, "\"samples\": 40002"));	/* of 102 in it */
	free(json);
	check_file("merged-python3.tach", 2 * held + 4);
	check_file("103-python3.tach", 1);
	check_file("104-python3.tach", 1);
}

/* With --split all, and in a mode without waits, each has a file. */
static void test_the_idle_apart(void **state)
{
	struct process *p;
	int i;

	open_recording(dir, false);
	for (i = 0; i < 3; i++) {
		recording->args.mode = &record_modes[i ? RECORD_WALL : RECORD_CPU];
		recording->args.split_all = i == 1;
		recording->args.by_pid = i == 2;
		p = begin(101 + i, OLD_NS, "a");
		wall_sample(p, false);
		assert_int_equal(end(p, now_ns()), 0);
	}
	free(finish());
	check_file("101-python3.tach", 1);
	check_file("102-python3.tach", 1);
	check_file("103-python3.tach", 1);
}

#define MANY 60
#define FEW_FDS 48

static int count_event(void *ctx, const struct event *ev)
{
	(void)ev;
	(*(uint64_t *)ctx)++;
	return 0;
}

static uint64_t recovered(const char *name, bool *live)
{
	char path[256], journal[256], why[128];
	struct recovery *r;
	uint64_t cnt = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(journal, sizeof(journal), "%s/.%s.journal", dir, name);
	r = recover_open(path, journal, why, sizeof(why));
	assert_non_null(r);
	*live = recover_is_live(r);
	assert_int_equal(recover_samples(r, count_event, &cnt, why, sizeof(why)), 0);
	recover_free(r);
	return cnt;
}

/* Of many processes, a tick goes through those that had events, until all of theirs is written. */
static void test_ticks_of_idle_processes(void **state)
{
	struct process *p[MANY];
	char name[128];
	struct stat st;
	int i;

	open_recording(dir, false);
	for (i = 0; i < MANY; i++)
		p[i] = begin(101 + i, OLD_NS, "a");
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_null(recording->busy);
	assert_int_equal(sample(p[3], 1), 0);
	assert_non_null(recording->busy);
	assert_null(recording->busy->next);
	assert_int_equal(observer->ops->tick(observer), 0);
	snprintf(name, sizeof(name), "%s/104-python3.tach", dir);
	assert_int_equal(stat(name, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(observer->ops->tick(observer), 0);
	assert_null(recording->busy);
	assert_int_equal(end(p[3], 0), 0);
	assert_int_equal(sample(p[5], 1), 0);
	assert_int_equal(end(p[5], 0), 0);	/* ends while it has something to write */
	assert_null(recording->busy);
	for (i = 0; i < MANY; i++)
		if (i != 3 && i != 5)
			assert_int_equal(end(p[i], 0), 0);
	free(finish());
	check_file("104-python3.tach", 1);
	check_file("106-python3.tach", 1);
}

/* More processes than descriptors: what was written longest ago is closed, and opened again. */
static void test_more_processes_than_descriptors(void **state)
{
	struct process *p[MANY];
	char name[128];
	const int gone = MANY - 1;	/* the newest is written first, and so closed first */
	int i, round;
	bool live;

	open_recording(dir, false);
	limit_descriptors(FEW_FDS);
	for (i = 0; i < MANY; i++)
		p[i] = begin(101 + i, OLD_NS, "a");
	for (round = 0; round < 3; round++) {
		for (i = 0; i < MANY; i++)
			assert_int_equal(sample(p[i], round), 0);
		assert_int_equal(observer->ops->tick(observer), 0);
		assert_true(recording->open.cnt <= FEW_FDS / 4);
	}
	for (i = 0; i < MANY; i++) {	/* as a recording that is killed now leaves them */
		snprintf(name, sizeof(name), "%d-python3.tach", 101 + i);
		assert_int_equal(recovered(name, &live), 3);
		assert_true(live);
	}
	/* the user does it */
	snprintf(name, sizeof(name), "%s/%d-python3.tach", dir, 101 + gone);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(sample(p[gone], 7), 0);
	observer->ops->stop(observer, 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(end(p[i], 0), 0);
	limit_descriptors(RLIM_INFINITY);
	assert_int_equal(recording->lost_cnt, 1);
	assert_int_equal(recording->rows[gone]->err, -ESTALE);
	free(finish());
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d-python3.tach", 101 + i);
		if (i != gone)
			check_file(name, 3);
	}
}

/* Samples in memory that cannot be written count as lost. */
static void test_promotion_fails(void **state)
{
	struct timespec boot;
	struct process *p;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	open_recording(dir, false);
	p = begin(101, boot.tv_sec * 1000000000ull + boot.tv_nsec, "a");
	assert_int_equal(sample(p, 1), 0);
	assert_int_equal(sample(p, 2), 0);
	take_name("101-python3.tach");
	observer->ops->stop(observer, 0);
	assert_int_equal(end(p, 0), 0);
	assert_int_equal(recording->rows[0]->stats.samples, 0);
	assert_int_equal(recording->rows[0]->stats.lost[LOSS_WRITE], 2);
	free(finish());
}

static void test_remarks_are_kept_once(void **state)
{
	char *json;

	open_recording(dir, false);
	assert_true(observer->ops->remark(observer, 5, 1000, "x", "too old"));
	assert_false(observer->ops->remark(observer, 5, 1000, "x", "too old"));
	assert_true(observer->ops->remark(observer, 5, 1000, "x", "another reason"));
	assert_false(observer->ops->remark(observer, 6, 1000, "x", "too old"));
	assert_true(observer->ops->remark(observer, 7, 1000, "y", "too old"));
	json = finish();
	assert_non_null(strstr(json, "another reason"));
	free(json);
}

/* The remarks that are kept of 5,000 processes of a user, each of another program. */
static size_t remarks_of(uint32_t uid, pid_t first)
{
	char comm[PROC_COMM_MAX];
	size_t kept = 0;
	pid_t pid;

	for (pid = first; pid < first + 5000; pid++) {
		snprintf(comm, sizeof(comm), "%d", pid);
		kept += observer->ops->remark(observer, pid, uid, comm, "too old");
	}
	return kept;
}

/* A user's processes leave room for remarks on those of others; root's may take all. */
static void test_a_user_takes_not_all_remarks(void **state)
{
	char *json;

	open_recording(dir, false);
	assert_int_equal(remarks_of(1000, 10), 250);
	assert_int_equal(remarks_of(UINT32_MAX, 10000), 250);
	assert_true(observer->ops->remark(observer, 1, 1001, "x", "of another"));
	assert_int_equal(remarks_of(0, 20000), 1000 - 501);
	assert_false(observer->ops->remark(observer, 2, 1001, "y", "of another"));
	json = finish();
	assert_non_null(strstr(json, "of another"));
	assert_non_null(strstr(json, "\"refused_more\": 14002"));
	free(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_for_each_old_process),
		TEST(test_counts_are_in_one_column),
		TEST(test_the_brief_summary_has_three_lines_of_losses),
		TEST(test_losses_of_processes),
		TEST(test_the_summary_adds_up),
		TEST(test_the_summary_adds_up_without_native_threads),
		TEST(test_short_lives_share),
		TEST(test_single_file),
		TEST(test_single_file_after_an_exec),
		TEST(test_a_program_without_a_sample),
		TEST(test_no_sample_at_all),
		TEST(test_json_beside),
		TEST(test_command_file),
		TEST(test_command_alone_or_none),
		TEST(test_force),
		TEST(test_force_and_nothing_comes),
		TEST(test_nothing_seen),
		TEST(test_errors),
		TEST(test_the_idle_share),
		TEST(test_the_idle_apart),
		TEST(test_ticks_of_idle_processes),
		TEST(test_more_processes_than_descriptors),
		TEST(test_too_few_descriptors),
		TEST(test_promotion_fails),
		TEST(test_remarks_are_kept_once),
		TEST(test_a_user_takes_not_all_remarks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
