// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording_lost.c - which errors affect one profile, and which the whole recording. See
 * recording_rows.h.
 *
 * A process must not end the recording of all others. So an error ends the recording only if the
 * next profile would meet it, too: the disk is full or broken, the directory is gone. A file that
 * the user has named is all that was asked for: without it the recording has no purpose.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "recording/recording_rows.h"

const char *recording_lost_remedy(int err)
{
	switch (-err) {
	case EMFILE:
		return "; raise the limit of open files (ulimit -n): each profile needs two";
	case ENFILE:
		return "; raise the sysctl fs.file-max";
	case ENOMEM:
		return "; raise the memory limit (ulimit -v, memory.max)";
	case EOVERFLOW:
		return "; --layout release has room for more samples";
	case ESTALE:
		return "; it was moved or removed while it was closed";
	case EFBIG:
		return "; raise the limit of file sizes (ulimit -f)";
	default:
		return "";
	}
}

static bool is_of_one(int err)
{
	switch (-err) {
	case EMFILE:		/* other processes may end and free descriptors */
	case ENFILE:
	case ENOMEM:
	case ESTALE:		/* this file was moved or removed (profile_file.c) */
	case EOVERFLOW:		/* too many samples for the layout */
	case EFBIG:
	case EINVAL:		/* from the sink: an event that it cannot take */
	case ENAMETOOLONG:	/* from here on: about this file's name */
	case EILSEQ:
	case EEXIST:
	case EISDIR:
	case ELOOP:
		return true;
	default:
		return false;
	}
}

/* Returns true the first time for each kind of error. */
static bool recording_error_is_new(struct recording *r, int err)
{
	uint64_t *word = &r->lost_said[-err / 64 % 2], bit = 1ull << (-err % 64);
	bool is_first = !(*word & bit);

	*word |= bit;
	return is_first;
}

int recording_judge_error(struct recording *r, struct row *row, int err)
{
	char comm[4 * PROC_COMM_MAX];

	if (!err || row->named || !is_of_one(err))
		return err;
	r->incomplete = true;
	if (row->lost)
		return 0;
	row->lost = true;
	r->lost_cnt += row->merged_cnt ? row->member_cnt : 1;
	r->lost_err = r->lost_err ? r->lost_err : err;
	if (recording_error_is_new(r, err))
		log_warn("the profile of process %d (%s) cannot be written: %s: the process is "
			 "counted as lost and recording continues%s", row->tgid,
			 escape_text(row->comm, strlen(row->comm), comm, sizeof(comm)),
			 strerror(-err), recording_lost_remedy(err));
	return 0;
}

void recording_log_write_error(struct recording *r, const struct row *row, int err)
{
	const char *hint = "data written so far may be readable";
	char path[PATH_MAX] = "";

	if (!recording_error_is_new(r, err) && r->args.terse)
		return;
	if (err == -ENOSPC || err == -EDQUOT)
		hint = "free some space or choose another location with -o; "
		       "data written so far can be read";
	if (row->named)
		recording_beside(r, row->file, path);
	log_error("cannot write %s%s%s: %s: %s", row->named ? path : r->dir_path,
		  row->named ? "" : "/", row->named ? "" : row->file, strerror(-err), hint);
}
