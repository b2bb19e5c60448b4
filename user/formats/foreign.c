// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * foreign.c - the table of known files that are not read, each with the way to one that is. See
 * foreign.h. A new one is a line here and one in tests/unit/formats/test_foreign.c.
 */
#include "formats/foreign.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json_pull.h"
#include "base/util.h"
#include "formats/input.h"

#define SPEEDSCOPE "https://www.speedscope.app can open it and export it as a supported file"
#define DECOMPRESS "decompress it first"
#define OURS "convert the original .tach file instead"

struct foreign {
	const char *sign;
	const char *what, *way;
};

/* How a file begins. */
static const struct foreign heads[] = {
	{ "PERFILE2", "perf's data", "'perf script -i FILE | stackcollapse-perf.pl > FILE.folded' "
	  "makes a supported file" },
	{ "MOJ", "a profile of austin (MOJO)", "'mojo2austin FILE FILE.folded' makes a supported "
	  "file" },
	{ "memray", "a recording of memray", "'memray transform speedscope FILE' makes a supported "
	  "file" },
	{ "\x04\x22\x4d\x18", "compressed with lz4, like recordings of memray",
	  "'memray transform speedscope FILE' makes a supported file" },
	{ "\x28\xb5\x2f\xfd", "compressed with zstd", DECOMPRESS },
	{ "\xfd" "7zXZ", "compressed with xz", DECOMPRESS },
	{ "BZh", "compressed with bzip2", DECOMPRESS },
	{ "\x1f\x8b", "compressed with gzip, but not a profile of pprof or OTLP", DECOMPRESS },
	{ "heap profile:", "a heap profile of gperftools",
	  "'google-pprof --collapsed PROGRAM FILE > FILE.folded' makes a supported file" },
	{ "heap_v2/", "a heap profile of jemalloc",
	  "'jeprof --collapsed PROGRAM FILE > FILE.folded' makes a supported file" },
	{ "# callgrind format", "a profile of callgrind", "KCachegrind opens it" },
	{ "version: 1\ncreator:", "a profile of callgrind", "KCachegrind opens it" },
	{ "<?xml", "an image or another XML file", "py-spy record makes a supported file with "
	  "--format speedscope or raw" },
	{ "<svg", "an image", "py-spy record makes a supported file with --format "
	  "speedscope or raw" },
	{ "<!DOCTYPE", "an HTML page", OURS },
	{ "<!doctype", "an HTML page", OURS },
	{ "process,comm,container,", "tachbpf's csv", OURS },
};

/* A key at the top of a JSON object, or of the first object in an array. */
static const struct foreign keys[] = {
	{ "timeDeltas", "a Chrome CPU profile", SPEEDSCOPE },
	{ "head", "a Chrome heap profile", SPEEDSCOPE },
	{ "traceEvents", "a trace for Chrome (viztracer, py-spy)", SPEEDSCOPE },
	{ "ph", "a trace for Chrome (viztracer, py-spy)", SPEEDSCOPE },
	{ "threads", "a profile for the Firefox Profiler", SPEEDSCOPE },
	{ "root_frame", "a profile of pyinstrument's JSON renderer",
	  "use 'pyinstrument -r speedscope'" },
	{ "start_call_stack", "a session of pyinstrument", "'pyinstrument --load FILE -r "
	  "speedscope -o FILE.json' makes a supported file" },
	{ "growth_rate", "a profile of Scalene", "'scalene view FILE' shows it" },
	{ "resourceProfiles", "OTLP profiles in JSON", "the Collector's file exporter makes a "
	  "supported file with 'format: proto'" },
	{ "sample_interval_usec", "tachbpf's jsonl", OURS },
	{ "heap_census", "a census of a heap (tachbpf heap --json)", "'tachbpf diff A B' compares "
	  "two of them" },
	{ "processes", "tachbpf's summary of a recording", "use its directory, or the .tach or "
	  ".mlyze file next to it" },
};

