// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pprof.c - writes profile.proto, gzipped, for Go's pprof and its relatives
 * (docs/format-pprof.md; profile.proto has the fields, protobuf-c encodes them).
 *
 * A profile is written as many small messages: protobuf concatenates repeated fields, so
 * all of them together are the profile, and memory only holds one. The string table comes
 * last; its ids are assigned when strings are used.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/qualify.h"
#include "model/aggregate.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/native_library.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "user/formats/pprof/profile.pb-c.h"

#define OUT_BYTES (64 * 1024)
#define GZIP_WINDOW (15 + 16)	/* zlib.h: 16 more for a gzip header */
#define GZIP_LEVEL 4
#define LABEL_MAX 8

typedef Tachbpf__PprofProfile profile_msg;	/* protobuf-c's names are its own */

struct pprof {
	struct aggregate *a;
	const struct profile_tables *t;
	struct intern *names;	/* the string table; each string with its NUL */
	struct qualifier *qualifier;
	struct native_index libraries;
	struct buf message;
	z_stream zip;
	uint64_t written;	/* bytes of the file */
	uint8_t out[OUT_BYTES];
};

/* Pass data to zlib, and its output to the file. */
static int deflate_out(struct pprof *p, const void *data, size_t len, int flush)
{
	int err, status;

	p->zip.next_in = (Bytef *)data;
	p->zip.avail_in = (uInt)len;
	do {
		p->zip.next_out = p->out;
		p->zip.avail_out = OUT_BYTES;
		status = deflate(&p->zip, flush);
		if (status == Z_STREAM_ERROR)
			return -EIO;
		p->written += OUT_BYTES - p->zip.avail_out;
		if (p->a->args.max_bytes && p->written > p->a->args.max_bytes)
			return -EFBIG;
		err = write_all(p->a->args.fd, p->out, OUT_BYTES - p->zip.avail_out);
		if (err)
			return err;
	} while (!p->zip.avail_out);
	return 0;
}

static int emit(struct pprof *p, const profile_msg *msg)
{
	size_t len = tachbpf__pprof_profile__get_packed_size(msg);

	p->message.len = 0;
	if (buf_reserve(&p->message, len + 1) || len > UINT32_MAX)
		return -ENOMEM;
	tachbpf__pprof_profile__pack(msg, p->message.data);
	return deflate_out(p, p->message.data, len, Z_NO_FLUSH);
}

/* Intern a printable copy of s: protobuf requires valid UTF-8. */
static int add_string(struct pprof *p, struct string_ref s, int64_t *id)
{
	size_t room = (size_t)s.len * 4 + 1;
	char small[512], *text = room <= sizeof(small) ? small : malloc(room);
	uint32_t index;
	int err;

	if (!text)
		return -ENOMEM;
	escape_text(s.data, s.len, text, room);
	err = intern_string(p->names, text, strlen(text) + 1, &index);
	if (text != small)
		free(text);
	*id = index;
	return err;
}

static int add_text(struct pprof *p, const char *s, int64_t *id)
{
	return add_string(p, (struct string_ref){ s, (uint32_t)strlen(s) }, id);
}

static int add_type(struct pprof *p, const char *type, const char *unit,
		    Tachbpf__PprofValueType *out)
{
	int err = add_text(p, type, &out->type);

	return err ? err : add_text(p, unit, &out->unit);
}

#define TYPES_MAX 4

/* The value types by unit and, for samples, by clock: a number of events and its weight each. */
struct value_types {
	const char *types[TYPES_MAX];
	size_t cnt;
	size_t shown;		/* the one that is shown at first */
	const char *unit;	/* of the weights */
};

