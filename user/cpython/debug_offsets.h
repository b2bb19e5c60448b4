/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debug_offsets.h - struct _Py_DebugOffsets: CPython 3.13+ says where its fields are.
 *
 * It is the first member of _PyRuntime and initialised in the file, so it can be
 * read before the process runs. It is hostile input: what comes out of here has
 * passed all bounds; what does not pass is refused.
 */
#ifndef TACHBPF_CPYTHON_DEBUG_OFFSETS_H
#define TACHBPF_CPYTHON_DEBUG_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#define DEBUG_OFFSETS_COOKIE "xdebugpy"
/* The largest one known, in bytes (3.15). */
#define DEBUG_OFFSETS_MAX 888

/* The fields we use; 0 for one this version does not have. Offsets in bytes. */
struct debug_offsets {
	uint64_t version, free_threaded;
	uint64_t rt_bytes;	/* sizeof(_PyRuntimeState), to be compared only */
	uint64_t rt_finalizing, rt_interp_head;
	uint64_t is_bytes;	/* sizeof(PyInterpreterState) */
	uint64_t is_id, is_next, is_threads_head, is_threads_main, is_gc, is_code_generation;
	uint64_t ts_next, ts_interp, ts_frame, ts_thread_id, ts_native_id, ts_status;
	uint64_t ts_datastack;
	uint64_t is_gil, ts_gil_requested;
	uint64_t ts_holds_gil, ts_exc_current, ts_exc_state, exc_value;
	uint64_t fr_previous, fr_code, fr_ip, fr_owner, fr_tlbc_index;
	uint64_t co_filename, co_name, co_qualname, co_linetable, co_firstlineno, co_code;
	uint64_t co_tlbc;
	uint64_t bytes_size, bytes_data;
	uint64_t str_state, str_length, str_ascii_bytes, str_compact_bytes;
	uint64_t gc_collecting, gc_frame;
};

/* Does this minor have them, and how many bytes? 0: no. */
size_t debug_offsets_size(unsigned int minor);

/* The version word (PY_VERSION_HEX) and free_threaded, or -EBADMSG: no cookie. */
int debug_offsets_version(const uint8_t *bytes, size_t len, uint32_t *hex, int *free_threaded);

/*
 * Decode and validate. bytes: debug_offsets_size(minor) of them. 0, or -EBADMSG and
 * *what names the field that cannot be right.
 */
int debug_offsets_read(const uint8_t *bytes, size_t len, unsigned int minor,
		       struct debug_offsets *d, const char **what);

/*
 * Is this the struct of 3.15's finals in full: does every word that does not depend on how
 * PyInterpreterState and _PyRuntimeState are laid out say what it says there? For builds
 * whose version promises nothing. 0, or -EBADMSG and *what names the part that differs.
 */
int debug_offsets_are_final(const uint8_t *bytes, size_t len, const char **what);

#endif
