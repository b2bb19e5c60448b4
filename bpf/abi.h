/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - the one header that both the BPF side and user space include.
 *
 * It defines every map value and every record of the ring buffer as a plain struct of fixed-width
 * fields with explicit padding. It knows no CPython version and no kernel type. User space fills
 * struct py_proc with what user/cpython knows of the interpreter. The BPF side reads it and sends
 * the records: see enum raw_kind.
 */
#ifndef TACHBPF_ABI_H
#define TACHBPF_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
typedef __u8 abi_u8;
typedef __u16 abi_u16;
typedef __u32 abi_u32;
typedef __u64 abi_u64;
typedef __s8 abi_s8;
typedef __s16 abi_s16;
typedef __s32 abi_s32;
typedef __s64 abi_s64;
#else
#include <stdint.h>
typedef uint8_t abi_u8;
typedef uint16_t abi_u16;
typedef uint32_t abi_u32;
typedef uint64_t abi_u64;
typedef int8_t abi_s8;
typedef int16_t abi_s16;
typedef int32_t abi_s32;
typedef int64_t abi_s64;
#endif

#include "frame_kind.h"

/* A TACH file has at most 256 frames in a stack (CPython's reader rejects 257). */
#define ABI_MAX_FRAMES 256
/* Size of the part of PyThreadState that is read at once. Every ts_* offset is inside it. */
#define ABI_TS_BYTES 384
/* In place of an offset: the field does not exist in this CPython. */
#define ABI_NO_OFF 0xffff
#define ABI_NO_OFF32 0xffffffffu

/* How the BPF side determines whether a thread holds the GIL. */
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

/* How the BPF side reads the interpreter's counters of collections. */
enum py_gc_stats_how {
	PY_GC_STATS_NONE = 0,	/* location unknown */
	PY_GC_STATS_ARRAY = 1,	/* three struct gc_generation_stats           (to 3.14) */
	PY_GC_STATS_RINGS = 2,	/* a pointer to struct gc_stats                  (3.15) */
};

/* Offsets in bytes. user/cpython fills them in. They are u16 unless CPython needs more. */
#define TS_WORDS 8
struct py_layout {
	/* PyThreadState; all below ABI_TS_BYTES - 8 */
	abi_u16 ts_next;
	abi_u16 cframe_frame;	/* _PyCFrame.current_frame; .previous follows; ABI_NO_OFF: 3.13+ */
	abi_u16 ts_thread_id;
	abi_u16 ts_status;	/* _status, with TS_BOUND_GILSTATE; ABI_NO_OFF up to 3.11 */
	abi_u16 ts_cframe;	/* -> the _PyCFrame on the C stack (3.10, 3.11) */
	union {
		abi_u16 ts_words[TS_WORDS];	/* what each walk reads of the state */
		struct {
			abi_u16 ts_interp;
			abi_u16 ts_frame;	/* current_frame, or the _PyCFrame pointer */
			abi_u16 ts_gil;
			abi_u16 ts_gil_requested; /* int, 1: the thread waits for the GIL,
						   * almost always (3.15); 0: no such field */
			abi_u16 ts_exc_current;	/* the exception that propagates */
			abi_u16 ts_exc_info;	/* -> _PyErr_StackItem; ABI_NO_OFF:
						 * ts_exc_state only (3.6) */
			abi_u16 ts_exc_state;	/* the embedded bottom _PyErr_StackItem, whose
						 * first word is the exception, up to 3.10 its
						 * type */
			abi_u16 ts_datastack;	/* datastack_chunk: where the current chunk of
						 * frames begins; ABI_NO_OFF: each frame is a
						 * separate object */
		};
	};
	abi_u16 exc_previous;	/* _PyErr_StackItem.previous_item                    */
	/* _PyInterpreterFrame; up to 3.10 PyFrameObject. Offsets count from fr_base. */
	abi_u16 fr_base;
	abi_u16 fr_code;
	abi_u16 fr_previous;
	abi_u16 fr_ip;		/* an address; with lasti_unit an int that counts units     */
	abi_u16 fr_owner;	/* one byte; ABI_NO_OFF up to 3.10                   */
	abi_u16 fr_is_entry;	/* one byte, 1: C code called the interpreter with it (3.11) */
	abi_u16 fr_tlbc_index;	/* int: index into co_tlbc; ABI_NO_OFF: none */
	abi_u16 fr_bytes;	/* bytes that include all of the above                  */
	abi_u16 fr_object;	/* frame_obj -> PyFrameObject; ABI_NO_OFF up to 3.10   */
	abi_u16 fo_data;	/* PyFrameObject._f_frame_data; ABI_NO_OFF up to 3.11  */
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
	abi_u16 str_data;	/* of a compact ASCII str; at most 40 bytes after str_length */
	/* PyInterpreterState */
	abi_u32 interp_id;
	abi_u32 interp_next;
	abi_u32 interp_threads_head;
	abi_u32 interp_threads_main;	/* the state that runs the main thread (3.14+) */
	abi_u32 interp_gc_collecting;	/* ABI_NO_OFF32: see py_proc.collecting         */
	abi_u32 interp_gc_frame;	/* the current frame when the collection began (3.15) */
	abi_u32 interp_epoch;	/* a counter that changes whenever a code object may have been
				 * replaced; ABI_NO_OFF32: none */
	abi_u32 ts_gil_mask;
	abi_u8 gil_how;		/* enum py_gil_how */
	abi_u8 skip_owner;	/* frames with owner >= this are C-stack shims; 0xff none */
	abi_u8 end_shim;	/* 1: an intact chain ends at a shim (3.12+)         */
	abi_u8 code_tag_mask;	/* low bits of fr_code that are a StackRef tag        */
	abi_u8 gc_by_frame;	/* 1: other threads run during a collection: see interp_gc_frame */
	abi_u8 lasti_unit;	/* bytes in one unit of fr_ip; 0: fr_ip is an address  */
	abi_u8 tss_flag;	/* 1: the int before the key says whether it is valid   */
	abi_u8 foreign_ids;	/* 1: a state's thread_id may be that of its creator (up to 3.12) */
	abi_u16 ts_bytes;	/* bytes of PyThreadState that include all of the above */
	abi_u16 pad;
	/* Waiting for the GIL. 0: this CPython has no such field, or its offset is unknown. */
	abi_u32 interp_gil;	/* pointer to the GIL (3.12+); 0: see py_proc.gil     */
	abi_u16 gil_cond;	/* offset of the locks in the GIL's struct             */
	abi_u16 gil_locks;	/* size of the locks in bytes; 0: unknown             */
	/* The interpreter's own counters of collections, with --mode mem. */
	abi_u32 interp_gc_stats;	/* ABI_NO_OFF32: see py_proc.gc_stats            */
	abi_u8 gc_stats_how;	/* enum py_gc_stats_how */
	abi_u8 gc_young_items;	/* PY_GC_STATS_RINGS: items of the youngest generation's ring */
	abi_u8 gc_old_items;	/* ... of each of the other two                      */
	/* What shows that the collector has called a frame: see pygc.bpf.h. */
	abi_u8 gc_head;		/* bytes of a PyGC_Head, right before its object; 0: none */
	abi_u16 fr_locals;	/* a frame's first variable                         */
	abi_u16 fr_generator;	/* in a generator: its frame; up to 3.10 in a frame: the pointer
				 * to its generator */
};
_Static_assert(sizeof(struct py_layout) == 136, "py_layout has no hidden padding");

