// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* version.c - finds CPython's version in an ELF file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/version.h"

/* PY_RELEASE_LEVEL_* in Include/patchlevel.h */
enum { LEVEL_ALPHA = 0xa, LEVEL_BETA = 0xb, LEVEL_RC = 0xc, LEVEL_FINAL = 0xf };

/* Limit on bytes of .rodata that are searched for strings. Debian's python3.15 has 2.6 MB of it. */
#define RODATA_MAX (64u << 20)

int version_from_hex(struct cpython_image *img, uint32_t hex)
{
	static const char *const suffix[16] = {
		[LEVEL_ALPHA] = "a", [LEVEL_BETA] = "b", [LEVEL_RC] = "rc", [LEVEL_FINAL] = "",
	};
	unsigned int level = hex >> 4 & 15, serial = hex & 15;
	int n;

	if (!suffix[level] || hex >> 24 < 3 || hex >> 24 > 9)
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

/* Parse at most 2 digits at s. Returns their number. */
static int take_number(const char *s, uint8_t *v)
{
	int n = 0;

	for (*v = 0; n < 2 && s[n] >= '0' && s[n] <= '9'; n++)
		*v = *v * 10 + (s[n] - '0');
	return n;
}

/* "3.9" at s. */
static bool take_minor(struct cpython_image *img, const char *s)
{
	if ((s[0] != '2' && s[0] != '3') || s[1] != '.' || !take_number(s + 2, &img->minor))
		return false;
	img->major = s[0] - '0';
	snprintf(img->version, sizeof(img->version), "%u.%u", img->major, img->minor);
	return true;
}

/* DT_SONAME libpython3.9.so.1.0, libpython3.6m.so.1.0 */
static bool minor_from_soname(struct cpython_image *img, const struct elf_file *f)
{
	static const char prefix[] = "libpython";
	char name[32];

	return !elf_file_soname(f, name, sizeof(name)) &&
	       !strncmp(name, prefix, sizeof(prefix) - 1) &&
	       take_minor(img, name + sizeof(prefix) - 1);
}

/* Returns true if the string at p, in a buffer that begins at s, is exactly "python3.9". */
static bool is_whole(const char *s, const char *p, const char *digits)
{
	return p > s && !p[-1] && !digits[2 + strspn(digits + 2, "0123456789")];
}

/*
 * The default module path (Modules/getpath.c): "lib/python3.8". From 3.9 on "lib" comes
 * from elsewhere, and "python3.9" is a string of its own.
 */
static bool minor_from_path(struct cpython_image *img, const char *s, size_t len)
{
	static const char needle[] = "python", lib[] = "lib/";
	const size_t lib_len = sizeof(lib) - 1;
	const char *p = s;

	while ((p = memmem(p, len - (p - s), needle, sizeof(needle) - 1))) {
		const char *digits = p + sizeof(needle) - 1;
		bool below_lib = (size_t)(p - s) >= lib_len && !memcmp(p - lib_len, lib, lib_len);

		if ((below_lib || is_whole(s, p, digits)) && take_minor(img, digits))
			return true;
		p = digits;
	}
	return false;
}

/*
 * PY_VERSION is a literal (Python/getversion.c), but the linker may have merged it
 * into the end of a longer one: look for "3.9.<micro>" that ends a string.
 */
static bool find_micro(struct cpython_image *img, const char *s, size_t len)
{
	char prefix[12];
	size_t n = snprintf(prefix, sizeof(prefix), "%u.%u.", img->major, img->minor);
	const char *p = s, *end = s + len;

	while ((p = memmem(p, end - p, prefix, n))) {
		bool inside = p > s && (p[-1] == '.' || (p[-1] >= '0' && p[-1] <= '9'));
		uint8_t micro;
		int digits;

		p += n;
		digits = take_number(p, &micro);
		if (inside || !digits || p[digits] != '\0')
			continue;
		img->micro = micro;
		snprintf(img->version, sizeof(img->version), "%s%u", prefix, img->micro);
		return true;
	}
	return false;
}

/*
 * Search for the version strings. known: the minor version is already known. Returns true if it is
 * known now; *exact: the micro version is, too.
 */
static bool search_version(struct cpython_image *img, const struct elf_file *f, uint64_t off,
			   uint64_t size, bool known, bool *exact)
{
	char *s;

	if (size > RODATA_MAX || size > f->size)
		return known;
	s = malloc(size + 4);
	if (s && !elf_file_pread(f, off, s, size)) {
		/* The functions that parse numbers may read beyond the end. */
		memset(s + size, 0, 4);
		if (known || minor_from_path(img, s, size)) {
			known = true;
			*exact = find_micro(img, s, size);
		}
	}
	free(s);
	return known;
}

int version_from_strings(struct cpython_image *img, const struct elf_file *f, bool *exact)
{
	bool known = minor_from_soname(img, f);
	struct elf_range r;
	unsigned int i;

	*exact = false;
	if (!elf_file_section(f, ".rodata", &r))
		known = search_version(img, f, r.off, r.size, known, exact);
	/* Without section headers, constants are in a segment that is not writable. */
	for (i = 0; !f->shnum && i < f->load_cnt && !*exact; i++)
		if (!f->loads[i].writable)
			known = search_version(img, f, f->loads[i].off, f->loads[i].filesz, known,
					       exact);
	return known ? 0 : -ENOENT;
}

bool version_has_string(const struct elf_file *f, const char *string)
{
	struct elf_range r;
	bool found = false;
	char *s;

	if (elf_file_section(f, ".rodata", &r) || r.size > RODATA_MAX || r.size > f->size)
		return false;
	s = malloc(r.size + 1);
	if (s && !elf_file_pread(f, r.off, s, r.size))
		found = memmem(s, r.size, string, strlen(string) + 1);
	free(s);
	return found;
}

/* Returns true if "3.12.1" is there as a string of its own, or as the end of one. */
static bool has_literal(const struct cpython_image *img, const uint8_t *s, size_t len)
{
	return memmem(s, len, img->version, strlen(img->version) + 1);
}

int version_from_constants(const struct elf_file *f, uint32_t *hex)
{
	struct cpython_image img;
	struct elf_range r;
	uint8_t *s;
	size_t i;
	int err = -ENOENT;

	if (elf_file_section(f, ".rodata", &r) || r.size > RODATA_MAX || r.size > f->size)
		return -ENOENT;
	s = malloc(r.size + 1);
	if (!s || elf_file_pread(f, r.off, s, r.size))
		goto out;
	for (i = -r.vaddr & 7; err && i + 8 <= r.size; i += 8) {
		uint64_t v;

		memcpy(&v, s + i, sizeof(v));
		if (v >> 24 != 3 || (v >> 16 & 0xff) < 11 || version_from_hex(&img, v))
			continue;
		if (has_literal(&img, s, r.size)) {
			*hex = v;
			err = 0;
		}
	}
out:
	free(s);
	return err;
}
