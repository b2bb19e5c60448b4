// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_tach_reader.c - any bytes through the reader, and what it accepts through
 * every sink: what the reader hands out must be safe for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"
#include "formats/sinks.h"
#include "formats/tach/tach_reader.h"
#include "model/sink.h"

/* A few compressed bytes can mean gigabytes of samples. */
#define EVENTS_MAX 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SINKS_MAX 32

struct consumer {
	struct sink *sinks[SINKS_MAX];
	int sink_cnt;
	unsigned long cnt;
};

static void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static int consume(void *ctx, const struct event *ev)
{
	struct consumer *c = ctx;
	int i;

	require(ev->nframes <= EVENT_MAX_FRAMES, "at most 256 frames");
	for (i = 0; i < c->sink_cnt; i++)
		require(!c->sinks[i]->ops->event(c->sinks[i], ev), "sinks take every event");
	return ++c->cnt == EVENTS_MAX ? -ECANCELED : 0;
}

/* As runs, which are as many samples. */
static int consume_run(void *ctx, const struct event *ev)
{
	unsigned long *cnt = ctx;

	require(ev->nframes <= EVENT_MAX_FRAMES && ev->kept_1 <= ev->nframes + 1,
		"no more is kept than there is");
	*cnt += (unsigned long)ev->more + 1;
	return *cnt >= EVENTS_MAX ? -ECANCELED : 0;
}

static void read_runs(struct tach_reader *r, int single_err, unsigned long single_cnt)
{
	unsigned long cnt = 0;
	char why[256] = "";
	int err = tach_reader_run_takes(r, EVENT_KEPT | EVENT_RUNS, consume_run, &cnt, why,
					sizeof(why));

	require(single_err == -ECANCELED || (err == single_err && cnt == single_cnt),
		"runs are the same samples");
}

static struct sink *add_sink(struct consumer *c, struct sink *s, struct tach_reader *r)
{
	require(c->sink_cnt < SINKS_MAX, "room for every sink");
	require(s != NULL, "sinks open");
	c->sinks[c->sink_cnt++] = s;
	require(!s->ops->begin(s, &tach_reader_info(r)->meta, tach_reader_tables(r)), "begin");
	return s;
}

static void read_samples(struct tach_reader *r, int out_fd, int null_fd)
{
	const struct tach_info *info = tach_reader_info(r);
	const struct sink_ops *ops;
	struct consumer c = { 0 };
	const struct sink_args many = { .fd = null_fd, .many = true };
	struct sink *whole = add_sink(&c, sink_flamegraph.open(&many), r);
	struct sink *part = add_sink(&c, sink_flamegraph.part(NULL), r);
	char why[256] = "";
	int i, err;

	for (i = 0; (ops = sink_at(i)); i++) {
		const struct sink_args args = { .fd = ops == &sink_tach ? out_fd : null_fd };

		/* One complains about every profile, the other starts a process. */
		if (ops == &sink_gperftools_native || ops == &sink_parquet)
			continue;
		add_sink(&c, ops->open(&args), r);
	}
	err = tach_reader_run(r, consume, &c, why, sizeof(why));
	require(err <= 0 && (err != -EBADMSG || why[0]), "errors have reasons");
	require(err || c.cnt == info->sample_cnt, "as many samples as the header says");
	read_runs(r, err, c.cnt);
	for (i = 0; i < c.sink_cnt; i++)
		require(!c.sinks[i]->ops->end(c.sinks[i], &info->stats), "end");
	require((unsigned int)whole->ops->join(whole, part) <= 1, "a part is joined or refused");
	for (i = 0; i < c.sink_cnt; i++)
		require(!c.sinks[i]->ops->close(c.sinks[i]), "close");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int in_fd = -1, out_fd, null_fd;
	static char in_path[64], out_path[64];
	struct tach_reader *r;
	char why[256] = "";

	if (in_fd < 0) {
		in_fd = memfd_create("in", MFD_CLOEXEC);
		out_fd = memfd_create("out", MFD_CLOEXEC);
		null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		require(in_fd >= 0 && out_fd >= 0 && null_fd >= 0, "descriptors");
		snprintf(in_path, sizeof(in_path), "/proc/self/fd/%d", in_fd);
		snprintf(out_path, sizeof(out_path), "/proc/self/fd/%d", out_fd);
	}
	require(!ftruncate(in_fd, 0) && !ftruncate(out_fd, 0), "ftruncate");
	require(pwrite(in_fd, data, size, 0) == (ssize_t)size, "pwrite");
	r = tach_reader_open(in_path, why, sizeof(why));
	if (!r) {
		require(why[0] && errno, "a reason");
		return 0;
	}
	read_samples(r, out_fd, null_fd);
	tach_reader_free(r);
	/* What we write we read. */
	r = tach_reader_open(out_path, why, sizeof(why));
	require(r != NULL, why);
	tach_reader_free(r);
	return 0;
}
