/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process.h - one profiled process: takes its records, and passes events to the observer.
 *
 * Owns the process' names, its symbolizer and the last stack of each thread. Does not know libbpf
 * or files.
 */
#ifndef TACHBPF_PROCESS_H
#define TACHBPF_PROCESS_H

#include "asyncio/tasks.h"
#include "bpf/abi.h"
#include "bpf/abi_await.h"
#include "bpf/abi_memory.h"
#include "bpf/abi_native.h"
#include "cpython/image.h"
#include "host/identity.h"
#include "host/proc.h"
#include "model/event.h"
#include "model/thread_names.h"
#include "resolve/losses.h"
#include "resolve/waits.h"

struct block_place;
struct block_words;
struct heap_census;
struct kallsyms;
struct native;
struct page_answer;
struct observer;
struct process;

/* What happened to the stacks of asyncio tasks, with --async. */
struct async_stats {
	uint64_t shown;		/* stacks with the awaiting tasks in place of the event loop */
	uint64_t several;	/* ... in which several tasks await the same task */
	uint64_t eager;		/* stacks left unchanged: the task runs inside its creator */
	uint64_t no_end;	/* stacks left unchanged: they have a gap or no root */
	uint64_t unfound;	/* stacks left unchanged: a coroutine runs, and no task was found */
	uint64_t ends[ASYNC_END_CNT];	/* stacks left unchanged, by how the awaiters' walk ended;
					 * that of ASYNC_WHOLE is 0 */
};

/* What happened to a process' samples. */
struct process_stats {
	uint64_t samples;	/* events that the observer took */
	uint64_t truncated;	/* stacks that lack their outermost frames */
	uint64_t shortened;	/* stacks that lack frames in their middle */
	uint64_t frames_left_out;	/* ... these frames */
	uint64_t unreadable;	/* stacks with an <unreadable frame> */
	uint64_t switching;	/* stacks with <switching> */
	uint64_t unresolved;	/* frames that are <unresolved> */
	uint64_t native;	/* native frames, all named <native> */
	uint64_t frames;	/* all frames */
	uint64_t native_frames;	/* native frames that have their own names: RAW_NATIVE */
	uint64_t native_unnamed;	/* ... without a name */
	uint64_t native_folded;	/* native frames without a name that were left out: their caller,
				 * in the same file, stands for them */
	uint64_t native_ends[NATIVE_END_CNT];	/* how native walks ended */
	uint64_t native_changed;	/* ... that were in code that the process has changed */
	uint64_t merge_uncertain;	/* ... that did not match their Python stack */
	struct async_stats async;	/* all 0 without --async */
	uint64_t native_thread;	/* samples with the frame <native thread NAME> */
	uint64_t no_frames;	/* samples with the frame <no Python frame> */
	uint64_t code_cnt;	/* code objects with names */
	uint64_t code_without_lines;	/* code objects with names, but no line table */
	uint64_t code_repeated;	/* records of code objects that already had names */
	uint64_t allocs, alloc_bytes;	/* MEMORY_ALLOC events, and their bytes */
	uint64_t held_bytes;	/* of these, bytes not freed */
	uint64_t alloc_unwalked;	/* RAW_ALLOCs without a stack: the budget was used up */
	uint64_t stacks_not_kept;	/* ... whose stack is "<stacks not kept>" */
	uint64_t process_reads;	/* code objects read from the process instead of the ring buffer */
	uint64_t lost[LOSS_CNT];	/* by enum loss_cause. LOSS_WRITE: events that the observer
					 * could not take; LOSS_MEMORY: records for which there was
					 * no memory */
	uint64_t task_waits;	/* samples of waiting asyncio tasks */
	uint32_t threads;
	bool jit;		/* some lines are those of a JIT's traces: jit_watch.h */
	struct wait_stats waits;
};

struct process_args {
	pid_t tgid;
	uint64_t start_ns;	/* start_boottime of the process; 0: not known */
	uint64_t program;	/* what it executes (proc_stat.program); 0: not known */
	pid_t forked_by;	/* the profiled process that forked it; 0: it executed its program,
				 * or was found */
	const char *comm;	/* copied */
	const char *command;	/* copied (shared_text.h); NULL: read it from /proc */
	const struct cpython_image *image;	/* outlives the process, or: */
	/* Called when the process begins and when it is freed; NULL: the image outlives it. */
	void (*image_hold)(const struct cpython_image *image);
	void (*image_release)(const struct cpython_image *image);
	/* Reads an address from the image's file; NULL: it cannot be read. 0 or -errno. */
	int (*image_mem)(const struct cpython_image *image, pid_t about, uint64_t vaddr, void *buf,
			 size_t len);
	struct py_proc py;	/* its entry in py_procs, for forks; runtime 0: unknown */
	/* Reads its current entry in py_procs, if py.runtime is 0; may be NULL. 0 or -errno. */
	int (*entry)(void *ctx, pid_t tgid, struct py_proc *out);
	void *entry_ctx;
	bool share_names;	/* process_tables() may be those of other processes, too */
	bool opcodes;		/* frames get the opcode of their instruction */
	struct identity identity;
	struct observer *observer;	/* receives the events; outlives the process */
	enum profile_unit unit;	/* what an event's weight counts */
	struct wait_rules waits;	/* interval_ns 0: the mode has no waits */
	bool wait_frames, runnable_frames;	/* see record_mode.h */
	const struct kallsyms *kernel;	/* names of the kernel's functions; NULL: not known */
	struct native *native;	/* names of machine code; NULL: there is no RAW_NATIVE */
	bool memory;		/* --mode mem: there are RAW_ALLOCs */
	bool executed_here;	/* its program started during the capture, so its interpreters'
				 * counters started at 0 */
	bool async;		/* --async: stacks of coroutines without a task are counted */
	bool task_names;	/* --task-names: tasks named by the program have a frame */
	bool native_full;	/* also show the interpreter's functions and those before it */
};

