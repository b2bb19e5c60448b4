// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_frame.c - see process_frame.h.
 */
#include "model/process_frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define PREFIX "<process "
#define IN_CONTAINER " @"

/* A comm must not imitate a container: " @" in it becomes " \x40". */
static void escape_comm(const char *comm, char *out, size_t size)
{
	const char *at = strstr(comm, IN_CONTAINER);
	size_t len;

	escape_text(comm, at ? (size_t)(at - comm) : strlen(comm), out, size);
	if (!at)
		return;
	len = strlen(out);
	len += (size_t)snprintf(out + len, size - len, " \\x40");
	if (len < size)
		escape_comm(at + strlen(IN_CONTAINER), out + len, size - len);
}

void process_frame_name(char out[PROCESS_FRAME_BYTES], uint32_t tgid, const char *comm,
			const char *container)
{
	char shown[4 * PROC_COMM_MAX];

	escape_comm(comm, shown, sizeof(shown));
	snprintf(out, PROCESS_FRAME_BYTES, PREFIX "%u %s%s%s>", tgid, shown,
		 *container ? IN_CONTAINER : "", container);
}

bool process_frame_parse(const struct profile_tables *tables, uint32_t frame, uint32_t *tgid,
			 char comm[PROCESS_FRAME_BYTES], const char **container)
{
	const struct frame *f;
	const struct string_ref *s;
	char text[PROCESS_FRAME_BYTES], *end, *at;
	unsigned long n;

	if (frame >= tables->frame_cnt)
		return false;
	f = &tables->frames[frame];
	s = &tables->strings[f->func];
	if (f->kind != FRAME_SYNTHETIC || s->len >= sizeof(text) ||
	    s->len <= strlen(PREFIX) || memcmp(s->data, PREFIX, strlen(PREFIX)) ||
	    s->data[s->len - 1] != '>')
		return false;
	memcpy(text, s->data, s->len - 1);
	text[s->len - 1] = '\0';
	errno = 0;
	n = strtoul(text + strlen(PREFIX), &end, 10);
	if (errno || !n || n > INT32_MAX || *end != ' ' || strlen(text) != s->len - 1)
		return false;
	*tgid = n;
	snprintf(comm, PROCESS_FRAME_BYTES, "%s", end + 1);
	at = strstr(comm, IN_CONTAINER);
	*container = at ? at + strlen(IN_CONTAINER) : comm + strlen(comm);
	if (at)
		*at = '\0';
	return true;
}

bool process_root_of(struct process_root *root, const struct event *ev)
{
	uint32_t frame;

	if (!root->tables || !ev->nframes)
		return false;
	frame = ev->frames[ev->nframes - 1];
	if (!root->known || root->frame != frame)
		root->is_process = process_frame_parse(root->tables, frame, &root->tgid,
						       root->comm, &root->container);
	root->known = true;
	root->frame = frame;
	return root->is_process;
}
