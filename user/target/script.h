/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* script.h - scripts: their interpreters, and which Python runs one. */
#ifndef TACHBPF_SCRIPT_H
#define TACHBPF_SCRIPT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A first line that is longer is cut off. */
#define SCRIPT_LINE_BYTES 256

/*
 * Reads the first line of a file if it names an interpreter: "/usr/bin/env python3", without "#!"
 * and the blanks behind it. Hostile text. Returns false if the path is no file, cannot be read, or
 * has no such line; then line is empty.
 */
bool script_interpreter(const char *path, char line[SCRIPT_LINE_BYTES]);

/* Returns true if path is a file with a Python name (app.py) or a Python as its interpreter. */
bool script_is_python(const char *path);

/* Returns true for "/usr/bin/python3.11". */
bool script_names_python(const char *program);

/*
 * Returns the words that run a script: its interpreter, then words, which are the script and its
 * arguments, NULL-terminated. The interpreter is the one of its first line; without one that
 * exists, python3. A name without a path is searched in the active virtual environment, in the PATH
 * of the user who called sudo, and in PATH. The caller frees the result by free(); words must
 * outlive it. NULL with errno: ENOENT: there is no such Python; ENOMEM.
 */
char **script_command(char **words);

/*
 * Finds the program that executes a script: the interpreter of its first line, or what "env" finds.
 * Returns false if there is none, or the file is no script.
 */
bool script_runs(const char *script, char program[PATH_MAX]);

/* Searches name in the directories of PATH, as execvp(3). Returns false if it is in none. */
bool script_find_program(const char *name, char *path, size_t size);

#endif
