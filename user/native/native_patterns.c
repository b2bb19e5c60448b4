// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_patterns.c - see native_patterns.h.
 *
 * A "*" at the end also matches suffixes that compilers append: ".cold", ".part.0", ".constprop.0",
 * ".isra.0", ".lto_priv.0". Names are from CPython's tags v3.6.15 to v3.15.0a; each group names
 * their files.
 */
#include "native/native_patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct pattern {
	const char *name;
	enum native_class class;
};

#define EVAL(name) { name, NATIVE_EVAL }
#define PLUMBING(name) { name, NATIVE_PLUMBING }
#define START(name) { name, NATIVE_START }

static const struct pattern patterns[] = {
	/* Python/ceval.c: runs Python frames. */
	EVAL("_PyEval_EvalFrameDefault*"),
	/* Python/generated_cases.c.h, 3.14+, tail calls: in its frame's place, per instruction. */
	PLUMBING("_TAIL_CALL_*"),

	/* Python/ceval.c: makes a frame from a function's arguments, and runs it. */
	PLUMBING("_PyEval_EvalFrame"), PLUMBING("_PyEval_EvalFrame.*"),
	PLUMBING("PyEval_EvalFrame*"), PLUMBING("_PyEval_Vector"), PLUMBING("_PyEval_Vector.*"),
	PLUMBING("_PyEval_EvalCode*"), PLUMBING("PyEval_EvalCodeEx*"),
	PLUMBING("PyEval_CallObjectWithKeywords"), PLUMBING("_PyEvalFramePushAndInit*"),
	/* Python/perf_trampoline.c, 3.12+: what runs a frame with -X perf, and what it looks up. */
	PLUMBING("py_trampoline_evaluator*"), PLUMBING("_PyCode_GetExtra"),
	PLUMBING("PyUnstable_Code_GetExtra"),
	/* Up to 3.10: implementation of CALL_FUNCTION and similar instructions. */
	PLUMBING("call_function"), PLUMBING("call_function.*"), PLUMBING("do_call_core*"),
	PLUMBING("fast_function*"), PLUMBING("function_code_fastcall*"),
	PLUMBING("_PyFunction_FastCall*"), PLUMBING("trace_call_function*"),
	/* From 3.15 on these implement CALL and similar instructions. */
	PLUMBING("_Py_CallBuiltin*"), PLUMBING("_Py_BuiltinCall*"), PLUMBING("_Py_VectorCall*"),
	PLUMBING("_PyCallMethodDescriptor*"),
	/* Objects/call.c: calls of any object. */
	PLUMBING("PyObject_Call*"), PLUMBING("_PyObject_Call*"), PLUMBING("PyObject_Vectorcall*"),
	PLUMBING("_PyObject_Vectorcall*"), PLUMBING("_PyObject_FastCall*"),
	PLUMBING("_PyObject_MakeTpCall*"), PLUMBING("_PyFunction_Vectorcall*"),
	PLUMBING("PyVectorcall_Call*"), PLUMBING("_PyVectorcall_Call*"),
	PLUMBING("_PyVectorcall_Tstate*"), PLUMBING("_PyStack_AsDict*"),
	PLUMBING("object_vacall*"), PLUMBING("callmethod*"),
	PLUMBING("_Py_CheckFunctionResult*"),
	/*
	 * Objects/methodobject.c, descrobject.c, classobject.c: calls of C functions and of
	 * methods. The C function itself is not one of them.
	 */
	PLUMBING("cfunction_*"), PLUMBING("PyCFunction_Call*"), PLUMBING("_PyCFunction_FastCall*"),
	PLUMBING("_PyMethodDef_RawFastCall*"), PLUMBING("_PyMethodDescr_FastCall*"),
	PLUMBING("_PyMethodDescr_Vectorcall*"), PLUMBING("method_vectorcall*"),
	PLUMBING("method_call"), PLUMBING("method_call.*"), PLUMBING("methoddescr_call*"),
	PLUMBING("classmethoddescr_call*"), PLUMBING("classmethod_call*"),
	PLUMBING("wrapperdescr_*"), PLUMBING("wrapper_call*"), PLUMBING("function_call*"),
	PLUMBING("func_call*"), PLUMBING("instancemethod_call*"),
	/* Objects/typeobject.c: slots implemented by methods in Python, and the reverse. */
	PLUMBING("slot_tp_*"), PLUMBING("slot_sq_*"), PLUMBING("slot_mp_*"),
	PLUMBING("slot_nb_*"), PLUMBING("slot_am_*"), PLUMBING("slot_bf_*"),
	PLUMBING("vectorcall_maybe*"), PLUMBING("vectorcall_method*"),
	PLUMBING("vectorcall_unbound*"), PLUMBING("call_method*"), PLUMBING("call_maybe*"),
	PLUMBING("call_unbound*"), PLUMBING("call_attribute*"), PLUMBING("wrap_*"),
	PLUMBING("type_call"), PLUMBING("type_call.*"), PLUMBING("type_vectorcall*"),
	/* Objects/genobject.c: a generator's next() runs its frame. */
	PLUMBING("gen_send_ex*"), PLUMBING("gen_iternext*"), PLUMBING("gen_send"),
	PLUMBING("PyGen_am_send*"), PLUMBING("_PyGen_Send*"), PLUMBING("PyIter_Send*"),
	/* Modules/_functoolsmodule.c: calls with additional arguments. */
	PLUMBING("partial_call*"), PLUMBING("partial_vectorcall*"),
	/* The same functions in a stripped file, which names them by their slots. */
	PLUMBING("type.__call__"), PLUMBING("builtin_function_or_method.__call__"),
	PLUMBING("method_descriptor.__call__"), PLUMBING("classmethod_descriptor.__call__"),
	PLUMBING("wrapper_descriptor.__call__"), PLUMBING("method-wrapper.__call__"),
	PLUMBING("method.__call__"), PLUMBING("instancemethod.__call__"),
	PLUMBING("function.__call__"), PLUMBING("generator.__next__"),
	PLUMBING("functools.partial.__call__"),
	/* Python/getargs.c: parses a call's arguments. */
	PLUMBING("vgetargs*"), PLUMBING("_PyArg_*"), PLUMBING("PyArg_*"),

	/* Modules/main.c, Programs/python.c, Python/pythonrun.c: up to the first Python frame. */
	START("main"), START("_start"), START("Py_Main"), START("Py_BytesMain"),
	START("Py_RunMain*"), START("pymain_*"), START("run_file*"), START("run_mod"),
	START("run_mod.*"), START("run_eval_code_obj*"), START("pyrun_*"), START("PyRun_*"),
	START("_PyRun_*"), START("PyEval_EvalCode"), START("PyEval_EvalCode.*"),
	/* Python/thread_pthread.h, Modules/_threadmodule.c: the start of a thread. */
	START("pythread_wrapper*"), START("thread_run*"), START("t_bootstrap*"),
	START("thread_PyThread_start*"), START("bootstrap*"),
};

/* All of them, concatenated. */
static struct {
	char text[4096];
	uint32_t bytes;
} joined;

static void join_patterns(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		size_t size = strlen(patterns[i].name) + 1;

		if (joined.bytes + size > sizeof(joined.text))
			abort();
		memcpy(joined.text + joined.bytes, patterns[i].name, size);
		joined.bytes += (uint32_t)size;
	}
}

const char *native_patterns(uint32_t *cnt, uint32_t *bytes)
{
	if (!joined.bytes)
		join_patterns();
	*cnt = ARRAY_SIZE(patterns);
	*bytes = joined.bytes;
	return joined.text;
}

enum native_class native_pattern_class(uint32_t pattern)
{
	return pattern < ARRAY_SIZE(patterns) ? patterns[pattern].class : NATIVE_CODE;
}
