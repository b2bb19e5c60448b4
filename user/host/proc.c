// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * proc.c - /proc and process_vm_readv(). See proc.h.
 */
#include "host/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/util.h"
#include "host/regular.h"

/* Parse a hexadecimal number and the character that must follow; *p moves after both. */
static bool parse_hex(char **p, char then, uint64_t *v)
{
	char *end;

	*v = strtoull(*p, &end, 16);
	if (end == *p || *end != then)
		return false;
	*p = end + 1;
	return true;
}

/* Beginning of the path of memory without a file that its process has named: fs/proc/task_mmu.c. */
#define NAMED_MEMORY "[anon:"

/* Returns true if the mapping has a file, or a name given by its process. */
static bool has_name(const struct proc_map *m)
{
	return *m->path && (m->inode || !strncmp(m->path, NAMED_MEMORY, strlen(NAMED_MEMORY)));
}

static bool is_any(const struct proc_map *m)
{
	return true;
}

/* Parse "start-end perms offset major:minor inode path". */
static bool parse_map(char *line, struct proc_map *m)
{
	uint64_t major, minor;
	char *p = line;

	if (!parse_hex(&p, '-', &m->start) || !parse_hex(&p, ' ', &m->end) || strnlen(p, 5) < 5)
		return false;
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	if (!parse_hex(&p, ' ', &m->offset) || !parse_hex(&p, ':', &major) ||
	    !parse_hex(&p, ' ', &minor))
		return false;
	m->inode = strtoull(p, &p, 10);
	p += strspn(p, " ");
	m->dev = major << 32 | minor;
	p[strcspn(p, "\n")] = '\0';
	m->path = p;
	return true;
}

/* The kernel returns a page at a time (fs/seq_file.c); stdio would ask for a quarter of it. */
#define MAPS_BUFFER 4096

static int each_map(const char *path, bool (*wanted)(const struct proc_map *m),
		    int (*cb)(void *ctx, const struct proc_map *m), void *ctx)
{
	char buffer[MAPS_BUFFER];
	size_t size = 0, bytes = 0;
	struct proc_map m;
	char *line = NULL;
	ssize_t n = 0;
	int err = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	while (!err && bytes <= PROC_MAPS_BYTES_MAX && (n = getline(&line, &size, f)) > 0) {
		bytes += (size_t)n;
		if (parse_map(line, &m) && wanted(&m))
			err = cb(ctx, &m);
	}
	free(line);
	fclose(f);
	return !err && n > 0 ? -EFBIG : err;
}

int proc_maps_file(const char *path, int (*cb)(void *ctx, const struct proc_map *m), void *ctx)
{
	return each_map(path, has_name, cb, ctx);
}

int proc_maps(pid_t tgid, int (*cb)(void *ctx, const struct proc_map *m), void *ctx)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", tgid);
	return each_map(path, has_name, cb, ctx);
}

int proc_all_maps(pid_t tgid, int (*cb)(void *ctx, const struct proc_map *m), void *ctx)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", tgid);
	return each_map(path, is_any, cb, ctx);
}

uint64_t proc_phdr(pid_t tgid)
{
	uint64_t pairs[2 * 64 + 1];	/* there are about 25 */
	ssize_t n = proc_read(tgid, "auxv", (char *)pairs, sizeof(pairs)), i;

	for (i = 0; i + 1 < n / 8 && pairs[i] != AT_NULL; i += 2)
		if (pairs[i] == AT_PHDR)
			return pairs[i + 1];
	return 0;
}

/* Open a path below the root of the process, wherever symlinks point. */
static int open_in_root(pid_t tgid, const char *file)
{
	char path[64];
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%d/root", tgid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_regular(root, file, RESOLVE_IN_ROOT);
	close(root);
	return fd;
}

#define MAP_FILES_PATH_MAX 128

