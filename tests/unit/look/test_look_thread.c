// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_look_thread.c - what a look says of a thread, from its event and from the kernel's text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "look/look_thread.c"

static void test_syscall_text(void **state)
{
	struct look_syscall call;

	assert_int_equal(look_parse_syscall("0 0x3 0x7f 0x1 0x5 0x0 0x0 0x7f 0x7f\n", &call), 0);
	assert_int_equal(call.nr, 0);
	assert_int_equal(call.args[0], 3);
	assert_int_equal(call.args[3], 5);
	assert_int_equal(look_parse_syscall("-1 0x7fff 0x7f\n", &call), 0);
	assert_int_equal(call.nr, -1);
	assert_int_equal(call.args[0], 0);
	assert_int_equal(look_parse_syscall("running\n", &call), -EAGAIN);
	assert_int_equal(look_parse_syscall("", &call), -EBADMSG);
	assert_int_equal(look_parse_syscall("7", &call), -EBADMSG);
	assert_int_equal(look_parse_syscall("7 0x1 0x2", &call), -EBADMSG);
	assert_int_equal(look_parse_syscall("read 0x1", &call), -EBADMSG);
	assert_int_equal(look_parse_syscall("70000 0x1 0x1 0x1 0x1", &call), -EBADMSG);
	assert_int_equal(look_parse_syscall("-2 0x1", &call), -EBADMSG);
}

static void test_futex_of_a_call(void **state)
{
	struct look_syscall call = { SYS_futex,
				     { 0x1000, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG } };
	bool timed;

	assert_int_equal(look_futex_of(&call, &timed), 0x1000);
	assert_false(timed);
	call.args[1] = FUTEX_WAIT | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
	call.args[3] = 0x2000;
	assert_int_equal(look_futex_of(&call, &timed), 0x1000);
	assert_true(timed);
	call.args[1] = FUTEX_WAKE;
	assert_int_equal(look_futex_of(&call, &timed), 0);
	call = (struct look_syscall){ SYS_read, { 0x1000 } };
	assert_int_equal(look_futex_of(&call, &timed), 0);
}

/* A stack of one Python function, with a frame of this name on top. */
static struct look_thread taken(const char *top, uint8_t kind, uint8_t status)
{
	static uint32_t ids[] = { 0, 1 };
	struct string_ref strings[] = { string_of(top), string_of("work"), string_of("~") };
	struct frame frames[] = { { .file = 2, .func = 0, .kind = kind },
				  { .file = 2, .func = 1, .kind = FRAME_PYTHON } };
	struct profile_tables tables = { .frames = frames, .strings = strings, .frame_cnt = 2,
					 .string_cnt = 3 };
	struct event ev = { .thread_id = 7, .nframes = 2, .frames = ids, .status = status };
	struct look_thread t;

	look_thread_take(&t, &ev, &tables);
	return t;
}

static void assert_wait(const char *top, enum look_state state, const char *call)
{
	struct look_thread t = taken(top, FRAME_SYNTHETIC, 0);

	assert_int_equal(t.state, state);
	assert_string_equal(t.call, call);
	assert_int_equal(t.nframes, 1);
	assert_int_equal(*t.frames, 1);
	assert_int_equal(t.fd, -1);
}

static void test_frames_of_waits(void **state)
{
	assert_wait("<waiting for the GIL>", LOOK_GIL, "");
	assert_wait("<waiting for a CPU>", LOOK_RUNNABLE, "");
	assert_wait("<blocked in futex>", LOOK_LOCK, "futex");
	assert_wait("<blocked in clock_nanosleep>", LOOK_SLEEP, "clock_nanosleep");
	assert_wait("<blocked in read>", LOOK_IO, "read");
	assert_wait("<blocked in system call 999>", LOOK_OTHER, "system call 999");
	assert_wait("<blocked in page fault>", LOOK_IO, "page fault");
	assert_wait("<blocked in the kernel>", LOOK_KERNEL, "");
}

static void test_frames_of_held_threads(void **state)
{
	static const char *const held[] = {
		"<stopped by SIGSTOP>", "<traced by 4711 (a)b)>", "<traced>",
		"<frozen in cgroup />>",
	};
	char inner[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(held); i++) {
		assert_wait(held[i], LOOK_HELD, "");
		snprintf(inner, sizeof(inner), "%.*s", (int)strlen(held[i]) - 2, held[i] + 1);
		assert_string_equal(taken(held[i], FRAME_SYNTHETIC, 0).held, inner);
	}
	assert_string_equal(taken("<frozenX>", FRAME_SYNTHETIC, 0).held, "");
}

