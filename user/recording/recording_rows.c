// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording_rows.c - the rows of a recording. They are in memory while they change; when many have
 * ended, those are written to disk, so that only live processes need memory. See recording_rows.h.
 *
 * The file has no name, and only this process reads it. So a row is written in its memory layout,
 * followed by its command, its members, its threads' names and losses.
 */
#include "recording/recording_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shared_text.h"
#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "model/intern.h"

/* Ended rows stay in memory up to this size: about 200 rows, or two with many members. */
#define ENDED_MAX_BYTES (256 * 1024)

double recording_seconds(const struct recording *r, uint64_t at_ns)
{
	return at_ns > r->start_ns ? (at_ns - r->start_ns) / 1e9 : 0;
}

double recording_since_start(const struct recording *r)
{
	return recording_seconds(r, now_ns());
}

struct row *recording_new_row(struct recording *r, const char *command)
{
	struct row *row = calloc(1, sizeof(*row));

	if (row)
		row->command = shared_text_get(command);
	if (!row || !row->command || array_add(r->rows, r->row_cnt, r->row_cap, row)) {
		if (row && row->command)
			shared_text_drop(row->command);
		free(row);
		return NULL;
	}
	row->begin_s = recording_since_start(r);
	return row;
}

static void free_row(struct row *row)
{
	shared_text_drop(row->command);
	free(row->members);
	thread_names_drop(row->names);
	free(row->losses);
	free(row);
}

void recording_remove_row(struct recording *r, struct row *row)
{
	size_t i;

	/* From the end: a row that is removed is usually a new one. */
	for (i = r->row_cnt; i-- && r->rows[i] != row;)
		;
	memmove(r->rows + i, r->rows + i + 1, (r->row_cnt - i - 1) * sizeof(*r->rows));
	r->row_cnt--;
	free_row(row);
}

void recording_free_rows(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->row_cnt; i++)
		free_row(r->rows[i]);
	free(r->rows);
	if (r->ended)
		fclose(r->ended);
	u64map_free(&r->names);
	intern_free(r->services);
}

/* ---- on disk ---- */

