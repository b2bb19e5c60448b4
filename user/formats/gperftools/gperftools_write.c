// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gperftools_write.c - writes CPU profiles in gperftools' format: words of 8 bytes in the machine's
 * byte order, then text (docs/format-gperftools.md). Three flavours:
 *
 *	gperftools	version 1, names behind the samples: Go's pprof
 *	gperftools-perl	"--- symbol" before a version 0 profile: google-pprof
 *	gperftools-native version 0 with machine addresses: for any reader, but only with
 *			frames that are addresses: functions called "0x..." or
 *			"libc.so.6+0x...", as in profiles imported from this format
 *
 * Owns the addresses, which are made up: one for each file, function and line; for a mapped file
 * its offsets, from a made-up start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pairs.h"
#include "formats/formats.h"
#include "formats/qualify.h"
#include "model/aggregate.h"
#include "model/native_frame.h"
#include "model/thread_names.h"
#include "base/writer.h"

/* Word 2 of the header. */
#define VERSION_NATIVE 0
#define VERSION_NAMED 1

/* Made-up addresses: not near 0, which ends a profile, and far enough apart for "pc - 1". */
#define ADDRESS_BASE 0x10000
#define ADDRESS_STEP 16

/* Mapped files start where no process has memory; their offsets are below the step. */
#define MAP_BASE (1ull << 60)
#define MAP_STEP (1ull << 41)
#define MAP_CNT_MAX (1u << 18)
#define PAGE_BYTES 4096

enum flavour { FLAVOUR_GO, FLAVOUR_PERL, FLAVOUR_NATIVE };

struct gperf {
	struct aggregate *a;
	const struct profile_tables *t;
	struct writer *w;
	enum flavour flavour;
	uint64_t period_us;
	bool scaled;		/* counts are in microseconds, because the processes' intervals
				 * differ */
	bool roots;		/* stacks get an outermost frame with their process or thread */
	uint64_t *native;	/* by label: its address; 0: it has none */
	struct pairs maps;	/* mapped files: pairs of string and 0 */
	struct buf map_ends;	/* u64 for each map: the highest offset */
	struct buf name;	/* scratch: a qualified name */
};

static void put_word(struct writer *w, uint64_t v)
{
	writer_put(w, &v, sizeof(v));
}

static uint64_t label_address(const struct gperf *g, uint32_t label)
{
	if (g->flavour == FLAVOUR_NATIVE)
		return g->native[label];
	return ADDRESS_BASE + (uint64_t)label * ADDRESS_STEP;
}

static uint64_t root_address(const struct gperf *g, uint32_t group)
{
	return ADDRESS_BASE + ((uint64_t)g->t->frame_cnt + group) * ADDRESS_STEP;
}

static const struct profile_meta *group_meta(const struct gperf *g, uint32_t group)
{
	uint32_t process = stacks_group(g->a->stacks, group)->process;

	return &stacks_process(g->a->stacks, process)->meta;
}

/* Nanoseconds between two counts of a process. */
static uint64_t count_ns(const struct profile_meta *meta)
{
	if (meta->unit == UNIT_NANOSECONDS)
		return 1;
	return (meta->interval_us ? meta->interval_us : 1) * 1000;
}

static void choose_period(struct gperf *g)
{
	uint32_t i, cnt = stacks_process_cnt(g->a->stacks);
	uint64_t first = 0, ns;

	for (i = 0; i < cnt; i++) {
		ns = count_ns(&stacks_process(g->a->stacks, i)->meta);
		if (i && ns != first)
			g->scaled = true;
		first = ns;
	}
	if (first % 1000)
		g->scaled = true;
	g->period_us = g->scaled || !first ? 1 : first / 1000;
}

static uint64_t scaled_count(const struct gperf *g, const struct stack_view *v)
{
	uint64_t ns = count_ns(group_meta(g, v->group));
	unsigned __int128 us = (unsigned __int128)v->weight * ns / 1000;

	if (!g->scaled)
		return v->weight;
	return us > UINT64_MAX ? UINT64_MAX : (uint64_t)us;
}

/* Selects the frames of a stack that the flavour can express. */
static uint32_t pick_frames(const struct gperf *g, const struct stack_view *v,
			    uint64_t addresses[EVENT_MAX_FRAMES + 1])
{
	uint32_t i, n = 0;

	for (i = 0; i < v->n; i++) {
		addresses[n] = label_address(g, v->labels[i]);
		if (addresses[n])
			n++;
	}
	if (n && g->roots && g->flavour != FLAVOUR_NATIVE)
		addresses[n++] = root_address(g, v->group);
	return n;
}

