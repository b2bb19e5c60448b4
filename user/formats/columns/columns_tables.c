// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* columns_tables.c - see columns_tables.h. */
#include "formats/columns/columns_tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/columns/columns_out.h"
#include "model/native_frame.h"
#include "model/profile_names.h"
#include "model/stack_frame.h"

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD, as in JSON */

/* Bits of frame.flags: who has the self of a stack, see stack_frame.h; is there a file to show? */
enum frame_flag { FLAG_DETAIL_OF_PYTHON = 1, FLAG_DETAIL = 2, FLAG_HAS_FILE = 4 };

struct frame_row {
	int32_t function, file, line, end_line, column, end_column, first_line;
	uint8_t kind, flags;
};

static const struct column frame_columns[] = {
	COLUMN("frame.function", struct frame_row, function),
	COLUMN("frame.file", struct frame_row, file),
	COLUMN("frame.line", struct frame_row, line),
	COLUMN("frame.end_line", struct frame_row, end_line),
	COLUMN("frame.column", struct frame_row, column),
	COLUMN("frame.end_column", struct frame_row, end_column),
	COLUMN("frame.first_line", struct frame_row, first_line),
	COLUMN("frame.kind", struct frame_row, kind),
	COLUMN("frame.flags", struct frame_row, flags),
};

static const struct column sum_columns[] = {
	COLUMN("stack.weight", struct stack_sum, weight),
	COLUMN("stack.squares", struct stack_sum, squares),
};

static const struct column process_columns[] = {
	COLUMN("process.pid", struct process_row, pid),
	COLUMN("process.start_us", struct process_row, start_us),
	COLUMN("process.start_utc_ns", struct process_row, start_utc_ns),
	COLUMN("process.interval_us", struct process_row, interval_us),
	COLUMN("process.lost", struct process_row, lost),
	COLUMN("process.duration_s", struct process_row, duration_s),
	COLUMN("process.sample_rate", struct process_row, sample_rate),
	COLUMN("process.error_pct", struct process_row, error_pct),
	COLUMN("process.missed_pct", struct process_row, missed_pct),
	COLUMN("process.python", struct process_row, python),
	COLUMN("process.features", struct process_row, features),
	COLUMN("process.profile", struct process_row, profile),
	COLUMN("process.timed", struct process_row, timed),
	COLUMN("process.of_container", struct process_row, of_container),
	COLUMN("process.comm", struct process_row, text[TEXT_COMM]),
	COLUMN("process.program", struct process_row, text[TEXT_PROGRAM]),
	COLUMN("process.container", struct process_row, text[TEXT_CONTAINER]),
	COLUMN("process.image", struct process_row, text[TEXT_IMAGE]),
	COLUMN("process.platform", struct process_row, text[TEXT_PLATFORM]),
	COLUMN("process.mode", struct process_row, text[TEXT_MODE]),
	COLUMN("process.unit", struct process_row, text[TEXT_UNIT]),
	COLUMN("process.event", struct process_row, text[TEXT_EVENT]),
	COLUMN("process.type", struct process_row, text[TEXT_TYPE]),
	COLUMN("process.type_unit", struct process_row, text[TEXT_TYPE_UNIT]),
};

static const struct column thread_columns[] = {
	COLUMN("thread.id", struct thread_row, id),
	COLUMN("thread.process", struct thread_row, process),
	COLUMN("thread.name", struct thread_row, name),
	COLUMN("thread.main", struct thread_row, main),
};

static const struct column loss_columns[] = {
	COLUMN("loss.count", struct loss_row, count),
	COLUMN("loss.process", struct loss_row, process),
	COLUMN("loss.cause", struct loss_row, cause),
};

int columns_tables_init(struct columns_tables *t)
{
	t->names = intern_new();
	t->stacks = intern_new();
	return t->names && t->stacks ? 0 : -ENOMEM;
}

void columns_tables_free(struct columns_tables *t)
{
	intern_free(t->names);
	intern_free(t->stacks);
	buf_free(&t->sums);
	buf_free(&t->processes);
	buf_free(&t->threads);
	buf_free(&t->losses);
}

