// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * program_name.c - see program_name.h.
 *
 * A command line is parsed from the left: a dynamic linker, an interpreter with its options,
 * programs that run other programs (coverage run) with theirs, and then the program itself.
 */
#include "telemetry/program_name.h"

#include <string.h>

#include "base/string_ref.h"
#include "base/util.h"

struct args {
	char text[PROGRAM_CMDLINE_BYTES + 1];
	const char *v[PROGRAM_ARGS_MAX];
	size_t cnt;
};

/* A program that runs another one, which its arguments name. */
struct runner {
	const char *name;
	const char *command;		/* the required first argument; NULL: any */
	const char *const *with_value;	/* its options whose value is the next argument */
};

static const char *const linker_values[] = { "--library-path", "--preload", "--argv0", "--audit",
	"--inhibit-rpath", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask", NULL };
static const char *const profile_values[] = { "-o", "--outfile", "-s", "--sort", NULL };
static const char *const debugpy_values[] = { "--listen", "--connect", "--log-to",
	"--adapter-access-token", "--parent-session-pid", NULL };
static const char *const coverage_values[] = { "--rcfile", "--source", "--omit", "--include",
	"--context", "--concurrency", "--data-file", NULL };
static const char *const viztracer_values[] = { "-o", "--output_file", "--tracer_entries",
	"--max_stack_depth", NULL };
static const char *const pdb_values[] = { "-c", "--command", NULL };

static const struct runner linker = { "ld.so", NULL, linker_values };
static const struct runner runners[] = {
	{ "cProfile", NULL, profile_values }, { "profile", NULL, profile_values },
	{ "debugpy", NULL, debugpy_values }, { "coverage", "run", coverage_values },
	{ "viztracer", NULL, viztracer_values }, { "pdb", NULL, pdb_values },
};

/* The names of programs that call themselves something else. */
static const struct { const char *title, *name; } aliases[] = {
	{ "celeryd", "celery" }, { "uWSGI", "uwsgi" },
};

/* Modules that Python programs start as their helpers. */
static const char *const helpers[] = { "multiprocessing", "joblib", "billiard", "loky" };

/* ---- words ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool program_is_python(const char *name)
{
	const char *s = name;

	if (*s == '-')			/* login shells have it */
		s++;
	if (!starts_with(s, "python") && !starts_with(s, "pypy"))
		return false;
	s += *s == 'p' && s[1] == 'y' && s[2] == 't' ? 6 : 4;
	s += strspn(s, "0123456789.");
	s += strspn(s, "dmtu");
	return !*s || !strcmp(s, "-dbg") || !strcmp(s, "-debug") || !strcmp(s, " (deleted)");
}

static bool is_linker(const char *name)
{
	return starts_with(name, "ld-linux") || starts_with(name, "ld-musl") ||
	       !strcmp(name, "ld.so") || starts_with(name, "ld64.so");
}

