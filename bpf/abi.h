/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - the one header that both the BPF side and user space include.
 *
 * Owns the layout of every map value and ring-buffer record: plain structs of fixed-width
 * fields, with explicit padding. It knows no CPython version and no kernel type. User space
 * fills struct py_proc from what user/cpython found out; the BPF side reads it and sends
 * struct raw_* records.
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

/* A TACH file has at most 256 frames in a stack (CPython's reader rejects 257). */
#define ABI_MAX_FRAMES 256
/* The part of PyThreadState that is read at once; every ts_* offset lies inside. */
#define ABI_TS_BYTES 384
/* An offset that this CPython does not have. */
#define ABI_NO_OFF 0xffff
#define ABI_NO_OFF32 0xffffffffu

/* How the BPF side finds out whether a thread holds the GIL. */
enum py_gil_how {
	PY_GIL_NONE = 0,	/* free-threaded, or unknown */
	PY_GIL_RT_CURRENT = 1,	/* *current == tstate                        (to 3.11) */
	PY_GIL_TS_MASK = 2,	/* *(u32 *)(tstate + ts_gil) & ts_gil_mask       (3.12+) */
};

/* How the BPF side gets from a thread to its PyThreadState. */
enum py_tstate_how {
	PY_TSTATE_TSS_GLIBC = 1,	/* pthread_getspecific(key), glibc's struct pthread */
	PY_TSTATE_TLS_TP = 2,		/* *(thread pointer + tls_off): static executable    */
	PY_TSTATE_TLS_DTV = 3,		/* *(dtv[module] + offset): shared libpython         */
	PY_TSTATE_TSS_MUSL = 5,		/* pthread_getspecific(key), musl's                     */
	PY_TSTATE_LIST = 4,		/* walk the interpreters' thread lists, bounded      */
	PY_TSTATE_TLS_DTV_MUSL = 7,	/* *(dtv[module] + offset): musl's dtv               */
	PY_TSTATE_TLS_DESC = 6,		/* through a TLS descriptor: shared libpython, arm64 */
};

