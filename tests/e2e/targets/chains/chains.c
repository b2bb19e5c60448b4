// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains.c - an extension module whose functions call each other as a chain says, and note when the
 * last one was at work. So a test knows the stack of that time, function by function.
 *
 * A chain is a string, a link a letter: links[] has the function of each. A link calls the rest of
 * its chain, some of them through Python. The last link is a leaf: it burns CPU or sleeps. What the
 * frames look like to who unwinds them is the point: without a frame pointer, with one, with a
 * frame of unknown size, an aligned one, one in a signal's handler.
 *
 * Compiled with the headers of each interpreter, and linked to no library: what it needs of libc is
 * there in every process.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef long link_fn(const char *rest);
static link_fn *const links[128];

/* A call is not the last thing that a link does, or there would be no frame of it. */
#define LINK __attribute__((noipa)) static long
#define WITHOUT_FP __attribute__((optimize("O2", "omit-frame-pointer")))
#define WITH_FP __attribute__((optimize("O2", "no-omit-frame-pointer")))
#define UNOPTIMIZED __attribute__((optimize("O0", "no-omit-frame-pointer")))
#define KEEP(value) __asm__ volatile("" : "+r"(value) : : "memory")
#define CALL(rest) links[*(rest) & 127]((rest) + 1)

/* ---- links of C alone ---- */

LINK WITHOUT_FP ch_plain(const char *rest)
{
	long r = CALL(rest);

	KEEP(r);
	return r + 1;
}

LINK UNOPTIMIZED ch_unoptimized(const char *rest)
{
	long r = CALL(rest);

	return r + 1;
}

LINK WITH_FP ch_framed(const char *rest)
{
	long r = CALL(rest);

	KEEP(r);
	return r + 1;
}

/* Has something in every register that it must save. */
LINK WITHOUT_FP ch_saving(const char *rest)
{
	long a = rest[0], b = a * 3, c = b ^ 5, d = c + a, e = d * b, f = e - 1, r;

	KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f);
	r = CALL(rest);
	KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f);
	return r + ((a + b + c + d + e + f) & 1);
}

LINK WITHOUT_FP ch_alloca(const char *rest)
{
	char *room = alloca(16 + 40 * (rest[0] & 15));
	long r;

	KEEP(room);
	r = CALL(rest);
	KEEP(room);
	return r + 1;
}

LINK WITHOUT_FP ch_aligned(const char *rest)
{
	long room[16] __attribute__((aligned(64)));
	char *more = alloca(16 + 40 * (rest[0] & 15)), *at = (char *)room;
	long r;

	KEEP(more); KEEP(at);
	r = CALL(rest);
	KEEP(more); KEEP(at);
	return r + 1;
}

LINK WITHOUT_FP ch_large(const char *rest)
{
	char room[65536], *at = room;
	long r;

	KEEP(at);
	at[0] = at[65535] = 1;
	r = CALL(rest);
	KEEP(at);
	return r + 1;
}

__attribute__((noipa, noreturn)) static void jump(jmp_buf to)
{
	longjmp(to, 1);
}

LINK WITHOUT_FP ch_setjmp(const char *volatile rest)
{
	jmp_buf here;
	long r;

	if (!setjmp(here))
		jump(here);
	r = CALL(rest);
	KEEP(r);
	return r + 1;
}

/* ---- through libc ---- */

static __thread const char *passed;	/* to where a library calls us, without an argument of ours */
static __thread long passed_back;

__attribute__((noipa)) static int ch_compare(const void *a, const void *b)
{
	const char *rest = passed;

	if (rest) {
		passed = NULL;
		passed_back = CALL(rest);
	}
	return *(const char *)a - *(const char *)b;
}

LINK ch_qsort(const char *rest)
{
	char two[2] = { 2, 1 };

	passed = rest;
	qsort(two, 2, 1, ch_compare);
	return passed_back + two[0];
}

__attribute__((noipa)) static void ch_handler(int number, siginfo_t *info, void *context)
{
	const char *rest = passed;

	(void)number, (void)info, (void)context;
	passed_back = CALL(rest);
	KEEP(rest);
}

LINK ch_signal(const char *rest)
{
	passed = rest;
	raise(SIGUSR1);
	return passed_back + 1;
}

/* Nothing that Python may be called from: from 3.14 on it looks where its stack is. */
LINK ch_other_stack(const char *rest)
{
	stack_t other = { .ss_sp = malloc(262144), .ss_size = 262144 }, before;

	sigaltstack(&other, &before);
	passed = rest;
	raise(SIGUSR2);
	sigaltstack(&before, NULL);
	free(other.ss_sp);
	return passed_back + 1;
}

static __thread sigjmp_buf *behind;	/* the instruction that faults */

__attribute__((noipa)) static void ch_fault_handler(int number, siginfo_t *info, void *context)
{
	sigjmp_buf *to = behind;
	const char *rest = passed;

	(void)number, (void)info, (void)context;
	passed_back = CALL(rest);
	siglongjmp(*to, 1);
}