static const struct foreign perf_script = {
	NULL, "the text of 'perf script'", "'stackcollapse-perf.pl FILE > FILE.folded' makes a "
	"supported file",
};
static const struct foreign austin_full = {
	NULL, "a profile of austin with several values a line (--full)", "record one without that "
	"option",
};
static const struct foreign pickle = {
	NULL, "a Python pickle, such as one of "
	      "line_profiler", "it is not loaded, because that could run code",
};
static const struct foreign marshal = {
	NULL, "a table of cProfile (pstats)", "it has no stacks; 'python3 -m pstats FILE' shows it",
};
static const struct foreign other_json = {
	NULL, "JSON, but not speedscope's", "--input-format help lists the supported formats",
};

static bool begins_with(const struct input *in, const char *head)
{
	return in->size >= strlen(head) && !memcmp(in->data, head, strlen(head));
}

static const struct foreign *find_head(const struct input *in)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		if (begins_with(in, heads[i].sign))
			return &heads[i];
	}
	return NULL;
}

static const struct foreign *find_key(const struct buf *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (json_key_is(key, keys[i].sign))
			return &keys[i];
	}
	return NULL;
}

/* Returns NULL also if it is speedscope's own: its reader has said what is wrong. */
static const struct foreign *find_json(const struct input *in)
{
	const struct foreign *found = NULL;
	struct buf key = { 0 };
	struct json_pull j;

	json_pull_start(&j, in->data, in->size, 0);
	if (json_pull_type(&j) == JT_ARRAY && json_pull_enter(&j, JT_ARRAY))
		json_pull_element(&j);
	if (json_pull_type(&j) == JT_OBJECT && json_pull_enter(&j, JT_OBJECT)) {
		while (!found && json_pull_key(&j, &key)) {
			found = find_key(&key);
			if (json_key_is(&key, "profiles") || json_key_is(&key, "shared") ||
			    !json_pull_skip(&j))
				goto out;
		}
		if (!found && !j.err)
			found = &other_json;
	}
out:
	buf_free(&key);
	return found;
}

/* "python3 12 [000] 1234.567890:  10101010 cpu-clock:pppH: ", the first line that is no comment. */
static bool is_perf_script(const struct input *in)
{
	const char *at = (const char *)in->data, *end = at + in->size, *line_end, *p;

	for (; at < end && (*at == '#' || *at == '\n'); at = line_end + 1) {
		line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end)
			return false;
	}
	line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	for (p = at; line_end && p < line_end; p++) {
		size_t digits = 0;

		while (p + digits < line_end && isdigit((unsigned char)p[digits]))
			digits++;
		if (p > at + 1 && p[-1] == '.' && isdigit((unsigned char)p[-2]) && digits >= 6 &&
		    p[digits] == ':')
			return true;
		p += digits;
	}
	return false;
}

static const struct foreign *find_foreign(const struct input *in)
{
	const struct foreign *found = find_head(in);
	const uint8_t *d = in->data;

	if (found)
		return found;
	if (in->size > 2 && d[0] == 0x80 && d[1] >= 2 && d[1] <= 5)
		return &pickle;
	/* Python's marshal: a dict whose first key is a tuple; 0x80: it may be referred to. */
	if (in->size > 2 && (d[0] & 0x7f) == '{' && strchr("()", d[1] & 0x7f) && d[1] & 0x7f)
		return &marshal;
	if (is_perf_script(in))
		return &perf_script;
	if (begins_with(in, "# austin: ") &&
	    memmem(in->data, in->size < 256 ? in->size : 256, "\n# mode: full\n", 14))
		return &austin_full;
	return find_json(in);
}

bool foreign_explain(const struct input *in, char *why, size_t why_size)
{
	const struct foreign *found = find_foreign(in);

	if (found)
		snprintf(why, why_size, "this is %s, which is not supported: %s",
			 found->what, found->way);
	return found;
}