/* Offsets in bytes, as user/cpython knows them. u16 unless CPython needs more. */
struct py_layout {
	/* PyThreadState; all below ABI_TS_BYTES - 8 */
	abi_u16 ts_next;
	abi_u16 ts_interp;
	abi_u16 ts_frame;	/* current_frame, or the _PyCFrame pointer           */
	abi_u16 cframe_frame;	/* _PyCFrame.current_frame, before .previous; ABI_NO_OFF from 3.13 */
	abi_u16 ts_thread_id;
	abi_u16 ts_status;	/* the bits with TS_BOUND_GILSTATE; ABI_NO_OFF up to 3.11 */
	abi_u16 ts_cframe;	/* -> the _PyCFrame on the C stack; for PY_GIL_RT_CURRENT (3.10, 3.11) */
	abi_u16 ts_gil;
	abi_u16 ts_exc_current;	/* the exception that is propagating                 */
	abi_u16 ts_exc_info;	/* -> _PyErr_StackItem; ABI_NO_OFF: ts_exc_state only (3.6) */
	abi_u16 ts_datastack;	/* datastack_chunk: where the current chunk of frames begins;
				 * ABI_NO_OFF: each frame is an object of its own    */
	abi_u16 ts_exc_state;	/* the embedded bottom _PyErr_StackItem              */
	abi_u16 exc_value;	/* _PyErr_StackItem.exc_value; up to 3.10 exc_type      */
	abi_u16 exc_previous;	/* _PyErr_StackItem.previous_item                    */
	/* _PyInterpreterFrame; up to 3.10 PyFrameObject. Offsets count from fr_base. */
	abi_u16 fr_base;
	abi_u16 fr_code;
	abi_u16 fr_previous;
	abi_u16 fr_ip;		/* an address; with lasti_unit an int that counts units     */
	abi_u16 fr_owner;	/* one byte; ABI_NO_OFF up to 3.10                   */
	abi_u16 fr_is_entry;	/* one byte, 1: C code called the interpreter with it (3.11) */
	abi_u16 fr_tlbc_index;	/* int: index into co_tlbc; ABI_NO_OFF: there is none */
	abi_u16 fr_bytes;	/* bytes that include all of the above                  */
	/* PyCodeObject */
	abi_u16 co_firstlineno;	/* int */
	abi_u16 co_version;	/* u32; ABI_NO_OFF in 3.11                           */
	abi_u16 co_filename;
	abi_u16 co_name;
	abi_u16 co_qualname;
	abi_u16 co_linetable;
	abi_u16 co_code;	/* co_code_adaptive                                  */
	abi_u16 co_tlbc;	/* _PyCodeArray: the bytecode copies of the threads  */
	/* PyBytesObject, the line table */
	abi_u16 bytes_size;	/* ob_size */
	abi_u16 bytes_data;	/* ob_sval */
	/* PyASCIIObject: names */
	abi_u16 str_length;
	abi_u16 str_data;	/* of a compact ASCII str; at most 40 bytes behind str_length */
	/* PyInterpreterState */
	abi_u32 interp_id;
	abi_u32 interp_next;
	abi_u32 interp_threads_head;
	abi_u32 interp_threads_main;	/* the state that runs the main thread (3.14+)  */
	abi_u32 interp_gc_collecting;	/* ABI_NO_OFF32: see py_proc.collecting         */
	abi_u32 interp_gc_frame;	/* the frame that was current when collection began (3.15) */
	abi_u32 interp_epoch;	/* a counter that changes whenever a code object may have been
				 * replaced; ABI_NO_OFF32: there is none */
	abi_u32 ts_gil_mask;
	abi_u8 gil_how;		/* enum py_gil_how */
	abi_u8 skip_owner;	/* frames with owner >= this are C-stack shims; 0xff none */
	abi_u8 end_shim;	/* 1: an intact chain ends at a shim (3.12+)         */
	abi_u8 code_tag_mask;	/* low bits of fr_code that are a StackRef tag        */
	abi_u8 gc_by_frame;	/* 1: others run while one thread collects: see interp_gc_frame */
	abi_u8 lasti_unit;	/* bytes in one unit of fr_ip; 0: fr_ip is an address  */
	abi_u8 tss_flag;	/* 1: the int before the key says whether it is valid   */
	abi_u8 foreign_ids;	/* 1: a state's thread_id may be that of its creator (up to 3.12) */
	abi_u16 ts_bytes;	/* bytes of PyThreadState that include all of the above */
	/* Waiting for the GIL. 0: this CPython has no such field, or its offset is unknown. */
	abi_u16 ts_gil_requested; /* int, 1: it waits for the GIL, almost always (3.15) */
	abi_u32 interp_gil;	/* pointer to the GIL (3.12+); 0: see py_proc.gil     */
	abi_u16 gil_cond;	/* offset of the locks in the GIL's struct             */
	abi_u16 gil_locks;	/* size of the locks in bytes; 0: unknown             */
};
_Static_assert(sizeof(struct py_layout) == 120, "py_layout has no hidden padding");

/* Bit of PyThreadState._status: the thread runs this state, attached or detached (3.12+). */
#define TS_BOUND_GILSTATE (1u << 3)

enum py_proc_state {
	PY_PROC_PYTHON = 1,	/* its threads are walked                            */
	PY_PROC_OTHER = 2,	/* inspected; not Python as far as is known          */
	PY_PROC_LINKING = 3,	/* its executable is known, its libpython not resolved yet */
	PY_PROC_UNSEEN = 4,	/* not inspected, because it is not selected             */
};

/* py_proc.unselected: why a process must not be recorded. 0: it is selected. */
enum {
	UNSELECTED_CGROUP = 1,
	UNSELECTED_UID = 2,	/* its uid (py_proc.euid); judged again when that changes */
	UNSELECTED_NAME = 4,	/* its comm or its executable does not meet them     */
	UNSELECTED_PID = 8,
	UNDECIDED = 128,	/* the BPF side cannot judge it; user space must  */
};
#define UNSELECTED_FOR_SURE (UNDECIDED - 1)

/* py_proc.none from 3.13 on: an exception slot never contains None. */
#define PY_NONE_NOWHERE 0xffffffffffffffffULL

