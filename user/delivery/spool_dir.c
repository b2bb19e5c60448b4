// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* spool_dir.c - see spool_dir.h: the directory's entries, their numbers and their limits. */
#include "delivery/spool_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

/* ---- the directory: opened, checked and locked ---- */

#define SHOWN_BYTES 512
#define LOCK_NAME "lock"

static int log_failure(const char *what, const char *path, int err)
{
	char shown[SHOWN_BYTES];

	escape_text(path, strlen(path), shown, sizeof(shown));
	log_error("cannot %s the spool directory '%s': %s; use a dedicated "
		  "directory for the spool", what, shown, strerror(err));
	return -err;
}

/* Checks its owner and permissions. Returns 0, or -EPERM after logging it. */
static int check_owner(int fd, const char *path, mode_t forbidden)
{
	char shown[SHOWN_BYTES];
	struct stat st;

	if (fstat(fd, &st))
		return log_failure("look at", path, errno);
	/* In a sticky directory only the owner of a name can remove it. */
	if ((st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (!(st.st_mode & forbidden) || (forbidden == 022 && st.st_mode & S_ISVTX)))
		return 0;
	escape_text(path, strlen(path), shown, sizeof(shown));
	if (st.st_uid && st.st_uid != geteuid())
		log_error("'%s' belongs to user %u, who could modify the data that is sent; use "
			  "another directory for the spool", shown, st.st_uid);
	else
		log_error("other users have access to '%s' (mode %03o); run: chmod %s '%s'", shown,
			  st.st_mode & 0777, forbidden == 022 ? "go-w" : "700", shown);
	return -EPERM;
}

/* Splits the path: its directory, and its last component. Returns 0 or -errno. */
static int split_path(const char *path, char dir[PATH_MAX], const char **name)
{
	size_t len = strlen(path);
	char *slash;

	if (!len || len >= PATH_MAX || path[len - 1] == '/')
		return log_failure("use", path, len >= PATH_MAX ? ENAMETOOLONG : EINVAL);
	strcpy(dir, path);
	slash = strrchr(dir, '/');
	*name = slash ? path + (slash - dir) + 1 : path;
	strcpy(slash ? slash + 1 : dir, slash ? "" : ".");
	return 0;
}

/* Returns the descriptor or -errno, which was logged. */
static int open_dir(const char *path)
{
	char parent[PATH_MAX];
	const char *name;
	int fd, up, err = split_path(path, parent, &name);

	if (err)
		return err;
	mkdir(parent, 0700);		/* usually it exists; otherwise the next step fails */
	up = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return log_failure("open the parent of", path, errno);
	err = check_owner(up, parent, 022);
	if (!err && mkdirat(up, name, 0700) && errno != EEXIST)
		err = log_failure("create", path, errno);
	fd = err ? -1 : openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && fd < 0)
		err = log_failure("open", path, errno);
	close(up);
	if (!err)
		err = check_owner(fd, path, 077);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/*
 * Opens the directory, which is created (0700) with its parent if it does not exist. It must be a
 * directory, not a link, that belongs to us and that nobody else may read; its parent must be
 * root's or ours. Locks it. Returns 0 and two descriptors, owned by the caller; or -errno, which
 * was logged with the remedy. -EBUSY: another process has the lock.
 */
static int spool_place_open(const char *path, int *dirfd, int *lock)
{
	int fd = open_dir(path), err = 0;

	if (fd < 0)
		return fd;
	*lock = openat(fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock < 0)
		err = log_failure("lock", path, errno);
	else if (flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		err = -EBUSY;
	else if (!err && flock(*lock, LOCK_EX | LOCK_NB))
		err = log_failure("lock", path, errno);
	if (err == -EBUSY)
		log_error("another tachbpf agent uses the spool directory '%s'; stop it, or use "
			  "another directory for this one", path);
	if (err) {
		if (*lock >= 0)
			close(*lock);
		close(fd);
		return err;
	}
	*dirfd = fd;
	return 0;
}

#define NAME_BYTES 24
#define SEQ_DIGITS 16
/* A higher number in a name does not come from counting. */
#define SEQ_MAX (UINT64_MAX / 2)
#define PAGE 4096u
/* A disk that has refused an entry is considered working again after it took this many more. */
#define WELL_AFTER 16
/* The names of this many exporters are remembered; entries of others are useless. */
#define EXPORTERS_MAX 256

struct spool_dir {
	int fd, lock;
	struct spool_limits limits;
	TAILQ_HEAD(spool_entries, spool_entry) entries;
	size_t cnt;
	uint64_t bytes, next_seq;
	char (*exporters)[SPOOL_EXPORTER_BYTES];
	size_t exporter_cnt, exporter_cap;
	struct spool_counts counts;
	unsigned int failing;		/* entries to take until the disk is well again */
	spool_gone_fn gone;
	void *ctx;
};

static void name_of(char out[NAME_BYTES], uint64_t seq, const char *suffix)
{
	snprintf(out, NAME_BYTES, "%016llx%s", (unsigned long long)seq, suffix);
}

/* Parses the number in a name of ours with this suffix. */
static bool seq_of(const char *name, const char *suffix, uint64_t *seq)
{
	char *end;

	if (strlen(name) != SEQ_DIGITS + strlen(suffix) || strcmp(name + SEQ_DIGITS, suffix) ||
	    strspn(name, "0123456789abcdef") != SEQ_DIGITS)
		return false;
	*seq = strtoull(name, &end, 16);
	return *seq <= SEQ_MAX;
}

/* Returns the space that a file of this size uses on the disk. */
static uint64_t disk_bytes(uint64_t head, uint64_t payload)
{
	return (head + payload + PAGE - 1) / PAGE * PAGE;
}

/* ---- entries in memory ---- */

/* Returns the index of a name; -1: there are too many. */
static int exporter_index(struct spool_dir *s, const char *name)
{
	void *grown;
	size_t i;

	for (i = 0; i < s->exporter_cnt; i++)
		if (!strcmp(s->exporters[i], name))
			return (int)i;
	if (i == EXPORTERS_MAX)
		return -1;
	grown = array_grow(s->exporters, i, &s->exporter_cap, sizeof(*s->exporters));
	if (!grown)
		return -1;
	s->exporters = grown;
	snprintf(s->exporters[i], SPOOL_EXPORTER_BYTES, "%s", name);
	s->exporter_cnt++;
	return (int)i;
}

/* Creates an entry that is in no list. Returns NULL: no memory, or too many exporters. */
static struct spool_entry *entry_new(struct spool_dir *s, uint64_t seq,
				     const struct request_info *info,
				     const struct spool_sizes *sizes)
{
	int exporter = exporter_index(s, info->exporter);
	struct spool_entry *e = exporter < 0 ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	*e = (struct spool_entry){
		.seq = seq, .disk_bytes = disk_bytes(sizes->head_bytes, sizes->payload_bytes),
		.created_ns = info->created_ns, .samples = info->samples, .weight = info->weight,
		.head_bytes = (uint32_t)sizes->head_bytes,
		.payload_bytes = (uint32_t)sizes->payload_bytes,
		.payload_crc = sizes->payload_crc, .exporter = (uint16_t)exporter,
	};
	return e;
}

/* In the order of numbers: almost always the newest. */
static void link_entry(struct spool_dir *s, struct spool_entry *e)
{
	struct spool_entry *older = TAILQ_LAST(&s->entries, spool_entries);

	while (older && older->seq > e->seq)
		older = TAILQ_PREV(older, spool_entries, link);
	if (older)
		TAILQ_INSERT_AFTER(&s->entries, older, e, link);
	else
		TAILQ_INSERT_HEAD(&s->entries, e, link);
	s->cnt++;
	s->bytes += e->disk_bytes;
}

void spool_dir_remove(struct spool_dir *s, struct spool_entry *e)
{
	char name[NAME_BYTES];

	name_of(name, e->seq, ".spool");
	unlinkat(s->fd, name, 0);
	TAILQ_REMOVE(&s->entries, e, link);
	s->cnt--;
	s->bytes -= e->disk_bytes;
	free(e);
}

/* Removes the oldest entries that may go until this many bytes fit. false: they cannot. */
static bool make_room(struct spool_dir *s, uint64_t bytes, size_t entries)
{
	struct spool_entry *e = TAILQ_FIRST(&s->entries), *next;

	if (bytes > s->limits.bytes)
		return false;
	for (; e && (s->bytes + bytes > s->limits.bytes || s->cnt + entries > s->limits.entries);
	     e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->busy)
			continue;
		if (s->gone)
			s->gone(s->ctx, e);
		spool_dir_remove(s, e);
	}
	return s->bytes + bytes <= s->limits.bytes && s->cnt + entries <= s->limits.entries;
}

void spool_dir_set_limits(struct spool_dir *s, const struct spool_limits *limits)
{
	s->limits.bytes = limits->bytes ? limits->bytes : SPOOL_BYTES_DEFAULT;
	s->limits.entries = limits->entries ? limits->entries : SPOOL_ENTRIES_DEFAULT;
	make_room(s, 0, 0);
}

/* ---- entries on the disk ---- */

/* Reads and checks an open entry's header, and its size. As spool_entry_parse(), or -errno. */
static int read_head(int fd, struct request_info *info, struct spool_sizes *sizes)
{
	uint8_t head[SPOOL_HEAD_MAX];
	struct stat st;
	ssize_t n;
	int err;

	if (fstat(fd, &st))
		return -errno;
	n = S_ISREG(st.st_mode) ? pread(fd, head, sizeof(head), 0) : 0;
	if (n < 0)
		return -errno;
	err = spool_entry_parse(head, (size_t)n, info, sizes);
	if (!err && (sizes->payload_bytes > UINT32_MAX ||
		     sizes->head_bytes + sizes->payload_bytes != (uint64_t)st.st_size))
		err = -EBADMSG;
	return err;
}

static int open_entry(const struct spool_dir *s, uint64_t seq)
{
	char name[NAME_BYTES];
	int fd;

	name_of(name, seq, ".spool");
	fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns true if the payload has its checksum. */
static bool payload_whole(int fd, const struct spool_sizes *sizes)
{
	uint64_t at = sizes->head_bytes, end = at + sizes->payload_bytes;
	uint8_t part[16384];
	uint32_t crc = 0;
	ssize_t n = 1;

	for (; at < end && n > 0; at += (uint64_t)n) {
		n = pread(fd, part, end - at < sizeof(part) ? end - at : sizeof(part), (off_t)at);
		if (n > 0)
			crc = spool_entry_crc(crc, part, (size_t)n);
	}
	return at == end && n > 0 && crc == sizes->payload_crc;
}

int spool_dir_get(struct spool_dir *s, const struct spool_entry *e, struct request_info *info)
{
	struct spool_sizes sizes;
	int fd = open_entry(s, e->seq), err;

	if (fd < 0)
		return fd;
	err = read_head(fd, info, &sizes);
	if (!err && (sizes.head_bytes != e->head_bytes ||
		     sizes.payload_bytes != e->payload_bytes || !payload_whole(fd, &sizes)))
		err = -EBADMSG;
	if (!err)
		return fd;
	if (err == -EBADMSG)
		s->counts.damaged++;
	close(fd);
	return err;
}

/*
 * Logs one line when the disk begins to refuse entries, and one when it works again: not
 * alternately, when it has room for some.
 */
static void say_disk(struct spool_dir *s, int err)
{
	if (err && !s->failing)
		log_warn("cannot write to the spool (%s): requests are kept in memory, and the "
			 "oldest are lost when it is full; make room", strerror(-err));
	if (!err && s->failing == 1)
		log_info("the spool is writable again");
	s->failing = err ? WELL_AFTER : s->failing ? s->failing - 1 : 0;
	s->counts.disk_failures += !!err;
}

static int write_file(int fd, const void *head, size_t head_len, const void *payload, size_t len)
{
	int err = write_all(fd, head, head_len);

	if (!err)
		err = write_all(fd, payload, len);
	if (close(fd) && !err)	/* some file systems report a full disk only here */
		err = -errno;
	return err;
}

/* Creates the file of an entry: all of it, or nothing. Returns 0 or -errno. */
static int write_entry(struct spool_dir *s, uint64_t seq, const void *head, size_t head_len,
		       const void *payload, size_t len)
{
	char temp[NAME_BYTES], name[NAME_BYTES];
	int fd, err;

	name_of(temp, seq, ".tmp");
	name_of(name, seq, ".spool");
	fd = openat(s->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_file(fd, head, head_len, payload, len);
	if (!err && renameat(s->fd, temp, s->fd, name))
		err = -errno;
	if (err)
		unlinkat(s->fd, temp, 0);
	return err;
}

uint64_t spool_dir_take_seq(struct spool_dir *s)
{
	return s->next_seq++;
}

int spool_dir_put(struct spool_dir *s, uint64_t seq, const struct request_info *info,
		  const void *payload, size_t len, struct spool_entry **out)
{
	uint8_t head[SPOOL_HEAD_MAX];
	struct spool_sizes sizes = { .payload_bytes = len };
	struct spool_entry *e;
	size_t head_len;
	int err = spool_entry_head(head, &head_len, info, payload, len);

	if (err)
		return err;
	sizes.head_bytes = head_len;
	sizes.payload_crc = spool_entry_crc(0, payload, len);
	if (len > UINT32_MAX || !make_room(s, disk_bytes(head_len, len), 1))
		return -EFBIG;
	e = entry_new(s, seq, info, &sizes);
	if (!e)
		return -ENOMEM;
	err = write_entry(s, e->seq, head, head_len, payload, len);
	say_disk(s, err);
	if (err) {
		free(e);
		return err;
	}
	link_entry(s, e);
	*out = e;
	return 0;
}

/* ---- the start ---- */

static int by_seq(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Collects the numbers of all entries, and removes unfinished ones. Returns 0 or -errno. */
static int list_entries(struct spool_dir *s, uint64_t **seqs, size_t *cnt)
{
	int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t cap = 0;
	struct dirent *e;
	uint64_t seq;
	void *grown;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((e = readdir(d))) {
		if (seq_of(e->d_name, ".tmp", &seq)) {
			s->counts.leftovers += !unlinkat(s->fd, e->d_name, 0);
			continue;
		}
		if (!seq_of(e->d_name, ".spool", &seq))
			continue;	/* not ours */
		grown = array_grow(*seqs, *cnt, &cap, sizeof(**seqs));
		if (!grown)
			break;
		*seqs = grown;
		(*seqs)[(*cnt)++] = seq;
	}
	closedir(d);
	return e ? -ENOMEM : 0;
}

/*
 * Reads one entry's header. Its payload is checked when it is sent: reading the whole spool now
 * would delay the start. Unusable entries are counted and removed.
 */
static void load_entry(struct spool_dir *s, uint64_t seq)
{
	struct spool_entry *e = NULL;
	struct request_info info;
	struct spool_sizes sizes;
	char name[NAME_BYTES];
	int fd = open_entry(s, seq), err = fd < 0 ? fd : read_head(fd, &info, &sizes);

	if (fd >= 0)
		close(fd);
	if (!err)
		e = entry_new(s, seq, &info, &sizes);
	if (e) {
		link_entry(s, e);
		s->counts.found++;
		return;
	}
	if (err == -EPROTONOSUPPORT)
		s->counts.other_version++;
	else
		s->counts.damaged++;
	name_of(name, seq, ".spool");
	unlinkat(s->fd, name, 0);
}

static int load_entries(struct spool_dir *s)
{
	uint64_t *seqs = NULL;
	size_t cnt = 0, i;
	int err = list_entries(s, &seqs, &cnt);

	if (cnt)
		qsort(seqs, cnt, sizeof(*seqs), by_seq);
	for (i = 0; !err && i < cnt; i++)
		load_entry(s, seqs[i]);
	s->next_seq = cnt ? seqs[cnt - 1] + 1 : 1;
	free(seqs);
	if (s->counts.damaged || s->counts.other_version)
		log_warn("removed %llu damaged spool entries and %llu of "
			 "another version", (unsigned long long)s->counts.damaged,
			 (unsigned long long)s->counts.other_version);
	return err;
}

int spool_dir_open(struct spool_dir **out, const char *path, const struct spool_limits *limits,
		   spool_gone_fn gone, void *ctx)
{
	struct spool_dir *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	TAILQ_INIT(&s->entries);
	s->gone = gone;
	s->ctx = ctx;
	err = spool_place_open(path, &s->fd, &s->lock);
	if (err) {
		free(s);
		return err;
	}
	err = load_entries(s);
	if (err) {
		log_error("cannot read the spool '%s': %s", path, strerror(-err));
		spool_dir_close(s);
		return err;
	}
	spool_dir_set_limits(s, limits);
	*out = s;
	return 0;
}

void spool_dir_close(struct spool_dir *s)
{
	struct spool_entry *e;

	if (!s)
		return;
	while ((e = TAILQ_FIRST(&s->entries))) {
		TAILQ_REMOVE(&s->entries, e, link);
		free(e);
	}
	close(s->lock);
	close(s->fd);
	free(s->exporters);
	free(s);
}

struct spool_entry *spool_dir_oldest(const struct spool_dir *s)
{
	return TAILQ_FIRST(&s->entries);
}

const char *spool_dir_exporter(const struct spool_dir *s, const struct spool_entry *e)
{
	return s->exporters[e->exporter];
}

int spool_dir_fd(const struct spool_dir *s)
{
	return s->fd;
}

uint64_t spool_dir_bytes(const struct spool_dir *s)
{
	return s->bytes;
}

size_t spool_dir_cnt(const struct spool_dir *s)
{
	return s->cnt;
}

const struct spool_counts *spool_dir_counts(const struct spool_dir *s)
{
	return &s->counts;
}
