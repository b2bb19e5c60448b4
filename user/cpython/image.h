/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image.h - determines from an ELF file (python, libpython, a program that embeds it) what CPython
 * it contains.
 *
 * All knowledge of CPython versions is in user/cpython; the rest of the program uses offsets. The
 * file is hostile input. Addresses are virtual addresses of the file: the load bias of a process
 * must be added.
 */
#ifndef TACHBPF_CPYTHON_IMAGE_H
#define TACHBPF_CPYTHON_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/abi_async.h"

/* Where a code object keeps its names, and the layout of str and bytes objects. */
struct py_object_layout {
	uint16_t bytes_size;		/* PyBytesObject.ob_size */
	uint16_t bytes_data;		/* ob_sval */
	uint16_t str_length;		/* PyASCIIObject.length */
	uint16_t str_state;
	uint16_t str_ascii_data;	/* compact ASCII data: sizeof(PyASCIIObject) */
	uint16_t str_compact_data;	/* other compact data: sizeof(PyCompactUnicodeObject) */
	uint32_t str_kind_mask;
	uint8_t str_kind_shift;
	uint32_t str_compact_bit, str_ascii_bit;
	uint8_t minor;			/* 3.minor: line table and cache dialect */
	/* For python_threads.h, attributes.h; 0: unknown, or not needed. */
	uint32_t interp_modules;	/* PyInterpreterState: sys.modules */
	uint16_t type_cached_keys;	/* PyHeapTypeObject.ht_cached_keys, with a head of 16
					 * bytes (3.11+) */
	uint16_t ts_native_id;		/* PyThreadState.native_thread_id (3.13+), for tasks.h */
	uint16_t ts_running_loop;	/* _PyThreadStateImpl.asyncio_running_loop (3.13) */
	uint16_t co_executors;		/* PyCodeObject: its traces, NULL without a JIT (3.14+) */
};

/* Offsets in _PyRuntimeState; ABI_NO_OFF: the field is not there in this version. */
struct py_runtime_layout {
	uint16_t interp_head;
	uint16_t tss_key;	/* Py_tss_t: int initialized, then the key */
	uint16_t gil;		/* tstate_current */
	uint16_t collecting;
	uint16_t main_thread;	/* the main thread's pthread_t */
	uint16_t ceval_gil;	/* the GIL (3.7 to 3.11) */
	uint16_t gc_stats;	/* counters of collections (3.7, 3.8) */
};

struct cpython_image {
	uint8_t major, minor, micro;
	char version[24];		/* "3.13.0", "3.15.0rc1" */
	bool free_threaded;
	bool debug;			/* Py_DEBUG, if symbols show it */
	bool trace_refs;		/* Py_TRACE_REFS, if it changes objects (up to 3.12) */
	int8_t mutexes_extra;		/* libc_mutexes_extra() */
	uint64_t first_load_vaddr;	/* page-aligned p_vaddr of the PT_LOAD with offset 0 */
	uint64_t runtime_vaddr;		/* this and the following: see struct py_proc */
	uint64_t tss_vaddr, interps_vaddr, current_vaddr, collecting_vaddr, main_id_vaddr;
	uint64_t none_vaddr;		/* &_Py_NoneStruct; 0: not found */
	uint64_t gc_stats_vaddr;	/* see struct py_proc; 0: none, or in each interpreter */
	uint64_t gil_vaddr;		/* see struct py_proc; 0: each interpreter has a pointer */
	uint64_t epoch_vaddr;		/* see struct py_proc; 0: none, or not found */
	uint8_t tstate_how;		/* enum py_tstate_how */
	bool needs_self;		/* needs self_below to find it: see libc.h */
	int64_t tls_off;		/* see struct py_proc */
	uint64_t tls_index_vaddr;	/* TLS_DTV, TLS_DESC */
	struct py_layout layout;
	struct py_object_layout objects;
	struct py_runtime_layout rt;
	struct async_coroutine_layout coro;	/* zero below 3.14 */
	bool program;			/* in an executable, not in a library */
	bool needs_glibc, needs_musl;	/* C libraries that the file names */
};

/*
 * Inspect the ELF file behind fd, which stays open; its file offset is not used. 0: *img is filled.
 * -ENOENT: it contains no CPython. -ENOTSUP: an unsupported CPython; why has the version and the
 * reason ("CPython 3.9.18 is not supported ..."); version, major and minor are set if known.
 * -EXDEV: a program that is linked to a libpython and has copies of its variables: runtime_vaddr
 * and none_vaddr (0: not copied) replace the library's own. -ENOEXEC: not a 64-bit little-endian
 * ELF file, so its content is unknown. Other -errno: unreadable. why is a message for all errors.
 */
int cpython_image_read(int fd, struct cpython_image *img, char *why, size_t why_size);

#endif
