/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - the one header that both the BPF side and user space include.
 *
 * Owns the layout of every map value and ring-buffer record. Only fixed-width
 * PODs with explicit padding live here; it knows no CPython version and no
 * kernel type. User space fills struct py_proc from what user/cpython learned;
 * the BPF side reads it and emits struct raw_* records.
 */
#ifndef TACHBPF_ABI_H
#define TACHBPF_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
typedef __u8 abi_u8;
typedef __u16 abi_u16;
typedef __u32 abi_u32;
typedef __u64 abi_u64;
typedef __s32 abi_s32;
typedef __s64 abi_s64;
#else
#include <stdint.h>
typedef uint8_t abi_u8;
typedef uint16_t abi_u16;
typedef uint32_t abi_u32;
typedef uint64_t abi_u64;
typedef int32_t abi_s32;
typedef int64_t abi_s64;
#endif

#include "frame_kind.h"

/* TACH holds at most 256 frames a stack (CPython's reader rejects 257). */
#define ABI_MAX_FRAMES 256
/* The part of PyThreadState that is read in one go; every ts_* offset lies inside. */
#define ABI_TS_BYTES 384
/* An offset that this CPython does not have. */
#define ABI_NO_OFF 0xffff
#define ABI_NO_OFF32 0xffffffffu

/* How the kernel tells that a thread holds the GIL. */
enum py_gil_how {
	PY_GIL_NONE = 0,	/* free-threaded, or not known */
	PY_GIL_RT_CURRENT = 1,	/* *current == tstate                        (to 3.11) */
	PY_GIL_TS_MASK = 2,	/* *(u32 *)(tstate + ts_gil) & ts_gil_mask       (3.12+) */
};

/* How the kernel gets from a thread to its PyThreadState. */
enum py_tstate_how {
	PY_TSTATE_TSS_GLIBC = 1,	/* pthread_getspecific(key), glibc's struct pthread */
	PY_TSTATE_TLS_TP = 2,		/* *(thread pointer + tls_off): static executable    */
	PY_TSTATE_TLS_DTV = 3,		/* *(dtv[module] + offset): shared libpython         */
	PY_TSTATE_TSS_MUSL = 5,		/* pthread_getspecific(key), musl's                     */
	PY_TSTATE_LIST = 4,		/* walk the interpreters' thread lists, bounded      */
	PY_TSTATE_TLS_DTV_MUSL = 7,	/* likewise, musl's dtv                              */
	PY_TSTATE_TLS_DESC = 6,		/* a TLS descriptor says: shared libpython, arm64    */
};

