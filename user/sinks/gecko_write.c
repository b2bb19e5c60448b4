// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gecko_write.c - the Firefox Profiler's "processed" JSON, version 57
 * (docs/format-gecko.md). See gecko.h. Owns the tables of frames, functions and
 * files that each thread has, and the strings that all share.
 *
 * Fields, names and categories are those of CPython 3.15's
 * Lib/profiling/sampling/gecko_collector.py.
 */
#include "gecko.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "intern.h"

#define CATEGORY_PYTHON 1
#define CATEGORY_NATIVE 2
#define RESOURCE_LIBRARY 1

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

/* A thread's tables. Numbers are by first use. */
struct tables {
	struct gecko *g;
	struct gecko_thread *th;
	const struct profile_tables *t;		/* what labels mean */
	struct intern *strings;			/* shared by all threads */
	struct intern *frames;			/* the frames, as labels: strings of u32 */
	struct intern *funcs;			/* frames of file, func; line: the first one's */
	struct intern *resources;		/* files: strings of u32 */
	struct buf func_lines;			/* i32, by function */
	struct writer *w;
};

static bool is_python(struct string_ref file)
{
	static const char *const also[] = { "<stdin>", "<string>" };
	size_t i;

	if (!file.len || file.data[0] != '<')
		return true;
	for (i = 0; i < ARRAY_SIZE(also); i++) {
		if (file.len == strlen(also[i]) && !memcmp(file.data, also[i], file.len))
			return true;
	}
	return false;
}

static int number_of(struct intern *in, uint32_t value, uint32_t *number)
{
	return intern_string(in, (const char *)&value, sizeof(value), number);
}

static uint32_t value_of(struct intern *in, uint32_t number)
{
	uint32_t value;

	memcpy(&value, intern_tables(in)->strings[number].data, sizeof(value));
	return value;
}

/* A thread's frames, functions and files, in the order in which its stacks name them. */
static int fill_tables(struct tables *x)
{
	uint32_t i, number, known, cnt = x->th->nodes.cnt;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		uint32_t label = x->th->nodes.list[i].a;
		const struct frame *f = &x->t->frames[label];
		struct frame func = { .file = f->file, .func = f->func };

		err = number_of(x->frames, label, &number);
		known = intern_tables(x->funcs)->frame_cnt;
		if (!err)
			err = intern_frame(x->funcs, &func, &number);
		if (!err && number == known)
			err = buf_add(&x->func_lines, &f->line, sizeof(f->line));
		if (!err)
			err = number_of(x->resources, f->file, &number);
	}
	return err;
}

/* The comma is not for the first key of an object. */
static void put_key(struct writer *w, const char *key)
{
	bool first = w->len && w->data[w->len - 1] == '{';

	writer_text(w, first ? "\"" : ",\"");
	writer_text(w, key);
	writer_text(w, "\":");
}

/* A column of cnt equal values. */
static void put_same(struct writer *w, const char *key, const char *value, uint64_t cnt)
{
	uint64_t i;

	put_key(w, key);
	writer_char(w, '[');
	for (i = 0; i < cnt; i++) {
		if (i)
			writer_char(w, ',');
		writer_text(w, value);
	}
	writer_char(w, ']');
}

/* A column: put() writes the i-th value. */
static int put_column(struct tables *x, const char *key, uint32_t cnt,
		      int (*put)(struct tables *x, uint32_t i))
{
	uint32_t i;
	int err = 0;

	put_key(x->w, key);
	writer_char(x->w, '[');
	for (i = 0; !err && i < cnt; i++) {
		if (i)
			writer_char(x->w, ',');
		err = put(x, i);
	}
	writer_char(x->w, ']');
	return err;
}

static void put_length(struct writer *w, uint64_t cnt)
{
	put_key(w, "length");
	writer_uint(w, cnt);
	writer_char(w, '}');
}

