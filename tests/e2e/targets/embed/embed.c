// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * embed.c - a program with CPython in it, for the tests of how interpreters are found.
 *
 * Its arguments are steps, done one after the other. Pythons are numbered in the order
 * in which they came: with -DLINKED the one linked to is 0, "local=FILE" and
 * "global=FILE" dlopen() the next (RTLD_LOCAL, RTLD_GLOBAL).
 *   wait		say "ready" and wait for a line on stdin
 *   spin=MS		burn CPU in C
 *   home=DIR		set PYTHONHOME
 *   init=N		Py_InitializeEx() of Python N
 *   run=N:FILE		run a Python file in the main thread
 *   thread=N:FILE	run it in a thread made here, by PyGILState_Ensure()
 *   fini=N		Py_FinalizeEx()
 *   swap=N:FILE	run it in three threads made here at the same time, with states made by
 *			hand, as mod_wsgi does: see swap_main(). Says "ready" when they are made,
 *			and waits for a line on stdin
 *   lend=MS		swap has two threads more: one has a state that the main thread has made,
 *			one has no Python and burns CPU in C
 *   pause		say "done" and wait for a line on stdin
 * Each run says "ran N" and its CPU and wall clocks (ns) at its beginning and end; each thread of
 * swap says "swapped HOW", its tid, and the clocks, of its own CPU time. -DREFER makes
 * the linker copy _PyRuntime into this program, when it is linked without -fPIE.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef LINKED
void Py_InitializeEx(int);
int Py_FinalizeEx(void);
int PyRun_SimpleString(const char *);
int PyGILState_Ensure(void);
void PyGILState_Release(int);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
void *PyInterpreterState_Head(void);
void *PyThreadState_New(void *);
void *PyThreadState_Swap(void *);
void *Py_NewInterpreter(void);
#endif
#ifdef REFER
extern char _PyRuntime[];
extern char _Py_NoneStruct[];
#endif

static struct python {
	void (*init)(int);
	int (*fini)(void);
	int (*run)(const char *);
	int (*ensure)(void);
	void (*release)(int);
	void *(*save)(void);
	void (*restore)(void *);
	void *(*head)(void);
	void *(*new)(void *);
	void *(*swap)(void *);
	void *(*interpreter)(void);
} pythons[8];
static int python_cnt;

static long long clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why ? why : "?");
	exit(1);
}

static void load(const char *file, int flags)
{
	struct python *p = &pythons[python_cnt++];
	void *lib = dlopen(file, RTLD_NOW | flags);

	if (!lib)
		die(file, dlerror());
	p->init = (void (*)(int))dlsym(lib, "Py_InitializeEx");
	p->fini = (int (*)(void))dlsym(lib, "Py_FinalizeEx");
	p->run = (int (*)(const char *))dlsym(lib, "PyRun_SimpleString");
	p->ensure = (int (*)(void))dlsym(lib, "PyGILState_Ensure");
	p->release = (void (*)(int))dlsym(lib, "PyGILState_Release");
	p->save = (void *(*)(void))dlsym(lib, "PyEval_SaveThread");
	p->restore = (void (*)(void *))dlsym(lib, "PyEval_RestoreThread");
	p->head = (void *(*)(void))dlsym(lib, "PyInterpreterState_Head");
	p->new = (void *(*)(void *))dlsym(lib, "PyThreadState_New");
	p->swap = (void *(*)(void *))dlsym(lib, "PyThreadState_Swap");
	p->interpreter = (void *(*)(void))dlsym(lib, "Py_NewInterpreter");
	if (!p->init || !p->run || !p->ensure || !p->release || !p->save || !p->restore)
		die(file, "is no libpython");
}

static char *read_file(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	if (!f || !text || !fread(text, 1, 65535, f))
		die(path, "cannot be read");
	fclose(f);
	return text;
}

static void run(int n, const char *file)
{
	long long cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
	char *text = read_file(file);

	if (pythons[n].run(text))
		die(file, "failed");
	free(text);
	printf("ran %d %lld %lld %lld %lld\n", n, cpu, clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall,
	       clock_ns(CLOCK_MONOTONIC));
}

struct in_thread {
	int n;
	const char *file;
};

static void *thread_main(void *arg)
{
	struct in_thread *t = arg;
	int state = pythons[t->n].ensure();

	run(t->n, t->file);
	pythons[t->n].release(state);
	return NULL;
}

static void run_in_thread(int n, const char *file)
{
	struct in_thread t = { n, file };
	pthread_t thread;
	void *saved = pythons[n].save();

	if (pthread_create(&thread, NULL, thread_main, &t) || pthread_join(thread, NULL))
		die("pthread_create", "failed");
	pythons[n].restore(saved);
}

/* How a thread of swap gets its state. */
enum how {
	OF_MAIN,		/* PyThreadState_New() of the main interpreter */
	NEW_INTERPRETER,	/* Py_NewInterpreter() */
	OF_NEW_INTERPRETER,	/* PyThreadState_New() of that interpreter */
	LENT,			/* the main thread has made it */
	NATIVE,			/* it has none */
};

