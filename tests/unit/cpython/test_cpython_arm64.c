// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_arm64.c - arm64 machine code of CPython and C libraries, real and not. */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "cpython/arm64.h"
#include "cpython/debug_offsets.h"
#include "cpython/image.h"
#include "cpython/layout.h"
#include "cpython/libc.h"
#include "cpython/tls.h"
#include "elf/elf.h"

enum {
	RET = 0xd65f03c0, NOP = 0xd503201f, BTI_C = 0xd503245f, PACIASP = 0xd503233f,
	AUTIASP = 0xd50323bf, PUSH = 0xa9bf7bfd, POP = 0xa8c17bfd, MOV_FP_SP = 0x910003fd,
	MRS_X0_TP = 0xd53bd040, MRS_X1_TP = 0xd53bd041, LDR_X0_X0 = 0xf9400000,
};

/* Debian sid, python3.15 3.15.2-1 */
static const uint32_t debian_exe[] = {
	BTI_C, MRS_X0_TP, PACIASP, PUSH, NOP, 0x91008000 /* add x0, x0, #0x20 */, MOV_FP_SP, POP,
	AUTIASP, LDR_X0_X0, RET,
};
/* Debian sid, libpython3.15.so.1.0 3.15.2-1, at 0x3ca3e0; the descriptor is at 0x8812e0 */
static const uint32_t debian_lib[] = {
	PACIASP, MRS_X1_TP, PUSH, MOV_FP_SP, 0xf00025a0 /* adrp x0, 0x881000 */,
	0xf9417002 /* ldr x2, [x0, #0x2e0] */, 0x910b8000 /* add x0, x0, #0x2e0 */,
	0xd63f0040 /* blr x2 */, 0xf8606820 /* ldr x0, [x1, x0] */, POP, AUTIASP, RET,
};

static int decode(const uint32_t *code, size_t insns, uint64_t vaddr, struct tls_where *w)
{
	return tls_decode(EM_AARCH64, (const uint8_t *)code, 4 * insns, vaddr, w);
}

