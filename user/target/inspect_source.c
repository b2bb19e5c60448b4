// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * inspect_source.c - see inspect_source.h.
 *
 * The path is followed one component at a time, because the kernel would check our own rights on
 * the way, which are higher than the user's. When all links are resolved, the file is opened by the
 * path that has none. Access control lists are not read: their mask is in the mode's group bits,
 * and a user who may read only by such a list is refused.
 */
#include "target/inspect_source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/source_text.h"
#include "host/proc.h"
#include "host/regular.h"

#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */
#define GROUPS_MAX 256		/* further ones are ignored */
#define LINKS_MAX 40		/* as the kernel's MAXSYMLINKS */
#define BELOW (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)

/* ---- who reads ---- */

struct rights {
	bool all;		/* root, not limited by modes */
	uint32_t uid, groups[GROUPS_MAX];
	size_t group_cnt;
};

/* Returns the numbers after a key of /proc/PID/status: how many. */
static size_t read_numbers(const char *status, const char *key, int base, uint64_t *out, size_t max)
{
	const char *at = strstr(status, key);
	size_t cnt = 0;
	char *end;

	for (at = at ? at + strlen(key) : ""; cnt < max; at = end) {
		at += strspn(at, " \t");
		if (*at == '\n' || !*at)
			break;
		out[cnt] = strtoull(at, &end, base);
		if (end == at)
			break;
		cnt++;
	}
	return cnt;
}

/* 0 or -errno; -ESRCH: the process is gone. */
static int read_rights(pid_t task, struct rights *who)
{
	static char status[16384];
	uint64_t ids[4], caps = 0, groups[GROUPS_MAX - 1];
	ssize_t n = proc_direct.text(task, "status", status, sizeof(status));
	size_t i;

	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	if (read_numbers(status, "\nUid:", 10, ids, 4) != 4)
		return -EBADMSG;
	who->uid = (uint32_t)ids[1];
	if (read_numbers(status, "\nGid:", 10, ids, 4) != 4)
		return -EBADMSG;
	who->groups[who->group_cnt++] = (uint32_t)ids[1];
	n = (ssize_t)read_numbers(status, "\nGroups:", 10, groups, GROUPS_MAX - 1);
	for (i = 0; i < (size_t)n; i++)
		who->groups[who->group_cnt++] = (uint32_t)groups[i];
	read_numbers(status, "\nCapEff:", 16, &caps, 1);
	who->all = !who->uid && caps & (1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH);
	return 0;
}

/* want: S_IROTH or S_IXOTH. */
static bool may_access(const struct rights *who, const struct stat *st, mode_t want)
{
	size_t i;

	if (who->all)
		return true;
	if (st->st_uid == who->uid)
		return st->st_mode & want << 6;
	for (i = 0; i < who->group_cnt; i++)
		if (st->st_gid == who->groups[i])
			return st->st_mode & want << 3;
	return st->st_mode & want;
}

/* ---- the way to the file ---- */

struct way {
	int root;			/* O_PATH */
	const struct rights *who;
	char done[PATH_MAX];		/* without links; "": the root itself */
	char rest[2 * PATH_MAX];	/* what follows */
	int links;
};

/* Opens what is at w->done, even if it is a link, without reading it. Descriptor or -errno. */
static int open_place(const struct way *w)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = BELOW };
	int fd = syscall(SYS_openat2, w->root, *w->done ? w->done : ".", &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static void leave_component(struct way *w)
{
	char *slash = strrchr(w->done, '/');

	*(slash ? slash : w->done) = '\0';
}

/* Puts a link's target in front of the rest. 0 or -errno. */
static int enter_link(struct way *w, int fd)
{
	char target[PATH_MAX], rest[sizeof(w->rest)];
	ssize_t n = readlinkat(fd, "", target, sizeof(target));

	if (n < 0)
		return -errno;
	if (n == sizeof(target) || ++w->links > LINKS_MAX)
		return n == sizeof(target) ? -ENAMETOOLONG : -ELOOP;
	leave_component(w);
	if (n && *target == '/')
		*w->done = '\0';
	memcpy(rest, w->rest, sizeof(rest));
	n = snprintf(w->rest, sizeof(w->rest), "%.*s/%s", (int)n, target, rest);
	return n < (ssize_t)sizeof(w->rest) ? 0 : -ENAMETOOLONG;
}

/* Judges what is at w->done. 0, or -errno: the user cannot go on, or it leads nowhere. */
static int enter_place(struct way *w)
{
	int fd = open_place(w), err;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISLNK(st.st_mode))
		err = enter_link(w, fd);
	else if (S_ISDIR(st.st_mode))
		err = may_access(w->who, &st, S_IXOTH) ? 0 : -EACCES;
	else
		err = w->rest[strspn(w->rest, "/")] ? -ENOTDIR : 0;
	close(fd);
	return err;
}

