// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_program.c - a capture whose rate or conditions change while it runs, for test_rate.py,
 * test_set_filter.py, test_collections.py and test_table.py.
 *
 * capture_program RATE cpu|wall|mem [PID...]: these (with mem their children, too), or all
 * processes, whose conditions may change. Then words on standard input, each with one line of JSON
 * as answer: "rate N", "pause", "resume", "thin N" (all but the first PID), "sums",
 * "filter [KIND TEXT]...". It ends at the end of the input. PID_MAX in the environment: as if the
 * host had no more pids than that.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture.h"
#include "capture/host_size.h"
#include "host/identity.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "target/inspector.h"
#include "target/proc_filter.h"

#define PROCESSES_MAX 256
#define POLL_MS 20

/* What the events of a process say. */
struct sums {
	pid_t tgid;
	uint64_t ticks, tick_ns, waits;
	unsigned int begun, ended;
	struct memory_collection collections[3];	/* by generation; duration_us of all */
};

struct summing {
	struct observer observer;
	struct sums of[PROCESSES_MAX];
	size_t cnt;
	uint64_t housekeep_ns;
	pid_t first;
	struct proc_filter filters[2];	/* the last one is in force, the other one is free */
	unsigned int filter_cnt;
	double filter_ms;	/* what the last change took */
};

/* The linker takes it in place of that of host_size.c. */
void host_size_find(struct host_size *out, bool count)
{
	const char *max = getenv("PID_MAX");

	*out = (struct host_size){ .cpus = (uint32_t)libbpf_num_possible_cpus(),
				   .pid_max = max ? strtoul(max, NULL, 10) : 0 };
}

static struct sums *sums_of(struct summing *s, pid_t tgid)
{
	size_t i;

	for (i = 0; i < s->cnt; i++)
		if (s->of[i].tgid == tgid)
			return &s->of[i];
	if (s->cnt == PROCESSES_MAX)
		return NULL;
	s->of[s->cnt].tgid = tgid;
	return &s->of[s->cnt++];
}

static int add_event(struct observer *o, struct process *p, const struct event *ev)
{
	struct sums *sums = sums_of((struct summing *)o, process_tgid(p));

	if (sums && ev->tick_ns) {
		sums->ticks++;
		sums->tick_ns += ev->tick_ns;
	} else if (sums) {
		sums->waits++;
	}
	return 0;
}

static int add_memory(struct observer *o, struct process *p, const struct memory_event *ev)
{
	struct sums *sums = sums_of((struct summing *)o, process_tgid(p));
	struct memory_collection *sum;

	if (!sums || ev->change != MEMORY_COLLECTION)
		return 0;
	sum = &sums->collections[ev->collection.generation];
	sum->runs += ev->collection.runs;
	sum->collected += ev->collection.collected;
	sum->uncollectable += ev->collection.uncollectable;
	sum->duration_us += ev->collection.duration_us;
	return 0;
}

static void print_collections(const struct memory_collection sums[3])
{
	int i;

	for (i = 0; i < 3; i++)
		printf("%s[%llu, %llu, %llu, %llu]", i ? ", " : "",
		       (unsigned long long)sums[i].runs, (unsigned long long)sums[i].collected,
		       (unsigned long long)sums[i].uncollectable,
		       (unsigned long long)sums[i].duration_us);
}

static int count_begin(struct observer *o, struct process *p)
{
	struct sums *sums = sums_of((struct summing *)o, process_tgid(p));

	if (sums)
		sums->begun++;
	return 0;
}

static int count_end(struct observer *o, struct process *p, uint64_t end_ns)
{
	struct sums *sums = sums_of((struct summing *)o, process_tgid(p));

	if (sums)
		sums->ended++;
	return 0;
}

static void print_sums(struct summing *s, struct capture *c)
{
	struct capture_counts counts;
	size_t i;

	capture_counts(c, &counts);
	printf("{\"rate\": %u, \"delivered\": %llu, \"missed\": %llu, \"lost\": %llu, "
	       "\"unselected\": %llu, \"table_full\": %llu, "
	       "\"orphans\": %llu, \"gc_done\": %llu, \"filter_ms\": %.3f, "
	       "\"processes\": {", capture_rate(c), (unsigned long long)counts.bpf[CNT_TICK],
	       (unsigned long long)counts.bpf[CNT_MISSED],
	       (unsigned long long)counts.bpf[CNT_RING_FULL],
	       (unsigned long long)counts.bpf[CNT_UNSELECTED],
	       (unsigned long long)(counts.table_full + counts.bpf[CNT_PROCS_FULL]),
	       (unsigned long long)counts.orphans,
	       (unsigned long long)counts.bpf[CNT_GC_DONE], s->filter_ms);
	for (i = 0; i < s->cnt; i++) {
		printf("%s\"%d\": {\"ticks\": %llu, \"tick_ns\": %llu, \"waits\": %llu, "
		       "\"begun\": %u, \"ended\": %u, \"collections\": [",
		       i ? ", " : "", s->of[i].tgid, (unsigned long long)s->of[i].ticks,
		       (unsigned long long)s->of[i].tick_ns, (unsigned long long)s->of[i].waits,
		       s->of[i].begun, s->of[i].ended);
		print_collections(s->of[i].collections);
		printf("]}");
	}
	printf("}}\n");
}