int columns_text(struct columns_tables *t, const char *text, int32_t *id)
{
	uint32_t found = 0;
	int err = text ? intern_string(t->names, text, strlen(text), &found) : 0;

	*id = text ? (int32_t)found : TEXT_UNKNOWN;
	return err;
}

/* ---- processes ---- */

static int64_t capped(uint64_t v)
{
	return v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

static int add_texts(struct columns_tables *t, const struct profile_meta *m, int32_t *text)
{
	const char *texts[TEXT_CNT] = {
		[TEXT_COMM] = m->comm, [TEXT_PROGRAM] = m->program,
		[TEXT_CONTAINER] = m->container, [TEXT_IMAGE] = m->image,
		[TEXT_PLATFORM] = m->platform, [TEXT_MODE] = profile_mode_name(m->mode),
		[TEXT_UNIT] = profile_unit_name(m->unit), [TEXT_EVENT] = m->event,
		[TEXT_TYPE] = m->type, [TEXT_TYPE_UNIT] = m->type_unit,
	};
	int i, err = 0;

	for (i = 0; i < SERVICE_PART_CNT; i++)
		texts[TEXT_SERVICE + i] = service_part_of(m->service, (enum service_part)i);
	for (i = 0; !err && i < TEXT_CNT; i++)
		err = columns_text(t, texts[i], &text[i]);
	return err;
}

int columns_add_process(struct columns_tables *t, const struct profile_meta *m)
{
	struct process_row row = {
		.pid = m->tgid, .start_us = capped(m->start_us),
		.start_utc_ns = capped(m->start_utc_ns), .interval_us = capped(m->interval_us),
		.lost = -1, .duration_s = NAN, .sample_rate = NAN, .error_pct = NAN,
		.missed_pct = NAN,
		.python = m->python_major << 16 | m->python_minor << 8 | m->python_micro,
		.features = m->features_known ? (int32_t)m->features : -1,
		.profile = (int32_t)columns_process_cnt(t), .timed = m->timed,
		.of_container = m->of_container,
	};
	int err = add_texts(t, m, row.text);

	return err ? err : buf_add(&t->processes, &row, sizeof(row));
}

struct process_row *columns_process(const struct columns_tables *t, uint32_t process)
{
	return (struct process_row *)(void *)t->processes.data + process;
}

uint32_t columns_process_cnt(const struct columns_tables *t)
{
	return (uint32_t)(t->processes.len / sizeof(struct process_row));
}

static void put_processes(const struct columns_tables *t, struct writer *w)
{
	uint64_t cnt = columns_process_cnt(t);
	int i;

	columns_put_rows(w, process_columns, ARRAY_SIZE(process_columns), t->processes.data,
			 sizeof(struct process_row), cnt);
	for (i = 0; i < SERVICE_PART_CNT; i++) {
		char name[COLUMN_NAME_BYTES];
		struct column c = { name, offsetof(struct process_row, text) +
					  (size_t)(TEXT_SERVICE + i) * sizeof(int32_t),
				    sizeof(int32_t) };

		snprintf(name, sizeof(name), "process.%s", service_part_keys[i]);
		columns_put_rows(w, &c, 1, t->processes.data, sizeof(struct process_row), cnt);
	}
}

/* ---- strings, frames, stacks ---- */

/* Appends a string; what is not UTF-8 is replaced as in JSON. Returns 0 or -ENOMEM. */
static int add_utf8(struct buf *bytes, struct string_ref s)
{
	size_t at, n;
	uint32_t cp;
	int err = 0;

	for (at = 0; !err && at < s.len; at += n ? n : 1) {
		n = utf8_char(s.data + at, s.len - at, &cp);
		err = n ? buf_add(bytes, s.data + at, n) :
			  buf_add(bytes, REPLACEMENT, strlen(REPLACEMENT));
	}
	return err;
}

static int put_strings(const struct columns_tables *t, struct writer *w)
{
	const struct profile_tables *names = intern_tables(t->names);
	struct buf bytes = { 0 }, ends = { 0 };
	int32_t end = 0;
	int err = buf_add(&ends, &end, sizeof(end));
	uint32_t i;

	for (i = 0; !err && i < names->string_cnt; i++) {
		size_t before = bytes.len;

		err = add_utf8(&bytes, names->strings[i]);
		if (!err)
			err = columns_add_end(&end, bytes.len - before);
		if (!err)
			err = buf_add(&ends, &end, sizeof(end));
	}
	if (!err) {
		columns_put(w, "string.ends", sizeof(end), ends.data, ends.len / sizeof(end));
		columns_put(w, "string.bytes", 1, bytes.data, bytes.len);
	}
	buf_free(&bytes);
	buf_free(&ends);
	return err;
}

static struct frame_row frame_row(const struct profile_tables *names, uint32_t id)
{
	const struct frame *f = &names->frames[id];
	uint8_t flags = 0;

	if (frame_is_detail(names, id, SELF_OF_PYTHON))
		flags |= FLAG_DETAIL_OF_PYTHON;
	if (frame_is_detail(names, id, SELF_OF_FUNCTIONS))
		flags |= FLAG_DETAIL;
	if (frame_has_file((enum frame_kind)f->kind, &names->strings[f->file]))
		flags |= FLAG_HAS_FILE;
	return (struct frame_row){
		.function = (int32_t)f->func, .file = (int32_t)f->file, .line = f->line,
		.end_line = f->end_line, .column = f->column, .end_column = f->end_column,
		.first_line = f->first_line, .kind = f->kind, .flags = flags,
	};
}

static int put_frames(const struct columns_tables *t, struct writer *w)
{
	const struct profile_tables *names = intern_tables(t->names);
	struct frame_row *rows = calloc((size_t)names->frame_cnt + 1, sizeof(*rows));
	uint32_t i;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < names->frame_cnt; i++)
		rows[i] = frame_row(names, i);
	columns_put_rows(w, frame_columns, ARRAY_SIZE(frame_columns), rows, sizeof(*rows),
			 names->frame_cnt);
	free(rows);
	return 0;
}