static void map_files_path(char *path, pid_t tgid, const struct proc_map *m)
{
	snprintf(path, MAP_FILES_PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tgid,
		 m->start, m->end);
}

int proc_stat_mapped(pid_t tgid, const struct proc_map *m, struct stat *st)
{
	char path[MAP_FILES_PATH_MAX];

	map_files_path(path, tgid, m);
	return stat(path, st) ? -errno : 0;
}

int proc_open_mapped(pid_t tgid, const struct proc_map *m)
{
	char path[MAP_FILES_PATH_MAX];
	int fd;

	map_files_path(path, tgid, m);
	fd = open_regular(AT_FDCWD, path, 0);
	/*
	 * map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; opening the path may
	 * work without.
	 */
	return fd < 0 && *m->path ? open_in_root(tgid, m->path) : fd;
}

/*
 * Read a file, at most size - 1 bytes, and NUL-terminate it. Length or -errno. One read returns
 * everything: the kernel writes the files of /proc and /sys that are read here in one piece.
 */
static ssize_t read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, out, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	out[n < 0 ? 0 : n] = '\0';
	return n;
}

/* ---- where it is read from ---- */

static void path_of(pid_t tgid, const char *name, char path[128])
{
	char pid[16] = "self";

	if (tgid)
		snprintf(pid, sizeof(pid), "%d", tgid);
	snprintf(path, 128, "/proc/%s/%s", pid, name);
}

static ssize_t direct_text(pid_t tgid, const char *name, char *out, size_t size)
{
	char path[128];

	path_of(tgid, name, path);
	return read_text(path, out, size);
}

