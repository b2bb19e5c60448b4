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

#include "../../bpf/abi.h"

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

struct cpython_image {
	uint8_t major, minor, micro;
	char version[24];		/* "3.13.0", "3.15.0rc1" */
	bool free_threaded;
	int8_t mutexes_extra;		/* libc_mutexes_extra() */
	uint64_t first_load_vaddr;	/* page-aligned p_vaddr of the PT_LOAD with offset 0 */
	uint64_t runtime_vaddr;		/* &_PyRuntime */
	uint64_t none_vaddr;		/* &_Py_NoneStruct; 0: not found */
	uint64_t epoch_vaddr;		/* see struct py_proc; 0: there is none, or not found */
	uint8_t tstate_how;		/* enum py_tstate_how */
	bool needs_self;		/* to find it, self_below must be known: see libc.h */
	int64_t tls_off;		/* see struct py_proc */
	uint64_t tls_index_vaddr;	/* TLS_DTV, TLS_DESC */
	struct py_layout layout;
	struct py_object_layout objects;
};

/*
 * Look at the ELF file behind fd (not closed, offset not used).
 * 0: *img is filled. -ENOENT: no CPython in it. -ENOTSUP: a CPython that is not
 * supported, why says which and why ("CPython 3.9.18 is not supported ...");
 * version, major, minor are set if known. Other -errno: unreadable, why says.
 */
int cpython_image_read(int fd, struct cpython_image *img, char *why, size_t why_size);

#endif
