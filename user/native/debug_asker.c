// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * debug_asker.c - see debug_asker.h. elfutils' client library does the work: it is loaded here, and
 * in no other process. It keeps what it has downloaded in the working directory, which is nobody's,
 * inside a directory that only root can enter: nobody's other processes do not get there.
 */
#include "native/debug_asker.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "native/native.h"
#include "native/native_wire.h"
#include "worker/jail.h"

#define MEMORY_BYTES (1u << 30)
#define CACHED_MAX 65536	/* files that are looked at to find the oldest */

/* elfutils/debuginfod.h */
struct debuginfod_client;
typedef int (*progress_fn)(struct debuginfod_client *c, long a, long b);

static struct {
	int fd;
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int bytes, char **path);
	uint64_t until_ns;	/* of the file that is asked for */
	uint64_t bytes;		/* since the cache was pruned */
	unsigned int files;	/* likewise, with those that servers do not have */
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
} self;

/* ---- the cache ---- */

struct cached {
	char name[64];
	uint64_t bytes;
	time_t used;
};

static int by_use(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

/* Returns false if the entry is no file that was downloaded. */
static bool read_cached(const char *name, struct cached *out)
{
	char path[80];
	struct stat st;

	if (*name == '.' || strlen(name) >= sizeof(out->name))
		return false;
	snprintf(path, sizeof(path), "%s/debuginfo", name);
	*out = (struct cached){ .bytes = 0 };
	snprintf(out->name, sizeof(out->name), "%s", name);
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	out->bytes = (uint64_t)st.st_size;
	out->used = st.st_atime;
	return true;
}

static void remove_cached(const struct cached *c)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/debuginfo", c->name);
	unlink(path);
	rmdir(c->name);
}

/* What a worker was downloading when it was killed; others may be downloading now. */
static void remove_unfinished(const char *name)
{
	DIR *dir = *name == '.' ? NULL : opendir(name);
	bool removed = false;
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "debuginfo.", strlen("debuginfo.")) &&
		    !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_mtime + 2 * DEBUG_FILE_S < time(NULL))
			removed |= !unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	if (removed)
		rmdir(name);	/* unless there is more in it */
}

/* Removes those that were used longest ago until the others are within the limits. */
static void prune_cache(void)
{
	struct cached *all = calloc(CACHED_MAX, sizeof(*all));
	DIR *dir = all ? opendir(".") : NULL;
	uint64_t bytes = 0;
	struct dirent *e;
	size_t cnt = 0, i;

	while (dir && cnt < CACHED_MAX && (e = readdir(dir))) {
		remove_unfinished(e->d_name);
		if (read_cached(e->d_name, &all[cnt]))
			bytes += all[cnt++].bytes;
	}
	if (dir)
		closedir(dir);
	if (cnt)
		qsort(all, cnt, sizeof(*all), by_use);
	for (i = 0; i < cnt && (bytes > DEBUG_CACHE_BYTES || cnt - i > DEBUG_CACHE_FILES); i++) {
		remove_cached(&all[i]);
		bytes -= all[i].bytes;
	}
	free(all);
	self.bytes = self.files = 0;
}

/* ---- the library ---- */

static void set_number(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	setenv(name, text, 1);
}

/* The library is told everything by its environment. */
static void set_environment(const char *urls)
{
	static const char *const others[] = {
		"DEBUGINFOD_VERBOSE", "DEBUGINFOD_PROGRESS", "DEBUGINFOD_HEADERS_FILE",
		"DEBUGINFOD_RETRY_LIMIT",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		unsetenv(others[i]);
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", ".", 1);
	set_number("DEBUGINFOD_MAXSIZE", DEBUG_FILE_BYTES);
	set_number("DEBUGINFOD_MAXTIME", DEBUG_FILE_S);
	set_number("DEBUGINFOD_TIMEOUT", DEBUG_FILE_S / 4);
}

/* Returns 0; -ELIBACC: there is no such library; -ENOSYS: a static program cannot load one. */
#ifdef TACHBPF_STATIC
static int load_library(void)
{
	return -ENOSYS;
}
#else
static int check_progress(struct debuginfod_client *c, long a, long b)
{
	return now_ns() > self.until_ns || a > (long)DEBUG_FILE_BYTES || b > (long)DEBUG_FILE_BYTES;
}

static int load_library(void)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *c, progress_fn fn);

	if (!lib)
		return -ELIBACC;
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&set_progress = dlsym(lib, "debuginfod_set_progressfn");
	*(void **)&self.find = dlsym(lib, "debuginfod_find_debuginfo");
	if (!begin || !set_progress || !self.find)
		return -ELIBACC;
	self.client = begin();
	if (!self.client)
		return -ENOMEM;
	set_progress(self.client, check_progress);
	return 0;
}
#endif

