// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * perfetto.c - writes a timeline as Perfetto's trace (docs/format-trace.md): a sequence of packets,
 * each with what it needs for the first time (InternedData) before it. See trace.h.
 *
 * Fields are those of perfetto.dev/docs/reference/trace-packet-proto: protos/perfetto/trace/
 * trace_packet.proto, track_event/track_event.proto, interned_data/interned_data.proto.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "formats/formats.h"
#include "formats/trace/trace.h"
#include "model/intern.h"

enum { TRACE_PACKET = 1 };
enum {				/* TracePacket */
	PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11, PACKET_INTERNED_DATA = 12, PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TIMESTAMP_CLOCK_ID = 58, PACKET_DEFAULTS = 59, PACKET_TRACK_DESCRIPTOR = 60,
};
enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { CLOCKS = 1, PRIMARY_CLOCK = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { BUILTIN_CLOCK_REALTIME = 1, BUILTIN_CLOCK_MONOTONIC = 3 };
enum {				/* TrackDescriptor */
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT_NAME = 6 };
enum {				/* TrackEvent */
	EVENT_ANNOTATIONS = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK = 11,
	EVENT_COUNTER_VALUE = 30, EVENT_SOURCE_IID = 34,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { INTERNED_EVENT_NAMES = 2, INTERNED_SOURCES = 4, INTERNED_IID = 1, INTERNED_NAME = 2 };
enum { SOURCE_FILE = 2, SOURCE_FUNCTION = 3, SOURCE_LINE = 4 };
enum {				/* DebugAnnotation */
	ANNOTATION_BOOL = 2, ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6, ANNOTATION_NAME = 10,
};

struct perfetto {
	struct proto_out packet, interned;
	struct intern *texts;		/* names that are no function's */
	struct buf known;		/* a byte for each number of a name: it was written */
	bool clocked;			/* the clocks were written */
};

static struct perfetto *of(const struct trace *t)
{
	return t->own;
}

/* ---- packets ---- */

static struct proto_out *start_packet(struct trace *t, uint64_t at_ns)
{
	struct perfetto *p = of(t);

	p->packet.b.len = 0;
	if (at_ns)
		proto_number_or_0(&p->packet, PACKET_TIMESTAMP, at_ns);
	proto_number(&p->packet, PACKET_SEQUENCE_ID, 1);
	return &p->packet;
}

static void put_packet(struct trace *t)
{
	struct perfetto *p = of(t);
	uint8_t head[2 * VARINT_MAX], *end;

	end = varint_put(head, TRACE_PACKET << 3 | WIRE_BYTES);
	end = varint_put(end, p->packet.b.len);
	if (p->packet.err)
		trace_fail(t, p->packet.err);
	else
		writer_put(t->w, head, (size_t)(end - head));
	if (!p->packet.err)
		writer_put(t->w, p->packet.b.data, p->packet.b.len);
}

/* Returns true if a number is new, and notes it. */
static bool is_new(struct trace *t, uint64_t number)
{
	struct buf *known = &of(t)->known;
	size_t had = known->len;

	if (number >= had) {
		trace_fail(t, buf_reserve(known, number + 1 - had));
		if (t->err)
			return false;
		memset(known->data + had, 0, number + 1 - had);
		known->len = number + 1;
	}
	if (known->data[number])
		return false;
	known->data[number] = 1;
	return true;
}

static void intern_name(struct trace *t, uint64_t iid, const char *name)
{
	struct proto_out *out = &of(t)->interned;
	size_t begin = proto_begin(out, INTERNED_EVENT_NAMES);

	proto_number(out, INTERNED_IID, iid);
	proto_text(out, INTERNED_NAME, name);
	proto_end(out, begin);
}

/* A function's name, and its place; both have this number. */
static void intern_function(struct trace *t, uint64_t iid, uint32_t label)
{
	struct proto_out *out = &of(t)->interned;
	char *name = trace_function(t, label), *file = trace_file(t, label);
	size_t begin;

	if (name && file) {
		intern_name(t, iid, name);
		begin = proto_begin(out, INTERNED_SOURCES);
		proto_number(out, INTERNED_IID, iid);
		proto_text(out, SOURCE_FILE, file);
		proto_text(out, SOURCE_FUNCTION, name);
		proto_number(out, SOURCE_LINE, stacks_line(t->stacks, label));
		proto_end(out, begin);
	} else {
		trace_fail(t, -ENOMEM);
	}
	free(name);
	free(file);
}

/* Numbers of functions are odd, of texts even; 0 is none. */
static uint64_t function_number(struct trace *t, uint32_t label)
{
	uint64_t iid = 2 * (uint64_t)label + 1;

	if (label == TRACE_NO_LABEL)
		return 0;
	if (is_new(t, iid))
		intern_function(t, iid, label);
	return iid;
}

static uint64_t text_number(struct trace *t, const char *text)
{
	uint32_t id = 0;
	uint64_t iid;

	trace_fail(t, intern_string(of(t)->texts, text, strlen(text), &id));
	iid = 2 * (uint64_t)id + 2;
	if (is_new(t, iid))
		intern_name(t, iid, text);
	return iid;
}

/* Puts what is interned into the packet. */
static void put_interned(struct trace *t)
{
	struct perfetto *p = of(t);
	size_t begin;

	trace_fail(t, p->interned.err);
	if (!p->interned.b.len)
		return;
	begin = proto_begin(&p->packet, PACKET_INTERNED_DATA);
	proto_append(&p->packet, &p->interned);
	proto_end(&p->packet, begin);
	p->interned.b.len = 0;
}

static size_t start_event(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			  uint64_t type)
{
	struct proto_out *out = start_packet(t, at_ns);
	size_t begin;

	proto_number(out, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	put_interned(t);
	begin = proto_begin(out, PACKET_TRACK_EVENT);
	proto_number(out, EVENT_TYPE, type);
	proto_number(out, EVENT_TRACK, lane->id);
	return begin;
}

static void end_event(struct trace *t, size_t begin)
{
	proto_end(&of(t)->packet, begin);
	put_packet(t);
}

/* ---- what a trace has ---- */

static void put_head(struct trace *t)
{
	struct proto_out *out = start_packet(t, 0);
	size_t begin;

	proto_number(out, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	begin = proto_begin(out, PACKET_DEFAULTS);
	proto_number(out, PACKET_TIMESTAMP_CLOCK_ID, BUILTIN_CLOCK_MONOTONIC);
	proto_end(out, begin);
	put_packet(t);
}

static void put_clock(struct proto_out *out, uint64_t id, uint64_t ns)
{
	size_t begin = proto_begin(out, CLOCKS);

	proto_number(out, CLOCK_ID, id);
	proto_number_or_0(out, CLOCK_TIMESTAMP, ns);
	proto_end(out, begin);
}

/* The trace's clock is that of the recording; its time of day is known at the first start. */
static void put_clocks(struct trace *t)
{
	const struct profile_meta *m = &stacks_process(t->stacks, 0)->meta;
	struct proto_out *out = start_packet(t, 0);
	size_t begin = proto_begin(out, PACKET_CLOCK_SNAPSHOT);

	put_clock(out, BUILTIN_CLOCK_MONOTONIC, trace_ns(m->start_us));
	if (m->start_utc_ns)
		put_clock(out, BUILTIN_CLOCK_REALTIME, m->start_utc_ns);
	proto_number(out, PRIMARY_CLOCK, BUILTIN_CLOCK_MONOTONIC);
	proto_end(out, begin);
	put_packet(t);
}

static void put_owner(struct proto_out *out, const struct trace_lane *lane)
{
	bool process = lane->kind == LANE_PROCESS;
	size_t begin = proto_begin(out, process ? TRACK_PROCESS : TRACK_THREAD);

	proto_number(out, process ? PROCESS_PID : THREAD_PID, (uint64_t)lane->pid);
	if (!process)
		proto_number(out, THREAD_TID, (uint64_t)lane->tid);
	proto_text(out, process ? PROCESS_NAME : THREAD_NAME, lane->name);
	proto_end(out, begin);
}

static void put_lane(struct trace *t, const struct trace_lane *lane)
{
	struct proto_out *out;
	size_t begin, counter;

	if (!of(t)->clocked)
		put_clocks(t);
	of(t)->clocked = true;
	out = start_packet(t, 0);
	begin = proto_begin(out, PACKET_TRACK_DESCRIPTOR);
	proto_number(out, TRACK_UUID, lane->id);
	if (lane->kind == LANE_PROCESS || lane->kind == LANE_THREAD) {
		put_owner(out, lane);
	} else {
		proto_number(out, TRACK_PARENT, lane->parent);
		proto_text(out, TRACK_NAME, lane->what);
	}
	if (lane->kind == LANE_COUNTER) {
		counter = proto_begin(out, TRACK_COUNTER);
		proto_text(out, COUNTER_UNIT_NAME, "%");
		proto_end(out, counter);
	}
	proto_end(out, begin);
	put_packet(t);
}

static void put_named(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
		      uint64_t type, const struct trace_name *name, uint64_t weight)
{
	struct proto_out *out = &of(t)->packet;
	uint64_t function = function_number(t, name->label);
	uint64_t number = name->text ? text_number(t, name->text) : function;
	size_t begin = start_event(t, lane, at_ns, type), annotation;

	proto_number(out, EVENT_NAME_IID, number);
	proto_number(out, EVENT_SOURCE_IID, function);
	if (weight > 1) {
		annotation = proto_begin(out, EVENT_ANNOTATIONS);
		proto_number(out, ANNOTATION_UINT, weight);
		proto_text(out, ANNOTATION_NAME, "weight");
		proto_end(out, annotation);
	}
	end_event(t, begin);
}

static void put_begin(struct trace *t, const struct trace_lane *lane)
{
	const struct trace_slice *s = &lane->open[lane->cnt - 1];

	put_named(t, lane, s->begin_ns, SLICE_BEGIN, &s->name, 1);
}

static void put_end(struct trace *t, const struct trace_lane *lane, uint64_t at_ns)
{
	end_event(t, start_event(t, lane, at_ns, SLICE_END));
}

static void put_instant(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			const struct trace_name *name, uint64_t weight)
{
	put_named(t, lane, at_ns, INSTANT, name, weight);
}

/* A number of JSON: as an integer if it is one of 64 bits. */
static void put_json_number(struct proto_out *out, const char *text)
{
	double real = strtod(text, NULL);
	long long whole;
	uint64_t bits;
	char *end;

	errno = 0;
	whole = strtoll(text, &end, 10);
	memcpy(&bits, &real, sizeof(bits));
	if (*end || errno)
		proto_fixed64(out, ANNOTATION_DOUBLE, bits);
	else
		proto_number_or_0(out, ANNOTATION_INT, (uint64_t)whole);
}

static void put_value(struct proto_out *out, const struct trace_fact *fact)
{
	if (!fact->text)
		proto_number_or_0(out, ANNOTATION_UINT, fact->number);
	else if (!fact->is_json || *fact->text == 'n')	/* there is no null */
		proto_text(out, ANNOTATION_STRING, fact->text);
	else if (*fact->text == 't' || *fact->text == 'f')
		proto_number_or_0(out, ANNOTATION_BOOL, *fact->text == 't');
	else
		put_json_number(out, fact->text);
}

/* An event with a name that is text. */
static void put_with_facts(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			   uint64_t type, const char *name, const struct trace_fact *facts,
			   size_t cnt)
{
	struct proto_out *out = &of(t)->packet;
	uint64_t number = text_number(t, name);
	size_t begin = start_event(t, lane, at_ns, type), i;

	proto_number(out, EVENT_NAME_IID, number);
	for (i = 0; i < cnt; i++) {
		size_t annotation = proto_begin(out, EVENT_ANNOTATIONS);

		put_value(out, &facts[i]);
		proto_text(out, ANNOTATION_NAME, facts[i].name);
		proto_end(out, annotation);
	}
	end_event(t, begin);
}

static void put_facts(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
		      const char *name, const struct trace_fact *facts, size_t cnt)
{
	put_with_facts(t, lane, at_ns, INSTANT, name, facts, cnt);
}

static void put_region(struct trace *t, const struct trace_lane *lane,
		       const struct trace_fact *facts, size_t cnt)
{
	const struct trace_slice *s = &lane->open[lane->cnt - 1];

	put_with_facts(t, lane, s->begin_ns, SLICE_BEGIN, s->name.text, facts, cnt);
}

static void put_counter(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			uint64_t value)
{
	size_t begin = start_event(t, lane, at_ns, COUNTER);

	proto_number_or_0(&of(t)->packet, EVENT_COUNTER_VALUE, value);
	end_event(t, begin);
}

static void put_tail(struct trace *t)
{
}

static void free_perfetto(struct trace *t)
{
	struct perfetto *p = of(t);

	proto_out_free(&p->packet);
	proto_out_free(&p->interned);
	intern_free(p->texts);
	buf_free(&p->known);
	free(p);
}

static const struct trace_ops perfetto_ops = {
	.sink = &sink_perfetto, .head = put_head, .lane = put_lane, .begin = put_begin,
	.end = put_end, .region = put_region, .instant = put_instant, .facts = put_facts,
	.counter = put_counter, .tail = put_tail, .free = free_perfetto,
};

static struct sink *perfetto_open(const struct sink_args *args)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	struct sink *s = NULL;

	if (p)
		p->texts = intern_new();
	if (p && p->texts)
		s = trace_open(args, &perfetto_ops, p);
	if (s)
		return s;
	if (p)
		intern_free(p->texts);
	free(p);
	errno = ENOMEM;
	return NULL;
}

const struct sink_ops sink_perfetto = {
	.name = "perfetto",
	.help = "timeline for ui.perfetto.dev: threads, functions, states",
	.binary = true,
	.open = perfetto_open,
	.begin = trace_begin,
	.region = trace_region,
	.event = trace_event,
	.end = trace_end,
	.close = trace_close,
	.suffix = ".pftrace",
	.no_bytes = "a timeline shows time; pprof and speedscope have bytes",
};
