// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_image.c - what is found in ELF files of CPython, made up. */
#include "tests/unit/cpython/image_test.h"

static void test_rows(void **state)
{
	struct fake_elf f = { .hex = 0x030b07f0, .runtime = runtime_zeros, .runtime_len = 256 };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.11.7");
	assert_int_equal(img.runtime_vaddr, FAKE_BASE + FAKE_RUNTIME);
	assert_int_equal(img.none_vaddr, FAKE_BASE + FAKE_NONE);
	assert_int_equal(img.first_load_vaddr, FAKE_BASE);
	assert_int_equal(img.tstate_how, PY_TSTATE_TSS_GLIBC);
	assert_int_equal(img.layout.gil_how, PY_GIL_RT_CURRENT);
	assert_int_equal(img.layout.interp_epoch, ABI_NO_OFF32);
	assert_int_equal(img.objects.minor, 11);

	f.hex = 0x030c01f0;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.12.1");
	assert_int_equal(img.layout.interp_epoch, ABI_NO_OFF32);
	assert_int_equal(img.rt.tss_key, 1544);
}

static void test_debug_offsets(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.13.18");
	assert_int_equal(img.rt.tss_key, 2160);
	/* The golden file is of x86-64: on arm64 a struct of that size is not known. */
	assert_int_equal(img.layout.interp_epoch,
			 ELF_OWN_MACHINE == EM_X86_64 ? 17000 : ABI_NO_OFF32);
	assert_int_equal(img.layout.code_tag_mask, 0);

	f.hex = 0;	/* stripped of it: the debug offsets say it, too */
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.13.18");
}

/* A PyInterpreterState of a size that we have not seen: no epoch rather than a wrong one. */
static void test_unseen_size_has_no_epoch(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;
	uint64_t size = 200000;

	fake_elf_build(&f);
	fake_put(&f, FAKE_RUNTIME + 48, &size, sizeof(size));
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), 0);
	assert_int_equal(img.layout.interp_epoch, ABI_NO_OFF32);
}

static void test_tls_executable(void **state)
{
	static const uint8_t getter[] = { FAKE_TLS_CODE };
	struct fake_elf f = { .hex = 0x030f02f0, .runtime = golden[2],
			      .runtime_len = golden_len[2], .getter = getter,
			      .getter_len = sizeof(getter) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TLS_TP);
	assert_int_equal(img.tls_off, FAKE_TLS_OFF);
	assert_int_equal(img.rt.tss_key, ABI_NO_OFF);
	f.getter = NULL;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_LIST);
}

/* Lookups by either hash; and without one, by .symtab. */
static void test_symbol_tables(void **state)
{
	static const uint8_t getter[] = { FAKE_TLS_CODE };
	struct fake_elf f = { .hex = 0x030f02f0, .runtime = golden[2],
			      .runtime_len = golden_len[2], .getter = getter,
			      .getter_len = sizeof(getter), .gnu_hash = true };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TLS_TP);
	assert_int_equal(img.none_vaddr, FAKE_BASE + FAKE_NONE);
	f.no_dynsym = true;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_LIST);
	assert_int_equal(img.none_vaddr, 0);
	f.symtab = true;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TLS_TP);
	assert_int_equal(img.none_vaddr, FAKE_BASE + FAKE_NONE);
	/* Py_Version by .symtab */
	f = (struct fake_elf){ .hex = 0x030c04f0, .runtime = runtime_zeros, .runtime_len = 256,
			       .no_dynsym = true, .symtab = true };
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.12.4");
	assert_int_equal(img.epoch_vaddr, 0);
	f.counter = true;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.epoch_vaddr, FAKE_BASE + FAKE_COUNTER);
	f.hex = 0x030b07f0;	/* 3.11 has no such thing */
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.epoch_vaddr, 0);
}

static void test_musl_has_no_glibc_tss(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;

	f.no_glibc = true;	/* it needs libc.so */
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TSS_MUSL);
}

#ifdef __x86_64__
/* A shared libpython 3.15: the general-dynamic model's code; the DTV is libc's. */
static void test_musl_has_a_dtv_of_its_own(void **state)
{
	static const uint8_t getter[] = {
		0x48, 0x83, 0xec, 0x08,				/* sub $8,%rsp */
		0x66, 0x48, 0x8d, 0x3d, 0x10, 0x20, 0, 0,	/* lea 0x2010(%rip),%rdi */
		0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0,		/* call __tls_get_addr */
		0x48, 0x8b, 0x40, 0x18,				/* mov 0x18(%rax),%rax */
		0x48, 0x83, 0xc4, 0x08, 0xc3,			/* add $8,%rsp; ret */
	};
	struct fake_elf f = { .hex = 0x030f02f0, .runtime = golden[2],
			      .runtime_len = golden_len[2], .getter = getter,
			      .getter_len = sizeof(getter) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TLS_DTV);
	assert_int_equal(img.tls_off, 0x18);
	assert_int_equal(img.tls_index_vaddr, FAKE_BASE + FAKE_GETTER + 12 + 0x2010);
	f.no_glibc = true;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tstate_how, PY_TSTATE_TLS_DTV_MUSL);
	assert_int_equal(img.tls_off, 0x18);
}