/* A function that calls itself so is none of the kernel's. */
static void test_other_frames_stay(void **state)
{
	struct look_thread t = taken("<GC>", FRAME_SYNTHETIC, STATUS_ON_CPU);

	assert_int_equal(t.state, LOOK_RUNNING);
	assert_int_equal(t.nframes, 2);
	t = taken("<blocked in read>", FRAME_PYTHON, STATUS_ON_CPU);
	assert_int_equal(t.state, LOOK_RUNNING);
	assert_int_equal(t.nframes, 2);
	assert_string_equal(t.call, "");
}

static void test_long_names_are_cut(void **state)
{
	char name[200] = "<blocked in ";
	struct look_thread t;

	memset(name + strlen(name), 'x', 150);
	strcpy(name + 160, ">");
	t = taken(name, FRAME_SYNTHETIC, 0);
	assert_int_equal(strlen(t.call), LOOK_CALL_BYTES - 1);
}

static void test_what_advances(void **state)
{
	static const uint32_t here[] = { 1, 2 }, there[] = { 1, 3 };
	struct look_thread a = { .state = LOOK_GIL, .nframes = 2, .frames = here }, b = a;

	assert_false(look_thread_advances(&a, &b));
	b.frames = there;
	assert_true(look_thread_advances(&a, &b));
	b.frames = here;
	b.nframes = 1;
	assert_true(look_thread_advances(&a, &b));
	b = a;
	b.state = LOOK_RUNNING;
	assert_true(look_thread_advances(&a, &b));
	a.state = b.state = LOOK_SLEEP;		/* two waits, or there were one event */
	assert_true(look_thread_advances(&a, &b));
}

static void test_kernel_stack(void **state)
{
	char out[LOOK_KERNEL_BYTES], text[4096] = "";
	int i;

	look_parse_stack("[<0>] do_wait.part.0+0x5b/0xe0\n[<0>] x64_sys_call+0x1/0x2 [mod]\n", out);
	assert_string_equal(out, "do_wait.part.0\nx64_sys_call\n");
	look_parse_stack("", out);
	assert_string_equal(out, "");
	look_parse_stack("nothing\n[<0>]\n[<0>] \n[<0>] +0x1\n[<0>] \x1b[31m+0x1\n[<0>] last", out);
	assert_string_equal(out, "last\n");
	for (i = 0; i < 100; i++)
		strcat(text, "[<0>] a_function_of_the_kernel+0x1/0x2\n");
	look_parse_stack(text, out);
	assert_int_equal(strlen(out), (LOOK_KERNEL_BYTES - 1) / 25 * 25);
	assert_int_equal(out[strlen(out) - 1], '\n');
}

/* ---- a thread of ours that waits ---- */

struct waiter {
	pid_t tid;
	int pipe[2];
	bool selects;
	pthread_barrier_t begun;
};

static void *wait_for_byte(void *ctx)
{
	struct timeval tv = { .tv_sec = 30 };
	struct waiter *w = ctx;
	char byte;

	w->tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&w->begun);
	if (w->selects)
		while (syscall(SYS_pselect6, 0, NULL, NULL, NULL,
			       &(struct timespec){ .tv_sec = tv.tv_sec }, NULL) < 0)
			;
	else if (read(w->pipe[0], &byte, 1) < 0)
		w->tid = 0;
	return NULL;
}

/* Look until the thread waits in the call; it was begun, so it will. */
static struct look_thread look_until(pid_t tid, const char *call, enum look_state first)
{
	struct look_thread t;

	do {
		t = (struct look_thread){ .tid = tid, .state = first, .fd = -1 };
		snprintf(t.call, sizeof(t.call), "%s", call);
		usleep(1000);
		look_thread_detail(&t, getpid());
	} while (t.moved);
	return t;
}

