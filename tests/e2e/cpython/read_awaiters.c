/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_awaiters.c - prints who awaits tasks of a live process (3.8 to 3.13), according to
 * awaiters.h and chain.h.
 *
 * read_awaiters PID IMAGE TASK FUTURE PY_TASK PY_FUTURE PURE < addresses of tasks: the arguments
 * are the addresses of asyncio's types. One line each: how the chain ends and how many reads it
 * took, the first callback of no known shape or "-", addresses of the tasks that await it, and after
 * a ":" the code objects of the chain.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "asyncio/chain.h"
#include "asyncio/coroutine.h"

static struct {
	pid_t pid;
	unsigned int reads;
} target;

static int vm_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_readv(target.pid, &local, 1, &remote, 1, 0);

	target.reads++;
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

static const struct target_mem mem = { vm_read, NULL };

static int gather(void *ctx, const struct used_place *places, uint32_t cnt, uint8_t *buf,
		  size_t len)
{
	struct iovec local = { buf, len }, remote[CHAIN_RANGES];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		remote[i] = (struct iovec){ (void *)places[i].addr, places[i].len };
	target.reads++;
	return process_vm_readv(target.pid, &local, 1, remote, cnt, 0) == (ssize_t)len ? 0 : -EFAULT;
}

static bool print_task(void *ctx, uint64_t task)
{
	printf(" %llu", (unsigned long long)task);
	return true;
}

/* What the BPF side would send of this task. */
static struct raw_task as_sent(struct py_walk *w, const struct tasks_at *at, uint64_t task,
			       const struct future_fields *f)
{
	struct raw_task q = { .task = task, .pure = f->pure };
	uint64_t frame, code;

	if (f->pure) {
		if (!coroutine_frame_read(w, at, f->coro, &frame, &code)) {
			q.frame = frame;
			q.coro = code;
		}
		return q;
	}
	q.coro = f->coro;
	q.callback0 = f->callback0;
	q.callbacks = f->callbacks;
	q.name = f->name;
	py_get(w, q.name, q.name_bytes, sizeof(q.name_bytes));
	return q;
}

static int print_all(const struct tasks_at *at, uint64_t task)
{
	static struct future_types types;
	struct future_fields f;
	struct task_chain chain;
	struct awaiters a;
	struct py_walk w;
	struct raw_task q;
	unsigned int i;

	memset(&types, 0, sizeof(types));
	py_walk_init(&w, &mem, &at->objects, 100000);
	if (future_read(&w, &at->homes, &types, task, &f))
		return 1;
	q = as_sent(&w, at, task, &f);
	target.reads = 0;
	task_chain_read(&mem, at, &q, gather, &chain);
	printf("%u %u", chain.raw.end, target.reads);
	py_walk_init(&w, &mem, &at->objects, 100000);
	if (awaiters_read(&w, &at->homes, &types, task, print_task, NULL, &a) || a.cut)
		return 1;
	printf(" :");
	for (i = 0; i < chain.raw.nframes; i++)
		printf(" %llu", (unsigned long long)chain.raw.frames[i].code);
	printf(" : %s\n", a.others ? a.other : "-");
	return 0;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

int main(int argc, char **argv)
{
	static struct tasks_at at;
	struct cpython_image img;
	struct async_home *home = &at.homes.home[0];
	unsigned long addr;
	char why[200];
	int fd = argc == 8 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || cpython_image_read(fd, &img, why, sizeof(why)))
		return 1;
	target.pid = atoi(argv[1]);
	at.l = img.layout;
	at.objects = img.objects;
	at.async.coro = img.coro;
	at.homes.cnt = 1;
	at.homes.minor = img.minor;
	if (!async_fields_of(img.minor, img.objects.str_length, &at.homes.fields))
		return 2;
	*home = (struct async_home){
		.task = number(argv[3]), .future = number(argv[4]), .py_task = number(argv[5]),
		.py_future = number(argv[6]), .pure = number(argv[7]) != 0,
	};
	while (scanf("%lu", &addr) == 1)
		if (print_all(&at, addr))
			return 3;
	return 0;
}
