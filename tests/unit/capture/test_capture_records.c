// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_capture_records.c - records as the BPF side sends them, and the calls that an observer in
 * memory gets for them.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "capture/capture_records.h"
#include "capture/capture_state.h"
#include "capture/loss_table.h"
#include "host/identity.h"
#include "host/proc.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/exe_learn.h"
#include "target/known_images.h"
#include "tests/unit/capture/fake_table.h"
#include "tests/unit/memory_observer.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 20
#define PARENT 4000
#define CHILD 4001
#define GONE 0x3fffffff		/* above any pid_max */
#define START 77

/* Processes hold the image that they run. */
static struct known_images images;
static const struct cpython_image *image;

/* No runtime knows anything of a container. */
static int no_names(struct container *c, pid_t tgid)
{
	return -ENOENT;
}

static struct memory_observer observer;
static struct capture capture;
static struct fake_codes fake;

static void no_exe(void *ctx, uint64_t key, const struct py_exe *exe)
{
	(void)ctx;
	(void)key;
	(void)exe;
}

static void no_other(void *ctx, const struct exe_file *file, bool other)
{
	(void)ctx;
	(void)file;
	(void)other;
}

static int set_up(void **state)
{
	observer = (struct memory_observer)MEMORY_OBSERVER;
	memset(&fake_table, 0, sizeof(fake_table));
	memset(&capture, 0, sizeof(capture));
	capture.args.observer = capture.life.observer = &observer.observer;
	capture.args.rate_hz = 100;
	capture.args.identities = identities_new(no_names);
	capture.mode = &record_modes[RECORD_CPU];
	capture.discovery = discovery_new();
	capture.exes = exe_cache_new(capture.discovery, no_exe, no_other, NULL);
	fake_codes_in_self(&fake, CODES);
	known_images_init(&images);
	image = known_images_get(&images, &(struct file_id){ .ino = 1 }, &fake.img, 0);
	return image ? 0 : -1;
}

static int tear_down(void **state)
{
	lifecycle_free(&capture.life);
	exe_cache_free(capture.exes);
	discovery_free(capture.discovery);
	identities_free(capture.args.identities);
	memory_observer_free(&observer);
	known_images_free(&images);
	fake_codes_free(&fake);
	return 0;
}

/* A profiled process: with an entry in py_procs and a struct tracked. */
static struct tracked *profile(pid_t tgid)
{
	struct process_args args = {
		.tgid = tgid, .start_ns = START, .comm = "python3", .command = "python3 x.py",
		.image = image, .observer = &observer.observer,
		.py = { .state = PY_PROC_PYTHON, .ident = 2, .start_ns = START },
	};
	struct tracked *t;

	assert_int_equal(proc_table_put(NULL, tgid, &args.py), 0);
	t = lifecycle_admit(&capture.life, &(struct step){ .args = &args });
	assert_non_null(t);
	return t;
}

static struct raw_header header(enum raw_kind kind, pid_t tgid, uint64_t start_ns)
{
	return (struct raw_header){ .kind = kind, .tgid = tgid, .time_ns = 1000,
				    .start_ns = start_ns };
}

static void sample(pid_t tgid, uint64_t start_ns)
{
	struct raw_sample raw = { .h = header(RAW_SAMPLE, tgid, start_ns), .tid = tgid,
				  .nframes = 2, .frames = { fake_frame(&fake, 3, 2),
							    fake_frame(&fake, 4, 2) } };

	capture_take(&capture, &raw, offsetof(struct raw_sample, frames) + 2 * sizeof(*raw.frames));
}

static void lifecycle_record(enum raw_kind kind, pid_t tgid, uint64_t start_ns, pid_t parent,
			     bool admitted)
{
	struct raw_lifecycle ev = { .h = header(kind, tgid, start_ns), .parent_tgid = parent,
				    .admitted = admitted };

	capture_take(&capture, &ev, sizeof(ev));
}

static void unknown_tick(pid_t tgid, uint64_t start_ns, uint64_t time_ns)
{
	struct raw_tick tick = { .h = header(RAW_UNKNOWN, tgid, start_ns) };

	tick.h.time_ns = time_ns;
	capture_take(&capture, &tick, sizeof(tick));
}

static void changed_tick(pid_t tgid, uint64_t time_ns, uint64_t ticks)
{
	struct raw_tick tick = { .h = header(RAW_CHANGED, tgid, START), .ticks = ticks };
	struct tracked *t = lifecycle_find(&capture.life, tgid);

	tick.h.time_ns = time_ns;
	t->schedule.inspected_ns = now_ns();	/* it is not inspected at once */
	t->schedule.next_ns = INSPECT_NEVER;
	t->schedule.gap_ns = 1000000000000ull;
	capture_take(&capture, &tick, sizeof(tick));
}

