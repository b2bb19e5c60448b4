/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * program_name.h - the usual name of a running program: "gunicorn", "train.py", "flask", and not
 * "python3". From its command line, which is hostile. Pure, no allocation.
 */
#ifndef TACHBPF_PROGRAM_NAME_H
#define TACHBPF_PROGRAM_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_NAME_BYTES 256
/* Limits of a command line's bytes and arguments that are examined. */
#define PROGRAM_CMDLINE_BYTES 4096
#define PROGRAM_ARGS_MAX 64

/*
 * Names a program. cmdline: the bytes of /proc/PID/cmdline, NUL-terminated arguments, or a title
 * that the program has set itself ("gunicorn: master [app]"); exe: the path of its executable,
 * comm: its first thread's name; each may be "". The name is valid UTF-8 without control
 * characters, and never empty:
 *
 *     python3 -u /srv/train.py --fast   train.py     python3 -m http.server 80   http.server
 *     python3 /srv/shop/__main__.py     shop         python3 -c 'import x'       python -c
 *     python3 /usr/bin/celery -A x      celery       gunicorn: master [app]      gunicorn
 *     coverage run -m pytest            pytest       /usr/sbin/apache2 -k start  apache2
 *
 * Returns true for a helper of multiprocessing, joblib or billiard: a process of its parent's
 * service, with no name of its own.
 */
bool program_name(const char *cmdline, size_t len, const char *exe, const char *comm,
		  char out[PROGRAM_NAME_BYTES]);

/* Returns true for the name of a Python interpreter: "python3", "python3.13t", "pypy3". */
bool program_is_python(const char *name);

/*
 * The command line as clean text with blanks between arguments: at most size - 1 bytes, of the
 * first PROGRAM_CMDLINE_BYTES. cmdline may be NULL if len is 0.
 */
void program_cmdline(const char *cmdline, size_t len, char *out, size_t size);

#endif
