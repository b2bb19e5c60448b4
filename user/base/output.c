// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * output.c - see output.h.
 *
 * The threat: root records, and another local user prepares the directory where the files are
 * created. If there is a link or a file of that user with the final name, it is unlinked or
 * refused, and never opened. A directory of that user is refused, because names in it could be
 * exchanged between our steps. In a sticky directory of root's (/tmp), O_EXCL and O_NOFOLLOW
 * suffice. Parent directories that the user named are trusted, as by cp(1). But one that belongs to
 * the user who called sudo is not: that user could rename our file before it is handed over, and so
 * be given something else. Only an open descriptor of a new file (O_EXCL), or of a directory that
 * output_check_fresh() has checked, is handed over.
 */
#include "base/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/pager.h"
#include "base/util.h"

/* A file name contains at most this many bytes of a comm; the kernel's has 15. */
#define COMM_BYTES 64
#define SHOWN_BYTES 512
/* Allowed ASCII characters besides letters and digits: none is special to a shell. */
#define FILE_NAME_MARKS "-_.,:+@%="

static const char *shown_path(const char *path, char buf[SHOWN_BYTES])
{
	return escape_text(path, strlen(path), buf, SHOWN_BYTES);
}

/* Returns what the user can do about err. */
static const char *remedy_for(int err)
{
	static const struct {
		int err;
		const char *text;
	} remedies[] = {
		{ EACCES, "; use -o with a place that you may write to" },
		{ EPERM, "; use -o with a place that you may write to" },
		{ EROFS, "; use -o with a place that is writable" },
		{ ENOENT, "; create its directory first" },
		{ ENOTDIR, "; a part of the path is not a directory: use another one with -o" },
		{ ENAMETOOLONG, "; use a shorter one with -o" },
		{ EFBIG, "; it exceeds the file size limit (ulimit -f)" },
		{ ENOSPC, "; make room, or use another place with -o" },
		{ EDQUOT, "; make room, or use another place with -o" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(remedies); i++)
		if (remedies[i].err == err)
			return remedies[i].text;
	return "";
}

static int log_failure(const char *what, const char *path, int err)
{
	char buf[SHOWN_BYTES];

	log_error("cannot %s '%s': %s%s", what, shown_path(path, buf), strerror(err),
		  remedy_for(err));
	return -err;
}

/* Parses a decimal id from the environment. */
static bool env_id(const char *name, unsigned int *id)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT_MAX)
		return false;
	*id = (unsigned int)value;
	return true;
}

bool output_sudo_user(uid_t *uid, gid_t *gid)
{
	return geteuid() == 0 && env_id("SUDO_UID", uid) && env_id("SUDO_GID", gid);
}

static bool keep_roots;

void output_keep_roots(void)
{
	keep_roots = true;
}

bool output_owner(uid_t *uid, gid_t *gid)
{
	return !keep_roots && output_sudo_user(uid, gid);
}

/* Returns true if files must be handed to the sudo user, unless created with that user's rights. */
static bool must_give(uid_t *uid, gid_t *gid)
{
	return output_owner(uid, gid) && (uid_t)setfsuid(-1) != *uid;
}

static int give_away(int fd, const char *path)
{
	uid_t uid;
	gid_t gid;

	if (must_give(&uid, &gid) && fchown(fd, uid, gid))
		return log_failure("give to the calling user", path, errno);
	return 0;
}

int output_check_dir(int dirfd, const char *path)
{
	char buf[SHOWN_BYTES];
	uid_t uid = 0;
	struct stat st;
	gid_t gid;

	if (fstat(dirfd, &st))
		return log_failure("look at", path, errno);
	if (!S_ISDIR(st.st_mode))
		return log_failure("write into", path, ENOTDIR);
	if (geteuid() != 0 || st.st_uid == 0 || (output_sudo_user(&uid, &gid) && st.st_uid == uid))
		return 0;
	log_error("directory '%s' belongs to user %u, who could exploit root writing there; use "
		  "another place with -o",
		  shown_path(path, buf), st.st_uid);
	return -EPERM;
}

/*
 * Splits a path into its directory and its last component, which is empty after a slash; cut: drops
 * trailing slashes first, then "" means "/". Returns 0 or -errno.
 */