/* Offsets in bytes, as user/cpython knows them. u16 unless CPython needs more. */
struct py_layout {
	/* PyThreadState; all below ABI_TS_BYTES - 8 */
	abi_u16 ts_next;
	abi_u16 ts_interp;
	abi_u16 ts_frame;	/* current_frame, or the _PyCFrame pointer           */
	abi_u16 cframe_frame;	/* _PyCFrame.current_frame, before .previous; ABI_NO_OFF from 3.13 */
	abi_u16 ts_thread_id;
	abi_u16 ts_status;	/* its bits; TS_BOUND_GILSTATE; ABI_NO_OFF up to 3.11 */
	abi_u16 ts_cframe;	/* -> the _PyCFrame on the C stack; for PY_GIL_RT_CURRENT (3.10, 3.11) */
	abi_u16 ts_gil;
	abi_u16 ts_exc_current;	/* the exception that is propagating                 */
	abi_u16 ts_exc_info;	/* -> _PyErr_StackItem; ABI_NO_OFF: there is one only (3.6) */
	abi_u16 ts_datastack;	/* datastack_chunk: where the current chunk of frames begins;
				 * ABI_NO_OFF: each frame is an object of its own    */
	abi_u16 ts_exc_state;	/* the embedded bottom _PyErr_StackItem              */
	abi_u16 exc_value;	/* _PyErr_StackItem.exc_value; up to 3.10 exc_type      */
	abi_u16 exc_previous;	/* _PyErr_StackItem.previous_item                    */
	/* _PyInterpreterFrame, or up to 3.10 PyFrameObject; counted from fr_base */
	abi_u16 fr_base;
	abi_u16 fr_code;
	abi_u16 fr_previous;
	abi_u16 fr_ip;		/* an address; if lasti_unit an int: that many bytes each   */
	abi_u16 fr_owner;	/* one byte; ABI_NO_OFF up to 3.10                   */
	abi_u16 fr_is_entry;	/* one byte: C called the interpreter with it (3.11)  */
	abi_u16 fr_tlbc_index;	/* int: which of co_tlbc; ABI_NO_OFF: there is none  */
	abi_u16 fr_bytes;	/* how much of a frame holds all of the above        */
	/* PyCodeObject */
	abi_u16 co_firstlineno;	/* int */
	abi_u16 co_version;	/* u32; ABI_NO_OFF in 3.11                           */
	abi_u16 co_filename;
	abi_u16 co_name;
	abi_u16 co_qualname;
	abi_u16 co_linetable;
	abi_u16 co_code;	/* co_code_adaptive                                  */
	abi_u16 co_tlbc;	/* _PyCodeArray of the threads' own bytecode         */
	/* PyBytesObject, the line table */
	abi_u16 bytes_size;	/* ob_size */
	abi_u16 bytes_data;	/* ob_sval */
	/* PyASCIIObject: names */
	abi_u16 str_length;
	abi_u16 str_data;	/* of a compact ASCII str; at most 40 bytes behind str_length */
	/* PyInterpreterState */
	abi_u32 is_id;
	abi_u32 is_next;
	abi_u32 is_threads_head;
	abi_u32 is_threads_main; /* the state that runs the main thread (3.14+)         */
	abi_u32 is_gc_collecting; /* ABI_NO_OFF32: see py_proc.collecting             */
	abi_u32 is_gc_frame;	/* the frame that was current when collection began (3.15) */
	abi_u32 is_epoch;	/* a counter that moves whenever a code object can have
				 * been replaced; ABI_NO_OFF32: there is none        */
	abi_u32 ts_gil_mask;
	abi_u8 gil_how;		/* enum py_gil_how */
	abi_u8 skip_owner;	/* frames with owner >= this are C-stack shims; 0xff none */
	abi_u8 end_shim;	/* 1: an intact chain ends at a shim (3.12+)         */
	abi_u8 code_tag_mask;	/* low bits of fr_code that are a StackRef tag        */
	abi_u8 gc_by_frame;	/* 1: others run while one thread collects; is_gc_frame tells which */
	abi_u8 lasti_unit;	/* bytes of one step of fr_ip; 0: fr_ip is an address  */
	abi_u8 tss_flag;	/* 1: the int before the key says whether it is valid   */
	abi_u8 foreign_ids;	/* 1: a state's thread_id may be that of its creator (up to 3.12) */
	abi_u16 ts_bytes;	/* how much of a PyThreadState holds all of the above */
	/* Waiting for the GIL; 0: this CPython does not have it, or we do not know where */
	abi_u16 ts_gil_requested; /* int, 0 or 1: it does, mostly (3.15)               */
	abi_u32 is_gil;		/* PyInterpreterState: pointer to the GIL (3.12+); 0: see py_proc.gil */
	abi_u16 gil_cond;	/* in the GIL: where its locks begin                   */
	abi_u16 gil_locks;	/* so many bytes of them; 0: not known                */
};
_Static_assert(sizeof(struct py_layout) == 120, "py_layout has no hidden padding");

/* PyThreadState._status: this is the state that its thread runs, attached or not (3.12+). */
#define TS_BOUND_GILSTATE (1u << 3)

enum py_proc_state {
	PY_PROC_PYTHON = 1,	/* walk its threads                                  */
	PY_PROC_OTHER = 2,	/* looked at; not Python as far as we know           */
	PY_PROC_ARRIVING = 3,	/* its executable is known (struct py_exe); to be settled */
	PY_PROC_UNSEEN = 4,	/* nobody has looked, for it is not selected             */
};

/* py_proc.unselected: why a process is not to be looked at. 0: it is selected. */
enum {
	UNSELECTED_CGROUP = 1,
	UNSELECTED_UID = 2,	/* of py_proc.euid: told anew when that changes       */
	UNSELECTED_NAME = 4,	/* its comm or executable                            */
	UNSELECTED_PID = 8,
	UNDECIDED = 128,	/* only user space can tell                          */
};
#define UNSELECTED_FOR_SURE (UNDECIDED - 1)

/* py_proc.none: from 3.13 on no None stands where it could be taken for an exception. */
#define PY_NONE_NOWHERE 0xffffffffffffffffULL