static bool is_in(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static void set_name(char out[PROGRAM_NAME_BYTES], const char *name, size_t len)
{
	escape_text(name, len, out, PROGRAM_NAME_BYTES);
}

static void set_text(char out[PROGRAM_NAME_BYTES], const char *name)
{
	set_name(out, name, strlen(name));
}

/* ---- arguments ---- */

/* Splits text into arguments at each separator. What does not fit is ignored. */
static void cut_at(struct args *a, size_t len, char separator)
{
	char *p = a->text, *end = a->text + len, *next;

	a->cnt = 0;
	for (; p < end && a->cnt < PROGRAM_ARGS_MAX; p = next + 1) {
		next = memchr(p, separator, (size_t)(end - p));
		if (!next)
			next = end;
		*next = '\0';
		a->v[a->cnt++] = p;
	}
	/* Titles are padded. */
	while (a->cnt && !*a->v[a->cnt - 1])
		a->cnt--;
}

static const char *arg_at(const struct args *a, size_t i)
{
	return i < a->cnt ? a->v[i] : "";
}

/* ---- what Python executes ---- */

/* The name without its directory; a package's __main__.py is named after its directory. */
static void name_of_script(const char *path, char out[PROGRAM_NAME_BYTES])
{
	size_t end = strlen(path), begin;

	for (;;) {
		while (end && path[end - 1] == '/')
			end--;
		for (begin = end; begin && path[begin - 1] != '/'; begin--)
			;
		if (end - begin != strlen("__main__.py") || !begin ||
		    memcmp(path + begin, "__main__.py", end - begin))
			break;
		end = begin;
	}
	if (path[begin] == '.' && (end - begin == 1 || path[begin + 1] == '.'))
		return;			/* a directory whose name is not known */
	set_name(out, path + begin, end - begin);
}

/* A package is named after its __main__ module. */
static void name_of_module(const char *module, char out[PROGRAM_NAME_BYTES])
{
	size_t len = strlen(module);

	set_name(out, module, ends_with(module, ".__main__") ? len - strlen(".__main__") : len);
}

/* Code of an argument -c. Helpers of multiprocessing are recognised by it. */
static void name_of_code(const char *code, char out[PROGRAM_NAME_BYTES])
{
	set_text(out, starts_with(code, "from multiprocessing.") ? "multiprocessing" :
		 starts_with(code, "from billiard.") ? "billiard" :
		 starts_with(code, "from joblib.") ? "joblib" : "python -c");
}

/*
 * Reads one argument with Python options at *i, and moves *i past it. Returns false if no option
 * can follow: it was "--". A name in out ends the search.
 */
static bool python_option(const struct args *a, size_t *i, char out[PROGRAM_NAME_BYTES])
{
	const char *s = arg_at(a, *i), *value;

	if (s[1] == '-') {
		*i += strcmp(s, "--check-hash-based-pycs") ? 1 : 2;
		return s[2];
	}
	for (s++; *s && !strchr("cmWXQ", *s); s++)
		;
	*i += 1;
	if (!*s)
		return true;
	value = s[1] ? s + 1 : arg_at(a, (*i)++);
	if (*s == 'c')
		name_of_code(value, out);
	else if (*s == 'm')
		name_of_module(value, out);
	return true;
}

/* What Python executes; its arguments begin at i. Returns where the program's arguments begin. */
static size_t name_of_python(const struct args *a, size_t i, char out[PROGRAM_NAME_BYTES])
{
	while (i < a->cnt && !out[0] && a->v[i][0] == '-' && a->v[i][1] &&
	       python_option(a, &i, out))
		;
	if (out[0] || i >= a->cnt)
		return i;
	if (!strcmp(a->v[i], "-"))
		set_text(out, "python -");
	else
		name_of_script(a->v[i], out);
	return i + 1;
}

/* ---- programs that run programs ---- */

/* Where the program is after a runner's options, from i on; a->cnt: nowhere. */
static size_t behind_options(const struct args *a, size_t i, const struct runner *r)
{
	while (i < a->cnt && a->v[i][0] == '-') {
		bool has_value = is_in(a->v[i], r->with_value);

		if (!has_value && (!strcmp(a->v[i], "-m") || !strcmp(a->v[i], "-c")))
			break;
		i += has_value ? 2 : 1;
	}
	return i;
}

/*
 * If name is a runner whose arguments begin at i, names what it runs. Returns false if it is none,
 * or names nothing.
 */
static bool name_of_run(const struct args *a, size_t *i, char name[PROGRAM_NAME_BYTES])
{
	char run[PROGRAM_NAME_BYTES] = "";
	size_t n, at = *i;

	for (n = 0; n < ARRAY_SIZE(runners) && strcmp(runners[n].name, name); n++)
		;
	if (n == ARRAY_SIZE(runners))
		return false;
	if (runners[n].command && strcmp(arg_at(a, at++), runners[n].command))
		return false;
	at = name_of_python(a, behind_options(a, at, &runners[n]), run);
	if (!run[0])
		return false;
	memcpy(name, run, sizeof(run));
	*i = at;
	return true;
}

/* ---- titles ---- */

/*
 * Returns true if the only argument is no path, but a title that the program has set. Such titles
 * have blanks or colons: "gunicorn: worker [app]", "[celeryd: celery@host:MainProcess]",
 * "ray::IDLE".
 */
static bool is_title(const struct args *a, const char *exe)
{
	return a->cnt == 1 && strpbrk(a->v[0], " :") && strcmp(a->v[0], exe);
}

/* Its first word, without a leading bracket and a trailing colon. */
static void name_of_title(const char *title, char out[PROGRAM_NAME_BYTES])
{
	const char *s = title + strspn(title, "[( ");
	size_t len = strcspn(s, " :])"), i;
	const char *slash = memrchr(s, '/', len);

	if (slash) {
		len -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	set_name(out, s, len);
	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(out, aliases[i].title))
			set_text(out, aliases[i].name);
}

/* ---- all of it ---- */

static void name_of_args(const struct args *a, const char *exe, char out[PROGRAM_NAME_BYTES])
{
	size_t i = 0;

	if (is_linker(base_name(arg_at(a, 0))) && a->cnt > 1)
		i = behind_options(a, 1, &linker);
	if (!program_is_python(base_name(arg_at(a, i)))) {
		const char *name = base_name(arg_at(a, i));

		set_text(out, *name == '-' ? name + 1 : name);
		return;
	}
	i = name_of_python(a, i + 1, out);
	/* Each run starts after the last one, so this ends. */
	while (out[0] && name_of_run(a, &i, out))
		;
}

static bool is_helper(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(helpers); i++) {
		size_t len = strlen(helpers[i]);

		if (starts_with(name, helpers[i]) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

/* The command line gives no name. */
static void name_of_rest(const char *exe, const char *comm, char out[PROGRAM_NAME_BYTES])
{
	static const char gone[] = " (deleted)";
	const char *base = base_name(exe);
	size_t len = strlen(base);

	if (*comm && !program_is_python(comm)) {
		set_text(out, comm);
	} else if (*base && !program_is_python(base)) {
		len -= ends_with(base, gone) ? strlen(gone) : 0;
		set_name(out, base, len);
	}
	if (!out[0])
		set_text(out, "python");
}

bool program_name(const char *cmdline, size_t len, const char *exe, const char *comm,
		  char out[PROGRAM_NAME_BYTES])
{
	struct args a;

	out[0] = '\0';
	if (len > PROGRAM_CMDLINE_BYTES)
		len = PROGRAM_CMDLINE_BYTES;
	memcpy(a.text, cmdline, len);
	a.text[len] = '\0';
	cut_at(&a, len, '\0');
	if (is_title(&a, exe)) {
		name_of_title(a.v[0], out);
		if (program_is_python(out)) {
			/* "/usr/bin/python3 /usr/bin/salt-minion Worker": arguments again */
			out[0] = '\0';
			cut_at(&a, strlen(a.text), ' ');
			name_of_args(&a, exe, out);
		}
	} else {
		name_of_args(&a, exe, out);
	}
	if (!out[0])
		name_of_rest(exe, comm, out);
	return is_helper(out);
}

void program_cmdline(const char *cmdline, size_t len, char *out, size_t size)
{
	char text[PROGRAM_CMDLINE_BYTES];
	size_t i;

	if (len > sizeof(text))
		len = sizeof(text);
	while (len && !cmdline[len - 1])
		len--;
	for (i = 0; i < len; i++)
		text[i] = cmdline[i] ? cmdline[i] : ' ';
	escape_text(text, len, out, size);
}