static int put_string_id(struct tables *x, struct string_ref s)
{
	uint32_t id;
	int err = intern_string(x->strings, s.data, s.len, &id);

	writer_uint(x->w, id);
	return err;
}

static const struct frame *node_frame(struct tables *x, uint32_t i)
{
	return &x->t->frames[x->th->nodes.list[i].a];
}

static int category_of(const struct tables *x, const struct frame *f)
{
	return is_python(x->t->strings[f->file]) ? CATEGORY_PYTHON : CATEGORY_NATIVE;
}

static int stack_frame(struct tables *x, uint32_t i)
{
	uint32_t number;
	int err = number_of(x->frames, x->th->nodes.list[i].a, &number);

	writer_uint(x->w, number);
	return err;
}

static int stack_category(struct tables *x, uint32_t i)
{
	writer_int(x->w, category_of(x, node_frame(x, i)));
	return 0;
}

static int stack_prefix(struct tables *x, uint32_t i)
{
	uint32_t prefix1 = x->th->nodes.list[i].b;

	if (prefix1)
		writer_uint(x->w, prefix1 - 1);
	else
		writer_text(x->w, "null");
	return 0;
}

static int put_stack_table(struct tables *x)
{
	uint32_t cnt = x->th->nodes.cnt;
	int err;

	writer_text(x->w, ",\"stackTable\":{");
	err = put_column(x, "frame", cnt, stack_frame);
	if (!err)
		err = put_column(x, "category", cnt, stack_category);
	put_same(x->w, "subcategory", "0", cnt);
	if (!err)
		err = put_column(x, "prefix", cnt, stack_prefix);
	put_length(x->w, cnt);
	return err;
}

static const struct frame *frame_at(struct tables *x, uint32_t i)
{
	return &x->t->frames[value_of(x->frames, i)];
}

static int frame_category(struct tables *x, uint32_t i)
{
	writer_int(x->w, category_of(x, frame_at(x, i)));
	return 0;
}

static int frame_func(struct tables *x, uint32_t i)
{
	const struct frame *f = frame_at(x, i);
	struct frame func = { .file = f->file, .func = f->func };
	uint32_t number;
	int err = intern_frame(x->funcs, &func, &number);

	writer_uint(x->w, number);
	return err;
}

static void put_or_null(struct writer *w, bool known, int64_t v)
{
	if (known)
		writer_int(w, v);
	else
		writer_text(w, "null");
}

static int frame_line(struct tables *x, uint32_t i)
{
	put_or_null(x->w, frame_at(x, i)->line, frame_at(x, i)->line);
	return 0;
}

static int frame_column(struct tables *x, uint32_t i)
{
	put_or_null(x->w, frame_at(x, i)->column != COLUMN_NONE, frame_at(x, i)->column);
	return 0;
}

static int put_frame_table(struct tables *x)
{
	static const char *const nulls[] = { "innerWindowID", "implementation", "optimizations",
					     "nativeSymbol" };
	uint32_t i, cnt = intern_tables(x->frames)->string_cnt;
	int err;

	writer_text(x->w, ",\"frameTable\":{");
	put_same(x->w, "address", "-1", cnt);
	put_same(x->w, "inlineDepth", "0", cnt);
	put_same(x->w, "subcategory", "0", cnt);
	for (i = 0; i < ARRAY_SIZE(nulls); i++)
		put_same(x->w, nulls[i], "null", cnt);
	err = put_column(x, "category", cnt, frame_category);
	if (!err)
		err = put_column(x, "func", cnt, frame_func);
	if (!err)
		err = put_column(x, "line", cnt, frame_line);
	if (!err)
		err = put_column(x, "column", cnt, frame_column);
	put_length(x->w, cnt);
	return err;
}

static const struct frame *func_at(struct tables *x, uint32_t i)
{
	return &intern_tables(x->funcs)->frames[i];
}

static bool func_is_python(struct tables *x, uint32_t i)
{
	return is_python(x->t->strings[func_at(x, i)->file]);
}

