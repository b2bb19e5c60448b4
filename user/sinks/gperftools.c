// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gperftools.c - CPU profiles as gperftools writes them: words of 8 bytes in the
 * machine's byte order, then text (docs/format-gperftools.md). Three flavours:
 *
 *	gperftools	version 1, names behind the samples: Go's pprof
 *	gperftools-perl	"--- symbol" before a version 0 profile: google-pprof
 *	gperftools-native version 0 of machine addresses: any reader, but only of
 *			frames that are one: their function is called "0x...", as
 *			in profiles that were imported from this format
 *
 * Owns the addresses, which are made up: one for each file, function and line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate.h"
#include "qualify.h"
#include "writer.h"

/* Word 2 of the header. */
#define VERSION_NATIVE 0
#define VERSION_NAMED 1

/* Made-up addresses: clear of 0, which ends a profile, and far enough apart for "pc - 1". */
#define ADDRESS_BASE 0x10000
#define ADDRESS_STEP 16

enum flavour { FLAVOUR_GO, FLAVOUR_PERL, FLAVOUR_NATIVE };

struct gperf {
	struct aggregate *a;
	const struct profile_tables *t;
	struct writer *w;
	enum flavour flavour;
	uint64_t period_us;
	bool scaled;		/* counts are in microseconds: the processes' intervals differ */
	bool roots;		/* an outermost frame says which process or thread it is */
	uint64_t *native;	/* by label: its address; 0: not native */
	struct qualifier *names;
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

/* Which of a stack's frames the flavour can hold. */
static uint32_t pick(const struct gperf *g, const struct stack_view *v,
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

/* Header, records, trailer. -ENOTSUP: there are samples, but none with such a frame. */
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
		n = pick(g, &v, addresses);
		if (!n || !count)
			continue;
		put_word(g->w, count);
		put_word(g->w, n);
		writer_put(g->w, addresses, n * sizeof(addresses[0]));
		written++;
	}
	writer_put(g->w, trailer, sizeof(trailer));
	return shown && !written ? -ENOTSUP : 0;
}

/* Characters that a reader takes apart, by flavour, and what stands for them. */
static const struct {
	const char *from, *to;
} swaps[] = {
	[FLAVOUR_GO] = { "", "" },
	/* google-pprof drops what is in <> and (), as C++'s arguments, and cuts at blanks. */
	[FLAVOUR_PERL] = { "<>() ", "[][]_" },
	[FLAVOUR_NATIVE] = { "", "" },
};

/* s as the flavour can have it in a line, to be freed; NULL: out of memory. */
static char *clean(const struct gperf *g, struct string_ref s)
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
		/* Go reads "name (file:line)": no other " (" on the line. */
		if (*p == ' ' && p[1] == '(')
			*p = '_';
		/* google-pprof splits inlined functions at "--". */
		if (*p == '-' && p[1] == '-' && g->flavour == FLAVOUR_PERL)
			*p = '_';
	}
	return text;
}

/*
 * Go's pprof takes "<" in a name for C++ and drops it with what follows, unless
 * ".<" says that it is Java (looksLikeDemangledCPlusPlus() in its symbolizer).
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
	char *func = clean(g, g->t->strings[f->func]), *path = clean(g, g->t->strings[f->file]);
	char *name = NULL;
	int err = func && path ? 0 : -ENOMEM;

	if (!err && stacks_synthetic(g->t, f)) {
		put_label_line(g, label, func, NULL);
	} else if (!err) {
		err = qualify_name(g->names, f->file, path, func, &name);
		if (!err)
			put_label_line(g, label, name, path);
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
	char text[256], head[32], tid[40] = "", *name;

	if (g->a->config.by_thread)
		snprintf(tid, sizeof(tid), "thread %llu", (unsigned long long)gr->thread_id);
	snprintf(text, sizeof(text), "%s%s%s%s", *p->name ? "process " : "", p->name,
		 *p->name && *tid ? " " : "", *p->name || *tid ? tid : "process");
	name = clean(g, string_of(text));
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

/* Which labels are addresses: "0x" and hexadecimal digits. */
static int find_native(struct gperf *g)
{
	uint32_t i;

	g->native = calloc((size_t)g->t->frame_cnt + 1, sizeof(*g->native));
	if (!g->native)
		return -ENOMEM;
	for (i = 0; i < g->t->frame_cnt; i++) {
		struct string_ref func = g->t->strings[g->t->frames[i].func];
		char text[19] = "";

		if (func.len < 3 || func.len >= sizeof(text))
			continue;
		memcpy(text, func.data, func.len);
		if (!strncmp(text, "0x", 2) &&
		    strspn(text + 2, "0123456789abcdefABCDEF") == func.len - 2u)
			g->native[i] = strtoull(text, NULL, 16);
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
	if (err == -ENOTSUP)
		log_error("no frame of this profile is a machine address, and gperftools-native "
			  "holds nothing else: use --format gperftools");
	return err ? err : writer_flush(g->w);
}

static int write_flavour(struct aggregate *a, enum flavour flavour)
{
	struct gperf g = { .a = a, .t = stacks_tables(a->stacks), .flavour = flavour };
	int err;

	g.roots = a->args.many || a->config.by_thread || a->args.group == GROUP_PROCESS;
	g.w = writer_new(a->args.fd);
	g.names = qualifier_new();
	err = g.w && g.names ? 0 : -ENOMEM;
	if (!err && flavour == FLAVOUR_NATIVE)
		err = find_native(&g);
	if (!err) {
		choose_period(&g);
		err = put_profile(&g);
	}
	qualifier_free(g.names);
	free(g.native);
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

#define NO_BYTES .no_bytes = "it counts ticks of a clock; pprof and speedscope have bytes"

static const struct aggregate_format go_format = {
	.ops = &sink_gperftools, .apart = DETAIL_LINE, .lines = true, .write = go_write, NO_BYTES,
};
static const struct aggregate_format perl_format = {
	.ops = &sink_gperftools_perl, .apart = DETAIL_LINE, .write = perl_write, NO_BYTES,
};
static const struct aggregate_format native_format = {
	.ops = &sink_gperftools_native, .apart = DETAIL_FUNCTION, .write = native_write, NO_BYTES,
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

const struct sink_ops sink_gperftools = {
	.name = "gperftools",
	.help = "gperftools' CPU profile with names, for Go's pprof",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.binary = true,
	.open = go_open,
	AGGREGATE_CALLS,
	.suffix = ".prof",
};

const struct sink_ops sink_gperftools_perl = {
	.name = "gperftools-perl",
	.help = "the same with symbols in front, for google-pprof (the Perl program)",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.binary = true,
	.open = perl_open,
	AGGREGATE_CALLS,
	.suffix = ".perl.prof",
};

const struct sink_ops sink_gperftools_native = {
	.name = "gperftools-native",
	.help = "the same without names, of frames that are machine addresses (0x...)",
	.binary = true,
	.open = native_open,
	AGGREGATE_CALLS,
	.suffix = ".native.prof",
};
