/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * header_variables.c - where CPython's own headers have what user/cpython's frames.c, value.c,
 * locals.c, lock.c and with.c need, as "name value" lines that print_variables.c must agree with.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#elif PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#else
#include <frameobject.h>
#endif
#if PY_VERSION_HEX < 0x030b0000
#include <code.h>
#endif

#define PRINT(name, value) printf("%s %lld\n", name, (long long)(value))
#define OFF(name, type, f) PRINT(name, offsetof(type, f))

int main(void)
{
	OFF("argcount", PyCodeObject, co_argcount);
	OFF("kwonly", PyCodeObject, co_kwonlyargcount);
	OFF("stacksize", PyCodeObject, co_stacksize);
	OFF("flags", PyCodeObject, co_flags);
	OFF("used", PyCodeObject, co_names);
#if PY_VERSION_HEX >= 0x030b0000
	OFF("exceptions", PyCodeObject, co_exceptiontable);
	OFF("cnt", PyCodeObject, co_nlocalsplus);
	OFF("names", PyCodeObject, co_localsplusnames);
	OFF("second", PyCodeObject, co_localspluskinds);
	OFF("slots", struct _PyInterpreterFrame, localsplus);
	OFF("generator", PyGenObject, gi_iframe);
	OFF("globals", struct _PyInterpreterFrame, f_globals);
#else
	OFF("cnt", PyCodeObject, co_nlocals);
	OFF("names", PyCodeObject, co_varnames);
	OFF("second", PyCodeObject, co_cellvars);
	OFF("third", PyCodeObject, co_freevars);
	OFF("slots", PyFrameObject, f_localsplus);
	OFF("generator", PyFrameObject, f_gen);
	OFF("globals", PyFrameObject, f_globals);
	PRINT("blocks_before_slots",
	      offsetof(PyFrameObject, f_localsplus) - offsetof(PyFrameObject, f_blockstack));
	PRINT("iblock_before_blocks",
	      offsetof(PyFrameObject, f_blockstack) - offsetof(PyFrameObject, f_iblock));
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000
	OFF("stack", struct _PyInterpreterFrame, stacktop);
	OFF("state", PyAsyncGenObject, ag_frame_state);
#elif PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030b0000
	OFF("stack", PyFrameObject, f_valuestack);
	OFF("depth", PyFrameObject, f_stackdepth);
	OFF("state", PyFrameObject, f_state);
	OFF("coroutine", PyAsyncGenObject, ag_frame);
#elif PY_VERSION_HEX >= 0x03080000 && PY_VERSION_HEX < 0x030a0000
	OFF("stack", PyFrameObject, f_stacktop);
	OFF("state", PyAsyncGenObject, ag_running);
	OFF("coroutine", PyAsyncGenObject, ag_frame);
#endif
	PRINT("head", sizeof(PyObject));
	OFF("type", PyObject, ob_type);
	OFF("tp_name", PyTypeObject, tp_name);
	OFF("tp_flags", PyTypeObject, tp_flags);
	OFF("tp_mro", PyTypeObject, tp_mro);
	OFF("ref_object", PyWeakReference, wr_object);
	OFF("tuple_items", PyTupleObject, ob_item);
	OFF("list_items", PyListObject, ob_item);
	OFF("set_used", PySetObject, used);
	OFF("set_mask", PySetObject, mask);
	OFF("set_table", PySetObject, table);
	PRINT("set_entry", sizeof(setentry));
	OFF("cell", PyCellObject, ob_ref);
	OFF("real", PyFloatObject, ob_fval);
	OFF("builtin_self", PyCFunctionObject, m_self);
#if PY_VERSION_HEX >= 0x03080000 && PY_VERSION_HEX < 0x030e0000
	OFF("thread_dict", PyThreadState, dict);
#endif
	OFF("method_self", PyMethodObject, im_self);
	return 0;
}