/*
 * Size of a ring of struct gc_generation_stats, and of 3.15's struct gc_stats: three rings, each
 * followed by the index of its last item, and the number of updates (v3.15.0,
 * Include/internal/pycore_interp_structs.h).
 */
#define GC_ITEM_BYTES 64
static inline abi_u64 gc_ring_bytes(abi_u64 items)
{
	return items * GC_ITEM_BYTES + 8;
}

static inline abi_u64 gc_rings_bytes(abi_u64 young_items, abi_u64 old_items)
{
	return gc_ring_bytes(young_items) + 2 * gc_ring_bytes(old_items) + 8;
}

/* Bit of PyThreadState._status: the state is bound to its thread, attached or detached (3.12+). */
#define TS_BOUND_GILSTATE (1u << 3)

enum py_proc_state {
	PY_PROC_PYTHON = 1,	/* admitted: ticks walk its threads                  */
	PY_PROC_OTHER = 2,	/* inspected: no Python was found, or it is refused  */
	PY_PROC_LINKING = 3,	/* admitted at its exec; its libpython has not been found yet */
	PY_PROC_UNSEEN = 4,	/* not inspected: it is, or was, excluded            */
};

/* py_proc.unselected: why a process is excluded. 0: it is selected. */
enum {
	UNSELECTED_CGROUP = 1,
	UNSELECTED_UID = 2,	/* by py_proc.euid; judged again when the uid changes */
	UNSELECTED_NAME = 4,	/* by its comm or its executable                     */
	UNSELECTED_PID = 8,
	UNDECIDED = 128,	/* the BPF side cannot judge the process; user space must do it */
};
#define UNSELECTED_FOR_SURE (UNDECIDED - 1)

/* py_proc.none from 3.13 on: an exception slot never contains None. */
#define PY_NONE_NOWHERE 0xffffffffffffffffULL

/* Where a thread keeps the pointer to its thread context (OTEP 4947, otel_thread_ctx_v1). */
enum thread_ctx_how {
	THREAD_CTX_NONE = 0,
	THREAD_CTX_TP = 1,	/* thread pointer + off                               */
	THREAD_CTX_DTV = 2,	/* dtv[module] + off: glibc                           */
	THREAD_CTX_DTV_MUSL = 3,	/* the same in musl's dtv                             */
};
struct thread_ctx_place {
	abi_s64 off;
	abi_u16 module;		/* DTV: the module's number, from 1 */
	abi_u8 how;		/* enum thread_ctx_how */
	abi_u8 pad[5];
};
_Static_assert(sizeof(struct thread_ctx_place) == 16, "thread_ctx_place has no hidden padding");

/*
 * Value of the map py_procs, whose key is the tgid. User space, on_exec() and on_fork() insert
 * entries.
 */
struct py_proc {
	abi_u64 start_ns;	/* group leader's start_boottime; 0: the BPF side fills it in */
	abi_u64 ident;		/* unique per admission; never 0; odd: made by the BPF side */
	/* Addresses in the target; 0: none. py_proc_relocate() has the same list. */
	abi_u64 runtime;	/* &_PyRuntime, 3.6: &interp_head                    */
	abi_u64 tss;		/* the int that contains the pthread key             */
	abi_u64 interps;	/* the pointer to the first interpreter              */
	abi_u64 current;	/* PY_GIL_RT_CURRENT: the pointer to the state that holds the GIL */
	abi_u64 main_id;	/* the main thread's pthread_t (3.8 to 3.13)         */
	abi_u64 collecting;	/* an int that is not 0 during a collection (up to 3.8) */
	abi_u64 gc_stats;	/* counters of collections (up to 3.8)               */
	abi_u64 gil;		/* the interpreters' common GIL (3.7 to 3.11); 3.6: its locks */
	abi_u64 none;		/* &_Py_NoneStruct, or PY_NONE_NOWHERE               */
	abi_u64 epoch;		/* as interp_epoch, but all interpreters share it (3.12) */
	abi_u64 main_interp;	/* the interpreter with id 0; the BPF side fills it in */
	abi_u64 main_thread;	/* the main thread's state or pthread_t; 0: not read yet */
	abi_u64 gc_done;	/* the collection seen last: see is_on_top() */
	abi_u64 gc_place;	/* where its thread was then                         */
	abi_u64 tls_index;	/* TLS_DTV: the tls_index in the GOT; TLS_DESC: the descriptor */
	abi_s64 tls_off;	/* TLS_TP: from the thread pointer; else: added to the offset in
				 * the tls_index or the descriptor                   */
	abi_u64 ticks;		/* ticks in this process; added without a lock, so too few */
	abi_u64 exe;		/* exe_key() of its executable, if an exec admitted it; else 0 */
	abi_u64 exe_bias;	/* the executable's load bias, if an exec admitted it; else 0 */
	abi_u64 exec_pages;	/* mm->exec_vm when it was last inspected; 0: unknown   */
	abi_s32 tss_key;	/* -1: not read yet                                  */
	abi_u32 codes_sent;	/* code objects sent in second codes_second; approximate */
	abi_u32 codes_second;	/* see may_send_code()                               */
	abi_u8 state;		/* enum py_proc_state */
	abi_u8 tstate_how;	/* enum py_tstate_how */
	abi_u8 mismatches;	/* LINKING: ticks at which the library was not the known one */
	abi_u8 names_sent;	/* thread names sent in second names_second; approximate */
	abi_u16 self_below;	/* the thread pointer minus pthread_self(); 0 on x86 */
	abi_u8 unselected;	/* UNSELECTED_*; 0: it is selected                   */
	abi_u8 names_second;	/* modulo 256; see may_send_name()                   */
	abi_u32 euid;		/* the effective uid that was judged last; EUID_NEVER: none */
	abi_u8 by_hand;		/* 1: a thread ran a state that its key does not lead to (up to
				 * 3.11); see running_tstate() */
	abi_u8 main_second;	/* modulo 256: when main_thread was compared last    */
	abi_u8 pad[2];
	abi_s32 credit_ns;	/* time that its samples have left; negative: an advance. See
				 * budget.bpf.h                                      */
	struct thread_ctx_place trace;	/* zero: its threads publish no context */
	struct py_layout l;
};
_Static_assert(sizeof(struct py_proc) == 360, "py_proc has no hidden padding");

#define EUID_NEVER 0xffffffffu

/*
 * Value of the map marks: which conditions a cgroup, uid or comm meets. Its keys are cgroup_key(),
 * uid_key() and comm_key(). User space inserts the marks. A cgroup or comm that user space has not
 * judged yet has no mark.
 */
enum {
	MARK_EXCLUDED = 1,	/* it meets a condition that excludes                */
	MARK_INCLUDED = 2,	/* a uid or comm meets one that selects; cgroups have these: */
	MARK_CONTAINER = 4,
	MARK_POD = 8,
	MARK_PATH = 16,
	MARK_UNIT = 32,
};