/* Writes header, records and trailer. Some samples may have no frame that can be expressed. */
static int put_samples(struct gperf *g)
{
	const uint64_t header[] = {
		0, 3, g->flavour == FLAVOUR_GO ? VERSION_NAMED : VERSION_NATIVE, g->period_us, 0,
	};
	static const uint64_t trailer[] = { 0, 1, 0 };
	uint64_t addresses[EVENT_MAX_FRAMES + 1];
	uint32_t i, n, cnt = stacks_cnt(g->a->stacks), written = 0, shown = 0;

	writer_put(g->w, header, sizeof(header));
	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(g->a->stacks, i);
		uint64_t count = scaled_count(g, &v);

		shown += v.n != 0;
		n = pick_frames(g, &v, addresses);
		if (!n || !count)
			continue;
		put_word(g->w, count);
		put_word(g->w, n);
		writer_put(g->w, addresses, n * sizeof(addresses[0]));
		written++;
	}
	writer_put(g->w, trailer, sizeof(trailer));
	if (!shown || written)
		return 0;
	log_error("no frame of this profile is a machine address, and gperftools-native holds "
		  "nothing else: use --format gperftools");
	return SINK_REPORTED;
}

/* Characters with a meaning for a flavour's reader, and their replacements. */
static const struct {
	const char *from, *to;
} swaps[] = {
	[FLAVOUR_GO] = { "", "" },
	/* google-pprof removes what is in <> and (), as in C++ names, and cuts at blanks. */
	[FLAVOUR_PERL] = { "<>() ", "[][]_" },
	[FLAVOUR_NATIVE] = { "", "" },
};

/* s with these characters replaced, for the caller to free; NULL if memory runs out. */
static char *clean_name(const struct gperf *g, struct string_ref s)
{
	size_t room = (size_t)s.len * 4 + 1;
	char *text = malloc(room), *p;
	const char *at;

	if (!text)
		return NULL;
	escape_text(s.data, s.len, text, room);
	for (p = text; *p; p++) {
		at = strchr(swaps[g->flavour].from, *p);
		if (at && *at)
			*p = swaps[g->flavour].to[at - swaps[g->flavour].from];
		/* Go parses "name (file:line)", so the line must have no other " (". */
		if (*p == ' ' && p[1] == '(')
			*p = '_';
		/* google-pprof splits inlined functions at "--". */
		if (*p == '-' && p[1] == '-' && g->flavour == FLAVOUR_PERL)
			*p = '_';
	}
	return text;
}

/*
 * Go's pprof takes a name with "<" for C++ and removes that and what follows, unless ".<" makes it
 * Java (looksLikeDemangledCPlusPlus() in its symbolizer).
 */
static void hide_templates(char *name)
{
	if (strstr(name, ".<"))
		return;
	for (; *name; name++) {
		if (*name == '<' || *name == '>')
			*name = *name == '<' ? '[' : ']';
	}
}

static void put_label_line(struct gperf *g, uint32_t label, char *name, const char *path)
{
	char head[40];
	uint32_t line = stacks_line(g->a->stacks, label);
	bool apart = g->a->config.detail >= DETAIL_LINE;

	snprintf(head, sizeof(head), "%s0x%llx ", g->flavour == FLAVOUR_GO ? "  " : "",
		 (unsigned long long)label_address(g, label));
	writer_text(g->w, head);
	if (g->flavour == FLAVOUR_GO)
		hide_templates(name);
	writer_text(g->w, name);
	if (path && g->flavour == FLAVOUR_GO) {
		writer_text(g->w, " (");
		writer_text(g->w, path);
		writer_char(g->w, ':');
		writer_uint(g->w, line);
		writer_char(g->w, ')');
	} else if (path && apart) {
		writer_char(g->w, ':');
		writer_uint(g->w, line);
	}
	writer_char(g->w, '\n');
}

