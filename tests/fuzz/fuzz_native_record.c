// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_native_record.c - any bytes as records of machine code, and the sample behind each: whatever
 * they say, the event has all Python frames that fit, and valid ids.
 *
 * Input: a byte for the number of Python frames; one for what is special, see below; one for the
 * sample's flags; one for gc_at; then the record from nframes on.
 */
#include <string.h>

#include "cpython/layout.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "tests/fuzz/check.h"
#include "tests/unit/resolve/fake_native.h"

#define NOBODY 0x7ffffff0	/* no process has this tgid: its Python frames have no names */
#define HEAD_BYTES 4

enum {
	FULL = 1, LATER = 2, NAMELESS = 4, LINES = 8, VERSION_3_10 = 16, NO_STACK = 32, CUT = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t python_cnt, events;

static bool is_python(const struct profile_tables *t, uint32_t id)
{
	static const char name[] = "<unresolved>";
	const struct string_ref *s = &t->strings[t->frames[id].func];

	return s->len == strlen(name) && !memcmp(s->data, name, s->len);
}

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	const struct profile_tables *t = process_tables(p);
	uint32_t python = 0, i;

	check(ev->nframes <= EVENT_MAX_FRAMES);
	for (i = 0; i < ev->nframes; i++) {
		check(ev->frames[i] < t->frame_cnt);
		python += is_python(t, ev->frames[i]);
	}
	check(python <= python_cnt && (python == python_cnt || ev->nframes == EVENT_MAX_FRAMES));
	events++;
	return 0;
}

static const struct observer_ops ops = { .event = take_event };
static struct observer observer = { &ops };

static struct process *new_process(uint8_t special)
{
	static struct cpython_image image;

	image = (struct cpython_image){ .major = 3, .minor = 12 };
	layout_from_table(&image);
	image.minor = special & VERSION_3_10 ? 10 : 12;
	return process_new(&(struct process_args){
		.tgid = NOBODY, .comm = "fuzz", .image = &image, .observer = &observer,
		.native = &fake_native, .native_full = special & FULL,
	});
}

/* The record, cut to what the input has of it. */
static size_t record_of(struct raw_native *r, const uint8_t *data, size_t size)
{
	size_t from = offsetof(struct raw_native, nframes);

	memset(r, 0, sizeof(*r));
	r->h = (struct raw_header){ .kind = RAW_NATIVE, .tgid = NOBODY, .time_ns = 1000 };
	r->tid = 7;
	r->sp = 0x7ffd00001000ull;
	if (size > sizeof(*r) - from)
		size = sizeof(*r) - from;
	memcpy((uint8_t *)r + from, data, size);
	return from + size;
}

static void take_sample(struct process *p, uint8_t flags, uint8_t gc_at)
{
	static struct raw_sample raw;
	uint32_t i;

	raw = (struct raw_sample){
		.h = { .kind = RAW_SAMPLE, .tgid = NOBODY, .time_ns = 1000 },
		.tid = 7, .nframes = (uint16_t)python_cnt, .gc_at = gc_at,
		.flags = flags & (RAW_TRUNCATED | RAW_UNREADABLE | RAW_GC | RAW_SWITCHING),
	};
	for (i = 0; i < python_cnt; i++)
		raw.frames[i] = (struct raw_frame){ 4096 * (i + 1), 0, 1 };
	check(!process_take(p, &raw, raw_sample_bytes(raw.nframes, raw.flags)));
}

static void take_no_stack(struct process *p)
{
	const struct raw_no_stack raw = {
		.h = { .kind = RAW_NO_STACK, .tgid = NOBODY, .time_ns = 1000 },
		.tid = 7, .end = CNT_NATIVE_THREAD,
	};

	python_cnt = 0;
	check(!process_take(p, &raw, sizeof(raw)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct raw_native record;
	struct process *p;
	size_t len;
	int err;

	if (size < HEAD_BYTES)
		return 0;
	fake_native = (struct native){
		.later = data[1] & LATER, .nameless = data[1] & NAMELESS, .lines = data[1] & LINES,
	};
	p = new_process(data[1]);
	check(p);
	len = record_of(&record, data + HEAD_BYTES, size - HEAD_BYTES);
	err = process_take(p, &record, data[1] & CUT ? len : sizeof(record));
	check(!err || err == -EBADMSG);
	python_cnt = data[0] + 1u;
	events = 0;
	if (data[1] & NO_STACK)
		take_no_stack(p);
	else
		take_sample(p, data[2], data[3]);
	check(events == 1);
	fake_native.later = false;
	process_retry_names(p);
	check(!process_waits_for_names(p));
	process_free(p);
	return 0;
}
