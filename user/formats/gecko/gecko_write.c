// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gecko_write.c - writes the Firefox Profiler's "processed" JSON, version 57
 * (docs/format-gecko.md): what is common to all, the samples and markers of each thread, and the
 * strings that all share. See gecko.h.
 *
 * Fields, names and categories are those of CPython 3.15's
 * Lib/profiling/sampling/gecko_collector.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "formats/gecko/gecko.h"
#include "model/intern.h"
#include "model/profile_names.h"
#include "model/thread_names.h"

static const struct {
	const char *name, *color;
} categories[] = {
	{ "Other", "grey" }, { "Python", "yellow" }, { "Native", "blue" }, { "GC", "orange" },
	{ "GIL", "green" }, { "CPU", "purple" }, { "Code Type", "red" }, { "Opcodes", "magenta" },
	{ "Exception", "lightblue" },
};

static const struct {
	const char *name, *type;	/* type: the name without blanks */
	int category;
} markers[MARKER_CNT] = {
	[MARKER_HAS_GIL] = { "Has GIL", "HasGIL", 4 },
	[MARKER_NO_GIL] = { "No GIL", "NoGIL", 4 },
	[MARKER_ON_CPU] = { "On CPU", "OnCPU", 5 },
	[MARKER_OFF_CPU] = { "Off CPU", "OffCPU", 5 },
	[MARKER_PYTHON] = { "Python Code", "PythonCode", 6 },
	[MARKER_NATIVE] = { "Native Code", "NativeCode", 6 },
	[MARKER_GIL_WAIT] = { "Waiting for GIL", "WaitingforGIL", 4 },
	[MARKER_GC] = { "GC Collecting", "GCCollecting", 3 },
	[MARKER_EXCEPTION] = { "Has Exception", "HasException", 8 },
	[MARKER_NO_EXCEPTION] = { "No Exception", "NoException", 8 },
};

/* Writes a column of a spooled table; put() writes its value of each record. */
static int put_spooled(struct gecko_tables *x, const char *key, const struct spool_stream *st,
		       void (*put)(struct gecko_tables *x, const uint64_t r[3], int64_t *state))
{
	struct spool_reader r;
	uint64_t record[3];
	int64_t state = 0;
	bool first = true;
	int more;

	gecko_put_key(x->w, key);
	writer_char(x->w, '[');
	spool_read(&r, x->g->spool, st);
	while ((more = spool_next(&r, record, 3)) > 0 && !x->w->err) {
		if (!first)
			writer_char(x->w, ',');
		first = false;
		put(x, record, &state);
	}
	writer_char(x->w, ']');
	return more < 0 ? more : 0;
}

static void sample_stack(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_uint(x->w, r[0] - 1);
}

static void sample_time(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	*state = (int64_t)((uint64_t)*state + (uint64_t)spool_unzigzag(r[1]));
	writer_ms(x->w, (int64_t)((uint64_t)*state - (uint64_t)x->g->base_us));
}

static void sample_weight(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_uint(x->w, r[2]);
}

/* The Firefox Profiler's weight type for times is "tracing-ms": milliseconds with a fraction. */
static void sample_weight_ns(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	uint64_t us = r[2] / 1000 + (r[2] % 1000 >= 500);

	writer_ms(x->w, us > INT64_MAX ? INT64_MAX : (int64_t)us);
}

static int put_samples(struct gecko_tables *x)
{
	enum profile_unit unit = stacks_process(x->g->stacks, x->th->process)->meta.unit;
	int err;

	writer_text(x->w, ",\"samples\":{\"weightType\":\"");
	writer_text(x->w, unit == UNIT_NANOSECONDS ? "tracing-ms" : profile_unit_name(unit));
	writer_char(x->w, '"');
	err = put_spooled(x, "stack", &x->th->samples, sample_stack);
	if (!err)
		err = put_spooled(x, "time", &x->th->samples, sample_time);
	gecko_put_same(x->w, "eventDelay", "null", x->th->sample_cnt);
	if (err)
		return err;
	if (x->th->weighted || unit != UNIT_SAMPLES)
		err = put_spooled(x, "weight", &x->th->samples,
				  unit == UNIT_NANOSECONDS ? sample_weight_ns : sample_weight);
	else
		writer_text(x->w, ",\"weight\":null");
	gecko_put_length(x->w, x->th->sample_cnt);
	return err;
}

static int64_t since_base(const struct gecko_tables *x, uint64_t zigzag)
{
	return (int64_t)((uint64_t)spool_unzigzag(zigzag) - (uint64_t)x->g->base_us);
}

