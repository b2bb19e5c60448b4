// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_page_check.c - the worker that asks which pages are still there, about this process and its
 * children. What only root sees (frames, the page of zeros, huge pages) is left out for others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "memory/page_check.h"

#define WAIT_MS 20000
#define TICK_NS 10000000ull
#define HUGE (2u << 20)

static struct page_check *check;
static struct page_answer last;
static struct page_state states[PAGE_CHECK_MAX];
static struct page_content contents[PAGE_LOOK_MAX];
static unsigned int answers;
static size_t page;

static void keep(void *ctx, const struct page_answer *a)
{
	last = *a;
	assert_in_range(a->cnt, 0, PAGE_CHECK_MAX);
	assert_true(!a->states != !a->contents);
	if (a->cnt && a->states)
		memcpy(states, a->states, a->cnt * sizeof(*states));
	else if (a->cnt)
		memcpy(contents, a->contents, a->cnt * sizeof(*contents));
	answers++;
}

static int set_up(void **state)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	check = page_check_new(keep, NULL);
	answers = 0;
	return check ? 0 : -1;
}

static int tear_down(void **state)
{
	page_check_free(check);
	return 0;
}

static uint64_t start_of(pid_t tgid)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(tgid, &st), 0);
	return st.start_ticks * TICK_NS + 7;	/* ns are more precise than ticks */
}

static void ask_about(pid_t tgid, uint64_t start_ns, const uint64_t *addrs, size_t cnt)
{
	unsigned int before = answers;

	assert_int_equal(page_check_ask(check, tgid, start_ns, 5, PAGES_THERE, addrs, cnt), 0);
	assert_int_equal(page_check_open(check), 1);
	page_check_settle(check, WAIT_MS);
	assert_int_equal(answers, before + 1);
	assert_int_equal(page_check_open(check), 0);
	assert_int_equal(last.tgid, tgid);
	assert_int_equal(last.tag, 5);
}

static void ask(const uint64_t *addrs, size_t cnt)
{
	ask_about(getpid(), start_of(getpid()), addrs, cnt);
	assert_int_equal(last.err, 0);
	assert_int_equal(last.cnt, cnt);
}