/* Map py_procs: tgid -> this. Inserted by user space and by fork. */
struct py_proc {
	abi_u64 start_ns;	/* group leader's start_boottime; 0: the kernel fills it in */
	abi_u64 ident;		/* unique per admission; never 0; odd: the kernel's  */
	/* Addresses in the target; 0: there is none. py_proc_relocate() lists them. */
	abi_u64 runtime;	/* &_PyRuntime, 3.6: &interp_head                    */
	abi_u64 tss;		/* the int that is the pthread key                   */
	abi_u64 interps;	/* the pointer to the first interpreter              */
	abi_u64 current;	/* PY_GIL_RT_CURRENT: the state that holds the GIL    */
	abi_u64 main_id;	/* the main thread's pthread_t (3.8+), if no interpreter tells */
	abi_u64 collecting;	/* an int: a collection is under way (to 3.8)         */
	abi_u64 gil;		/* the GIL that all interpreters share (3.7 to 3.11), 3.6: its locks */
	abi_u64 none;		/* &_Py_NoneStruct in the target                     */
	abi_u64 epoch;		/* address of a counter like is_epoch that all
				 * interpreters share (3.12); 0: none                */
	abi_u64 main_interp;	/* the interpreter with id 0; the kernel fills it in */
	abi_u64 main_thread;	/* the main thread's state or pthread_t, last it was read */
	abi_u64 tls_index;	/* TLS_DTV: address of the tls_index in the GOT;
				 * TLS_DESC: of the descriptor there                 */
	abi_s64 tls_off;	/* TLS_TP: from the thread pointer; else: added to the offset */
	abi_u64 ticks;		/* samples seen here; racy by design                 */
	abi_u64 exe;		/* ARRIVING: exe_key() of what it executes           */
	abi_u64 exe_bias;	/* ARRIVING: where that was loaded, less where it says */
	abi_u64 exec_pages;	/* mapped as code when user space last looked; 0: not known */
	abi_s32 tss_key;	/* -1: not read yet                                  */
	abi_u32 codes_sent;	/* in second codes_second; racy by design            */
	abi_u32 codes_second;
	abi_u8 state;		/* enum py_proc_state */
	abi_u8 tstate_how;	/* enum py_tstate_how */
	abi_u8 strange;		/* ARRIVING: ticks at which it was not what was expected */
	abi_u8 names_sent;	/* of threads, in second names_second (mod 256); likewise */
	abi_u16 self_below;	/* pthread_self() is this much below the thread pointer; x86: 0 */
	abi_u8 unselected;	/* UNSELECTED_*                                      */
	abi_u8 names_second;
	abi_u32 euid;		/* when the uid was last judged; EUID_NEVER          */
	struct py_layout l;
};
_Static_assert(sizeof(struct py_proc) == 296, "py_proc has no hidden padding");

#define EUID_NEVER 0xffffffffu

/*
 * The conditions of a recording as the kernel judges them. Map marks has the values:
 * mark_of_*() -> MARK_*. What user space has not judged yet is not in it.
 */
enum {
	MARK_EXCLUDED = 1,
	MARK_INCLUDED = 2,	/* a uid, a comm; of cgroups these say by which condition: */
	MARK_CONTAINER = 4,
	MARK_POD = 8,
	MARK_PATH = 16,
	MARK_UNIT = 32,
};
struct select_config {
	abi_u64 min_age_ns;	/* younger processes are let be                      */
	abi_u32 cgroup_kinds;	/* MARK_CONTAINER ...: each must be met on the way to the root */
	abi_u8 any;		/* there are conditions                              */
	abi_u8 cgroups;		/* some on cgroups                                   */
	abi_u8 cgroup_excludes;
	abi_u8 cgroup_ask;	/* what a cgroup without a mark is, user space must say */
	abi_u8 uids;		/* some on uids                                      */
	abi_u8 uid_needed;	/* only those with a mark are selected               */
	abi_u8 comms;
	abi_u8 exes;		/* user space must be asked at each exec             */
	abi_u8 children;	/* what is so for a pid is so for its forks          */
	abi_u8 pad[3];
};
_Static_assert(sizeof(struct select_config) == 24, "select_config has no hidden padding");

/* Keys of the map marks. A cgroup by its hierarchy (0: v2) and its directory's inode. */
static inline abi_u64 mark_of_cgroup(abi_u32 hierarchy, abi_u64 id)
{
	return (abi_u64)(hierarchy & 0x7fff) << 48 | (id & 0xffffffffffffULL);
}

static inline abi_u64 mark_of_uid(abi_u32 uid)
{
	return 0xffffULL << 48 | uid;
}

#define COMM_BYTES 16
static inline abi_u64 mark_of_comm(const abi_u8 comm[COMM_BYTES])
{
	abi_u64 h = 0;
	int i;

	/* What is behind the end is not always zeroed. */
	for (i = 0; i < COMM_BYTES && comm[i]; i++)
		h = (h ^ comm[i]) * 0x100000001b3ULL + 0x9e3779b97f4a7c15ULL;
	return 0xfffeULL << 48 | (h ^ h >> 23) >> 16;
}

/*
 * From addresses as a file has them to a process' own. In place or from a template;
 * doing it twice at the same time writes the same.
 */
