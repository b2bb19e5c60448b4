// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* qualify.c - adds modules to names of functions. See qualify.h. */
#include "formats/qualify.h"

#include <errno.h>

#define PACKAGE_FILE "/__init__.py"
#define FROZEN "<frozen "

static struct string_ref from_to(const char *begin, const char *end)
{
	return (struct string_ref){ begin, (uint32_t)(end - begin) };
}

/* "python3.11", "python3.13t": the directory of the standard library, in lib or lib64. */
static bool is_stdlib(struct string_ref dir, struct string_ref above)
{
	static const char python[] = "python3.";
	uint32_t i = sizeof(python) - 1;

	if (!ref_starts_with(dir, python) || !ref_starts_with(above, "lib"))
		return false;
	while (i < dir.len && strchr("0123456789t", dir.data[i]))
		i++;
	return i == dir.len;
}

/* Returns true if Python looks for modules in this directory, or archive. */
static bool is_root(struct string_ref dir, struct string_ref above)
{
	static const char *const names[] = { "site-packages", "dist-packages" };
	static const char *const archives[] = { ".zip", ".egg", ".whl", ".pyz" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (ref_is(dir, names[i]))
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(archives); i++) {
		if (ref_ends_with(dir, archives[i]))
			return true;
	}
	return is_stdlib(dir, above);
}

static bool is_named(struct string_ref dir)
{
	return dir.len && !ref_is(dir, ".") && !ref_is(dir, "..");
}

/* The path without what Python omits in a module's name: "/__init__.py", ".py". */
static struct string_ref without_suffix(struct string_ref path)
{
	if (ref_ends_with(path, PACKAGE_FILE))
		path.len -= strlen(PACKAGE_FILE);
	else if (ref_ends_with(path, ".py"))
		path.len -= strlen(".py");
	return path;
}

/*
 * The part of a path that names its module: what follows the last root, or else the file with its
 * directory, which is usually a package's name; many files have the same name (views.py).
 */
static struct string_ref module_path(struct string_ref path)
{
	struct string_ref dir = { 0 }, above, module = without_suffix(path);
	const char *end = module.data + module.len, *at = module.data, *slash, *root = NULL;

	for (; (slash = memchr(at, '/', (size_t)(end - at))); at = slash + 1) {
		above = dir;
		dir = from_to(at, slash);
		if (is_root(dir, above))
			root = slash + 1;
	}
	return from_to(root ? root : is_named(dir) ? dir.data : at, end);
}

/* The module of "<frozen importlib._bootstrap>" is named there; other texts in <> are no paths. */
static struct string_ref module_of(struct string_ref path)
{
	if (!ref_starts_with(path, "<"))
		return module_path(path);
	if (ref_starts_with(path, FROZEN) && ref_ends_with(path, ">"))
		return from_to(path.data + strlen(FROZEN), path.data + path.len - 1);
	return path;
}

int qualify_name(struct buf *out, struct string_ref path, struct string_ref func)
{
	struct string_ref module = path.len ? module_of(path) : path;
	char *p, *end;

	out->len = 0;
	if (buf_reserve(out, (size_t)module.len + func.len + 2))
		return -ENOMEM;
	p = (char *)out->data;
	if (module.len) {
		memcpy(p, module.data, module.len);
		end = p + module.len;
		while (*path.data != '<' && (p = memchr(p, '/', (size_t)(end - p))))
			*p++ = '.';
		*end = '.';
		p = end + 1;
	}
	memcpy(p, func.data, func.len);
	p[func.len] = '\0';
	out->len = (size_t)(p - (char *)out->data) + func.len;
	return 0;
}