/* Value of the map py_procs, whose key is the tgid. User space, exec and fork insert entries. */
struct py_proc {
	abi_u64 start_ns;	/* group leader's start_boottime; 0: the BPF side fills it in */
	abi_u64 ident;		/* unique per admission; never 0; odd: made by the BPF side */
	/* Addresses in the target; 0: there is none. py_proc_relocate() has the same list. */
	abi_u64 runtime;	/* &_PyRuntime, 3.6: &interp_head                    */
	abi_u64 tss;		/* address of the int that holds the pthread key     */
	abi_u64 interps;	/* address of the pointer to the first interpreter   */
	abi_u64 current;	/* PY_GIL_RT_CURRENT: pointer to the state that has the GIL */
	abi_u64 main_id;	/* main thread's pthread_t (3.8+), if no interpreter has it */
	abi_u64 collecting;	/* address of an int that is not 0 during a collection (to 3.8) */
	abi_u64 gil;		/* the GIL that interpreters share (3.7 to 3.11); 3.6: its locks */
	abi_u64 none;		/* &_Py_NoneStruct in the target                     */
	abi_u64 epoch;		/* a counter like interp_epoch that interpreters share (3.12) */
	abi_u64 main_interp;	/* the interpreter with id 0; filled in by the BPF side */
	abi_u64 main_thread;	/* the main thread's state or pthread_t, as last read */
	abi_u64 tls_index;	/* TLS_DTV: address of the tls_index in the GOT;
				 * TLS_DESC: of the descriptor there                 */
	abi_s64 tls_off;	/* TLS_TP: from the thread pointer; else: added to the offset */
	abi_u64 ticks;		/* ticks in this process; unlocked, so it may miss some */
	abi_u64 exe;		/* ARRIVING: exe_key() of its executable             */
	abi_u64 exe_bias;	/* ARRIVING: load bias of the executable */
	abi_u64 exec_pages;	/* mm->exec_vm when it was last inspected; 0: unknown   */
	abi_s32 tss_key;	/* -1: not read yet                                  */
	abi_u32 codes_sent;	/* code objects sent in second codes_second; approximate */
	abi_u32 codes_second;
	abi_u8 state;		/* enum py_proc_state */
	abi_u8 tstate_how;	/* enum py_tstate_how */
	abi_u8 mismatches;		/* ARRIVING: ticks with an unexpected library         */
	abi_u8 names_sent;	/* thread names sent in second names_second (mod 256); approximate */
	abi_u16 self_below;	/* the thread pointer minus pthread_self(); 0 on x86 */
	abi_u8 unselected;	/* UNSELECTED_*                                      */
	abi_u8 names_second;
	abi_u32 euid;		/* the uid that was judged last; EUID_NEVER: none       */
	struct py_layout l;
};
_Static_assert(sizeof(struct py_proc) == 296, "py_proc has no hidden padding");

#define EUID_NEVER 0xffffffffu

/*
 * The conditions of a recording in the form that the BPF side evaluates. The map marks
 * assigns MARK_* bits to cgroups, uids and comms (keys: *_key()). A cgroup or comm that
 * user space has not judged yet has no entry.
 */
enum {
	MARK_EXCLUDED = 1,
	MARK_INCLUDED = 2,	/* a uid or comm; for cgroups these say which condition: */
	MARK_CONTAINER = 4,
	MARK_POD = 8,
	MARK_PATH = 16,
	MARK_UNIT = 32,
};
struct filter_config {
	abi_u64 min_age_ns;	/* a younger process is not recorded yet             */
	abi_u32 cgroup_kinds;	/* MARK_CONTAINER ...: each must be found on the way to the root */
	abi_u8 any;		/* there is at least one condition                   */
	abi_u8 cgroups;		/* there are conditions on cgroups                   */
	abi_u8 cgroup_excludes;
	abi_u8 cgroup_ask;	/* user space must judge each cgroup that has no entry in marks */
	abi_u8 uids;		/* there are conditions on uids                      */
	abi_u8 uid_needed;	/* a uid without an entry in marks is not selected   */
	abi_u8 comms;
	abi_u8 exes;		/* user space must judge each exec by its executable */
	abi_u8 children;	/* a fork inherits the verdict on its parent's pid   */
	abi_u8 pad[3];
};
_Static_assert(sizeof(struct filter_config) == 24, "filter_config has no hidden padding");

/* Keys of the map marks. A cgroup: its hierarchy (0: v2) and its directory's inode number. */
static inline abi_u64 cgroup_key(abi_u32 hierarchy, abi_u64 id)
{
	return (abi_u64)(hierarchy & 0x7fff) << 48 | (id & 0xffffffffffffULL);
}

static inline abi_u64 uid_key(abi_u32 uid)
{
	return 0xffffULL << 48 | uid;
}

