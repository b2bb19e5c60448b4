// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* own_cpu.c - see own_cpu.h. */
#include "agent/own_cpu.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"

/* The CPU time of a process; otherwise if it has ended. */
static uint64_t process_ns(pid_t pid, uint64_t otherwise)
{
	clockid_t clock;
	uint64_t ns = clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);

	return ns ? ns : otherwise;
}

static void look_at(struct own_cpu *c, pid_t pid)
{
	struct own_cpu_child *child = c->children;
	uint64_t ns;

	while (child < c->children + c->cnt && child->pid != pid)
		child++;
	if (child == c->children + c->cnt) {
		if (c->cnt == OWN_CPU_CHILDREN_MAX)
			return;
		*child = (struct own_cpu_child){ .pid = pid };
		c->cnt++;
	}
	ns = process_ns(pid, child->ns);
	if (ns < child->ns)	/* another process has this pid now */
		c->ended_ns += child->ns;
	child->ns = ns;
	child->seen = 1;
}

/* Visits the children of a single-threaded process, and theirs: depth levels. */
static void look_at_children(struct own_cpu *c, pid_t parent, int depth)
{
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		look_at(c, pid);
		if (depth > 1)
			look_at_children(c, pid, depth - 1);
	}
	if (f)
		fclose(f);
}

uint64_t own_cpu_main_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* /proc/PID/statm: all pages, those that are resident, ... */
static uint64_t rss_of(pid_t pid)
{
	unsigned long long pages = 0;
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t own_cpu_main_rss(void)
{
	return rss_of(getpid());
}

uint64_t own_cpu_children_rss(const struct own_cpu *c)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < c->cnt; i++)
		sum += rss_of(c->children[i].pid);
	return sum;
}

uint64_t own_cpu_ns(struct own_cpu *c)
{
	uint64_t sum = own_cpu_main_ns();
	size_t i, kept = 0;

	for (i = 0; i < c->cnt; i++)
		c->children[i].seen = 0;
	look_at_children(c, getpid(), 2);
	for (i = 0; i < c->cnt; i++) {
		const struct own_cpu_child child = c->children[i];

		if (child.seen) {
			sum += child.ns;
			c->children[kept++] = child;
		} else {
			c->ended_ns += child.ns;
		}
	}
	c->cnt = kept;
	return sum + c->ended_ns;
}
