/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held_by.h - what keeps a process from running although it waits for nothing: a signal has stopped
 * it, a tracer has, or it is in a frozen cgroup (docker pause). From /proc and the cgroups' files.
 */
#ifndef TACHBPF_HELD_BY_H
#define TACHBPF_HELD_BY_H

#include <stdbool.h>
#include <sys/types.h>

/* Room for the texts below, which are printable; a longer path of a cgroup is cut. */
#define HELD_BY_BYTES 192

/* Who traces a thread: "4711 (gdb)". False: nobody, or it is not known; out stays as it is. */
bool held_by_tracer(pid_t tgid, pid_t tid, char out[HELD_BY_BYTES]);

/*
 * The path of the innermost cgroup around a process that was told to freeze, of v2 or of v1's
 * freezer. False as above.
 */
bool held_by_cgroup(pid_t tgid, char out[HELD_BY_BYTES]);

/*
 * What holds a whole process, in words: "stopped by a signal" (/proc does not say which),
 * "traced by 4711 (gdb)", "frozen in cgroup /batch". "": nothing, or it is not known. Of a traced
 * process only while its first thread is stopped.
 */
void held_by_words(pid_t tgid, char out[HELD_BY_BYTES]);

#endif
