// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recording_names.c - what the files of processes are called. See recording_rows.h. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/mlyze/mlyze_stream.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"

/* What the names of processes' files end with: ".tach" or ".mlyze". */
static const char *recording_suffix(const struct recording *r)
{
	return r->args.mode->memory ? MLYZE_SUFFIX : OUTPUT_SUFFIX;
}

/* The name of a file that the user named: "x.tach" for seq 0, then "x.1.tach" and so on. */
static void name_named(const struct recording *r, unsigned int seq, char out[OUTPUT_NAME_MAX])
{
	const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
	const char *suffix = recording_suffix(r);
	size_t stem = strlen(base), tail = strlen(suffix);

	if (!seq) {
		snprintf(out, OUTPUT_NAME_MAX, "%.*s", OUTPUT_NAME_MAX - 1, base);
		return;
	}
	if (stem > tail && !strcmp(base + stem - tail, suffix))
		stem -= tail;
	snprintf(out, OUTPUT_NAME_MAX, "%.*s.%u%s",
		 (int)(stem < OUTPUT_NAME_MAX - 24 ? stem : OUTPUT_NAME_MAX - 24), base, seq, suffix);
}

static bool is_there(const struct recording *r, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	/* Not access(2): under sudo, it would ask for root, who may not look into a user's home. */
	return recording_beside(r, name, path) && !lstat(path, &st);
}

/* Is there a file of that name, or the FILE.json that it would get? */
static bool is_taken(const struct recording *r, const char *name)
{
	char json[OUTPUT_NAME_MAX + sizeof(SESSION_BESIDE_SUFFIX)];

	snprintf(json, sizeof(json), "%s" SESSION_BESIDE_SUFFIX, name);
	return is_there(r, name) || is_there(r, json);
}

/*
 * What the process executed before may have no sample: then its file, which is complete, is this
 * row's. False: there is none such.
 */
static bool take_over(struct recording *r, struct row *row)
{
	struct row *before;
	size_t i;

	for (i = r->row_cnt; i--;) {
		before = r->rows[i];
		if (!before->named || !before->ended || before->tgid != row->tgid ||
		    !before->file[0] || before->kept || before->err)
			continue;
		memcpy(row->file, before->file, sizeof(row->file));
		before->file[0] = '\0';
		r->file_cnt--;
		return true;
	}
	return false;
}

void recording_name_row(struct recording *r, struct row *row)
{
	unsigned int seq;

	if (!row->named) {
		if (!row->file[0])
			output_file_name(row->file, row->tgid, row->comm,
					 recording_name_used(r, row->tgid), recording_suffix(r));
		return;
	}
	if (take_over(r, row))
		return;
	seq = recording_name_used(r, row->tgid);
	name_named(r, seq, row->file);
	while (seq && is_taken(r, row->file)) {
		seq = recording_name_used(r, row->tgid);
		name_named(r, seq, row->file);
	}
}
