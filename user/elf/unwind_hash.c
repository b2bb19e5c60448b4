// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unwind_hash.c - unwind_hash() of unwind_build.h: XXH3-128 with a secret; without knowing it,
 * nobody can create a file that gets the table of another one. It alone needs libxxhash.
 */
#include <errno.h>
#include <xxhash.h>

#include "elf/cfi_section.h"
#include "elf/unwind_build.h"
#include "elf/unwind_trampoline.h"

#define SECRET_BYTES 192
_Static_assert(SECRET_BYTES >= XXH3_SECRET_SIZE_MIN, "the secret is long enough");

/* Precedes the bytes of a section, so that two sections never look like one. */
struct part {
	uint64_t kind, vaddr, len;
};

static int add_section(XXH3_state_t *h, const struct elf_file *elf, uint64_t kind,
		       int (*read)(const struct elf_file *elf, struct cfi_section *s))
{
	struct cfi_section s;
	int err = read(elf, &s);
	struct part part = { kind, s.vaddr, s.len };

	if (!err) {
		XXH3_128bits_update(h, &part, sizeof(part));
		XXH3_128bits_update(h, s.bytes, s.len);
	}
	cfi_section_free(&s);
	return err;
}

/* The only part of the table of a file without both sections. 0 or -errno. */
static int add_trampoline(XXH3_state_t *h, const struct elf_file *elf)
{
	struct part part = { 3, 0, UNWIND_TRAMPOLINE_BYTES };
	int err = unwind_trampoline_find(elf, &part.vaddr);

	if (!err)
		XXH3_128bits_update(h, &part, sizeof(part));
	return err;
}

static void add_segments(XXH3_state_t *h, const struct elf_file *elf)
{
	unsigned int i;

	for (i = 0; i < elf->load_cnt; i++) {
		const struct elf_load *l = &elf->loads[i];
		struct part part = { elf->machine, l->vaddr, l->memsz };

		if (l->executable)
			XXH3_128bits_update(h, &part, sizeof(part));
	}
}

int unwind_hash(const struct elf_file *elf, const uint8_t secret[192], uint64_t hash[2])
{
	XXH3_state_t *h = XXH3_createState();
	XXH128_hash_t sum;
	int eh, debug;

	if (!h)
		return -ENOMEM;
	XXH3_128bits_reset_withSecret(h, secret, SECRET_BYTES);
	add_segments(h, elf);
	eh = add_section(h, elf, 1, cfi_section_read_eh);
	debug = eh && eh != -ENOENT ? eh : add_section(h, elf, 2, cfi_section_read_debug);
	if (eh == -ENOENT && debug == -ENOENT)
		debug = add_trampoline(h, elf);
	sum = XXH3_128bits_digest(h);
	XXH3_freeState(h);
	/* As for the table: .debug_frame does not count if it cannot be read. */
	if (debug && eh)
		return debug;
	hash[0] = sum.low64;
	hash[1] = sum.high64;
	return 0;
}
