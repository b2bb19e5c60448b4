// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_exec_chains.c - a process that executes one program after the other, while user space takes
 * its records and inspects it: whatever comes first, each Python begins once, and has its samples.
 *
 * The kernel's steps are played at every place where user space may be overtaken by them. Whoever
 * looks at a process is overtaken by an exec in two moments: its mappings are another program's
 * before on_exec() runs, and the record comes after that.
 */
#include "capture/capture_inspect.h"
#include "capture/capture_records.h"
#include "capture/capture_state.h"
#define proc_table_put fake_table_put
#include "tests/unit/capture/fake_table.h"
#undef proc_table_put
#include "host/identity.h"
#include "resolve/observer.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/exe_learn.h"
#include "target/known_images.h"
#include "tests/unit/resolve/fake_code.h"

#define START 77
#define PROGRAMS 4		/* the first one is from before the recording */
#define RECORDS 32
#define LOOKS 4			/* at the end, for what waits for a record that was lost */

/* What on_exec() makes of an exec. */
enum how {
	ASKED,		/* RAW_EXEC: nobody knows the executable */
	KNOWN,		/* the process is admitted */
	OTHER,		/* RAW_EXEC_OTHER, if user space tracks the process */
	LOST,		/* there is no room for the record */
};

struct program {
	bool python;
	enum how how;
};

enum happens { ENTERS, IS_MAPPED, EXECUTED, TICK, EXITS };

struct record {
	int program;		/* in which it was sent */
	size_t len;
	union {
		struct raw_header h;
		struct raw_exec exec;
		struct raw_lifecycle life;
		struct raw_tick tick;
		struct raw_no_stack sample;
	};
};

static struct world {
	const struct program *programs;
	struct {
		enum happens what;
		int program;
	} steps[5 * PROGRAMS];
	int step_cnt, step;
	int now;			/* the program that is mapped */
	bool in_exec, exited;
	struct record records[RECORDS];
	int sent, taken, taking;	/* taking: the program of the record that is taken */
	int begun[PROGRAMS], sampled[PROGRAMS], delivered[PROGRAMS], ended, last;
} w;

/* How many steps of the kernel come at each place: digits that are counted through. */
static struct {
	int digits[64], cnt, at;
	uint64_t seed;			/* not 0: they are drawn instead */
} order;

static struct capture capture;
static struct discovery { struct known_images images; } discovery;
static const struct cpython_image *images[PROGRAMS];

/* ---- the kernel ---- */

static uint64_t program_id(int program)
{
	return 0x7ffd0000ull + 16 * (uint64_t)program;
}

static struct py_proc entry_of(int program)
{
	return (struct py_proc){ .state = PY_PROC_PYTHON, .start_ns = START,
				 .ident = 2 * (uint64_t)program + 1, .exe = (uint64_t)program,
				 .runtime = 1000 * (uint64_t)program };
}

static struct record *send_record(enum raw_kind kind, size_t len)
{
	struct record *r = &w.records[w.sent++];

	assert_in_range(w.sent, 1, RECORDS);
	*r = (struct record){ .program = w.now, .len = len };
	r->h = (struct raw_header){ .kind = kind, .tgid = getpid(), .time_ns = now_ns(),
				    .start_ns = START };
	return r;
}

static void on_exec(void)
{
	bool is_tracked = fake_table_at(getpid()) >= 0;
	const struct program *p = &w.programs[w.now];
	struct py_proc py = entry_of(w.now);
	struct record *r;

	proc_table_remove(NULL, getpid());
	if (p->how == KNOWN)
		fake_table_put(NULL, getpid(), &py);
	if (p->how == OTHER && is_tracked) {
		r = send_record(RAW_EXEC_OTHER, sizeof(r->life));
		r->life.ident = program_id(w.now);
	} else if (p->how == ASKED || p->how == KNOWN) {
		r = send_record(RAW_EXEC, sizeof(r->exec));
		r->exec.program = program_id(w.now);
		r->exec.exe = p->how == KNOWN ? py.exe : 0;
		r->exec.ident = p->how == KNOWN ? py.ident : 0;
	}
}

