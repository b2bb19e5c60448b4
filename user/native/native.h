/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native.h - the machine code of the profiled processes: which files they have mapped, the unwind
 * tables of these files, and the names of their functions.
 *
 * Nothing here waits for a file or parses one: an opener opens the files, the helper executable
 * tachbpf-elf reads them (elf_wire.h), and their answers are taken by native_poll(). What is not
 * known yet is said so, and asked for.
 *
 * All functions must be called from one thread.
 */
#ifndef TACHBPF_NATIVE_H
#define TACHBPF_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi_native.h"
#include "worker/worker.h"

struct native;

/* The BPF side's maps. All return 0 or -errno. */
struct native_maps {
	void *ctx;
	/* Make the slab, whose number is the next one. */
	int (*add_slab)(void *ctx, uint32_t slab);
	int (*put_chunk)(void *ctx, uint32_t chunk, const void *bytes);	/* NATIVE_CHUNK bytes */
	int (*put_table)(void *ctx, uint32_t number, const struct unwind_table *table);
	/* Only if the process still has the entry of py_procs with this start time. */
	int (*put_place)(void *ctx, pid_t tgid, const struct native_place *place);
	int (*drop_place)(void *ctx, pid_t tgid);
};

struct native_args {
	struct native_maps maps;
	size_t memory_bytes;	/* of tables and mappings; 0: 128 MiB */
	const char *cache;	/* directory of tables on disk; NULL: none. Copied */
	bool lines;		/* names have lines and inlined functions */
};

/* The opener, a worker with the right to open what processes have mapped. */
extern const struct worker_kind native_opener_kind;
/* A worker that keeps the tables on disk. It alone has root's files, and opens none of others. */
extern const struct worker_kind native_cache_kind;

/* Start the helpers. NULL with errno; logs why. Maps must be there at the first native_poll(). */
struct native *native_new(const struct native_args *args);
void native_free(struct native *n);

/* ---- processes ---- */

/*
 * A process is profiled from now on. parent: it was forked by a process that is known, and has its
 * mappings; 0: its mappings will be read. The table of a file with a CPython (elf_facts.eval_start)
 * is used only when native_class() knows that file's functions. 0 or -ENOMEM.
 */
int native_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent);
/* The process has ended, executes another program, or is not profiled any more. */
void native_end(struct native *n, pid_t tgid);
/*
 * The walk has met an end that other mappings may mend (NO_MAPPINGS, NO_MAPPING), or the process
 * has mapped code: read its mappings again, soon, and ever less often if that changes nothing.
 */
void native_stale(struct native *n, pid_t tgid);

/* ---- the two sides of a poll ---- */

/* A descriptor (epoll) that can be read when native_poll() has something to do. */
int native_fd(const struct native *n);
/*
 * Take answers, write tables and mappings, ask what must be asked; for at most about a millisecond.
 * To be called when the descriptor can be read, and at least about once a second.
 */
void native_poll(struct native *n);
/*
 * Go on until all names that were asked for are there, or until so many milliseconds have passed:
 * at the end of a recording, and of a process.
 */
void native_settle(struct native *n, int timeout_ms);
/*
 * Go on until the tables of all processes that have begun are there, or until so many milliseconds
 * have passed: before the first sample.
 */
void native_prepare(struct native *n, int timeout_ms);

/* ---- what addresses mean ---- */

/* What a function of the interpreter is for a stack that has Python frames. */
enum native_class {
	NATIVE_CODE = 0,	/* a function like any other                                */
	NATIVE_EVAL,		/* _PyEval_EvalFrameDefault: runs Python frames             */
	NATIVE_PLUMBING,	/* between a call in Python and what is called: PyObject_Call ... */
	NATIVE_START,		/* before the first Python frame: main(), clone() ...       */
};
enum native_class native_class(const struct native *n, uint32_t file, uint64_t addr);

/* A frame of this file was seen: its table stays, or is built again. Cheap. */
void native_used(struct native *n, uint32_t file);

/* One function at an address; with lines inlined ones, too. The texts live as long as the file. */
struct native_function {
	const char *name;	/* never NULL: "foo", or "libfoo.so.1+0x1234", the start of the
				 * function (or of the code that has no name) */
	const char *source;	/* path; NULL: not known */
	uint32_t line;		/* 0: not known */
};
struct native_name {
	const char *library;	/* "libfoo.so.1": the last part of the file's path; of JIT code
				 * "JIT", of the vdso "[vdso]" */
	uint32_t cnt;		/* functions, innermost first; more than 1 only with lines */
	struct native_function functions[8];
};
/*
 * The name of an address in a file; file 0: of a process' JIT code (perf map). 0 and *out, valid
 * until the next call of native_poll(); -EAGAIN: it was asked for, ask again later (out has the
 * library, and a name of the form "libfoo.so.1+0x1234" of the address itself); -ENOENT: there will
 * be no better name than that in *out.
 */
int native_name(struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		struct native_name *out);

/* What is known of a file, for formats that have mappings. Valid until native_free(). */
struct native_file {
	const char *path;	/* as the process has it */
	const char *library;
	uint8_t build_id[20];
	uint32_t build_id_bytes;	/* 0: it has none, or it is not known yet */
};
const struct native_file *native_file(const struct native *n, uint32_t file);

/* For the summary and session.json. */
struct native_counts {
	uint32_t files, tables, tables_failed, tables_evicted, tables_cached;
	uint64_t memory_bytes, build_us, names, names_unknown, helper_restarts, stuck;
	uint32_t processes_cut;	/* with more than NATIVE_MAPPINGS mappings with code */
};
void native_counts(const struct native *n, struct native_counts *out);

#endif
