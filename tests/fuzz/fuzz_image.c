// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_image.c - gives cpython_image_read() a hostile ELF file.
 *
 * Input: a byte that says which made-up CPython to start from (0: none), then either
 * the file itself or, for a made-up one, changes to it: u16 which byte, u8 value, repeated.
 * Only bytes of words that are not zero count, so that most changes hit something, and a
 * mutation need not find out by itself what an ELF file is. Run where tests/golden is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpython/debug_offsets.h"
#include "cpython/image.h"
#include "tests/unit/cpython/fake_elf.h"

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

#define WAYS 14	/* to make one up; see build() */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t getter[] = { FAKE_TLS_CODE };
/* The words of a CPython, Py_Version and its string. */
static const char constants[] = "Fatal Python error: \0\0\0_frozen_importlib\0\0\0\0\0\0\0"
				"\xf0\x07\x0b\x03\0\0\0\0" "3.11.7";
static const char strings[] = "\0/usr/lib/python3.12\0Python-3.12.4";

static const char strings_36[] = "\0/usr/lib/python3.6\0" "3.6.15";
static const uint8_t head_36[] = { 0x48, 0x8b, 0x05, 0x29, 0x10, 0, 0, 0xc3 };
static const uint8_t getter_36[] = { 0x8b, 0x3d, 0x10, 0x11, 0, 0, 0xe9, 0, 0, 0, 0, 0xc3 };

static size_t load_golden(unsigned int minor, const char *threads, uint8_t *out)
{
	char path[512];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/debug_offsets_3.%u%s.bin", GOLDEN_DIR, minor, threads);
	f = fopen(path, "rb");
	if (f) {
		len = fread(out, 1, DEBUG_OFFSETS_MAX, f);
		fclose(f);
	}
	return len;
}

/* No section headers, and all of it may be written: only the cookie is left. */
static void drop_sections(struct fake_elf *f)
{
	static const uint8_t none[6];
	uint32_t flags = PF_R | PF_W;

	fake_put(f, offsetof(Elf64_Ehdr, e_shentsize), none, sizeof(none));
	fake_put(f, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_flags), &flags, sizeof(flags));
}

/* _PyRuntime is behind what the file holds: a copy. */
static void cut_load(struct fake_elf *f)
{
	uint64_t filesz = FAKE_RUNTIME - 256;

	fake_put(f, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), &filesz, sizeof(filesz));
}

/*
 * 1, 2: rows; 3, 4, 5: debug offsets; 6: no symbols; 7: debug offsets and nothing else; 8: a
 * program with copies; 9: one without any name, but with constants; 10, 11, 12: debug
 * offsets, free-threaded; 13: 3.6, whose variables are in the code of two functions.
 */
static void build(struct fake_elf *f, unsigned int which)
{
	static uint8_t offsets[WAYS][DEBUG_OFFSETS_MAX];
	static size_t len[WAYS];

	*f = (struct fake_elf){ .runtime = offsets[which], .runtime_len = 256 };
	if ((which >= 3 && which <= 5) || which == 7 || (which >= 10 && which <= 12)) {
		if (!len[which])
			len[which] = load_golden(which == 7 ? 13 :
						 which >= 10 ? 3 + which : 10 + which,
						 which >= 10 ? "t" : "", offsets[which]);
		f->runtime_len = len[which];
		f->getter = getter;
		f->getter_len = sizeof(getter);
		f->no_dynsym = which == 7;
	} else if (which == 13) {
		*f = (struct fake_elf){
			.statics = true, .head = head_36, .head_len = sizeof(head_36),
			.getter = getter_36, .getter_len = sizeof(getter_36),
			.rodata = strings_36, .rodata_len = sizeof(strings_36),
		};
	} else if (which == 6 || which == 9) {
		f->no_dynsym = true;
		f->rodata = which == 9 ? constants : strings;
		f->rodata_len = which == 9 ? sizeof(constants) : sizeof(strings);
		f->runtime = which == 9 ? NULL : f->runtime;
	} else {
		f->hex = which == 1 ? 0x030b07f0 : 0x030c01f0;
	}
	f->gnu_hash = which & 1;
	f->symtab = which == 4 || which == 6;
	fake_elf_build(f);
	if (which == 7)
		drop_sections(f);
	if (which == 8)
		cut_load(f);
}

static void check(const struct cpython_image *img, int err, const char *why)
{
	const struct py_layout *l = &img->layout;

	if (err > 0 || (err == -ENOTSUP && !why[0]))
		abort();
	if (err)
		return;
	if (img->major != 3 || img->minor < 6 || img->objects.minor > 15 || !img->version[0] ||
	    !img->runtime_vaddr || !img->tstate_how || l->fr_bytes > 136 ||
	    (l->fr_owner >= l->fr_bytes && l->fr_owner != ABI_NO_OFF) ||
	    l->ts_frame >= ABI_TS_BYTES - 8)
		abort();
}

static void change(struct fake_elf *f, const uint8_t *data, size_t size)
{
	uint16_t at[FAKE_SIZE];
	size_t cnt = 0, i;
	uint64_t word;

	for (i = 0; i < FAKE_SIZE; i++) {
		memcpy(&word, f->image + (i & ~7ul), sizeof(word));
		if (word)
			at[cnt++] = i;
	}
	for (i = 0; i + 3 <= size; i += 3)
		f->image[at[(data[i] | data[i + 1] << 8) % cnt]] = data[i + 2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct cpython_image img;
	struct fake_elf f;
	char why[200];

	if (fd < 0)
		fd = fake_file(NULL, 0);
	if (fd < 0 || size < 1)
		return 0;
	if (data[0] % WAYS) {
		build(&f, data[0] % WAYS);
		change(&f, data + 1, size - 1);
		data = f.image;
		size = sizeof(f.image);
	} else {
		data++;
		size--;
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	check(&img, cpython_image_read(fd, &img, why, sizeof(why)), why);
	return 0;
}
