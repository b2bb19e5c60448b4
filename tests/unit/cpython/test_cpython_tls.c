// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_tls.c - machine code of PyGILState_GetThisThreadState(), real and not. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "cpython/tls.h"

#define DECODE(code, vaddr, w) \
	tls_decode(EM_X86_64, (const uint8_t *)code, sizeof(code) - 1, vaddr, w)

/* Debian's python3.15 3.15.2-1: mov %fs:-40,%rax */
#define DEBIAN_EXE "\xf3\x0f\x1e\xfa\x64\x48\x8b\x04\x25\xd8\xff\xff\xff\xc3"
/* Debian's libpython3.15.so.1.0 3.15.2-1 at 0x3cf120 */
#define DEBIAN_LIB \
	"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x8d\x3d\x61\xa6\x4a\x00\xe8\x5c\x9d\xcf\xff" \
	"\x5d\x48\x8b\x80\x28\x00\x00\x00\xc3"

static void test_executable(void **state)
{
	struct tls_where w;

	assert_int_equal(DECODE(DEBIAN_EXE, 0x42fa7d, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_TP);
	assert_int_equal(w.off, -40);
	/* No endbr64; a frame pointer. */
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\xc3", 0, &w), 0);
	assert_int_equal(w.off, -8);
	assert_int_equal(DECODE("\x55\x48\x89\xe5\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x5d\xc3", 0,
				&w), 0);
}

static void test_library(void **state)
{
	struct tls_where w;

	assert_int_equal(DECODE(DEBIAN_LIB, 0x3cf120, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_DTV);
	assert_int_equal(w.off, 0x28);
	assert_int_equal(w.index_vaddr, 0x879790);
	/* General dynamic: data16 lea; data16 data16 rex.W call; mov (%rax),%rax */
	assert_int_equal(DECODE("\x48\x83\xec\x08\x66\x48\x8d\x3d\x10\x00\x00\x00"
				"\x66\x66\x48\xe8\x00\x00\x00\x00\x48\x8b\x00\x48\x83\xc4\x08\xc3",
				0x1000, &w), 0);
	assert_int_equal(w.off, 0);
	assert_int_equal(w.index_vaddr, 0x1000 + 12 + 0x10);
	/* disp8, negative */
	assert_int_equal(DECODE("\x50\x48\x8d\x3d\xf0\xff\xff\xff\xff\x15\x00\x00\x00\x00"
				"\x48\x8b\x40\xf8\x59\xc3", 0x1000, &w), 0);
	assert_int_equal(w.off, -8);
	assert_int_equal(w.index_vaddr, 0x1000 + 8 - 0x10);
}

static void test_other_code(void **state)
{
	struct tls_where w;

	/* 3.14: reads autoTSSkey; mov %fs:disp,%rcx; positive offset; a call and no load */
	assert_int_equal(DECODE("\x8b\x3d\x00\x00\x00\x00\x85\xff\x75\x02\xc3", 0, &w), -ENOENT);
	assert_int_equal(DECODE("\x64\x48\x8b\x0c\x25\xd8\xff\xff\xff\xc3", 0, &w), -ENOENT);
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xc3", 0, &w), -ENOENT);
	assert_int_equal(DECODE("\x48\x8d\x3d\x61\xa6\x4a\x00\xe8\x5c\x9d\xcf\xff\xc3", 0, &w),
			 -ENOENT);
	/* Initial exec: mov G(%rip),%rax; mov %fs:(%rax),%rax */
	assert_int_equal(DECODE("\x48\x8b\x05\x00\x00\x00\x00\x64\x48\x8b\x00\xc3", 0, &w),
			 -ENOENT);
	assert_int_equal(DECODE("", 0, &w), -ENOENT);
}

/* Cut anywhere, it is not the function; malloc'ed, so that a sanitizer sees more. */
static void test_cut(void **state)
{
	static const char *const codes[] = { DEBIAN_EXE, DEBIAN_LIB };
	static const size_t lens[] = { sizeof(DEBIAN_EXE) - 1, sizeof(DEBIAN_LIB) - 1 };
	struct tls_where w;
	size_t i, len;

	for (i = 0; i < 2; i++) {
		for (len = 0; len < lens[i]; len++) {
			uint8_t *code = malloc(len + 1);

			memcpy(code, codes[i], len);
			code = realloc(code, len ? len : 1);
			assert_int_equal(tls_decode(EM_X86_64, code, len, 0x1000, &w), -ENOENT);
			free(code);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_executable),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