static void test_descriptor_of_a_read(void **state)
{
	struct waiter w = { 0 };
	struct look_thread t;
	pthread_t thread;

	if (access("/proc/self/syscall", R_OK)) {
		print_message("SKIP: this kernel has no /proc/PID/syscall\n");
		skip();
	}
	assert_int_equal(pipe(w.pipe), 0);
	pthread_barrier_init(&w.begun, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, &w), 0);
	pthread_barrier_wait(&w.begun);
	t = look_until(w.tid, "read", LOOK_IO);
	assert_int_equal(t.fd, w.pipe[0]);
	assert_memory_equal(t.file, "pipe:[", 6);
	assert_int_equal(t.state, LOOK_IO);
	t = (struct look_thread){ .tid = w.tid, .state = LOOK_IO, .call = "recvfrom", .fd = -1 };
	look_thread_detail(&t, getpid());
	assert_true(t.moved);
	assert_int_equal(t.fd, -1);
	assert_int_equal(write(w.pipe[1], "x", 1), 1);
	pthread_join(thread, NULL);
	close(w.pipe[0]);
	close(w.pipe[1]);
}

/* From what a scan has seen of a thread. A descriptor's file is in /proc. */
static void test_what_a_scan_settles(void **state)
{
	struct look_thread t = { .state = LOOK_LOCK, .call = "futex", .fd = -1 };
	struct look_syscall call = { SYS_futex, { 0x1000, FUTEX_WAIT, 0, 0x2000 } };

	assert_true(look_thread_settle(&t, &call));
	assert_true(t.futex_scanned);
	assert_int_equal(t.futex, 0x1000);
	assert_true(t.futex_timed);
	t = (struct look_thread){ .state = LOOK_IO, .call = "pselect6", .fd = -1 };
	call = (struct look_syscall){ SYS_pselect6, { 0 } };
	assert_true(look_thread_settle(&t, &call));
	assert_int_equal(t.state, LOOK_SLEEP);
	t = (struct look_thread){ .state = LOOK_IO, .call = "pselect6", .fd = -1 };
	call.args[0] = 4;
	assert_true(look_thread_settle(&t, &call));
	assert_int_equal(t.state, LOOK_IO);
	t = (struct look_thread){ .state = LOOK_IO, .call = "read", .fd = -1 };
	call = (struct look_syscall){ SYS_read, { 3 } };
	assert_false(look_thread_settle(&t, &call));
}

/* Of a thread in another call than its stack says, or in none that is known, /proc is read. */
static void test_what_a_scan_does_not_settle(void **state)
{
	static const char *const no_call[] = { "", "page fault" };
	struct look_thread t = { .state = LOOK_LOCK, .call = "futex" };
	struct look_syscall call = { .nr = -1 };
	size_t i;

	assert_false(look_thread_settle(&t, &call));
	call = (struct look_syscall){ SYS_read, { 3 } };
	assert_false(look_thread_settle(&t, &call));
	assert_false(t.futex_scanned);
	assert_int_equal(t.futex, 0);
	for (i = 0; i < ARRAY_SIZE(no_call); i++) {	/* but there nothing is to be read */
		snprintf(t.call, sizeof(t.call), "%s", no_call[i]);
		assert_true(look_thread_settle(&t, &call));
		assert_false(t.futex_scanned);
	}
}

static void test_a_select_of_nothing_is_a_sleep(void **state)
{
	struct waiter w = { .selects = true };
	struct look_thread t;
	pthread_t thread;

	if (access("/proc/self/syscall", R_OK)) {
		print_message("SKIP: this kernel has no /proc/PID/syscall\n");
		skip();
	}
	pthread_barrier_init(&w.begun, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, &w), 0);
	pthread_barrier_wait(&w.begun);
	t = look_until(w.tid, "pselect6", LOOK_IO);
	assert_int_equal(t.state, LOOK_SLEEP);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void test_every_state_has_a_name(void **state)
{
	int i;

	for (i = 0; i < LOOK_STATE_CNT; i++)
		assert_true(strlen(look_state_name(i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall_text),
		cmocka_unit_test(test_futex_of_a_call),
		cmocka_unit_test(test_frames_of_waits),
		cmocka_unit_test(test_frames_of_held_threads),
		cmocka_unit_test(test_other_frames_stay),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_what_advances),
		cmocka_unit_test(test_kernel_stack),
		cmocka_unit_test(test_descriptor_of_a_read),
		cmocka_unit_test(test_what_a_scan_settles),
		cmocka_unit_test(test_what_a_scan_does_not_settle),
		cmocka_unit_test(test_a_select_of_nothing_is_a_sleep),
		cmocka_unit_test(test_every_state_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
