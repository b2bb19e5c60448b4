/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native.h - the machine code of the profiled processes: which files they have mapped, the unwind
 * tables of these files, and the names of their functions.
 *
 * Nothing here waits for a file or parses one: an opener opens the files, the helper executable
 * tachbpf-elf reads them (elf_wire.h), and native_poll() takes their answers. A caller that asks
 * for something not known yet is told so, and it is requested.
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

/* The BPF side's maps. All functions return 0 or -errno. */
struct native_maps {
	void *ctx;
	/* Creates slab number `slab`, which is the next one. */
	int (*add_slab)(void *ctx, uint32_t slab);
	int (*put_chunk)(void *ctx, uint32_t chunk, const void *bytes);	/* NATIVE_CHUNK bytes */
	int (*put_table)(void *ctx, uint32_t number, const struct unwind_table *table);
	/* Succeeds only if py_procs still has the process with this start time. */
	int (*put_place)(void *ctx, pid_t tgid, const struct native_place *place);
	int (*drop_place)(void *ctx, pid_t tgid);
};

struct native_args {
	struct native_maps maps;
	size_t memory_bytes;	/* limit of tables and mappings; 0: 128 MiB */
	const char *cache;	/* directory of the cached tables; NULL: none. Copied */
	bool lines;		/* names have lines and inlined functions */
	const char *debug_urls;	/* debuginfod servers, separated by spaces; NULL: none. Copied */
	const char *debug_cache;	/* directory of what they sent; unused without debug_urls */
	bool debug_later;	/* nothing waits for servers: names are given as they are now,
				 * and better ones follow. Servers that fail are asked again */
};

/* The opener, a worker that may open what processes have mapped. */
extern const struct worker_kind native_opener_kind;
/* Keeps the tables on disk. Only this worker has root's files, and it opens none of others. */
extern const struct worker_kind native_cache_kind;

/* Asks debuginfod servers for debug files. */
extern const struct worker_kind native_debug_kind;

/* Starts the helpers. Returns NULL with errno (logged). Maps must exist at the first poll. */
struct native *native_new(const struct native_args *args);
void native_free(struct native *n);

/* ---- processes ---- */

/*
 * Starts profiling a process. parent: the known process that forked it, whose mappings it has; 0:
 * its mappings are read. The table of a file that contains CPython (elf_facts.eval_start) is used
 * only after native_class() knows that file's functions. Returns 0 or -ENOMEM.
 */
int native_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent);
/* The process has ended, executes another program, or is no longer profiled. */
void native_end(struct native *n, pid_t tgid);
/*
 * A walk has ended where newer mappings may help (NO_MAPPINGS, NO_MAPPING), or the process has
 * mapped code: its mappings are read again soon, and less and less often if that changes nothing.
 */
void native_stale(struct native *n, pid_t tgid);

/*
 * This file will be executed: the tables of it and of its libraries are made. path: in our root,
 * absolute. For native_prepare(). Returns 0 or -ENOMEM.
 */
int native_expect(struct native *n, const char *path);

/* ---- the two sides of a poll ---- */

/* Returns a descriptor (epoll) that is readable when native_poll() has something to do. */
int native_fd(const struct native *n);
/*
 * Returns for how long samples may wait, at most limit_ns: less after a process has begun, because
 * only samples say that it has mapped more code.
 */
uint64_t native_wait_ns(const struct native *n, uint64_t now_ns, uint64_t limit_ns);
/*
 * Takes answers, writes tables and mappings, and sends requests, for at most about a millisecond.
 * Call it when the descriptor is readable, and at least about once a second.
 */
void native_poll(struct native *n);
/*
 * Polls until all requested names are known, for at most timeout_ms; less if nothing has come for
 * idle_ms, and who should find the names does not even wait for a CPU. For the end of a recording
 * or of a process.
 */
void native_settle(struct native *n, int idle_ms, int timeout_ms);
/* Returns the number of files whose debug file is to be waited for; 0 with debug_later. */
size_t native_debug_files(const struct native *n);
/* The same, for timeout_ms, until there are none, either. */
void native_settle_debug(struct native *n, int timeout_ms);
/* on: names that a debug file may improve are given as they are now, as with debug_later. */
void native_hurry(struct native *n, bool on);
/*
 * With debug_later: returns a number that changes when a debug file has come. What was known of
 * classes and names is outdated then, and requested anew.
 */
