// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * users.c - see users.h.
 */
#include "host/users.h"

#include <errno.h>
#include <grp.h>

#ifdef TACHBPF_STATIC

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_MAX 256

/* name: NULL searches for uid. */
static struct passwd *search_passwd(const char *name, uid_t uid)
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
	return search_passwd(name, 0);
}

struct passwd *user_by_uid(uid_t uid)
{
	return search_passwd(NULL, uid);
}

static bool is_member(const struct group *gr, const char *name)
{
	char *const *member = gr->gr_mem;

	while (*member && strcmp(*member, name) != 0)
		member++;
	return *member != NULL;
}

int user_take_groups(const char *name, gid_t gid)
{
	static char text[65536];
	struct group group, *gr = NULL;
	gid_t ids[GROUPS_MAX] = { gid };
	FILE *f = fopen("/etc/group", "re");
	size_t n = 1;

	while (f && n < GROUPS_MAX && !fgetgrent_r(f, &group, text, sizeof(text), &gr) && gr)
		if (is_member(gr, name))
			ids[n++] = gr->gr_gid;
	if (f)
		fclose(f);
	return setgroups(n, ids);
}

int group_by_name(const char *name, gid_t *gid)
{
	static char text[65536];
	struct group group, *gr = NULL;
	FILE *f = fopen("/etc/group", "re");

	do {
		if (!f || fgetgrent_r(f, &group, text, sizeof(text), &gr))
			gr = NULL;
	} while (gr && strcmp(gr->gr_name, name) != 0);
	if (f)
		fclose(f);
	if (!gr)
		return -ENOENT;
	*gid = gr->gr_gid;
	return 0;
}

#else

int user_take_groups(const char *name, gid_t gid)
{
	return initgroups(name, gid);
}

int group_by_name(const char *name, gid_t *gid)
{
	const struct group *gr = getgrnam(name);

	if (!gr)
		return -ENOENT;
	*gid = gr->gr_gid;
	return 0;
}

struct passwd *user_by_name(const char *name)
{
	return getpwnam(name);
}

struct passwd *user_by_uid(uid_t uid)
{
	return getpwuid(uid);
}

#endif