static uint8_t *map(size_t bytes, int prot, int flags, int fd)
{
	uint8_t *at = mmap(NULL, bytes, prot, flags, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static uint8_t *map_private(size_t pages)
{
	uint8_t *at = map(pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(at, pages * page, MADV_NOHUGEPAGE);
	return at;
}

static bool is_root(void)
{
	return !geteuid();
}

static void test_touched_untouched_and_unmapped(void **state)
{
	uint8_t *at = map_private(4);
	uint64_t addrs[4], frame;
	size_t i;

	at[0] = at[2 * page] = 1;
	for (i = 0; i < 4; i++)
		addrs[i] = (uintptr_t)at + i * page + (i == 2 ? 17 : 0);
	ask(addrs, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(states[i].addr, addrs[i]);
		assert_int_equal(states[i].kind, i % 2 ? PAGE_GONE : PAGE_ANON);
		assert_int_equal(states[i].huge_before + states[i].huge_after, 0);
	}
	assert_int_equal(last.frames_known, states[0].frame != 0);
	assert_true(last.frames_known || !is_root());
	frame = states[0].frame;
	munmap(at + 2 * page, page);
	ask(addrs, 4);
	assert_int_equal(states[2].kind, PAGE_GONE);
	assert_int_equal(states[0].frame, frame);
	munmap(at, 4 * page);
}

static void test_a_file_and_shared_memory(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	uint8_t *file = map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	uint8_t *shared = map(page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	volatile uint8_t read = file[0];
	uint64_t addr = (uintptr_t)file;

	(void)read;
	shared[0] = 1;
	ask(&addr, 1);
	assert_int_equal(states[0].kind, PAGE_OTHER);
	file[0] = 1;	/* copied: it is the process' own from now on */
	ask(&addr, 1);
	assert_int_equal(states[0].kind, PAGE_ANON);
	addr = (uintptr_t)shared;
	ask(&addr, 1);
	assert_int_equal(states[0].kind, PAGE_OTHER);
	munmap(file, page);
	munmap(shared, page);
	close(fd);
}

static void test_the_page_of_zeros(void **state)
{
	uint8_t *at = map_private(1);
	volatile uint8_t read = at[0];
	uint64_t addr = (uintptr_t)at;

	(void)read;
	if (!is_root())
		skip();
	ask(&addr, 1);
	assert_int_equal(states[0].kind, PAGE_ZERO);
	at[0] = 1;
	ask(&addr, 1);
	assert_int_equal(states[0].kind, PAGE_ANON);
	munmap(at, page);
}

/* Huge pages at `at`: at least the first one must be one, or the kernel gives none now. */
static uint8_t *map_huge(size_t cnt)
{
	uint8_t *at = map((cnt + 1) * HUGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint8_t *from = (uint8_t *)(((uintptr_t)at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));

	if (madvise(from, cnt * HUGE, MADV_HUGEPAGE))
		return NULL;
	return from;
}

static void test_huge_pages_and_their_neighbours(void **state)
{
	uint8_t *at = map_huge(5);
	uint64_t addrs[3];
	size_t i;

	if (!at || !is_root() || page != 4096)
		skip();
	for (i = 0; i < 4; i++)		/* the fifth is not touched */
		at[i * HUGE] = 1;
	addrs[0] = (uintptr_t)at + page;
	addrs[1] = (uintptr_t)at + 2 * HUGE + 5 * page;
	addrs[2] = (uintptr_t)at + 4 * HUGE;
	ask(addrs, 3);
	if (states[0].kind != PAGE_HUGE)
		skip();		/* no memory that is large enough, or they are off */
	assert_int_equal(states[0].huge_bytes, HUGE);
	assert_int_equal(states[2].kind, PAGE_GONE);
	if (states[1].kind == PAGE_HUGE) {
		assert_int_equal(states[1].huge_before + states[1].huge_after,
				 states[0].huge_before + states[0].huge_after);
		assert_int_equal(states[1].huge_before, states[0].huge_before + 2);
	}
	assert_int_equal(states[1].huge_after, 1);
	/* Its first base page is given back: the others stay. It is a run's end. */
	madvise(at + 2 * HUGE, page, MADV_DONTNEED);
	ask(addrs, 3);
	assert_true(states[1].kind == PAGE_ANON || states[1].kind == PAGE_HUGE);
	assert_int_equal(states[0].huge_after, 1);
	addrs[1] = (uintptr_t)at + 2 * HUGE;
	ask(addrs, 3);
	assert_int_equal(states[1].kind, PAGE_GONE);
	munmap(at, 5 * HUGE);
}

static void test_amounts(void **state)
{
	uint8_t *at;
	uint64_t before;

	ask(NULL, 0);
	before = last.rss_anon;
	assert_true(before > 0);
	assert_true(last.read_ns > last.asked_ns && last.read_ns < now_ns());
	at = map_private(4096);
	memset(at, 1, 4096 * page);
	ask(NULL, 0);
	/* The kernel may be late by some pages of each thread. */
	assert_true(last.rss_anon > before + 4000 * page);
	assert_true(last.rss_anon < before + 4300 * page);
	munmap(at, 4096 * page);
}

static void test_all_pages_of_a_question(void **state)
{
	static uint64_t addrs[PAGE_CHECK_MAX];
	uint8_t *at = map_private(PAGE_CHECK_MAX * 16);
	size_t i;

	for (i = 0; i < PAGE_CHECK_MAX; i++) {
		addrs[i] = (uintptr_t)at + i * 16 * page;
		if (i % 3)
			at[i * 16 * page] = 1;
	}
	ask(addrs, PAGE_CHECK_MAX);
	for (i = 0; i < PAGE_CHECK_MAX; i++)
		assert_int_equal(states[i].kind, i % 3 ? PAGE_ANON : PAGE_GONE);
	munmap(at, PAGE_CHECK_MAX * 16 * page);
}

static void test_addresses_of_nobody(void **state)
{
	const uint64_t addrs[] = { 0, 4096, 1ull << 47, 1ull << 62, UINT64_MAX & ~4095ull };
	size_t i;

	ask(addrs, ARRAY_SIZE(addrs));
	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		assert_int_equal(states[i].kind, PAGE_GONE);
}

static void test_another_process(void **state)
{
	uint64_t start = start_of(getpid());
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	ask_about(getpid(), start + 5 * TICK_NS, NULL, 0);
	assert_int_equal(last.err, -ESRCH);	/* the pid is used again */
	start = start_of(child);
	ask_about(child, start, NULL, 0);
	assert_int_equal(last.err, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ask_about(child, start, NULL, 0);
	assert_int_equal(last.err, -ESRCH);
}

static void test_bounds(void **state)
{
	static uint64_t addrs[PAGE_CHECK_MAX + 1];
	uint64_t start = start_of(getpid());
	unsigned int i;

	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, addrs,
					PAGE_CHECK_MAX + 1), -EINVAL);
	for (i = 0; i < PAGE_CHECK_OPEN_MAX; i++)
		assert_int_equal(page_check_ask(check, getpid(), start, i, PAGES_THERE, addrs, 1),
				 0);
	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, addrs, 1), -EAGAIN);
	page_check_settle(check, WAIT_MS);
	assert_int_equal(answers, PAGE_CHECK_OPEN_MAX);
	assert_int_equal(last.tag, PAGE_CHECK_OPEN_MAX - 1);
}

struct children {
	pid_t pid;		/* one of them */
	int cnt;
};

static int add_child(void *ctx, pid_t pid)
{
	struct children *c = ctx;
	struct proc_stat st;

	if (proc_stat(pid, &st) || st.ppid != getpid() || st.ended)
		return 0;
	*c = (struct children){ pid, c->cnt + 1 };
	return 0;
}

/* The worker is a child of ours: there is no keeper. The last test's may still be ending. */
static pid_t find_worker(void)
{
	struct children c;

	do {
		c = (struct children){ 0 };
		proc_each(add_child, &c);
	} while (c.cnt > 1 && !usleep(1000));
	assert_int_equal(c.cnt, 1);
	return c.pid;
}

static void test_the_worker_is_killed(void **state)
{
	uint64_t start = start_of(getpid());
	pid_t pid;
	int err;

	ask(NULL, 0);
	pid = find_worker();
	kill(pid, SIGSTOP);
	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, NULL, 0), 0);
	kill(pid, SIGKILL);
	page_check_settle(check, WAIT_MS);
	assert_int_equal(page_check_open(check), 0);
	assert_int_equal(answers, 1);
	/* It is started again after a second. */
	while ((err = page_check_ask(check, getpid(), start, 5, PAGES_THERE, NULL, 0)) == -EAGAIN)
		usleep(10000);
	assert_int_equal(err, 0);
	page_check_settle(check, WAIT_MS);
	assert_int_equal(answers, 2);
}