static inline void py_proc_relocate(struct py_proc *p, const struct py_proc *file, abi_u64 bias)
{
	p->runtime = file->runtime + bias;
	p->tss = file->tss ? file->tss + bias : 0;
	p->interps = file->interps ? file->interps + bias : 0;
	p->current = file->current ? file->current + bias : 0;
	p->main_id = file->main_id ? file->main_id + bias : 0;
	p->collecting = file->collecting ? file->collecting + bias : 0;
	p->gil = file->gil ? file->gil + bias : 0;
	p->none = file->none && file->none != PY_NONE_NOWHERE ? file->none + bias : file->none;
	p->epoch = file->epoch ? file->epoch + bias : 0;
	p->tls_index = file->tls_index ? file->tls_index + bias : 0;
}

/* Map watched. */
enum watch {
	WATCH_CHILDREN = 1,	/* and what it forks */
	WATCH_ALONE = 2,
};

/*
 * Map known_exes: exe_key() -> this. What user space learned of an executable, so
 * that a new process of it can be walked from its first sample. The interpreter is
 * in the executable itself, or in a library whose place the dynamic linker leaves in
 * the executable: in the slot of a function that is imported from there.
 */
#define EXE_ID_WORDS 2
struct py_exe {
	abi_u64 phdr;		/* AT_PHDR is this plus the executable's load bias    */
	abi_u64 slot;		/* in the executable; 0: no library                  */
	abi_u64 symbol;		/* the function in the library                       */
	abi_u64 id_at;		/* bytes in the library that tell it from others ... */
	abi_u64 id[EXE_ID_WORDS];	/* ... and what they are                     */
	struct py_proc proc;	/* addresses as in the file: py_proc_relocate();
				 * state PY_PROC_OTHER: until the kernel is done with it */
};
_Static_assert(sizeof(struct py_exe) == 48 + sizeof(struct py_proc), "py_exe is packed");

/*
 * What the kernel and stat(2) say alike of an executable, in whatever mount it is:
 * inode number, size, and the beginning, as the kernel has it at hand when it
 * executes a file (BINPRM_BUF_SIZE). No device: each container has its own. Never 0.
 */
#define EXE_HEAD 256
static inline abi_u64 exe_key(abi_u64 ino, abi_u64 size, const abi_u64 *head)
{
	abi_u64 h = ino * 0x9e3779b97f4a7c15ULL ^ size;
	int i;

	for (i = 0; i < EXE_HEAD / 8; i++)
		h = (h ^ h >> 29 ^ head[i]) * 0xbf58476d1ce4e5b9ULL;
	return h | 1;
}

/* TACH's status byte (seeds: "Status Byte"; 32 is release-only). */
enum {
	STATUS_HAS_GIL = 1,
	STATUS_ON_CPU = 2,
	STATUS_UNKNOWN = 4,
	STATUS_GIL_REQUESTED = 8,
	STATUS_HAS_EXCEPTION = 16,
	STATUS_MAIN_THREAD = 32,
};

enum raw_kind {
	RAW_SAMPLE = 1,
	RAW_UNKNOWN = 2,	/* a tick in a process nobody has looked at          */
	RAW_EXEC = 3,
	RAW_FORK = 4,
	RAW_EXIT = 5,
	RAW_CODE = 6,		/* a code object seen for the first time             */
	RAW_CHANGED = 7,	/* a process without a Python stack has mapped code since */
	RAW_CGROUP = 8,		/* a cgroup was made                                 */
	RAW_WAIT = 9,		/* struct raw_sample: a thread leaves its CPU with this stack */
	RAW_RUN = 10,		/* it has one again                                  */
	RAW_THREAD_EXIT = 11,	/* struct raw_run: it will never have one again        */
	RAW_RENAME = 12,	/* a thread has another name                         */
	RAW_EXTRA = 13,		/* what else there is to tell of the stack that comes next */
};

/* RAW_WAIT: why did it leave? */
enum raw_why {
	WHY_RUNNABLE = 1,	/* it did not want to: another thread has the CPU       */
	WHY_BLOCKED = 2,
};
#define RAW_SYSNO_NONE 0xffff	/* it was not in a system call: it touched memory that is not there */

/* How many code objects are remembered as sent, unless user space says otherwise. */
#define SENT_SLOTS 65536

/* Every record of the ring buffer starts like this. */
struct raw_header {
	abi_u8 kind;		/* enum raw_kind */
	abi_u8 why;		/* RAW_WAIT: enum raw_why */
	abi_u16 sysno;		/* RAW_WAIT: the system call it is in; RAW_SYSNO_NONE */
	abi_u32 tgid;
	abi_u64 time_ns;	/* CLOCK_MONOTONIC */
	abi_u64 start_ns;	/* group leader's start_boottime: the process' identity */
};

