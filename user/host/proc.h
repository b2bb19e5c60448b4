/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc.h - processes as /proc and process_vm_readv() show them.
 *
 * Knows files, mappings and memory, but not their content. Everything that a process
 * controls (comm, paths, mappings) is hostile.
 */
#ifndef TACHBPF_PROC_H
#define TACHBPF_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "model/event.h"

/* One line of /proc/PID/maps. */
struct proc_map {
	uint64_t start, end, offset;
	uint64_t dev, inode;	/* of the underlying file system; stat() may return others
				 * (overlayfs). 0: no file, only a name */
	bool exec, write;
	bool shared;		/* what is written there is in the file (MAP_SHARED) */
	const char *path;	/* as the kernel prints it, including " (deleted)" */
};

/*
 * Call cb for every mapping that has a file, or a name given by its process (PR_SET_VMA_ANON_NAME),
 * until it returns non-zero; returns that value. Else 0 or -errno. -EFBIG: the list is longer than
 * PROC_MAPS_BYTES_MAX bytes, and cb was called for the mappings in these.
 */
int proc_maps(pid_t tgid, int (*cb)(void *ctx, const struct proc_map *m), void *ctx);
/* The same for every mapping, even without a file or name: then its path is "". */
int proc_all_maps(pid_t tgid, int (*cb)(void *ctx, const struct proc_map *m), void *ctx);
/* The same for a file with the text of /proc/PID/maps. */
int proc_maps_file(const char *path, int (*cb)(void *ctx, const struct proc_map *m), void *ctx);
/*
 * A process has at most vm.max_map_count mappings (65,530 by default) and chooses their paths: up
 * to 4 KiB each. This is room for 65,530 lines of 256 bytes, which take about 150 ms.
 */
#define PROC_MAPS_BYTES_MAX (16 * 1024 * 1024)

/* AT_PHDR: the address of the executable's program headers in the process' memory; 0: unknown. */
uint64_t proc_phdr(pid_t tgid);

/*
 * Open the file of a mapping for reading, even if its path was deleted or is not visible here.
 * Opens only regular files. Without the right to do that it is opened by its path; if that is "",
 * it is not. Returns the file descriptor or -errno; -ENOENT: exactly this mapping does not exist.
 */
int proc_open_mapped(pid_t tgid, const struct proc_map *m);

/* stat() of a mapping's file, without opening it. 0 or -errno. */
int proc_stat_mapped(pid_t tgid, const struct proc_map *m, struct stat *st);

/*
 * Read /proc/PID/name, or /proc/self/name if tgid is 0: at most size - 1 bytes,
 * NUL-terminated. Returns the length, or -errno; -ESRCH: no such process.
 */
ssize_t proc_read(pid_t tgid, const char *name, char *out, size_t size);
/*
 * The same for a file that the kernel writes in pieces: reads until size - 1 bytes or its end. A
 * result of size - 1: there may be more.
 */
ssize_t proc_read_whole(pid_t tgid, const char *name, char *out, size_t size);
/* Read the target of the link /proc/PID/name, as proc_read(). -ENAMETOOLONG: out is too small. */
ssize_t proc_link(pid_t tgid, const char *name, char *out, size_t size);

/*
 * The source of /proc for these functions, except proc_maps(), proc_open_mapped(),
 * proc_stat_mapped() and proc_mem_read(): this process (proc_direct), or one with more rights.
 */
typedef ssize_t (*proc_read_fn)(pid_t tgid, const char *name, char *out, size_t size);
typedef int (*proc_each_fn)(void *ctx, pid_t pid);
struct proc_source {
	proc_read_fn text, link;
	/* Call cb for every process, or for every task of a process, until it returns non-zero. */
	int (*each)(pid_t tgid, proc_each_fn cb, void *ctx);
	proc_read_fn whole;
};
extern const struct proc_source proc_direct;
void proc_set_source(const struct proc_source *source);

