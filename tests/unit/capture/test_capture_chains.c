// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_capture_chains.c - whose chains are read, and for how long: capture_chains.c, with a reader
 * that takes as long as a test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/capture_state.h"
#include "capture/known_chains.h"
#include "memory/remote_mem.h"

static uint64_t fake_now_ns(void);
static int fake_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q,
		      struct task_chain *out);
static int fake_take(struct process *p, const void *record, size_t len);
static const struct identity *fake_identity(const struct process *p);
static bool fake_at(const struct capture *s, const struct tracked *t, struct tasks_at *at);
static void fake_look(struct capture *s, struct tracked *t);

static void fake_put(struct known_chains *k, const struct bpf_map *map, uint32_t tgid,
		     const struct raw_task *q, const struct task_chain *chain);
static const struct known_chain *fake_get(const struct known_chains *k, uint64_t id);

#define now_ns fake_now_ns
#define known_chains_put fake_put
#define known_chains_get fake_get
#define remote_task_chain fake_chain
#define process_take fake_take
#define process_identity fake_identity
#define capture_async_at fake_at
#define capture_async_look fake_look
#include "capture/capture_chains.c"

#define PROCESSES 4

static struct tachbpf_bpf skel;
static struct tachbpf_bpf__bss bss;
static struct capture s;
static struct tracked tracked[PROCESSES];
static struct identity who[PROCESSES];
static struct async_homes homes;
static uint64_t now, takes_ns;
static uint32_t looks;
static int answer;			/* the reader's error */
static struct task_chain chain;		/* ... and what it has found */
static struct raw_async taken;		/* the last record of a process */
static uint32_t put_cnt;			/* chains that were read for later samples, too */
static struct known_chain known;	/* what the BPF side has recognised; id 0: nothing */
static struct raw_async known_raw;

static uint64_t fake_now_ns(void)
{
	return now;
}

static int fake_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q,
		      struct task_chain *out)
{
	now += takes_ns;
	if (answer)
		return answer;
	*out = chain;
	out->raw.h = q->h;
	return 0;
}

static int fake_take(struct process *p, const void *record, size_t len)
{
	assert_true(len <= sizeof(taken));
	assert_true(async_record_is_whole(record, len));
	memcpy(&taken, record, len);
	return 0;
}

static void fake_put(struct known_chains *k, const struct bpf_map *map, uint32_t tgid,
		     const struct raw_task *q, const struct task_chain *c)
{
	assert_ptr_equal(k, &s.chains->known);
	put_cnt++;
}

static const struct known_chain *fake_get(const struct known_chains *k, uint64_t id)
{
	return known.id && id == known.id ? &known : NULL;
}

static const struct identity *fake_identity(const struct process *p)
{
	return &who[(uintptr_t)p - 1];
}

static bool fake_at(const struct capture *c, const struct tracked *t, struct tasks_at *at)
{
	memset(at, 0, sizeof(*at));
	return true;
}

static void fake_look(struct capture *c, struct tracked *t)
{
	looks++;
}

static void begin(void)
{
	uintptr_t i;

	memset(&s, 0, sizeof(s));
	memset(&bss, 0, sizeof(bss));
	memset(&chain, 0, sizeof(chain));
	memset(&known, 0, sizeof(known));
	put_cnt = 0;
	skel.bss = &bss;
	s.skel = &skel;
	now = 100 * PERIOD_NS;
	takes_ns = 0;
	answer = 0;
	looks = 0;
	for (i = 0; i < PROCESSES; i++) {
		tracked[i] = (struct tracked){ .homes = &homes, .process = (void *)(i + 1) };
		who[i] = (struct identity){ .uid = 1000 };
	}
}

/* A record of this process. Returns how its chain ended. */
static enum async_end task_of(uint32_t process)
{
	const struct raw_task q = {
		.h = { .kind = RAW_TASK, .time_ns = now }, .tid = 7, .at = 3,
		.flags = ASYNC_INSIDE,
	};

	memset(&taken, 0xff, sizeof(taken));
	assert_int_equal(capture_chains_take(&s, &tracked[process], &q, sizeof(q)), 0);
	assert_int_equal(taken.h.kind, RAW_ASYNC);
	assert_int_equal(taken.h.time_ns, q.h.time_ns);
	assert_true(taken.flags & ASYNC_INSIDE);
	return taken.end;
}

static void test_ends(void **state)
{
	struct raw_task q = { .h = { .kind = RAW_TASK } };

	begin();
	chain.raw = (struct raw_async){ .ntasks = 1, .nframes = 2, .end = ASYNC_WHOLE };
	assert_int_equal(task_of(0), ASYNC_WHOLE);
	assert_int_equal(taken.nframes, 2);
	assert_int_equal(looks, 0);
	answer = -EBUSY;
	assert_int_equal(task_of(0), ASYNC_TIME);
	assert_int_equal(taken.nframes, 0);
	assert_int_equal(taken.tid, 7);
	assert_int_equal(taken.at, 3);
	answer = -ESRCH;
	assert_int_equal(task_of(0), ASYNC_GONE);
	/* A reader that was compromised. */
	answer = 0;
	chain.raw.nframes = 255;
	assert_int_equal(task_of(0), ASYNC_GONE);
	/* A child whose parent was known: it is looked at; there was nothing. */
	tracked[0].homes = NULL;
	assert_int_equal(task_of(0), ASYNC_UNREADABLE);
	assert_int_equal(looks, 1);
	/* Too late, and too short. */
	tracked[0].homes = &homes;
	q.h.time_ns = now - LATE_NS - 1;
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, sizeof(q)), 0);
	assert_int_equal(taken.end, ASYNC_TIME);
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, sizeof(q) - 1), -EBADMSG);
	capture_chains_source.free(&s);
}

