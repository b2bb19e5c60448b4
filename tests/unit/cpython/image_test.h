/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image_test.h - ELF files that are made up, read as an image of CPython. What read_fake() says of
 * one that it refuses is in why; load_golden() is a group's set-up.
 */
#ifndef TACHBPF_TESTS_IMAGE_TEST_H
#define TACHBPF_TESTS_IMAGE_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "cpython/image.h"
#include "tests/unit/cpython/fake_elf.h"

static uint8_t golden[3][888];	/* debug offsets of 3.13, 3.14, 3.15 */
static size_t golden_len[3];
static char why[200];
static const uint8_t runtime_zeros[256];

static inline int load_golden(void **state)
{
	char path[512];
	int i;

	for (i = 0; i < 3; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/debug_offsets_3.%d.bin", GOLDEN_DIR, 13 + i);
		f = fopen(path, "rb");
		assert_non_null(f);
		golden_len[i] = fread(golden[i], 1, sizeof(golden[i]), f);
		fclose(f);
	}
	return 0;
}

static inline int read_bytes(const void *data, size_t len, struct cpython_image *img)
{
	int fd = fake_file(data, len), err;

	assert_true(fd >= 0);
	err = cpython_image_read(fd, img, why, sizeof(why));
	close(fd);
	assert_true(err <= 0);
	assert_true(err != -ENOTSUP || why[0]);
	return err;
}

static inline int read_fake(struct fake_elf *f, struct cpython_image *img)
{
	fake_elf_build(f);
	return read_bytes(f->image, sizeof(f->image), img);
}

static inline struct fake_elf fake_313(void)
{
	return (struct fake_elf){ .hex = 0x030d12f0, .runtime = golden[0],
				  .runtime_len = golden_len[0] };
}

static inline void expect_refused(struct fake_elf *f, const char *text)
{
	struct cpython_image img;

	assert_int_equal(read_fake(f, &img), -ENOTSUP);
	if (!strstr(why, text))
		fail_msg("\"%s\" lacks \"%s\"", why, text);
}

static inline void drop_sections(struct fake_elf *f)
{
	static const uint8_t none[6];

	fake_put(f, offsetof(Elf64_Ehdr, e_shentsize), none, 6);
}

#endif
