/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image.h - what one ELF file (python, libpython, a program that embeds it) says
 * about the CPython in it.
 *
 * All knowledge of CPython versions is in user/cpython; the rest of the program
 * sees offsets. The file is hostile input. Addresses are the file's own virtual
 * addresses: add the load bias of a process.
 */
#ifndef TACHBPF_CPYTHON_IMAGE_H
#define TACHBPF_CPYTHON_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Where names are in a code object and how strings and bytes are laid out. */
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
};

struct elf_file;

/* Offsets in _PyRuntimeState; ABI_NO_OFF: this version does not have it there. */
struct py_runtime_layout {
	uint16_t interp_head;
	uint16_t tss_key;	/* Py_tss_t: int initialized, then the key */
	uint16_t gil;		/* tstate_current */
	uint16_t collecting;
	uint16_t main_thread;	/* its pthread_t */
	uint16_t ceval_gil;	/* the GIL (3.7 to 3.11) */
};

struct cpython_image {
	uint8_t major, minor, micro;
	char version[24];		/* "3.13.0", "3.15.0rc1" */
	bool free_threaded;
	bool debug;			/* Py_DEBUG, as far as its symbols tell */
	bool trace_refs;		/* Py_TRACE_REFS, where it changes objects (to 3.12) */
	int8_t mutexes_extra;		/* libc_mutexes_extra() */
	uint64_t first_load_vaddr;	/* page-aligned p_vaddr of the PT_LOAD with offset 0 */
	uint64_t runtime_vaddr;		/* these: see struct py_proc */
	uint64_t tss_vaddr, interps_vaddr, current_vaddr, collecting_vaddr, main_id_vaddr;
	uint64_t none_vaddr;		/* &_Py_NoneStruct; 0: not found */
	uint64_t gil_vaddr;		/* see struct py_proc; 0: each interpreter points to its own */
	uint64_t epoch_vaddr;		/* see struct py_proc; 0: there is none, or not found */
	uint8_t tstate_how;		/* enum py_tstate_how */
	bool needs_self;		/* to find it, self_below must be known: see libc.h */
	int64_t tls_off;		/* see struct py_proc */
	uint64_t tls_index_vaddr;	/* TLS_DTV, TLS_DESC */
	struct py_layout layout;
	struct py_object_layout objects;
	struct py_runtime_layout rt;
	const struct elf_file *file;	/* where it can be read from; NULL: it was not kept */
};

/* Read what the file has at an address of its own. 0 or -errno. */
int cpython_image_mem(const struct cpython_image *img, uint64_t vaddr, void *buf, size_t len);

/*
 * Look at the ELF file behind fd (not closed, offset not used).
 * 0: *img is filled. -ENOENT: no CPython in it. -ENOTSUP: a CPython that is not
 * supported, why says which and why ("CPython 3.9.18 is not supported ...");
 * version, major, minor are set if known. -EXDEV: a program that is linked to a libpython and
 * holds copies of its variables: runtime_vaddr and none_vaddr (0: not copied) are to be
 * used instead of the library's own. -ENOEXEC: not a 64-bit little-endian file, and so
 * nobody knows what is in it. Other -errno: unreadable. Why says.
 */
int cpython_image_read(int fd, struct cpython_image *img, char *why, size_t why_size);

#endif
