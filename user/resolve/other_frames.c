// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* other_frames.c - see other_frames.h. */
#include "resolve/other_frames.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "asyncio/tasks.h"
#include "base/util.h"
#include "host/held_by.h"
#include "host/kallsyms.h"
#include "host/syscall_name.h"
#include "model/intern.h"

/* A limit for programs that keep creating exception types. */
#define EXCEPTIONS_MAX 1000
/* A limit for other kinds of frames, which a target may keep renaming. */
#define NAMES_MAX 256

void other_frames_init(struct other_frames *o, struct intern *in, const struct kallsyms *kernel)
{
	*o = (struct other_frames){ .in = in, .kernel = kernel };
	memset(o->ids, 0xff, sizeof(o->ids));
	memset(o->ends, 0xff, sizeof(o->ends));
}

int other_frame(struct other_frames *o, enum other_frame which, uint32_t *id)
{
	static const char *const names[] = {
		[FRAME_OF_NATIVE] = "<native>",
		[FRAME_OF_GC] = "<GC>",
		[FRAME_OF_TRUNCATED] = "<truncated>",
		[FRAME_OF_UNREADABLE] = "<unreadable frame>",
		[FRAME_OF_SWITCHING] = "<switching>",
		[FRAME_OF_NO_PYTHON] = "<no Python frame>",
		[FRAME_OF_WAIT_FOR_CPU] = "<waiting for a CPU>",
		[FRAME_OF_WAIT_FOR_GIL] = "<waiting for the GIL>",
		[FRAME_OF_NOT_WALKED] = "<not walked>",
		[FRAME_OF_NOT_KEPT] = "<stacks not kept>",
	};
	enum frame_kind kind = which == FRAME_OF_NATIVE ? FRAME_NATIVE : FRAME_SYNTHETIC;
	int err = o->ids[which] != UINT32_MAX ? 0 :
		  intern_synthetic(o->in, kind, names[which], &o->ids[which]);

	if (!err)
		*id = o->ids[which];
	return err;
}

int other_frame_of_kernel(struct other_frames *o, uint64_t addr, uint32_t *id)
{
	const char *name = o->kernel ? kallsyms_name(o->kernel, addr) : NULL;
	char text[256 + 16];

	snprintf(text, sizeof(text), "<kernel %s>", name ? name : "?");
	return intern_synthetic(o->in, FRAME_KERNEL, text, id);
}

int other_frame_of_end(struct other_frames *o, enum native_end end, uint32_t *id)
{
	static const char *const causes[NATIVE_END_CNT] = {
		[NATIVE_WHOLE] = "the first function",
		[NATIVE_DEPTH] = "too deep",
		[NATIVE_NO_REGS] = "no registers",
		[NATIVE_NO_MAPPINGS] = "mapping not read yet",
		[NATIVE_NO_MAPPING] = "mapping not read yet",
		[NATIVE_JIT] = "JIT code",
		[NATIVE_NO_TABLE] = "table not ready",
		[NATIVE_NO_ROW] = "no unwind table",
		[NATIVE_UNSUPPORTED] = "unsupported rule",
		[NATIVE_UNREADABLE] = "stack unreadable",
		[NATIVE_NO_PROGRESS] = "no progress",
		[NATIVE_TIME] = "time limit",
	};
	char text[64];
	int err = 0;

	if (o->ends[end] == UINT32_MAX) {
		snprintf(text, sizeof(text), "<unwound no further: %s>", causes[end]);
		err = intern_synthetic(o->in, FRAME_SYNTHETIC, text, &o->ends[end]);
	}
	if (!err)
		*id = o->ends[end];
	return err;
}

/*
 * Returns a frame whose text the target chooses. cnt: frames of this kind so far; after the first
 * max of a process the text is rest.
 */
static int limited_frame(struct other_frames *o, uint32_t *cnt, uint32_t max, const char *text,
			 const char *rest, uint32_t *id)
{
	uint32_t before = intern_tables(o->in)->frame_cnt, known;
	int err;

	if (*cnt >= max && !intern_find_string(o->in, text, strlen(text), &known))
		text = rest;
	err = intern_synthetic(o->in, FRAME_SYNTHETIC, text, id);
	*cnt += intern_tables(o->in)->frame_cnt != before;
	return err;
}