static void calls(const char *want)
{
	assert_string_equal(observer.calls, want);
	observer.calls[0] = '\0';
}

static void test_samples_of_a_family(void **state)
{
	profile(PARENT);
	sample(PARENT, START);
	lifecycle_record(RAW_FORK, CHILD, START + 1, PARENT, true);
	sample(CHILD, START + 1);
	sample(PARENT, START);
	lifecycle_record(RAW_EXIT, CHILD, START + 1, 0, false);
	calls("begin 4000\nevent 4000\nbegin 4001\nevent 4001\nevent 4000\nend 4001\n");
	assert_int_equal(capture.received, 3);
	assert_int_equal(capture.orphans, 0);
	assert_int_equal(observer.events.cnt, 3);
}

/* Frames of events have the names of the code objects in this test's own memory. */
static void test_names(void **state)
{
	struct event ev;

	profile(getpid());
	sample(getpid(), START);
	ev = kept_event(&observer.events, 0);
	assert_int_equal(ev.nframes, 2);
	assert_true(frame_is_fake(observer.tables, ev.frames[0], 3, 2));
	assert_true(frame_is_fake(observer.tables, ev.frames[1], 4, 2));
}

/* A record that is too short changes nothing; a sample without its frames is an error. */
static void test_short_records(void **state)
{
	struct raw_sample raw;
	int kind;
	size_t len;

	profile(PARENT);
	calls("begin 4000\n");
	for (kind = 0; kind <= RAW_SWITCH_SAME; kind++) {
		for (len = 0; len < sizeof(struct raw_header); len++) {
			memset(&raw, 0, sizeof(raw));
			raw.h = header(kind, PARENT, START);
			capture_take(&capture, &raw, len);
		}
	}
	calls("");
	assert_int_equal(capture.life.err, 0);
	raw.h = header(RAW_SAMPLE, PARENT, START);
	raw.nframes = 5;	/* but the record ends before the first one */
	capture_take(&capture, &raw, offsetof(struct raw_sample, frames));
	assert_int_equal(capture.life.err, -EBADMSG);
}

/* ---- an entry with two records ---- */

#define WAIT_NS 1000000ull

/* A profiled process whose waits are recorded, a sample each WAIT_NS. */
static struct tracked *profile_waits(pid_t tgid)
{
	struct process_args args = {
		.tgid = tgid, .start_ns = START, .comm = "python3", .command = "python3 x.py",
		.image = image, .observer = &observer.observer,
		.waits = { .interval_ns = WAIT_NS, .runnable = true },
		.py = { .state = PY_PROC_PYTHON, .ident = 2, .start_ns = START },
	};
	struct tracked *t;

	capture.mode = &record_modes[RECORD_WALL];
	assert_int_equal(proc_table_put(NULL, tgid, &args.py), 0);
	t = lifecycle_admit(&capture.life, &(struct step){ .args = &args });
	assert_non_null(t);
	return t;
}

/* An entry: the RAW_SWITCH_IN of a thread, and the record of the thread that had the CPU before. */
static struct {
	struct raw_switch_in in;
	struct raw_sample out;
} entry;

/* The second record has nframes frames. Returns the bytes of the entry. */
static size_t fill_entry(pid_t in, pid_t out, enum raw_kind kind, uint16_t nframes)
{
	uint32_t i;

	memset(&entry, 0, sizeof(entry));
	entry.in.h = header(RAW_SWITCH_IN, in, START);
	entry.in.h.time_ns = 9 * WAIT_NS;
	entry.in.tid = in;
	entry.in.out_ns = 2 * WAIT_NS;
	entry.out.h = header(kind, out, START);
	entry.out.h.why = WHY_BLOCKED;
	entry.out.h.time_ns = 9 * WAIT_NS;
	entry.out.tid = out;
	entry.out.nframes = nframes;
	for (i = 0; i < nframes; i++)
		entry.out.frames[i] = fake_frame(&fake, 3 + i, 2);
	return sizeof(entry.in) + raw_sample_bytes(nframes, 0);
}

/* The thread of this process leaves its CPU after 2 * WAIT_NS. */
static void leave(pid_t tgid)
{
	size_t len = fill_entry(tgid, tgid, RAW_SWITCH_OUT, 2) - sizeof(entry.in);

	entry.out.h.time_ns = 2 * WAIT_NS;
	capture_take(&capture, &entry.out, len);
}