/*
 * The user's conditions on processes (user space: struct proc_filter), as far as the BPF side
 * evaluates them. User space sets cfg_filter before it loads the programs.
 */
struct filter_config {
	abi_u64 min_age_ns;	/* a younger process is not recorded yet             */
	abi_u32 cgroup_kinds;	/* MARK_CONTAINER ...: each must be found on the way to the root */
	abi_u8 any;		/* 1: there is at least one condition                */
	abi_u8 cgroups;		/* 1: there are conditions on cgroups                */
	abi_u8 cgroup_excludes;	/* 1: some of them exclude                           */
	abi_u8 cgroup_ask;	/* 1: user space must judge each cgroup without a mark */
	abi_u8 uids;		/* 1: there are conditions on uids                   */
	abi_u8 uid_needed;	/* 1: a uid without a mark is excluded               */
	abi_u8 comms;		/* 1: there are conditions on comms                  */
	abi_u8 exes;		/* 1: user space must judge each exec by its executable */
	abi_u8 children;	/* 1: a fork inherits the verdict on its parent's pid */
	abi_u8 pad[3];
};
_Static_assert(sizeof(struct filter_config) == 24, "filter_config has no hidden padding");

/*
 * Keys of the map marks. User space identifies cgroups by cgroup_key(), too. hierarchy: its number,
 * 0 is v2. id: the inode number of the cgroup's directory.
 */
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

	/* The bytes after the terminator are not always zero. */
	for (i = 0; i < COMM_BYTES && comm[i]; i++)
		h = (h ^ comm[i]) * 0x100000001b3ULL + 0x9e3779b97f4a7c15ULL;
	return 0xfffeULL << 48 | (h ^ h >> 23) >> 16;
}

/*
 * Set the addresses in p to those in file plus the load bias. p and file may be the same struct. If
 * two CPUs do this at the same time, both write the same values.
 */
static inline void py_proc_relocate(struct py_proc *p, const struct py_proc *file, abi_u64 bias)
{
	p->runtime = file->runtime + bias;
	p->tss = file->tss ? file->tss + bias : 0;
	p->interps = file->interps ? file->interps + bias : 0;
	p->current = file->current ? file->current + bias : 0;
	p->main_id = file->main_id ? file->main_id + bias : 0;
	p->collecting = file->collecting ? file->collecting + bias : 0;
	p->gc_stats = file->gc_stats ? file->gc_stats + bias : 0;
	p->gil = file->gil ? file->gil + bias : 0;
	p->none = file->none && file->none != PY_NONE_NOWHERE ? file->none + bias : file->none;
	p->epoch = file->epoch ? file->epoch + bias : 0;
	p->tls_index = file->tls_index ? file->tls_index + bias : 0;
}

/*
 * Value of the map watched, whose key is the tgid: processes that the user has chosen by -p or
 * as a command. User space inserts entries; on_fork() inserts those of children.
 */
enum watch {
	WATCH_CHILDREN = 1,	/* the process, and those that it forks */
	WATCH_ALONE = 2,	/* the process only */
};

/*
 * Value of the map known_exes, whose key is exe_key(): what user space has found in a known
 * executable. on_exec() admits a process that executes it, so that ticks walk the process from the
 * first one on. The interpreter is in the executable itself, or in a library. The slot (GOT entry)
 * in which the dynamic linker stores the address of a function that the executable imports shows
 * where the library was loaded.
 */
#define EXE_ID_WORDS 2
struct py_exe {
	abi_u64 phdr;		/* AT_PHDR minus the executable's load bias           */
	abi_u64 slot;		/* offset of the slot in the executable; 0: no library */
	abi_u64 symbol;		/* offset of the imported function in the library    */
	abi_u64 id_at;		/* offset in the library of its build id             */
	abi_u64 id[EXE_ID_WORDS];	/* the first bytes of the build id           */
	struct py_proc proc;	/* template: addresses without the load bias, state PY_PROC_OTHER */
};
_Static_assert(sizeof(struct py_exe) == 48 + sizeof(struct py_proc), "py_exe is packed");

/* Executables of the host and of the images of its containers. User space chooses which. */
#define MAX_EXES 4096

/*
 * Key of an executable: a hash of its inode number, its size and its first 256 bytes. The
 * kernel has these bytes at an exec (BINPRM_BUF_SIZE). All three are the same for the kernel
 * and for stat(2), and in every mount. The device is left out, because each container has
 * another one. Never 0.
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

/*
 * Key of the map other_exes: a file that user space has inspected, that is not Python and needs no
 * libpython. on_exec() sends no RAW_EXEC for it, so execs that are not recorded cost little. The
 * key contains everything that changes with the file, and its device, so that nobody can create a
 * file with the key of another. The value is not used. A process that executes such a file may load
 * a libpython later: its ticks ask what it is, as those of any process without an entry in
 * py_procs.
 */
struct exe_file {
	abi_u64 ino, size;
	abi_s64 ctime_s;	/* when the file or its metadata was last changed */
	abi_u32 ctime_ns;
	abi_u32 dev;		/* super_block.s_dev; 0: on a file system with subvolumes, whose
				 * files have other devices in stat(2) */
};
_Static_assert(sizeof(struct exe_file) == 32, "exe_file has no hidden padding");
#define EXE_DEV(major, minor) ((abi_u32)(major) << 20 | (minor))	/* include/linux/kdev_t.h */
/* s_magic of file systems with subvolumes, and statfs.f_type: include/uapi/linux/magic.h and
 * fs/bcachefs/bcachefs_format.h */
#define EXE_FS_BTRFS 0x9123683eu
#define EXE_FS_BCACHEFS 0xca451a4eu

/* Limit on entries; user space chooses them. 88 bytes each, when they are used. */
#define MAX_OTHER_EXES 16384

/* TACH's status byte (seeds: "Status Byte"; 32 is release-only). */
enum {
	STATUS_HAS_GIL = 1,
	STATUS_ON_CPU = 2,
	STATUS_UNKNOWN = 4,
	STATUS_GIL_REQUESTED = 8,
	STATUS_HAS_EXCEPTION = 16,
	STATUS_MAIN_THREAD = 32,
};

/*
 * Records of the ring buffer: which program sends each, when, and what user space does with it.
 * capture_take() receives them all.
 */
