// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* script.c - see script.h. */
#include "target/script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "host/regular.h"

#define BLANKS " \t"
#define INTERPRETER_WORDS 8	/* of a first line; further ones are dropped */
#define ENVIRON_BYTES 131072	/* of sudo's environment; the rest is not read */
#define ANCESTORS 3		/* how far up sudo may be: it may keep a process for a terminal */

bool script_interpreter(const char *path, char line[SCRIPT_LINE_BYTES])
{
	int fd = open_regular(AT_FDCWD, path, 0);
	char text[SCRIPT_LINE_BYTES + 2];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *begin;

	if (fd >= 0)
		close(fd);
	*line = '\0';
	if (n < 3 || text[0] != '#' || text[1] != '!')
		return false;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	begin = text + 2 + strspn(text + 2, BLANKS);
	snprintf(line, SCRIPT_LINE_BYTES, "%s", begin);
	return *line;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Splits a first line into words. */
static size_t split_line(char *line, char *words[INTERPRETER_WORDS])
{
	char *save, *word;
	size_t cnt = 0;

	for (word = strtok_r(line, BLANKS, &save); word && cnt < INTERPRETER_WORDS;
	     word = strtok_r(NULL, BLANKS, &save))
		words[cnt++] = word;
	return cnt;
}

/* Returns how many words come before the interpreter: "env" with its options and variables. */
static size_t skip_env(char *const words[], size_t cnt)
{
	size_t i = 1;

	if (!cnt || strcmp(base_name(words[0]), "env"))
		return 0;
	while (i < cnt && (*words[i] == '-' || strchr(words[i], '=')))
		i++;
	return i;
}

bool script_names_python(const char *program)
{
	const char *name = base_name(program);

	return !strncmp(name, "python", 6) || !strncmp(name, "pypy", 4);
}

static bool has_python_name(const char *path)
{
	static const char *const endings[] = { ".py", ".pyw", ".pyz", ".pyc" };
	const char *dot = strrchr(base_name(path), '.');
	struct stat st;
	size_t i;

	for (i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (!strcmp(dot, endings[i]))
			return !stat(path, &st) && S_ISREG(st.st_mode);
	return false;
}

bool script_is_python(const char *path)
{
	char line[SCRIPT_LINE_BYTES], *words[INTERPRETER_WORDS];
	size_t cnt, first;

	if (has_python_name(path))
		return true;
	if (!script_interpreter(path, line))
		return false;
	cnt = split_line(line, words);
	first = skip_env(words, cnt);
	return first < cnt && script_names_python(words[first]);
}

/* ---- where an interpreter is ---- */

static bool is_program(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Searches name in the directories of a list as PATH. */
static bool find_in(const char *dirs, const char *name, char *path, size_t size)
{
	size_t len;

	for (; dirs && *dirs; dirs += len + (dirs[len] == ':')) {
		len = strcspn(dirs, ":");
		if (len && snprintf(path, size, "%.*s/%s", (int)len, dirs, name) < (int)size &&
		    is_program(path))
			return true;
	}
	return false;
}

bool script_find_program(const char *name, char *path, size_t size)
{
	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size && is_program(path);
	return find_in(getenv("PATH"), name, path, size);
}

/*
 * Returns the environment of the sudo that has started us, which has the variables that sudo has
 * removed from ours: strings, and an empty one. To be freed. NULL: there is none.
 */
static char *read_sudo_environ(void)
{
	struct proc_stat st = { .ppid = getppid() };
	pid_t pid = 0;
	char *env;
	int i;

	if (!getenv("SUDO_USER"))
		return NULL;
	for (i = 0; i < ANCESTORS && strcmp(st.comm, "sudo"); i++) {
		pid = st.ppid;
		if (pid <= 1 || proc_stat(pid, &st))
			return NULL;
	}
	env = strcmp(st.comm, "sudo") ? NULL : calloc(1, ENVIRON_BYTES + 2);
	if (env && proc_read(pid, "environ", env, ENVIRON_BYTES) <= 0) {
		free(env);
		return NULL;
	}
	return env;
}

/* env may be NULL. Returns NULL if the variable is not in it. */
static const char *variable_of(const char *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env += strlen(env) + 1)
		if (!strncmp(env, name, len) && env[len] == '=')
			return env + len + 1;
	return NULL;
}

/* Searches name in the active virtual environment, and in the lists of directories. */
static bool find_program(const char *name, char *path, size_t size)
{
	char *sudo = read_sudo_environ();
	const char *venv = getenv("VIRTUAL_ENV");
	char bin[PATH_MAX];
	bool found;

	if (!venv)
		venv = variable_of(sudo, "VIRTUAL_ENV");
	snprintf(bin, sizeof(bin), "%s/bin", venv ? venv : "");
	found = (venv && find_in(bin, name, path, size)) ||
		find_in(variable_of(sudo, "PATH"), name, path, size) ||
		script_find_program(name, path, size);
	free(sudo);
	return found;
}

typedef bool (*find_fn)(const char *name, char *path, size_t size);

/*
 * The interpreter of the script's first line, if it exists; find: of a name without a path. Returns
 * the number of its words.
 */
static size_t find_interpreter(const char *script, char line[SCRIPT_LINE_BYTES],
			       char *words[INTERPRETER_WORDS], find_fn find, char path[PATH_MAX])
{
	size_t cnt, first;
	bool found;

	if (!script_interpreter(script, line))
		return 0;
	cnt = split_line(line, words);
	first = skip_env(words, cnt);
	if (first >= cnt)
		return 0;
	found = (strchr(words[first], '/') ? script_find_program : find)(words[first], path,
									 PATH_MAX);
	memmove(words, words + first, (cnt - first) * sizeof(*words));
	return found ? cnt - first : 0;
}

bool script_runs(const char *script, char program[PATH_MAX])
{
	char line[SCRIPT_LINE_BYTES], *words[INTERPRETER_WORDS];

	return find_interpreter(script, line, words, script_find_program, program);
}

/* The result owns copies of the interpreter's words: they are behind its pointers. */
static char **join_words(char *const interpreter[], size_t cnt, char **words)
{
	size_t bytes = 0, all = 0, i;
	char **command, *text;

	while (words[all])
		all++;
	for (i = 0; i < cnt; i++)
		bytes += strlen(interpreter[i]) + 1;
	command = calloc(1, (cnt + all + 1) * sizeof(*command) + bytes);
	if (!command)
		return NULL;
	text = (char *)(command + cnt + all + 1);
	for (i = 0; i < cnt; i++) {
		command[i] = text;
		text = stpcpy(text, interpreter[i]) + 1;
	}
	memcpy(command + cnt, words, all * sizeof(*words));
	return command;
}

char **script_command(char **words)
{
	char line[SCRIPT_LINE_BYTES], *interpreter[INTERPRETER_WORDS], path[PATH_MAX];
	size_t cnt = find_interpreter(words[0], line, interpreter, find_program, path);

	if (!cnt) {
		if (!find_program("python3", path, sizeof(path)) &&
		    !find_program("python", path, sizeof(path))) {
			errno = ENOENT;
			return NULL;
		}
		cnt = 1;
	}
	interpreter[0] = path;
	return join_words(interpreter, cnt, words);
}
