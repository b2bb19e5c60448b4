// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording.c - files of a recording and what is said about them. See recording.h.
 */
#include "base/arith.h"
#include "recording/recording_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/tach/tach_journal.h"
#include "model/memory_sink.h"
#include "recording/session_file.h"

#define CMDLINE_MAX 4096
/*
 * A process that lived shorter is merged with others of its kind. Its samples are held
 * in memory until then: it is also how much more than a second a kill -9 can cost.
 */
#define MERGE_BELOW_NS 1000000000ull
/* Of Pythons that cannot be profiled so many are named. */
#define REFUSALS_MAX 1000
/* 10,000 samples of depth 20: more than a second of one CPU at any common rate. */
#define HELD_MAX_BYTES (2u << 20)

void recording_start(struct recording *r)
{
	size_t i;

	r->start_ns = now_ns();
	r->start_time = time(NULL);
	for (i = 0; i < r->row_cnt; i++)
		r->rows[i]->begin_s = 0;	/* found while it was being prepared */
}

struct recording *recording_new(const struct recording_args *args)
{
	struct recording *r = calloc(1, sizeof(*r));
	char name[OUTPUT_NAME_MAX];

	if (!r)
		return NULL;
	r->args = *args;
	r->dirfd = -1;
	recording_start(r);
	r->sample_rate = args->rate_hz;
	output_default_name(name);
	snprintf(r->path, sizeof(r->path), "%s%s", args->output ? args->output : name,
		 !args->output && args->single_file ? ".tach" : "");
	r->selection = strdup(args->selection);
	if (args->compress)
		r->compressor = compressor_new(COMPRESS_LEVEL_LIVE);
	if (!r->selection || (args->compress && !r->compressor)) {
		errno = ENOMEM;
		goto fail;
	}
	if (!args->single_file) {
		r->made_dir = access(r->path, F_OK);
		r->dirfd = output_create_dir(r->path);
		if (r->dirfd < 0) {
			errno = -r->dirfd;
			goto fail;
		}
	}
	return r;
fail:
	recording_free(r);
	return NULL;
}

void recording_free(struct recording *r)
{
	int err = errno;

	if (!r)
		return;
	recording_free_groups(r);
	recording_free_rows(r);
	free(r->refusals);
	free(r->selection);
	u64map_free(&r->live);
	compressor_free(r->compressor);
	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r);
	errno = err;
}

void recording_discard(struct recording *r)
{
	if (r && r->dirfd >= 0 && r->made_dir)
		rmdir(r->path);	/* succeeds only if it is empty */
}

void recording_meta(const struct recording *r, struct profile_meta *meta)
{
	*meta = (struct profile_meta){
		.start_us = r->start_ns / 1000,
		.interval_us = lround(1e6 / r->args.rate_hz),
		.mode = r->args.mode->header,
		.features_known = true,
		.features = r->args.features,
	};
}

double recording_since_start(const struct recording *r)
{
	return (now_ns() - r->start_ns) / 1e9;
}

int recording_add(struct recording *r, struct process *p)
{
	char text[CMDLINE_MAX] = "";
	const char *command = process_command(p);
	struct row *row;

	/* One that was longer than the kernel sent is asked for while it lives. */
	if ((!command || strlen(command) >= RAW_COMMAND - 1) &&
	    !proc_cmdline(proc_living_task(process_tgid(p)), text, sizeof(text)))
		command = text;
	row = recording_new_row(r, command ? command : "");
	if (!row)
		return -ENOMEM;
	if (u64map_put(&r->live, process_tgid(p), row)) {
		recording_remove_row(r, row);
		return -ENOMEM;
	}
	row->tgid = process_tgid(p);
	row->identity = *process_identity(p);
	snprintf(row->comm, sizeof(row->comm), "%s", process_comm(p));
	snprintf(row->version, sizeof(row->version), "%s", process_image(p)->version);
	row->free_threaded = process_image(p)->free_threaded;
	return r->args.single_file ? recording_open_process(r, p) : 0;
}

/*
 * The file that was asked for; after an exec of the process "x.1.tach" beside
 * "x.tach": the first profile is not overwritten.
 */
