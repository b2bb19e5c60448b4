/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * header_layout.c - struct py_layout as CPython's own headers have it.
 *
 * Compiled by test_layouts.py against the headers of an installed interpreter; prints
 * "name value" lines that print_layout.c must agree with. Knows only names of fields.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#endif
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030d0000 && PY_VERSION_HEX < 0x030e0000
#include "internal/pycore_tstate.h"
#endif

#define PRINT(name, value)  printf("%s %lld\n", name, (long long)(value))
#define OFF(name, type, f)  PRINT(name, offsetof(type, f))
#define TS(name, f)         OFF(name, PyThreadState, f)
#define FR(name, f)         OFF(name, _PyInterpreterFrame, f)
#define IS(name, f)         OFF(name, PyInterpreterState, f)
#define RT(name, f)         OFF(name, _PyRuntimeState, f)

static void thread_state(void)
{
	PyThreadState ts;
	unsigned int word;

	memset(&ts, 0, sizeof(ts));
	(void)word;
	TS("ts_next", next);
	TS("ts_interp", interp);
	TS("ts_thread_id", thread_id);
	TS("ts_exc_info", exc_info);
	TS("ts_exc_state", exc_state);
	OFF("exc_value", _PyErr_StackItem, exc_value);
	OFF("exc_previous", _PyErr_StackItem, previous_item);
#if PY_VERSION_HEX < 0x030d0000
	TS("ts_frame", cframe);
	OFF("cframe_frame", _PyCFrame, current_frame);
	TS("ts_datastack", datastack_chunk);
#else
	TS("ts_frame", current_frame);
#endif
#if PY_VERSION_HEX >= 0x030d0000 && PY_VERSION_HEX < 0x030e0000
	OFF("ts_running_loop", _PyThreadStateImpl, asyncio_running_loop);
#endif
#if PY_VERSION_HEX < 0x030c0000
	TS("ts_exc_current", curexc_type);
	TS("ts_cframe", cframe);
#else
	TS("ts_exc_current", current_exception);
	TS("ts_status", _status);
#endif
	PRINT("foreign_ids", PY_VERSION_HEX < 0x030d0000);
	PRINT("gil_how", PY_VERSION_HEX < 0x030c0000 ? 1 : 2);
#ifdef Py_GIL_DISABLED
	/* Attached is what CPython's own profiler calls having the GIL. */
	ts._status.active = 1;
	TS("ts_gil", _status);
	memcpy(&word, &ts._status, sizeof(word));
	PRINT("ts_gil_mask", word);
#elif PY_VERSION_HEX >= 0x030e0000
	TS("ts_gil", holds_gil);
	PRINT("gil_int", sizeof(ts.holds_gil) == 4);
#elif PY_VERSION_HEX >= 0x030c0000
#if PY_VERSION_HEX >= 0x030d0000
	ts._status.holds_gil = 1;
#else
	ts._status.active = 1;
#endif
	TS("ts_gil", _status);
	memcpy(&word, &ts._status, sizeof(word));
	PRINT("ts_gil_mask", word);
#endif
}

