// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * top_labels.c - see top_state.h. A process often renames itself soon after its fork, and hardly
 * ever later: its command line is read again at intervals that double.
 */
#include "commands/top_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "host/proc.h"
#include "resolve/process.h"
#include "telemetry/command_label.h"

#define NS_PER_S 1000000000ull
#define LONGEST_NS (64 * NS_PER_S)
#define FORGET_NS (60 * NS_PER_S)

struct label {
	uint64_t start_ns;	/* of the process */
	uint64_t next_ns;	/* when to read it again */
	uint64_t wait_ns;
	uint64_t used_ns;
	pid_t tgid;
	char *text;
};

struct top_labels {
	struct u64map by_tgid;	/* of struct label */
};

struct top_labels *top_labels_new(void)
{
	return calloc(1, sizeof(struct top_labels));
}

static void label_free(struct label *label)
{
	free(label->text);
	free(label);
}

void top_labels_free(struct top_labels *l)
{
	struct label *label;
	size_t pos = 0;

	if (!l)
		return;
	while ((label = u64map_next(&l->by_tgid, &pos)))
		label_free(label);
	u64map_free(&l->by_tgid);
	free(l);
}

/* Returns a new text; NULL: no memory. */
static char *read_label(const struct process *p)
{
	char raw[COMMAND_LABEL_BYTES], text[COMMAND_LABEL_BYTES] = "";
	pid_t task = proc_living_task(process_tgid(p));
	ssize_t len = task ? proc_read(task, "cmdline", raw, sizeof(raw)) : 0;
	const char *command = process_command(p);

	if (len > 0)
		command_label(raw, (size_t)len, 0, text);
	if (!*text && command)
		command_label(command, strlen(command), 0, text);
	if (!*text)
		escape_text(process_comm(p), strlen(process_comm(p)), text, sizeof(text));
	return strdup(text);
}

static struct label *find_label(struct top_labels *l, const struct process *p)
{
	struct label *label = u64map_get(&l->by_tgid, (uint64_t)process_tgid(p));

	if (label && label->start_ns == process_start_ns(p))
		return label;
	if (label) {
		u64map_remove(&l->by_tgid, (uint64_t)process_tgid(p));
		label_free(label);
	}
	label = calloc(1, sizeof(*label));
	if (!label)
		return NULL;
	label->tgid = process_tgid(p);
	label->start_ns = process_start_ns(p);
	if (u64map_put(&l->by_tgid, (uint64_t)label->tgid, label)) {
		label_free(label);
		return NULL;
	}
	return label;
}

const char *top_label(struct top_labels *l, const struct process *p)
{
	struct label *label = find_label(l, p);
	uint64_t now = now_ns();
	char *text;

	if (!label)
		return "?";
	label->used_ns = now;
	if (now < label->next_ns)
		return label->text ? label->text : "?";
	label->wait_ns = !label->wait_ns ? NS_PER_S / 2 :
			 label->wait_ns < LONGEST_NS ? 2 * label->wait_ns : LONGEST_NS;
	label->next_ns = now + label->wait_ns;
	text = read_label(p);
	if (text) {
		free(label->text);
		label->text = text;
	}
	return label->text ? label->text : "?";
}

void top_labels_forget(struct top_labels *l)
{
	uint64_t now = now_ns();
	struct label *label;
	size_t pos = 0;

	while ((label = u64map_next(&l->by_tgid, &pos))) {
		if (now - label->used_ns < FORGET_NS)
			continue;
		u64map_remove(&l->by_tgid, (uint64_t)label->tgid);
		label_free(label);
	}
}
