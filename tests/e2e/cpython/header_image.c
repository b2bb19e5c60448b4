/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * header_image.c - a file that says of itself what a CPython built from these headers says.
 *
 * Compiled by test_layouts.py as a shared library, with -DPy_GIL_DISABLED for builds that
 * nobody ships: no interpreter is in it, but its version, its debug offsets and the one
 * function that returns its thread state.
 */
#define Py_BUILD_CORE 1
#include <Python.h>

#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#endif
#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_runtime_init.h"

const unsigned long Py_Version = PY_VERSION_HEX;
_PyRuntimeState _PyRuntime = _PyRuntimeState_INIT(_PyRuntime, "xdebugpy");