/* 3.6, stripped: two functions name the variables whose names are gone. */
static void test_statics_from_code(void **state)
{
	static const char strings[] = "\0/usr/lib/python3.6\0" "3.6.15";
	static const uint8_t head[] = { 0x48, 0x8b, 0x05, 0x29, 0x10, 0, 0, 0xc3 };
	/* cmpq $0,X(%rip); je; mov K(%rip),%edi; jmp pthread_getspecific */
	static const uint8_t getter[] = {
		0x48, 0x83, 0x3d, 0x78, 0x12, 0, 0, 0, 0x74, 0x0b,
		0x8b, 0x3d, 0x10, 0x11, 0, 0, 0xe9, 0, 0, 0, 0, 0x31, 0xc0, 0xc3,
	};
	static uint8_t none[sizeof(getter)];
	struct fake_elf f = { .statics = true, .rodata = strings, .rodata_len = sizeof(strings),
			      .head = head, .head_len = sizeof(head), .getter = getter,
			      .getter_len = sizeof(getter) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.6.15");
	assert_int_equal(img.interps_vaddr, FAKE_BASE + FAKE_HEAD + 7 + 0x1029);
	assert_int_equal(img.tss_vaddr, FAKE_BASE + FAKE_GETTER + 16 + 0x1110);
	assert_int_equal(img.current_vaddr, FAKE_BASE + FAKE_RUNTIME);
	assert_int_equal(img.collecting_vaddr, 0);
	assert_int_equal(img.gc_stats_vaddr, 0);
	assert_int_equal(img.layout.gc_stats_how, PY_GC_STATS_NONE);
	assert_int_equal(img.main_id_vaddr, 0);
	assert_int_equal(img.layout.tss_flag, 0);
	assert_int_equal(img.layout.interp_id, ABI_NO_OFF32);
	assert_int_equal(img.tstate_how, PY_TSTATE_TSS_GLIBC);
	/* Code of another shape: refused by name. */
	f.getter = none;
	assert_int_equal(read_fake(&f, &img), -ENOTSUP);
	assert_non_null(strstr(why, "3.6.15"));
	f.getter = getter;
	f.head = none;
	assert_int_equal(read_fake(&f, &img), -ENOTSUP);
	assert_non_null(strstr(why, "3.6.15"));
}
#endif

/* Py_TRACE_REFS: objects begin 16 bytes later, frames up to 3.10 are objects, threads are none. */
static void test_trace_refs(void **state)
{
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata_len = 32 };
	struct cpython_image plain, img;
	char strings[32];
	unsigned int minor;

	for (minor = 7; minor <= 13; minor++) {
		snprintf(strings, sizeof(strings), "%c/usr/lib/python3.%u%c3.%u.5", 0, minor, 0,
			 minor);
		f.rodata = strings;
		f.hex = minor >= 11 ? 0x030005f0 | minor << 16 : 0;
		if (minor == 13)
			f = fake_313();
		f.trace_refs = false;
		assert_int_equal(read_fake(&f, &plain), 0);
		f.trace_refs = true;
		assert_int_equal(read_fake(&f, &img), 0);
		if (minor == 13) {	/* there they are elsewhere */
			assert_memory_equal(&img.layout, &plain.layout, sizeof(img.layout));
			continue;
		}
		assert_int_equal(img.minor, minor);
		assert_int_equal(img.layout.co_filename, plain.layout.co_filename + 16);
		assert_int_equal(img.layout.str_data, plain.layout.str_data + 16);
		assert_int_equal(img.layout.fr_base, plain.layout.fr_base + (minor <= 10 ? 16 : 0));
		assert_int_equal(img.layout.ts_frame, plain.layout.ts_frame);
		assert_int_equal(img.layout.fr_code, plain.layout.fr_code);
		assert_int_equal(img.objects.bytes_data, plain.objects.bytes_data + 16);
		assert_int_equal(img.tss_vaddr, plain.tss_vaddr);
	}
}

/* A program linked to libpython may have a copy of _PyRuntime in .bss. */
static void test_copied_runtime(void **state)
{
	struct fake_elf f = { .hex = 0x030c01f0, .runtime = runtime_zeros, .runtime_len = 256 };
	struct cpython_image img;
	uint64_t filesz = 0x900;	/* PT_LOAD's: FAKE_RUNTIME is behind */
	uint16_t library = ET_DYN;

	fake_elf_build(&f);
	fake_put(&f, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), &filesz, 8);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -EXDEV);
	assert_int_equal(img.runtime_vaddr, FAKE_BASE + FAKE_RUNTIME);
	assert_int_equal(img.none_vaddr, 0);	/* in front of it: not a copy */
	assert_int_equal(img.first_load_vaddr, FAKE_BASE);
	/* Only programs hold copies. */
	fake_put(&f, offsetof(Elf64_Ehdr, e_type), &library, 2);
	assert_true(read_bytes(f.image, sizeof(f.image), &img) != -EXDEV);
}