static int func_name(struct tables *x, uint32_t i)
{
	return put_string_id(x, x->t->strings[func_at(x, i)->func]);
}

static int func_js(struct tables *x, uint32_t i)
{
	writer_text(x->w, func_is_python(x, i) ? "true" : "false");
	return 0;
}

static int func_resource(struct tables *x, uint32_t i)
{
	uint32_t number;
	int err = number_of(x->resources, func_at(x, i)->file, &number);

	writer_uint(x->w, number);
	return err;
}

static int func_file(struct tables *x, uint32_t i)
{
	if (func_is_python(x, i))
		return put_string_id(x, path_base(x->t->strings[func_at(x, i)->file]));
	writer_text(x->w, "null");
	return 0;
}

static int func_line(struct tables *x, uint32_t i)
{
	bool known = func_is_python(x, i) && !stacks_synthetic(x->t, func_at(x, i));

	put_or_null(x->w, known, ((int32_t *)(void *)x->func_lines.data)[i]);
	return 0;
}

static int put_func_table(struct tables *x)
{
	uint32_t cnt = intern_tables(x->funcs)->frame_cnt;
	int err;

	writer_text(x->w, ",\"funcTable\":{");
	err = put_column(x, "name", cnt, func_name);
	if (!err)
		err = put_column(x, "isJS", cnt, func_js);
	if (!err)
		err = put_column(x, "relevantForJS", cnt, func_js);
	if (!err)
		err = put_column(x, "resource", cnt, func_resource);
	if (!err)
		err = put_column(x, "fileName", cnt, func_file);
	if (!err)
		err = put_column(x, "lineNumber", cnt, func_line);
	put_same(x->w, "columnNumber", "null", cnt);
	put_length(x->w, cnt);
	return err;
}

static int resource_name(struct tables *x, uint32_t i)
{
	return put_string_id(x, path_base(x->t->strings[value_of(x->resources, i)]));
}

static int put_resource_table(struct tables *x)
{
	uint32_t cnt = intern_tables(x->resources)->string_cnt;
	char type[4];
	int err;

	snprintf(type, sizeof(type), "%d", RESOURCE_LIBRARY);
	writer_text(x->w, ",\"resourceTable\":{");
	put_same(x->w, "lib", "null", cnt);
	err = put_column(x, "name", cnt, resource_name);
	put_same(x->w, "host", "null", cnt);
	put_same(x->w, "type", type, cnt);
	put_length(x->w, cnt);
	writer_text(x->w, ",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			  "\"functionSize\":[],\"length\":0}");
	return err;
}