static void tick(void)
{
	int at = fake_table_at(getpid());
	const struct py_proc *py = at < 0 ? NULL : &fake_table.procs[at];
	struct record *r;

	if (!py) {
		send_record(RAW_UNKNOWN, sizeof(struct raw_tick));
	} else if (py->state == PY_PROC_PYTHON) {
		r = send_record(RAW_NO_STACK, sizeof(r->sample));
		r->sample.tid = (uint32_t)getpid();
		r->sample.end = CNT_NO_FRAMES;
		w.sampled[w.now] += py->runtime == entry_of(w.now).runtime;
	}
}

static void kernel_step(void)
{
	int program = w.steps[w.step].program;

	switch (w.steps[w.step++].what) {
	case ENTERS:
		w.now = program;
		w.in_exec = true;
		break;
	case IS_MAPPED:
		w.in_exec = false;
		break;
	case EXECUTED:
		on_exec();
		break;
	case TICK:
		tick();
		break;
	case EXITS:
		w.exited = true;
		proc_table_remove(NULL, getpid());
		send_record(RAW_EXIT, sizeof(struct raw_lifecycle));
	}
}

/* Here the kernel may go on. */
static void here(void)
{
	int left = w.step_cnt - w.step, cnt;

	if (!left)
		return;
	if (order.seed)
		cnt = rnd(&order.seed) % 3 ? 0 : (int)(rnd(&order.seed) % 3);
	else
		cnt = order.at < order.cnt ? order.digits[order.at++] : left;
	for (; cnt && w.step < w.step_cnt; cnt--)
		kernel_step();
}

/* The next order of as many places; false: that was the last one. */
static bool next_order(int steps)
{
	int i, sum = 0;

	for (i = 0; i < order.cnt; i++)
		sum += order.digits[i];
	for (i = order.cnt - 1; i >= 0; i--) {
		if (sum < steps) {
			order.digits[i]++;
			return true;
		}
		sum -= order.digits[i];
		order.digits[i] = 0;
	}
	return false;
}

/* ---- what user space sees ---- */

int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py);
int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py)
{
	int err;

	here();
	err = fake_table_put(table, tgid, py);
	here();
	return err;
}

static ssize_t proc_text(pid_t tgid, const char *name, char *out, size_t size)
{
	if (w.exited || strcmp(name, "stat"))
		return -ENOENT;
	return snprintf(out, size, "%d (x) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 1 0 0",
			tgid);
}

static ssize_t proc_no_link(pid_t tgid, const char *name, char *out, size_t size)
{
	return -ENOENT;
}

static int proc_no_list(pid_t tgid, proc_each_fn cb, void *ctx)
{
	return -ENOENT;
}

struct known_images *discovery_images(struct discovery *d)
{
	return &d->images;
}

enum ready discovery_ready(pid_t task, const struct py_proc *p)
{
	return READY_YES;
}

int discovery_mem(const struct cpython_image *image, pid_t about, uint64_t vaddr, void *buf,
		  size_t len)
{
	return -EIO;
}

/* As inspect_files(): the program, the mappings, the program again. */
int discovery_inspect(struct discovery *d, const struct proc_info *who, uint64_t *files,
		      uint64_t prefer, struct discovered *found)
{
	uint64_t before = *files;
	int mapped;

	here();
	*found = (struct discovered){ .program = w.in_exec ? 0 : program_id(w.now),
				      .seen_ns = now_ns(), .ready = READY_YES, .copied = true };
	here();
	mapped = w.now;
	if (w.exited)
		return -ESRCH;
	*files = (uint64_t)mapped + 1;
	here();
	if (!w.programs[mapped].python)
		return *files == before ? -EALREADY : -ENOENT;
	found->image = images[mapped];
	found->proc = entry_of(mapped);
	if (!w.in_exec && program_id(w.now) == found->program)
		return 0;
	*files = 0;
	return -EAGAIN;
}

