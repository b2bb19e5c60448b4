// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_loss_table.c - what is read of the BPF side's tables of losses, and when.
 */
#include "capture/loss_table.h"
#include "tests/unit/tach_test.h"

#define CPUS 2
#define NOW (100 * LOSS_KEPT_NS)
#define RING (CNT_RING_FULL - CNT_LOSSES)
#define BUSY (CNT_BUSY - CNT_LOSSES)

static struct loss_table tables[CPUS];
static struct loss_reader *reader;

/* What fn() was told. */
static struct loss_news sums;
static unsigned int calls;
static uint32_t unknown_tgid;

static int set_up(void **state)
{
	memset(tables, 0, sizeof(tables));
	memset(&sums, 0, sizeof(sums));
	calls = unknown_tgid = 0;
	reader = loss_reader_new(tables, CPUS);
	return reader ? 0 : -1;
}

static int tear_down(void **state)
{
	loss_reader_free(reader);
	return 0;
}

static bool take(void *ctx, const struct loss_news *news)
{
	int i;

	calls++;
	if (news->tgid == unknown_tgid)
		return false;
	sums.tgid = news->tgid;
	sums.tid = news->tid;
	sums.start_ns = news->start_ns;
	for (i = 0; i < LOSS_KINDS; i++)
		sums.cnt[i] += news->cnt[i];
	return true;
}

static void read_all(uint64_t now_ns)
{
	calls = 0;
	loss_reader_read(reader, now_ns, take, NULL);
}

/* As the BPF side does, with an owner of this tid. */
static void lose(int cpu, int at, uint32_t tid, int kind, uint32_t cnt)
{
	struct loss_slot *slot = &tables[cpu].slots[at];

	if (slot->tid != tid) {
		memset(slot, 0, sizeof(*slot));
		slot->tgid = 7;
		slot->tid = tid;
		slot->start_ns = 77;
	}
	slot->cnt[kind] += cnt;
	slot->last_ns = NOW;
	tables[cpu].seq++;
}

/* Only what is new comes, from each CPU; nothing is read while nothing is lost. */
static void test_news(void **state)
{
	read_all(NOW);
	assert_int_equal(calls, 0);
	lose(0, 3, 9, RING, 5);
	lose(1, 2 * LOSS_SLOTS - 1, 9, BUSY, 1);
	read_all(NOW);
	assert_int_equal(calls, 2);
	assert_int_equal(sums.tgid, 7);
	assert_int_equal(sums.tid, 9);
	assert_int_equal(sums.start_ns, 77);
	assert_int_equal(sums.cnt[RING], 5);
	assert_int_equal(sums.cnt[BUSY], 1);
	tables[0].slots[3].cnt[RING] += 1000;	/* seq did not change */
	read_all(NOW);
	assert_int_equal(calls, 0);
	lose(0, 3, 9, RING, 1);
	read_all(NOW);
	assert_int_equal(calls, 1);
	assert_int_equal(sums.cnt[RING], 1006);
}

/* A slot of another thread begins at 0. */
static void test_another_thread(void **state)
{
	lose(0, 3, 9, RING, 5);
	read_all(NOW);
	lose(0, 3, 10, RING, 7);
	read_all(NOW);
	assert_int_equal(sums.tid, 10);
	assert_int_equal(sums.cnt[RING], 12);
}

/* Losses of a process that is not known yet come again, for some time. */
static void test_not_known_yet(void **state)
{
	unknown_tgid = 7;
	lose(0, 3, 9, RING, 5);
	read_all(NOW);
	read_all(NOW + 1);
	assert_int_equal(calls, 1);
	lose(0, 3, 9, RING, 1);
	unknown_tgid = 0;
	read_all(NOW + 2);
	assert_int_equal(sums.cnt[RING], 6);
	unknown_tgid = 7;
	lose(0, 3, 9, RING, 1);
	read_all(NOW + LOSS_KEPT_NS + 1);
	assert_int_equal(calls, 1);
	read_all(NOW + LOSS_KEPT_NS + 1);
	assert_int_equal(calls, 0);
}

/* Counts are cleared before a slot has its new owner: at that moment it is not read. */
static void test_changing(void **state)
{
	lose(0, 3, 9, RING, 5);
	read_all(NOW);
	tables[0].slots[3].cnt[RING] = 0;
	tables[0].seq++;
	read_all(NOW);
	assert_int_equal(calls, 0);
	lose(0, 3, 10, RING, 2);
	read_all(NOW);
	assert_int_equal(sums.tid, 10);
	assert_int_equal(sums.cnt[RING], 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_news),
		TEST(test_another_thread),
		TEST(test_not_known_yet),
		TEST(test_changing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