static struct process_stats stats_of(struct tracked *t)
{
	struct process_stats stats;

	process_stats(t->process, &stats);
	return stats;
}

/* Both are taken, each for its own process. */
static void test_entry_of_two_records(void **state)
{
	struct tracked *from = profile_waits(PARENT), *to = profile_waits(CHILD);
	size_t len;

	leave(CHILD);
	assert_int_equal(capture.received, 1);
	len = fill_entry(CHILD, PARENT, RAW_SWITCH_OUT, 2);
	capture_take(&capture, &entry, len);
	assert_int_equal(capture.received, 2);
	assert_int_equal(capture.orphans, 0);
	assert_int_equal(capture.life.err, 0);
	assert_int_equal(stats_of(to).samples, 7);	/* the wait of 7 * WAIT_NS has ended ... */
	assert_int_equal(stats_of(from).samples, 0);
	assert_int_equal(stats_of(from).waits.waits, 1);	/* ... and another one begins */
	/* Now the other way round, with a repetition. */
	leave(CHILD);
	len = fill_entry(PARENT, CHILD, RAW_SWITCH_SAME, 0);
	entry.in.out_ns = 9 * WAIT_NS;
	entry.in.h.time_ns = entry.out.h.time_ns = 14 * WAIT_NS;
	entry.out.stack_ns = 2 * WAIT_NS;
	capture_take(&capture, &entry, len);
	assert_int_equal(capture.life.err, 0);
	assert_int_equal(stats_of(from).samples, 5);
	assert_int_equal(stats_of(to).waits.guessed, 0);
	assert_int_equal(stats_of(to).waits.waits, 3);
}

/* The thread that leaves is of a process that is not profiled, or the one that comes. */
static void test_entry_of_unknown(void **state)
{
	struct tracked *t = profile_waits(CHILD);

	leave(CHILD);
	capture_take(&capture, &entry, fill_entry(CHILD, GONE, RAW_SWITCH_OUT, 2));
	assert_int_equal(stats_of(t).samples, 7);
	assert_int_equal(capture.orphans, 1);
	capture_take(&capture, &entry, fill_entry(GONE, CHILD, RAW_SWITCH_OUT, 2));
	assert_int_equal(stats_of(t).waits.waits, 2);
	assert_int_equal(capture.orphans, 1);
	assert_int_equal(capture.life.err, 0);
}

/* A second record that is cut off: the first one is taken. */
static void test_entry_that_is_cut_off(void **state)
{
	struct tracked *t;
	size_t len, whole;

	for (len = sizeof(entry.in);; len++) {
		t = profile_waits(CHILD);
		profile_waits(PARENT);
		leave(CHILD);
		whole = fill_entry(CHILD, PARENT, RAW_SWITCH_OUT, 2);
		capture_take(&capture, &entry, len);
		assert_int_equal(stats_of(t).samples, 7);
		assert_int_equal(capture.life.err,
				 len < sizeof(entry.in) + sizeof(entry.in.h) || len >= whole ?
					 0 : -EBADMSG);
		capture.life.err = 0;
		lifecycle_record(RAW_EXIT, CHILD, START, 0, false);
		lifecycle_record(RAW_EXIT, PARENT, START, 0, false);
		if (len == whole)
			break;
		observer.calls[0] = '\0';
	}
	/* Without a whole RAW_SWITCH_IN there is nothing, and a bare header cannot be trusted. */
	t = profile_waits(CHILD);
	leave(CHILD);
	fill_entry(CHILD, PARENT, RAW_SWITCH_OUT, 2);
	for (len = 0; len < sizeof(entry.in); len++) {
		capture_take(&capture, &entry, len);
		assert_int_equal(capture.life.err, len < sizeof(entry.in.h) ? 0 : -EBADMSG);
		capture.life.err = 0;
	}
	assert_int_equal(stats_of(t).samples, 0);
}

/* The exit record was lost, and another process has the pid now. */
static void test_pid_comes_back(void **state)
{
	profile(GONE);
	sample(GONE, START);
	sample(GONE, START + 5);
	calls("begin 1073741823\nevent 1073741823\nend 1073741823\n");
	assert_int_equal(capture.orphans, 1);
	assert_null(lifecycle_find(&capture.life, GONE));	/* inspected: it has ended */
	assert_int_equal(capture.unidentified, 0);		/* the orphan counts once */
}

