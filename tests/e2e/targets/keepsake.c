// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * keepsake.c - an extension module that keeps objects where Python's collector does not see them:
 * keep_static() in a variable of its own, keep_block() in memory that it has allocated.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#define KEPT_MAX 4096

/* volatile: nothing reads it, so a compiler may leave it out. */
static PyObject *volatile kept[KEPT_MAX];
static PyObject **block;
static size_t kept_cnt, block_cnt;

static PyObject *keep_static(PyObject *module, PyObject *object)
{
	if (kept_cnt == KEPT_MAX)
		return PyErr_NoMemory();
	Py_INCREF(object);
	kept[kept_cnt++] = object;
	Py_RETURN_NONE;
}

static PyObject *keep_block(PyObject *module, PyObject *object)
{
	if (!block)
		block = malloc(KEPT_MAX * sizeof(*block));
	if (!block || block_cnt == KEPT_MAX)
		return PyErr_NoMemory();
	Py_INCREF(object);
	block[block_cnt++] = object;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "keep_static", keep_static, METH_O, NULL },
	{ "keep_block", keep_block, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "keepsake", NULL, -1, methods,
					 NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit_keepsake(void)
{
	PyObject *module = PyModule_Create(&definition);

#ifdef Py_GIL_DISABLED
	PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
	return module;
}