#define COMM_BYTES 16
static inline abi_u64 comm_key(const abi_u8 comm[COMM_BYTES])
{
	abi_u64 h = 0;
	int i;

	/* The bytes behind the terminator are not always zero. */
	for (i = 0; i < COMM_BYTES && comm[i]; i++)
		h = (h ^ comm[i]) * 0x100000001b3ULL + 0x9e3779b97f4a7c15ULL;
	return 0xfffeULL << 48 | (h ^ h >> 23) >> 16;
}

/*
 * Set the addresses in p to those in file, plus the load bias. p and file may be the same
 * struct. Two CPUs that do this at the same time write the same values.
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

/* Value of the map watched, whose key is the tgid. */
enum watch {
	WATCH_CHILDREN = 1,	/* and what the process forks */
	WATCH_ALONE = 2,
};

/*
 * Value of the map known_exes, whose key is exe_key(): what user space found out about an
 * executable, so that a new process that runs it can be walked from its first tick. The
 * interpreter is in the executable itself, or in a library. The library's load address then
 * follows from the slot (GOT entry) in the executable where the dynamic linker stores the
 * address of an imported function.
 */
#define EXE_ID_WORDS 2
struct py_exe {
	abi_u64 phdr;		/* AT_PHDR minus the executable's load bias           */
	abi_u64 slot;		/* offset of the slot in the executable; 0: there is no library */
	abi_u64 symbol;		/* offset of the imported function in the library    */
	abi_u64 id_at;		/* offset in the library of bytes that identify it (build id) ... */
	abi_u64 id[EXE_ID_WORDS];	/* ... and these bytes                       */
	struct py_proc proc;	/* addresses as in the file: py_proc_relocate();
				 * state PY_PROC_OTHER until that was done */
};
_Static_assert(sizeof(struct py_exe) == 48 + sizeof(struct py_proc), "py_exe is packed");

/*
 * Key of an executable, built from what is the same for the kernel and for stat(2) in every
 * mount: inode number, size, and the first 256 bytes, which the kernel has read when it
 * executes a file (BINPRM_BUF_SIZE). The device is not included: each container has its
 * own. Never 0.
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
	RAW_UNKNOWN = 2,	/* a tick in a process that nobody has inspected     */
	RAW_EXEC = 3,
	RAW_FORK = 4,
	RAW_EXIT = 5,
	RAW_CODE = 6,		/* a code object seen for the first time             */
	RAW_CHANGED = 7,	/* a process without a Python stack has mapped more code */
	RAW_CGROUP = 8,		/* a cgroup was created                              */
	RAW_SWITCH_OUT = 9,	/* struct raw_sample: a thread leaves its CPU with this stack */
	RAW_SWITCH_IN = 10,	/* struct raw_switch_in: a thread is back on a CPU         */
	RAW_THREAD_EXIT = 11,	/* struct raw_switch_in: a thread has ended                  */
	RAW_RENAME = 12,	/* a thread has a new name                           */
	RAW_EXTRA = 13,		/* struct raw_extra: more about the stack in the next record */
};

/* RAW_SWITCH_OUT: why the thread left its CPU. */
enum raw_why {
	WHY_RUNNABLE = 1,	/* preempted: it could run, but another thread has the CPU */
	WHY_BLOCKED = 2,
};
#define RAW_SYSNO_NONE 0xffff	/* not in a system call: a page fault */

/* How many code objects the BPF side remembers as sent; user space may set another number. */
#define SENT_SLOTS 65536

/* Every record of the ring buffer starts like this. */
struct raw_header {
	abi_u8 kind;		/* enum raw_kind */
	abi_u8 why;		/* RAW_SWITCH_OUT: enum raw_why */
	abi_u16 sysno;		/* RAW_SWITCH_OUT: the thread's system call; RAW_SYSNO_NONE */
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
	RAW_TRUNCATED = 1,	/* the stack is deeper than the part that was walked */
	RAW_UNREADABLE = 2,	/* a frame could not be read; the frames in the record are valid */
	RAW_GC = 4,		/* the thread is collecting garbage                  */
	RAW_BROKEN_END = 8,	/* the chain of frames ended without its last shim   */
	RAW_NOT_WALKED = 16,	/* RAW_SWITCH_OUT without a stack: no budget, or unreadable   */
	RAW_WEIGHED = 32,	/* RAW_SAMPLE: its weight follows the frames; else that is 1 */
};