/* The exit record of an earlier process with the same pid is ignored. */
static void test_exit_of_another(void **state)
{
	profile(PARENT);
	lifecycle_record(RAW_EXIT, PARENT, START + 1, 0, false);
	calls("begin 4000\n");
	lifecycle_record(RAW_EXIT, PARENT, START, 0, false);
	calls("end 4000\n");
}

/* The BPF side knows the parent, user space does not: the child's entry is removed. */
static void test_fork_of_unknown(void **state)
{
	struct py_proc py = { .state = PY_PROC_PYTHON, .start_ns = START };

	proc_table_put(NULL, GONE, &py);
	lifecycle_record(RAW_FORK, GONE, START, PARENT, true);
	assert_int_equal(fake_table_state(GONE), 0);
	assert_null(lifecycle_find(&capture.life, GONE));
	calls("");
}

/*
 * The record of an exec, whose time is 1000, ends the profiled process, unless it is older than the
 * inspection.
 */
static void exec_ends(struct tracked *t, void *record, size_t len)
{
	struct raw_header *h = record;

	t->inspected_ns = 2000;
	t->admitted_ns = 2001;
	capture_take(&capture, record, len);
	calls("begin 1073741823\n");
	h->time_ns = 3000;
	capture_take(&capture, record, len);
	calls("end 1073741823\n");
	assert_null(lifecycle_find(&capture.life, GONE));
}

static void test_exec(void **state)
{
	struct raw_exec ev = { .h = header(RAW_EXEC, GONE, START) };

	exec_ends(profile(GONE), &ev, sizeof(ev));
}

/* The same of an exec of what is known to be no Python. */
static void test_exec_other(void **state)
{
	struct raw_lifecycle ev = { .h = header(RAW_EXEC_OTHER, GONE, START) };

	exec_ends(profile(GONE), &ev, sizeof(ev));
}

/* What the entry is after the record of an exec at which the BPF side has admitted the process. */
static const struct py_proc *entry_after_exec(const struct py_proc *before, uint64_t ident)
{
	struct raw_exec ev = { .h = header(RAW_EXEC, GONE, START), .exe = 99, .ident = ident,
			       .bias = 0x1000 };

	assert_int_equal(proc_table_put(NULL, GONE, before), 0);
	capture_take(&capture, &ev, sizeof(ev));
	calls("begin 1073741823\n");
	lifecycle_step(&capture.life, lifecycle_find(&capture.life, GONE), PROC_EV_ENDED, NULL);
	calls("end 1073741823\n");
	return &fake_table.procs[fake_table_at(GONE)];
}

/*
 * User space has overwritten the entry: by what it found before the exec, or by a copy of what the
 * BPF side was about to complete. The entry of a later exec stays.
 */
static void test_overwritten_entry(void **state)
{
	const struct learned_exe learned = { .key = 99, .runs_python = true, .seen = true,
					     .image = *image, .exe.proc.state = PY_PROC_OTHER };
	const struct py_proc found = { .state = PY_PROC_OTHER, .ident = 4, .start_ns = START },
			     copy = { .state = PY_PROC_OTHER, .ident = 7, .start_ns = START },
			     later = { .state = PY_PROC_OTHER, .ident = 9, .start_ns = START },
			     whole = { .state = PY_PROC_LINKING, .ident = 7, .start_ns = START };
	const struct py_proc *py;

	exe_cache_take(capture.exes, &learned, 0);
	py = entry_after_exec(&found, 7);
	assert_int_equal(py->state, PY_PROC_PYTHON);
	assert_int_equal(py->ident, 7);
	py = entry_after_exec(&copy, 7);
	assert_int_equal(py->state, PY_PROC_PYTHON);
	assert_int_equal(py->ident, 7);
	assert_int_equal(entry_after_exec(&later, 7)->state, PY_PROC_OTHER);
	assert_int_equal(entry_after_exec(&whole, 7)->state, PY_PROC_LINKING);
}

/* Ticks from before the process was admitted count as discovered late, and change nothing else. */
static void test_late_ticks(void **state)
{
	struct process_stats stats;
	struct tracked *t = profile(PARENT);

	t->inspected_ns = 2000;
	t->admitted_ns = 2001;
	unknown_tick(PARENT, START, 1999);
	unknown_tick(PARENT, START, 2000);
	process_stats(t->process, &stats);
	assert_int_equal(stats.lost[LOSS_LATE_DISCOVERY], 2);
	assert_int_equal(t->state, PROC_PROFILED);
	calls("begin 4000\n");
}

