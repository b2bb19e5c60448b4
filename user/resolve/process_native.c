// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_native.c - takes the machine code of a process' records. See process_parts.h. */
#include <errno.h>

#include "base/util.h"
#include "native/native.h"
#include "resolve/native_merge.h"
#include "resolve/process_parts.h"

int process_native(struct process *p, const struct raw_native *raw, size_t len)
{
	int err;

	if (process_must_confirm(p, raw, len))
		return process_confirm(p, raw, len);
	err = p->native ? native_records_put(&p->native_records, raw, len) : -EBADMSG;
	return err == -ENOMEM ? process_without_memory(p, raw->tid, err) : err;
}

/* If there is no more room, what is at the root is left out: the stack is too deep for an event. */
static void put(struct native_stack *out, uint32_t id)
{
	if (out->cnt < ARRAY_SIZE(out->ids))
		out->ids[out->cnt++] = id;
}

/* One C frame: several ids if functions are inlined in it. */
static int put_native(struct process *p, struct native_known *known, struct native_stack *out)
{
	const uint32_t *ids;
	uint32_t cnt, i;
	int err = native_frames_ids(p->native, known, &ids, &cnt);

	for (i = 0; !err && i < cnt; i++)
		put(out, ids[i]);
	out->frames += err ? 0 : cnt;
	return err;
}

/* The items of a merged stack become ids. */
static int put_items(struct process *p, const struct raw_native *raw, const struct native_merge *m,
		     struct native_known *const known[], struct native_stack *out)
{
	uint32_t i, id;
	int err = 0;

	for (i = 0; !err && i < m->cnt; i++) {
		if (m->items[i] == NATIVE_MERGE_PYTHON) {
			put(out, NATIVE_STACK_PYTHON);
		} else if (m->items[i] == NATIVE_MERGE_END) {
			err = other_frame_of_end(&p->others, raw->end, &id);
			if (!err)
				put(out, id);
		} else {
			err = put_native(p, known[m->items[i]], out);
		}
	}
	return err;
}

/* Their tables stay. Neighbours are often in the same file. */
static void note_use(struct process *p, const struct raw_native *raw)
{
	uint32_t i;

	for (i = 0; i < raw->nframes; i++)
		if (raw->frames[i].file && (!i || raw->frames[i].file != raw->frames[i - 1].file))
			native_used(p->args.native, raw->frames[i].file);
}

static int merge(struct process *p, const struct raw_native *raw, uint32_t python,
		 bool python_whole, struct native_stack *out)
{
	struct native_known *known[RAW_NATIVE_FRAMES];
	uint8_t classes[RAW_NATIVE_FRAMES];
	const struct native_merge_in in = {
		.raw = raw, .classes = classes, .python = python, .python_whole = python_whole,
		.without_entries = p->args.image->minor <= 10, .full = p->args.native_full,
	};
	struct native_merge merged;
	uint32_t i;

	if (native_frames_find(p->native, raw, known))
		return -ENOMEM;
	for (i = 0; i < raw->nframes; i++)
		classes[i] = known[i]->class;
	native_merge(&in, &merged);
	p->stats.merge_uncertain += merged.uncertain;
	return put_items(p, raw, &merged, known, out);
}

int process_take_native(struct process *p, const struct raw_head *raw, bool python_whole,
			struct native_stack *out)
{
	const struct raw_native *native;
	int err;

	out->cnt = out->frames = 0;
	if (!p->native)
		return 0;
	native = native_records_take(&p->native_records, raw->h.time_ns, raw->tid, raw->cpu);
	if (!native)
		return 0;
	p->stats.native_ends[native->end]++;
	if (native->end == NATIVE_NO_MAPPINGS || native->end == NATIVE_NO_MAPPING)
		native_stale(p->args.native, p->args.tgid);
	note_use(p, native);
	err = merge(p, native, raw->nframes, python_whole, out);
	if (err)
		out->cnt = 0;
	return err;
}