/* Follows the path in w->rest: then w->done has no links. 0 or -errno. */
static int follow(struct way *w)
{
	int err = enter_place(w);

	while (!err) {
		char *begin = w->rest + strspn(w->rest, "/");
		size_t len = strcspn(begin, "/"), at = strlen(w->done);
		bool up = len == 2 && !memcmp(begin, "..", 2);
		bool stay = len == 1 && *begin == '.';

		if (!len)
			break;
		if (!up && !stay && at + len + 2 > sizeof(w->done))
			return -ENAMETOOLONG;
		if (up)
			leave_component(w);
		else if (!stay)
			snprintf(w->done + at, sizeof(w->done) - at, "/%.*s", (int)len, begin);
		memmove(w->rest, begin + len, strlen(begin + len) + 1);
		if (!up && !stay)
			err = enter_place(w);
	}
	return err;
}

/* ---- reading ---- */

/* The text of an open file. 0 or -errno. */
static int take_text(int fd, const struct rights *who, struct source_found *out)
{
	struct buf text = { 0 };
	struct stat st;
	int state;

	if (fstat(fd, &st))
		return -errno;
	if (!may_access(who, &st, S_IROTH))
		return -EACCES;
	state = source_read_open(fd, sizeof(out->text), &text);
	if (state == SOURCE_READ) {
		memcpy(out->text, text.data, text.len);
		out->len = (uint32_t)text.len;
		out->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
				(uint64_t)st.st_mtim.tv_nsec;
	}
	buf_free(&text);
	return state == SOURCE_READ ? 0 : state == SOURCE_NO_PYTHON ? -ENOEXEC :
	       state == SOURCE_TOO_LARGE ? -EFBIG : state < 0 ? state : -EIO;
}

static int read_below(int root, const struct rights *who, const char *path,
		      struct source_found *out)
{
	struct way w = { .root = root, .who = who };
	int fd, err;

	snprintf(w.rest, sizeof(w.rest), "%s", path);
	err = follow(&w);
	if (err)
		return err;
	fd = open_regular(root, *w.done ? w.done : ".", BELOW);
	if (fd < 0)
		return fd;
	err = take_text(fd, who, out);
	close(fd);
	return err;
}

static int same_process(const struct source_wanted *wanted)
{
	struct proc_stat st;
	int err = wanted->tgid ? proc_stat(wanted->tgid, &st) : 0;

	if (err || !wanted->tgid)
		return err;
	return wanted->start_ns / TICK_NS == st.start_ticks ? 0 : -ESRCH;
}

int inspect_source(const struct source_wanted *wanted, struct source_found *out)
{
	struct rights who = { .uid = wanted->uid, .all = !wanted->uid };
	pid_t task = wanted->tgid ? proc_living_task(wanted->tgid) : 0;
	char name[64] = "/";
	int root, err;

	if (*wanted->path != '/' || memchr(wanted->path, '\0', sizeof(wanted->path)) == NULL)
		return -EINVAL;
	if (!task && (wanted->tgid || !wanted->of_user))
		return -ESRCH;
	if (!wanted->of_user) {
		who = (struct rights){ 0 };
		err = read_rights(task, &who);
		if (err)
			return err;
	}
	if (task)
		snprintf(name, sizeof(name), "/proc/%d/root", task);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	err = same_process(wanted);	/* its root is open: this is whose root it is */
	if (!err)
		err = read_below(root, &who, wanted->path, out);
	close(root);
	return err;
}
