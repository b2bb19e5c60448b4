// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_ctx_live.c - process contexts of real processes that publish, change and forge them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "host/proc.h"
#include "memory/reader.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"
#include "telemetry/process_ctx.h"
#include "telemetry/process_ctx_watch.h"
#include "tests/unit/telemetry/process_ctx_test.h"

static struct process_ctx ctx;

/* What both see: how often the child has published; when it shall stop. */
struct shared {
	_Atomic uint32_t rounds, stop, stopped;
};

typedef void (*child_fn)(struct shared *s, enum mapping_kind kind);

static struct shared *shared_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* A process that runs fn, once that says it is ready. 0: it is not possible. */
static pid_t start(child_fn fn, struct shared *s, enum mapping_kind kind)
{
	int ready[2], status;
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], 100);
		close(ready[1]);
		fn(s, kind);
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		waitpid(pid, &status, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void is_ready(void)
{
	if (write(100, "r", 1) != 1)
		_exit(1);
	close(100);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void publish_once(struct shared *s, enum mapping_kind kind)
{
	static struct message m;
	static uint8_t payload[70000];
	struct published *p = map_context(kind);

	if (!p)
		_exit(0);
	make_context(&m, kind == ANON ? "anon" : kind == MEMFD ? "memfd" : "shared", 3);
	publish(p, payload, &m);
	is_ready();
	for (;;)
		pause();
}

static int find_mappings(pid_t pid, struct otel_mappings *found)
{
	int err, i;

	/* A busy machine may leave no time for it. */
	for (i = 0; i < 1000; i++) {
		err = reader_otel_mappings(pid, false, found);
		if (err != -EBUSY)
			break;
		usleep(10000);
	}
	return err;
}

static int read_patiently(pid_t pid, const struct otel_mappings *found, uint64_t known_ns)
{
	const struct target_mem mem = { remote_mem_read, (void *)(intptr_t)pid };
	int err, i;

	for (i = 0; i < 1000; i++) {
		err = process_ctx_read_any(&mem, found, known_ns, &ctx);
		if (err != -EBUSY)
			break;
		usleep(10000);
	}
	return err;
}

/* Each kind of mapping, found and read by the reader worker. */
static void test_processes(void **state)
{
	static const char *const names[] = { "anon", "shared", "memfd" };
	struct otel_mappings found;
	enum mapping_kind kind;
	unsigned int cnt = 0;

	for (kind = ANON; kind <= MEMFD; kind++) {
		pid_t pid = start(publish_once, NULL, kind);

		if (!pid) {
			print_message("no mapping named %s on this kernel\n", names[kind]);
			continue;
		}
		assert_int_equal(find_mappings(pid, &found), 0);
		assert_int_equal(found.cnt, 1);
		assert_int_equal(read_patiently(pid, &found, 0), 0);
		assert_string_equal(attrs_text(&ctx.resource, "service.name"), names[kind]);
		assert_int_equal(read_patiently(pid, &found, ctx.published_ns), -EALREADY);
		end(pid);
		assert_int_equal(find_mappings(pid, &found), -ESRCH);
		cnt++;
	}
	assert_true(cnt);
	assert_int_equal(find_mappings(getpid(), &found), 0);
	assert_int_equal(found.cnt, 0);
	reader_end();
}

/* The inspector sees it in the list that it reads anyway, whether the process is Python or not. */
static void test_seen_by_the_inspector(void **state)
{
	pid_t pid = start(publish_once, NULL, MEMFD);
	const struct inspected *in = NULL;
	struct proc_info who;
	int err = -EBUSY, i;

	assert_true(pid > 0);
	assert_int_equal(proc_info_read(pid, &who), 0);
	for (i = 0; (err == -EBUSY || err == -ETIMEDOUT) && i < 1000; i++) {
		err = inspector_inspect(&who, 0, &in);
		if (err == -EBUSY || err == -ETIMEDOUT)
			usleep(10000);
	}
	assert_int_equal(err, -ENOENT);
	assert_int_equal(in->otel.cnt, 1);
	assert_int_equal(read_patiently(pid, &in->otel, 0), 0);
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "memfd");
	end(pid);
	inspector_end();
	reader_end();
}

/* Publish when it shall stop to wait. */
static void publish_late(struct shared *s, enum mapping_kind kind)
{
	static struct message m;
	static uint8_t payload[70000];
	struct published *p;

	is_ready();
	while (!s->stop)
		usleep(1000);
	p = map_context(kind);
	make_context(&m, "late", 0);
	if (p)
		publish(p, payload, &m);
	s->stopped = 1;
	for (;;)
		pause();
}

/* -EBUSY: a busy machine. */
static int look(struct process_ctx_watch *w, pid_t pid, unsigned int s)
{
	struct process_ctx_watch before = *w;
	int err, i;

	for (i = 0; i < 1000; i++) {
		*w = before;
		err = process_ctx_look(w, pid, s * 1000000000ull, false, &ctx);
		if (err != -EBUSY)
			break;
		usleep(10000);
	}
	return err;
}

/* In an hour, a process without one is looked at so often; when it has one, that is found. */
static void test_watch(void **state)
{
	struct shared *s = shared_memory();
	pid_t pid = start(publish_late, s, MEMFD);
	struct process_ctx_watch w = { .wait_s = 0 };
	unsigned int looks = 0, t, i;

	assert_true(pid > 0);
	for (t = 0; t < 3600; t++) {
		if (!process_ctx_due(&w, t * 1000000000ull))
			continue;
		assert_int_equal(look(&w, pid, t), -ENOENT);
		looks++;
	}
	assert_int_equal(looks, 13);	/* 0, 1, 3, 7 ... 1023, 2047, 3071 */
	s->stop = 1;
	while (!s->stopped)
		sched_yield();
	assert_int_equal(look(&w, pid, t), 0);
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "late");
	for (i = 1; i < 3; i++) {
		t += PROCESS_CTX_KNOWN_S;
		assert_false(process_ctx_due(&w, (t - 1) * 1000000000ull));
		assert_true(process_ctx_due(&w, t * 1000000000ull));
		assert_int_equal(look(&w, pid, t), -EALREADY);
	}
	/* Without one again: searched for from the beginning. */
	w.mappings.at[0] = 0x1000;
	assert_int_equal(look(&w, pid, t), -EFAULT);
	assert_int_equal(w.mappings.cnt, 0);
	assert_int_equal(look(&w, pid, t), -EALREADY);
	end(pid);
	assert_int_equal(look(&w, pid, t), -ESRCH);
	munmap(s, 4096);
	reader_end();
}

