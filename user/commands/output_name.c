// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* output_name.c - see output_name.h. */
#include "commands/output_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cli.h"
#include "base/output.h"
#include "base/string_ref.h"
#include "base/util.h"
#include "commands/options.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"

#define RECORDING_SUFFIX ".recording"
#define MEMORY_SUFFIX ".mlyze"

/* Returns the ending of the path's name, as ".txt" of "x.txt"; NULL: it has none. */
static const char *ending_of(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return *name ? strrchr(name + 1, '.') : NULL;
}

/* No format's file has such a name: says which names there are. */
static int unknown_ending(const char *path, const char *otherwise)
{
	struct buf endings = { 0 };
	char shown[CLI_TEXT_MAX];

	if (!sink_endings(&endings))
		log_error("cannot tell the format from the name '%s': use %s, or a name that ends "
			  "in one of %s",
			  escape_text(path, strlen(path), shown, sizeof(shown)), otherwise,
			  (char *)endings.data);
	buf_free(&endings);
	return -EINVAL;
}

int output_name_convert(struct export_options *e)
{
	if (!e->format)
		e->format = sink_for_path(e->output);
	if (!e->format && ending_of(e->output))
		return unknown_ending(e->output, "--format FORMAT");
	if (!e->format)
		e->format = &sink_tach;
	return 0;
}

/* ---- record ---- */

/*
 * Returns true if such a name is no recording's. A directory may be called "rec.web1.example" or
 * "3.11", but not as files that other programs know; a file has an ending that we know.
 */
static bool is_no_recording(const struct record_options *r, const char *ending)
{
	static const char *const others[] = {
		".zip", ".gz", ".xz", ".zst", ".bz2", ".7z", ".tar", ".tgz", ".png", ".pdf",
		".jpg", ".xml", ".data", ".bin", ".pprof", ".pb", ".htm", ".cpuprofile",
	};
	bool file = r->select.pid_cnt == 1 && r->select.proc_filter.children != CHILDREN_YES;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(ending, others[i]))
			return true;
	return file && ending[1 + strspn(ending + 1, "0123456789")];
}

/* Returns why this recording cannot be written in the format; NULL: it can. */
static const char *why_not(const struct record_options *r, const struct sink_ops *format)
{
	if (options_is_flight(&r->flight))
		return "--keep, --when and --signal may write several recordings: use the name of "
		       "a directory, and tachbpf convert later";
	if (r->mode == RECORD_MEM && format->no_bytes)
		return "its format has no bytes of memory: use another ending, or -o FILE.mlyze "
		       "and tachbpf convert";
	if (format == &sink_gperftools_native)
		return "its format has no names of functions: use another ending, such as .prof";
	return NULL;
}

/* A format's file: the recording itself is next to it until it is converted. */
static int set_export(struct record_options *r, const struct sink_ops *format)
{
	const char *path = r->recording.output, *why = why_not(r, format);
	char shown[CLI_TEXT_MAX];

	escape_text(path, strlen(path), shown, sizeof(shown));
	if (!why && r->html && output_same_file(path, r->html))
		why = "--html names the same file: leave it out";
	if (!why && snprintf(r->export.recording, sizeof(r->export.recording),
			     "%s" RECORDING_SUFFIX, path) >= (int)sizeof(r->export.recording))
		why = "the name is too long";
	if (why) {
		log_error("-o '%s': %s", shown, why);
		return -EINVAL;
	}
	r->export.format = format;
	r->export.path = r->recording.shown = path;
	r->recording.output = r->export.recording;
	return 0;
}

int output_name_record(struct record_options *r)
{
	const char *path = r->recording.output, *ending = path ? ending_of(path) : NULL;
	const struct sink_ops *format = ending ? sink_for_path(path) : NULL;
	char shown[CLI_TEXT_MAX];
	struct stat st;

	if (!ending || format == &sink_tach || (!stat(path, &st) && S_ISDIR(st.st_mode)))
		return 0;
	if (format)
		return set_export(r, format);
	if (!strcmp(ending, MEMORY_SUFFIX) && r->mode != RECORD_MEM) {
		log_error("-o '%s': a Memlyze file is written by --mode mem only: use a name that "
			  "ends in .tach", escape_text(path, strlen(path), shown, sizeof(shown)));
		return -EINVAL;
	}
	if (strcmp(ending, MEMORY_SUFFIX) && is_no_recording(r, ending))
		return unknown_ending(path, "-o FILE.tach and tachbpf convert later");
	return 0;
}

/* ---- what reads the file ---- */

void output_name_print_ways(const struct sink_ops *format, const char *word)
{
	static const struct { const struct sink_ops *format; const char *text; } ways[] = {
		{ &sink_flamegraph, "open %s in a browser" },
		{ &sink_heatmap, "open %s in a browser" },
		{ &sink_svg, "open %s in a browser" },
		{ &sink_speedscope, "open %s in https://www.speedscope.app" },
		{ &sink_gecko, "open %s in https://profiler.firefox.com" },
		{ &sink_perfetto, "open %s in https://ui.perfetto.dev" },
		{ &sink_chrome, "open %s in https://ui.perfetto.dev or chrome://tracing" },
		{ &sink_pprof, "go tool pprof %s" },
		{ &sink_gperftools, "go tool pprof %s" },
		{ &sink_pstats, "python3 -m pstats %s" },
	};
	bool readable = reader_find(format->name), any = readable;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (ways[i].format != format)
			continue;
		fputs("  ", stderr);
		fprintf(stderr, ways[i].text, word);
		fputs("\n", stderr);
		any = true;
	}
	if (readable)
		fprintf(stderr, "  tachbpf report %s\n", word);
	if (!any)
		fprintf(stderr, "  with -o FILE.tach: tachbpf report FILE.tach\n");
}
