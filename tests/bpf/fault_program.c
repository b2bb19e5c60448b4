// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fault_program.c - a capture of page faults, for test_page_faults.py: what the BPF side sends of
 * them, before user space judges it. The linker puts __wrap_capture_take() in capture_take()'s
 * place.
 *
 * fault_program EVERY_BYTES PID. Then words on standard input, each with one line of JSON as
 * answer: "watch ADDRESS..." (code objects by which bytes are summed up), "sums", "pause",
 * "resume". It ends at the end of the input.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bpf/abi_memory.h"
#include "capture/capture.h"
#include "capture/capture_records.h"
#include "host/identity.h"
#include "resolve/observer.h"
#include "target/inspector.h"

#define POLL_MS 20
#define CODES_MAX 64
#define MOVES_MAX 256
#define CPUS_MAX 1024

static struct {
	pid_t tgid;
	uint64_t cnt, bytes, without_stack, not_walked, foreign;
	struct code_sum {
		uint64_t code, cnt, bytes;
	} codes[CODES_MAX];
	size_t code_cnt;
	/* Of the watched code: bytes between two changes of a CPU's period; the largest. */
	struct {
		uint64_t weight, bytes;
	} runs[CPUS_MAX];
	uint64_t longest;
	struct raw_moved moves[MOVES_MAX];
	size_t move_cnt;
} sums;

/* A fault of watched code. Its weight tells the event's period. */
static void add_to_run(uint32_t cpu, const struct raw_memory *m)
{
	size_t i = cpu % CPUS_MAX;

	if (sums.runs[i].weight != m->weight)
		sums.runs[i].bytes = 0;
	sums.runs[i].weight = m->weight;
	sums.runs[i].bytes += m->weight;
	if (sums.runs[i].bytes > sums.longest)
		sums.longest = sums.runs[i].bytes;
}

static void add_alloc(const struct raw_sample *raw)
{
	const struct raw_memory *m = raw_sample_memory(raw);
	size_t i, k;

	if ((pid_t)raw->h.tgid != sums.tgid || raw->h.why != ALLOC_PAGE ||
	    !(raw->flags & RAW_WEIGHED)) {
		sums.foreign++;
		return;
	}
	sums.cnt++;
	sums.bytes += m->weight;
	sums.not_walked += raw->flags & RAW_NOT_WALKED ? 1 : 0;
	sums.without_stack += raw->nframes ? 0 : 1;
	for (k = 0; k < raw->nframes; k++)
		for (i = 0; i < sums.code_cnt; i++)
			if (sums.codes[i].code == raw->frames[k].code) {
				sums.codes[i].cnt++;
				sums.codes[i].bytes += m->weight;
				add_to_run(raw->cpu, m);
				return;		/* the innermost one */
			}
}

void __real_capture_take(struct capture *s, const void *data, size_t len);
void __wrap_capture_take(struct capture *s, const void *data, size_t len);
void __wrap_capture_take(struct capture *s, const void *data, size_t len)
{
	const struct raw_header *h = data;

	if (h->kind == RAW_ALLOC)
		add_alloc(data);
	else if (h->kind == RAW_MOVED && sums.move_cnt < MOVES_MAX)
		sums.moves[sums.move_cnt++] = *(const struct raw_moved *)data;
	else
		__real_capture_take(s, data, len);
}

static void print_sums(struct capture *c)
{
	struct capture_counts counts;
	size_t i;

	capture_counts(c, &counts);
	printf("{\"faults\": %llu, \"other\": %llu, \"sent\": %llu, \"lost\": %llu, "
	       "\"records\": %llu, \"bytes\": %llu, \"without_stack\": %llu, \"not_walked\": %llu, "
	       "\"foreign\": %llu, \"longest\": %llu, \"codes\": {",
	       (unsigned long long)counts.bpf[CNT_FAULT],
	       (unsigned long long)counts.bpf[CNT_FAULT_OTHER],
	       (unsigned long long)counts.bpf[CNT_ALLOC],
	       (unsigned long long)counts.bpf[CNT_ALLOC_LOST], (unsigned long long)sums.cnt,
	       (unsigned long long)sums.bytes, (unsigned long long)sums.without_stack,
	       (unsigned long long)sums.not_walked, (unsigned long long)sums.foreign,
	       (unsigned long long)sums.longest);
	for (i = 0; i < sums.code_cnt; i++)
		printf("%s\"%llu\": [%llu, %llu]", i ? ", " : "",
		       (unsigned long long)sums.codes[i].code,
		       (unsigned long long)sums.codes[i].cnt,
		       (unsigned long long)sums.codes[i].bytes);
	printf("}, \"moves\": [");
	for (i = 0; i < sums.move_cnt; i++)
		printf("%s[%llu, %llu, %llu]", i ? ", " : "",
		       (unsigned long long)sums.moves[i].addr,
		       (unsigned long long)sums.moves[i].bytes,
		       (unsigned long long)sums.moves[i].to);
	printf("]}\n");
	fflush(stdout);
}

/* Sum up from now on, by these code objects. */
static void watch(char *words)
{
	pid_t tgid = sums.tgid;
	char *word, *rest = words;

	memset(&sums, 0, sizeof(sums));
	sums.tgid = tgid;
	while (sums.code_cnt < CODES_MAX && (word = strsep(&rest, " \n")))
		if (*word)
			sums.codes[sums.code_cnt++].code = strtoull(word, NULL, 10);
}

static int loop(struct capture *c)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	static char line[4096];
	int err = 0;

	while (!err) {
		err = capture_poll(c, POLL_MS);
		if (err || poll(&in, 1, 0) <= 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		err = capture_poll(c, 0);	/* all records until now, before it obeys */
		if (!strncmp(line, "watch ", 6))
			watch(line + 6);
		else if (*line == 'p' || *line == 'r')
			capture_pause(c, *line == 'p');
		print_sums(c);
	}
	return err;
}

int main(int argc, char **argv)
{
	static const struct observer_ops ops = { .begin = NULL };
	static struct observer observer = { .ops = &ops };
	struct capture_args args = {
		.rate_hz = 99, .mode = &record_modes[RECORD_MEM], .event = SAMPLER_CLOCK,
		.every_bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 65536,
		.min_wait_ns = 1,
		.identities = identities_new(inspector_names), .observer = &observer,
	};
	struct capture *c = args.identities ? capture_new(&args) : NULL;
	int err = c ? 0 : -errno;

	sums.tgid = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	if (!err)
		err = capture_add(c, sums.tgid);
	if (!err)
		err = capture_start(c);
	if (!err) {
		print_sums(c);
		err = loop(c);
	}
	if (!err)
		err = capture_stop(c);
	if (err)
		fprintf(stderr, "fault_program: %s\n", strerror(-err));
	capture_free(c);
	identities_free(args.identities);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
