/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader_test.h - what the tests of readers share: golden files, and a reader's
 * events as the text that tests/golden/expect.py writes.
 */
#ifndef TACHBPF_READER_TEST_H
#define TACHBPF_READER_TEST_H

#include "formats/readers.h"
#include "model/profile_names.h"
#include "model/reader.h"
#include "tests/unit/tach_test.h"

struct dump {
	FILE *out;
	const struct profile_tables *tables;
};

/* As Python's json.dumps() has it. */
static inline void dump_string(FILE *out, const char *s, size_t len)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < len; i++) {
		const char *escaped = strchr("\"\"\\\\\nn\tt\rr\bb\ff", s[i]);

		if (s[i] && escaped && strchr("\"\\\n\t\r\b\f", s[i]))
			fprintf(out, "\\%c", escaped[1]);
		else if ((unsigned char)s[i] < ' ')
			fprintf(out, "\\u%04x", s[i]);
		else
			fputc(s[i], out);
	}
	fputc('"', out);
}

static inline int dump_event(void *ctx, const struct event *ev)
{
	struct dump *d = ctx;
	uint32_t i;

	fprintf(d->out, "[%llu,%llu,%llu,[", (unsigned long long)ev->thread_id,
		(unsigned long long)ev->time_us, (unsigned long long)ev->weight);
	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f = &d->tables->frames[ev->frames[i]];
		const struct string_ref *file = &d->tables->strings[f->file];
		const struct string_ref *func = &d->tables->strings[f->func];

		fprintf(d->out, "%s[", i ? "," : "");
		dump_string(d->out, file->data, file->len);
		fputc(',', d->out);
		dump_string(d->out, func->data, func->len);
		fprintf(d->out, ",%d,%d]", f->line, f->column);
		assert_int_equal(f->end_line, f->line);
		assert_int_equal(f->end_column, f->column);
		assert_int_equal(f->opcode, OPCODE_NONE);
	}
	fputs("]]\n", d->out);
	return 0;
}

/* All profiles of a file; to be freed. */
static inline char *dump_file(const char *path, const struct reader_args *args)
{
	char why[256] = "", *text = NULL;
	struct reader *r = reader_open(path, args, why, sizeof(why));
	struct dump d;
	size_t size;
	uint32_t i;

	if (!r)
		fail_msg("%s: %s", path, why);
	d.out = open_memstream(&text, &size);
	for (i = 0; i < reader_profile_cnt(r); i++) {
		const struct reader_info *info = reader_info(r);

		reader_select(r, i);
		fprintf(d.out, "[\"profile\",\"%s\",%u,", profile_unit_name(info->meta.unit),
			info->meta.tgid);
		if (info->meta.comm)
			dump_string(d.out, info->meta.comm, strlen(info->meta.comm));
		else
			fputs("null", d.out);
		fputs("]\n", d.out);
		d.tables = reader_tables(r);
		if (reader_run(r, dump_event, &d, why, sizeof(why)))
			fail_msg("%s: %s", path, why);
	}
	fclose(d.out);
	reader_free(r);
	return text;
}

static inline char *format_path(const char *format, const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s/%s", GOLDEN_DIR, format, name);
	return path;
}

/* Opens a golden file whose format is detected. */
static inline struct reader *open_format(const char *format, const char *name,
					 const struct reader_args *args)
{
	char path[512], why[256] = "";
	struct reader *r = reader_open(format_path(format, name, path), args, why, sizeof(why));

	if (!r)
		fail_msg("%s: %s", name, why);
	assert_string_equal(reader_format(r), format);
	return r;
}

/* Two golden files have the same samples. */
static inline void assert_same_samples(const char *format, const char *name, const char *other)
{
	char path[2][512], *text[2];

	text[0] = dump_file(format_path(format, name, path[0]), NULL);
	text[1] = dump_file(format_path(format, other, path[1]), NULL);
	assert_string_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

#endif