/*
 * A frame: its code object, the place in the bytecode, and the code object's fingerprint. Its
 * kind is in the upper bits of lasti: no code object has 256 MiB of bytecode, while an address
 * of the kernel uses all of its bits. The kind of Python's frames is 0, so the walk need not
 * write it.
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
 * A value in place of a fingerprint (fingerprints are odd): the code object is CPython's
 * own _Py_InitCleanup (3.13+, v3.13.0 Python/specialize.c), whose frame lies under a
 * specialised call of __init__. No traceback shows it, and no stack of ours has it.
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
	abi_u16 gc_at;		/* RAW_GC: index of the frame that <GC> is inserted before */
};

/* The same fields at the same offsets as struct raw_head, and the frames. */
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

/* The bytes of a RAW_SAMPLE or a RAW_SWITCH_OUT as it is sent. */
static inline abi_u64 raw_sample_bytes(abi_u16 nframes, abi_u8 flags)
{
	return sizeof(struct raw_head) + nframes * sizeof(struct raw_frame) +
	       (flags & RAW_WEIGHED ? sizeof(abi_u64) : 0);
}

/*
 * What a whole RAW_SAMPLE stands for, in the unit of the mode: one tick, or so many bytes of
 * memory. (For how long a RAW_SWITCH_OUT was, user space knows when the thread is back.)
 */
static inline abi_u64 raw_sample_weight(const struct raw_sample *raw)
{
	return raw->flags & RAW_WEIGHED ? *(const abi_u64 *)(raw->frames + raw->nframes) : 1;
}

/*
 * Additions to a stack: the type of the exception, and the kernel's stack. The record is
 * sent immediately before the RAW_SAMPLE or RAW_SWITCH_OUT that has the same time and CPU, and
 * only if there is something to send.
 */
#define RAW_EXCEPTION 64
#define RAW_KERNEL_FRAMES 40	/* including some frames of the tracing itself */
struct raw_extra {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u32 nkernel;
	abi_u32 pad;
	char exception[RAW_EXCEPTION];	/* tp_name, NUL-terminated, any bytes; "": no exception */
	abi_u64 kernel[RAW_KERNEL_FRAMES];	/* innermost first; nkernel sent        */
};
_Static_assert(sizeof(struct raw_extra) == 40 + RAW_EXCEPTION + 8 * RAW_KERNEL_FRAMES,
	       "raw_extra has no hidden padding");

/* RAW_SWITCH_IN, RAW_THREAD_EXIT */
struct raw_switch_in {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 out_lost;		/* 1: the RAW_SWITCH_OUT was lost                            */
	abi_u64 out_ns;		/* when the thread left its CPU (CLOCK_MONOTONIC); 0: unknown */
	abi_u64 wake_ns;	/* when it became runnable; 0: unknown                 */
};
_Static_assert(sizeof(struct raw_switch_in) == 48, "raw_switch_in has no hidden padding");

/* What the task iterator reports of each thread of a Python process. */
struct raw_offcpu_scan {
	abi_u64 time_ns;
	abi_u64 start_ns;	/* start_boottime of the process */
	abi_u64 thread_pointer;
	abi_u64 switches;	/* how often the thread has left a CPU */
	abi_u64 sp, args[2];	/* stack pointer and first arguments of its system call */
	abi_u32 tgid, tid;
	abi_u16 sysno;		/* RAW_SYSNO_NONE */
	abi_u8 why;		/* enum raw_why; 0: the thread is on a CPU */
	abi_u8 out_sent;		/* 1: a RAW_SWITCH_OUT was sent when it left its CPU */
	abi_u32 nr_threads;
};
_Static_assert(sizeof(struct raw_offcpu_scan) == 72, "raw_offcpu_scan has no hidden padding");

/*
 * The threads that are off-CPU. The slot is the tid modulo the number of slots, a power of
 * two; threads that share a slot overwrite each other. Scheduler programs write without a
 * lock: see mode_wait.bpf.c.
 */
#define WAIT_SLOTS 32768
struct wait_slot {
	abi_u32 tid;		/* 0: the slot is free                               */
	abi_u32 out_lost;		/* 1: the RAW_SWITCH_OUT was lost                            */
	abi_u64 out_ns;		/* when it left its CPU; 0: its return need not be sent */
	abi_u64 wake_ns;	/* when it was woken; 0: it still sleeps             */
};

/*
 * A code object as a snapshot of four pieces of the process' memory, which user space
 * parses in the same way as memory that it reads from a live process. So names outlive
 * their process, and the BPF side needs no knowledge of string layouts.
 */