static struct value_types types_of(const struct profile_meta *meta)
{
	static const char *const clocks[] = {
		[MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil",
		[MODE_ALL] = "wall", [MODE_EXCEPTION] = "exception",
		[MODE_OFFCPU] = "wall",
	};
	const char *clock = profile_mode_known(meta->mode) ? clocks[meta->mode] : "cpu";

	if (meta->unit == UNIT_BYTES && meta->held_apart)
		return (struct value_types){ { "alloc_objects", "alloc_space", "inuse_objects",
					       "inuse_space" }, 4, 3, "bytes" };
	if (meta->unit == UNIT_BYTES)
		return (struct value_types){ { "alloc_objects", "alloc_space" }, 2, 1, "bytes" };
	return (struct value_types){ { "samples", clock }, 2, 1, "nanoseconds" };
}

static int64_t clamp(unsigned __int128 v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int comment(struct pprof *p, const char *text)
{
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
	int64_t id;
	int err = add_text(p, text, &id);

	msg.comment = &id;
	msg.n_comment = 1;
	return err ? err : emit(p, &msg);
}

/* Write the comments about a process, which `pprof -comments` shows. */
static int put_comments(struct pprof *p, uint32_t process)
{
	const struct stack_process *proc = stacks_process(p->a->stacks, process);
	const struct profile_stats *st = aggregate_stats(p->a, process);
	const struct profile_meta *m = &proc->meta;
	char text[512 + sizeof(proc->name)], python[48] = "", lost[64] = "", cut[64] = "";
	char platform[128] = "";

	if (m->python_major)
		snprintf(python, sizeof(python), " python %u.%u.%u", m->python_major,
			 m->python_minor, m->python_micro);
	if (m->platform)
		snprintf(platform, sizeof(platform), "; platform %.100s", m->platform);
	if (st->lost_known)
		snprintf(lost, sizeof(lost), "; lost %llu %s", (unsigned long long)st->lost_cnt,
			 text_plural(st->lost_cnt, "sample", "samples"));
	if (proc->truncated)
		snprintf(cut, sizeof(cut), "; truncated %llu",
			 (unsigned long long)proc->truncated);
	snprintf(text, sizeof(text), "%s %s:%s%s; mode %s%s%s", sink_meta_kind(m),
		 *proc->name ? proc->name : "?", python, platform, profile_mode_name(m->mode), lost,
		 cut);
	return comment(p, text);
}

static int put_head(struct pprof *p)
{
	static const struct profile_meta none = { .mode = MODE_UNKNOWN };
	uint32_t i, cnt = stacks_process_cnt(p->a->stacks);
	const struct profile_meta *m = cnt ? &stacks_process(p->a->stacks, 0)->meta : &none;
	struct value_types names = types_of(m);
	Tachbpf__PprofValueType list[TYPES_MAX], *types[TYPES_MAX];
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
	double duration = 0;
	int64_t first;
	int err = add_text(p, "", &first);	/* string 0 is empty */

	for (i = 0; !err && i < names.cnt; i++) {
		types[i] = &list[i];
		tachbpf__pprof_value_type__init(types[i]);
		err = add_type(p, names.types[i], i % 2 ? names.unit : "count", types[i]);
	}
	if (err)
		return err;
	for (i = 0; i < cnt; i++) {
		if (aggregate_stats(p->a, i)->known &&
		    aggregate_stats(p->a, i)->duration_s > duration)
			duration = aggregate_stats(p->a, i)->duration_s;
	}
	msg.sample_type = types;
	msg.n_sample_type = names.cnt;
	msg.default_sample_type = types[names.shown]->type;
	msg.period_type = types[names.shown];
	msg.period = m->unit == UNIT_SAMPLES ?
			     clamp((unsigned __int128)m->interval_us * 1000) : 1;
	msg.time_nanos = clamp(m->start_utc_ns);
	msg.duration_nanos = duration < 9e9 ? (int64_t)(duration * 1e9) : 0;
	err = emit(p, &msg);
	for (i = 0; !err && i < cnt; i++)
		err = put_comments(p, i);
	return err;
}

static int put_mapping(struct pprof *p, uint64_t id, struct string_ref file, const char *build_id)
{
	Tachbpf__PprofMapping map = TACHBPF__PPROF_MAPPING__INIT, *maps = &map;
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
	int err = add_string(p, file, &map.filename);

	if (!err)
		err = add_text(p, build_id, &map.build_id);
	map.id = id;
	/* pprof must not try to symbolize. */
	map.has_functions = map.has_filenames = map.has_line_numbers = true;
	msg.mapping = &maps;
	msg.n_mapping = 1;
	return err ? err : emit(p, &msg);
}

/* One mapping for all that is no machine code of a library, the first, and one for each library. */
static int put_mappings(struct pprof *p)
{
	const struct profile_meta *m = NULL;
	char build_id[NATIVE_BUILD_ID_TEXT];
	uint32_t i;
	int err;

	if (stacks_process_cnt(p->a->stacks) == 1)
		m = &stacks_process(p->a->stacks, 0)->meta;
	err = put_mapping(p, 1, string_of(m && m->comm && *m->comm ? m->comm : "python"), "");
	for (i = 0; !err && i < p->libraries.cnt; i++) {
		const struct native_library *l = &p->libraries.list[i];

		err = put_mapping(p, i + 2, l->path.len ? l->path : l->name,
				  native_build_id_text(l, build_id));
	}
	return err;
}

static const char *string_at(const struct pprof *p, int64_t id)
{
	return intern_tables(p->names)->strings[id].data;
}

/*
 * pprof adds up functions by name: the name is qualified, the plain one becomes the system
 * name. If both were the same, pprof would demangle them; so "<GC>" and functions in machine
 * code have no system name. The file of the latter is their source or, if that is unknown, the
 * library.
 */
static int set_names(struct pprof *p, const struct frame *f, Tachbpf__PprofFunction *func)
{
	struct string_ref file = p->t->strings[f->file], source;
	char *name = NULL;
	int err;

	if (f->kind != FRAME_PYTHON) {
		err = add_string(p, p->t->strings[f->func], &func->name);
		source = native_source(&file);
		if (!err && frame_has_file(f->kind, &file))
			err = add_string(p, source.len ? source : file, &func->filename);
		return err;
	}
	err = add_string(p, p->t->strings[f->func], &func->system_name);
	if (!err)
		err = add_string(p, p->t->strings[f->file], &func->filename);
	if (!err)
		err = qualify_name(p->qualifier, f->file, string_at(p, func->filename),
				   string_at(p, func->system_name), &name);
	if (!err)
		err = add_text(p, name, &func->name);
	free(name);
	return err;
}

/* first_line: 0: unknown. */
static int put_function(struct pprof *p, const struct frame *f, uint64_t id, uint32_t first_line)
{
	Tachbpf__PprofFunction func = TACHBPF__PPROF_FUNCTION__INIT, *funcs = &func;
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
	int err = set_names(p, f, &func);

	func.id = id;
	func.start_line = first_line;
	msg.function = &funcs;
	msg.n_function = 1;
	return err ? err : emit(p, &msg);
}

static int put_location(struct pprof *p, uint32_t label, uint64_t function)
{
	Tachbpf__PprofLocation loc = TACHBPF__PPROF_LOCATION__INIT, *locs = &loc;
	Tachbpf__PprofLine line = TACHBPF__PPROF_LINE__INIT, *lines = &line;
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;

	line.function_id = function;
	line.line = stacks_line(p->a->stacks, label);
	loc.id = (uint64_t)label + 1;
	loc.mapping_id = native_index_of(&p->libraries, &p->t->frames[label]) + 1;
	loc.line = &lines;
	loc.n_line = 1;
	msg.location = &locs;
	msg.n_location = 1;
	return emit(p, &msg);
}

/* Write a location for each label, and a function for each file and name. */
static int put_locations(struct pprof *p)
{
	struct intern *functions = intern_new();
	uint32_t i, id, known;
	int err = functions ? 0 : -ENOMEM;

	for (i = 0; !err && i < p->t->frame_cnt; i++) {
		struct frame key = { .file = p->t->frames[i].file, .func = p->t->frames[i].func };

		known = intern_tables(functions)->frame_cnt;
		err = intern_frame(functions, &key, &id);
		if (!err && id == known)
			err = put_function(p, &p->t->frames[i], (uint64_t)id + 1,
					   stacks_first_line(p->a->stacks, i));
		if (!err)
			err = put_location(p, i, (uint64_t)id + 1);
	}
	intern_free(functions);
	return err;
}

static void set_values(const struct stack_view *v, const struct profile_meta *meta,
		       int64_t values[TYPES_MAX])
{
	bool held = v->status & STATUS_HELD || !meta->held_apart;

	values[0] = clamp(meta->unit == UNIT_SAMPLES ? v->weight : v->events);
	values[1] = clamp(meta->unit == UNIT_SAMPLES ?
				  (unsigned __int128)v->weight * meta->interval_us * 1000 :
				  v->weight);
	values[2] = held ? values[0] : 0;
	values[3] = held ? values[1] : 0;
}

/* Add a label: a number if text is NULL. */
static int add_label(struct pprof *p, Tachbpf__PprofLabel *l, size_t *n, const char *key,
		     const char *text, uint64_t number)
{
	Tachbpf__PprofLabel *label = &l[(*n)++];
	int err;

	tachbpf__pprof_label__init(label);
	err = add_text(p, key, &label->key);
	label->num = clamp(number);
	if (!err && text)
		err = add_text(p, text, &label->str);
	return err;
}

static int add_labels(struct pprof *p, const struct stack_view *v, Tachbpf__PprofLabel *l,
		      size_t *n)
{
	const struct stack_group *g = stacks_group(p->a->stacks, v->group);
	const struct profile_meta *meta = &stacks_process(p->a->stacks, g->process)->meta;
	const char *name = thread_names_find(meta->thread_names, g->thread_id);
	char status[PROFILE_STATUS_BYTES];
	int err = 0;

	if (meta->tgid)
		err = add_label(p, l, n, "pid", NULL, meta->tgid);
	if (!err && meta->comm && *meta->comm)
		err = add_label(p, l, n, meta->of_container ? "container" : "comm", meta->comm, 0);
	if (!err && meta->container && *meta->container)
		err = add_label(p, l, n, "container", meta->container, 0);
	if (!err && meta->image && *meta->image)
		err = add_label(p, l, n, "image", meta->image, 0);
	if (!err && p->a->config.by_thread)
		err = add_label(p, l, n, "tid", NULL, g->thread_id);
	if (!err && name)
		err = add_label(p, l, n, "thread", name, 0);
	if (!err && !meta->held_apart)
		err = add_label(p, l, n, "status", profile_status_text(v->status, status), 0);
	return err;
}

static int put_sample(struct pprof *p, const struct stack_view *v)
{
	const struct stack_group *g = stacks_group(p->a->stacks, v->group);
	Tachbpf__PprofSample sample = TACHBPF__PPROF_SAMPLE__INIT, *samples = &sample;
	Tachbpf__PprofLabel labels[LABEL_MAX], *label_ptrs[LABEL_MAX];
	profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
	uint64_t ids[EVENT_MAX_FRAMES];
	int64_t values[TYPES_MAX];
	uint32_t i;
	int err;

	for (i = 0; i < v->n; i++)
		ids[i] = (uint64_t)v->labels[i] + 1;
	for (i = 0; i < LABEL_MAX; i++)
		label_ptrs[i] = &labels[i];
	set_values(v, &stacks_process(p->a->stacks, g->process)->meta, values);
	sample.location_id = ids;
	sample.n_location_id = v->n;
	sample.value = values;
	sample.n_value = types_of(&stacks_process(p->a->stacks, 0)->meta).cnt;
	sample.label = label_ptrs;
	err = add_labels(p, v, labels, &sample.n_label);
	msg.sample = &samples;
	msg.n_sample = 1;
	return err ? err : emit(p, &msg);
}

static int put_strings(struct pprof *p)
{
	const struct profile_tables *names = intern_tables(p->names);
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < names->string_cnt; i++) {
		profile_msg msg = TACHBPF__PPROF_PROFILE__INIT;
		char *text = (char *)names->strings[i].data;

		msg.string_table = &text;
		msg.n_string_table = 1;
		err = emit(p, &msg);
	}
	return err;
}

static int put_profile(struct pprof *p)
{
	uint32_t i, cnt = stacks_cnt(p->a->stacks);
	int err = put_head(p);

	if (!err)
		err = put_mappings(p);
	if (!err)
		err = put_locations(p);
	for (i = 0; !err && i < cnt; i++) {
		struct stack_view v = stacks_get(p->a->stacks, i);

		if (v.n)
			err = put_sample(p, &v);
	}
	if (!err)
		err = put_strings(p);
	return err ? err : deflate_out(p, NULL, 0, Z_FINISH);
}

static int pprof_write(struct aggregate *a)
{
	struct pprof *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->a = a;
	p->t = stacks_tables(a->stacks);
	p->names = intern_new();
	p->qualifier = qualifier_new();
	if (!p->names || !p->qualifier || native_index_make(&p->libraries, p->t) ||
	    deflateInit2(&p->zip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		goto out;
	err = put_profile(p);
	deflateEnd(&p->zip);
out:
	buf_free(&p->message);
	intern_free(p->names);
	qualifier_free(p->qualifier);
	native_index_free(&p->libraries);
	free(p);
	return err;
}

static const struct aggregate_format pprof_format = {
	.ops = &sink_pprof,
	.apart = DETAIL_LINE,
	.lines = true,
	.by_thread = true,
	.one_unit = true,
	.by_status = true,
	.libraries = true,
	.frame_bytes = 1,	/* they are compressed */
	.write = pprof_write,
};

static struct sink *pprof_open(const struct sink_args *args)
{
	return aggregate_open(&pprof_format, args);
}

const struct sink_ops sink_pprof = {
	.name = "pprof",
	.help = "profile.proto, gzipped: go tool pprof, Pyroscope, Polar Signals, ...",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP | SINK_TAKES_HELD,
	.binary = true,
	.open = pprof_open,
	AGGREGATE_CALLS,
	.suffix = ".pb.gz",
};
