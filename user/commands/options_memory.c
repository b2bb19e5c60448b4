// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_memory.c - see options_memory.h. */
#include "commands/options_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/string_ref.h"
#include "base/util.h"

#define BYTES_MAX 0x1p30	/* of --every and --allocations */
#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 3600.0

static const struct quantity_unit byte_units[] = {
	{ "", 1 }, { "b", 1 }, { "k", 0x1p10 }, { "kib", 0x1p10 }, { "m", 0x1p20 },
	{ "mib", 0x1p20 }, { "g", 0x1p30 }, { "gib", 0x1p30 }, { 0 }
};

static int bad_value(const struct cli_option *opt, const char *value, const char *remedy)
{
	char shown[CLI_TEXT_MAX];

	log_error("bad --%s '%s': %s", opt->name,
		  escape_text(value, strlen(value), shown, sizeof(shown)), remedy);
	return -EINVAL;
}

/* A number of bytes from min to BYTES_MAX. */
static int parse_bytes(const char *text, double min, uint64_t *bytes)
{
	double value;

	if (quantity_parse(text, byte_units, &value) || value < min || value > BYTES_MAX)
		return -EINVAL;
	*bytes = (uint64_t)value;
	return 0;
}

int opt_memory_every(void *target, const struct cli_option *opt, const char *value)
{
	struct capture_args *args = &((struct options *)target)->record.capture;
	long page = sysconf(_SC_PAGESIZE);
	char remedy[80];

	if (!parse_bytes(value, (double)page, &args->every_bytes))
		return 0;
	snprintf(remedy, sizeof(remedy), "give a page (%ld, each fault) to 1G, such as 64K", page);
	return bad_value(opt, value, remedy);
}

int opt_memory_interval(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = {
		{ "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "h", 3600 }, { 0 }
	};
	double seconds;

	if (quantity_parse(value, units, &seconds) || seconds < INTERVAL_MIN_S ||
	    seconds > INTERVAL_MAX_S)
		return bad_value(opt, value, "give 0.1s to 1h, such as 500ms, 1s or 5m");
	((struct options *)target)->record.capture.interval_s = seconds;
	return 0;
}

/* --allocations alone, or with the size of the smallest block. */
int opt_allocations(void *target, const struct cli_option *opt, const char *value)
{
	struct capture_args *args = &((struct options *)target)->record.capture;

	args->allocations = true;
	args->min_block_bytes = MEMORY_MIN_BLOCK_BYTES;
	if (value && parse_bytes(value, 1, &args->min_block_bytes))
		return bad_value(opt, value, "give --allocations alone, or the smallest block, 1 "
					     "to 1G, such as --allocations=4K");
	return 0;
}

/* ---- what goes together ---- */

/* Options of --mode mem in another mode. */
static const char *other_mode(const struct record_options *r)
{
	const struct capture_args *args = &r->capture;

	if (args->every_bytes)
		return "--every is a distance in memory: give --mode mem, too";
	if (args->interval_s > 0)
		return "--interval is how often memory is looked at: give --mode mem, too";
	if (args->allocations)
		return "--allocations records memory: give --mode mem, too";
	return NULL;
}

/* Options of time, with --mode mem. */
static const char *of_time(const struct record_options *r)
{
	if (r->capture.min_wait_ns)
		return "--min-wait is of waits, and --mode mem records none: leave it out";
	if (r->kernel)
		return "--kernel is of time: with --mode mem, --native shows the code that "
		       "touches memory";
	if (r->capture.opcodes)
		return "--opcodes is of time: a file of memory has no instructions";
	if (!r->capture.native_threads)
		return "--no-native-threads is of CPU time: memory always has who touched it";
	if (r->capture.cpu_list)
		return "-C is of time: memory is recorded on all CPUs, or what is held is not "
		       "true";
	if (r->recording.layout != LAYOUT_RELEASE)
		return "--layout is of TACH files: with --mode mem the files are .mlyze";
	if (!r->recording.compress)
		return "--compression is of TACH files: with --mode mem the files are .mlyze";
	if (r->recording.output && ends_with(r->recording.output, ".tach"))
		return "-o FILE.tach cannot hold bytes: with --mode mem the name ends in .mlyze";
	return NULL;
}

/* --allocations is of one process. */
static const char *of_one_process(const struct record_options *r)
{
	if (!r->capture.allocations)
		return NULL;
	if (r->all || r->pid_cnt > 1)
		return "--allocations looks at each call of one process' allocator: give one -p "
		       "PID, or -- COMMAND";
	if (r->proc_filter.children == CHILDREN_YES)
		return "--allocations looks at one process: leave --children out";
	if (r->capture.every_bytes)
		return "--every is of sampled page faults, and --allocations samples nothing: give "
		       "--allocations=MIN_BYTES for larger blocks only";
	return NULL;
}

static void set_defaults(struct record_options *r)
{
	struct capture_args *args = &r->capture;

	if (!args->every_bytes)
		args->every_bytes = MEMORY_EVERY_BYTES;
	if (args->interval_s <= 0)
		args->interval_s = MEMORY_INTERVAL_S;
	args->costly = args->allocations && r->recording.force;
	if (args->allocations)
		r->proc_filter.children = CHILDREN_NO;
}

int options_memory_check(struct record_options *r)
{
	const char *bad;

	bad = r->mode == RECORD_MEM ? of_time(r) : other_mode(r);
	if (!bad)
		bad = of_one_process(r);
	if (bad) {
		log_error("%s", bad);
		return -EINVAL;
	}
	if (r->mode == RECORD_MEM)
		set_defaults(r);
	return 0;
}