/* RAW_UNKNOWN, RAW_CHANGED */
struct raw_tick {
	struct raw_header h;
	abi_u64 exec_pages;	/* of the process, at this tick */
};

enum raw_sample_flags {
	RAW_TRUNCATED = 1,	/* the chain went on: deeper than we walk            */
	RAW_UNREADABLE = 2,	/* a frame could not be read; what is here is whole  */
	RAW_GC = 4,		/* the thread is collecting garbage                  */
	RAW_BROKEN_END = 8,	/* the chain ended where an intact one does not      */
	RAW_NOT_LOOKED = 16,	/* RAW_WAIT: no time to look at the stack, or no luck   */
	RAW_WEIGHED = 32,	/* RAW_SAMPLE: behind the frames is its weight; else that is 1 */
};

/*
 * A frame: which code, where in it, and the proof that it is still that code. Its kind is in
 * the upper bits of lasti: no code object has 256 MiB of bytecode, while an address of the
 * kernel uses all of its bits. The kind of Python's frames is 0, so the walk need not write it.
 */
struct raw_frame {
	abi_u64 code;		/* address of the PyCodeObject; other kinds: of the instruction */
	abi_u32 lasti;		/* byte offset into the bytecode; RAW_LASTI_NONE; above: the kind */
	abi_u32 id;		/* code_identity(); 0: could not be read; of other kinds: 0 */
};
#define RAW_KIND_SHIFT 28
#define RAW_LASTI_NONE ((1u << RAW_KIND_SHIFT) - 1)

/* enum frame_kind, or a number that is none. */
static inline abi_u32 raw_frame_kind(const struct raw_frame *f)
{
	return f->lasti >> RAW_KIND_SHIFT;
}

/*
 * In place of a fingerprint, which is odd: CPython's own _Py_InitCleanup (3.13+,
 * v3.13.0 Python/specialize.c), the frame under a specialised call of __init__. No
 * traceback shows it; such a frame is left out of the stack.
 */
#define CODE_ID_HIDDEN 2

struct raw_head {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 nframes;
	abi_u8 status;		/* STATUS_* */
	abi_u8 flags;		/* enum raw_sample_flags */
	abi_u16 cpu;
	abi_u16 gc_at;		/* RAW_GC: <GC> belongs before this frame             */
};

/* struct raw_head and, of the same names and places, */
struct raw_sample {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 nframes;
	abi_u8 status;
	abi_u8 flags;
	abi_u16 cpu;
	abi_u16 gc_at;
	struct raw_frame frames[ABI_MAX_FRAMES];	/* innermost first; nframes sent */
	abi_u64 weight_room;	/* RAW_WEIGHED: the weight follows the last frame that is sent */
};
_Static_assert(sizeof(struct raw_header) == 24, "raw_header has no hidden padding");
_Static_assert(sizeof(struct raw_frame) == 16, "raw_frame has no hidden padding");
_Static_assert(sizeof(struct raw_head) == 40, "raw_head has no hidden padding");
_Static_assert(sizeof(struct raw_sample) == 40 + 16 * ABI_MAX_FRAMES + 8, "raw_sample is packed");

/* The bytes of a RAW_SAMPLE or a RAW_WAIT as it is sent. */
static inline abi_u64 raw_sample_bytes(abi_u16 nframes, abi_u8 flags)
{
	return sizeof(struct raw_head) + nframes * sizeof(struct raw_frame) +
	       (flags & RAW_WEIGHED ? sizeof(abi_u64) : 0);
}

/*
 * What a whole RAW_SAMPLE stands for, in the unit of the mode: one tick, or so many bytes of
 * memory. (For how long a RAW_WAIT was, user space knows when the thread is back.)
 */
static inline abi_u64 raw_sample_weight(const struct raw_sample *raw)
{
	return raw->flags & RAW_WEIGHED ? *(const abi_u64 *)(raw->frames + raw->nframes) : 1;
}

/*
 * Just before the RAW_SAMPLE or RAW_WAIT with the same time, on the same CPU, if there is
 * anything: the type of the exception and what the thread does in the kernel.
 */
#define RAW_EXCEPTION 64
#define RAW_KERNEL_FRAMES 40	/* some of them the tracing's own */
struct raw_extra {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u32 nkernel;
	abi_u32 pad;
	char exception[RAW_EXCEPTION];	/* tp_name, terminated, hostile; "": none       */
	abi_u64 kernel[RAW_KERNEL_FRAMES];	/* innermost first; nkernel sent        */
};
_Static_assert(sizeof(struct raw_extra) == 40 + RAW_EXCEPTION + 8 * RAW_KERNEL_FRAMES,
	       "raw_extra has no hidden padding");