enum raw_kind {
	/*
	 * struct raw_sample. on_cpu_tick(), at a tick in an admitted process: the stack of the
	 * interrupted thread; on_event_*() (mode_event.bpf.c): of the thread in which an event of
	 * -e happens. User space names the frames and makes an event.
	 */
	RAW_SAMPLE = 1,
	/*
	 * struct raw_tick. on_cpu_tick(), on_event_*(): in a process that has no valid entry in
	 * py_procs, is UNDECIDED, or has loaded another libpython than the known one. User space
	 * judges the process by the user's conditions and inspects it.
	 */
	RAW_UNKNOWN = 2,
	/*
	 * struct raw_exec. on_exec(), when a process executes a file. User space ends the profile
	 * of the previous program. It profiles the new one if the BPF side has admitted it, and
	 * inspects it otherwise. Not sent for the files of the map other_exes.
	 */
	RAW_EXEC = 3,
	/*
	 * struct raw_lifecycle. on_fork(), when an admitted process forks. User space profiles
	 * the child with what it knows of the parent.
	 */
	RAW_FORK = 4,
	/*
	 * struct raw_lifecycle. on_exit(), when the last thread of an admitted or watched process
	 * exits. User space finishes the profile.
	 */
	RAW_EXIT = 5,
	/*
	 * struct raw_code. send_new_codes(), before the record whose stack has a code object that
	 * was not sent yet. User space parses the names and keeps them.
	 */
	RAW_CODE = 6,
	/*
	 * struct raw_tick. on_cpu_tick(), at a tick in a thread without a Python stack, if its
	 * process has mapped other code since it was inspected. User space inspects it again. With
	 * CHANGED_ASYNC: async_begin(), if asyncio has not been found in the process.
	 */
	RAW_CHANGED = 7,
	/*
	 * struct raw_cgroup. on_cgroup_mkdir(), when a cgroup is created. User space enters a
	 * mark for it, and remembers the path to name its container.
	 */
	RAW_CGROUP = 8,
	/*
	 * struct raw_sample. on_switch(), when a thread of an admitted process leaves its CPU;
	 * offcpu_scan_walk(), for threads that were off-CPU before the recording. User space
	 * keeps the stack: a wait begins.
	 */
	RAW_SWITCH_OUT = 9,
	/*
	 * struct raw_switch_in. on_switch(), when a thread gets a CPU after a RAW_SWITCH_OUT that
	 * was sent or lost. User space makes samples of the time between.
	 */
	RAW_SWITCH_IN = 10,
	/*
	 * struct raw_switch_in. on_switch(), when a thread has ended and leaves its CPU for the
	 * last time. User space forgets the thread.
	 */
	RAW_THREAD_EXIT = 11,
	/*
	 * struct raw_rename. on_rename(), when a thread of an admitted process gets a new name.
	 * User space uses it from then on.
	 */
	RAW_RENAME = 12,
	/*
	 * struct raw_extra. send_extra(), immediately before the RAW_SAMPLE or RAW_SWITCH_OUT
	 * with the same time, tid and CPU. User space adds it to the event of that record.
	 */
	RAW_EXTRA = 13,
	/*
	 * struct raw_no_stack. on_cpu_tick(), on_event_*(): in a thread of an admitted process that
	 * has no Python stack. User space makes an event with one frame that says so.
	 */
	RAW_NO_STACK = 14,
	/*
	 * struct raw_native (abi_native.h). send_native(), immediately before the RAW_SAMPLE,
	 * RAW_SWITCH_OUT or RAW_NO_STACK with the same time, tid and CPU, with --native only. User
	 * space merges its frames into that record's stack.
	 */
	RAW_NATIVE = 15,
	/*
	 * abi_memory.h. struct raw_sample: memory that a process got. User space keeps the address
	 * with the stack.
	 */
	RAW_ALLOC = 16,
	/* struct raw_free: a block was freed. */
	RAW_FREE = 17,
	/* struct raw_moved: pages get another address. */
	RAW_MOVED = 18,
	/* struct raw_gc: garbage was collected. */
	RAW_GC_DONE = 19,
	/*
	 * struct raw_async (abi_await.h). async_send(), immediately before the record with the same
	 * time, tid and CPU, with --async only. User space puts its frames in place of the event
	 * loop's.
	 */
	RAW_ASYNC = 20,
	/*
	 * struct raw_lifecycle. on_exec(), in place of RAW_EXEC, when a process that user space
	 * tracks executes a file of the map other_exes. User space ends the profile of the previous
	 * program, and stops tracking the process.
	 */
	RAW_EXEC_OTHER = 21,
	/*
	 * struct raw_head. on_switch(), in place of RAW_SWITCH_OUT, if the thread has the stack of
	 * its last record. stack_ns is the time of the RAW_SWITCH_OUT that was sent with that
	 * stack; nframes is 0. User space adds the frames and treats it as a RAW_SWITCH_OUT.
	 */
	RAW_SWITCH_SAME = 22,
	/*
	 * struct raw_task (abi_await.h). In place of RAW_ASYNC where user space reads who awaits
	 * the task (CPython 3.8 to 3.13).
	 */
	RAW_TASK = 23,
};

/* RAW_SWITCH_OUT: why the thread left its CPU. */
enum raw_why {
	WHY_RUNNABLE = 1,	/* preempted: it is runnable, but another thread has the CPU */
	WHY_BLOCKED = 2,
};

/*
 * raw_header.sysno: the system call that the thread waits in, or one of these, as determined by
 * wait_of() in kcompat.bpf.h. No system call has such a high number.
 */
enum raw_wait {
	RAW_WAIT_STOPPED = 0xff00,	/* stopped by a signal, whose number is added; 0: unknown */
	RAW_WAIT_TRACED = 0xff80,	/* stopped by a tracer (ptrace) */
	RAW_WAIT_FROZEN = 0xff81,	/* by the freezer of its cgroup, or of the system */
	RAW_WAIT_FAULT = 0xff82,	/* in a page fault */
	RAW_SYSNO_NONE = 0xffff,	/* in no system call; the kernel does not show the reason */
};

/* Returns true if the thread is held: it waits for nothing, but something keeps it from running. */
static inline abi_u32 raw_wait_is_held(abi_u16 sysno)
{
	return sysno >= RAW_WAIT_STOPPED && sysno <= RAW_WAIT_FROZEN;
}

/* Slots for hashes of code objects that were sent; user space may set another number. */
#define SENT_SLOTS 65536

/* Every record of the ring buffer starts like this. */
struct raw_header {
	abi_u8 kind;		/* enum raw_kind */
	union {
		abi_u8 why;	/* RAW_SWITCH_OUT: enum raw_why; RAW_CHANGED: CHANGED_ASYNC */
		abi_u8 every;	/* RAW_SAMPLE of a tick, RAW_NO_STACK: the number of ticks it
				 * stands for; 0 is 1 */
	};
	union {
		abi_u16 sysno;	/* RAW_SWITCH_OUT: the thread's system call, or enum raw_wait */
		abi_u16 rate_hz;	/* RAW_SAMPLE of a tick, RAW_NO_STACK: its CPU's nominal
					 * rate; 0: unknown */
	};
	abi_u32 tgid;
	abi_u64 time_ns;	/* CLOCK_MONOTONIC */
	abi_u64 start_ns;	/* group leader's start_boottime: the process' identity */
};

/* RAW_UNKNOWN, RAW_CHANGED */
#define CHANGED_ASYNC 1		/* h.why of a RAW_CHANGED: only asyncio is looked for (--async) */
struct raw_tick {
	struct raw_header h;
	abi_u64 exec_pages;	/* mm->exec_vm of the process at this tick */
	abi_u64 ticks;		/* RAW_CHANGED: py_proc.ticks before this tick */
	struct exe_file file;	/* RAW_UNKNOWN: what the process executes */
};