uint32_t native_renewed(const struct native *n);
/*
 * Polls until names can be requested of the addresses that were in no known file, or for at most
 * timeout_ms. For the end of a recording.
 */
void native_catch_up(struct native *n, int timeout_ms);
/*
 * Polls until the tables of all processes that have begun are ready, or for at most timeout_ms. For
 * the time before the first sample.
 */
void native_prepare(struct native *n, int timeout_ms);

/* ---- what addresses mean ---- */

/* The role of an interpreter's function in a stack that has Python frames. */
enum native_class {
	NATIVE_CODE = 0,	/* any other function */
	NATIVE_EVAL,		/* _PyEval_EvalFrameDefault: runs Python frames             */
	NATIVE_PLUMBING,	/* between a call in Python and its callee: PyObject_Call ... */
	NATIVE_START,		/* before the first Python frame: main(), clone() ...       */
	NATIVE_UNNAMED,		/* without a name, in a file without a symbol table, or a stub
				 * through which the file calls another one's function */
};
/*
 * Sets the class of an address, as in native_name(). Returns false if that is a guess, because the
 * functions of its file are not known yet.
 */
bool native_class(const struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		  enum native_class *class);
/*
 * Returns true if one of these frames is in code that the process has changed since it mapped the
 * file. Rows and names are those of the file, which may not be right there.
 */
bool native_changed(const struct native *n, pid_t tgid, const struct raw_native_frame *frames,
		    uint32_t cnt);

/* A frame of this file was seen: its table is kept, or is built again. Cheap. */
void native_used(struct native *n, uint32_t file);

/* One function at an address; with lines, inlined ones too. Strings live as long as the file. */
struct native_function {
	const char *name;	/* never NULL: "foo", or "libfoo.so.1+0x1234" with the start of
				 * the function (or of the unnamed code) */
	const char *source;	/* path; NULL: unknown */
	uint32_t line;		/* 0: unknown */
};
struct native_name {
	const char *library;	/* "libfoo.so.1": the last part of the file's path; "JIT" for JIT
				 * code, "[vdso]" for the vdso; without a file what is known
				 * of the address: "mapping not read yet" */
	uint32_t cnt;		/* functions, innermost first; more than 1 only with lines; 0:
				 * the library is all that is known */
	struct native_function functions[8];
};
/*
 * Looks up the name of an address in a file. file 0 and NATIVE_FILE_TRAMPOLINE: in a process, where
 * it may be JIT code (perf map), or of a file that was not known when the address was seen. Returns
 * 0 with *out, valid until the next native_poll(); -EAGAIN if it was requested, so ask again later
 * (*out has the library, and as the name "libfoo.so.1+0x1234" of the address itself, or one that a
 * debug file may improve); -ENOENT if there will be no better name than the one in *out.
 */
int native_name(struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		struct native_name *out);

/* Facts about a file, for formats that have mappings. Valid until native_free(). */
struct native_file {
	const char *path;	/* as the process sees it */
	const char *library;
	uint8_t build_id[20];
	uint32_t build_id_bytes;	/* 0: none, or unknown so far */
};
const struct native_file *native_file(const struct native *n, uint32_t file);

/* For the summary and session.json. */
struct native_counts {
	uint32_t files, tables, tables_failed, tables_evicted, tables_cached;
	uint64_t memory_bytes, build_us, names, names_unknown, names_mangled;
	uint64_t helper_restarts, stuck;
	uint32_t debug_asked, debug_found;	/* files that servers were asked for, and had */
	uint32_t debug_awaited;	/* files that they will be asked for, or are being asked for */
	const char *debug_failure;	/* why the last request failed; NULL: it did not. Static */
	uint32_t processes_cut;	/* processes with more than NATIVE_MAPPINGS mappings with code */
};
void native_counts(const struct native *n, struct native_counts *out);

#endif