static int put_label(struct gperf *g, uint32_t label)
{
	const struct frame *f = &g->t->frames[label];
	char *func = clean_name(g, g->t->strings[f->func]),
	     *path = clean_name(g, g->t->strings[f->file]);
	char *name = NULL;
	int err = func && path ? 0 : -ENOMEM;

	if (!err && !frame_has_file(f->kind, &g->t->strings[f->file])) {
		put_label_line(g, label, func, NULL);
	} else if (!err && f->kind == FRAME_NATIVE) {
		/* Go requires a line in any case; the others do not know line 0. */
		put_label_line(g, label, func, g->flavour == FLAVOUR_GO ||
			       stacks_line(g->a->stacks, label) ? path : NULL);
	} else if (!err) {
		err = qualify_name(&g->name, g->t->strings[f->file], g->t->strings[f->func]);
		name = err ? NULL : clean_name(g, (struct string_ref){ (char *)g->name.data,
								       (uint32_t)g->name.len });
		if (name)
			put_label_line(g, label, name, path);
		else
			err = -ENOMEM;
	}
	free(name);
	free(func);
	free(path);
	return err;
}

static int put_root(struct gperf *g, uint32_t group)
{
	const struct stack_group *gr = stacks_group(g->a->stacks, group);
	const struct stack_process *p = stacks_process(g->a->stacks, gr->process);
	char text[sizeof(p->name) + 32 + THREAD_LABEL_BYTES], head[32];
	char tid[THREAD_LABEL_BYTES] = "";
	char *name;

	if (g->a->config.by_thread)
		thread_label(p->meta.thread_names, gr->thread_id, "thread ", tid);
	snprintf(text, sizeof(text), "%s%s%s%s%s", *p->name ? sink_meta_kind(&p->meta) : "",
		 *p->name ? " " : "", p->name, *p->name && *tid ? " " : "",
		 *p->name || *tid ? tid : "process");
	name = clean_name(g, string_of(text));
	if (!name)
		return -ENOMEM;
	snprintf(head, sizeof(head), "%s0x%llx ", g->flavour == FLAVOUR_GO ? "  " : "",
		 (unsigned long long)root_address(g, group));
	writer_text(g->w, head);
	writer_text(g->w, name);
	writer_char(g->w, '\n');
	free(name);
	return 0;
}

static int put_names(struct gperf *g)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < g->t->frame_cnt; i++)
		err = put_label(g, i);
	for (i = 0; !err && g->roots && i < stacks_group_cnt(g->a->stacks); i++)
		err = put_root(g, i);
	return err;
}

/* Parses "0x" and hexadecimal digits up to the end. */
static bool parse_hex(struct string_ref s, uint64_t *v)
{
	char text[19] = "";

	if (s.len < 3 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.data, s.len);
	*v = strtoull(text, NULL, 16);
	return !strncmp(text, "0x", 2) &&
	       strspn(text + 2, "0123456789abcdefABCDEF") == s.len - 2u;
}

/* Makes up the address of an offset in a mapped file; *address 0: impossible. */
static int map_offset(struct gperf *g, uint32_t file, uint64_t off, uint64_t *address)
{
	uint64_t *end, none = 0;
	uint32_t id;
	int err = pairs_add(&g->maps, (struct pair){ file, 0 }, &id);

	if (!err && (size_t)id * sizeof(none) == g->map_ends.len)
		err = buf_add(&g->map_ends, &none, sizeof(none));
	if (err)
		return err;
	end = (uint64_t *)(void *)g->map_ends.data + id;
	if (off >= MAP_STEP - PAGE_BYTES || id >= MAP_CNT_MAX)
		return 0;
	*address = MAP_BASE + id * MAP_STEP + off;
	*end = off > *end ? off : *end;
	return 0;
}

/* The address of a frame: "0x..." is one itself, "BASENAME+0x..." an offset in its file. */
static int native_address(struct gperf *g, const struct frame *f, uint64_t *address)
{
	struct string_ref func = g->t->strings[f->func];
	struct string_ref base = path_base(g->t->strings[f->file]);
	uint64_t off;

	if (parse_hex(func, address))
		return 0;
	*address = 0;
	if (!base.len || func.len <= base.len || memcmp(func.data, base.data, base.len) ||
	    func.data[base.len] != '+')
		return 0;
	func.data += base.len + 1;
	func.len -= base.len + 1;
	return parse_hex(func, &off) ? map_offset(g, f->file, off, address) : 0;
}

static int find_native(struct gperf *g)
{
	uint32_t i;
	int err = 0;

	g->native = calloc((size_t)g->t->frame_cnt + 1, sizeof(*g->native));
	if (!g->native)
		return -ENOMEM;
	for (i = 0; !err && i < g->t->frame_cnt; i++)
		err = native_address(g, &g->t->frames[i], &g->native[i]);
	return err;
}

