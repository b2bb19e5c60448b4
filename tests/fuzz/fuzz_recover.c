// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_recover.c - any bytes as a file that is not whole and as its journal; what
 * is recovered must be safe to write, and readable then.
 *
 * Input: u32 length of the journal, the journal, the file. A bit of the length
 * says whether checksums are put right first: what is behind them is hostile too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/formats.h"
#include "formats/tach/recover.h"
#include "formats/tach/tach_journal.h"
#include "formats/tach/tach_reader.h"
#include "model/intern.h"
#include "model/remap.h"
#include "model/sink.h"

/* A few compressed bytes can mean gigabytes of samples. */
#define EVENTS_MAX 200000
#define PUT_RIGHT 0x80000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct writer {
	struct sink *sink;
	struct remap *remap;
	unsigned long cnt;
};

static void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static int write_event(void *ctx, const struct event *ev)
{
	struct writer *w = ctx;
	struct event ours;

	require(!remap_event(w->remap, ev, &ours), "remap");
	require(!w->sink->ops->event(w->sink, &ours), "the sink takes every event");
	return ++w->cnt == EVENTS_MAX ? -ECANCELED : 0;
}

static void write_again(struct recovery *r, int fd)
{
	const struct tach_info *info = recover_info(r);
	const struct sink_args args = { .fd = fd, .layout = info->layout };
	struct intern *in = intern_new();
	struct writer w = { .sink = sink_tach.open(&args),
			    .remap = remap_new(recover_tables(r), in) };
	char why[256];
	int err;

	require(w.sink && w.remap, "memory");
	require(!w.sink->ops->begin(w.sink, &info->meta, intern_tables(in)), "begin");
	err = recover_samples(r, write_event, &w, why, sizeof(why));
	require(!err || err == -ECANCELED, "damage is no error");
	require(!w.sink->ops->end(w.sink, NULL), "end");
	w.sink->ops->close(w.sink);
	remap_free(w.remap);
	intern_free(in);
}

/* Make the journal's own checksums, and those of the samples, say yes. */
static void put_right(uint8_t *j, size_t len, const uint8_t *file, size_t file_len)
{
	struct tach_journal_head head;
	struct tach_journal_entry e;
	size_t off = sizeof(head), size;
	XXH128_canonical_t sum;
	uint64_t check;

	if (len < sizeof(head))
		return;
	memcpy(&head, j, sizeof(head));
	head.check = XXH3_64bits(&head, offsetof(struct tach_journal_head, check));
	memcpy(j, &head, sizeof(head));
	while (len - off >= sizeof(e) + 8) {
		memcpy(&e, j + off, sizeof(e));
		size = sizeof(e) + (size_t)e.strings_len + e.frames_len;
		if (size > len - off - 8)
			return;
		if (e.end >= 64 && e.end <= file_len) {
			XXH128_canonicalFromHash(&sum, XXH3_128bits(file + 64, e.end - 64));
			memcpy(e.checksum, sum.digest, sizeof(e.checksum));
			memcpy(j + off, &e, sizeof(e));
		}
		check = XXH3_64bits_withSeed(j + off, size, head.id);
		memcpy(j + off + size, &check, sizeof(check));
		off += size + 8;
	}
}

static void set(int fd, const void *data, size_t len)
{
	require(!ftruncate(fd, 0) && pwrite(fd, data, len, 0) == (ssize_t)len, "pwrite");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file_fd = -1, journal_fd, out_fd;
	static char file[64], journal[64], out[64];
	struct tach_reader *reader;
	struct recovery *r;
	uint8_t *copy;
	uint32_t word = 0;
	size_t len;
	char why[256] = "";

	if (file_fd < 0) {
		file_fd = memfd_create("file", MFD_CLOEXEC);
		journal_fd = memfd_create("journal", MFD_CLOEXEC);
		out_fd = memfd_create("out", MFD_CLOEXEC);
		require(file_fd >= 0 && journal_fd >= 0 && out_fd >= 0, "descriptors");
		snprintf(file, sizeof(file), "/proc/self/fd/%d", file_fd);
		snprintf(journal, sizeof(journal), "/proc/self/fd/%d", journal_fd);
		snprintf(out, sizeof(out), "/proc/self/fd/%d", out_fd);
	}
	if (size < 4)
		return 0;
	memcpy(&word, data, 4);
	len = word & ~PUT_RIGHT;
	len = len < size - 4 ? len : size - 4;
	copy = malloc(len + 1);
	require(copy != NULL, "memory");
	memcpy(copy, data + 4, len);
	if (word & PUT_RIGHT)
		put_right(copy, len, data + 4 + len, size - 4 - len);
	set(journal_fd, copy, len);
	free(copy);
	set(file_fd, data + 4 + len, size - 4 - len);
	require(!ftruncate(out_fd, 0), "ftruncate");
	r = recover_open(file, journal, why, sizeof(why));
	if (!r) {
		require(why[0] && errno, "a reason");
		return 0;
	}
	write_again(r, out_fd);
	recover_free(r);
	reader = tach_reader_open(out, why, sizeof(why));
	require(reader != NULL, why);
	require(tach_reader_checksum(reader) == TACH_CHECKSUM_RIGHT, "checksum");
	tach_reader_free(reader);
	return 0;
}