#define RAW_CODE_HEAD 256	/* PyCodeObject from its start            */
#define RAW_CODE_NAME 384	/* the qualified name's object            */
#define RAW_CODE_FILE 512	/* the file name's object                 */
#define RAW_CODE_TABLE 24576	/* the line table's object; those of modules are the longest */
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
 * The cgroups, user and pid of a process as the kernel has them. /proc may not have the
 * process any more when user space gets the record.
 */
#define RAW_CGROUPS 14		/* v2 has one hierarchy, v1 has 13 at most */
struct raw_origin {
	abi_u64 cgroups[RAW_CGROUPS];	/* cgroup_key() of its cgroups, in any order */
	abi_u32 cgroup_cnt;
	abi_u32 uid;		/* the effective uid in the initial user namespace   */
	abi_u32 ns_tgid;	/* tgid in its own pid namespace; 0: it is in the host's */
	abi_u32 pad;
};
_Static_assert(sizeof(struct raw_origin) == 8 * RAW_CGROUPS + 16, "raw_origin is packed");

struct raw_lifecycle {
	struct raw_header h;	/* RAW_EXIT: the process; RAW_FORK: the child         */
	abi_u32 parent_tgid;	/* RAW_FORK */
	abi_u32 admitted;		/* RAW_FORK: 1: the child inherited its parent's admission */
	abi_u64 ident;		/* RAW_FORK: the child's py_proc.ident                 */
	abi_u32 ns_tgid;	/* RAW_FORK: as raw_origin.ns_tgid                     */
	abi_u32 other_cgroups;	/* RAW_FORK: the child is in other cgroups than its parent */
};

/* What /proc may not have any more when user space gets the record. */
#define RAW_COMM 16
#define RAW_COMMAND 512
struct raw_exec {
	struct raw_header h;
	abi_u64 exe;		/* exe_key(); 0: unknown                              */
	abi_u64 ident;		/* py_proc.ident if the BPF side admitted the process, else 0 */
	abi_u64 bias;		/* load bias of the executable, if admitted */
	abi_u32 command_len;	/* bytes of all arguments with their NULs; may be > RAW_COMMAND */
	abi_u8 unselected;	/* UNSELECTED_*; with UNDECIDED alone the process may be admitted */
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
	abi_u8 comm[RAW_COMM];	/* NUL-terminated; any bytes */
};
_Static_assert(sizeof(struct raw_rename) == 32 + RAW_COMM, "raw_rename is packed");

/* A new cgroup. Its path arrives before anything runs in it. */
#define RAW_CGROUP_PATH 1024	/* a longer path is not sent */
struct raw_cgroup {
	struct raw_header h;	/* tgid: the process that created it */
	abi_u64 id;
	abi_u32 hierarchy;
	abi_u32 pad;
	abi_u8 path[RAW_CGROUP_PATH];	/* in its hierarchy; NUL-terminated */
};
_Static_assert(sizeof(struct raw_cgroup) == 40 + RAW_CGROUP_PATH, "raw_cgroup is packed");

/*
 * The clock of one CPU. User space changes its period at random, and the timer restarts
 * each time. CPUs from TICK_CPUS_MAX on, and those whose period_ns is 0, keep the period
 * cfg_period_ns.
 */
#define TICK_CPUS_MAX 1024
#define TICK_PERIOD_CHANGES 1	/* in period_ns: user space is changing it at this moment */
struct tick_period {
	abi_u64 since_ns;	/* when the timer was last restarted (CLOCK_MONOTONIC) */
	abi_u64 before_ns;	/* the period before that; 0: there was none */
	abi_u64 period_ns;
};