/* Returns NULL with errno. Does not call the observer. */
struct process *process_new(const struct process_args *args);
/*
 * Ends the process: no more records will come. Frees what they needed, and the rest as soon as
 * nobody holds the process.
 */
void process_free(struct process *p);

/*
 * For an observer that needs a process after its end(): its tables, names, identity, image and
 * statistics stay unchanged until each process_hold() has been matched by a process_release(). The
 * image and the containers must live as long. What it holds is not charged to its user's budget
 * (budget.h); the observer has its own limits.
 */
void process_hold(struct process *p);
void process_release(struct process *p);
/* Returns about how many bytes a process takes after process_free() while it is held. */
size_t process_held_bytes(const struct process *p);

/* Returns the number of samples in an event: its weight, or 1 if weights count another unit. */
uint64_t process_samples_in(const struct process *p, const struct event *ev);

/* Data that the observer attaches to the process. process_free() does not free it. */
void process_set_observed(struct process *p, void *observed);
void *process_observed(const struct process *p);

/*
 * Takes a record of the BPF side, of len bytes: a sample, a tick without a Python stack, or data
 * that belongs to the next one; a thread's switch-out, switch-in, exit or name; a code object;
 * records of --mode mem. Events go to the observer; the time between switch-out and switch-in is
 * passed on at the switch-in.
 *
 * 0; -EBADMSG; or the observer's -errno: then the event counts as lost (LOSS_WRITE). A record for
 * which there is no memory counts as lost (LOSS_MEMORY), which is not an error.
 */
int process_take(struct process *p, const void *record, size_t len);

/*
 * Lists pages that must be asked about (page_check.h): those without an answer, or, with all, the
 * next ones from *pos on. Arguments and result as page_book_ask(); 0 if there are none.
 */
size_t process_pages_ask(const struct process *p, bool all, uint64_t *pos, uint64_t *addrs,
			 size_t max);
/*
 * Lists pages whose contents must be asked about: those that were touched just now, or, again, the
 * next ones that were looked at before. As page_book_ask_soon() and page_book_ask_again().
 */
size_t process_contents_ask(const struct process *p, bool again, uint64_t now_ns, uint64_t *addrs,
			    size_t max);
/* Returns true if it has memory to check, or if there were faults since the last full check. */
bool process_pages_due(const struct process *p);
/*
 * Takes an answer. The first full one says what the process had before the capture: it should be
 * requested at its start. With PAGES_LAST, the last answer of a full check, the observer gets a
 * MEMORY_CHECK. PAGES_SOON, PAGES_AGAIN: of process_contents_ask().
 */
enum pages_tag { PAGES_NEW, PAGES_ALL, PAGES_LAST, PAGES_SOON, PAGES_AGAIN };
int process_pages_take(struct process *p, const struct page_answer *answer);
/*
 * No more answers will come: passes on pages that have no answer yet, and what has become of what
 * stacks hold (MEMORY_FATE).
 */
int process_pages_end(struct process *p);
/* Progress of the page checks; zero when the process begins. NULL: without --mode mem. */
struct pages_round {
	bool begun;		/* the first question was asked */
	bool going;		/* a full check is running; pos is the next page's */
	bool touched;		/* there were faults since this was cleared */
	uint8_t idle;		/* consecutive checks without faults before them */
	uint32_t looks;		/* questions about contents that are left in this check */
	uint32_t look_pos;	/* ... and the next page's */
	uint64_t pos;
	uint64_t next_ns;	/* when the next check begins (CLOCK_MONOTONIC) */
};
struct pages_round *process_pages_round(struct process *p);
/* When its objects are counted; zero when the process begins. NULL: without --mode mem. */
struct census_round {
	uint64_t first_ns;	/* of the first attempt (CLOCK_MONOTONIC); 0: none so far */
	uint64_t next_ns;	/* when the next one begins */
	uint8_t failed;		/* consecutive attempts without a result */
};
struct census_round *process_census_round(struct process *p);
/* Passes a census of its objects on to the observer (MEMORY_CENSUS). */
int process_census_take(struct process *p, const struct heap_census *census);

/*
 * Blocks of the process are recorded in bursts. One begins, in which each block stands for `weight`
 * blocks, and the process has this share of its usual speed; it has ended, and all its records were
 * taken. 0 or -errno.
 */