static int put_stacks(const struct columns_tables *t, struct writer *w)
{
	const struct profile_tables *stacks = intern_tables(t->stacks);
	struct buf ends = { 0 }, frames = { 0 };
	int32_t end = 0;
	int err = buf_add(&ends, &end, sizeof(end));
	uint32_t i;

	for (i = 0; !err && i < stacks->string_cnt; i++) {
		struct string_ref s = stacks->strings[i];

		err = columns_add_end(&end, s.len / sizeof(uint32_t));
		if (!err)
			err = buf_add(&ends, &end, sizeof(end));
		if (!err && s.len)
			err = buf_add(&frames, s.data, s.len);
	}
	if (!err) {
		columns_put(w, "stack.ends", sizeof(end), ends.data, ends.len / sizeof(end));
		columns_put(w, "stack.frames", sizeof(uint32_t), frames.data,
			    frames.len / sizeof(uint32_t));
		columns_put_rows(w, sum_columns, ARRAY_SIZE(sum_columns), t->sums.data,
				 sizeof(struct stack_sum), stacks->string_cnt);
	}
	buf_free(&ends);
	buf_free(&frames);
	return err;
}

int columns_tables_write(const struct columns_tables *t, struct writer *w)
{
	int err = put_strings(t, w);

	if (!err)
		err = put_frames(t, w);
	if (!err)
		err = put_stacks(t, w);
	if (err)
		return err;
	put_processes(t, w);
	columns_put_rows(w, thread_columns, ARRAY_SIZE(thread_columns), t->threads.data,
			 sizeof(struct thread_row), t->threads.len / sizeof(struct thread_row));
	columns_put_rows(w, loss_columns, ARRAY_SIZE(loss_columns), t->losses.data,
			 sizeof(struct loss_row), t->losses.len / sizeof(struct loss_row));
	columns_put(w, "end", 1, NULL, 0);
	return 0;
}
