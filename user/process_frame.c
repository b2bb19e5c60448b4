// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_frame.c - see process_frame.h.
 */
#include "process_frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define PREFIX "<process "

void process_frame_name(char out[PROCESS_FRAME_BYTES], uint32_t tgid, const char *comm)
{
	char shown[4 * PROC_COMM_MAX];

	snprintf(out, PROCESS_FRAME_BYTES, PREFIX "%u %s>", tgid,
		 escape_text(comm, strlen(comm), shown, sizeof(shown)));
}

static bool is(const struct string_ref *s, const char *text)
{
	return s->len == strlen(text) && !memcmp(s->data, text, s->len);
}

bool process_frame_parse(const struct profile_tables *tables, uint32_t frame, uint32_t *tgid,
			 char comm[PROCESS_FRAME_BYTES])
{
	const struct frame *f;
	const struct string_ref *s;
	char text[PROCESS_FRAME_BYTES], *end;
	unsigned long n;

	if (frame >= tables->frame_cnt)
		return false;
	f = &tables->frames[frame];
	s = &tables->strings[f->func];
	if (!is(&tables->strings[f->file], SYNTHETIC_FILE) || s->len >= sizeof(text) ||
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
						       root->comm);
	root->known = true;
	root->frame = frame;
	return root->is_process;
}
