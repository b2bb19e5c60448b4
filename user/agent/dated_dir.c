// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dated_dir.c - see dated_dir.h. */
#include "agent/dated_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"

#define OLDEST_MAX 512		/* entries that are remembered, the oldest first */
#define FUTURE_S 60		/* later than now by more than this: the clock was set back */
#define SHOWN_BYTES 512

struct entry {
	time_t time;		/* 0: in the future */
	char *name;
};

struct dated_dir {
	const struct dated_kind *kind;
	int fd;
	bool counted;
	uint64_t cnt;
	struct entry oldest[OLDEST_MAX];
	size_t oldest_cnt, next;	/* those before next are gone; names are NULL */
};

/* ---- times ---- */

void dated_text(time_t t, char out[DATED_BYTES])
{
	const time_t last = 253402300799;	/* 9999-12-31T23:59:59Z */
	struct tm tm;

	t = t < 0 ? 0 : t > last ? last : t;
	gmtime_r(&t, &tm);
	strftime(out, DATED_BYTES, "%Y%m%dT%H%M%SZ", &tm);
}

bool dated_parse(const char *text, time_t *t)
{
	static const char form[] = "ddddddddTddddddZ";
	char again[DATED_BYTES];
	struct tm tm = { 0 };
	int i;

	for (i = 0; i < DATED_LEN; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	sscanf(text, "%4d%2d%2dT%2d%2d%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	       &tm.tm_min, &tm.tm_sec);
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*t = timegm(&tm);
	dated_text(*t, again);		/* not so for 31 February */
	return !strncmp(text, again, DATED_LEN);
}

/* ---- the directory ---- */

static int fail_dir(const struct dated_kind *kind, const char *what, const char *path, int err)
{
	char shown[SHOWN_BYTES];

	log_error("cannot %s the directory of %s '%s': %s", what, kind->what,
		  escape_text(path, strlen(path), shown, sizeof(shown)), strerror(err));
	return -err;
}

/* Checks that only root may write there, and no other agent uses it. 0, or -errno after logging. */
static int check_owner(const struct dated_kind *kind, int fd, const char *path)
{
	int err = output_check_dir(fd, path);
	char shown[SHOWN_BYTES];
	struct stat st;

	if (err)
		return err;
	if (fstat(fd, &st))
		return fail_dir(kind, "look at", path, errno);
	escape_text(path, strlen(path), shown, sizeof(shown));
	if (st.st_mode & 022) {
		log_error("other users may write to '%s' (mode %03o); run: chmod go-w '%s'", shown,
			  st.st_mode & 0777, shown);
		return -EPERM;
	}
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return fail_dir(kind, "lock", path, errno);
	log_error("another tachbpf agent writes to '%s'; end it, or give this one a directory of "
		  "its own", shown);
	return -EBUSY;
}

/* Makes the parent directory, if only that one is missing. */
static void make_parent(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return;
	*slash = '\0';
	mkdir(parent, 0700);	/* usually it exists; if not, the next step says why */
}

/* Returns the descriptor, or -errno after logging. */
static int open_path(const struct dated_kind *kind, const char *path)
{
	char name[OUTPUT_NAME_MAX];
	int up, fd, err;

	make_parent(path);
	up = output_open_parent(path, name, true);
	if (up < 0)
		return up;
	if (mkdirat(up, name, 0700) && errno != EEXIST) {
		err = fail_dir(kind, "make", path, errno);
		close(up);
		return err;
	}
	fd = openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? fail_dir(kind, "open", path, errno) : check_owner(kind, fd, path);
	close(up);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

struct dated_dir *dated_dir_open(const char *path, const struct dated_kind *kind)
{
	struct dated_dir *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	output_keep_roots();
	d->kind = kind;
	d->fd = open_path(kind, path);
	if (d->fd >= 0)
		return d;
	errno = -d->fd;
	free(d);
	return NULL;
}

static void forget_oldest(struct dated_dir *d)
{
	for (; d->next < d->oldest_cnt; d->next++)
		free(d->oldest[d->next].name);
	d->next = d->oldest_cnt = 0;
}

void dated_dir_close(struct dated_dir *d)
{
	if (!d)
		return;
	forget_oldest(d);
	close(d->fd);
	free(d);
}

int dated_dir_fd(const struct dated_dir *d)
{
	return d->fd;
}

void dated_dir_added(struct dated_dir *d)
{
	d->cnt++;
}

/* ---- the oldest ---- */

static bool is_older(const struct entry *a, const struct entry *b)
{
	return a->time != b->time ? a->time < b->time : strcmp(a->name, b->name) < 0;
}

/* Inserts the entry if it is one of the oldest. Without memory it is not. */
static void remember_oldest(struct dated_dir *d, time_t t, char *name)
{
	struct entry new = { t, name };
	size_t low = 0, high = d->oldest_cnt, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (is_older(&new, &d->oldest[mid]))
			high = mid;
		else
			low = mid + 1;
	}
	if (low == OLDEST_MAX)
		return;
	new.name = strdup(name);
	if (!new.name)
		return;
	if (d->oldest_cnt == OLDEST_MAX)
		free(d->oldest[--d->oldest_cnt].name);
	memmove(d->oldest + low + 1, d->oldest + low,
		(d->oldest_cnt - low) * sizeof(d->oldest[0]));
	d->oldest[low] = new;
	d->oldest_cnt++;
}

static bool is_of_type(const struct dated_dir *d, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return (mode_t)DTTOIF(e->d_type) == d->kind->type;
	return !fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	       (st.st_mode & S_IFMT) == d->kind->type;
}

/* Counts the entries, and remembers the oldest. Returns false if the directory cannot be read. */
static bool count_entries(struct dated_dir *d, const char *skip)
{
	int copy = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	time_t t, now = time(NULL);
	struct dirent *e;

	if (!dir && copy >= 0)
		close(copy);
	if (!dir)
		return false;
	forget_oldest(d);
	d->cnt = 0;
	while ((e = readdir(dir))) {
		if (!d->kind->time_of(e->d_name, &t) || (skip && !strcmp(e->d_name, skip)) ||
		    !is_of_type(d, e))
			continue;
		d->cnt++;
		remember_oldest(d, t > now + FUTURE_S ? 0 : t, e->d_name);
	}
	closedir(dir);
	d->counted = true;
	return true;
}

uint32_t dated_dir_keep(struct dated_dir *d, uint64_t keep, const char *skip, uint64_t *removed)
{
	bool fresh = !d->counted;
	uint32_t failed = 0;
	struct entry *one;
	int err;

	if (!d->counted && !count_entries(d, skip))
		return 0;
	while (d->cnt > keep) {
		if (d->next == d->oldest_cnt) {
			if (fresh || !count_entries(d, skip))
				break;
			fresh = true;
			continue;
		}
		one = &d->oldest[d->next++];
		err = d->kind->remove(d->fd, one->name);
		failed += err != 0;
		if (!err && removed)
			++*removed;
		d->cnt--;
		free(one->name);
		one->name = NULL;
	}
	return failed;
}