static void frame(void)
{
	FR("fr_previous", previous);
	FR("fr_owner", owner);
#if PY_VERSION_HEX < 0x030c0000
	FR("fr_is_entry", is_entry);
#endif
#if PY_VERSION_HEX < 0x030d0000
	/* The owner is the last one that is read. */
	PRINT("fr_bytes", (offsetof(_PyInterpreterFrame, owner) + 1 + 7) / 8 * 8);
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
	FR("fr_tlbc_index", tlbc_index);
#endif
#if PY_VERSION_HEX < 0x030d0000
	FR("fr_code", f_code);
	FR("fr_ip", prev_instr);
#else
	FR("fr_code", f_executable);
	FR("fr_ip", instr_ptr);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	PRINT("skip_owner", FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030c0000
	PRINT("skip_owner", FRAME_OWNED_BY_CSTACK);
#endif
	PRINT("end_shim", PY_VERSION_HEX >= 0x030c0000);
	FR("fr_object", frame_obj);
	OFF("fo_frame", PyFrameObject, f_frame);
	OFF("fo_lineno", PyFrameObject, f_lineno);
#if PY_VERSION_HEX >= 0x030c0000
	OFF("fo_data", PyFrameObject, _f_frame_data);
#endif
}

static void code_object(void)
{
	OFF("co_firstlineno", PyCodeObject, co_firstlineno);
	OFF("co_filename", PyCodeObject, co_filename);
	OFF("co_name", PyCodeObject, co_name);
	OFF("co_qualname", PyCodeObject, co_qualname);
	OFF("co_linetable", PyCodeObject, co_linetable);
	OFF("co_code", PyCodeObject, co_code_adaptive);
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
	OFF("co_tlbc", PyCodeObject, co_tlbc);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	OFF("co_version", PyCodeObject, co_version);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	OFF("co_executors", PyCodeObject, co_executors);
#endif
}

static void runtime(void)
{
	RT("rt_interp_head", interpreters.head);
#if PY_VERSION_HEX < 0x030c0000
	RT("rt_tss_key", gilstate.autoTSSkey);
	RT("rt_gil", gilstate.tstate_current);
	RT("rt_ceval_gil", ceval.gil);
#elif PY_VERSION_HEX < 0x030f0000
	RT("rt_tss_key", autoTSSkey);
#endif
	RT("rt_main_thread", main_thread);
	OFF("gil_cond", struct _gil_runtime_state, cond);
#if PY_VERSION_HEX >= 0x030c0000
	IS("interp_gil", ceval.gil);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	TS("ts_gil_requested", gil_requested);
#endif
	PRINT("tss_flag", 1);
	IS("interp_id", id);
	IS("interp_next", next);
	IS("interp_threads_head", threads.head);
#if PY_VERSION_HEX < 0x030c0000
	IS("interp_modules", modules);
#else
	IS("interp_modules", imports.modules);
#endif
	PRINT("type_cached_keys",
	      offsetof(PyHeapTypeObject, ht_cached_keys) + 16 - sizeof(PyObject));
#if !defined(Py_GIL_DISABLED) || PY_VERSION_HEX >= 0x030f0000
	IS("interp_gc_collecting", gc.collecting);
#endif
	IS("interp_gc_stats", gc.generation_stats);
#if PY_VERSION_HEX >= 0x030f0000
	PRINT("gc_stats_how", 2);
	PRINT("gc_young_items", GC_YOUNG_STATS_SIZE);
	PRINT("gc_old_items", GC_OLD_STATS_SIZE);
	_Static_assert(offsetof(struct gc_stats, update_seq) ==
		       64 * (GC_YOUNG_STATS_SIZE + 2 * GC_OLD_STATS_SIZE) + 24, "rings");
	_Static_assert(offsetof(struct gc_generation_stats, collections) == 16 &&
		       offsetof(struct gc_generation_stats, duration) == 48 &&
		       sizeof(struct gc_generation_stats) == 64, "an item");
#else
	PRINT("gc_stats_how", 1);
#endif
#ifdef Py_GIL_DISABLED
	PRINT("gc_by_frame", 1);
#else
	PRINT("gc_by_frame", 0);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	IS("interp_threads_main", threads.main);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	IS("interp_gc_frame", gc.frame);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	IS("interp_epoch", _code_object_generation);
#elif PY_VERSION_HEX >= 0x030d0000
	IS("interp_epoch", func_state.next_version);
#endif
}

/* A one-bit-at-a-time look at PyASCIIObject.state. */
static void str_state(void)
{
	PyASCIIObject s;
	unsigned int word;

	memset(&s, 0, sizeof(s));
	s.state.kind = 7;
	memcpy(&word, &s.state, sizeof(word));
	PRINT("str_kind_mask", word);
	PRINT("str_kind_shift", __builtin_ctz(word));
	memset(&s, 0, sizeof(s));
	s.state.compact = 1;
	memcpy(&word, &s.state, sizeof(word));
	PRINT("str_compact_bit", word);
	memset(&s, 0, sizeof(s));
	s.state.ascii = 1;
	memcpy(&word, &s.state, sizeof(word));
	PRINT("str_ascii_bit", word);
}

int main(void)
{
	PRINT("minor", PY_MINOR_VERSION);
	thread_state();
	frame();
	code_object();
	runtime();
	OFF("layout_bytes_size", PyBytesObject, ob_base.ob_size);
	OFF("layout_bytes_data", PyBytesObject, ob_sval);
	OFF("bytes_size", PyBytesObject, ob_base.ob_size);
	OFF("bytes_data", PyBytesObject, ob_sval);
	OFF("str_length", PyASCIIObject, length);
	OFF("str_state", PyASCIIObject, state);
	PRINT("str_ascii_data", sizeof(PyASCIIObject));
	PRINT("str_compact_data", sizeof(PyCompactUnicodeObject));
	OFF("str_data_pointer", PyUnicodeObject, data);
	str_state();
	return 0;
}