/* capture_chosen_fn */
static bool is_first(void *ctx, struct process *p)
{
	return process_tgid(p) == ((struct summing *)ctx)->first;
}

/* One condition: "comm", "exclude-uid", ..., "min-age". 0 or -errno. */
static int add_condition(struct proc_filter *filter, const char *kind, const char *text)
{
	bool exclude = !strncmp(kind, "exclude-", 8);
	const char *why;
	int i;

	kind += exclude ? 8 : 0;
	for (i = 0; i < FILTER_KINDS; i++)
		if (!strcmp(kind, proc_filter_kind_name(i)))
			return proc_filter_try(filter, i, exclude, text, &why);
	filter->min_age_s = strtod(text, NULL);
	return strcmp(kind, "min-age") ? -EINVAL : 0;
}

static int set_filter(struct summing *s, struct capture *c, const char *words)
{
	struct proc_filter *filter = &s->filters[s->filter_cnt % 2];
	uint64_t begin_ns = now_ns();
	char kind[32], text[160];
	int used, err = 0;

	proc_filter_free(filter);
	for (; !err && sscanf(words, "%31s %159s%n", kind, text, &used) == 2; words += used)
		err = add_condition(filter, kind, text);
	if (!err)
		err = capture_set_filter(c, filter->cnt || filter->min_age_s > 0 ? filter : NULL);
	s->filter_cnt += !err;
	s->filter_ms = (now_ns() - begin_ns) / 1e6;
	return err;
}

/* Returns what the capture says: 0 or -errno. */
static int obey(struct summing *s, struct capture *c, const char *line)
{
	unsigned int number = 0;
	char word[16] = "";

	sscanf(line, "%15s %u", word, &number);
	if (!strcmp(word, "rate"))
		return capture_set_rate(c, number);
	if (!strcmp(word, "thin"))
		return capture_thin(c, number, is_first, s);
	if (!strcmp(word, "filter"))
		return set_filter(s, c, line + strlen(word));
	if (!strcmp(word, "pause") || !strcmp(word, "resume"))
		capture_pause(c, *word == 'p');
	else if (strcmp(word, "sums"))
		return -EINVAL;
	return 0;
}

/* A line of the input, or an empty one; false: there is no more. */
static bool next_line(char *line, size_t cap)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	line[0] = '\0';
	return poll(&in, 1, 0) <= 0 || fgets(line, cap, stdin);
}

static int loop(struct summing *s, struct capture *c)
{
	char line[512];
	int err = 0;

	while (!err && next_line(line, sizeof(line))) {
		/* All records until now are taken before a word is obeyed. */
		err = capture_poll(c, *line ? 0 : POLL_MS);
		if (!err && now_ns() > s->housekeep_ns) {
			s->housekeep_ns = now_ns() + 1000000000ull;
			err = capture_housekeep(c);
		}
		if (err || !*line)
			continue;
		err = obey(s, c, line);
		if (err)
			printf("{\"error\": \"%s\"}\n", strerror(-err));
		else
			print_sums(s, c);
		fflush(stdout);
		err = 0;
	}
	return err;
}

/* A process; with a mode that follows memory its children, too. 0 or -errno. */
static int add(struct capture *c, const struct record_mode_def *mode, pid_t tgid)
{
	int err = capture_add(c, tgid);

	return err || !mode->memory ? err : capture_add_children(c, tgid);
}

static const struct record_mode_def *mode_of(const char *word)
{
	int i;

	for (i = 0; i < RECORD_MODE_CNT; i++)
		if (!strcmp(record_modes[i].name, word))
			return &record_modes[i];
	return &record_modes[RECORD_CPU];
}

int main(int argc, char **argv)
{
	static const struct observer_ops ops = {
		.begin = count_begin, .event = add_event, .memory = add_memory,
		.end = count_end,
	};
	static struct summing summing = { .observer.ops = &ops };
	struct capture_args args = {
		.rate_hz = argc > 1 ? strtoul(argv[1], NULL, 10) : 0,
		.mode = mode_of(argc > 2 ? argv[2] : "cpu"), .every_bytes = 64 * 1024,
		.bursts = argc > 3, .all = argc <= 3, .filter_may_change = argc <= 3,
		.event = SAMPLER_CLOCK, .min_wait_ns = 1,
		.identities = identities_new(inspector_names), .observer = &summing.observer,
	};
	struct capture *c = args.identities ? capture_new(&args) : NULL;
	int i, err = c ? 0 : -errno;

	summing.first = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	for (i = 3; !err && i < argc; i++)
		err = add(c, args.mode, strtol(argv[i], NULL, 10));
	if (!err)
		err = capture_start(c);
	if (!err) {
		print_sums(&summing, c);
		fflush(stdout);
		err = loop(&summing, c);
	}
	if (!err)
		err = capture_stop(c);
	if (err)
		fprintf(stderr, "capture_program: %s\n", strerror(-err));
	capture_free(c);
	identities_free(args.identities);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