/* ---- what the observer hears ---- */

static int program_of(const struct process *p)
{
	int i = 0;

	while (images[i] != process_image(p))
		i++;
	return i;
}

static int on_begin(struct observer *o, struct process *p)
{
	int program = program_of(p);

	w.begun[program]++;
	assert_in_range(program, w.last, PROGRAMS);
	w.last = program;
	return 0;
}

static int on_event(struct observer *o, struct process *p, const struct event *ev)
{
	w.delivered[program_of(p)] += program_of(p) == w.taking;
	return 0;
}

static int on_end(struct observer *o, struct process *p, uint64_t end_ns)
{
	w.ended++;
	return 0;
}

static const struct observer_ops ops = { .begin = on_begin, .event = on_event, .end = on_end };
static struct observer observer = { .ops = &ops };

/* ---- plays ---- */

/* As capture_poll() does it; an inspection is always due. */
static void poll_once(void)
{
	uint64_t begin = now_ns();
	struct tracked *t;

	here();
	while (w.taken < w.sent) {
		w.taking = w.records[w.taken].program;
		capture_take(&capture, &w.records[w.taken].h, w.records[w.taken].len);
		w.taken++;
		here();
	}
	capture.taken_ns = begin;
	t = lifecycle_find(&capture.life, getpid());
	if (t && t->schedule.next_ns != INSPECT_NEVER)
		capture_inspect(&capture, t);
}

static void say_order(void)
{
	int i;

	for (i = 1; i < PROGRAMS; i++)
		print_error("program %d: begun %d sampled %d delivered %d\n", i, w.begun[i],
			    w.sampled[i], w.delivered[i]);
	for (i = 0; i < order.cnt; i++)
		print_error("%d ", order.digits[i]);
	print_error("\n");
}

static void judge(int cnt)
{
	int i, begun = 0;
	bool right = true;

	for (i = 1; i <= cnt; i++) {
		const struct program *p = &w.programs[i];

		/* Of a tick by the entry of the program before nobody knows that. */
		right &= w.begun[i] <= p->python && w.delivered[i] >= w.sampled[i];
		right &= p->how != KNOWN || w.begun[i] == 1;
		begun += w.begun[i];
	}
	right &= w.ended == begun && !capture.life.live_cnt && !capture.life.err;
	if (!right)
		say_order();
	assert_true(right);
}

static void add_step(enum happens what, int program)
{
	w.steps[w.step_cnt].what = what;
	w.steps[w.step_cnt++].program = program;
}

static void play(const struct program programs[PROGRAMS], int cnt)
{
	int i;

	memset(&w, 0, sizeof(w));
	memset(&fake_table, 0, sizeof(fake_table));
	w.programs = programs;
	for (i = 1; i <= cnt; i++) {
		add_step(ENTERS, i);
		add_step(IS_MAPPED, i);
		add_step(EXECUTED, i);
		add_step(TICK, i);
	}
	add_step(EXITS, cnt);
	order.at = 0;
	capture.life = (struct lifecycle){ .observer = &observer };
	capture.taken_ns = 0;
	while (w.step < w.step_cnt || w.taken < w.sent)
		poll_once();
	for (i = 0; i < LOOKS; i++)
		poll_once();
	judge(cnt);
	lifecycle_free(&capture.life);
}

#define W(how) { false, how }
#define P(how) { true, how }

