// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_service.c - what it costs to find out who a process is: each step alone, in CPU time of one
 * thread, and by the workers in time that passes.
 *
 *     bench_service [TURNS]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "memory/reader.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"
#include "target/mapped_files.h"
#include "telemetry/process_ctx.h"
#include "telemetry/process_ctx_watch.h"
#include "telemetry/service.h"
#include "tests/unit/telemetry/process_ctx_test.h"

#define LINES 2000		/* mappings of a large Python program */

static unsigned int turns = 10000;
static struct process_ctx ctx;
static struct process_facts known;
static struct service service;
static struct mapped_files mapped;
static struct message payload;
static char maps_path[64];

static void take_paths(void)
{
	static const char *const paths[] = { "/usr/lib/python3/x.so", "/memory/x", "[anon:x]" };
	struct proc_map map = { .start = 1 };
	size_t i;

	for (i = 0; i < LINES; i++) {
		map.path = paths[i % 16 ? 0 : 1 + i % 2];
		otel_mappings_take(&mapped.otel, &map);
		__asm__ volatile("" ::: "memory");
	}
}

static void read_maps(void)
{
	mapped_files_read_text(&mapped, maps_path, "/usr/bin/python3", 0);
}

static void parse(void)
{
	process_ctx_parse(payload.bytes, payload.len, &ctx);
}

static void name(void)
{
	char out[PROGRAM_NAME_BYTES];

	program_name(known.cmdline, known.cmdline_len, known.exe, known.comm, out);
}

static const struct service_privacy most = {
	.paths = true, .host_name = true, .containers = true, .others = true,
};

static void make(void)
{
	const struct service_rule rules[] = { { { [FACT_EXE] = "/opt/*" }, "{program}" },
					      { { [FACT_COMM] = "x*" }, "{program}" } };
	const struct service_config config = {
		.rules = rules, .rule_cnt = 2, .privacy = most,
	};
	struct service_facts facts = { .context = &ctx.resource };

	process_facts_fill(&known, &facts);
	service_make(&facts, &config, &service);
}

static void hostile_rule(void)
{
	const struct service_rule rules[] = { { { [FACT_COMMAND] = "*a*a*a*a*a*a*a*b" }, "x" } };
	const struct service_config config = {
		.rules = rules, .rule_cnt = 1, .privacy = most,
	};
	static char cmdline[1024];
	struct service_facts facts = { .cmdline = cmdline, .cmdline_len = sizeof(cmdline) };

	memset(cmdline, 'a', sizeof(cmdline));
	service_make(&facts, &config, &service);
}

/* ---- by workers ---- */

static pid_t child;
static struct otel_mappings found;
static struct proc_info who;

static void find(void)
{
	reader_otel_mappings(child, false, &found);
}

static void read_context(void)
{
	const struct target_mem mem = { remote_mem_read, (void *)(intptr_t)child };

	process_ctx_read_any(&mem, &found, 0, &ctx);
}

static void read_known(void)
{
	const struct target_mem mem = { remote_mem_read, (void *)(intptr_t)child };

	process_ctx_read_any(&mem, &found, ctx.published_ns, &ctx);
}

static void read_facts(void)
{
	process_facts_read(&who, &known);
}

/* Print our CPU time of a call, and of each of its parts; of workers, the time that passes. */
static void measure(const char *what, void (*fn)(void), unsigned int times, unsigned int parts)
{
	bool by_worker = fn == find || fn == read_context || fn == read_known || fn == read_facts;
	double start = by_worker ? (double)now_ns() : cpu_time_s() * 1e9, ns;
	unsigned int i;

	for (i = 0; i < times; i++)
		fn();
	ns = ((by_worker ? (double)now_ns() : cpu_time_s() * 1e9) - start) / times;
	printf("%-58s %10.2f us", what, ns / 1000);
	if (parts)
		printf("  %8.2f ns each of %u", ns / parts, parts);
	printf("\n");
}

static void start_child(void)
{
	static uint8_t memory[70000];
	int ready[2];
	char c = 0;

	if (pipe(ready))
		exit(1);
	fflush(NULL);
	child = fork();
	if (!child) {
		struct published *p = map_context(MEMFD);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!p)
			_exit(1);
		publish(p, memory, &payload);
		if (write(ready[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1 || proc_info_read(child, &who))
		exit(1);
}

static void make_maps(void)
{
	FILE *f = fdopen(memfd_create("maps", 0), "w");
	unsigned int i;

	snprintf(maps_path, sizeof(maps_path), "/proc/self/fd/%d", fileno(f));
	for (i = 0; i < LINES; i++)
		fprintf(f, "%08x-%08x r--p %08x 08:01 %u           /usr/lib/python3/x%u.so\n",
			i << 12, (i + 1) << 12, (i % 4) << 12, 1 + i / 4, i / 4);
	fflush(f);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		turns = (unsigned int)atoi(argv[1]);
	make_maps();
	measure("inspection: the list of mappings", read_maps, turns / 20, LINES);
	measure("  of it: is it a process context?", take_paths, turns, LINES);
	make_context(&payload, "checkout-service", 8);
	start_child();
	measure("reader: search the list of mappings (a small process)", find, turns / 10, 0);
	measure("reader: a context of 9 attributes", read_context, turns / 10, 0);
	measure("reader: a context that is known", read_known, turns / 10, 0);
	measure("workers: exe, command line, environment", read_facts, turns / 10, 0);
	measure("parse a context of 9 attributes", parse, turns, 0);
	make_context(&payload, "x", 2800);
	measure("parse a hostile context, 64 KiB of attributes", parse, turns / 20, 0);
	make_context(&payload, "checkout-service", 8);
	parse();
	measure("name of a program", name, turns, 0);
	measure("service with its resource, two rules", make, turns, 0);
	measure("a rule of eight stars, hostile text", hostile_rule, turns / 100, 0);
	printf("struct service %zu bytes, process_ctx %zu, process_facts %zu, otel_mappings %zu\n",
	       sizeof(struct service), sizeof(struct process_ctx), sizeof(struct process_facts),
	       sizeof(struct otel_mappings));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	inspector_end();
	reader_end();
	return 0;
}
