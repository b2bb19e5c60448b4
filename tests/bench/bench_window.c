// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_window.c - what a window costs: nanoseconds of CPU an event, bytes a stack, milliseconds
 * of CPU to encode and compress it. bench_window [SERVICES STACKS DEPTH]
 *
 * The stacks of a service are paths through a random tree of its own 2,000 lines, as a program's
 * are: half of the frames are shared with other stacks, the rest is not. At last, stacks in 8
 * threads each, without and with their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/gzip.h"
#include "model/intern.h"
#include "telemetry/otlp.h"
#include "telemetry/window_links.h"
#include "telemetry/window_pprof.h"

#define FUNCTIONS 400
#define LINES_OF_FUNCTION 5
#define FRAMES (FUNCTIONS * LINES_OF_FUNCTION)
#define EVENTS 2000000

struct program {
	struct intern *in;
	struct window_map *map;
	uint32_t frames[FRAMES];
};

static uint64_t state = 88172645463325252ULL;

static uint32_t pick(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 11) % n;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double rss_mib(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void must(int err)
{
	if (err) {
		fprintf(stderr, "bench_window: error %d\n", err);
		exit(1);
	}
}

static void begin_program(struct program *p, uint32_t number)
{
	char file[128], func[64];
	uint32_t i;

	p->in = intern_new();
	p->map = window_map_new(intern_tables(p->in));
	for (i = 0; i < FRAMES; i++) {
		uint32_t function = i / LINES_OF_FUNCTION;
		/* A half is the packages that all programs have. */
		bool own = function >= FUNCTIONS / 2;
		struct frame f = { .line = (int32_t)(10 + function * 7 + i % LINES_OF_FUNCTION * 3),
				   .end_line = LINE_NONE, .column = (int32_t)(i % 40),
				   .end_column = COLUMN_NONE, .opcode = OPCODE_NONE,
				   .first_line = (int32_t)(9 + function * 7) };

		if (own)
			snprintf(file, sizeof(file), "/srv/service-%u/app/handlers/module_%u.py",
				 number, function / 10);
		else
			snprintf(file, sizeof(file), "/usr/lib/python3/dist-packages/framework/"
				 "core/part_%u.py", function / 10);
		snprintf(func, sizeof(func), "Handler%u.process_request_%u", function / 10,
			 function);
		must(intern_string(p->in, file, strlen(file), &f.file));
		must(intern_string(p->in, func, strlen(func), &f.func));
		must(intern_frame(p->in, &f, &p->frames[i]));
	}
}

/* Stack number i of a program, innermost first. */
static void make_stack(const struct program *p, uint32_t i, uint32_t depth, uint32_t *out)
{
	uint64_t h = i;
	uint32_t k;

	for (k = 0; k < depth; k++) {
		/* From the root on, one of 1, 2, 4 ... frames; below the middle, of all. */
		h = k < depth / 2 ? i % (1U << (k < 12 ? k : 12)) : i;
		h = hash_u64(h * 131 + k);
		out[depth - 1 - k] = p->frames[h % FRAMES];
	}
}

static void add(struct window *w, struct program *programs, uint32_t service, const uint32_t *ids,
		uint32_t depth, uint32_t link)
{
	struct event ev = { .thread_id = 1, .nframes = depth, .frames = ids, .weight = 1 };
	struct window_place at = { .service = service, .owner = service,
				   .kind = WINDOW_CPU, .mul = 52631579, .samples = 1,
				   .link = link };

	window_add(w, programs[service].map, &ev, &at);
}

static size_t encoded, zipped;
static double zip_ms;
static struct buf zip_out;

static int emit(void *ctx, const struct otlp_request *r)
{
	double begin = cpu_ms();

	encoded += r->len;
	zip_out.len = 0;
	must(gzip_bytes(r->bytes, r->len, *(int *)ctx, &zip_out));
	zipped += zip_out.len;
	zip_ms += cpu_ms() - begin;
	return 0;
}

static void bench_otlp(const struct window *w, const struct window_links *links,
		       uint32_t services, int level)
{
	struct otlp_attribute attributes[] = {
		{ "service.name", "shop", 0, false }, { "host.name", "node-17.example.com", 0,
		  false },
		{ "k8s.pod.name", "shop-7d9c5b6f4-x2x7p", 0, false },
		{ "process.runtime.name", "cpython", 0, false },
	};
	struct otlp_service *all = calloc(services, sizeof(*all));
	struct otlp_args args = {
		.services = all, .service_cnt = services, .version = "0.1.0",
		.period_ns = 52631579, .max_bytes = 1 << 20, .emit = emit, .ctx = &level,
	};
	struct otlp_result result;
	double begin = cpu_ms();
	uint32_t i;

	for (i = 0; i < services; i++)
		all[i] = (struct otlp_service){ attributes, ARRAY_SIZE(attributes) };
	if (links)
		window_links_table(links, &args);
	encoded = zipped = 0;
	zip_ms = 0;
	must(otlp_encode(w, &args, &result));
	printf("  otlp, gzip -%d: %.1f ms encode + %.1f ms gzip; %u requests, %u samples, "
	       "%zu kB, gzipped %zu kB\n", level, cpu_ms() - begin - zip_ms, zip_ms,
	       result.requests, result.samples, encoded / 1000, zipped / 1000);
	free(all);
}

static int emit_pprof(void *ctx, const struct window_pprof *p)
{
	(*(uint32_t *)ctx)++;
	zipped += p->len;
	return 0;
}

static void bench_pprof(const struct window *w)
{
	uint32_t cnt = 0;
	struct window_pprof_args args = { .period_ns = 52631579, .emit = emit_pprof, .ctx = &cnt };
	double begin = cpu_ms();

	zipped = 0;
	must(window_pprof(w, &args));
	printf("  pprof: %.1f ms with gzip; %u profiles, gzipped %zu kB\n", cpu_ms() - begin, cnt,
	       zipped / 1000);
}

static void bench(uint32_t services, uint32_t stacks, uint32_t depth)
{
	struct program *programs = calloc(services, sizeof(*programs));
	uint32_t *ids = calloc((size_t)stacks * depth, sizeof(*ids)), i, k, n;
	uint32_t each = stacks / services;
	uint16_t *order;
	struct window *w;
	double begin, before;

	for (i = 0; i < services; i++)
		begin_program(&programs[i], i);
	for (i = 0; i < stacks; i++)
		make_stack(&programs[i % services], i / services, depth, ids + (size_t)i * depth);
	before = rss_mib();
	w = window_new(&window_limits_default, 0, 15000000000ULL);
	begin = cpu_ms();
	for (i = 0; i < stacks; i++)
		add(w, programs, i % services, ids + (size_t)i * depth, depth, 0);
	printf("%u services, %u stacks of %u frames\n", services, stacks, depth);
	printf("  first time: %.0f ns an event, names included; window %.1f MiB (names' share "
	       "%.1f MiB), RSS + %.1f MiB; %u stacks kept, %.0f bytes a stack\n",
	       (cpu_ms() - begin) * 1e6 / stacks, (double)window_bytes(w) / (1 << 20),
	       (double)window_names_bytes(window_names(w)) / (1 << 20), rss_mib() - before,
	       window_stack_cnt(w), (double)window_bytes(w) / window_stack_cnt(w));
	/* Each process samples a few stacks often, and all stacks sometimes. */
	order = malloc(EVENTS * sizeof(*order));
	for (i = 0; i < EVENTS; i++)
		order[i] = (uint16_t)pick(65536);
	begin = cpu_ms();
	for (i = 0; i < EVENTS; i++) {
		n = (uint32_t)order[i] * (uint64_t)stacks >> 16;
		add(w, programs, n % services, ids + (size_t)n * depth, depth, 0);
	}
	printf("  known stacks, at random: %.0f ns an event\n", (cpu_ms() - begin) * 1e6 / EVENTS);
	begin = cpu_ms();
	for (i = 0; i < EVENTS; i++) {
		k = order[i] % services;
		n = k + services * (order[i] >> 8) % each;
		n = n % stacks;
		add(w, programs, n % services, ids + (size_t)n * depth, depth, 0);
	}
	printf("  known stacks, some of each service: %.0f ns an event\n",
	       (cpu_ms() - begin) * 1e6 / EVENTS);
	bench_otlp(w, NULL, services, 1);
	bench_otlp(w, NULL, services, 6);
	bench_pprof(w);
	begin = cpu_ms();
	window_reset(w, 0, 15000000000ULL);
	printf("  reset: %.2f ms\n", cpu_ms() - begin);
	begin = cpu_ms();
	for (i = 0; i < stacks; i++)
		add(w, programs, i % services, ids + (size_t)i * depth, depth, 0);
	printf("  the next window's first events: %.0f ns\n", (cpu_ms() - begin) * 1e6 / stacks);
	window_free(w);
	for (i = 0; i < services; i++) {
		window_map_free(programs[i].map);
		intern_free(programs[i].in);
	}
	free(programs);
	free(ids);
	free(order);
}

static void bench_threads(uint32_t stacks, uint32_t depth, bool names)
{
	struct window *w = window_new(&window_limits_default, 0, 15000000000ULL);
	struct window_links *links = window_links_new(true);
	uint32_t ids[EVENT_MAX_FRAMES], i, k;
	struct program program;
	char name[32];

	begin_program(&program, 0);
	for (i = 0; i < stacks; i++) {
		make_stack(&program, i, depth, ids);
		for (k = 0; k < 8; k++) {
			snprintf(name, sizeof(name), "ThreadPoolExecutor-0_%u", k);
			add(w, &program, 0, ids, depth,
			    window_links_add(links, NULL, NULL, names ? name : NULL));
		}
	}
	printf("%u stacks in 8 threads, %s\n", stacks, names ? "with names" : "without names");
	bench_otlp(w, links, 1, 6);
	window_links_free(links);
	window_free(w);
	window_map_free(program.map);
	intern_free(program.in);
}

int main(int argc, char **argv)
{
	if (argc == 4) {
		bench((uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
		return 0;
	}
	bench(50, 10000, 20);
	bench(50, 100000, 20);
	bench_threads(1000, 20, false);
	bench_threads(1000, 20, true);
	return 0;
}
