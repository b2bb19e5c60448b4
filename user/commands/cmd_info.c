// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cmd_info.c - tachbpf info: the files' headers, their threads, their losses. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/info_show.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "commands/show.h"
#include "formats/readers.h"
#include "formats/tach/tach_profile.h"
#include "formats/tach/tach_reader.h"
#include "model/native_library.h"
#include "model/process_frame.h"
#include "model/profile_names.h"
#include "model/thread_names.h"

#define FACT_COLUMN 15		/* column of the values */

struct run {
	struct profile_set *set;
	bool as_json;
	uint32_t limit;			/* of threads in text; 0: all */
	struct json json;
	struct info_threads threads;
};

static bool file_is_little_endian(const struct tach_info *info)
{
	return (BYTE_ORDER == LITTLE_ENDIAN) != info->swapped;
}

static double bytes_per_sample(const struct tach_info *info)
{
	return info->sample_cnt ? (double)info->file_size / info->sample_cnt : 0;
}

static bool python_known(const struct tach_info *info)
{
	return info->layout != LAYOUT_DRAFT2;	/* draft2 has no such field */
}

struct kinds {
	uint32_t cnt[FRAME_KIND_CNT];
};

static struct kinds count_kinds(const struct profile_tables *t)
{
	struct kinds k = { 0 };
	uint32_t i;

	for (i = 0; i < t->frame_cnt; i++)
		if (t->frames[i].kind < FRAME_KIND_CNT)
			k.cnt[t->frames[i].kind]++;
	return k;
}

/* ---- JSON ---- */

static void json_library(struct json *j, const struct native_library *l)
{
	char build_id[NATIVE_BUILD_ID_TEXT];

	json_object(j, NULL);
	json_ref(j, "name", &l->name);
	if (l->path.len)
		json_ref(j, "path", &l->path);
	else
		json_null(j, "path");
	json_string(j, "build_id", l->build_id_bytes ? native_build_id_text(l, build_id) : NULL);
	json_object_end(j);
}

static int json_frames(struct json *j, const struct profile_tables *tables)
{
	struct kinds k = count_kinds(tables);
	struct native_index x;
	int err = native_index_make(&x, tables);
	uint32_t i;

	json_object(j, "frame_kinds");
	for (i = 0; i < FRAME_KIND_CNT; i++)
		json_uint(j, profile_frame_kind_name((enum frame_kind)i), k.cnt[i]);
	json_object_end(j);
	json_array(j, "libraries");
	for (i = 0; !err && i < x.cnt; i++)
		json_library(j, &x.list[i]);
	json_array_end(j);
	native_index_free(&x);
	return err;
}

static void json_features(struct json *j, const struct profile_meta *meta)
{
	const char *name;
	uint32_t bit;
	size_t i;

	if (!meta->features_known) {
		json_null(j, "features");
		return;
	}
	json_array(j, "features");
	for (i = 0; (name = profile_feature_at(i, &bit)); i++)
		if (meta->features & bit)
			json_string(j, NULL, name);
	json_array_end(j);
}

static void json_known(struct json *j, const char *key, bool known, double value)
{
	json_double(j, key, known ? value : NAN);
}

/*
 * Returns true if traces of CPython's JIT were sampled, whose lines are less exact:
 * docs/reading.md.
 */
static bool has_jit(const struct profile_file *file)
{
	return file->session && session_json_jit(file->session, file->name);
}

static void json_header(struct json *j, const struct profile_file *file,
			const struct tach_info *info)
{
	const struct profile_meta *meta = &info->meta;
	char python[32];

	json_string(j, "layout", profile_layout_name(info->layout));
	json_uint(j, "version", info->version);
	json_string(j, "byte_order", file_is_little_endian(info) ? "little" : "big");
	snprintf(python, sizeof(python), "%u.%u.%u", meta->python_major, meta->python_minor,
		 meta->python_micro);
	json_string(j, "python", python_known(info) ? python : NULL);
	json_string(j, "mode", profile_mode_name(profile_file_mode(file, meta->mode)));
	json_features(j, meta);
	json_uint(j, "start_us", meta->start_us);
	json_uint(j, "interval_us", meta->interval_us);
	json_known(j, "duration_s", info->stats.known, info->stats.duration_s);
	json_known(j, "sample_rate_hz", info->stats.known, info->stats.sample_rate);
	json_known(j, "error_pct", info->stats.error_known, info->stats.error_pct);
	json_known(j, "missed_pct", info->stats.missed_known, info->stats.missed_pct);
	json_uint(j, "samples", info->sample_cnt);
	json_uint(j, "thread_count", info->thread_cnt);
	json_uint(j, "string_count", info->string_cnt);
	json_uint(j, "frame_count", info->frame_cnt);
	json_string(j, "compression", info->compression ? "zstd" : "none");
	json_uint(j, "size_bytes", info->file_size);
}