static void test_executable(void **state)
{
	static const uint32_t plain[] = { MRS_X0_TP, 0xf9400800 /* ldr x0, [x0, #16] */, RET };
	static const uint32_t big[] = {		/* add x0, x0, #1, lsl #12; add x0, x0, #8 */
		MRS_X1_TP, 0x91400420, 0x91002000, LDR_X0_X0, RET,
	};
	static const uint32_t moved[] = {	/* movz x0, #1, lsl #16; movk x0, #0x18 */
		MRS_X1_TP, 0xd2a00020, 0xf2800300, NOP, NOP, 0xf8606820, RET,
	};
	struct tls_where w;

	assert_int_equal(decode(debian_exe, ARRAY_SIZE(debian_exe), 0x428fc8, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_TP);
	assert_int_equal(w.off, 0x20);
	assert_int_equal(decode(plain, ARRAY_SIZE(plain), 0, &w), 0);
	assert_int_equal(w.off, 16);
	assert_int_equal(decode(big, ARRAY_SIZE(big), 0, &w), 0);
	assert_int_equal(w.off, 0x1008);
	assert_int_equal(decode(moved, ARRAY_SIZE(moved), 0, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_TP);
	assert_int_equal(w.off, 0x10018);
}

static void test_library(void **state)
{
	/* The same with the sum made before the load, a displacement, and a page below. */
	static const uint32_t other[] = {
		PUSH, MOV_FP_SP, 0xf0ffffe0 /* adrp x0, -1 page */,
		0xf9400401 /* ldr x1, [x0, #8] */,
		0x91002000 /* add x0, x0, #8 */, 0xd63f0020 /* blr x1 */, MRS_X1_TP,
		0x8b000020 /* add x0, x1, x0 */, 0xf9401400 /* ldr x0, [x0, #40] */, POP, RET,
	};
	struct tls_where w;

	assert_int_equal(decode(debian_lib, ARRAY_SIZE(debian_lib), 0x3ca3e0, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_DESC);
	assert_int_equal(w.index_vaddr, 0x8812e0);
	assert_int_equal(w.off, 0);
	assert_int_equal(decode(other, ARRAY_SIZE(other), 0x5004, &w), 0);
	assert_int_equal(w.how, PY_TSTATE_TLS_DESC);
	assert_int_equal(w.index_vaddr, 0x4008);
	assert_int_equal(w.off, 40);
}

/* Code that does something else, however little. */
static void test_other_code(void **state)
{
	static const uint32_t cases[][8] = {
		{ RET },					/* what x0 was */
		{ MRS_X0_TP, RET },				/* an address */
		{ MRS_X0_TP, LDR_X0_X0, RET },			/* the TCB, no variable */
		{ MRS_X0_TP, 0xd1008000, LDR_X0_X0, RET },	/* below it */
		{ MRS_X1_TP, 0xf9400820, LDR_X0_X0, RET },	/* one load more */
		{ 0xf0000000, 0xf9400000, RET },		/* a global variable */
		{ 0x94000000, RET },				/* bl */
		{ MRS_X0_TP, 0xb4000040, RET },			/* cbz */
		{ MRS_X0_TP, 0xb9401000, RET },			/* 32 bits */
		{ MRS_X0_TP, 0xf9400801, RET },			/* into x1 */
		{ MRS_X0_TP, 0xf9000800, RET },			/* str */
		{ 0xd53be040, 0xf9400800, RET },		/* mrs of another register */
		{ MRS_X0_TP, 0x91004000, 0x8b000000, LDR_X0_X0, RET },	/* tp + tp */
		{ 0xf2800300, MRS_X1_TP, 0xf8606820, RET },	/* movk on what is not known */
		/* a function pointer of elsewhere is called */
		{ MRS_X1_TP, 0xf0000000, 0xf9417002, 0x910b6000, 0xd63f0040, 0xf8606820, RET },
	};
	struct tls_where w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(decode(cases[i], 8, 0x1000, &w), -ENOENT);
	/* The other machine's code is not ours. */
	assert_int_equal(tls_decode(EM_X86_64, (const uint8_t *)debian_exe, sizeof(debian_exe), 0,
				    &w), -ENOENT);
	assert_int_equal(tls_decode(EM_RISCV, (const uint8_t *)debian_exe, sizeof(debian_exe), 0,
				    &w), -ENOENT);
}

/* Cut anywhere, and with any bit turned: an answer, and only from inside the code. */
static void test_cut_and_turned(void **state)
{
	static const struct {
		const uint32_t *code;
		size_t len;
	} codes[] = { { debian_exe, sizeof(debian_exe) }, { debian_lib, sizeof(debian_lib) } };
	struct tls_where w;
	size_t i, len, bit;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		for (len = 0; len < codes[i].len; len++) {
			uint8_t *cut = malloc(len ? len : 1);

			memcpy(cut, codes[i].code, len);
			assert_int_equal(tls_decode(EM_AARCH64, cut, len, 0x1000, &w), -ENOENT);
			free(cut);
		}
		for (bit = 0; bit < 8 * codes[i].len; bit++) {
			uint8_t turned[TLS_CODE_BYTES];

			memcpy(turned, codes[i].code, codes[i].len);
			turned[bit / 8] ^= 1 << bit % 8;
			if (!tls_decode(EM_AARCH64, turned, codes[i].len, 0x1000, &w))
				assert_true(w.how == PY_TSTATE_TLS_DESC || w.off >= 16);
		}
	}
}

/* pthread_self(): glibc 2.36, 2.43, musl 1.2 */
static void test_pthread_self(void **state)
{
	static const struct {
		uint32_t code[4];
		uint64_t below;
	} good[] = {
		{ { MRS_X0_TP, 0xd11d0000, RET }, 0x740 },
		{ { BTI_C, MRS_X0_TP, 0xd11c8000, RET }, 0x720 },
		{ { MRS_X0_TP, 0xd1032000, RET }, 200 },
	};
	struct arm64_value v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(arm64_returns((const uint8_t *)good[i].code, 16, 0, &v), 0);
		assert_int_equal(v.kind, ARM64_TP);
		assert_int_equal(-v.off, good[i].below);
	}
	assert_true(libc_self_is_below(EM_AARCH64));
	assert_false(libc_self_is_below(EM_X86_64));
}

static void read_golden(const char *name, struct debug_offsets *d)
{
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	char path[512];
	const char *what;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_int_equal(debug_offsets_read(bytes, n, 13, d, &what), 0);
}

static uint32_t epoch_313(const struct debug_offsets *of, int mutexes_extra, uint32_t is_bytes,
			  uint32_t rt_bytes)
{
	struct cpython_image img = { .minor = 13, .mutexes_extra = mutexes_extra };
	struct debug_offsets d = *of;
	const char *what;

	d.is_bytes = is_bytes;
	d.rt_bytes = rt_bytes;
	if (layout_from_debug_offsets(&img, 13, &d, &what))
		return 0;
	return img.layout.interp_epoch;
}

/* What lies behind a GIL lies further where mutexes are longer. */
static void test_longer_mutexes(void **state)
{
	static const struct {
		uint8_t minor;
		uint16_t tss_key, gil, collecting;
	} rows[] = {
		{ 6, ABI_NO_OFF, ABI_NO_OFF, ABI_NO_OFF }, { 7, 1520, 1496, 632 },
		{ 8, 1408, 1384, 544 }, { 9, 600, 584, ABI_NO_OFF }, { 10, 600, 584, ABI_NO_OFF },
		{ 11, 608, 592, ABI_NO_OFF }, { 12, 1544, ABI_NO_OFF, ABI_NO_OFF },
	};
	struct cpython_image img;
	struct debug_offsets d;
	size_t i;

	assert_int_equal(libc_mutexes_extra(EM_X86_64, true, false), 0);
	assert_int_equal(libc_mutexes_extra(EM_X86_64, false, false), 0);
	assert_int_equal(libc_mutexes_extra(EM_AARCH64, true, false), 16);
	assert_int_equal(libc_mutexes_extra(EM_AARCH64, false, true), 0);
	assert_int_equal(libc_mutexes_extra(EM_AARCH64, false, false), -1);
	assert_int_equal(libc_mutexes_extra(ELF_OWN_MACHINE, true, false),
			 2 * (sizeof(pthread_mutex_t) - 40));

	/* As the headers of 3.6.15 to 3.12.1 have it, compiled for arm64. */
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		img = (struct cpython_image){ .minor = rows[i].minor, .micro = 15,
					      .mutexes_extra = 16 };
		assert_int_equal(layout_from_table(&img), 0);
		assert_int_equal(img.rt.tss_key, rows[i].tss_key);
		assert_int_equal(img.rt.gil, rows[i].gil);
		assert_int_equal(img.rt.collecting, rows[i].collecting);
		img.mutexes_extra = -1;
		assert_int_equal(layout_from_table(&img),
				 rows[i].gil == ABI_NO_OFF ? 0 : -ENOTSUP);
	}

	read_golden("debug_offsets_3.13.bin", &d);
	/* 3.13.0 there has the interpreter's size of 3.13.18 on x86-64. */
	assert_int_equal(epoch_313(&d, 16, 194984, 283336), 17016);
	assert_int_equal(epoch_313(&d, 16, 194992, 283392), 17016);
	assert_int_equal(epoch_313(&d, 16, 195000, 283424), 17016);
	assert_int_equal(epoch_313(&d, 16, 195016, 299440), 17032);
	assert_int_equal(epoch_313(&d, 16, 194984, 283408), ABI_NO_OFF32);
	assert_int_equal(epoch_313(&d, 16, 194968, 283320), ABI_NO_OFF32);
	assert_int_equal(epoch_313(&d, 0, 194984, 283408), 17000);
	assert_int_equal(epoch_313(&d, -1, 194984, 283408), ABI_NO_OFF32);
	/* Free-threaded ones move by more. */
	read_golden("debug_offsets_3.13t.bin", &d);
	assert_int_equal(epoch_313(&d, 0, 215616, 328320), 20092);
	assert_int_equal(epoch_313(&d, 16, 215632, 328336), ABI_NO_OFF32);
}

static void test_names(void **state)
{
	static const char *const good[] = { "libc.so.6", "libc-2.31.so", "ld-musl-aarch64.so.1" };
	static const char *const bad[] = { "", "libc", "libcrypt.so.1", "libcap.so.2",
					   "ld-linux.so" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(libc_is_name(good[i]));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(libc_is_name(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_executable),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_cut_and_turned),
		cmocka_unit_test(test_pthread_self),
		cmocka_unit_test(test_longer_mutexes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
