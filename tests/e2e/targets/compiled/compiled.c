// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * compiled.c - an extension module whose functions have frames as Nuitka's have: on the thread's
 * stack of frames, of a code object that is never executed, with the line in the frame itself.
 *
 * Compiled with the headers of each interpreter.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <pthread.h>

#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define CURRENT(ts) (ts)->current_frame
#elif PY_VERSION_HEX >= 0x030b0000
#define CURRENT(ts) (ts)->cframe->current_frame
#else
#define CURRENT(ts) (ts)->frame
#endif

static PyObject *new_none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

static void push(PyThreadState *ts, PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
	f->f_frame->frame_obj = f;
	f->f_frame->previous = CURRENT(ts);
	CURRENT(ts) = f->f_frame;
#else
	f->f_trace = new_none();	/* or f_lineno is not believed (up to 3.9) */
	CURRENT(ts) = f;
#endif
}

static void pop(PyThreadState *ts, PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030b0000
	CURRENT(ts) = f->f_frame->previous;
	f->f_frame->previous = NULL;
#else
	CURRENT(ts) = f->f_back;
#endif
}

/* Call function() once for each of the lines, of a compiled function with this name. */
static PyObject *run(PyObject *self, PyObject *args)
{
	PyThreadState *ts = PyThreadState_Get();
	PyObject *lines, *function, *result;
	const char *name;
	PyFrameObject *f;
	Py_ssize_t i;
	int first;

	if (!PyArg_ParseTuple(args, "siO!O", &name, &first, &PyList_Type, &lines, &function))
		return NULL;
	f = PyFrame_New(ts, PyCode_NewEmpty("compiled.pyx", name, first), PyEval_GetBuiltins(), NULL);
	if (!f)
		return NULL;
	push(ts, f);
	result = new_none();
	for (i = 0; result && i < PyList_GET_SIZE(lines); i++) {
		f->f_lineno = (int)PyLong_AsLong(PyList_GET_ITEM(lines, i));
		Py_DECREF(result);
		result = PyObject_CallObject(function, NULL);
	}
	pop(ts, f);
	Py_DECREF(f);
	return result;
}

static void *body(void *args)
{
	PyGILState_STATE state = PyGILState_Ensure();

	if (!run(NULL, args))
		PyErr_Print();
	PyGILState_Release(state);
	return NULL;
}

/* run() in a thread of C: nothing of Python is outside of the compiled function. */
static PyObject *run_in_thread(PyObject *self, PyObject *args)
{
	pthread_t thread;
	int err;

	Py_BEGIN_ALLOW_THREADS
	err = pthread_create(&thread, NULL, body, args);
	if (!err)
		pthread_join(thread, NULL);
	Py_END_ALLOW_THREADS
	return PyLong_FromLong(err);
}

static PyMethodDef methods[] = {
	{ "run", run, METH_VARARGS, NULL },
	{ "run_in_thread", run_in_thread, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "compiled", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_compiled(void)
{
	return PyModule_Create(&module);
}