static ssize_t direct_whole(pid_t tgid, const char *name, char *out, size_t size)
{
	size_t len = 0;
	char path[128];
	ssize_t n;
	int fd;

	path_of(tgid, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, out + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	out[len] = '\0';
	return n < 0 ? n : (ssize_t)len;
}

static ssize_t direct_link(pid_t tgid, const char *name, char *out, size_t size)
{
	char path[128];
	ssize_t n;

	path_of(tgid, name, path);
	n = readlink(path, out, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return n;
}

static int direct_each(pid_t tgid, proc_each_fn cb, void *ctx)
{
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *d;

	if (tgid)
		snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	d = opendir(tgid ? path : "/proc");
	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			err = cb(ctx, atoi(e->d_name));
	closedir(d);
	return err;
}

const struct proc_source proc_direct = {
	.text = direct_text, .link = direct_link, .each = direct_each, .whole = direct_whole,
};
static const struct proc_source *source = &proc_direct;

void proc_set_source(const struct proc_source *s)
{
	source = s;
}

ssize_t proc_read(pid_t tgid, const char *name, char *out, size_t size)
{
	ssize_t n = source->text(tgid, name, out, size);

	return n == -ENOENT ? -ESRCH : n;
}

ssize_t proc_read_whole(pid_t tgid, const char *name, char *out, size_t size)
{
	return source->whole ? source->whole(tgid, name, out, size) : -ENOSYS;
}

/* ---- what it says ---- */

int proc_stat(pid_t tgid, struct proc_stat *st)
{
	char buf[1024], *open_paren, *close_paren;
	unsigned long long user, system, code, stack;
	unsigned int flags;
	int threads;
	ssize_t n = proc_read(tgid, "stat", buf, sizeof(buf));

	if (n <= 0)
		return n ? (int)n : -ESRCH;
	/* comm may contain spaces and parentheses: it ends at the last ')'. */
	open_paren = strchr(buf, '(');
	close_paren = strrchr(buf, ')');
	if (!open_paren || !close_paren || close_paren < open_paren)
		return -EINVAL;
	*close_paren = '\0';
	snprintf(st->comm, sizeof(st->comm), "%s", open_paren + 1);
	if (sscanf(close_paren + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %d %*d "
		   "%" SCNu64 " %*u %*d %*u %llu %*u %llu", &st->state, &st->ppid, &flags, &user,
		   &system, &threads, &st->start_ticks, &code, &stack) != 9)
		return -EINVAL;
	st->cpu_ticks = user + system;
	st->user_ticks = user;
	/* The first thread may end before the others; then the process is not a zombie. */
	st->ended = st->state == 'Z' || st->state == 'X';
	st->zombie = st->ended && threads <= 1;
	st->exiting = flags & 0x4 && threads <= 1;	/* PF_EXITING */
	st->kernel_thread = flags & 0x00200000;	/* PF_KTHREAD */
	/* The kernel sets both at the end of an exec; unprivileged readers get 1 and 0. */
	st->in_exec = !code;
	st->program = code ? stack : 0;
	return 0;
}

bool proc_descends_from(pid_t tgid, pid_t ancestor)
{
	struct proc_stat st;
	int i;

	/* init has the parent 0, which proc_stat() takes for this process: see proc.h. */
	for (i = 0; i < PROC_ANCESTORS_MAX && tgid && !proc_stat(tgid, &st); i++) {
		if (st.ppid == ancestor)
			return true;
		tgid = st.ppid;
	}
	return false;
}

/*
 * Value of the line "Name:\tvalue"; NULL: not found. comm is in the first line and cannot forge
 * one.
 */
static const char *status_line(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : NULL;
}

int proc_status(pid_t tgid, struct proc_status *st)
{
	char buf[8192], *end;
	const char *uid, *threads, *ids;
	ssize_t n = proc_read(tgid, "status", buf, sizeof(buf));

	memset(st, 0, sizeof(*st));
	if (n <= 0)
		return n ? (int)n : -ESRCH;
	uid = status_line(buf, "\nUid:\t");
	threads = status_line(buf, "\nThreads:\t");
	ids = status_line(buf, "\nNStgid:\t");
	if (!uid)
		return -EINVAL;
	strtoul(uid, &end, 10);		/* the real uid comes first */
	st->uid = (uint32_t)strtoul(end, NULL, 10);
	st->threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 0;
	st->has_memory = status_line(buf, "\nVmSize:\t");
	while (ids && st->ns_tgid_cnt < PROC_NS_MAX) {
		long id = strtol(ids, &end, 10);

		if (end == ids || id <= 0 || *ids == '\n')
			break;
		st->ns_tgids[st->ns_tgid_cnt++] = (pid_t)id;
		ids = *end == '\t' ? end + 1 : NULL;
	}
	return 0;
}

int proc_cmdline(pid_t tgid, char *out, size_t size)
{
	ssize_t n = tgid ? proc_read(tgid, "cmdline", out, size) : -ESRCH, i;

	if (n < 0)
		return (int)n;
	while (n && !out[n - 1])
		n--;
	out[n] = '\0';
	for (i = 0; i < n; i++)
		if (!out[i])
			out[i] = ' ';
	return 0;
}

ssize_t proc_link(pid_t tgid, const char *name, char *out, size_t size)
{
	return source->link(tgid, name, out, size);
}

int proc_exe(pid_t tgid, char *path, size_t size)
{
	ssize_t n = tgid ? proc_link(tgid, "exe", path, size) : -ESRCH;

	return n < 0 ? (int)n : 0;
}

int proc_euid(pid_t tgid, uint32_t *uid)
{
	struct proc_status st;
	int err = proc_status(tgid, &st);

	if (!err)
		*uid = st.uid;
	return err;
}

int proc_each(proc_each_fn cb, void *ctx)
{
	return source->each(0, cb, ctx);
}

struct other_task {
	pid_t tgid, found;
};

static int is_other_task(void *ctx, pid_t tid)
{
	struct other_task *o = ctx;
	struct proc_stat st;

	if (tid > 0 && tid != o->tgid && !proc_stat(tid, &st) && !st.ended)
		o->found = tid;
	return o->found;
}

/* A thread that still runs, in a process whose first thread has ended; 0: none. */
static pid_t other_task(pid_t tgid)
{
	struct other_task o = { .tgid = tgid };

	source->each(tgid, is_other_task, &o);
	return o.found;
}

pid_t proc_living_task(pid_t tgid)
{
	struct proc_stat st;
	int err = proc_stat(tgid, &st);

	if (!err && st.ended)
		return other_task(tgid);
	return err == -ESRCH ? 0 : tgid;
}

/*
 * Reads the second field of /proc/PID/statm: resident pages. 0: the task has no memory. The file is
 * for everybody, unless /proc hides processes: a process with more rights costs ten times as much.
 */
static int read_resident(pid_t task, uint64_t *pages)
{
	char text[128];
	ssize_t len = proc_direct.text(task, "statm", text, sizeof(text));

	if (len < 0 && source != &proc_direct)
		len = proc_read(task, "statm", text, sizeof(text));
	if (len < 0)
		return (int)len;
	return sscanf(text, "%*u %" SCNu64, pages) == 1 ? 0 : -EIO;
}

int proc_rss(pid_t tgid, uint64_t *bytes)
{
	uint64_t pages = 0;
	int err = read_resident(tgid, &pages);
	pid_t task;

	if (!err && !pages) {
		task = proc_living_task(tgid);
		err = !task || task == tgid ? -ESRCH : read_resident(task, &pages);
	}
	if (!err)
		*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return err;
}

int proc_info_read(pid_t tgid, struct proc_info *info)
{
	int err = proc_stat(tgid, &info->stat);

	if (err)
		return err;
	info->tgid = tgid;
	info->task = info->stat.ended ? other_task(tgid) : tgid;
	return info->task ? 0 : -ESRCH;
}

int proc_mem_gather(pid_t tgid, const struct iovec *places, size_t cnt, void *buf, size_t len)
{
	struct iovec local = { buf, len };
	ssize_t n = process_vm_readv(tgid, &local, 1, places, cnt, 0);
	pid_t task;
	int err = n < 0 ? -errno : 0;

	if (err == -ESRCH && (task = proc_living_task(tgid)) && task != tgid) {
		n = process_vm_readv(task, &local, 1, places, cnt, 0);
		err = n < 0 ? -errno : 0;
	}
	if (err)
		return err;
	return (size_t)n == len ? 0 : -EFAULT;
}

int proc_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct iovec place = { (void *)(uintptr_t)addr, len };

	return proc_mem_gather((pid_t)(intptr_t)ctx, &place, 1, buf, len);
}

/* More than any kernel supports (NR_CPUS). */
#define CPUS_MAX 65536

int proc_cpu_list(const char *list, int **cpus)
{
	int cnt = 0, *out = NULL, *bigger;
	uint8_t seen[CPUS_MAX] = { 0 };
	const char *p = list;
	char *end;
	long a, b;

	while (*p && *p != '\n') {
		a = b = strtol(p, &end, 10);
		if (end == p)
			goto bad;
		if (*end == '-') {
			p = end + 1;
			b = strtol(p, &end, 10);
			if (end == p)
				goto bad;
		}
		if (a < 0 || b < a || b >= CPUS_MAX || (*end && *end != ',' && *end != '\n'))
			goto bad;
		bigger = realloc(out, (cnt + b - a + 1) * sizeof(*out));
		if (!bigger)
			goto bad;
		out = bigger;
		for (; a <= b; a++)
			if (!seen[a]) {
				seen[a] = 1;
				out[cnt++] = a;
			}
		p = *end == ',' ? end + 1 : end;
	}
	*cpus = out;
	return cnt;
bad:
	free(out);
	return -EINVAL;
}

int proc_online_cpus(int **cpus)
{
	char buf[4096];
	ssize_t n = read_text("/sys/devices/system/cpu/online", buf, sizeof(buf));

	return n < 0 ? (int)n : proc_cpu_list(buf, cpus);
}