static int find_file(uint32_t bytes)
{
	int err = self.client ? 0 : load_library(), fd;
	char *path = NULL;
	struct stat st;

	if (err)
		return err;
	if (self.bytes > DEBUG_CACHE_BYTES / 4 || self.files > DEBUG_CACHE_FILES / 4)
		prune_cache();
	self.files++;
	self.until_ns = now_ns() + DEBUG_FILE_S * NS_PER_S;
	fd = self.find(self.client, self.data, (int)bytes, &path);
	free(path);
	if (fd >= 0 && !fstat(fd, &st))
		self.bytes += (uint64_t)st.st_size;
	return fd;
}

/* ---- messages ---- */

static void send_answer(const struct elf_message *m, int fd)
{
	struct pollfd p = { .fd = self.fd, .events = POLLOUT };
	int err;

	while ((err = native_send(self.fd, m, NULL, fd)) == -EAGAIN)
		poll(&p, 1, -1);
	if (err)
		_exit(0);
}

static void take_message(const struct elf_message *asked)
{
	struct elf_message m = { .kind = DEBUG_FOUND, .file = asked->file,
				 .request = asked->request };
	int fd;

	if (asked->kind == DEBUG_BEGIN && asked->bytes && !self.data[asked->bytes - 1])
		set_environment((const char *)self.data);
	if (asked->kind != DEBUG_FIND || asked->bytes < 2 || asked->bytes > 20)
		return;
	fd = find_file(asked->bytes);
	m.result = fd < 0 ? fd : 0;
	send_answer(&m, fd);
	if (fd >= 0)
		close(fd);
}

static const char *const reads_below[] = {
	"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/run/systemd/resolve",
	"/run/NetworkManager", "/run/resolvconf", "/run/connman", NULL,
};

static void limit_self(int dir)
{
	const struct rlimit bytes = { DEBUG_FILE_BYTES, DEBUG_FILE_BYTES };

	if (fchdir(dir) || jail_limit_files(reads_below, "."))
		_exit(1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &bytes);
}

static int ask_servers(void *shared, const int *fds)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	struct elf_message m;
	int err, fd;

	self.fd = fds[0];
	limit_self(fds[1]);
	prune_cache();
	for (;;) {
		err = native_receive(self.fd, &m, self.data, &fd);
		if (fd >= 0)
			close(fd);
		if (!err)
			take_message(&m);
		else if (err == -EAGAIN)
			poll(&p, 1, -1);
		else
			_exit(0);
	}
}

static const worker_fn functions[] = { ask_servers };

/* As the sender of the agent, and what the library does in its cache. */
static const char *const calls[] = {
	/* sockets */
	"connect", "bind", "getsockname", "getpeername", "setsockopt", "getsockopt", "sendto",
	"recvfrom", "sendmmsg", "recvmmsg", "shutdown", "socketpair", "poll", "ppoll", "select",
	"pselect6",
	/* files */
	"open", "openat", "read", "write", "readv", "writev", "pread64", "lseek", "fstat",
	"newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "readlink",
	"readlinkat", "fcntl", "getdents64", "eventfd2", "pipe2", "pipe", "mkdir", "mkdirat",
	"rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "fchmod", "fchmodat",
	"utimensat", "ftruncate", "fchdir", "fstatfs", "getcwd", "landlock_create_ruleset",
	"landlock_add_rule", "landlock_restrict_self",
	/* itself */
	"mprotect", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity", "sysinfo",
	"uname", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "clock_getres", "getuid",
	"geteuid", "getgid", "getegid", "getrlimit", "setrlimit", "prlimit64", "sigaltstack",
	NULL,
};
static const struct jail jail = {
	.calls = calls, .memory_bytes = MEMORY_BYTES, .internet = true, .threads = true,
	.secret = true,
};

const struct worker_kind native_debug_kind = {
	.name = "tachbpf-asker",
	.does = "asks debuginfod servers for debug files",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = 4096,
};

/* ---- in the main process ---- */

#define NOBODY 65534

/* Makes a directory that only we can enter, and opens it. Returns a descriptor or -errno. */
static int open_own(const char *path)
{
	struct stat st;
	int fd, err = 0;

	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		err = -EPERM;
	if (err)
		close(fd);
	return err ? err : fd;
}

/*
 * Makes the directory that the worker, as nobody, can write, and opens it. An owner may give it to
 * a group of its own without CAP_CHOWN, and the file system's gid counts as one.
 */
static int open_for_worker(int in)
{
	int fd;

	mkdirat(in, "files", 0770);
	fd = openat(in, "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	setfsgid(NOBODY);
	fchown(fd, (uid_t)-1, NOBODY);
	setfsgid(getegid());
	fchmod(fd, 0770);	/* in spite of the umask */
	return fd;
}

int debug_cache_open(const char *path)
{
	char parent[PATH_MAX], *end;
	int outer, inner;

	snprintf(parent, sizeof(parent), "%s", path);
	end = strrchr(parent, '/');
	if (end && end > parent) {
		*end = '\0';
		mkdir(parent, 0755);
	}
	outer = open_own(path);
	if (outer < 0)
		return outer;
	inner = open_for_worker(outer);
	close(outer);
	return inner;
}
