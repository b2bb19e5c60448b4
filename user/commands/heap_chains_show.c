// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_chains_show.c - see heap_chains_show.h: the sentence that says who keeps the objects, the
 * table of chains, and what was not found.
 */
#include "commands/heap_chains_show.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/colour.h"
#include "base/util.h"
#include "commands/show.h"

#define HEAP_CHAIN_BYTES 4096
#define SHARE_COLUMNS 9
/* A root of a chain, escaped. */
#define ROOT_BYTES (4 * HEAP_ROOT_NAME_BYTES)

static const struct {
	const char *json;
	const char *chain;	/* in a chain, before the root's name */
} roots[HEAP_ROOT_CNT] = {
	[HEAP_ROOT_UNKNOWN] = { "unknown", "not found" },
	[HEAP_ROOT_MODULE] = { "module", "" },
	[HEAP_ROOT_CLASS] = { "class", "" },
	[HEAP_ROOT_FRAME] = { "frame", "" },
	[HEAP_ROOT_SUSPENDED] = { "suspended", "suspended " },
	[HEAP_ROOT_THREAD] = { "thread", "" },
	[HEAP_ROOT_C] = { "c", "C code" },
	[HEAP_ROOT_CYCLE] = { "cycle", "each other" },
};

static bool has_name(const struct heap_chain *c)
{
	return c->root != HEAP_ROOT_UNKNOWN && c->root != HEAP_ROOT_CYCLE;
}

static const char *root_text(const struct heap_chain *c, char out[ROOT_BYTES])
{
	char name[ROOT_BYTES];

	escape_text(c->root_name, strlen(c->root_name), name, sizeof(name));
	if (!has_name(c))
		snprintf(out, ROOT_BYTES, "%s", roots[c->root].chain);
	else if (c->root == HEAP_ROOT_C)
		snprintf(out, ROOT_BYTES, *name ? "C code (data of %.900s)" : "C code", name);
	else
		snprintf(out, ROOT_BYTES, "%s%.900s", roots[c->root].chain, name);
	return out;
}

/* ---- a chain on one line ---- */