/* Fields of /proc/PID/stat. */
struct proc_stat {
	char comm[PROC_COMM_MAX];	/* any bytes, NUL-terminated */
	char state;		/* of its first thread: 'R', 'S', 'T' ... (proc_pid_stat(5)) */
	pid_t ppid;
	uint64_t start_ticks;		/* start time since boot, in 1/100 s (USER_HZ) */
	uint64_t cpu_ticks;		/* user and system time of all
					 * its threads so far, in 1/100 s */
	uint64_t user_ticks;		/* of these, user time */
	bool ended;		/* the first thread has ended */
	bool zombie;		/* all threads have ended */
	bool exiting;		/* the last thread is exiting */
	bool kernel_thread;
	/*
	 * Start of the program's stack, which the kernel chooses at each exec: it distinguishes the
	 * programs that a process executes one after another. 0: unknown, or an exec is in progress
	 * (in_exec), and the mappings are incomplete.
	 */
	uint64_t program;
	bool in_exec;		/* true also if the process no longer has memory */
};
/* Read /proc/PID/stat. 0 or -errno; -ESRCH: no such process. */
int proc_stat(pid_t tgid, struct proc_stat *st);
/* At most this many ancestors of a process are looked at. */
#define PROC_ANCESTORS_MAX 64
/* Returns true if ancestor started the process, or one of its ancestors. */
bool proc_descends_from(pid_t tgid, pid_t ancestor);

/* Fields of /proc/PID/status: user and pids. */
#define PROC_NS_MAX 33		/* MAX_PID_NS_LEVEL is 32 (include/linux/pid_namespace.h) */
struct proc_status {
	uint32_t uid;		/* the effective uid, which ps shows */
	uint32_t threads;
	bool has_memory;	/* false: of a kernel thread, or of a task that is exiting */
	pid_t ns_tgids[PROC_NS_MAX];	/* in each pid namespace, from ours to its own */
	uint32_t ns_tgid_cnt;	/* 0: unknown */
};
/* Read /proc/PID/status. 0 or -errno; -ESRCH: no such process. */
int proc_status(pid_t tgid, struct proc_status *st);

/*
 * If the first thread of a process has ended and others continue, the files in /proc/PID are empty,
 * but those of another thread in /proc/TID are not. Returns the id to use; 0: all threads have
 * ended.
 */
pid_t proc_living_task(pid_t tgid);

/* The result of reading /proc once for a process; passed to those that need more of it. */
struct proc_info {
	pid_t tgid;
	pid_t task;		/* proc_living_task() */
	struct proc_stat stat;
};
/* 0 or -errno; -ESRCH: there is no such process, or all its threads have ended. */
int proc_info_read(pid_t tgid, struct proc_info *info);

/*
 * The arguments, separated by spaces, at most size - 1 bytes; any bytes. 0 or -errno; -ESRCH: tgid
 * is 0, as from proc_living_task().
 */
int proc_cmdline(pid_t tgid, char *out, size_t size);

/* The path of a process' executable as proc_maps() shows it. 0 or -errno, as above. */
int proc_exe(pid_t tgid, char *path, size_t size);

/* The effective uid of a process. 0 or -errno; -ESRCH: no such process. */
int proc_euid(pid_t tgid, uint32_t *uid);

/*
 * The resident memory of a process in bytes, including what it shares with others. 0 or -errno;
 * -ESRCH: no such process.
 */
int proc_rss(pid_t tgid, uint64_t *bytes);

/* Call cb for every process until it returns non-zero; returns that value. Else 0 or -errno. */
int proc_each(proc_each_fn cb, void *ctx);

/*
 * Read len bytes of a process' memory; ctx is its tgid as a pointer. 0: all were read; else -errno.
 */
int proc_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);
/*
 * Read cnt places (at most IOV_MAX) with one system call, one after another into buf; len: the sum
 * of their lengths. 0: all were read; else -errno.
 */
int proc_mem_gather(pid_t tgid, const struct iovec *places, size_t cnt, void *buf, size_t len);

/*
 * Parse a kernel CPU list ("0-3,7") into a new array without duplicates, which the caller frees.
 * Returns the count or -errno.
 */
int proc_cpu_list(const char *list, int **cpus);
/* The online CPUs, as a new array. Returns the count or -errno. */
int proc_online_cpus(int **cpus);

#endif