static int split_path(const char *path, bool cut, char dir[PATH_MAX], char name[OUTPUT_NAME_MAX])
{
	size_t len = strlen(path);
	char *slash;

	while (cut && len > 1 && path[len - 1] == '/')
		len--;
	if (!len || len >= PATH_MAX)
		return len ? -ENAMETOOLONG : -ENOENT;
	memcpy(dir, path, len);
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	if (strlen(slash ? slash + 1 : dir) >= OUTPUT_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(name, slash ? slash + 1 : dir);
	strcpy(slash ? slash + 1 : dir, slash ? "" : ".");
	return 0;
}

int output_open_parent(const char *path, char name[OUTPUT_NAME_MAX], bool dir_wanted)
{
	char dir[PATH_MAX];
	int fd, err = split_path(path, dir_wanted, dir, name);

	if (err)
		return log_failure("create", path, -err);
	if (!*name && dir_wanted)
		strcpy(name, ".");	/* "/" */
	if (!*name)
		return log_failure("create", path, EISDIR);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return log_failure("create", path, errno);
	err = output_check_dir(fd, dir);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int open_dir(int parent, const char *name, const char *path)
{
	char buf[SHOWN_BYTES];
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd >= 0 ? fd : log_failure("open directory", path, errno);
	log_error("'%s' exists and is not a directory; use another name with -o",
		  shown_path(path, buf));
	return -ENOTDIR;
}

/* Opens a directory to read its entries. Returns NULL with errno. */
static DIR *list_dir(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d && copy >= 0)
		close(copy);
	return d;
}

/* Includes what a killed recording of memory has left: x.mlyze.events. */
static bool is_profile_suffix(const char *dot)
{
	return !strcmp(dot, OUTPUT_SUFFIX) || !strcmp(dot, ".mlyze") || !strcmp(dot, ".events");
}

/* Refuses a directory that has a recording. Returns 0, or -EEXIST after logging it. */
static int refuse_recording(int fd, const char *path)
{
	DIR *d = list_dir(fd);
	char buf[SHOWN_BYTES];
	struct dirent *e;
	int err = 0;

	if (!d)
		return log_failure("look into", path, errno);
	while (!err && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (!strcmp(e->d_name, "session.json") || (dot && is_profile_suffix(dot)))
			err = -EEXIST;
	}
	closedir(d);
	if (err)
		log_error("'%s' already holds a recording; remove it, or use another directory "
			  "with -o", shown_path(path, buf));
	return err;
}

static bool is_empty(int dirfd)
{
	DIR *d = list_dir(dirfd);
	struct dirent *e;
	bool empty = d;

	while (d && empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

static bool is_before(int64_t s, uint32_t ns, const struct timespec *t)
{
	return s < t->tv_sec || (s == t->tv_sec && ns < t->tv_nsec);
}

/*
 * Is this open directory the one that we have just made, after `since` (CLOCK_REALTIME_COARSE):
 * ours, private, empty and no older? Who may rename it could have put another in its place.
 * path: its name, for the message. 0, or -EPERM after logging it.
 */
static int output_check_fresh(int dirfd, const char *path, const struct timespec *since)
{
	char buf[SHOWN_BYTES];
	struct statx st;

	if (statx(dirfd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st))
		return log_failure("look at", path, errno);
	/* Root also owns older directories, and one of them could have been moved to this name. */
	if (S_ISDIR(st.stx_mode) && st.stx_uid == geteuid() && !(st.stx_mode & 077) &&
	    !is_before(st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec, since) &&
	    (!(st.stx_mask & STATX_BTIME) ||
	     !is_before(st.stx_btime.tv_sec, st.stx_btime.tv_nsec, since)) && is_empty(dirfd))
		return 0;
	log_error("'%s' is not the directory that was just created: it was replaced by another "
		  "one; use another place with -o", shown_path(path, buf));
	return -EPERM;
}

/* If a new directory must be handed over, checks that it is the new one. */
static int give_new_dir(int fd, const char *path, const struct timespec *since)
{
	uid_t uid;
	gid_t gid;
	int err = must_give(&uid, &gid) ? output_check_fresh(fd, path, since) : 0;

	return err ? err : give_away(fd, path);
}

int output_create_dir(const char *path, bool *made)
{
	char name[OUTPUT_NAME_MAX];
	int parent, fd, err = 0;
	struct timespec since;

	*made = false;
	parent = output_open_parent(path, name, true);
	if (parent < 0)
		return parent;
	/* File systems stamp with the coarse clock, or with one that is not behind it. */
	clock_gettime(CLOCK_REALTIME_COARSE, &since);
	*made = !mkdirat(parent, name, 0700);
	if (!*made && errno != EEXIST) {
		fd = log_failure("create directory", path, errno);
		goto out;
	}
	fd = open_dir(parent, name, path);
	if (fd < 0)
		goto out;
	err = output_check_dir(fd, path);
	if (!err)
		err = *made ? give_new_dir(fd, path, &since) : refuse_recording(fd, path);
	if (!err && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		err = log_failure("write into", path, errno);
	if (err) {
		close(fd);
		fd = err;
	}
out:
	close(parent);
	return fd;
}

int output_check_replaceable(int dirfd, const char *name)
{
	char buf[SHOWN_BYTES];
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : log_failure("look at", name, errno);
	if (S_ISREG(st.st_mode))
		return 0;
	log_error("'%s' exists and is a %s; use another name with -o", shown_path(name, buf),
		  S_ISDIR(st.st_mode) ? "directory" :
		  S_ISLNK(st.st_mode) ? "symbolic link, which is not followed" :
					"device, pipe or socket");
	return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
}

static int create_exclusive(int dirfd, const char *name)
{
	int fd, err;

	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return log_failure("create", name, errno);
	err = give_away(fd, name);
	if (err) {
		close(fd);
		unlinkat(dirfd, name, 0);
		return err;
	}
	return fd;
}

int output_create_file(int dirfd, const char *name)
{
	int err = output_check_replaceable(dirfd, name);

	if (err)
		return err;
	if (unlinkat(dirfd, name, 0) && errno != ENOENT)
		return log_failure("replace", name, errno);
	return create_exclusive(dirfd, name);
}

int output_reopen_file(int dirfd, const char *name, const struct stat *was)
{
	int fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESTALE;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == was->st_dev &&
	    st.st_ino == was->st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

int output_create_path(const char *path)
{
	char name[OUTPUT_NAME_MAX];
	int dirfd = output_open_parent(path, name, false), fd;

	if (dirfd < 0)
		return dirfd;
	fd = output_create_file(dirfd, name);
	close(dirfd);
	return fd;
}

/*
 * Makes a name that does not derive from the final one, which may already have the maximum length.
 * A killed process with the same pid may have left such a file: O_EXCL would always fail on it.
 */
static void name_temp(struct output_file *f)
{
	static unsigned int cnt;

	snprintf(f->temp, sizeof(f->temp), OUTPUT_TEMP_PREFIX "%d-%u.tmp", (int)getpid(), cnt++);
	unlinkat(f->dirfd, f->temp, 0);
}

static int create_temp(struct output_file *f)
{
	name_temp(f);
	f->fd = create_exclusive(f->dirfd, f->temp);
	return f->fd < 0 ? f->fd : 0;
}

int output_open(struct output_file *f, const char *path)
{
	int err;

	f->fd = -1;
	f->dirfd = output_open_parent(path, f->name, false);
	if (f->dirfd < 0)
		return f->dirfd;
	err = output_check_replaceable(f->dirfd, f->name);
	if (!err)
		err = create_temp(f);
	if (err)
		close(f->dirfd);
	return err;
}

/* Creates a file without a name, or else with a temporary one. Returns 0 or -errno. */
static int create_nameless(struct output_file *f)
{
	f->temp[0] = '\0';
	f->fd = openat(f->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd >= 0)
		return give_away(f->fd, f->name);
	/* NFS, older overlayfs; EISDIR: older kernels (open(2)) */
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)
		return create_temp(f);
	return log_failure("create", f->name, errno);
}

int output_reserve_more(const struct output_file *f, uint64_t bytes)
{
	/* posix_fallocate() would write zeros where the file system cannot reserve. */
	if (!fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) || errno == EOPNOTSUPP ||
	    errno == ENOSYS)
		return 0;
	return -errno;
}

int output_reserve(struct output_file *f, int dirfd, const char *name, uint64_t bytes)
{
	int err = strlen(name) >= OUTPUT_NAME_MAX ? log_failure("create", name, ENAMETOOLONG) : 0;

	f->fd = -1;
	if (err)
		return err;
	strcpy(f->name, name);
	f->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (f->dirfd < 0)
		return log_failure("create", name, errno);
	err = create_nameless(f);
	if (err && f->fd < 0) {
		close(f->dirfd);
		return err;
	}
	if (!err) {
		err = output_reserve_more(f, bytes);
		if (err)
			log_failure("reserve room for", name, -err);
	}
	if (err)
		output_abort(f);
	return err;
}

/* Gives a file without a name its temporary one, and releases reserved space that was not used. */
static int name_nameless(struct output_file *f)
{
	char path[64];
	struct stat st;

	if (!fstat(f->fd, &st) && ftruncate(f->fd, st.st_size))
		return log_failure("write", f->name, errno);
	if (f->temp[0])
		return 0;
	name_temp(f);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	if (!linkat(AT_FDCWD, path, f->dirfd, f->temp, AT_SYMLINK_FOLLOW))
		return 0;
	f->temp[0] = '\0';
	return log_failure("create", f->name, errno);
}

int output_commit(struct output_file *f)
{
	int err = name_nameless(f);

	if (close(f->fd) && !err)	/* some file systems report a full disk only here */
		err = log_failure("write", f->name, errno);
	f->fd = -1;
	if (!err && renameat(f->dirfd, f->temp, f->dirfd, f->name))
		err = log_failure("create", f->name, errno);
	if (err && f->temp[0])
		unlinkat(f->dirfd, f->temp, 0);
	close(f->dirfd);
	return err;
}

void output_abort(struct output_file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	if (f->temp[0])
		unlinkat(f->dirfd, f->temp, 0);
	close(f->dirfd);
}

/* Finds the directory and the last component of path. false: it has none, or cannot be read. */
static bool find_parent(const char *path, struct stat *dir, char name[OUTPUT_NAME_MAX])
{
	char parent[PATH_MAX];

	return !split_path(path, true, parent, name) && !stat(parent, dir);
}

bool output_same_file(const char *a, const char *b)
{
	char name_a[OUTPUT_NAME_MAX], name_b[OUTPUT_NAME_MAX];
	struct stat dir_a, dir_b;

	return find_parent(a, &dir_a, name_a) && find_parent(b, &dir_b, name_b) &&
	       dir_a.st_dev == dir_b.st_dev && dir_a.st_ino == dir_b.st_ino &&
	       !strcmp(name_a, name_b);
}

int output_flush_stdout(void)
{
	int err = 0;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		err = errno ? errno : EIO;
	if (err == EPIPE && pager_is_started())
		return 0;	/* the user has seen enough */
	if (err && err != EPIPE)
		log_error("cannot write to standard output: %s",
			  err == EBADF ? "it is closed" : strerror(err));
	return -err;
}

void output_file_name(char out[OUTPUT_NAME_MAX], uint32_t tgid, const char *comm,
		      unsigned int seq, const char *suffix)
{
	size_t len = strlen(comm), i, n, o;
	char safe[COMM_BYTES + 1];
	bool leading = true;
	uint32_t cp;

	for (i = 0, o = 0; i < len && o + 4 <= COMM_BYTES; i += n ? n : 1) {
		n = utf8_char(comm + i, len - i, &cp);
		leading &= n && cp == '.';
		if (!n || !utf8_printable(cp) || leading ||
		    (cp < 0x80 && !isalnum((int)cp) && !strchr(FILE_NAME_MARKS, (int)cp))) {
			safe[o++] = '_';
		} else {
			memcpy(safe + o, comm + i, n);
			o += n;
		}
	}
	safe[o] = '\0';
	if (seq)
		snprintf(out, OUTPUT_NAME_MAX, "%u-%s.%u%s", tgid, o ? safe : "_", seq,
			 suffix);
	else
		snprintf(out, OUTPUT_NAME_MAX, "%u-%s%s", tgid, o ? safe : "_", suffix);
}

void output_default_name(char out[OUTPUT_NAME_MAX])
{
	char host[COMM_BYTES + 1] = "", when[32], *c;
	time_t now = time(NULL);
	struct tm utc;

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	for (c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' &&
		    (*c != '.' || c == host))
			*c = '_';
	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(out, OUTPUT_NAME_MAX, "tachbpf-%s-%s", host, when);
}
