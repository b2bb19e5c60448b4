/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc.h - processes as /proc and process_vm_readv() show them.
 *
 * Knows files, mappings and memory; not what is in them. Everything a process
 * controls (comm, paths, mappings) is hostile.
 */
#ifndef TACHBPF_PROC_H
#define TACHBPF_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "model/event.h"

/* One line of /proc/PID/maps that has a file behind it. */
struct proc_map {
	uint64_t start, end, offset;
	uint64_t dev, inode;	/* of the file system below, which stat() may not show (overlayfs) */
	bool exec;
	const char *path;	/* as the kernel prints it, " (deleted)" included */
};

/* Call cb for every mapping of a file until it returns non-zero, which is passed on; -errno. */
int proc_maps(pid_t tgid, int (*cb)(void *ctx, const struct proc_map *m), void *ctx);

/*
 * Open the file behind a mapping, however deleted or far away its path is. The
 * file is opened for reading only, and only if it is a regular one. -errno.
 */
int proc_open_mapped(pid_t tgid, const struct proc_map *m);

/* stat() of the file behind a mapping, without opening it. 0 or -errno. */
int proc_stat_mapped(pid_t tgid, const struct proc_map *m, struct stat *st);

/*
 * All of /proc/PID/name, of ourselves with tgid 0: at most size - 1 bytes, terminated. Length, or
 * -errno; -ESRCH: no such process.
 */
ssize_t proc_read(pid_t tgid, const char *name, char *out, size_t size);

/* What /proc/PID/stat says. */
struct proc_stat {
	char comm[PROC_COMM_MAX];	/* raw bytes, terminated */
	pid_t ppid;
	uint64_t start_ticks;		/* since boot, 1/100 s (USER_HZ) */
	uint64_t cpu_ticks;		/* of all its threads so far, user and system; likewise */
	bool ended;		/* this thread, the process' first one */
	bool zombie;		/* all of them */
	bool exiting;		/* on its way to become one */
	bool kernel_thread;
};
/* 0 or -errno; -ESRCH: no such process. */
int proc_stat(pid_t tgid, struct proc_stat *st);

/* What /proc/PID/status says of whose it is and where. */
#define PROC_NS_MAX 33		/* MAX_PID_NS_LEVEL is 32 (include/linux/pid_namespace.h) */
struct proc_status {
	uint32_t uid;		/* the effective one, which ps shows */
	uint32_t threads;
	bool has_memory;	/* false: of a kernel thread, or of a task that is exiting */
	pid_t ns_tgids[PROC_NS_MAX];	/* in each pid namespace, from ours to its own */
	uint32_t ns_tgid_cnt;	/* 0: not told */
};
/* 0 or -errno; -ESRCH: no such process. */
int proc_status(pid_t tgid, struct proc_status *st);

/*
 * A process whose first thread has ended goes on, but /proc/PID shows nothing of it any
 * more: /proc/TID of another of its threads does, by the same paths. The id to use; 0: it
 * is over.
 */
pid_t proc_living_task(pid_t tgid);

/* One look at a process, for all who want to know: /proc is not asked again. */
struct proc_info {
	pid_t tgid;
	pid_t task;		/* proc_living_task() */
	struct proc_stat stat;
};
/* 0, or -errno; -ESRCH: there is no process, or none of its threads lives. */
int proc_look(pid_t tgid, struct proc_info *info);

/* Command line with spaces between arguments, at most size - 1 bytes; hostile. 0 or -errno. */
int proc_cmdline(pid_t tgid, char *out, size_t size);

/* The path of a process' executable as proc_maps() has it. 0 or -errno. */
int proc_exe(pid_t tgid, char *path, size_t size);

/* Whom it acts as: its effective uid. 0 or -errno; -ESRCH: no such process. */
int proc_euid(pid_t tgid, uint32_t *uid);

/* Call cb for every process there is now, until it returns non-zero. 0 or that, or -errno. */
int proc_each(int (*cb)(void *ctx, pid_t tgid), void *ctx);

/* Read a process' memory; ctx is its tgid cast to a pointer. 0 or -errno (all or nothing). */
int proc_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

/* The CPUs of a kernel list ("0-3,7") as a new array, each once. Count, or -errno. */
int proc_cpu_list(const char *list, int **cpus);
/* The CPUs that are online now. Count, or -errno. */
int proc_online_cpus(int **cpus);

#endif