int process_burst_begin(struct process *p, uint64_t time_ns, double weight, double speed);
int process_burst_end(struct process *p, uint64_t time_ns);
/*
 * Lists blocks that must be looked at (block_look.h) between bursts, from *pos on, which is 0 at
 * first: at most max, at least BLOCK_LOOKS_MAX, of them. Returns how many; *pos is UINT64_MAX after
 * the last one.
 */
size_t process_blocks_ask(struct process *p, uint64_t *pos, struct block_place *places, size_t max);
/*
 * Takes what was read for these places; no record came since they were asked for. gone: room for
 * cnt of them; true: this one was freed, and its free will not be waited for. 0 or the observer's
 * -errno.
 */
int process_blocks_take(struct process *p, uint64_t now_ns, const struct block_place *places,
			const struct block_words *words, size_t cnt, bool *gone);

/*
 * Emits events for the time that threads have waited until now_ns (CLOCK_MONOTONIC). Errors as
 * process_take().
 */
int process_emit_open_waits(struct process *p, uint64_t now_ns);

/*
 * Returns the names of threads whose name differs from the process' comm; NULL: there are none.
 * Valid until process_free(), or longer with thread_names_keep().
 */
const struct thread_names *process_thread_names(const struct process *p);

/*
 * Reads the names of frames that are <unresolved> because there was no time for them, and takes
 * native names that native_poll() has brought. To be called once a second, and before the process
 * ends.
 */
void process_retry_names(struct process *p);
/* Checks for a JIT's code (jit_watch.h). To be called once a second while the process is alive. */
void process_watch_jit(struct process *p);
/*
 * Returns true if names are pending or its code must be checked, so that process_retry_names() and
 * process_watch_jit() may have work even if no more records come.
 */
bool process_has_rest(const struct process *p);
/* Returns true if frames in process_tables() may still get names. */
bool process_frames_wait(const struct process *p);
/* Returns true if native_settle() and process_retry_names() will bring more names. */
bool process_waits_for_names(const struct process *p);

pid_t process_tgid(const struct process *p);
/* start_boottime, ns; 0: not known. */
uint64_t process_start_ns(const struct process *p);
/* See struct process_args. */
uint64_t process_program(const struct process *p);
pid_t process_forked_by(const struct process *p);
/* Returns the tables of names and frames that ids in events refer to. */
const struct profile_tables *process_tables(const struct process *p);
/* Sets start_boottime, if it was not known. */
void process_set_start(struct process *p, uint64_t start_ns);
const char *process_comm(const struct process *p);
/*
 * Says the kernel's name of a thread whose event follows: otherwise a new thread's name is read
 * from /proc, which takes 25 us. comm: NUL-terminated, COMM_BYTES, any bytes.
 */
void process_say_comm(struct process *p, uint32_t tid, const char *comm);
/* Returns the command line; NULL: it is in /proc. */
const char *process_command(const struct process *p);
const struct identity *process_identity(const struct process *p);
const struct cpython_image *process_image(const struct process *p);
const struct py_proc *process_py(const struct process *p);
/*
 * Returns the id of the pseudo-thread that has the events of waiting tasks of a loop's thread tid.
 * No kernel task has such a high id (PID_MAX_LIMIT is 2^22).
 */
static inline uint32_t process_tasks_tid(uint32_t tid)
{
	return tid | 1u << 30;
}

/*
 * Takes the time of a waiting asyncio task: an event of the thread process_tasks_tid(). frames: its
 * chain, innermost first; cut: more tasks await it, which gets a frame. waits: enum waits_for_kind
 * of what it waits for, which gets a frame with its name, valid UTF-8; "": nameless. weight: in the
 * profile's unit; with 0 nothing happens. Errors as process_take().
 */
int process_waiting_task(struct process *p, uint32_t tid, uint64_t interp_id,
			 const struct raw_frame *frames, uint32_t cnt, bool cut,
			 uint8_t waits, const char *name, uint64_t time_ns, uint64_t weight);

/* Returns the address of the pointer to its first interpreter; 0: unknown. */
uint64_t process_interps(const struct process *p);
/* Returns true if its C library is musl, false if it is glibc. */
bool process_has_musl(const struct process *p);
/*
 * Sets *id to the id in process_tables() of a Python frame that was read from outside, as for one
 * in a sample. 0 or -ENOMEM.
 */
int process_python_frame(struct process *p, const struct raw_frame *raw, uint32_t *id);
/* Sets where its threads publish their context, for its entry in py_procs and its forks'. */
void process_set_trace(struct process *p, const struct thread_ctx_place *place);
/* Fills *out with the statistics so far. */
void process_stats(const struct process *p, struct process_stats *out);
/* Counts samples that the process lost. tid: the thread; 0: unknown. */
void process_add_lost(struct process *p, uint32_t tid, enum loss_cause cause, uint64_t cnt);
/* Returns the losses of its threads so far; NULL: none. Valid until process_free(). */
const struct losses_of_threads *process_thread_losses(const struct process *p);

#endif
