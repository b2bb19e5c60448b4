// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * version.c - reads CPython's version out of an ELF file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

/* PY_RELEASE_LEVEL_* in Include/patchlevel.h */
enum { LEVEL_ALPHA = 0xa, LEVEL_BETA = 0xb, LEVEL_RC = 0xc, LEVEL_FINAL = 0xf };

/* How much of .rodata is searched for strings. Debian's python3.15 has 2.6 MB of it. */
#define RODATA_MAX (16u << 20)

int version_from_hex(struct cpython_image *img, uint32_t hex)
{
	static const char *const suffix[16] = {
		[LEVEL_ALPHA] = "a", [LEVEL_BETA] = "b", [LEVEL_RC] = "rc", [LEVEL_FINAL] = "",
	};
	unsigned int level = hex >> 4 & 15, serial = hex & 15;
	int n;

	if (!suffix[level] || hex >> 24 != 3)
		return -EBADMSG;
	img->major = hex >> 24;
	img->minor = hex >> 16;
	img->micro = hex >> 8;
	n = snprintf(img->version, sizeof(img->version), "%u.%u.%u", img->major, img->minor,
		     img->micro);
	if (level != LEVEL_FINAL)
		snprintf(img->version + n, sizeof(img->version) - n, "%s%u", suffix[level],
			 serial);
	return 0;
}

bool version_is_unstable(uint32_t hex)
{
	return (hex >> 4 & 15) < LEVEL_RC;
}

/* Parse digits at s, at most 2. Returns how many. */
static int take_number(const char *s, uint8_t *v)
{
	int n = 0;

	for (*v = 0; n < 2 && s[n] >= '0' && s[n] <= '9'; n++)
		*v = *v * 10 + (s[n] - '0');
	return n;
}

/* "3.9.18": the literal of PY_VERSION (Python/getversion.c), a string of its own. */
static bool is_full_version(struct cpython_image *img, const char *s)
{
	uint8_t micro;
	int n, len = snprintf(NULL, 0, "3.%u.", img->minor);
	char prefix[12];

	snprintf(prefix, sizeof(prefix), "3.%u.", img->minor);
	if (strncmp(s, prefix, len))
		return false;
	n = take_number(s + len, &micro);
	if (!n || s[len + n] != '\0')
		return false;
	img->micro = micro;
	snprintf(img->version, sizeof(img->version), "3.%u.%u", img->minor, micro);
	return true;
}

/* "…python3.9…" among the strings: the minor version. */
static bool find_minor(struct cpython_image *img, const char *s, size_t len)
{
	static const char needle[] = "lib/python3.";
	const char *p = s;

	while ((p = memmem(p, len - (p - s), needle, sizeof(needle) - 1))) {
		p += sizeof(needle) - 1;
		if (take_number(p, &img->minor)) {
			img->major = 3;
			snprintf(img->version, sizeof(img->version), "3.%u", img->minor);
			return true;
		}
	}
	return false;
}

int version_from_strings(struct cpython_image *img, const struct elf_file *f)
{
	struct elf_range r;
	char *s, *p;
	int err = -ENOENT;

	if (elf_file_section(f, ".rodata", &r) || r.size > RODATA_MAX || r.size > f->size)
		return -ENOENT;
	s = malloc(r.size + 4);
	if (!s || elf_file_pread(f, r.off, s, r.size))
		goto out;
	memset(s + r.size, 0, 4);
	if (!find_minor(img, s, r.size))
		goto out;
	err = 0;
	for (p = s; p < s + r.size; p += strlen(p) + 1)
		if (*p == '3' && is_full_version(img, p))
			break;
out:
	free(s);
	return err;
}
