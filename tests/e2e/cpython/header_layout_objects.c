/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * header_layout_objects.c - header_layout.c for CPython 3.6 to 3.10, whose frames are
 * objects. What 3.6 has in static variables is in no header.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#elif PY_VERSION_HEX >= 0x03080000
#include "internal/pycore_pystate.h"
#elif PY_VERSION_HEX >= 0x03070000
#include "internal/pystate.h"
#endif

#define PRINT(name, value)  printf("%s %lld\n", name, (long long)(value))
#define OFF(name, type, f)  PRINT(name, offsetof(type, f))
#define TS(name, f)         OFF(name, PyThreadState, f)
#define FR(name, f)                                                                                \
	PRINT(name, offsetof(PyFrameObject, f) - offsetof(PyFrameObject, f_back))
#define IS(name, f)         OFF(name, PyInterpreterState, f)
#define RT(name, f)         OFF(name, _PyRuntimeState, f)

static void thread_state(void)
{
	TS("ts_next", next);
	TS("ts_interp", interp);
	TS("ts_thread_id", thread_id);
	TS("ts_frame", frame);
	TS("ts_exc_current", curexc_type);
#if PY_VERSION_HEX >= 0x030a0000
	TS("ts_cframe", cframe);
#endif
	PRINT("foreign_ids", 1);
	PRINT("gil_how", 1);
#if PY_VERSION_HEX >= 0x03070000
	TS("ts_exc_info", exc_info);
	TS("ts_exc_state", exc_state);
	OFF("exc_value", _PyErr_StackItem, exc_type);
	OFF("exc_previous", _PyErr_StackItem, previous_item);
#else
	TS("ts_exc_state", exc_type);
#endif
}

static void frame(void)
{
	OFF("fr_base", PyFrameObject, f_back);
	FR("fr_previous", f_back);
	FR("fr_code", f_code);
	FR("fr_ip", f_lasti);
	/* f_lineno, which is right behind f_lasti, is the last one that is read. */
	PRINT("fr_bytes", offsetof(PyFrameObject, f_lasti) + 2 * sizeof(int) -
			  offsetof(PyFrameObject, f_back));
	_Static_assert(offsetof(PyFrameObject, f_lineno) ==
		       offsetof(PyFrameObject, f_lasti) + sizeof(int), "one word");
	PRINT("lasti_unit", PY_VERSION_HEX >= 0x030a0000 ? 2 : 1);
}

static void code_object(void)
{
	OFF("co_firstlineno", PyCodeObject, co_firstlineno);
	OFF("co_filename", PyCodeObject, co_filename);
	OFF("co_name", PyCodeObject, co_name);
	OFF("co_qualname", PyCodeObject, co_name);
#if PY_VERSION_HEX >= 0x030a0000
	OFF("co_linetable", PyCodeObject, co_linetable);
#else
	OFF("co_linetable", PyCodeObject, co_lnotab);
#endif
	OFF("co_code", PyCodeObject, co_code);
}

static void runtime(void)
{
#if PY_VERSION_HEX >= 0x03070000
	RT("rt_interp_head", interpreters.head);
	RT("rt_tss_key", gilstate.autoTSSkey);
	RT("rt_gil", gilstate.tstate_current);
	RT("rt_ceval_gil", ceval.gil);
	OFF("gil_cond", struct _gil_runtime_state, cond);
	PRINT("tss_flag", 1);
	IS("interp_id", id);
	IS("interp_next", next);
	IS("interp_threads_head", tstate_head);
#if PY_VERSION_HEX >= 0x03080000
	RT("rt_main_thread", main_thread);
#endif
#else
	PRINT("tss_flag", 0);
	IS("interp_next", next);
	IS("interp_threads_head", tstate_head);
#endif
#if PY_VERSION_HEX >= 0x03090000
	IS("interp_gc_collecting", gc.collecting);
	IS("interp_gc_stats", gc.generation_stats);
#elif PY_VERSION_HEX >= 0x03070000
	RT("rt_gc_stats", gc.generation_stats);
	RT("rt_collecting", gc.collecting);
#endif
	PRINT("gc_stats_how", 1);
	PRINT("gc_by_frame", 0);
	IS("interp_modules", modules);
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