static void set_writable(struct fake_elf *f)
{
	uint32_t flags = PF_R | PF_W;

	fake_put(f, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_flags), &flags, 4);
}

/* Neither names nor sections: 3.13+ are found by their cookie in writable data. */
static void test_cookie(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;

	f.no_dynsym = true;
	f.hex = 0;
	fake_elf_build(&f);
	drop_sections(&f);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOENT);	/* read-only */
	set_writable(&f);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), 0);
	assert_int_equal(img.runtime_vaddr, FAKE_BASE + FAKE_RUNTIME);
	assert_string_equal(img.version, "3.13.18");
	assert_int_equal(img.none_vaddr, 0);
	/* Bytes like a cookie's before it are none. */
	fake_put(&f, FAKE_RUNTIME - 64, "xdebugpy", 8);
	fake_put(&f, FAKE_RUNTIME - 39, "xdebugpy", 8);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), 0);
	assert_int_equal(img.runtime_vaddr, FAKE_BASE + FAKE_RUNTIME);
	/* A later version's layout is not guessed, but it is named. */
	f.image[FAKE_RUNTIME + 8 + 2] = 16;
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOTSUP);
	assert_non_null(strstr(why, "3.16.18"));
}

/* Nothing is left to find it by, but it says that it is a Python. */
static void test_hidden(void **state)
{
	static const char words[] = "\0Fatal Python error: %s\0_frozen_importlib";
	struct fake_elf f = { .no_dynsym = true, .rodata = words, .rodata_len = sizeof(words) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), -ENOTSUP);
	assert_non_null(strstr(why, "stripped of its symbols"));
	drop_sections(&f);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOTSUP);
	assert_non_null(strstr(why, "stripped of its symbols"));
	f.image[FAKE_RODATA + 1] = 'f';	/* who looks for the words has them, too */
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOENT);
}

/* A program without the names that Py_TRACE_REFS changes: sys.getobjects() tells. */
static void test_trace_refs_by_string(void **state)
{
	static const char with[] = "x\0getobjects\0" "3.9.18\0lib/python3.9\0";
	static const char without[] = "x\0getobjectsx\0" "3.9.18\0lib/python3.9\0";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = without,
			      .rodata_len = sizeof(without) };
	struct cpython_image img, traced;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_false(img.trace_refs);
	f.rodata = with;
	f.rodata_len = sizeof(with);
	assert_int_equal(read_fake(&f, &traced), 0);
	assert_true(traced.trace_refs);
	assert_int_equal(traced.layout.co_filename, img.layout.co_filename + 16);
	assert_int_equal(traced.layout.ts_frame, img.layout.ts_frame);
}

static void test_truncated(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;
	size_t len;

	fake_elf_build(&f);
	for (len = 0; len < sizeof(f.image); len += len < 0x300 ? 1 : 37)
		read_bytes(f.image, len, &img);
}

/* Every byte of the tables set to every nasty value: any answer, but an answer. */
static void test_mutated(void **state)
{
	static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct fake_elf f = fake_313();
	struct cpython_image img;
	size_t off, i;
	int fd;

	f.gnu_hash = f.symtab = true;
	fake_elf_build(&f);
	fd = fake_file(f.image, sizeof(f.image));
	assert_true(fd >= 0);
	for (off = 0; off < 0x1a80; off++) {
		if (off == FAKE_RODATA)
			off = FAKE_RUNTIME;
		for (i = 0; i < sizeof(nasty); i++) {
			assert_int_equal(pwrite(fd, &nasty[i], 1, off), 1);
			cpython_image_read(fd, &img, why, sizeof(why));
		}
		assert_int_equal(pwrite(fd, f.image + off, 1, off), 1);
	}
	assert_int_equal(cpython_image_read(fd, &img, why, sizeof(why)), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_debug_offsets),
		cmocka_unit_test(test_unseen_size_has_no_epoch),
		cmocka_unit_test(test_tls_executable),
		cmocka_unit_test(test_symbol_tables),
		cmocka_unit_test(test_musl_has_no_glibc_tss),
#ifdef __x86_64__
		cmocka_unit_test(test_musl_has_a_dtv_of_its_own),
		cmocka_unit_test(test_statics_from_code),
#endif
		cmocka_unit_test(test_trace_refs),
		cmocka_unit_test(test_copied_runtime),
		cmocka_unit_test(test_cookie),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_trace_refs_by_string),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests(tests, load_golden, NULL);
}