int other_frame_of_interpreter(struct other_frames *o, uint64_t interp_id, uint32_t *id)
{
	char text[48];

	snprintf(text, sizeof(text), "<interpreter %" PRIu64 ">", interp_id);
	return limited_frame(o, &o->interps, NAMES_MAX, text, "<interpreter>", id);
}

int other_frame_of_gap(struct other_frames *o, uint32_t left_out, uint32_t *id)
{
	char text[48];

	snprintf(text, sizeof(text), "<... %" PRIu32 " frames ...>", left_out);
	return limited_frame(o, &o->gaps, NAMES_MAX, text, "<... frames ...>", id);
}

int other_frame_of_call(struct other_frames *o, uint16_t sysno, uint32_t *id)
{
	char name[SYSCALL_NAME_MAX + 32], call[SYSCALL_NAME_MAX];

	snprintf(name, sizeof(name), "<blocked in %s>", syscall_name(sysno, call));
	return intern_synthetic(o->in, FRAME_SYNTHETIC, name, id);
}

/* Signals that stop a process. */
static const char *stop_signal(int sig)
{
	return sig == SIGSTOP ? "SIGSTOP" : sig == SIGTSTP ? "SIGTSTP" :
	       sig == SIGTTIN ? "SIGTTIN" : sig == SIGTTOU ? "SIGTTOU" : "a signal";
}

int other_frame_of_held(struct other_frames *o, uint16_t wait, const char *by, uint32_t *id)
{
	const char *rest = wait == RAW_WAIT_TRACED ? "<traced>" : "<frozen>";
	char text[HELD_BY_BYTES + 32];

	if (wait < RAW_WAIT_TRACED)
		snprintf(text, sizeof(text), "<stopped by %s>",
			 stop_signal(wait - RAW_WAIT_STOPPED));
	else if (!*by)
		snprintf(text, sizeof(text), "%s", rest);
	else if (wait == RAW_WAIT_TRACED)
		snprintf(text, sizeof(text), "<traced by %s>", by);
	else
		snprintf(text, sizeof(text), "<frozen in cgroup %s>", by);
	return limited_frame(o, &o->holders, NAMES_MAX, text, rest, id);
}

int other_frame_of_exception(struct other_frames *o, const char type[RAW_EXCEPTION], uint32_t *id)
{
	char name[4 * RAW_EXCEPTION], text[sizeof(name) + 16];

	escape_text(type, strnlen(type, RAW_EXCEPTION), name, sizeof(name));
	snprintf(text, sizeof(text), "<exception %s>", name);
	return limited_frame(o, &o->exceptions, EXCEPTIONS_MAX, text, "<exception ?>", id);
}

int other_frame_of_native_thread(struct other_frames *o, const char *comm, uint32_t *id)
{
	static const char *const nameless = "<native thread>";
	char name[4 * COMM_BYTES], text[sizeof(name) + 24];

	escape_text(comm, strnlen(comm, COMM_BYTES), name, sizeof(name));
	snprintf(text, sizeof(text), "<native thread %s>", name);
	return limited_frame(o, &o->native_names, NAMES_MAX, *name ? text : nameless, nameless, id);
}

int other_frame_of_task(struct other_frames *o, const char *name, size_t len, uint32_t *id)
{
	char escaped[4 * RAW_ASYNC_NAME], text[sizeof(escaped) + 16];

	escape_text(name, len, escaped, sizeof(escaped));
	snprintf(text, sizeof(text), "<task %s>", escaped);
	return limited_frame(o, &o->task_names, NAMES_MAX, text, "<task>", id);
}

int other_frame_of_task_wait(struct other_frames *o, const char *word, const char *name,
			     uint32_t *id)
{
	char escaped[4 * WAITS_NAME_BYTES], rest[64], text[sizeof(rest) + sizeof(escaped)];

	escape_text(name, strlen(name), escaped, sizeof(escaped));
	snprintf(rest, sizeof(rest), "<waiting for %s>", word);
	snprintf(text, sizeof(text), "<waiting for %s %s>", word, escaped);
	return limited_frame(o, &o->task_waits, NAMES_MAX, *name ? text : rest, rest, id);
}

uint32_t other_frames_first_of_kernel(const struct other_frames *o, const struct raw_extra *x)
{
	const char *name;
	uint32_t i;

	for (i = 0; i < x->nkernel; i++) {
		name = kallsyms_name(o->kernel, x->kernel[i]);
		if (name && !strcmp(name, "__schedule"))
			return i + 1;
	}
	return 0;
}