/* Pages may have been moved before the worker looked, and we do not know it yet. */
static void test_an_answer_waits_for_what_was_before_it(void **state)
{
	uint64_t start = start_of(getpid()), before = now_ns();
	int i;

	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, NULL, 0), 0);
	for (i = 0; i < 50; i++) {
		usleep(10000);
		page_check_poll(check, before);
	}
	assert_int_equal(answers, 0);
	assert_int_equal(page_check_open(check), 1);
	page_check_poll(check, now_ns());
	assert_int_equal(answers, 1);
	assert_int_equal(page_check_open(check), 0);
}

static void test_a_worker_that_hangs_is_given_up(void **state)
{
	uint64_t start = start_of(getpid());

	ask(NULL, 0);
	kill(find_worker(), SIGSTOP);	/* as one that waits for a map that nobody gives back */
	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, NULL, 0), 0);
	while (page_check_open(check)) {
		usleep(10000);
		page_check_poll(check, UINT64_MAX);
	}
	assert_int_equal(answers, 1);
	/* The process is not asked about for a while; another one is. */
	assert_int_equal(page_check_ask(check, getpid(), start, 0, PAGES_THERE, NULL, 0),
			 -ETIMEDOUT);
	ask_about(getppid(), 0, NULL, 0);
}

/* The page is a pool of pymalloc, with 15 blocks of 256 bytes in use; the next one is nobody's. */
static void test_what_is_in_pages(void **state)
{
	const uint32_t head[] = { 15, 0, 0, 0, 0, 0, 0, 0, 0, 15, 48 + 15 * 256, 4096 - 256 };
	uint8_t *at = map_private(3);
	const uint64_t addrs[] = { (uintptr_t)at, (uintptr_t)at + page, (uintptr_t)at + 2 * page };
	unsigned int before = answers, i;

	if (page != 4096 || !is_root())
		skip();
	memcpy(at, head, sizeof(head));
	for (i = 0; i < 15; i++)
		at[48 + i * 256] = 1;
	at[page] = 1;
	assert_int_equal(page_check_ask(check, getpid(), start_of(getpid()), 5, PAGES_CONTENTS,
					addrs, 3), 0);
	page_check_settle(check, WAIT_MS);
	assert_int_equal(answers, before + 1);
	assert_int_equal(last.err, 0);
	assert_int_equal(last.cnt, 3);
	assert_true(last.read_ns >= last.asked_ns);
	for (i = 0; i < 3; i++) {
		assert_int_equal(contents[i].addr, addrs[i]);
		assert_int_equal(page_content_given(&contents[i]), i ? 0 : 15);
	}
	assert_int_equal(page_check_ask(check, getpid(), 0, 0, PAGES_CONTENTS, addrs,
					PAGE_LOOK_MAX + 1), -EINVAL);
	/* It was not read, so it is still not there. */
	ask(addrs, 3);
	assert_int_equal(states[2].kind, PAGE_GONE);
	munmap(at, 3 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_touched_untouched_and_unmapped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_and_shared_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_page_of_zeros, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_huge_pages_and_their_neighbours, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_in_pages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_amounts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_pages_of_a_question, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_addresses_of_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_waits_for_what_was_before_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_worker_is_killed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_worker_that_hangs_is_given_up, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