/* Change between two contexts of different sizes, in place, until it shall stop. */
static void publish_always(struct shared *s, enum mapping_kind kind)
{
	static struct message a, b;
	static uint8_t payload[70000];
	struct published *p = map_context(kind);
	unsigned int i;

	if (!p)
		_exit(0);
	make_context(&a, "aaaaaaaaaaaaaaaa", 30);
	make_context(&b, "bbbbbbbbbbbbbbbbbbbbbbbbbbbb", 40);
	publish(p, payload, &a);
	is_ready();
	for (i = 0; !s->stop; i++) {
		publish(p, payload, i % 2 ? &a : &b);
		s->rounds++;
		/* Sometimes it holds still, or nobody could read anything. */
		if (i % 64 == 0)
			sched_yield();
	}
	publish(p, payload, &a);
	s->stopped = 1;
	for (;;)
		pause();
}

/* Is all of the context from one time? */
static bool is_whole(void)
{
	const char *name = attrs_text(&ctx.resource, "service.name");
	size_t i, wanted = *name == 'a' ? 31 : 41;

	if (ctx.resource.cnt != wanted)
		return false;
	for (i = 0; i < ctx.resource.cnt; i++)
		if (strcmp(attr_value(&ctx.resource, &ctx.resource.items[i]), name))
			return false;
	return true;
}

/* Whatever is accepted is whole, however the reads and the changes fall together. */
static void test_torn(void **state)
{
	struct shared *s = shared_memory();
	pid_t pid = start(publish_always, s, MEMFD);
	const struct target_mem mem = { proc_mem_read, (void *)(intptr_t)pid };
	unsigned int accepted = 0, refused = 0;
	struct otel_mappings found;
	int err, i;

	assert_true(pid > 0);
	assert_int_equal(find_mappings(pid, &found), 0);
	for (i = 0; i < 30000; i++) {
		err = process_ctx_read_any(&mem, &found, 0, &ctx);
		if (err == -EPERM) {
			end(pid);
			skip();		/* yama */
		}
		assert_true(!err || err == -EAGAIN);
		accepted += !err;
		refused += !!err;
		if (!err && !is_whole())
			fail_msg("a torn context was accepted");
	}
	print_message("%u accepted, %u refused, %u changes\n", accepted, refused, s->rounds);
	/* When it holds still, it can be read. */
	s->stop = 1;
	while (!s->stopped)
		sched_yield();
	assert_int_equal(process_ctx_read_any(&mem, &found, 0, &ctx), 0);
	assert_true(is_whole());
	end(pid);
	munmap(s, 4096);
	reader_end();
}

/* Forged ones before the one that is valid. */
static void publish_garbage(struct shared *s, enum mapping_kind kind)
{
	static struct message m;
	static uint8_t payload[70000], garbage[512];
	struct published *p[4];
	size_t i;

	memset(garbage, 0xa7, sizeof(garbage));
	for (i = 0; i < 4; i++) {
		p[i] = map_context(kind);
		if (!p[i])
			_exit(0);
		make_context(&m, "valid", 1);
		publish(p[i], payload, &m);
	}
	p[0]->payload_size = UINT32_MAX;
	p[1]->payload = 0xdead0000;
	p[2]->payload = (uintptr_t)garbage;
	is_ready();
	for (;;)
		pause();
}

static void test_forged(void **state)
{
	pid_t pid = start(publish_garbage, NULL, MEMFD);
	struct otel_mappings found, one = { .cnt = 1 };
	unsigned int valid = 0, i;
	int err;

	assert_true(pid > 0);
	assert_int_equal(find_mappings(pid, &found), 0);
	assert_int_equal(found.cnt, 4);
	assert_int_equal(read_patiently(pid, &found, 0), 0);
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "valid");
	for (i = 0; i < 4; i++) {
		one.at[0] = found.at[i];
		err = read_patiently(pid, &one, 0);
		assert_true(!err || err == -E2BIG || err == -EFAULT || err == -EBADMSG);
		valid += !err;
	}
	assert_int_equal(valid, 1);
	end(pid);
	reader_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_seen_by_the_inspector),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
