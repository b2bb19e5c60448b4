/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_coroutines.c - prints what user/asyncio's coroutine.h and task_read.h make of coroutines of
 * a live process.
 *
 * read_coroutines PID IMAGE < "name address" lines. One line each: the name, the state, function
 * and line of each coroutine in the chain, outermost first, and what the innermost one awaits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "asyncio/task_read.h"
#include "model/event.h"
#include "tests/unit/asyncio/read_coroutine.h"

static int vm_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_readv(*(pid_t *)ctx, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

static void print_frame(const struct task_reader *r, const struct raw_frame *frame)
{
	struct code_object code;
	struct code_position p;

	if (code_read(r->walk.mem, &r->at->l, &r->at->objects, frame->code, &code)) {
		printf("? ");
		return;
	}
	code_position(&code, frame->lasti, &p);
	printf("%s:%d ", code.name, p.line);
	code_free(&code);
}

static void print_chain(const struct target_mem *mem, const struct tasks_at *at, uint64_t addr)
{
	static const char *const states[] = {
		[CORO_CREATED] = "created", [CORO_SUSPENDED] = "suspended",
		[CORO_YIELDED] = "yielded", [CORO_RUNNING] = "running", [CORO_ENDED] = "ended",
	};
	static struct raw_frame frames[TASK_FRAMES_MAX];
	struct task_row row = { 0 };
	struct task_read t = { .frames = frames, .row = &row };
	struct task_reader r = { .at = at };
	struct coroutine c;
	uint32_t i;

	py_walk_init(&r.walk, mem, &at->objects, TASK_READS_MAX);
	printf("%s ", coroutine_read(&r.walk, at, addr, &c) ? "?" : states[c.state]);
	task_coros_read(&r, &t, addr);
	for (i = 0; i < row.frame_cnt; i++)
		print_frame(&r, &frames[i]);
	printf("%s> %llu\n", row.frame_cnt ? "" : " ", (unsigned long long)t.awaits);
	if (!task_coros_still(&r, &t))
		printf("it moved\n");
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;
	struct target_mem mem = { vm_read, &pid };
	struct tasks_at at = { .max = 0 };
	struct cpython_image img;
	unsigned long addr;
	char why[200], name[100];
	int fd;

	fd = pid ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || cpython_image_read(fd, &img, why, sizeof(why)))
		return 1;
	at.l = img.layout;
	at.objects = img.objects;
	at.async.coro = img.coro;
	while (scanf("%99s %lu", name, &addr) == 2) {
		printf("%s ", name);
		print_chain(&mem, &at, addr);
	}
	return 0;
}