/* RAW_RUN, RAW_THREAD_EXIT */
struct raw_run {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 untold;		/* 1: the RAW_WAIT was lost                            */
	abi_u64 out_ns;		/* when it left its CPU; 0: not known                  */
	abi_u64 wake_ns;	/* since when it could have run; 0: not known          */
};
_Static_assert(sizeof(struct raw_run) == 48, "raw_run has no hidden padding");

/* What the task iterator tells of each thread of a Python process. */
struct raw_asleep {
	abi_u64 time_ns;
	abi_u64 start_ns;	/* the process' */
	abi_u64 thread_pointer;
	abi_u64 switches;	/* how often it left a CPU */
	abi_u64 sp, args[2];	/* of its system call */
	abi_u32 tgid, tid;
	abi_u16 sysno;		/* RAW_SYSNO_NONE */
	abi_u8 why;		/* enum raw_why; 0: it is on a CPU */
	abi_u8 told;		/* 1: user space was told when it left */
	abi_u32 nr_threads;
};
_Static_assert(sizeof(struct raw_asleep) == 72, "raw_asleep has no hidden padding");

/*
 * Threads that are off their CPUs, by tid, one slot for many: the last one wins. A power of
 * two of them. Written by scheduler programs without a lock: see mode_wait.bpf.c.
 */
#define WAIT_SLOTS 32768
struct wait_slot {
	abi_u32 tid;		/* 0: nobody's                                       */
	abi_u32 untold;		/* 1: that it left could not be told                   */
	abi_u64 out_ns;		/* when it left; 0: user space need not know that it is back */
	abi_u64 wake_ns;	/* 0: it sleeps                                      */
};

/*
 * What there is to know of a code object, as bytes: a snapshot of four pieces of
 * the process' memory, which user space reads as if it were the process. So a
 * name outlives its process, and the kernel needs to know no string layout.
 */
#define RAW_CODE_HEAD 256	/* PyCodeObject from its start            */
#define RAW_CODE_NAME 384	/* the qualified name's object            */
#define RAW_CODE_FILE 512	/* the file name's object                 */
#define RAW_CODE_TABLE 24576	/* the line table's object; modules' are longest */
#define RAW_CODE_TABLE_MIN 512
struct raw_piece {
	abi_u64 addr;
	abi_u32 len;		/* 0: could not be read */
	abi_u32 pad;
};
struct raw_code {
	struct raw_header h;
	abi_u64 code;
	abi_u32 id;
	abi_u32 pad;
	struct raw_piece head_at, name_at, file_at, table_at;
	abi_u8 head[RAW_CODE_HEAD];
	abi_u8 name[RAW_CODE_NAME];
	abi_u8 file[RAW_CODE_FILE];
	abi_u8 table[RAW_CODE_TABLE];	/* table_at.len bytes are sent */
};
_Static_assert(sizeof(struct raw_code) ==
	       24 + 16 + 64 + RAW_CODE_HEAD + RAW_CODE_NAME + RAW_CODE_FILE + RAW_CODE_TABLE,
	       "raw_code is packed");

/*
 * Where a process is and whose it is, as the kernel knows it: it may be gone from /proc
 * before anybody can look.
 */
#define RAW_CGROUPS 14		/* v2 has one hierarchy, v1 has 13 at most */
struct raw_origin {
	abi_u64 cgroups[RAW_CGROUPS];	/* mark_of_cgroup() of each it is in, in any order */
	abi_u32 cgroup_cnt;
	abi_u32 uid;		/* the effective one, as the host counts             */
	abi_u32 ns_tgid;	/* in its own pid namespace; 0: the host's               */
	abi_u32 pad;
};
_Static_assert(sizeof(struct raw_origin) == 8 * RAW_CGROUPS + 16, "raw_origin is packed");

struct raw_lifecycle {
	struct raw_header h;	/* RAW_EXIT: the process; RAW_FORK: the child         */
	abi_u32 parent_tgid;	/* RAW_FORK */
	abi_u32 known;		/* RAW_FORK: the child inherited an admission          */
	abi_u64 ident;		/* RAW_FORK: the child's py_proc.ident                 */
	abi_u32 ns_tgid;	/* RAW_FORK: as raw_origin.ns_tgid                     */
	abi_u32 elsewhere;	/* RAW_FORK: the child is in other cgroups than its parent */
};

