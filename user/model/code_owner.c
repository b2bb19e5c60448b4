// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* code_owner.c - see code_owner.h. Owns nothing. */
#include "model/code_owner.h"

#include "base/util.h"

static bool is_digit(struct string_ref s)
{
	return s.len && *s.data >= '0' && *s.data <= '9';
}

static void skip_bytes(struct string_ref *s, size_t cnt)
{
	s->data += cnt;
	s->len -= cnt;
}

/* Returns true if the path begins with text, and moves it behind that. */
static bool skip_text(struct string_ref *s, const char *text)
{
	if (!ref_starts_with(*s, text))
		return false;
	skip_bytes(s, strlen(text));
	return true;
}

/* Returns true if the path, from one of its slashes on, begins with a standard library. */
static bool is_standard_here(struct string_ref s)
{
	if (skip_text(&s, "/lib/python") || skip_text(&s, "/lib64/python"))
		return is_digit(s) && memchr(s.data, '/', s.len);
	if (!skip_text(&s, "/python") || !is_digit(s))
		return false;
	while (is_digit(s))
		skip_bytes(&s, 1);
	return ref_starts_with(s, ".zip/");
}

static bool is_standard(struct string_ref s)
{
	const char *slash;

	if (ref_starts_with(s, "<frozen "))
		return true;
	while ((slash = memchr(s.data, '/', s.len))) {
		skip_bytes(&s, slash - s.data);
		if (is_standard_here(s))
			return true;
		skip_bytes(&s, 1);
	}
	return false;
}

static bool is_system(struct string_ref s)
{
	static const char *const dirs[] = { "/bin/", "/sbin/", "/libexec/", "/share/" };
	size_t i;

	if (ref_starts_with(s, "/snap/"))
		return true;
	if (ref_starts_with(s, "/usr/"))
		skip_bytes(&s, strlen("/usr"));
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		if (ref_starts_with(s, dirs[i]))
			return true;
	return false;
}

enum code_owner code_owner_of(struct string_ref file)
{
	if (memmem(file.data, file.len, "site-packages/", strlen("site-packages/")) ||
	    memmem(file.data, file.len, "dist-packages/", strlen("dist-packages/")))
		return CODE_PACKAGE;
	if (is_standard(file))
		return CODE_STANDARD;
	return is_system(file) ? CODE_SYSTEM : CODE_OWN;
}