enum raw_sample_flags {
	RAW_TRUNCATED = 1,	/* the stack is deeper than the part that was walked */
	RAW_UNREADABLE = 2,	/* a frame could not be read; the frames in the record are valid */
	RAW_GC = 4,		/* the thread is collecting garbage */
	RAW_BROKEN_END = 8,	/* the chain of frames ended without its last shim */
	RAW_NOT_WALKED = 16,	/* RAW_SWITCH_OUT without a stack: no budget, or the thread state
				 * was unreadable or uncertain                       */
	RAW_WEIGHED = 32,	/* RAW_ALLOC: a struct raw_memory follows the frames      */
	RAW_TRACED = 64,	/* a struct raw_trace follows, as the record's last part */
	RAW_SWITCHING = 128,	/* greenlet switches: the frames in the record are valid, but
				 * there may be others between and outside them */
};

/*
 * The thread context as the thread has it in its memory (OTEP 4947), so everything except
 * attrs_bytes, which is cut to the space, may be anything. Sent if valid is 1 and an id is not 0.
 */
#define RAW_TRACE_HEAD 28
#define RAW_TRACE_ATTRS 612	/* OTEP 4947 limits a record to 640 bytes */
struct raw_trace {
	abi_u8 trace_id[16];
	abi_u8 span_id[8];
	abi_u8 valid;		/* 1 */
	abi_u8 flags;		/* W3C trace flags */
	abi_u8 attrs_bytes[2];	/* a number, little endian */
	abi_u8 attrs[RAW_TRACE_ATTRS];	/* each: key index, length, bytes */
};
_Static_assert(sizeof(struct raw_trace) == RAW_TRACE_HEAD + RAW_TRACE_ATTRS, "raw_trace is packed");

/*
 * A frame: its code object, its position there, and the code object's fingerprint. The kind is in
 * the upper bits of lasti: no code object has 128 MiB of bytecode, while the address of an
 * instruction in the kernel uses all bits of code. The kind of a Python frame is 0, so the walk
 * does not write it.
 */
struct raw_frame {
	abi_u64 code;		/* address of the PyCodeObject; other kinds: of the instruction */
	abi_u32 lasti;		/* byte offset into the bytecode, RAW_LASTI_LINE and a line, or
				 * RAW_LASTI_NONE; and the kind */
	abi_u32 id;		/* code_identity(); 0: unreadable, or a frame of another kind */
};
#define RAW_KIND_SHIFT 28
#define RAW_LASTI_NONE ((1u << RAW_KIND_SHIFT) - 1)
/*
 * A frame of compiled code (Nuitka) executes no bytecode, and stores its line itself: from here on,
 * but below RAW_LASTI_NONE, lasti is that line plus RAW_LASTI_LINE.
 */
#define RAW_LASTI_LINE (1u << (RAW_KIND_SHIFT - 1))

/* The lasti of a frame that stores this line itself; RAW_LASTI_NONE: it has none. */
static inline abi_u32 raw_lasti_of_line(abi_u32 line)
{
	return line && line < RAW_LASTI_LINE - 1 ? RAW_LASTI_LINE + line : RAW_LASTI_NONE;
}

/* Returns true if lasti, of a Python frame, is such a line. */
static inline int raw_lasti_is_line(abi_u32 lasti)
{
	return lasti > RAW_LASTI_LINE && lasti < RAW_LASTI_NONE;
}

/* Returns an enum frame_kind; from a damaged record also another number. */
static inline abi_u32 raw_frame_kind(const struct raw_frame *f)
{
	return f->lasti >> RAW_KIND_SHIFT;
}

/*
 * A value in place of a fingerprint (fingerprints are odd): the code object is CPython's own
 * _Py_InitCleanup (3.13+, v3.13.0 Python/specialize.c). Its frame calls __init__ where that call is
 * specialised. No traceback shows the frame, and our stacks do not contain it.
 */
#define CODE_ID_HIDDEN 2

/* struct raw_sample without its frames. User space keeps it for a thread's next record. */
struct raw_head {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 nframes;
	abi_u8 status;		/* STATUS_* */
	abi_u8 flags;		/* enum raw_sample_flags */
	abi_u16 cpu;
	abi_u16 gc_at;		/* RAW_GC: index of the frame that <GC> is inserted before */
	abi_u64 stack_ns;	/* RAW_SWITCH_SAME: time_ns of the record with this stack; else 0 */
};

/* RAW_ALLOC: what the process got. It follows the frames. */
struct raw_memory {
	abi_u64 addr;
	abi_u64 bytes;		/* of the block; ALLOC_PAGE: of a base page */
	abi_u64 weight;		/* bytes that it stands for; ALLOC_PAGE: if it is a base page */
};

/*
 * RAW_SAMPLE, RAW_SWITCH_OUT, RAW_ALLOC: the fields of struct raw_head at the same offsets, and
 * frames.
 */
struct raw_sample {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 nframes;
	abi_u8 status;
	abi_u8 flags;
	abi_u16 cpu;
	abi_u16 gc_at;
	abi_u64 stack_ns;
	struct raw_frame frames[ABI_MAX_FRAMES];	/* innermost first; nframes sent */
	struct raw_memory memory_room;	/* so that one also fits after ABI_MAX_FRAMES frames, */
	struct raw_trace trace_room;	/* and a struct raw_trace */
};
_Static_assert(sizeof(struct raw_header) == 24, "raw_header has no hidden padding");
_Static_assert(sizeof(struct raw_frame) == 16, "raw_frame has no hidden padding");
_Static_assert(sizeof(struct raw_head) == 48, "raw_head has no hidden padding");
_Static_assert(sizeof(struct raw_sample) == 48 + 16 * ABI_MAX_FRAMES +
	       sizeof(struct raw_memory) + sizeof(struct raw_trace), "raw_sample is packed");

/*
 * The time in nanoseconds that a tick's RAW_SAMPLE stands for: the nominal period of its CPU times
 * the number of ticks. 0: unknown. At most 4.29 s, the most that fits.
 */
static inline abi_u32 raw_tick_ns(const struct raw_header *h)
{
	abi_u64 ns = h->rate_hz ? 1000000000ull * (h->every ? h->every : 1) / h->rate_hz : 0;

	return ns < 0xffffffff ? (abi_u32)ns : 0xffffffff;
}

/*
 * Size in bytes of a RAW_SAMPLE, RAW_SWITCH_OUT or RAW_ALLOC, without a struct raw_trace, which
 * comes next.
 */
static inline abi_u64 raw_sample_bytes(abi_u16 nframes, abi_u8 flags)
{
	return sizeof(struct raw_head) + nframes * sizeof(struct raw_frame) +
	       (flags & RAW_WEIGHED ? sizeof(struct raw_memory) : 0);
}

/* The part after the frames of a record that has RAW_WEIGHED. raw must be complete. */
static inline const struct raw_memory *raw_sample_memory(const struct raw_sample *raw)
{
	return (const struct raw_memory *)(raw->frames + raw->nframes);
}

/*
 * RAW_EXTRA: the type of the thread's exception, and the kernel's stack. Sent only if the
 * recording asks for one of them and the thread has it.
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

/* RAW_NO_STACK */
struct raw_no_stack {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;	/* 0 if the thread has no PyThreadState */
	abi_u16 cpu;
	abi_u8 status;		/* STATUS_* */
	abi_u8 end;		/* CNT_NATIVE_THREAD, CNT_NO_FRAMES or CNT_NOT_READY */
	abi_u32 pad;
	abi_u8 comm[COMM_BYTES];	/* the thread's; NUL-terminated, any bytes */
};
_Static_assert(sizeof(struct raw_no_stack) == 40 + COMM_BYTES, "raw_no_stack is packed");