/* What may be gone from /proc before anybody can look. */
#define RAW_COMM 16
#define RAW_COMMAND 512
struct raw_exec {
	struct raw_header h;
	abi_u64 exe;		/* exe_key(); 0: could not be told                    */
	abi_u64 ident;		/* py_proc.ident if it was admitted, else 0            */
	abi_u64 bias;		/* admitted: where the executable was loaded, less where it says */
	abi_u32 command_len;	/* of all arguments, each with its NUL; may be > RAW_COMMAND */
	abi_u8 unselected;	/* UNSELECTED_*; with UNDECIDED alone it may be admitted */
	abi_u8 pad[3];
	struct raw_origin origin;
	abi_u8 comm[RAW_COMM];
	abi_u8 command[RAW_COMMAND];
};
_Static_assert(sizeof(struct raw_exec) ==
	       24 + 32 + sizeof(struct raw_origin) + RAW_COMM + RAW_COMMAND, "raw_exec is packed");

struct raw_rename {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 pad;
	abi_u8 comm[RAW_COMM];	/* terminated; any bytes */
};
_Static_assert(sizeof(struct raw_rename) == 32 + RAW_COMM, "raw_rename is packed");

/* Of a new cgroup: its path is known before anything runs in it. */
#define RAW_CGROUP_PATH 1024	/* one that does not fit is not sent */
struct raw_cgroup {
	struct raw_header h;	/* of who made it */
	abi_u64 id;
	abi_u32 hierarchy;
	abi_u32 pad;
	abi_u8 path[RAW_CGROUP_PATH];	/* in its hierarchy; terminated */
};
_Static_assert(sizeof(struct raw_cgroup) == 40 + RAW_CGROUP_PATH, "raw_cgroup is packed");

/*
 * The clock of a CPU. User space changes its period at random; the timer begins anew then.
 * CPUs from TICK_CPUS_MAX on keep their period, and so has a CPU whose period_ns is 0.
 */
#define TICK_CPUS_MAX 1024
#define TICK_PERIOD_CHANGES 1	/* in period_ns: it is being changed now */
struct tick_period {
	abi_u64 since_ns;	/* when the timer began */
	abi_u64 before_ns;	/* the period until then; 0: there was none */
	abi_u64 period_ns;
};

/* Per-CPU counters: every way a tick can end, and every loss. */
enum counter {
	CNT_TICK,		/* ticks delivered                                   */
	CNT_IDLE,		/* the CPU was idle                                  */
	CNT_KERNEL_THREAD,
	CNT_UNSELECTED,		/* process not asked for                             */
	CNT_OTHER,		/* process is not Python                             */
	CNT_UNKNOWN,		/* process not looked at yet; user space was told    */
	CNT_NOT_READY,		/* interpreter not initialised, thread pointer not known yet */
	CNT_NATIVE_THREAD,	/* thread without a PyThreadState                    */
	CNT_NO_FRAMES,		/* PyThreadState without a Python frame              */
	CNT_TSTATE_UNREADABLE,	/* lost: PyThreadState could not be read             */
	CNT_TSTATE_UNCERTAIN,	/* lost: which of several interpreters it runs is not known */
	CNT_SAMPLE,		/* sent                                              */
	CNT_RING_FULL,		/* lost: no room in the ring buffer                  */
	CNT_TRUNCATED,
	CNT_UNREADABLE_FRAME,
	CNT_BROKEN_END,
	CNT_ENTERING,		/* a function was being entered: its caller's stack is taken, or none */
	CNT_MISSED,		/* ticks that did not come while one thread was running   */
	CNT_CODE,		/* code objects sent                                 */
	CNT_CODE_LOST,		/* not lost: sent with a later sample or read by user space */
	CNT_SENT_EVICTED,	/* code objects that may be sent again: their slot was taken */
	CNT_CACHE_EVICTED,	/* fingerprints that are read again: likewise, on one CPU */
	CNT_NO_BYTECODE,	/* frames whose line is not known: the thread's own bytecode is not */
	CNT_LATE,		/* walks that were cut because they took too long        */
	CNT_UNVERIFIED_CODE,	/* frames whose code object could not be read        */
	CNT_ARRIVED,		/* processes of known executables, walked from the first sample */
	CNT_UNWANTED,		/* not what the mode is about                        */
	CNT_BUSY,		/* lost: a non-maskable tick in the middle of another program */
	CNT_SWITCH,		/* a thread of a Python process left its CPU           */
	CNT_WAIT,		/* ... and its stack was sent                        */
	CNT_WAIT_NOT_PYTHON,	/* ... and had no Python stack                       */
	CNT_WAIT_UNWANTED,	/* ... and is not what the mode is about             */
	CNT_WAIT_NOT_LOOKED,	/* lost: ... and there was no time to look at its stack */
	CNT_WAIT_UNREADABLE,	/* lost: ... and its thread state could not be read    */
	CNT_WAIT_LOST,		/* lost: ... and there was no room in the ring buffer  */
	CNT_RUN_LOST,		/* lost: it came back; likewise                      */
	CNT_EXTRA_LOST,		/* lost: a RAW_EXTRA; its stack may have come all the same */
	CNT_WAIT_SLOT_TAKEN,	/* whose wake-up is not known: another thread has its slot */
	CNT_LIFECYCLE_LOST,	/* lost: exec/fork/exit record, ring buffer full     */
	CNT_PROCS_FULL,		/* lost: a forked process did not fit into py_procs  */
	CNT_MAX,
};