static void json_members(struct json *j, const struct info_threads *t)
{
	char comm[PROCESS_FRAME_BYTES];
	const char *container;
	uint32_t tgid;
	size_t i;

	if (!t->process_cnt) {
		json_null(j, "processes");
		return;
	}
	json_array(j, "processes");
	for (i = 0; i < t->process_cnt; i++) {
		if (!process_frame_parse(t->root.tables, t->processes[i].frame, &tgid, comm,
					 &container))
			continue;
		json_object(j, NULL);
		json_uint(j, "pid", tgid);
		json_string(j, "comm", comm);
		json_string(j, "container", *container ? container : NULL);
		json_uint(j, "samples", t->processes[i].samples);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_identity(struct json *j, const struct profile_file *file)
{
	json_string(j, "path", file->path);
	json_uint_known(j, "pid", file->process.tgid);
	json_string(j, "comm", file->process.comm);
	json_string(j, "command", file->process.command);
	json_string(j, "container", file->process.container);
	json_string(j, "image", file->process.image);
	json_string(j, "unit", file->process.unit);
}

static int json_file(struct json *j, const struct profile_file *file,
		     const struct tach_info *info, const struct profile_tables *tables,
		     const struct info_threads *t)
{
	int err;

	json_object(j, NULL);
	json_identity(j, file);
	json_string(j, "format", "tach");
	json_header(j, file, info);
	json_string(j, "event", file->session ? session_json_event(file->session) : NULL);
	json_bool(j, "jit", has_jit(file));
	err = json_frames(j, tables);
	json_members(j, t);
	info_threads_json(j, t, file->process.thread_names);
	if (file->session) {
		losses_json(j, file->session, profile_file_losses_of(file));
		losses_json_threads(j, file);
	} else {
		json_null(j, "lost");
		json_null(j, "lost_threads");
	}
	json_object_end(j);
	return err;
}

static void json_recordings(struct json *j, const struct profile_set *set)
{
	size_t i;

	json_array(j, "recordings");
	for (i = 0; i < set->dir_cnt; i++) {
		const struct session_json *session = set->dirs[i].session;

		json_object(j, NULL);
		json_string(j, "path", set->dirs[i].path);
		if (session) {
			double seconds = session_json_duration(session);

			json_known(j, "duration_s", seconds > 0, seconds);
			losses_json(j, session, NULL);
		} else {
			json_null(j, "duration_s");
			json_null(j, "lost");
		}
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- text ---- */

/* Prints a heading and s, which is untrusted; NULL: prints nothing. */
static void print_text(const char *heading, const char *s)
{
	char *shown = s ? text_escape(s, strlen(s)) : NULL;

	if (!s)
		return;
	printf("  %-12s ", heading);
	text_wrap(stdout, shown ? shown : "?", FACT_COLUMN, text_terminal_width(stdout));
	free(shown);
}

static void print_features(const struct profile_meta *meta)
{
	const char *name;
	uint32_t bit;
	size_t i;

	if (!meta->features_known)
		return;
	printf("  %-12s", "features");
	for (i = 0; (name = profile_feature_at(i, &bit)); i++)
		if (meta->features & bit)
			printf(" %s", name);
	printf("%s\n", meta->features ? "" : " none");
}

static void print_stats(const struct profile_stats *s)
{
	if (!s->known)
		return;
	printf("  %-12s %.3f s, %.2f samples/s\n", "duration", s->duration_s, s->sample_rate);
	if (s->missed_known)
		printf("  %-12s %.2f %% of the expected samples\n", "missed", s->missed_pct);
	if (s->error_known)
		printf("  %-12s %.2f %% of the samples\n", "failed", s->error_pct);
}

static void print_mode(const struct profile_file *file, const struct profile_meta *meta)
{
	const char *event = file->session ? session_json_event(file->session) : NULL;
	char shown[CLI_TEXT_MAX];

	if (event)
		printf("  %-12s %s\n", "event",
		       escape_text(event, strlen(event), shown, sizeof(shown)));
	else
		printf("  %-12s %s\n", "mode",
		       profile_mode_name(profile_file_mode(file, meta->mode)));
}

static void print_kinds(const struct kinds *k)
{
	const char *gap = "";
	uint32_t i;

	printf("  %-12s ", "frames");
	for (i = 0; i < FRAME_KIND_CNT; i++) {
		if (!k->cnt[i])
			continue;
		printf("%s%u %s", gap, k->cnt[i], profile_frame_kind_name((enum frame_kind)i));
		gap = ", ";
	}
	printf("\n");
}

static int print_library(const struct native_library *l, bool first)
{
	const struct string_ref *shown = l->path.len ? &l->path : &l->name;
	char build_id[NATIVE_BUILD_ID_TEXT], *text = text_escape(shown->data, shown->len);

	if (!text)
		return -ENOMEM;
	printf("  %-12s %s%s%s\n", first ? "libraries" : "", text,
	       l->build_id_bytes ? ", build id " : "", native_build_id_text(l, build_id));
	free(text);
	return 0;
}

static int print_frames(const struct profile_tables *tables, uint32_t limit)
{
	struct kinds k = count_kinds(tables);
	struct native_index x;
	size_t i, shown;
	int err;

	if (k.cnt[FRAME_PYTHON] == tables->frame_cnt)
		return 0;
	print_kinds(&k);
	err = native_index_make(&x, tables);
	shown = limit_rows(limit, x.cnt);
	for (i = 0; !err && i < shown; i++)
		err = print_library(&x.list[i], !i);
	limit_print_more("               ", x.cnt, shown);
	native_index_free(&x);
	return err;
}

static void print_header(const struct profile_file *file, const struct tach_info *info)
{
	const struct profile_meta *meta = &info->meta;

	printf("  %-12s %s, version %u, %s-endian\n", "layout", profile_layout_name(info->layout),
	       info->version, file_is_little_endian(info) ? "little" : "big");
	if (python_known(info))
		printf("  %-12s %u.%u.%u\n", "python", meta->python_major, meta->python_minor,
		       meta->python_micro);
	print_mode(file, meta);
	print_features(meta);
	printf("  %-12s %" PRIu64 " us", "interval", meta->interval_us);
	if (meta->interval_us)
		printf(" (%.6g Hz)", 1e6 / meta->interval_us);
	printf("\n  %-12s %.6f s after boot (CLOCK_MONOTONIC)\n", "start", meta->start_us / 1e6);
	print_stats(&info->stats);
	printf("  %-12s %" PRIu64 "\n", "samples", info->sample_cnt);
	printf("  %-12s %u %s, %u %s, %u %s\n", "tables", info->thread_cnt,
	       text_plural(info->thread_cnt, "thread", "threads"), info->string_cnt,
	       text_plural(info->string_cnt, "string", "strings"), info->frame_cnt,
	       text_plural(info->frame_cnt, "frame", "frames"));
	printf("  %-12s %" PRIu64 " bytes, %.1f a sample, %s\n", "size", info->file_size,
	       bytes_per_sample(info), info->compression ? "zstd" : "not compressed");
}

static void print_identity(const struct profile_file *file)
{
	printf("%s\n", file->shown);
	if (file->process.tgid)
		printf("  %-12s %u\n", "pid", file->process.tgid);
	print_text("comm", file->process.comm);
	print_text("command", file->process.command);
	print_text("container", file->process.container);
	print_text("image", file->process.image);
	print_text("unit", file->process.unit);
}

static int print_file(const struct run *run, const struct profile_file *file,
		      const struct tach_info *info, const struct profile_tables *tables)
{
	const struct info_threads *t = &run->threads;
	int err;

	print_identity(file);
	if (t->process_cnt)
		printf("  %-12s %zu in this file; report --by process lists them\n", "processes",
		       t->process_cnt);
	print_header(file, info);
	err = print_frames(tables, run->limit);
	if (has_jit(file))
		print_text("jit", "runs CPython's JIT: lines are where a trace was entered, "
			   "called or left");
	if (file->session) {
		printf("  %-12s ", "lost");
		losses_print(file->session, profile_file_losses_of(file));
		losses_print_threads(file, "               in ", run->limit);
	}
	info_threads_print(t, file->process.thread_names, run->limit);
	printf("\n");
	return err;
}

static void print_recordings(const struct profile_set *set)
{
	size_t i;

	for (i = 0; i < set->dir_cnt; i++) {
		const struct session_json *session = set->dirs[i].session;
		char *shown = text_escape(set->dirs[i].path, strlen(set->dirs[i].path));

		if (session) {
			printf("%s\n", shown ? shown : "?");
			if (session_json_duration(session) > 0)
				printf("  %-12s %.3f s\n", "duration",
				       session_json_duration(session));
			printf("  %-12s ", "lost");
			losses_print(session, NULL);
			printf("\n");
		}
		free(shown);
	}
}

/* ---- other formats: of threads only the weight is known ---- */

static void json_other(struct json *j, const struct profile_file *file, const struct reader *r,
		       const struct info_threads *t)
{
	uint32_t i;

	json_object(j, NULL);
	json_identity(j, file);
	info_other_json(j, r);
	json_array(j, "threads");
	for (i = 0; i < t->cnt; i++) {
		json_object(j, NULL);
		json_uint(j, "thread", t->list[i].id);
		json_uint(j, "total", t->list[i].samples);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void show_other(struct run *run, const struct profile_file *file, const struct reader *r)
{
	const struct info_threads *t = &run->threads;
	size_t i, shown = limit_rows(run->limit, t->cnt);
	enum profile_unit unit = reader_info(r)->meta.unit;
	char amount[SHOW_AMOUNT_BYTES];

	if (run->as_json) {
		json_other(&run->json, file, r, t);
		return;
	}
	print_identity(file);
	info_other_print(r);
	if (t->cnt)
		printf("  %10s %16s\n", "thread", show_unit(unit));
	for (i = 0; i < shown; i++)
		printf("  %10" PRIu64 " %16s\n", t->list[i].id,
		       show_amount(t->list[i].samples, unit, amount));
	limit_print_more("  ", t->cnt, shown);
	printf("\n");
}

/* ---- */

static int show_file(void *ctx, const struct profile_file *file, struct reader *r)
{
	const struct tach_info *info = reader_tach_info(r);
	struct run *run = ctx;
	struct info_threads *t = &run->threads;
	int err;

	err = info_threads_read(t, run->set, file, r);
	if (err)
		return err;
	if (!info)
		show_other(run, file, r);
	else if (run->as_json)
		err = json_file(&run->json, file, info, reader_tables(r), t);
	else
		err = print_file(run, file, info, reader_tables(r));
	return err;
}

static int show_set(struct run *run)
{
	int err;

	if (!run->as_json) {
		print_recordings(run->set);
		return profile_set_each(run->set, show_file, run);
	}
	json_start(&run->json, stdout, true);
	json_object(&run->json, NULL);
	json_recordings(&run->json, run->set);
	json_array(&run->json, "files");
	err = profile_set_each(run->set, show_file, run);
	json_array_end(&run->json);
	json_object_end(&run->json);
	return err;
}

int info_run(const struct info_options *opts)
{
	struct profile_set set;
	struct run run = { .set = &set, .as_json = opts->json, .limit = opts->limit };
	int err = profile_set_open(&set, opts->input.paths, opts->input.path_cnt,
				   &opts->input.reader);

	if (err)
		goto out;
	err = opts->verify ? info_verify(&set, opts->json) : show_set(&run);
	if (err)
		log_error("cannot read the profiles: %s", strerror(-err));
	else
		err = output_flush_stdout();
out:
	if (set.failed)
		err = -EIO;	/* already reported */
	info_threads_free(&run.threads);
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