static void marker_data(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_text(x->w, "{\"type\":\"");
	writer_text(x->w, markers[r[0]].type);
	writer_text(x->w, "\",\"duration\":");
	writer_ms(x->w, (int64_t)((uint64_t)spool_unzigzag(r[2]) -
				  (uint64_t)spool_unzigzag(r[1])));
	writer_text(x->w, ",\"tid\":");
	writer_uint(x->w, x->th->thread_id);
	writer_char(x->w, '}');
}

static void marker_name(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	int err = gecko_put_string(x, string_of(markers[r[0]].name));

	if (err && !x->w->err)
		x->w->err = err;
}

static void marker_start(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_ms(x->w, since_base(x, r[1]));
}

static void marker_end(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_ms(x->w, since_base(x, r[2]));
}

static void marker_category(struct gecko_tables *x, const uint64_t r[3], int64_t *state)
{
	writer_int(x->w, markers[r[0]].category);
}

static int put_markers(struct gecko_tables *x)
{
	static const struct {
		const char *key;
		void (*put)(struct gecko_tables *x, const uint64_t r[3], int64_t *state);
	} columns[] = {
		{ "data", marker_data }, { "name", marker_name }, { "startTime", marker_start },
		{ "endTime", marker_end }, { "category", marker_category },
	};
	size_t i;
	int err = 0;

	writer_text(x->w, ",\"markers\":{");
	for (i = 0; !err && i < ARRAY_SIZE(columns); i++)
		err = put_spooled(x, columns[i].key, &x->th->markers, columns[i].put);
	gecko_put_same(x->w, "phase", "1", x->th->marker_cnt);
	gecko_put_length(x->w, x->th->marker_cnt);
	return err;
}

static void put_thread_head(struct gecko_tables *x)
{
	const struct stack_process *p = stacks_process(x->g->stacks, x->th->process);
	char name[THREAD_LABEL_BYTES];

	writer_text(x->w, "{\"name\":");
	json_string_in(x->w, string_of(thread_label(p->meta.thread_names, x->th->thread_id,
						    "Thread-", name)));
	writer_text(x->w, ",\"isMainThread\":");
	writer_text(x->w, x->th->main ? "true" : "false");
	writer_text(x->w, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			  "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
			  "\"pid\":\"");
	/* Threads are grouped by pid, so two unknown processes must have different ones. */
	if (!p->meta.tgid && x->th->process)
		writer_text(x->w, "unknown-");
	writer_uint(x->w, p->meta.tgid ? p->meta.tgid : x->th->process);
	writer_text(x->w, "\",\"tid\":");
	writer_uint(x->w, x->th->thread_id);
	writer_text(x->w, ",\"processType\":\"default\",\"processName\":");
	json_string_in(x->w, string_of(*p->name ? p->name : "Python Process"));
}

static int put_thread(struct gecko_tables *x)
{
	int err = gecko_tables_start(x);

	if (!err) {
		put_thread_head(x);
		err = put_samples(x);
	}
	if (!err)
		err = gecko_put_tables(x);
	if (!err)
		err = put_markers(x);
	writer_char(x->w, '}');
	gecko_tables_end(x);
	return err;
}

/* Writes the milliseconds between two samples of any threads, as CPython defines the interval. */
static void put_interval(struct gecko *g, struct writer *w)
{
	int64_t span = (int64_t)((uint64_t)g->last_us - (uint64_t)g->base_us);
	char text[32];

	snprintf(text, sizeof(text), "%.6f",
		 g->event_cnt && span > 0 ? (double)span / 1000 / (double)g->event_cnt : 1.0);
	writer_text(w, text);
}

/* A file's debug id, as Breakpad makes it from a build id: its first 16 bytes as a GUID. */
static void breakpad_id(const struct native_library *l, char out[NATIVE_BUILD_ID_TEXT])
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t id[NATIVE_BUILD_ID_MAX] = { 0 };
	size_t i;

	memcpy(id, l->build_id, l->build_id_bytes);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		snprintf(out + 2 * i, 3, "%02X", id[order[i]]);
	snprintf(out + 2 * i, 2, "0");
}

