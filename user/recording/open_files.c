// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * open_files.c - see open_files.h. A list from the profile that was used last to the one that was
 * used first.
 *
 * While a profile is closed, its journal is not locked: the lock on the recording's directory
 * shows `tachbpf recover` that it is still written.
 */
#include "recording/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recording/recording_rows.h"

/*
 * Descriptors that profiles leave free: to inspect new processes, to start a worker, to write
 * session.json. A profile takes two, its file and its journal.
 */
#define SPARE_FDS 8
#define PROFILE_FDS 2
/* So many profiles are open at most, and they take half of the descriptors that are allowed. */
#ifndef OPEN_MAX_CNT
#define OPEN_MAX_CNT 256
#endif
#define OPEN_SHARE (2 * PROFILE_FDS)

void open_files_remove(struct profile_file *f)
{
	struct open_files *list = &f->recording->open;

	if (!f->listed)
		return;
	*(f->newer ? &f->newer->older : &list->newest) = f->older;
	*(f->older ? &f->older->newer : &list->oldest) = f->newer;
	f->newer = f->older = NULL;
	f->listed = false;
	list->cnt--;
}

void open_files_add(struct profile_file *f)
{
	struct open_files *list = &f->recording->open;

	if (list->newest == f)
		return;
	open_files_remove(f);
	f->older = list->newest;
	*(list->newest ? &list->newest->newer : &list->oldest) = f;
	list->newest = f;
	f->listed = true;
	list->cnt++;
}

/* Everything that was written is in the kernel: nothing is lost by closing. */
static void close_oldest(struct recording *r)
{
	struct profile_file *f = r->open.oldest;

	open_files_remove(f);
	if (f->journal_fd >= 0)
		close(f->journal_fd);
	close(f->fd);
	f->fd = f->journal_fd = -1;
}

/* 0, or -EMFILE: too few descriptors are left. New ones have the lowest numbers that are free. */
static int check_descriptors(int fd, const struct rlimit *lim)
{
	int next = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (next < 0)
		return -errno;
	close(next);
	return lim->rlim_cur != RLIM_INFINITY &&
	       (rlim_t)next + PROFILE_FDS + SPARE_FDS > lim->rlim_cur ? -EMFILE : 0;
}

int open_files_make_room(struct recording *r)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };
	rlim_t most = OPEN_MAX_CNT;
	int err;

	getrlimit(RLIMIT_NOFILE, &lim);
	if (most > lim.rlim_cur / OPEN_SHARE)
		most = lim.rlim_cur / OPEN_SHARE;
	while (r->open.cnt && r->open.cnt >= most)
		close_oldest(r);
	while ((err = check_descriptors(r->dirfd, &lim)) == -EMFILE && r->open.cnt)
		close_oldest(r);
	return err;
}

int open_files_ready(struct profile_file *f)
{
	struct recording *r = f->recording;
	char journal[PATH_MAX];
	int err;

	if (f->fd < 0) {
		err = open_files_make_room(r);
		if (err)
			return err;
		f->fd = output_reopen_file(r->dirfd, f->row->file, &f->was);
		if (f->fd < 0)
			return f->fd;
		if (f->has_journal && recording_journal(r, f->row, journal))
			f->journal_fd = output_reopen_file(r->dirfd, journal, &f->journal_was);
		if (f->journal_fd >= 0)
			flock(f->journal_fd, LOCK_EX | LOCK_NB);
	}
	if (!f->row->named)
		open_files_add(f);
	return 0;
}
