// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_async_record.c - any bytes as a record of awaiting tasks, and the sample behind it: whatever
 * it says, the event has the task's own frames and valid ids.
 *
 * Input: a byte for the number of Python frames; one for the sample's flags and for CUT; then the
 * record from `at` on.
 */
#include <errno.h>
#include <string.h>

#include "bpf/abi_await.h"
#include "cpython/layout.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "tests/fuzz/check.h"

#define NOBODY 0x7ffffff0	/* no process has this tgid: its Python frames have no names */
#define HEAD_BYTES 2
#define CUT 1	/* no flag of a sample that is used here: the record is as short as the input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t own;	/* frames that the event has in any case */
static uint32_t events;

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	const struct profile_tables *t = process_tables(p);
	uint32_t i;

	check(ev->nframes <= EVENT_MAX_FRAMES && ev->nframes >= own);
	for (i = 0; i < ev->nframes; i++)
		check(ev->frames[i] < t->frame_cnt);
	events++;
	return 0;
}

static const struct observer_ops ops = { .event = take_event };
static struct observer observer = { &ops };

static struct process *new_process(void)
{
	static struct cpython_image image;

	image = (struct cpython_image){ .major = 3, .minor = 12 };
	layout_from_table(&image);
	return process_new(&(struct process_args){
		.tgid = NOBODY, .comm = "fuzz", .image = &image, .observer = &observer,
		.task_names = true,
	});
}

/* The record, cut to what the input has of it. */
static size_t record_of(struct raw_async *r, const uint8_t *data, size_t size)
{
	size_t from = offsetof(struct raw_async, at);

	memset(r, 0, sizeof(*r));
	r->h = (struct raw_header){ .kind = RAW_ASYNC, .tgid = NOBODY, .time_ns = 1000 };
	r->tid = 7;
	if (size > sizeof(*r) - from)
		size = sizeof(*r) - from;
	memcpy((uint8_t *)r + from, data, size);
	return from + size;
}

static void take_sample(struct process *p, uint32_t cnt, uint8_t flags)
{
	static struct raw_sample raw;
	uint32_t i;

	raw = (struct raw_sample){
		.h = { .kind = RAW_SAMPLE, .tgid = NOBODY, .time_ns = 1000 },
		.tid = 7, .nframes = (uint16_t)cnt,
		.flags = flags & (RAW_UNREADABLE | RAW_BROKEN_END | RAW_SWITCHING),
	};
	for (i = 0; i < cnt; i++)
		raw.frames[i] = (struct raw_frame){ 4096 * (i + 1), 0, 1 };
	check(!process_take(p, &raw, raw_sample_bytes(raw.nframes, raw.flags)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct raw_async record;
	struct process *p;
	uint32_t cnt;
	size_t len;
	int err;

	if (size < HEAD_BYTES)
		return 0;
	p = new_process();
	check(p);
	len = record_of(&record, data + HEAD_BYTES, size - HEAD_BYTES);
	err = process_take(p, &record, data[1] & CUT ? len : sizeof(record));
	check(!err || err == -EBADMSG);
	cnt = data[0] + 1u;
	own = !err && record.at < cnt ? record.at + 1u : cnt;
	events = 0;
	take_sample(p, cnt, data[1]);
	check(events == 1);
	process_free(p);
	return 0;
}