static void put_library(struct writer *w, const struct native_library *l)
{
	const struct string_ref path = l->path.len ? l->path : l->name;
	char text[NATIVE_BUILD_ID_TEXT];
	struct json j;

	json_start_in(&j, w);
	json_object(&j, NULL);
	json_string(&j, "arch", "");
	json_string_n(&j, "name", l->name.data, l->name.len);
	json_string_n(&j, "path", path.data, path.len);
	json_string_n(&j, "debugName", l->name.data, l->name.len);
	json_string_n(&j, "debugPath", path.data, path.len);
	breakpad_id(l, text);
	json_string(&j, "breakpadId", l->build_id_bytes ? text : "");
	json_string(&j, "codeId", l->build_id_bytes ? native_build_id_text(l, text) : NULL);
	json_object_end(&j);
}

static bool has_kernel(const struct profile_tables *t)
{
	uint32_t i;

	for (i = 0; i < t->frame_cnt && t->frames[i].kind != FRAME_KERNEL; i++)
		;
	return i < t->frame_cnt;
}

static void put_category(struct writer *w, bool first, const char *name, const char *color)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
		 first ? "" : ",", name, color);
	writer_text(w, text);
}

static void put_meta(struct gecko *g, const struct native_index *libraries, struct writer *w)
{
	uint32_t cnt = stacks_process_cnt(g->stacks);
	const struct profile_meta *m = cnt ? &stacks_process(g->stacks, 0)->meta : NULL;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct utsname u = { .machine = "" };
	char text[256];
	size_t i;

	uname(&u);
	writer_text(w, "{\"meta\":{\"interval\":");
	put_interval(g, w);
	/*
	 * CPython's value is not a time of day, either, but its monotonic clock at the conversion.
	 */
	gecko_put_key(w, "startTime");
	writer_ms(w, m && m->start_utc_ns ? (int64_t)(m->start_utc_ns / 1000) :
					    g->based ? g->base_us : 0);
	snprintf(text, sizeof(text), ",\"abi\":\"%.60s\",\"oscpu\":\"%.60s\","
		 "\"misc\":\"Python profiler\",\"platform\":", u.machine, u.machine);
	writer_text(w, text);
	json_string_in(w, string_of(m && m->platform ? m->platform : "Linux"));
	writer_text(w, ",\"processType\":0,\"categories\":[");
	for (i = 0; i < ARRAY_SIZE(categories); i++)
		put_category(w, !i, categories[i].name, categories[i].color);
	/* CPython has none. */
	if (has_kernel(stacks_tables(g->stacks)))
		put_category(w, false, "Kernel", "brown");
	snprintf(text, sizeof(text), "%ld,\"logicalCPUs\":%ld", cpus, cpus);
	writer_text(w, "],\"stackwalk\":0,\"toolkit\":\"\",\"version\":32,"
		       "\"preprocessedProfileVersion\":57,\"appBuildID\":\"\",\"physicalCPUs\":");
	writer_text(w, text);
	writer_text(w, ",\"CPUName\":\"\",\"product\":\"Python\",\"symbolicated\":true,"
		       "\"markerSchema\":[],\"importedFrom\":\"tachbpf " TACHBPF_VERSION "\","
		       "\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}},"
		       "\"libs\":[");
	for (i = 0; i < libraries->cnt; i++) {
		writer_text(w, i ? ",\n" : "");
		put_library(w, &libraries->list[i]);
	}
	writer_text(w, "],\n\"threads\":[");
}

static void put_strings(struct writer *w, struct intern *strings)
{
	const struct profile_tables *t = intern_tables(strings);
	uint32_t i;

	writer_text(w, "],\n\"pages\":[],\"shared\":{\"stringArray\":[");
	for (i = 0; i < t->string_cnt; i++) {
		if (i)
			writer_char(w, ',');
		json_string_in(w, t->strings[i]);
	}
	writer_text(w, "],\"sources\":{\"length\":0,\"uuid\":[],\"filename\":[]}}}\n");
}

int gecko_write(struct gecko *g)
{
	struct gecko_tables x = { .g = g, .t = stacks_tables(g->stacks), .strings = intern_new(),
			    .w = writer_new(g->args.fd, g->args.max_bytes) };
	uint32_t i, id;
	int err = -ENOMEM;

	if (!x.strings || !x.w || native_index_make(&x.libraries, x.t))
		goto out;
	err = intern_string(x.strings, "(root)", strlen("(root)"), &id);
	put_meta(g, &x.libraries, x.w);
	for (i = 0; !err && i < gecko_thread_cnt(g); i++) {
		writer_text(x.w, i ? ",\n" : "\n");
		x.th = gecko_thread_at(g, i);
		err = put_thread(&x);
	}
	put_strings(x.w, x.strings);
	if (!err)
		err = writer_flush(x.w);
out:
	native_index_free(&x.libraries);
	intern_free(x.strings);
	free(x.w);
	return err;
}
