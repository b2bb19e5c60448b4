// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_losses.c - whose losses are: the map losses holds what the counters hold, by thread.
 */
#include "world.h"

#include "bpf/losses.bpf.h"

#define TGID 1000u
#define TID 1001u
#define START 77

static struct world w;
static struct task_struct idle_task;

static struct loss_table *table(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&losses, &zero);
}

static u64 pid_tgid(u32 tgid, u32 tid)
{
	return (u64)tgid << 32 | tid;
}

static struct loss_slot *slot_of_thread(u32 tgid, u32 tid)
{
	struct loss_table *t = table();
	int i;

	for (i = 0; i < 2 * LOSS_SLOTS; i++)
		if (t->slots[i].last_ns && t->slots[i].tgid == tgid && t->slots[i].tid == tid)
			return &t->slots[i];
	return NULL;
}

static u32 noted(enum counter which)
{
	struct loss_slot *slot = slot_of_thread(host.task.tgid, host.task.pid);

	return slot ? slot->cnt[which - CNT_LOSSES] : 0;
}

/* All slots together. */
static u64 noted_in_all(enum counter which)
{
	struct loss_table *t = table();
	u64 sum = 0;
	int i;

	for (i = 0; i < 2 * LOSS_SLOTS; i++)
		sum += t->slots[i].cnt[which - CNT_LOSSES];
	return sum;
}

static void begin(int minor)
{
	world_init(&w, minor);
	world_recurse(&w, 5);
	host.now_ns += 2 * LOSS_KEPT_NS;
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.stack = NULL;
}

static void test_ticks(void **state)
{
	int minor, i;

	EACH_MINOR(minor) {
		begin(minor);
		host_tick();
		assert_int_equal(table()->seq, 0);	/* nothing is lost: nothing is written */
		host.ring_room = 0;
		for (i = 0; i < 3; i++)
			host_tick();
		assert_int_equal(host_counter(CNT_RING_FULL), 3);
		assert_int_equal(noted(CNT_RING_FULL), 3);
		assert_int_equal(slot_of_thread(host.task.tgid, host.task.pid)->start_ns, START);
		host_mem_unmap(W_TSTATE, 4096);
		host_tick();
		assert_int_equal(noted(CNT_TSTATE_UNREADABLE),
				 host_counter(CNT_TSTATE_UNREADABLE));
		assert_int_equal(table()->seq,
				 3 + host_counter(CNT_TSTATE_UNREADABLE));
		assert_int_equal(table()->busy, 0);
	}
}

/* A thread that leaves its CPU is the current one; one that comes is not. */
static void test_waits(void **state)
{
	begin(13);
	host.ring_room = 0;
	host.task.__state = 1;
	host_on_switch(false, &host.task, &idle_task);
	assert_int_equal(host_counter(CNT_WAIT_LOST), 1);
	assert_int_equal(noted(CNT_WAIT_LOST), 1);
	host_on_switch(false, &idle_task, &host.task);
	assert_int_equal(host_counter(CNT_SWITCH_IN_LOST), 1);
	assert_int_equal(noted(CNT_SWITCH_IN_LOST), 1);
}

/* Of a process that forks or ends the thread says nothing. */
static void test_lifecycle(void **state)
{
	begin(13);
	host.ring_room = 0;
	host.signal.live.counter = 0;
	host_on_exit(&host.task);
	assert_int_equal(host_counter(CNT_LIFECYCLE_LOST), 1);
	assert_non_null(slot_of_thread(host.task.tgid, 0));
	assert_int_equal(noted_in_all(CNT_LIFECYCLE_LOST), 1);
}

/* Threads that find no slot count for their process. */
static void test_more_threads_than_slots(void **state)
{
	u32 tid, cnt = 1000, own = 0;

	begin(13);
	for (tid = 1; tid <= cnt; tid++) {
		host.now_ns += 1000;
		note_loss(CNT_RING_FULL, pid_tgid(TGID, tid), START);
	}
	for (tid = 1; tid <= cnt; tid++)
		own += slot_of_thread(TGID, tid) != NULL;
	assert_true(own > LOSS_SLOTS / 2 && own <= LOSS_SLOTS);
	assert_non_null(slot_of_thread(TGID, 0));
	assert_int_equal(slot_of_thread(TGID, 0)->cnt[CNT_RING_FULL - CNT_LOSSES], cnt - own);
	assert_int_equal(noted_in_all(CNT_RING_FULL), cnt);
	assert_int_equal(table()->seq, cnt);
}

/* A slot that was quiet for long is another's. */
static void test_slots_are_reused(void **state)
{
	struct loss_slot *slot;
	u32 tgid;

	begin(13);
	for (tgid = 1; tgid <= 100000; tgid++)
		note_loss(CNT_RING_FULL, pid_tgid(tgid, tgid), START);
	assert_null(slot_of_thread(TGID + 200000, TID));
	assert_true(noted_in_all(CNT_RING_FULL) < 100000);	/* the counters have them all */
	note_loss(CNT_BUSY, pid_tgid(TGID + 200000, TID), START);
	assert_null(slot_of_thread(TGID + 200000, TID));
	host.now_ns += LOSS_KEPT_NS + 1;
	note_loss(CNT_BUSY, pid_tgid(TGID + 200000, TID), START);
	slot = slot_of_thread(TGID + 200000, TID);
	assert_non_null(slot);
	assert_int_equal(slot->cnt[CNT_BUSY - CNT_LOSSES], 1);
	assert_int_equal(slot->cnt[CNT_RING_FULL - CNT_LOSSES], 0);
	/* A process with that pid and another start is another. */
	note_loss(CNT_BUSY, pid_tgid(TGID + 200000, TID), START + 1);
	assert_int_equal(slot->cnt[CNT_BUSY - CNT_LOSSES], 1);
}

/* What interrupts a program that writes its table leaves the table alone. */
static void test_interrupted(void **state)
{
	begin(13);
	table()->busy = 1;
	host.ring_room = 0;
	host_tick();
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
	assert_int_equal(table()->seq, 0);
	assert_int_equal(noted_in_all(CNT_RING_FULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_lifecycle),
		cmocka_unit_test(test_more_threads_than_slots),
		cmocka_unit_test(test_slots_are_reused),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