/* RAW_SWITCH_IN; RAW_THREAD_EXIT, where all fields after tid are 0 */
struct raw_switch_in {
	struct raw_header h;	/* time_ns: when the thread got a CPU, or ended      */
	abi_u32 tid;
	abi_u32 out_lost;	/* 1: the RAW_SWITCH_OUT of out_ns was lost          */
	abi_u64 out_ns;		/* when the thread left its CPU (CLOCK_MONOTONIC); 0: unknown */
	abi_u64 wake_ns;	/* when it became runnable; 0: unknown               */
};
_Static_assert(sizeof(struct raw_switch_in) == 48, "raw_switch_in has no hidden padding");

/*
 * A thread of an admitted process. Not in the ring buffer: user space reads the list of all threads
 * from the task iterator (on_task()) when a recording that has waits starts and once a second. It
 * walks those that are off-CPU and have no RAW_SWITCH_OUT, reads the list again, and drops the
 * stacks of threads that have run meanwhile.
 */
struct raw_offcpu_scan {
	abi_u64 time_ns;
	abi_u64 start_ns;	/* start_boottime of the process */
	abi_u64 thread_pointer;
	abi_u64 switches;	/* how often the thread has left a CPU, or executed a program */
	abi_u64 left_ns;	/* of one that is off-CPU: when it left its CPU (CLOCK_MONOTONIC,
				 * to some ms); 0: unknown */
	abi_u64 sp, args[2];	/* its stack pointer; first arguments of its system call, */
	abi_u64 fourth;		/* and the fourth: a futex wait's timeout */
	abi_u64 pc, fp, lr;	/* as in struct user_regs, of one that is off-CPU */
	abi_u32 tgid, tid;
	abi_u16 sysno;		/* as raw_header.sysno */
	abi_u8 why;		/* enum raw_why; 0: the thread is on-CPU */
	abi_u8 out_sent;	/* 1: its RAW_SWITCH_OUT was sent, or user space has walked it */
	abi_u32 nr_threads;	/* of the process */
	abi_u8 comm[COMM_BYTES];	/* the thread's; NUL-terminated, any bytes */
};
_Static_assert(sizeof(struct raw_offcpu_scan) == 128, "raw_offcpu_scan has no hidden padding");

/*
 * Value of the map wait_slots: a thread that is off-CPU. Its index is the tid modulo the number
 * of slots, a power of two; threads that share a slot overwrite each other. Only the BPF side
 * uses it: see wait_slots.bpf.h.
 */
#define WAIT_SLOTS 32768
struct wait_slot {
	abi_u32 tid;		/* 0: the slot is free                               */
	abi_u8 out_lost;	/* 1: the RAW_SWITCH_OUT was lost                    */
	abi_u8 pause;		/* number of switch-outs without a stamp after the last one in
				 * vain: see pystamp.bpf.h */
	abi_u8 pause_left;	/* ... and how many of them are left */
	abi_u8 pad;
	abi_u64 out_ns;		/* when it left its CPU; 0: no RAW_SWITCH_IN must be sent */
	abi_u64 wake_ns;	/* when it became runnable; 0: it is blocked         */
	abi_u64 stamp;		/* of the stack in its last record; 0: none          */
	abi_u64 stack_ns;	/* when that stack was sent                          */
};

/*
 * RAW_CODE: the snapshot of a code object, four pieces of the process' memory. User space parses
 * them like memory that it reads from a live process. So the names are known after the process has
 * ended, and the BPF side does not need to know the layout of strings.
 */