/* Writes the mapped files in the form of /proc/PID/maps. */
static int put_maps(struct gperf *g)
{
	char head[80], *path;
	uint64_t start, end;
	uint32_t i;

	for (i = 0; i < g->maps.cnt && i < MAP_CNT_MAX; i++) {
		path = clean_name(g, g->t->strings[g->maps.list[i].a]);
		if (!path)
			return -ENOMEM;
		start = MAP_BASE + i * MAP_STEP;
		end = start + ((uint64_t *)(void *)g->map_ends.data)[i] / PAGE_BYTES * PAGE_BYTES +
		      PAGE_BYTES;
		snprintf(head, sizeof(head), "%llx-%llx r-xp 00000000 00:00 0 ",
			 (unsigned long long)start, (unsigned long long)end);
		writer_text(g->w, head);
		writer_text(g->w, path);
		writer_char(g->w, '\n');
		free(path);
	}
	return 0;
}

static int put_profile(struct gperf *g)
{
	int err;

	if (g->flavour == FLAVOUR_PERL) {
		writer_text(g->w, "--- symbol\nbinary=python\n");
		err = put_names(g);
		if (err)
			return err;
		writer_text(g->w, "---\n--- profile\n");
	}
	err = put_samples(g);
	if (!err && g->flavour == FLAVOUR_GO)
		err = put_names(g);
	if (!err && g->flavour == FLAVOUR_NATIVE)
		err = put_maps(g);
	return err ? err : writer_flush(g->w);
}

static int write_flavour(struct aggregate *a, enum flavour flavour)
{
	struct gperf g = { .a = a, .t = stacks_tables(a->stacks), .flavour = flavour };
	int err;

	g.roots = a->args.many || a->config.by_thread || a->args.group == GROUP_PROCESS;
	g.w = writer_new(a->args.fd, a->args.max_bytes);
	err = g.w ? 0 : -ENOMEM;
	if (!err && flavour == FLAVOUR_NATIVE)
		err = find_native(&g);
	if (!err) {
		choose_period(&g);
		err = put_profile(&g);
	}
	buf_free(&g.name);
	free(g.native);
	pairs_free(&g.maps);
	buf_free(&g.map_ends);
	free(g.w);
	return err;
}

static int go_write(struct aggregate *a)
{
	return write_flavour(a, FLAVOUR_GO);
}

static int perl_write(struct aggregate *a)
{
	return write_flavour(a, FLAVOUR_PERL);
}

static int native_write(struct aggregate *a)
{
	return write_flavour(a, FLAVOUR_NATIVE);
}

static const struct aggregate_format go_format = {
	.ops = &sink_gperftools, .apart = DETAIL_LINE, .lines = true, .frame_bytes = 8,
	.write = go_write,
};
static const struct aggregate_format perl_format = {
	.ops = &sink_gperftools_perl, .apart = DETAIL_LINE, .frame_bytes = 8,
	.write = perl_write,
};
static const struct aggregate_format native_format = {
	.ops = &sink_gperftools_native, .apart = DETAIL_FUNCTION, .frame_bytes = 8,
	.write = native_write,
};

static struct sink *go_open(const struct sink_args *args)
{
	return aggregate_open(&go_format, args);
}

static struct sink *perl_open(const struct sink_args *args)
{
	return aggregate_open(&perl_format, args);
}

static struct sink *native_open(const struct sink_args *args)
{
	return aggregate_open(&native_format, args);
}

#define NO_BYTES "it counts ticks of a clock; pprof and speedscope have bytes"

const struct sink_ops sink_gperftools = {
	.name = "gperftools",
	.help = "gperftools CPU profile with names, for Go's pprof",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.binary = true,
	.open = go_open,
	AGGREGATE_CALLS,
	.suffix = ".prof",
	.no_bytes = NO_BYTES,
};

const struct sink_ops sink_gperftools_perl = {
	.name = "gperftools-perl",
	.help = "the same with a symbol header, for google-pprof (the Perl program)",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.binary = true,
	.open = perl_open,
	AGGREGATE_CALLS,
	.suffix = ".perl.prof",
	.no_bytes = NO_BYTES,
};

const struct sink_ops sink_gperftools_native = {
	.name = "gperftools-native",
	.help = "the same without names, for frames that are machine addresses (0x...)",
	.binary = true,
	.open = native_open,
	AGGREGATE_CALLS,
	.suffix = ".native.prof",
	.no_bytes = NO_BYTES,
};