/* A process that is not Python is inspected once, then again when its schedule says so. */
static void test_other_program(void **state)
{
	pid_t child = fork();
	struct proc_stat st = { .comm = "" };
	struct tracked *t;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	/* Until it has loaded its libraries. */
	while (strcmp(st.comm, "sleep") || st.state != 'S')
		assert_int_equal(proc_stat(child, &st) | usleep(1000), 0);
	unknown_tick(child, START, 1000);
	t = lifecycle_find(&capture.life, child);
	assert_non_null(t);
	assert_int_equal(t->state, PROC_OTHER);
	assert_int_equal(t->asked, 0);		/* it was no Python at that tick */
	unknown_tick(child, START, t->plain_ns - 1);
	assert_int_equal(t->asked, 0);
	changed_tick(child, t->plain_ns - 1, 5);
	assert_int_equal(t->plain_ticks, 0);
	changed_tick(child, t->plain_ns, 40);	/* from now on it may be one */
	assert_int_equal(t->plain_ticks, 40);
	changed_tick(child, t->plain_ns, 50);
	assert_int_equal(t->plain_ticks, 40);
	assert_int_equal(fake_table_state(child), PY_PROC_OTHER);
	assert_true(t->schedule.next_ns > 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	t->schedule.next_ns = 0;
	t->files = 0;
	unknown_tick(child, START, t->plain_ns);
	assert_null(lifecycle_find(&capture.life, child));
	assert_int_equal(capture.unidentified, 1);
	calls("");
}

static struct loss_table table;

static void lose(pid_t tgid, uint32_t tid, enum counter which)
{
	struct loss_slot *slot = &table.slots[tid % LOSS_SLOTS];

	*slot = (struct loss_slot){ .tgid = tgid, .tid = tid, .start_ns = START,
				    .last_ns = now_ns() };
	slot->cnt[which - CNT_LOSSES] = 3;
	table.seq++;
}

static struct process_stats ended;
static uint32_t ended_threads;

static int note_stats(struct observer *o, struct process *p, uint64_t end_ns)
{
	process_stats(p, &ended);
	ended_threads = process_thread_losses(p) ? process_thread_losses(p)->cnt : 0;
	return memory_observer_end(o, p, end_ns);
}

/* A process that ends has what was lost of it until then, and so has one that executes a file. */
static void test_losses(void **state)
{
	struct raw_exec ev = { .h = header(RAW_EXEC, PARENT, START) };
	struct observer_ops ops = *observer.observer.ops;
	struct process_stats stats;
	struct tracked *t;

	ops.end = note_stats;
	observer.observer.ops = &ops;
	memset(&table, 0, sizeof(table));
	capture.losses = loss_reader_new(&table, 1);
	lose(PARENT, PARENT, CNT_TSTATE_UNCERTAIN);
	capture_take_losses(&capture);		/* its exec or fork has not come */
	t = profile(PARENT);
	capture_take_losses(&capture);
	process_stats(t->process, &stats);
	assert_int_equal(stats.lost[LOSS_THREAD_STATE_UNCERTAIN], 3);
	assert_int_equal(process_thread_losses(t->process)->list[0].tid, PARENT);
	lose(PARENT, PARENT + 1, CNT_RING_FULL);
	ev.h.time_ns = now_ns();
	capture_take(&capture, &ev, sizeof(ev));
	assert_int_equal(ended.lost[LOSS_RING_FULL], 3);
	assert_int_equal(ended_threads, 2);
	profile(CHILD);
	lose(CHILD, CHILD, CNT_WAIT_LOST);
	lifecycle_record(RAW_EXIT, CHILD, START, 0, false);
	assert_int_equal(ended.lost[LOSS_WAITS_RING_FULL], 3);
	assert_int_equal(ended.lost[LOSS_RING_FULL], 0);
	loss_reader_free(capture.losses);
	capture.losses = NULL;
	memory_observer_free(&observer);
	observer = (struct memory_observer)MEMORY_OBSERVER;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_samples_of_a_family),
		TEST(test_names),
		TEST(test_short_records),
		TEST(test_entry_of_two_records),
		TEST(test_entry_of_unknown),
		TEST(test_entry_that_is_cut_off),
		TEST(test_pid_comes_back),
		TEST(test_exit_of_another),
		TEST(test_fork_of_unknown),
		TEST(test_exec),
		TEST(test_exec_other),
		TEST(test_overwritten_entry),
		TEST(test_late_ticks),
		TEST(test_other_program),
		TEST(test_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