/* A column of a spooled table: put() writes a record's part. */
static int put_spooled(struct tables *x, const char *key, const struct spool_stream *st,
		       void (*put)(struct tables *x, const uint64_t r[3], int64_t *state))
{
	struct spool_reader r;
	uint64_t record[3];
	int64_t state = 0;
	bool first = true;
	int more;

	put_key(x->w, key);
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

static void sample_stack(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_uint(x->w, r[0] - 1);
}

static void sample_time(struct tables *x, const uint64_t r[3], int64_t *state)
{
	*state = (int64_t)((uint64_t)*state + (uint64_t)spool_unzigzag(r[1]));
	writer_ms(x->w, (int64_t)((uint64_t)*state - (uint64_t)x->g->base_us));
}

static void sample_weight(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_uint(x->w, r[2]);
}

/* The Firefox Profiler has "tracing-ms" for times: milliseconds, with a fraction. */
static void sample_weight_ns(struct tables *x, const uint64_t r[3], int64_t *state)
{
	uint64_t us = r[2] / 1000 + (r[2] % 1000 >= 500);

	writer_ms(x->w, us > INT64_MAX ? INT64_MAX : (int64_t)us);
}

static int put_samples(struct tables *x)
{
	static const char *const types[] = { [UNIT_SAMPLES] = "samples", [UNIT_BYTES] = "bytes",
					     [UNIT_NANOSECONDS] = "tracing-ms" };
	enum profile_unit unit = stacks_process(x->g->stacks, x->th->process)->meta.unit;
	int err;

	writer_text(x->w, ",\"samples\":{\"weightType\":\"");
	writer_text(x->w, types[unit]);
	writer_char(x->w, '"');
	err = put_spooled(x, "stack", &x->th->samples, sample_stack);
	if (!err)
		err = put_spooled(x, "time", &x->th->samples, sample_time);
	put_same(x->w, "eventDelay", "null", x->th->sample_cnt);
	if (err)
		return err;
	if (x->th->weighted || unit != UNIT_SAMPLES)
		err = put_spooled(x, "weight", &x->th->samples,
				  unit == UNIT_NANOSECONDS ? sample_weight_ns : sample_weight);
	else
		writer_text(x->w, ",\"weight\":null");
	put_length(x->w, x->th->sample_cnt);
	return err;
}

static int64_t since_base(const struct tables *x, uint64_t zigzag)
{
	return (int64_t)((uint64_t)spool_unzigzag(zigzag) - (uint64_t)x->g->base_us);
}

static void marker_data(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_text(x->w, "{\"type\":\"");
	writer_text(x->w, markers[r[0]].type);
	writer_text(x->w, "\",\"duration\":");
	writer_ms(x->w, since_base(x, r[2]) - since_base(x, r[1]));
	writer_text(x->w, ",\"tid\":");
	writer_uint(x->w, x->th->thread_id);
	writer_char(x->w, '}');
}

static void marker_name(struct tables *x, const uint64_t r[3], int64_t *state)
{
	int err = put_string_id(x, string_of(markers[r[0]].name));

	if (err && !x->w->err)
		x->w->err = err;
}

static void marker_start(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_ms(x->w, since_base(x, r[1]));
}

static void marker_end(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_ms(x->w, since_base(x, r[2]));
}

static void marker_category(struct tables *x, const uint64_t r[3], int64_t *state)
{
	writer_int(x->w, markers[r[0]].category);
}

static int put_markers(struct tables *x)
{
	static const struct {
		const char *key;
		void (*put)(struct tables *x, const uint64_t r[3], int64_t *state);
	} columns[] = {
		{ "data", marker_data }, { "name", marker_name }, { "startTime", marker_start },
		{ "endTime", marker_end }, { "category", marker_category },
	};
	size_t i;
	int err = 0;

	writer_text(x->w, ",\"markers\":{");
	for (i = 0; !err && i < ARRAY_SIZE(columns); i++)
		err = put_spooled(x, columns[i].key, &x->th->markers, columns[i].put);
	put_same(x->w, "phase", "1", x->th->marker_cnt);
	put_length(x->w, x->th->marker_cnt);
	return err;
}

static void put_thread_head(struct tables *x)
{
	const struct stack_process *p = stacks_process(x->g->stacks, x->th->process);
	char text[64];

	snprintf(text, sizeof(text), "{\"name\":\"Thread-%llu\",\"isMainThread\":%s",
		 (unsigned long long)x->th->thread_id, x->th->main ? "true" : "false");
	writer_text(x->w, text);
	writer_text(x->w, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			  "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
			  "\"pid\":\"");
	/* The pid groups threads: those of two unknown processes are not one's. */
	if (!p->meta.tgid && x->th->process)
		writer_text(x->w, "unknown-");
	writer_uint(x->w, p->meta.tgid ? p->meta.tgid : x->th->process);
	writer_text(x->w, "\",\"tid\":");
	writer_uint(x->w, x->th->thread_id);
	writer_text(x->w, ",\"processType\":\"default\",\"processName\":");
	writer_json(x->w, string_of(*p->name ? p->name : "Python Process"));
}

static int put_thread(struct tables *x)
{
	static int (*const parts[])(struct tables *) = {
		put_samples, put_stack_table, put_frame_table, put_func_table,
		put_resource_table, put_markers,
	};
	size_t i;
	int err = -ENOMEM;

	x->frames = intern_new();
	x->funcs = intern_new();
	x->resources = intern_new();
	x->func_lines.len = 0;
	if (x->frames && x->funcs && x->resources)
		err = fill_tables(x);
	if (!err)
		put_thread_head(x);
	for (i = 0; !err && i < ARRAY_SIZE(parts); i++)
		err = parts[i](x);
	writer_char(x->w, '}');
	intern_free(x->frames);
	intern_free(x->funcs);
	intern_free(x->resources);
	return err;
}

/* Milliseconds between two samples, whichever thread's: CPython's notion of it. */
static void put_interval(struct gecko *g, struct writer *w)
{
	int64_t span = (int64_t)((uint64_t)g->last_us - (uint64_t)g->base_us);
	char text[32];

	snprintf(text, sizeof(text), "%.6f",
		 g->event_cnt && span > 0 ? (double)span / 1000 / (double)g->event_cnt : 1.0);
	writer_text(w, text);
}

static void put_meta(struct gecko *g, struct writer *w)
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
	/* CPython's is no time of day either, but its monotonic clock when it converted. */
	put_key(w, "startTime");
	writer_ms(w, m && m->start_utc_ns ? (int64_t)(m->start_utc_ns / 1000) :
					    g->based ? g->base_us : 0);
	snprintf(text, sizeof(text), ",\"abi\":\"%.60s\",\"oscpu\":\"%.60s\","
		 "\"misc\":\"Python profiler\",\"platform\":", u.machine, u.machine);
	writer_text(w, text);
	writer_json(w, string_of(m && m->platform ? m->platform : "Linux"));
	writer_text(w, ",\"processType\":0,\"categories\":[");
	for (i = 0; i < ARRAY_SIZE(categories); i++) {
		snprintf(text, sizeof(text),
			 "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			 i ? "," : "", categories[i].name, categories[i].color);
		writer_text(w, text);
	}
	snprintf(text, sizeof(text), "%ld,\"logicalCPUs\":%ld", cpus, cpus);
	writer_text(w, "],\"stackwalk\":0,\"toolkit\":\"\",\"version\":32,"
		       "\"preprocessedProfileVersion\":57,\"appBuildID\":\"\",\"physicalCPUs\":");
	writer_text(w, text);
	writer_text(w, ",\"CPUName\":\"\",\"product\":\"Python\",\"symbolicated\":true,"
		       "\"markerSchema\":[],\"importedFrom\":\"tachbpf " TACHBPF_VERSION "\","
		       "\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}},"
		       "\"libs\":[],\n\"threads\":[");
}

static void put_strings(struct writer *w, struct intern *strings)
{
	const struct profile_tables *t = intern_tables(strings);
	uint32_t i;

	writer_text(w, "],\n\"pages\":[],\"shared\":{\"stringArray\":[");
	for (i = 0; i < t->string_cnt; i++) {
		if (i)
			writer_char(w, ',');
		writer_json(w, t->strings[i]);
	}
	writer_text(w, "],\"sources\":{\"length\":0,\"uuid\":[],\"filename\":[]}}}\n");
}

int gecko_write(struct gecko *g)
{
	struct tables x = { .g = g, .t = stacks_tables(g->stacks), .strings = intern_new(),
			    .w = writer_new(g->args.fd) };
	uint32_t i, id;
	int err = -ENOMEM;

	if (!x.strings || !x.w)
		goto out;
	err = intern_string(x.strings, "(root)", strlen("(root)"), &id);
	put_meta(g, x.w);
	for (i = 0; !err && i < gecko_thread_cnt(g); i++) {
		writer_text(x.w, i ? ",\n" : "\n");
		x.th = gecko_thread_at(g, i);
		err = put_thread(&x);
	}
	put_strings(x.w, x.strings);
	if (!err)
		err = writer_flush(x.w);
out:
	buf_free(&x.func_lines);
	intern_free(x.strings);
	free(x.w);
	return err;
}