/*
 * What ticks in Python processes took on one CPU, from the decision to walk to the last byte sent,
 * less the moments when the machine stood still (a virtual CPU whose host has other work):
 * four classes for each power of two of nanoseconds, see sample_time_class().
 */
#define SAMPLE_TIME_CLASSES 96
struct sample_times {
	abi_u64 max_ns;
	abi_u64 sum_ns;
	abi_u64 stalls, stalled_ns;	/* such moments */
	abi_u64 cnt[SAMPLE_TIME_CLASSES];
};

/* 0, 1, 2, 3, 4, 5, 6, 7, 8-9, 10-11, 12-13, 14-15, 16-19, ...; the last one is open. */
static inline abi_u32 sample_time_class(abi_u64 ns)
{
	abi_u32 exp = 0, v = ns >> 30 ? 1u << 30 : (abi_u32)ns;

	exp += v >> 16 ? 16 : 0;
	exp += v >> exp >> 8 ? 8 : 0;
	exp += v >> exp >> 4 ? 4 : 0;
	exp += v >> exp >> 2 ? 2 : 0;
	exp += v >> exp >> 1 ? 1 : 0;
	if (exp < 2)
		return v;
	v = 4 * (exp - 1) + (v >> (exp - 2) & 3);
	return v < SAMPLE_TIME_CLASSES ? v : SAMPLE_TIME_CLASSES - 1;
}

/* The first nanosecond behind a class. */
static inline abi_u64 sample_time_end(abi_u32 class)
{
	return class < 4 ? class + 1ull : (5ull + class % 4) << (class / 4 - 1);
}

/*
 * What tells a name from another one at the same address: its length, the first
 * bytes at str_data, and the last ones if it is longer than that. Needed where code
 * objects have no version of their own (3.11): all pointers of a new one may be those
 * of an old one. (A str's cached hash would do, but that of a qualified name is
 * seldom there.) Never 0, which stands for a name that cannot be read.
 */
#define STRING_HEAD 48
#define STRING_TAIL 32
static inline abi_u32 string_stamp(abi_u64 length, const abi_u64 *head, const abi_u64 *tail)
{
	abi_u64 h = length * 0x9e3779b97f4a7c15ULL, word;
	int i, left = length < STRING_HEAD ? (int)length : STRING_HEAD;

	for (i = 0; i < STRING_HEAD / 8; i++, left -= 8) {
		word = left >= 8 ? head[i] : left > 0 ? head[i] & ((1ULL << 8 * left) - 1) : 0;
		h = (h ^ h >> 29 ^ word) * 0xbf58476d1ce4e5b9ULL;
	}
	if (length > STRING_HEAD)
		for (i = 0; i < STRING_TAIL / 8; i++)
			h = (h ^ h >> 29 ^ tail[i]) * 0x94d049bb133111ebULL;
	return (abi_u32)(h >> 32) | 1;
}

/* In place of co_version: both names'. 0: one cannot be read. */
static inline abi_u32 names_stamp(abi_u32 name, abi_u32 file)
{
	return name && file ? (name * 31 + file) | 1 : 0;
}

/*
 * The fingerprint of a code object. The kernel takes it when it walks, user
 * space again when it reads the names: equal means the names are this code's.
 * Never 0.
 */
static inline abi_u32 code_identity(abi_u64 filename, abi_u64 name, abi_u64 qualname,
				    abi_u64 linetable, abi_u32 firstlineno, abi_u32 version)
{
	abi_u64 h = (abi_u64)firstlineno << 32 | version;

	h = (h ^ linetable) * 0x9e3779b97f4a7c15ULL;
	h = (h ^ (h >> 29) ^ qualname) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ (h >> 32) ^ name) * 0x94d049bb133111ebULL;
	h = (h ^ (h >> 31) ^ filename) * 0x9e3779b97f4a7c15ULL;
	return (abi_u32)(h >> 32) | 1;
}

#endif
