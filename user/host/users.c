// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * users.c - see users.h.
 */
#include "host/users.h"

#ifdef TACHBPF_STATIC

#include <stdio.h>
#include <string.h>

/* name: NULL searches for uid. */
static struct passwd *search(const char *name, uid_t uid)
{
	static struct passwd found;
	static char text[4096];
	struct passwd *pw = NULL;
	FILE *f = fopen("/etc/passwd", "re");

	if (!f)
		return NULL;
	do {
		if (fgetpwent_r(f, &found, text, sizeof(text), &pw))
			pw = NULL;	/* the end, or a line that is too long */
	} while (pw && (name ? strcmp(pw->pw_name, name) != 0 : pw->pw_uid != uid));
	fclose(f);
	return pw;
}

struct passwd *user_by_name(const char *name)
{
	return search(name, 0);
}

struct passwd *user_by_uid(uid_t uid)
{
	return search(NULL, uid);
}

#else

struct passwd *user_by_name(const char *name)
{
	return getpwnam(name);
}

struct passwd *user_by_uid(uid_t uid)
{
	return getpwuid(uid);
}

#endif