/* Per-CPU counters: every way in which a tick can end, and every loss. */
enum counter {
	CNT_TICK,		/* ticks delivered                                   */
	CNT_IDLE,		/* the CPU was idle                                  */
	CNT_KERNEL_THREAD,
	CNT_UNSELECTED,		/* process is not selected                           */
	CNT_OTHER,		/* process is not Python                             */
	CNT_UNKNOWN,		/* process not inspected yet; a record was sent to user space */
	CNT_NOT_READY,		/* interpreter not initialised, or thread pointer not set yet */
	CNT_NATIVE_THREAD,	/* thread without a PyThreadState                    */
	CNT_NO_FRAMES,		/* PyThreadState without a Python frame              */
	CNT_TSTATE_UNREADABLE,	/* lost: PyThreadState could not be read             */
	CNT_TSTATE_UNCERTAIN,	/* lost: the thread may run one of several interpreters */
	CNT_SAMPLE,		/* sent                                              */
	CNT_RING_FULL,		/* lost: no room in the ring buffer                  */
	CNT_TRUNCATED,
	CNT_UNREADABLE_FRAME,
	CNT_BROKEN_END,
	CNT_ENTERING,		/* a function was being entered: the stack is its caller's, or none */
	CNT_MISSED,		/* ticks that did not come while one thread kept the CPU  */
	CNT_CODE,		/* code objects sent                                 */
	CNT_CODE_LOST,		/* not lost: sent with a later sample or read by user space */
	CNT_SENT_EVICTED,	/* code objects that may be sent again: their slot was overwritten */
	CNT_CACHE_EVICTED,	/* fingerprints evicted from a CPU's cache, to be read again */
	CNT_NO_BYTECODE,	/* frames without a line: the thread's bytecode was unreadable */
	CNT_CUT_OFF,		/* walks cut off by the time limit                       */
	CNT_UNVERIFIED_CODE,	/* frames whose code object could not be read        */
	CNT_ADMITTED_AT_EXEC,		/* processes of known executables, admitted at their exec */
	CNT_UNWANTED,		/* samples that the mode does not want               */
	CNT_BUSY,		/* lost: a non-maskable tick interrupted another program  */
	CNT_SWITCH,		/* a thread of a Python process left its CPU           */
	CNT_WAIT,		/* ... and its stack was sent                        */
	CNT_WAIT_NOT_PYTHON,	/* ... and had no Python stack                       */
	CNT_WAIT_UNWANTED,	/* ... and the mode does not want it                 */
	CNT_WAIT_NOT_WALKED,	/* lost: ... and the budget did not allow to walk its stack */
	CNT_WAIT_UNREADABLE,	/* lost: ... and its thread state could not be read    */
	CNT_WAIT_LOST,		/* lost: ... and the ring buffer had no room           */
	CNT_SWITCH_IN_LOST,	/* lost: it is back on a CPU; the ring buffer had no room */
	CNT_EXTRA_LOST,		/* lost: a RAW_EXTRA; its stack may have been sent all the same */
	CNT_WAIT_SLOT_TAKEN,	/* waits whose wake-up time is unknown: their slot was overwritten */
	CNT_LIFECYCLE_LOST,	/* lost: exec/fork/exit record, ring buffer full     */
	CNT_PROCS_FULL,		/* lost: a process did not fit into py_procs         */
	CNT_MAX,
};

/*
 * How long samples of Python processes took on one CPU, from the decision to walk to the
 * last byte sent, without stalls: times when the virtual CPU did not run because its host
 * had other work. A histogram with four classes for each power of two of nanoseconds; see
 * sample_time_class().
 */
#define SAMPLE_TIME_CLASSES 96
struct sample_times {
	abi_u64 max_ns;
	abi_u64 sum_ns;
	abi_u64 stalls, stalled_ns;	/* number of stalls, and their total time */
	abi_u64 cnt[SAMPLE_TIME_CLASSES];
};

/* Classes: 0, 1, 2, 3, 4, 5, 6, 7, 8-9, 10-11, 12-13, 14-15, 16-19, ...; the last one is open. */
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

/* The first nanosecond after a class. */
static inline abi_u64 sample_time_end(abi_u32 class)
{
	return class < 4 ? class + 1ull : (5ull + class % 4) << (class / 4 - 1);
}

/*
 * A hash that distinguishes a name from another one at the same address: of its length, the
 * first bytes at str_data and, if it is longer, the last ones. Needed where code objects
 * have no version (3.11): a new code object may have all the addresses of an old one. (A
 * str's cached hash would do, but that of a qualified name is seldom computed.) Never 0,
 * which stands for a name that could not be read.
 */
#define STRING_HEAD 48
#define STRING_TAIL 32
static inline abi_u32 string_hash(abi_u64 length, const abi_u64 *head, const abi_u64 *tail)
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

/* What replaces co_version: a hash of both names. 0: one could not be read. */
static inline abi_u32 names_hash(abi_u32 name, abi_u32 file)
{
	return name && file ? (name * 31 + file) | 1 : 0;
}

/*
 * The fingerprint of a code object. The BPF side computes it during the walk, and user
 * space once more when it reads the names: if both are equal, the names belong to this
 * code. Never 0.
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