/* The handler's caller is an instruction of ours that is no call. */
LINK ch_fault(const char *rest)
{
	sigjmp_buf here, *before = behind;

	if (!sigsetjmp(here, 1)) {
		behind = &here;
		passed = rest;
#ifdef __x86_64__
		__asm__ volatile("ud2" : : : "memory");
#else
		__asm__ volatile("udf #0" : : : "memory");
#endif
	}
	behind = before;
	return passed_back + 1;
}

/* A handler's frame must be gone before the next of its kind: they may be nested. */
static void catch(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | flags };

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/* ---- through Python ---- */

static PyObject *given;		/* name -> what a link calls */

static PyObject *the(const char *name)
{
	PyObject *found = PyDict_GetItemString(given, name);

	if (!found)
		Py_FatalError("chains.use() has not been given what a link calls");
	return found;
}

static long done(PyObject *result)
{
	if (!result)
		PyErr_Print();
	Py_XDECREF(result);
	return result ? 1 : -1000;
}

#define CALLS(link, function)						\
	LINK link(const char *rest)					\
	{								\
		return done(PyObject_CallFunction(the(function), "y", rest)); \
	}
CALLS(ch_python, "callback")
CALLS(ch_method, "method")
CALLS(ch_nested, "outer")
CALLS(ch_sorted, "sorting")
CALLS(ch_mapped, "mapping")
CALLS(ch_init, "making")
CALLS(ch_property, "reading")
CALLS(ch_item, "subscribing")
CALLS(ch_loop, "looping")
CALLS(ch_through, "through")

LINK ch_generator(const char *rest)
{
	PyObject *generator = PyObject_CallFunction(the("generator"), "y", rest);
	long r = done(generator ? PyIter_Next(generator) : NULL);

	Py_XDECREF(generator);
	return r;
}

LINK ch_coroutine(const char *rest)
{
	PyObject *coroutine = PyObject_CallFunction(the("coroutine"), "y", rest);
	PyObject *result = coroutine ? PyObject_CallMethod(coroutine, "send", "O", Py_None) : NULL;

	if (PyErr_ExceptionMatches(PyExc_StopIteration))
		PyErr_Clear();
	else
		PyErr_Print();
	Py_XDECREF(result);
	Py_XDECREF(coroutine);
	return 1;
}

LINK ch_drop(const char *rest)
{
	PyObject *last = PyObject_CallFunction(the("Dropped"), "y", rest);

	Py_XDECREF(last);
	KEEP(rest);
	return 1;
}

__attribute__((noipa)) static int ch_compare_python(const void *a, const void *b)
{
	const char *rest = passed;

	if (rest) {
		passed = NULL;
		passed_back = done(PyObject_CallFunction(the("callback"), "y", rest));
	}
	return *(const char *)a - *(const char *)b;
}

LINK ch_qsort_python(const char *rest)
{
	char two[2] = { 2, 1 };

	passed = rest;
	qsort(two, 2, 1, ch_compare_python);
	return passed_back + two[0];
}

/* What ctypes has made of a Python function. */
LINK ch_pointer(const char *rest)
{
	link_fn *pointer = PyLong_AsVoidPtr(the("pointer"));
	long r = pointer(rest);

	KEEP(r);
	return r + 1;
}

/* What ctypes calls. */
__attribute__((noipa, visibility("default"))) long ch_exported(const char *rest)
{
	long r = CALL(rest);

	KEEP(r);
	return r + 1;
}

/* ---- in another thread ---- */

__attribute__((noipa)) static void *ch_started(void *rest)
{
	PyGILState_STATE state = PyGILState_Ensure();
	long r = CALL((const char *)rest);

	PyGILState_Release(state);
	return (void *)r;
}

LINK ch_thread(const char *rest)
{
	PyThreadState *mine = PyEval_SaveThread();
	pthread_attr_t attributes;
	pthread_t thread;
	void *r = NULL;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 8 << 20);
	if (!pthread_create(&thread, &attributes, ch_started, (void *)rest))
		pthread_join(thread, &r);
	pthread_attr_destroy(&attributes);
	PyEval_RestoreThread(mine);
	return (long)r + 1;
}

/* ---- leaves ---- */

static uint64_t work_ns = 1000000;
static struct { uint64_t start_ns, end_ns; long tid; } noted;	/* of the last leaf */
static volatile uint64_t burnt;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(void)
{
	uint64_t end, x = burnt;

	noted.tid = syscall(SYS_gettid);
	end = now_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
	noted.start_ns = now_ns(CLOCK_MONOTONIC);
	do {
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005ull + i;
	} while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end);
	noted.end_ns = now_ns(CLOCK_MONOTONIC);
	burnt = x;
}

LINK WITHOUT_FP ch_burn(const char *rest)
{
	burn();
	return *rest;
}

LINK WITHOUT_FP ch_burn_without_gil(const char *rest)
{
	PyThreadState *mine = PyEval_SaveThread();

	burn();
	PyEval_RestoreThread(mine);
	return *rest;
}

CALLS(ch_burn_python, "burning")