static void chain_add(char out[HEAP_CHAIN_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void chain_add(char out[HEAP_CHAIN_BYTES], const char *format, ...)
{
	size_t at = strlen(out);
	va_list ap;

	va_start(ap, format);
	vsnprintf(out + at, HEAP_CHAIN_BYTES - at, format, ap);
	va_end(ap);
}

/* An item has no name; the name of an attribute or key is one word. */
static bool is_item(const char *name)
{
	return !*name || !strcmp(name, "[]");
}

/*
 * "app.CACHE (dict) -> Session.data (bytearray)", with an arrow of one character. Returns out.
 * An object that was reached as an item has its type's name, to which the attribute by which it
 * keeps the next one is added: "Session.data (bytearray)".
 */
static const char *heap_chain_line(const struct heap_chain *c, char out[HEAP_CHAIN_BYTES])
{
	char type[HEAP_SHOWN_BYTES], name[HEAP_SHOWN_BYTES], root[ROOT_BYTES];
	bool bare = !has_name(c) || c->root == HEAP_ROOT_C;
	uint32_t i;

	snprintf(out, HEAP_CHAIN_BYTES, "%s", root_text(c, root));
	if (c->cut)
		chain_add(out, " → …");
	for (i = 0; i < c->link_cnt; i++) {
		const char *by = i ? c->links[i - 1].name : "";

		heap_name(c->links[i].type, type);
		heap_name(by, name);
		if (!i && !bare && !c->cut)
			chain_add(out, " (%s)", type);
		else if (is_item(by))
			chain_add(out, " → %s", type);
		else if (strchr(by, ' '))
			chain_add(out, " → %s (%s)", name, type);
		else
			chain_add(out, bare ? ".%s (%s)" : " → .%s (%s)", name, type);
		bare = (i || bare || c->cut) && is_item(by);
	}
	return out;
}

/* ---- the sentence ---- */

static bool same_root(const struct heap_chain *a, const struct heap_chain *b)
{
	return a->root == b->root && !strcmp(a->root_name, b->root_name);
}

/* The root that keeps most: several chains may begin there. *cnt: objects of the sample. */
static const struct heap_chain *main_root(const struct heap_chains *c, uint64_t *cnt)
{
	const struct heap_chain *best = NULL;
	uint64_t sum;
	uint32_t i, k;

	*cnt = 0;
	for (i = 0; i < c->chain_cnt; i++) {
		for (sum = 0, k = 0; k < c->chain_cnt; k++)
			if (same_root(&c->chains[i], &c->chains[k]))
				sum += c->chains[k].count;
		if (sum > *cnt) {
			*cnt = sum;
			best = &c->chains[i];
		}
	}
	return best;
}

static const char *article(const char *noun)
{
	return *noun && strchr("aeiouAEIOU", *noun) ? "an" : "a";
}

/* What keeps them, after "are ". */
static void say_keeper(const struct heap_chain *c, char *out, size_t size)
{
	char name[ROOT_BYTES], type[HEAP_SHOWN_BYTES];

	escape_text(c->root_name, strlen(c->root_name), name, sizeof(name));
	heap_name(c->link_cnt ? c->links[0].type : "", type);
	switch (c->root) {
	case HEAP_ROOT_MODULE:
	case HEAP_ROOT_CLASS:
		snprintf(out, size, c->link_cnt > 1 && !c->cut ? "kept by %s, %s %s%s" :
			 "kept by %s%.0s%.0s%s", name, article(type), type,
			 c->root == HEAP_ROOT_CLASS ? " (an attribute of a class)" : "");
		break;
	case HEAP_ROOT_FRAME:
		snprintf(out, size, "kept by a variable of a function that is running: %s", name);
		break;
	case HEAP_ROOT_SUSPENDED:
		snprintf(out, size, "kept by a variable of a suspended coroutine or generator: %s",
			 name);
		break;
	case HEAP_ROOT_THREAD:
		snprintf(out, size, "kept by data of %s", name);
		break;
	case HEAP_ROOT_C:
		snprintf(out, size, "held by C code%s%s: no Python object refers to them",
			 *name ? ", in the data of " : "", name);
		break;
	case HEAP_ROOT_CYCLE:
		strcpy(out, "kept only by each other: nothing else refers to them, and the garbage "
		       "collector has not freed them so far");
		break;
	default:
		strcpy(out, "kept by something that was not found");
		break;
	}
}

static int say_head(const struct heap_screen *s, const struct heap_shown *p,
		    const struct heap_chains *c)
{
	char keeper[ROOT_BYTES + HEAP_SHOWN_BYTES + 128] = "", type[HEAP_SHOWN_BYTES];
	char count[HEAP_COUNT_BYTES], bytes[BYTES_TEXT_MAX];
	uint64_t cnt;
	const struct heap_chain *root = main_root(c, &cnt);
	double share = c->sampled ? 100.0 * (double)cnt / c->sampled : 0;
	int err;

	if (root)
		say_keeper(root, keeper, sizeof(keeper));
	heap_count_text(heap_signed(c->objects), count);
	heap_name(c->type, type);
	fputs(colour_on(s->out, COLOUR_BOLD), s->out);
	if (c->objects == 1)
		err = heap_say(s, 0, "The only %s object is %s.", type, keeper);
	else
		err = heap_say(s, 0, "%.*f %% of the %s %s objects are %s.", share < 1, share,
			       count, type, keeper);
	fputs(colour_off(s->out), s->out);
	if (err)
		return err;
	return heap_say(s, 0, "Process %d (%s%s%s): references to %u of them%s were followed "
			"backwards, in %.1f s (%u scans of its memory, %s).", p->pid, p->program,
			*p->python ? ", Python " : "", p->python, c->sampled,
			c->sampled < c->objects ? ", chosen at random," : "",
			(double)c->took_ns / 1e9, c->scans,
			bytes_text((double)c->bytes_read, bytes));
}

/* ---- all ---- */

static int print_chains(const struct heap_screen *s, const struct heap_chains *c)
{
	size_t shown = limit_rows(s->limit, c->chain_cnt), i;
	char line[HEAP_CHAIN_BYTES];
	int err = 0;

	fprintf(s->out, "\n%s%*s  chain of references%s\n", colour_on(s->out, COLOUR_BOLD),
		SHARE_COLUMNS - 2, "share", colour_off(s->out));
	for (i = 0; !err && i < shown; i++) {
		fprintf(s->out, "%*.1f%%  ", SHARE_COLUMNS - 3,
			c->sampled ? 100.0 * c->chains[i].count / c->sampled : 0.0);
		text_wrap(s->out, heap_chain_line(&c->chains[i], line), SHARE_COLUMNS, s->width);
	}
	if (shown < c->chain_cnt)
		fprintf(s->out, "... and %zu more; --limit 0 shows all\n", c->chain_cnt - shown);
	return err;
}

static uint64_t count_unknown(const struct heap_chains *c)
{
	uint64_t cnt = 0;
	uint32_t i;

	for (i = 0; i < c->chain_cnt; i++)
		if (c->chains[i].root == HEAP_ROOT_UNKNOWN)
			cnt += c->chains[i].count;
	return cnt;
}

static int say_foot(const struct heap_screen *s, const struct heap_chains *c)
{
	uint64_t unknown = count_unknown(c);
	char bytes[BYTES_TEXT_MAX];
	int err = 0;

	if (unknown)
		err = heap_say(s, 0, "Of %u objects, the keepers of %lu were not found: they may "
			       "be temporary values of code that runs, or their references are "
			       "hidden in C code%s.", c->sampled, (unsigned long)unknown,
			       c->limited ? ", or the search ended too early" : "");
	if (!err && c->other)
		err = heap_say(s, 0, "%u more objects have further chains that are not listed.",
			       c->other);
	if (!err && c->gone)
		err = heap_say(s, 0, "%u further objects were freed meanwhile.", c->gone);
	if (!err && c->unread)
		err = heap_say(s, 0, "%s could not be read: references there were not seen.",
			       bytes_text((double)c->unread, bytes));
	if (!err && c->limited)
		err = heap_say(s, 0, "A limit ended the search early: there may be shorter "
			       "chains.");
	return err;
}

int heap_chains_text(const struct heap_screen *s, const struct heap_shown *p,
		     const struct heap_chains *c)
{
	int err = say_head(s, p, c);

	if (!err)
		err = print_chains(s, c);
	fputc('\n', s->out);
	if (!err)
		err = say_foot(s, c);
	if (!err && s->next)
		fprintf(s->out, "Next: sudo tachbpf heap %d --since 30s   # do they grow?\n",
			p->pid);
	return err;
}

/* ---- JSON ---- */

static void write_chain(struct json *j, const struct heap_chain *c, uint32_t sampled)
{
	char line[HEAP_CHAIN_BYTES];
	uint32_t i;

	json_object(j, NULL);
	json_uint(j, "objects", c->count);
	json_double(j, "share", sampled ? (double)c->count / sampled : 0);
	json_string(j, "root", roots[c->root].json);
	json_string(j, "root_name", *c->root_name ? c->root_name : NULL);
	json_string(j, "chain", heap_chain_line(c, line));
	json_bool(j, "cut", c->cut);
	json_array(j, "links");
	for (i = 0; i < c->link_cnt; i++) {
		json_object(j, NULL);
		json_string(j, "type", *c->links[i].type ? c->links[i].type : NULL);
		json_string(j, "name", *c->links[i].name ? c->links[i].name : NULL);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void heap_chains_json(struct json *j, const struct heap_shown *p, const struct python *python,
		      const struct heap_chains *c)
{
	uint32_t i;

	json_object(j, NULL);
	heap_json_identity(j, p, python);
	json_string(j, "type", c->type);
	json_uint(j, "objects", c->objects);
	json_uint(j, "sampled", c->sampled);
	json_uint(j, "gone", c->gone);
	json_uint(j, "other", c->other);
	json_uint(j, "scans", c->scans);
	json_uint(j, "bytes_read", c->bytes_read);
	json_uint(j, "bytes_unread", c->unread);
	json_double(j, "took", (double)c->took_ns / 1e9);
	json_double(j, "cpu", (double)c->cpu_ns / 1e9);
	json_bool(j, "limited", c->limited);
	json_array(j, "chains");
	for (i = 0; i < c->chain_cnt; i++)
		write_chain(j, &c->chains[i], c->sampled);
	json_array_end(j);
	json_object_end(j);
}