static const struct program chains_of_2[][PROGRAMS] = {
	{ W(0), W(ASKED), P(ASKED) }, { W(0), W(ASKED), P(KNOWN) }, { W(0), W(OTHER), P(ASKED) },
	{ W(0), W(OTHER), P(KNOWN) }, { W(0), P(ASKED), P(ASKED) }, { W(0), P(KNOWN), P(ASKED) },
	{ W(0), P(ASKED), P(KNOWN) }, { W(0), P(KNOWN), P(KNOWN) }, { W(0), P(ASKED), W(OTHER) },
	{ W(0), W(ASKED), P(LOST) }, { W(0), P(KNOWN), P(LOST) }, { W(0), W(LOST), P(KNOWN) },
};

static const struct program chains_of_3[][PROGRAMS] = {
	{ W(0), W(ASKED), W(ASKED), P(ASKED) }, { W(0), W(ASKED), W(OTHER), P(KNOWN) },
	{ W(0), W(OTHER), W(ASKED), P(ASKED) }, { W(0), W(ASKED), P(ASKED), P(ASKED) },
	{ W(0), P(ASKED), W(ASKED), P(KNOWN) }, { W(0), P(KNOWN), W(OTHER), P(ASKED) },
	{ W(0), P(ASKED), P(KNOWN), P(ASKED) }, { W(0), W(ASKED), P(LOST), P(ASKED) },
};

static int play_all(const struct program programs[PROGRAMS], int cnt, int places)
{
	int played = 0;

	memset(&order, 0, sizeof(order));
	order.cnt = places;
	do {
		play(programs, cnt);
		played++;
	} while (next_order(4 * cnt + 1));
	return played;
}

static void test_every_order_of_2(void **state)
{
	int played = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chains_of_2); i++)
		played += play_all(chains_of_2[i], 2, 6);
	print_message("%d orders\n", played);
}

static void test_every_order_of_3(void **state)
{
	int played = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chains_of_3); i++)
		played += play_all(chains_of_3[i], 3, 4);
	print_message("%d orders\n", played);
}

/* At more places than can be counted through. */
static void test_random_orders(void **state)
{
	size_t i, n;

	memset(&order, 0, sizeof(order));
	order.seed = 7;
	for (n = 0; n < 3000; n++) {
		for (i = 0; i < ARRAY_SIZE(chains_of_2); i++)
			play(chains_of_2[i], 2);
		for (i = 0; i < ARRAY_SIZE(chains_of_3); i++)
			play(chains_of_3[i], 3);
	}
}

static int no_names(struct container *c, pid_t tgid)
{
	return -ENOENT;
}

static void no_exe(void *ctx, uint64_t key, const struct py_exe *exe)
{
}

static void no_other(void *ctx, const struct exe_file *file, bool other)
{
}

static int set_up(void **state)
{
	static const struct proc_source source = { proc_text, proc_no_link, proc_no_list, NULL };
	static struct fake_codes fake;
	int i;

	proc_set_source(&source);
	fake_codes_init(&fake, 1);
	known_images_init(&discovery.images);
	capture.args.observer = &observer;
	capture.args.rate_hz = 100;
	capture.args.identities = identities_new(no_names);
	capture.mode = &record_modes[RECORD_CPU];
	capture.discovery = &discovery;
	capture.exes = exe_cache_new(&discovery, no_exe, no_other, NULL);
	for (i = 0; i < PROGRAMS; i++) {
		struct learned_exe learned = { .key = (uint64_t)i, .runs_python = true,
					       .seen = true, .image = fake.img };

		learned.file.ino = (uint64_t)i + 1;
		learned.exe.proc = entry_of(i);
		learned.exe.proc.state = PY_PROC_OTHER;
		images[i] = known_images_get(&discovery.images, &learned.file, &fake.img, 0);
		exe_cache_take(capture.exes, &learned, 0);
	}
	fake_codes_free(&fake);
	return 0;
}

static int tear_down(void **state)
{
	exe_cache_free(capture.exes);
	identities_free(capture.args.identities);
	known_images_free(&discovery.images);
	proc_set_source(&proc_direct);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_order_of_2),
		cmocka_unit_test(test_every_order_of_3),
		cmocka_unit_test(test_random_orders),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
