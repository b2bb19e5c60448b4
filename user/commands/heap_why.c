// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_why.c - see heap_why.h. */
#include "commands/heap_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"
#include "base/util.h"
#include "commands/heap_chains_show.h"
#include "heap/heap_worker.h"

/* A scan of 1 GB takes about 0.3 s; there are few. */
#define WHY_NS (60 * NS_PER_S)

static void fill_why(const struct heap_options *opts, struct heap_why *why)
{
	*why = (struct heap_why){ .values = opts->values, .limits = { .time_ns = WHY_NS } };
	utf8_copy(why->type, sizeof(why->type), opts->why, strlen(opts->why));
	if (getrandom(&why->limits.seed, sizeof(why->limits.seed), GRND_NONBLOCK) !=
	    sizeof(why->limits.seed))
		why->limits.seed = now_ns();
}

static void say_none(const struct heap_process *p, const char *type)
{
	char shown[HEAP_SHOWN_BYTES];

	log_error("process %d has no object of the type '%s': sudo tachbpf heap %d lists the types",
		  p->python.tgid, heap_name(type, shown), p->python.tgid);
}

/* "a.Node (300 objects)"; hostile names are escaped. */
#define NAMES_BYTES (HEAP_WHY_NAMES_MAX * (HEAP_SHOWN_BYTES + 40))

static void say_several(const struct heap_process *p, const char *type,
			const struct heap_chains *c)
{
	char names[NAMES_BYTES] = "", shown[HEAP_SHOWN_BYTES], count[HEAP_COUNT_BYTES];
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < c->name_cnt; i++) {
		const struct heap_why_name *name = &c->names[i];

		snprintf(names + at, sizeof(names) - at, "%s%s (%s %s)", i ? ", " : "",
			 heap_name(name->type, shown),
			 heap_count_text(heap_signed(name->objects), count),
			 text_plural(name->objects, "object", "objects"));
		at = strlen(names);
	}
	log_error("process %d has objects of several types whose name ends in '%s': %s%s: give "
		  "one of these names", p->python.tgid, heap_name(type, shown), names,
		  c->name_cnt == HEAP_WHY_NAMES_MAX ? ", ..." : "");
}

/* Returns true if there is something to show. */
static bool find_chains(const struct heap_options *opts, const struct heap_why *why,
			struct heap_processes *l, size_t i, struct heap_chains *out)
{
	const struct heap_process *p = &l->list[i];
	int err = heap_worker_chains(&p->target, why, out);

	if (!err)
		return true;
	if (err == -ENOTUNIQ) {
		say_several(p, why->type, out);
		l->failed++;
	} else if (err == -ENOENT && !opts->select.all) {
		say_none(p, why->type);
		l->failed++;
	} else if (err != -ENOENT) {
		heap_process_refuse(l, p, err, !opts->select.all);
	}
	return false;
}

int heap_why_show(const struct heap_options *opts, struct heap_processes *l, size_t *shown)
{
	struct heap_screen screen = { .out = stdout, .width = text_terminal_width(stdout),
				      .limit = opts->limit, .next = true };
	struct heap_chains *chains = malloc(sizeof(*chains));
	struct heap_why why;
	struct json j;
	size_t i;
	int err = chains ? 0 : -ENOMEM;

	fill_why(opts, &why);
	if (opts->json) {
		json_start(&j, stdout, true);
		json_object(&j, NULL);
		json_uint(&j, HEAP_CHAINS_JSON_KEY, HEAP_CHAINS_JSON_VERSION);
		json_array(&j, "processes");
	}
	for (i = 0; !err && i < l->cnt; i++) {
		const struct python *python = &l->list[i].python;
		const struct heap_shown p = { .pid = python->tgid, .program = l->list[i].program,
					      .python = python->version };

		if (!find_chains(opts, &why, l, i, chains))
			continue;
		if (!opts->json && *shown)
			putchar('\n');
		if (opts->json)
			heap_chains_json(&j, &p, python, chains);
		else
			err = heap_chains_text(&screen, &p, chains);
		++*shown;
	}
	if (opts->json)
		heap_json_end(&j, stdout, l->failed);
	free(chains);
	return err;
}