static struct swapping {
	int n, native_ms;
	const char *file;
	void *main, *new, *lent;	/* interpreters, a state */
	sem_t made, go;
} swapping;

static void spin_thread(int ms)
{
	long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ll;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/*
 * Make a state while the thread has another, its first, which is deleted then: up to 3.11
 * PyGILState_GetThisThreadState() is NULL from now on.
 */
static void *make_state(const struct python *p, enum how how)
{
	int first = p->ensure();
	void *ts, *mine = p->swap(NULL);

	p->swap(mine);
	if (how == NEW_INTERPRETER)
		ts = p->interpreter();
	else
		ts = p->new(how == OF_MAIN ? swapping.main : swapping.new);
	if (how == NEW_INTERPRETER)
		swapping.new = p->head();
	p->swap(mine);
	p->release(first);
	return ts;
}

static void *swap_main(void *arg)
{
	const struct python *p = &pythons[swapping.n];
	enum how how = (long)arg;
	char *text = read_file(swapping.file);
	long long cpu, wall;
	void *ts = how == LENT ? swapping.lent : how == NATIVE ? NULL : make_state(p, how);

	sem_post(&swapping.made);
	sem_wait(&swapping.go);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	wall = clock_ns(CLOCK_MONOTONIC);
	if (how == NATIVE) {
		spin_thread(swapping.native_ms);
	} else {
		p->restore(ts);
		if (p->run(text))
			die(swapping.file, "failed");
		p->save();
	}
	printf("swapped %d %ld %lld %lld %lld %lld\n", how, syscall(SYS_gettid), cpu,
	       clock_ns(CLOCK_THREAD_CPUTIME_ID), wall, clock_ns(CLOCK_MONOTONIC));
	free(text);
	return NULL;
}

static void say_and_wait(const char *word);

static void swap(int n, const char *file)
{
	enum how how, cnt = swapping.native_ms ? NATIVE + 1 : LENT;
	pthread_t threads[NATIVE + 1];
	void *saved;

	swapping.n = n;
	swapping.file = file;
	swapping.main = pythons[n].head();
	swapping.lent = pythons[n].new(swapping.main);
	saved = pythons[n].save();
	sem_init(&swapping.made, 0, 0);
	sem_init(&swapping.go, 0, 0);
	for (how = 0; how < cnt; how++) {
		if (pthread_create(&threads[how], NULL, swap_main, (void *)(long)how))
			die("pthread_create", "failed");
		sem_wait(&swapping.made);
	}
	say_and_wait("ready");
	for (how = 0; how < cnt; how++)
		sem_post(&swapping.go);
	for (how = 0; how < cnt; how++)
		pthread_join(threads[how], NULL);
	pythons[n].restore(saved);
}

static void spin(int ms)
{
	long long end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ms * 1000000ll;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

static void say_and_wait(const char *word)
{
	char line[16];

	printf("%s\n", word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(0);
}

static void step(const char *name, const char *arg)
{
	int n = arg ? atoi(arg) : 0;
	const char *file = arg && strchr(arg, ':') ? strchr(arg, ':') + 1 : NULL;

	if (!strcmp(name, "wait"))
		say_and_wait("ready");
	else if (!strcmp(name, "pause"))
		say_and_wait("done");
	else if (!strcmp(name, "spin"))
		spin(n);
	else if (!strcmp(name, "local"))
		load(arg, RTLD_LOCAL);
	else if (!strcmp(name, "global"))
		load(arg, RTLD_GLOBAL);
	else if (!strcmp(name, "home"))
		setenv("PYTHONHOME", arg, 1);
	else if (!strcmp(name, "init"))
		pythons[n].init(0);
	else if (!strcmp(name, "fini"))
		pythons[n].fini();
	else if (!strcmp(name, "run"))
		run(n, file);
	else if (!strcmp(name, "lend"))
		swapping.native_ms = n;
	else if (!strcmp(name, "swap"))
		swap(n, file);
	else if (!strcmp(name, "thread"))
		run_in_thread(n, file);
	else
		die(name, "is no step");
}

int main(int argc, char **argv)
{
	int i;

#ifdef LINKED
	pythons[python_cnt++] = (struct python){
		Py_InitializeEx, Py_FinalizeEx, PyRun_SimpleString, PyGILState_Ensure,
		PyGILState_Release, PyEval_SaveThread, PyEval_RestoreThread,
		PyInterpreterState_Head, PyThreadState_New, PyThreadState_Swap, Py_NewInterpreter,
	};
#endif
#ifdef REFER
	printf("at %p %p\n", (void *)_PyRuntime, (void *)_Py_NoneStruct);
#endif
	for (i = 1; i < argc; i++) {
		char *arg = strchr(argv[i], '=');

		if (arg)
			*arg++ = '\0';
		step(argv[i], arg);
	}
	return 0;
}