LINK WITHOUT_FP ch_sleep(const char *rest)
{
	PyThreadState *mine = PyEval_SaveThread();

	noted.tid = syscall(SYS_gettid);
	noted.start_ns = now_ns(CLOCK_MONOTONIC);
	usleep(work_ns / 1000);
	noted.end_ns = now_ns(CLOCK_MONOTONIC);
	PyEval_RestoreThread(mine);
	return *rest;
}

static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
static int turn;		/* 1: the other thread has the lock, 2: this one begins to wait */

static void wait_for_turn(int number)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != number)
		usleep(100);
}

static void *unlock_later(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&locked);
	__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	wait_for_turn(2);
	usleep(work_ns / 1000);
	pthread_mutex_unlock(&locked);
	return NULL;
}

/* Waits for a lock that another thread has. */
LINK WITHOUT_FP ch_lock(const char *rest)
{
	PyThreadState *mine = PyEval_SaveThread();
	pthread_t thread;

	noted.tid = syscall(SYS_gettid);
	turn = 0;
	pthread_create(&thread, NULL, unlock_later, NULL);
	wait_for_turn(1);
	noted.start_ns = now_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&turn, 2, __ATOMIC_RELEASE);
	pthread_mutex_lock(&locked);
	noted.end_ns = now_ns(CLOCK_MONOTONIC);
	pthread_mutex_unlock(&locked);
	pthread_join(thread, NULL);
	PyEval_RestoreThread(mine);
	return *rest;
}

/* Calls the rest from code that no table describes: it moves the stack, and tells nobody. */
__asm__(".text\n"
	".type ch_untold, @function\n"
	"ch_untold:\n"
#ifdef __x86_64__
	"	sub $40, %rsp\n"
	"	mov %rsi, %rax\n"
	"	call *%rax\n"
	"	add $40, %rsp\n"
	"	ret\n"
#else
	"	stp x29, x30, [sp, #-48]!\n"
	"	mov x2, x1\n"
	"	blr x2\n"
	"	ldp x29, x30, [sp], #48\n"
	"	ret\n"
#endif
	".size ch_untold, .-ch_untold\n");
long ch_untold(const char *rest, link_fn *next) __attribute__((visibility("hidden")));

LINK ch_assembly(const char *rest)
{
	long r = ch_untold(rest + 1, links[*rest & 127]);

	KEEP(r);
	return r + 1;
}

static link_fn *const links[128] = {
	['r'] = ch_plain, ['0'] = ch_unoptimized, ['f'] = ch_framed, ['v'] = ch_saving,
	['a'] = ch_alloca, ['A'] = ch_aligned, ['b'] = ch_large, ['j'] = ch_setjmp,
	['q'] = ch_qsort, ['s'] = ch_signal, ['x'] = ch_fault, ['k'] = ch_other_stack,
	['p'] = ch_python, ['m'] = ch_method, ['n'] = ch_nested, ['S'] = ch_sorted,
	['M'] = ch_mapped, ['i'] = ch_init, ['P'] = ch_property, ['I'] = ch_item,
	['o'] = ch_loop, ['g'] = ch_generator, ['w'] = ch_coroutine, ['d'] = ch_drop,
	['Q'] = ch_qsort_python, ['c'] = ch_pointer, ['C'] = ch_through, ['t'] = ch_thread,
	['z'] = ch_assembly,
	['.'] = ch_burn, [','] = ch_burn_without_gil, [';'] = ch_burn_python,
	['_'] = ch_sleep, ['l'] = ch_lock,
};

/* ---- the module ---- */

static PyObject *ch_step(PyObject *self, PyObject *rest)
{
	long r = CALL(PyBytes_AsString(rest));

	(void)self;
	return PyLong_FromLong(r);
}

static PyObject *use(PyObject *self, PyObject *arg)
{
	(void)self;
	Py_INCREF(arg);
	given = arg;
	Py_RETURN_NONE;
}

/* The leaf's work, ns: of CPU time, or asleep. */
static PyObject *work(PyObject *self, PyObject *arg)
{
	(void)self;
	work_ns = PyLong_AsUnsignedLongLong(arg);
	Py_RETURN_NONE;
}

/* In Python's leaf: its thread. */
static PyObject *thread(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	return PyLong_FromLong(syscall(SYS_gettid));
}

/* (tid, when it began, when it ended: ns of the monotonic clock) of the last leaf in C. */
static PyObject *last(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	return Py_BuildValue("(lKK)", noted.tid, (unsigned long long)noted.start_ns,
			     (unsigned long long)noted.end_ns);
}

static PyMethodDef methods[] = {
	{ "step", ch_step, METH_O, NULL },
	{ "use", use, METH_O, NULL },
	{ "work", work, METH_O, NULL },
	{ "thread", thread, METH_NOARGS, NULL },
	{ "last", last, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "chains", NULL, -1, methods,
					 NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit_chains(void)
{
	PyObject *module = PyModule_Create(&definition);

#ifdef Py_GIL_DISABLED
	PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
	catch(SIGUSR1, ch_handler, 0);
	catch(SIGUSR2, ch_handler, SA_ONSTACK);
	catch(SIGILL, ch_fault_handler, 0);
	return module;
}