/* What the BPF side has recognised is not read, however much time others took. */
static void test_known(void **state)
{
	struct raw_task q = { .h = { .kind = RAW_TASK, .time_ns = 5 }, .at = 2, .cpu = 3 };
	const size_t len = offsetof(struct raw_task, name_bytes);

	begin();
	answer = -EIO;
	takes_ns = CHAINS_NS;
	known.id = q.known = 77;
	known.raw = &known_raw;
	known_raw = (struct raw_async){ .ntasks = 1, .nframes = 3, .flags = ASYNC_SEVERAL };
	known_raw.frames[2].code = 0x123;
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, len), 0);
	assert_true(taken.end == ASYNC_WHOLE && taken.nframes == 3 && taken.at == 2);
	assert_true(taken.cpu == 3 && taken.h.time_ns == 5 && taken.h.kind == RAW_ASYNC);
	assert_true(taken.flags == ASYNC_SEVERAL && taken.frames[2].code == 0x123);
	assert_true(now == 100 * PERIOD_NS && !put_cnt);
	/* The callback that may be an awaiter's has its name. */
	known_raw = (struct raw_async){ .end = ASYNC_SHAPE };
	strcpy(known.other, "notify");
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, len), 0);
	assert_int_equal(taken.end, ASYNC_SHAPE);
	assert_string_equal(capture_chains_others(&s)->other[0].name, "notify");
	/* It is kept no more. */
	q.known = 78;
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, len), 0);
	assert_true(taken.end == ASYNC_TIME && !taken.nframes);
	q.known = 0;
	assert_int_equal(capture_chains_take(&s, &tracked[0], &q, len), -EBADMSG);
	capture_chains_source.free(&s);
}

/* The task of the sample was gone, but its chain was read: for others. Not with names of tasks. */
static void test_for_others(void **state)
{
	begin();
	chain.raw = (struct raw_async){ .ntasks = 1, .nframes = 2, .end = ASYNC_WHOLE };
	assert_int_equal(task_of(0), ASYNC_WHOLE);
	assert_int_equal(put_cnt, 1);
	chain.gone = 1;
	assert_int_equal(task_of(0), ASYNC_GONE);
	assert_true(!taken.nframes && put_cnt == 2);
	s.args.task_names = true;
	assert_int_equal(task_of(0), ASYNC_GONE);
	assert_int_equal(put_cnt, 2);
	answer = -ESRCH;
	s.args.task_names = false;
	assert_int_equal(task_of(0), ASYNC_GONE);
	assert_int_equal(put_cnt, 2);
	capture_chains_source.free(&s);
}

/* Number of chains that are read of each of the first cnt processes in this period. */
static void read_all(uint32_t cnt, uint32_t read[PROCESSES])
{
	uint64_t end = (now / PERIOD_NS + 1) * PERIOD_NS;
	uint32_t i;

	memset(read, 0, PROCESSES * sizeof(*read));
	while (now < end) {
		for (i = 0; i < cnt; i++)
			read[i] += task_of(i) != ASYNC_TIME;
		now += 100000;
	}
}

static void test_a_share_of_the_time(void **state)
{
	uint32_t read[PROCESSES];

	begin();
	takes_ns = 50000;
	read_all(1, read);
	assert_int_equal(read[0], CHAINS_NS / takes_ns);
	assert_true(bss.chains_wait);
	assert_int_equal(task_of(0), ASYNC_WHOLE);	/* the next period */
	assert_false(bss.chains_wait);
	read_all(1, read);
	assert_int_equal(read[0], CHAINS_NS / takes_ns - 1);
	/* The reader waited for a CPU: that does not count, but for a task's usual time. */
	takes_ns = 200000;
	read_all(1, read);
	assert_int_equal(read[0], (CHAINS_NS + 2 * TASK_NS - 1) / (2 * TASK_NS));
	capture_chains_source.free(&s);
}

/* One process of a user, three of another one: half of the time each, once it is known. */
static void test_equal_parts(void **state)
{
	uint32_t read[PROCESSES], i, most = CHAINS_NS / 50000;

	begin();
	who[0].uid = 33;
	takes_ns = 50000;
	read_all(4, read);
	read_all(4, read);
	assert_int_equal(read[0], most / 2);
	for (i = 1; i < 4; i++)
		assert_in_range(read[i], most / 6, most / 6 + 1);
	/* Those that ask no more have no part of the next but one. */
	read_all(1, read);
	read_all(1, read);
	assert_int_equal(read[0], most);
	/* Many users: those that are not told apart share one part. */
	for (i = 0; i < USERS_MAX + 9; i++) {
		who[1].uid = 5000 + i;
		task_of(1);
	}
	assert_int_equal(s.chains->user_cnt, USERS_MAX);
	capture_chains_source.free(&s);
}

static void test_names(void **state)
{
	const struct async_others *o;
	uint32_t i;

	begin();
	assert_null(capture_chains_others(&s));
	chain.raw.end = ASYNC_SHAPE;
	for (i = 0; i < 3 * (ASYNC_OTHERS_MAX + 2); i++) {
		snprintf(chain.other, sizeof(chain.other), "wake_%u", i / 3);
		assert_int_equal(task_of(0), ASYNC_SHAPE);
	}
	o = capture_chains_others(&s);
	assert_int_equal(o->cnt, ASYNC_OTHERS_MAX);
	assert_string_equal(o->other[15].name, "wake_15");
	assert_int_equal(o->other[15].cnt, 3);
	assert_int_equal(o->rest, 6);
	capture_chains_source.free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_a_share_of_the_time),
		cmocka_unit_test(test_equal_parts),
		cmocka_unit_test(test_names), cmocka_unit_test(test_known),
		cmocka_unit_test(test_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
