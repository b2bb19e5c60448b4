/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debug_offsets.h - struct _Py_DebugOffsets, in which CPython 3.13+ keeps the offsets of its own
 * fields.
 *
 * It is the first member of _PyRuntime and initialised data, so it can be read from the file before
 * the process runs. It is hostile input: all values are checked against limits, and a struct that
 * fails is refused.
 */
#ifndef TACHBPF_CPYTHON_DEBUG_OFFSETS_H
#define TACHBPF_CPYTHON_DEBUG_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#define DEBUG_OFFSETS_COOKIE "xdebugpy"
/* Size of the largest known one, in bytes (3.15). */
#define DEBUG_OFFSETS_MAX 888

/* The fields that are used, as offsets in bytes; 0: not in this version. */
struct debug_offsets {
	uint64_t version, free_threaded;
	uint64_t rt_bytes;	/* sizeof(_PyRuntimeState), only for comparison */
	uint64_t rt_finalizing, rt_interp_head;
	uint64_t is_bytes;	/* sizeof(PyInterpreterState) */
	uint64_t interp_id, interp_next, interp_threads_head, interp_threads_main, interp_gc;
	uint64_t interp_modules;
	uint64_t interp_code_generation;
	uint64_t ts_bytes;	/* sizeof(PyThreadState) */
	uint64_t ts_next, ts_interp, ts_frame, ts_thread_id, ts_native_id, ts_status;
	uint64_t ts_datastack;
	uint64_t interp_gil, ts_gil_requested;
	uint64_t ts_holds_gil, ts_exc_current, ts_exc_state, exc_value;
	uint64_t fr_previous, fr_code, fr_ip, fr_owner, fr_tlbc_index, fr_stack;
	uint64_t co_filename, co_name, co_qualname, co_linetable, co_firstlineno, co_code;
	uint64_t co_tlbc;
	uint64_t ob_type, set_used, set_table, set_mask, int_tag, int_digits;
	uint64_t gen_frame, gen_state;
	uint64_t bytes_size, bytes_data;
	uint64_t str_state, str_length, str_ascii_bytes, str_compact_bytes;
	uint64_t gc_collecting, gc_frame, gc_stats_bytes, gc_stats;
};

/* Size in bytes of the struct in 3.minor; 0: unknown. */
size_t debug_offsets_size(unsigned int minor);

/* Read the version (PY_VERSION_HEX) and whether it is free-threaded. 0, or -EBADMSG: no cookie. */
int debug_offsets_version(const uint8_t *bytes, size_t len, uint32_t *hex, int *free_threaded);

/*
 * Decode and validate. bytes: debug_offsets_size(minor) of them. 0, or -EBADMSG: *what is the name
 * of the invalid field.
 */
int debug_offsets_read(const uint8_t *bytes, size_t len, unsigned int minor,
		       struct debug_offsets *d, const char **what);

/*
 * Check whether this is exactly the struct of 3.15's final releases. Compares every word that does
 * not depend on the layouts of PyInterpreterState and _PyRuntimeState. For builds whose version
 * does not guarantee it. 0, or -EBADMSG: *what is the name of the part that differs.
 */
int debug_offsets_are_final(const uint8_t *bytes, size_t len, const char **what);

#endif