/* In the directory of the profiles, where there should be room. */
static FILE *open_unnamed(const struct recording *r)
{
	int fd = openat(r->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *f;

	if (fd < 0)	/* not all file systems have O_TMPFILE */
		return tmpfile();
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}

/* An empty list may be a NULL pointer. */
static bool write_list(FILE *f, const void *list, size_t size, size_t cnt)
{
	return !cnt || fwrite(list, size, cnt, f) == cnt;
}

static int write_row(FILE *f, const struct row *row)
{
	size_t cnt;
	const struct thread_name *names = thread_names_list(row->names, &cnt);

	return write_list(f, row, sizeof(*row), 1) &&
	       write_list(f, row->command, strlen(row->command) + 1, 1) &&
	       write_list(f, row->members, sizeof(*row->members), row->member_cnt) &&
	       write_list(f, &cnt, sizeof(cnt), 1) && write_list(f, names, sizeof(*names), cnt) &&
	       write_list(f, row->losses, sizeof(*row->losses), row->losses ? 1 : 0) ? 0 : -EIO;
}

/* Reads what write_row() has written. */
static bool read_command(struct row *row, FILE *f)
{
	char *command = NULL;
	size_t size = 0;

	if (getdelim(&command, &size, '\0', f) > 0)
		row->command = shared_text_get(command);
	free(command);
	return row->command;
}

static bool read_names(struct row *row, FILE *f)
{
	struct thread_name name;
	size_t cnt;

	if (fread(&cnt, sizeof(cnt), 1, f) != 1)
		return false;
	row->names = cnt ? thread_names_new() : NULL;
	for (; cnt; cnt--)
		if (fread(&name, sizeof(name), 1, f) != 1 || !row->names ||
		    thread_names_set(row->names, name.tid, name.name))
			return false;
	return true;
}

/* had: the row has losses of its threads. */
static bool read_losses(struct row *row, FILE *f, bool had)
{
	row->losses = had ? calloc(1, sizeof(*row->losses)) : NULL;
	return !had || (row->losses && fread(row->losses, sizeof(*row->losses), 1, f) == 1);
}

/* Reads the next row; the caller frees it. NULL: the end of the file, or an error. */
static struct row *read_row(FILE *f)
{
	struct row *row = calloc(1, sizeof(*row));
	size_t cnt;
	bool had_losses;

	if (!row || fread(row, sizeof(*row), 1, f) != 1) {
		free(row);
		return NULL;
	}
	cnt = row->member_cnt;
	row->command = NULL;
	row->names = NULL;
	had_losses = row->losses;
	row->losses = NULL;
	row->members = cnt ? calloc(cnt, sizeof(*row->members)) : NULL;
	if (read_command(row, f) && (!cnt || row->members) &&
	    (!cnt || fread(row->members, sizeof(*row->members), cnt, f) == cnt) &&
	    read_names(row, f) && read_losses(row, f, had_losses))
		return row;
	free_row(row);
	return NULL;
}

/* Writes a row to disk and frees it. Returns false on an error: the file is unchanged. */
static bool put_away(struct recording *r, struct row *row)
{
	long at = ftell(r->ended);

	if (at >= 0 && !write_row(r->ended, row) && !fflush(r->ended)) {
		r->ended_cnt++;
		free_row(row);
		return true;
	}
	clearerr(r->ended);
	if (at < 0 || fseek(r->ended, at, SEEK_SET) || ftruncate(fileno(r->ended), at))
		r->ended_broken = true;
	return false;
}

static size_t row_bytes(const struct row *row)
{
	size_t names;

	thread_names_list(row->names, &names);
	return sizeof(*row) + row->member_cnt * sizeof(*row->members) +
	       names * sizeof(struct thread_name) + (row->losses ? sizeof(*row->losses) : 0);
}

void recording_row_ended(struct recording *r, struct row *row)
{
	size_t i, kept = 0;

	row->ended = true;
	r->ended_bytes += row_bytes(row);
	if (r->ended_bytes <= ENDED_MAX_BYTES || r->dirfd < 0 || r->ended_broken)
		return;
	if (!r->ended)
		r->ended = open_unnamed(r);
	if (!r->ended) {
		r->ended_broken = true;
		return;
	}
	r->ended_bytes = 0;
	for (i = 0; i < r->row_cnt; i++) {
		if (r->rows[i]->ended && !r->ended_broken && put_away(r, r->rows[i]))
			continue;
		r->ended_bytes += r->rows[i]->ended ? row_bytes(r->rows[i]) : 0;
		r->rows[kept++] = r->rows[i];
	}
	r->row_cnt = kept;
}

void recording_each_row(const struct recording *r, void (*each)(void *ctx, const struct row *row),
			void *ctx)
{
	struct row *row;
	size_t i;

	if (r->ended) {
		rewind(r->ended);
		for (i = 0; i < r->ended_cnt && (row = read_row(r->ended)); i++) {
			each(ctx, row);
			free_row(row);
		}
		fseek(r->ended, 0, SEEK_END);
	}
	for (i = 0; i < r->row_cnt; i++)
		each(ctx, r->rows[i]);
}

struct each_process {
	void (*each)(void *ctx, const struct recording_process *p);
	void *ctx;
};

static void say_process(const struct each_process *e, pid_t tgid, const struct identity *identity,
			uint64_t alive_ns)
{
	const struct recording_process p = {
		.tgid = tgid, .identity = identity, .alive_ns = alive_ns,
	};

	e->each(e->ctx, &p);
}

static void processes_of_row(void *ctx, const struct row *row)
{
	size_t i;

	if (!row->merged_cnt)
		say_process(ctx, row->tgid, &row->identity, row->alive_ns);
	for (i = 0; i < row->member_cnt; i++)
		say_process(ctx, row->members[i].tgid, &row->members[i].identity,
			    row->members[i].alive_ns);
}

void recording_each_process(const struct recording *r,
			    void (*each)(void *ctx, const struct recording_process *p), void *ctx)
{
	struct each_process e = { .each = each, .ctx = ctx };

	recording_each_row(r, processes_of_row, &e);
}

size_t recording_row_cnt(const struct recording *r)
{
	return r->ended_cnt + r->row_cnt;
}

/* ---- names of files ---- */

unsigned int recording_name_used(struct recording *r, uint64_t key)
{
	uintptr_t cnt = (uintptr_t)u64map_get(&r->names, key);

	/* Without memory the same number is used again, and creating the file fails. */
	u64map_put(&r->names, key, (void *)(cnt + 1));
	return cnt;
}

/* If RAW_EXEC had no room for all of it: /proc has it while the process is alive. */
const char *recording_command(const struct process *p, char text[RECORDING_COMMAND_BYTES])
{
	const char *command = process_command(p);

	*text = '\0';
	if ((!command || strlen(command) >= RAW_COMMAND - 1) &&
	    !proc_cmdline(proc_living_task(process_tgid(p)), text, RECORDING_COMMAND_BYTES))
		return text;
	return command ? command : "";
}