#define RAW_CODE_HEAD 256	/* PyCodeObject from its start            */
#define RAW_CODE_NAME 384	/* the qualified name's object            */
#define RAW_CODE_FILE 512	/* the file name's object                 */
#define RAW_CODE_TABLE 24576	/* limit on the line table's object; modules have the longest */
#define RAW_CODE_TABLE_MIN 512	/* minimum that is read even if the line table is shorter */
struct raw_piece {
	abi_u64 addr;
	abi_u32 len;		/* bytes that are valid; 0: unreadable */
	abi_u32 pad;
};
struct raw_code {
	struct raw_header h;
	abi_u64 code;		/* address of the PyCodeObject */
	abi_u32 id;		/* code_identity() */
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
 * The cgroups, user and pid of a process according to the kernel. When user space gets the record,
 * the process may have ended, and is no longer in /proc.
 */
#define RAW_CGROUPS 14		/* v2 has one hierarchy, v1 at most 13 */
struct raw_origin {
	abi_u64 cgroups[RAW_CGROUPS];	/* cgroup_key() of each; cgroup_cnt are valid */
	abi_u32 cgroup_cnt;
	abi_u32 uid;		/* the effective uid in the initial user namespace   */
	abi_u32 ns_tgid;	/* tgid in its own pid namespace; 0: that is the host's */
	abi_u32 pad;
};
_Static_assert(sizeof(struct raw_origin) == 8 * RAW_CGROUPS + 16, "raw_origin is packed");

/* RAW_EXIT, where all fields after h are 0; RAW_EXEC_OTHER, with ident alone; RAW_FORK */
struct raw_lifecycle {
	struct raw_header h;	/* RAW_FORK: of the child; otherwise of the process  */
	abi_u32 parent_tgid;
	abi_u32 admitted;	/* 1: the child has a copy of its parent's entry in py_procs;
				 * 0: the map was full                               */
	abi_u64 ident;		/* the child's py_proc.ident; RAW_EXEC_OTHER: raw_exec.program */
	abi_u32 ns_tgid;	/* the child's, as raw_origin.ns_tgid                */
	abi_u32 other_cgroups;	/* 1: the child is in other cgroups than its parent  */
};

/* RAW_EXEC: what user space needs of the process, which may have ended when the record arrives. */
#define RAW_COMM 16
#define RAW_COMMAND 512
struct raw_exec {
	struct raw_header h;
	abi_u64 exe;		/* exe_key(); 0: unknown                              */
	abi_u64 ident;		/* py_proc.ident if the BPF side admitted the process, else 0 */
	abi_u64 bias;		/* load bias of the executable, if admitted */
	abi_u64 program;	/* mm_struct.start_stack: as proc_stat.program (host/proc.h) */
	abi_u32 command_len;	/* bytes of all arguments with their NULs; may be > RAW_COMMAND */
	abi_u8 unselected;	/* UNSELECTED_*; UNDECIDED alone: it may be admitted */
	abi_u8 pad[3];
	struct exe_file file;	/* the executable */
	struct raw_origin origin;
	abi_u8 comm[RAW_COMM];
	abi_u8 command[RAW_COMMAND];	/* the arguments, each with its NUL */
};
_Static_assert(sizeof(struct raw_exec) ==
	       32 + 32 + sizeof(struct exe_file) + sizeof(struct raw_origin) + RAW_COMM +
		       RAW_COMMAND, "raw_exec is packed");

/* RAW_RENAME */
struct raw_rename {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 pad;
	abi_u8 comm[RAW_COMM];	/* NUL-terminated; any bytes */
};
_Static_assert(sizeof(struct raw_rename) == 32 + RAW_COMM, "raw_rename is packed");

/* RAW_CGROUP */
#define RAW_CGROUP_PATH 1024	/* a longer path is not sent */
struct raw_cgroup {
	struct raw_header h;	/* tgid: the process that created it */
	abi_u64 id;		/* with hierarchy: see cgroup_key() */
	abi_u32 hierarchy;
	abi_u32 pad;
	abi_u8 path[RAW_CGROUP_PATH];	/* from the root of its hierarchy; NUL-terminated */
};
_Static_assert(sizeof(struct raw_cgroup) == 40 + RAW_CGROUP_PATH, "raw_cgroup is packed");

/*
 * Where the kernel has mapped all physical memory. User space finds it with find_direct_map(),
 * which leaves it in the variable direct_map; see bpf/direct.bpf.h.
 */
struct direct_map {
	abi_u64 base;		/* address of physical address 0; 0: unknown */
	abi_u64 encrypted;	/* bit that is set in all entries of page tables, but is not part
				 * of an address: AMD's memory encryption; 0: none */
};
/* What find_direct_map() is to try. */
struct direct_trial {
	abi_u64 addr, word;	/* in the caller's memory, at the beginning of a page */
	abi_u64 below;		/* the base: how many GiB below the highest possible one */
	abi_u64 encrypted;	/* of struct direct_map */
};

/*
 * The array ended_procs: processes whose last thread has exited. They no longer have an entry in
 * py_procs, but may still have ticks. The slot of a process' tgid has its start time, whose lowest
 * bit says whether it was profiled.
 */
#define ENDED_SLOTS 4096
#define ENDED_PROFILED 1ull

/*
 * The timer of one CPU's ticks. User space changes its period at random, and its rate at any time;
 * it writes the change here, and each change restarts the timer. CPUs whose period_ns is 0 have the
 * period cfg_period_ns. CPUs from TICK_CPUS_MAX on share the slot TICK_CPUS_MAX: their periods do
 * not change at random.
 */
#define TICK_CPUS_MAX 1024
#define TICK_SLOTS (TICK_CPUS_MAX + 1)
#define THINNING_MAX 255	/* fits raw_header.every */
#define TICK_PERIOD_CHANGES 1	/* in period_ns: user space is writing the struct */
struct tick_period {
	abi_u64 since_ns;	/* when the timer was last restarted (CLOCK_MONOTONIC) */
	abi_u64 before_ns;	/* the period before since_ns; 0: there was none */
	abi_u64 period_ns;	/* the period since since_ns */
	abi_u32 rate_hz;	/* the nominal rate, for raw_header.rate_hz; while it changes,
				 * the higher of the two */
	abi_u32 pad;
};

static inline abi_u32 tick_slot(abi_u32 cpu)
{
	return cpu < TICK_CPUS_MAX ? cpu : TICK_CPUS_MAX;
}

/*
 * Counters per CPU: every way in which a tick can end (CNT_IDLE to CNT_UNWANTED, and the losses up
 * to CNT_BUSY), and every loss. User space adds them up over all CPUs for the summary and
 * session.json.
 */
enum counter {
	CNT_TICK,		/* ticks delivered                                   */
	CNT_SAMPLE,		/* a RAW_SAMPLE was sent. Next to CNT_TICK: one cache line */
	CNT_IDLE,		/* the CPU was idle                                  */
	CNT_KERNEL_THREAD,
	CNT_UNSELECTED,		/* the process is excluded, or was not chosen        */
	CNT_OTHER,		/* the process is PY_PROC_OTHER                      */
	CNT_UNKNOWN,		/* the process is not inspected yet; a RAW_UNKNOWN was sent */
	CNT_NOT_READY,		/* interpreter not initialised, or thread pointer not set yet */
	CNT_ENDED,		/* its last thread has exited: the kernel is cleaning up */
	CNT_NATIVE_THREAD,	/* the thread has no PyThreadState                   */
	CNT_NO_FRAMES,		/* its PyThreadState has no Python frame             */
	CNT_THINNED,		/* not walked: see tick_thinning */
	CNT_UNWANTED,		/* samples that the mode excludes */
	CNT_TRUNCATED,		/* samples with RAW_TRUNCATED                        */
	CNT_UNREADABLE_FRAME,	/* samples with RAW_UNREADABLE                       */
	CNT_BROKEN_END,		/* samples with RAW_BROKEN_END                       */
	CNT_SWITCHING,		/* samples with RAW_SWITCHING                        */
	CNT_ENTERING,		/* the newest frame was incomplete: the caller's stack, or none */
	CNT_MISSED,		/* ticks that did not happen while one thread kept the CPU */
	CNT_CODE,		/* code objects sent                                 */
	CNT_CODE_LOST,		/* not lost: a later sample sends it, or user space reads it */
	CNT_SENT_EVICTED,	/* code objects that may be sent again: slot overwritten */
	CNT_CACHE_EVICTED,	/* fingerprints that must be read again: slot overwritten */
	CNT_NO_BYTECODE,	/* frames without a line: the thread's bytecode was unreadable */
	CNT_CUT_OFF,		/* walks cut off by the time limit                       */
	CNT_UNVERIFIED_CODE,	/* frames whose code object could not be read        */
	CNT_ADMITTED_AT_EXEC,	/* processes of known executables                    */
	CNT_SWITCH,		/* a thread of a Python process left its CPU           */
	CNT_WAIT,		/* ... and a RAW_SWITCH_OUT or RAW_SWITCH_SAME was sent */
	CNT_WAIT_SAME,		/* ... and it was a RAW_SWITCH_SAME                  */
	CNT_WAIT_NOT_PYTHON,	/* ... and it had no Python stack                    */
	CNT_WAIT_UNWANTED,	/* ... and the mode excludes the wait */
	CNT_WAIT_NOT_WALKED,	/* ... and its stack is the last one: no budget was left */
	CNT_WAIT_SLOT_TAKEN,	/* waits without a wake-up time: slot overwritten    */
	CNT_NO_STACK,		/* ticks without a Python stack for which a RAW_NO_STACK was sent */
	CNT_FAULT,		/* page faults that a perf event has chosen (--mode mem)      */
	CNT_FAULT_OTHER,	/* ... of processes that are not recorded                    */
	CNT_FAULT_NOT_WALKED,	/* ... without a stack: no budget was left                   */
	CNT_ALLOC,		/* RAW_ALLOC that were sent                                  */
	CNT_GC_DONE,		/* RAW_GC_DONE that were sent                                */
	CNT_EVENT,		/* events of -e                                              */
	CNT_EVENT_OTHER,	/* ... of processes that are not recorded                    */
	CNT_EVENT_UNKNOWN,	/* ... of one that is not inspected yet; a RAW_UNKNOWN was sent */
	CNT_EVENT_PASSED,	/* ... between those selected by -c */
	/*
	 * From here on: losses, which struct loss_table has by process and thread, too. User space
	 * has their names in resolve/losses.c.
	 */
	CNT_LOSSES,
	CNT_TSTATE_UNREADABLE = CNT_LOSSES,	/* PyThreadState could not be read   */
	CNT_TSTATE_UNCERTAIN,	/* the thread may run one of several interpreters    */
	CNT_RING_FULL,		/* ring buffer full */
	CNT_BUSY,		/* a non-maskable tick interrupted on_switch()       */
	CNT_WAIT_UNREADABLE,	/* a switch-out's stack: thread state unreadable     */
	CNT_WAIT_LOST,		/* a RAW_SWITCH_OUT: ring buffer full                */
	CNT_SWITCH_IN_LOST,	/* a RAW_SWITCH_IN or RAW_THREAD_EXIT: ring buffer full */
	CNT_EXTRA_LOST,		/* a RAW_EXTRA; its stack may have been sent */
	CNT_NATIVE_LOST,	/* a RAW_NATIVE; the same                            */
	CNT_ASYNC_LOST,		/* a RAW_ASYNC; the same                             */
	CNT_ALLOC_LOST,		/* a RAW_ALLOC: ring buffer full                     */
	CNT_FREE_LOST,		/* a RAW_FREE or RAW_MOVED: ring buffer full         */
	CNT_BLOCK_LOST,		/* a block: live_blocks or heap_calls full */
	CNT_EVENT_BEYOND,	/* an event: no budget was left                      */
	CNT_LIFECYCLE_LOST,	/* a RAW_EXEC, RAW_FORK or RAW_EXIT: ring buffer full */
	CNT_PROCS_FULL,		/* a process did not fit into py_procs               */
	CNT_MAX,
};

/*
 * Value of the map losses, whose key is the CPU: which threads and processes lost something there.
 * A thread's losses are in one of the first LOSS_SLOTS slots; if none is free, the slot of its
 * process, among the others, counts them. If there is none either, only the counters have the loss.
 * The map is in user space's memory (capture/loss_table.c), so nothing is read without a loss.
 */
#define LOSS_KINDS (CNT_MAX - CNT_LOSSES)
#define LOSS_SLOTS 128		/* of threads, and as many of processes; a power of two */
#define LOSS_KEPT_NS 5000000000ull	/* a slot without a new loss for this long may be reused */
struct loss_slot {
	abi_u64 start_ns;	/* of the process, as raw_header.start_ns */
	abi_u64 last_ns;	/* when the last loss was (CLOCK_MONOTONIC); 0: never used */
	abi_u32 tgid;
	abi_u32 tid;		/* 0: of threads that have no slot of their own */
	abi_u32 cnt[LOSS_KINDS];	/* by enum counter, from CNT_LOSSES on */
};
struct loss_table {
	abi_u64 seq;		/* changes with each loss */
	abi_u32 busy;		/* 1: a program on this CPU is writing; one that interrupts it
				 * records nothing */
	abi_u32 pad;
	struct loss_slot slots[2 * LOSS_SLOTS];
};

/*
 * Value of the per-CPU map sample_times: how long samples took on that CPU, from the decision to
 * walk to the last byte sent, without stalls (see STALL_NS in pyscratch.bpf.h). cnt is a histogram
 * with four classes for each power of two of nanoseconds.
 */
#define SAMPLE_TIME_CLASSES 96
struct sample_times {
	abi_u64 max_ns;
	abi_u64 sum_ns;
	abi_u64 stalls, stalled_ns;	/* number of stalls, and their total time */
	abi_u64 cnt[SAMPLE_TIME_CLASSES];
};

/*
 * The class of a time in nanoseconds. Classes: 0, 1, ..., 7, 8-9, 10-11, 12-13, 14-15, 16-19, ...;
 * the last one has no upper end.
 */
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
 * A hash that distinguishes a name from another one at the same address. It covers the length, the
 * first bytes at str_data (head) and, of a longer string, the last ones (tail). Code objects
 * without a version (3.11) need it, because a new code object may have all the addresses of an old
 * one. (CPython seldom computes its own hash of a qualified name.) Never 0, which stands for an
 * unreadable name.
 *
 * The hash is a sum, so the CPU multiplies several words at a time. The factors are random numbers:
 * with related ones, changes of two words would cancel each other. Before it is multiplied, a
 * word's upper half is added to its lower one, because a factor only moves bits up.
 *
 * Where the string ends, a word is cut by a mask and not by branches, because the verifier follows
 * each branch. Words are skipped two at a time, as most names have 16 bytes or less.
 */
#define STRING_HEAD 48
#define STRING_TAIL 32
#define STRING_WORDS ((STRING_HEAD + STRING_TAIL) / 8)
/* A word of a mask, unaligned. */
static inline __attribute__((always_inline)) abi_u64 string_mask(const unsigned char *at)
{
#ifdef __bpf__	/* clang would load it byte by byte */
	return *(const abi_u64 *)at;
#else
	abi_u64 mask;

	__builtin_memcpy(&mask, at, sizeof(mask));
	return mask;
#endif
}

/* Always inline: the verifier does not allow one instruction to load from two kinds of memory. */
static inline __attribute__((always_inline)) abi_u32
string_hash(abi_u64 length, const abi_u64 *head, const abi_u64 *tail)
{
	const abi_u64 factors[STRING_WORDS] = {
		0x84dc9072743fc897, 0x928be3ed19c72903, 0x978e3fb32b64b5ef, 0xabc4ac24b345f927,
		0xbd70c34f85212905, 0xfee169f1cd3f199f, 0xd9c9821134c764d9, 0xfcf0e99a35374271,
		0xadab27ddb3dec18d, 0xcf637d68744cccff,
	};
	/* From masks + n on: the mask of the first STRING_HEAD - n bytes. */
	static const unsigned char masks[2 * STRING_HEAD] = { [0 ... STRING_HEAD - 1] = 0xff };
	abi_u64 h = length, left_out = 0, word;
	const unsigned char *mask;
	int i;

	if (__builtin_expect(length > STRING_HEAD, 0))
		for (i = 0; i < STRING_TAIL / 8; i++)
			h += (tail[i] ^ tail[i] >> 32) * factors[STRING_HEAD / 8 + i];
	else
		left_out = STRING_HEAD - length;
	__asm__("" : "+r"(left_out));	/* otherwise clang adds STRING_HEAD to masks first */
	mask = masks + left_out;
	for (i = 0; i < STRING_HEAD / 8; i++) {
		if ((i == 2 && left_out >= STRING_HEAD - 16) ||
		    (i == 4 && left_out >= STRING_HEAD - 32))
			break;
		word = head[i] & string_mask(mask + 8 * i);
		h += (word ^ word >> 32) * factors[i];
	}
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL;
	return (abi_u32)(h >> 32) | 1;
}

/* In place of co_version: a hash of the string_hash() of both names. 0: one was unreadable. */
static inline abi_u32 names_hash(abi_u32 name, abi_u32 file)
{
	return name && file ? (name * 31 + file) | 1 : 0;
}

/*
 * The fingerprint of a code object: of the addresses of its names and its line table, its first
 * line and its version (or names_hash()). The BPF side computes it during the walk, and user
 * space again when it reads the names. If both are equal, the names belong to this code object.
 * Odd, so never 0.
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