static int create_single_file(struct recording *r, struct row *row)
{
	unsigned int seq = recording_name_used(r, row->tgid);
	const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
	size_t stem = strlen(base);
	char path[PATH_MAX];

	if (!seq) {
		snprintf(row->file, sizeof(row->file), "%.*s", (int)sizeof(row->file) - 1, base);
		return output_create_path(r->path);
	}
	if (stem > 5 && !strcmp(base + stem - 5, ".tach"))
		stem -= 5;
	snprintf(row->file, sizeof(row->file), "%.*s.%u.tach",
		 (int)(stem < sizeof(row->file) - 24 ? stem : sizeof(row->file) - 24), base, seq);
	if (snprintf(path, sizeof(path), "%.*s%s", (int)(base - r->path), r->path, row->file) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return output_create_path(path);
}

static int create_file(struct recording *r, struct row *row)
{
	if (r->args.single_file)
		return create_single_file(r, row);
	if (!row->file[0])	/* a merged one's is given */
		output_file_name(row->file, row->tgid, row->comm,
				 recording_name_used(r, row->tgid));
	return output_create_file(r->dirfd, row->file);
}

/* ---- the journal that lets tachbpf recover read what a killed recording leaves ---- */

/* Where it is: a path, or for directories a name in dirfd. false: it would be too long. */
static bool journal_place(const struct recording *r, const struct row *row, char out[PATH_MAX])
{
	const char *base = r->dirfd < 0 ? strrchr(r->path, '/') : NULL;
	int dir_len = base ? (int)(base + 1 - r->path) : 0, n;

	n = snprintf(out, PATH_MAX, "%.*s.%s" TACH_JOURNAL_SUFFIX, dir_len, r->path, row->file);
	return n < PATH_MAX && n - dir_len < OUTPUT_NAME_MAX;
}

static void open_journal(struct recording *r, struct row *row)
{
	char place[PATH_MAX];

	if (!journal_place(r, row, place)) {
		log_warn("no journal for '%s': its name is too long; a killed recording cannot be "
			 "recovered", row->file);
		return;
	}
	row->journal_fd = r->dirfd < 0 ? output_create_path(place) :
					 output_create_file(r->dirfd, place);
	if (row->journal_fd < 0)	/* the reason was logged */
		row->journal_fd = -1;
	else
		flock(row->journal_fd, LOCK_EX | LOCK_NB);	/* tells recover that we live */
}

/* A file that begins with its header is whole: the header is written last. */
static void close_journal(struct recording *r, struct row *row)
{
	char place[PATH_MAX];
	uint32_t magic = 0;

	if (row->journal_fd < 0)
		return;
	if (pread(row->fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic &&
	    journal_place(r, row, place))
		unlinkat(r->dirfd < 0 ? AT_FDCWD : r->dirfd, place, 0);
	close(row->journal_fd);
	row->journal_fd = -1;
}

struct sink *recording_open_row(struct recording *r, struct row *row)
{
	struct sink_args args = {
		.layout = r->args.layout, .compressor = r->compressor, .live = true,
	};

	row->fd = create_file(r, row);
	if (row->fd < 0) {
		row->file[0] = '\0';
		errno = -row->fd;
		return NULL;
	}
	args.fd = row->fd;
	open_journal(r, row);
	args.journal_fd = row->journal_fd;
	r->file_cnt++;
	return sink_tach.open(&args);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* How long the process had lived at end_ns (CLOCK_MONOTONIC); 0: until now. */
static uint64_t age_ns(const struct process *p, uint64_t end_ns)
{
	uint64_t boot = clock_ns(CLOCK_BOOTTIME), start = process_start_ns(p);

	if (end_ns)
		boot -= clock_ns(CLOCK_MONOTONIC) - end_ns;
	return start && start < boot ? boot - start : UINT64_MAX;
}

void recording_set_command(struct recording *r, pid_t tgid)
{
	r->command_tgid = tgid;
}

static bool may_be_merged(const struct recording *r, const struct process *p, uint64_t end_ns)
{
	return !r->args.single_file && !r->args.split_all &&
	       process_tgid(p) != r->command_tgid && age_ns(p, end_ns) < MERGE_BELOW_NS;
}

int recording_open_process(struct recording *r, struct process *p)
{
	struct row *row = u64map_get(&r->live, process_tgid(p));
	struct sink *sink;

	if (!row)
		return -ENOENT;
	sink = may_be_merged(r, p, 0) ? memory_sink_new() : recording_open_row(r, row);
	return sink ? process_attach(p, sink, r->start_ns / 1000) : -errno;
}

static int promote(struct recording *r, struct process *p, struct row *row)
{
	struct sink *sink = recording_open_row(r, row);

	return sink ? process_promote(p, sink) : -errno;
}

int recording_flush_process(struct recording *r, struct process *p)
{
	struct row *row = u64map_get(&r->live, process_tgid(p));

	if (!row || !memory_sink_is(process_sink(p)))
		return process_flush(p);
	if (age_ns(p, 0) < MERGE_BELOW_NS && memory_sink_bytes(process_sink(p)) < HELD_MAX_BYTES)
		return 0;
	return promote(r, p, row);
}

int recording_flush(struct recording *r)
{
	return recording_flush_groups(r);
}

static void log_write_error(const struct recording *r, const struct row *row, int err)
{
	log_error("cannot write %s%s%s: %s: %s", r->path, r->dirfd >= 0 ? "/" : "",
		  r->dirfd >= 0 ? row->file : "", strerror(-err),
		  err == -ENOSPC || err == -EDQUOT ? "free some space or choose another place with -o; "
						     "what was written before can be read" :
						     "what was written before may be readable");
}

void recording_profile_stats(const struct recording *r, const struct row *row,
			     struct profile_stats *stats)
{
	uint64_t bad = row->stats.unreadable + row->stats.write_lost;

	*stats = (struct profile_stats){
		.known = true,
		.duration_s = recording_since_start(r),
		.sample_rate = r->sample_rate,
		.error_known = true,
		.missed_known = true,
		.missed_pct = r->missed_pct,
	};
	if (row->stats.samples + row->stats.write_lost)
		stats->error_pct = percent(bad, row->stats.samples + row->stats.write_lost);
}

int recording_close_row(struct recording *r, struct row *row, int err)
{
	close_journal(r, row);
	if (row->fd >= 0 && close(row->fd) && !err)
		err = -errno;
	row->fd = -1;
	row->err = err;
	if (err)
		log_write_error(r, row, err);
	return err;
}

/* No file, or only a sink in memory: one of many that are over before they are looked at. */
static bool is_brief(const struct recording *r, const struct process *p, uint64_t end_ns)
{
	return !r->ending && may_be_merged(r, p, end_ns) &&
	       (!process_has_sink(p) || memory_sink_is(process_sink(p)));
}

int recording_end_process(struct recording *r, struct process *p, uint64_t end_ns)
{
	struct row *row = u64map_remove(&r->live, process_tgid(p));
	struct profile_stats stats;
	int err = 0;

	if (!row)
		return 0;
	process_stats(p, &row->stats);
	row->end_s = recording_since_start(r);
	if (is_brief(r, p, end_ns))
		return recording_merge(r, row, p);
	row->names = thread_names_keep(process_thread_names(p));
	if (memory_sink_is(process_sink(p)))
		err = promote(r, p, row);
	process_stats(p, &row->stats);
	recording_profile_stats(r, row, &stats);
	if (!err)
		err = process_end(p, &stats);
	err = recording_close_row(r, row, err);
	recording_row_ended(r, row);
	return err;
}

bool recording_refuse(struct recording *r, pid_t tgid, const char *comm, const char *why)
{
	struct refusal *bigger;
	size_t i;

	for (i = 0; i < r->refusal_cnt; i++)
		if (r->refusals[i].tgid == tgid && !strcmp(r->refusals[i].why, why))
			return false;
	if (r->refusal_cnt == REFUSALS_MAX) {
		r->refusals_more++;
		return false;
	}
	bigger = realloc(r->refusals, (r->refusal_cnt + 1) * sizeof(*bigger));
	if (!bigger)
		return true;
	r->refusals = bigger;
	bigger[r->refusal_cnt].tgid = tgid;
	snprintf(bigger[r->refusal_cnt].comm, PROC_COMM_MAX, "%s", comm);
	snprintf(bigger[r->refusal_cnt++].why, sizeof(bigger->why), "%s", why);
	return true;
}

void recording_set_quality(struct recording *r, double sample_rate, double missed_pct)
{
	r->sample_rate = sample_rate;
	r->missed_pct = missed_pct;
	r->end_ns = now_ns();
	r->ending = true;
}

int recording_finish(struct recording *r, const struct capture_counts *counts)
{
	FILE *f;
	int fd, err = recording_end_groups(r);

	if (r->dirfd < 0)
		return err;
	fd = output_create_file(r->dirfd, SESSION_FILE_NAME);
	if (fd < 0)
		return fd;
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return -errno;
	}
	recording_print_json(r, counts, f);
	if (fflush(f) || ferror(f))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		log_error("cannot write %s/%s: %s", r->path, SESSION_FILE_NAME, strerror(-err));
	return err;
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

size_t recording_process_cnt(const struct recording *r)
{
	return recording_row_cnt(r);
}
