// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * shared_profile.c - see shared_profile.h. Knows events and names, no files.
 */
#include "recording/shared_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/process_frame.h"
#include "model/remap.h"

/* ---- commands ---- */

/* The next word from *p on; *p moves behind it. Returns its length; 0: there is none. */
static size_t next_word(const char **p, const char **word)
{
	size_t len;

	*p += strspn(*p, " ");
	*word = *p;
	len = strcspn(*p, " ");
	*p += len;
	return len;
}

/* Interpreter options that are followed by a word of their own (Python/getopt.c, "c:m:W:X:"). */
static bool takes_word(const char *option, size_t len)
{
	return len == 2 && strchr("WX", option[1]);
}

void shared_profile_command(const char *command, char *out, size_t size)
{
	const char *p = command, *name, *word;
	size_t name_len = next_word(&p, &name), len;

	for (len = next_word(&p, &word); len > 1 && word[0] == '-'; len = next_word(&p, &word)) {
		if (word[1] == 'c')
			len = 2;	/* leave out the program text, also in "-cTEXT" */
		if (len == 2 && (word[1] == 'c' || word[1] == 'm'))
			break;
		if (takes_word(word, len))
			next_word(&p, &word);
	}
	if (len == 2 && word[0] == '-' && word[1] == 'm') {
		const char *module;
		size_t module_len = next_word(&p, &module);

		snprintf(out, size, "%.*s -m %.*s", (int)name_len, name, (int)module_len, module);
		return;
	}
	snprintf(out, size, "%.*s%s%.*s", (int)name_len, name, len ? " " : "", (int)len, word);
}

/* ---- samples ---- */

struct shared_profile_pour {
	struct remap *remap;
	struct sink *sink;
	uint32_t root;
	uint32_t frames[EVENT_MAX_FRAMES];
};

struct shared_profile_pour *shared_profile_pour_new(const struct profile_tables *tables,
						    struct intern *into, struct sink *sink,
						    pid_t tgid, const char *comm,
						    const struct container *container)
{
	struct shared_profile_pour *p = calloc(1, sizeof(*p));
	char name[PROCESS_FRAME_BYTES], label[CONTAINER_LABEL_BYTES] = "";

	if (!p)
		return NULL;
	if (container)
		container_label(container, label);
	process_frame_name(name, tgid, comm, label);
	p->sink = sink;
	p->remap = remap_new(tables, into);
	if (!p->remap || intern_synthetic(into, FRAME_SYNTHETIC, name, &p->root)) {
		shared_profile_pour_free(p);
		return NULL;
	}
	return p;
}

void shared_profile_pour_free(struct shared_profile_pour *p)
{
	if (!p)
		return;
	remap_free(p->remap);
	free(p);
}

int shared_profile_pour_end(struct shared_profile_pour *p)
{
	return remap_libraries(p->remap);
}

/* In a stack without room the process' frame replaces the outermost frame. */
int shared_profile_pour_event(void *ctx, const struct event *ev)
{
	struct shared_profile_pour *p = ctx;
	struct event ours;
	uint32_t n;
	int err = remap_event(p->remap, ev, &ours);

	if (err)
		return err;
	n = ours.nframes < EVENT_MAX_FRAMES ? ours.nframes : EVENT_MAX_FRAMES - 1;
	memcpy(p->frames, ours.frames, n * sizeof(*p->frames));
	p->frames[n] = p->root;
	ours.frames = p->frames;
	ours.nframes = n + 1;
	return p->sink->ops->event(p->sink, &ours);
}
