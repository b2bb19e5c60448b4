// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_version.c - which version an image is of, and which are refused by name. */
#include "tests/unit/cpython/image_test.h"

/* 3.7.4 is where _PyRuntimeState grew; a micro version that is not known is no version. */
static void test_micro_versions(void **state)
{
	static const struct {
		const char *micro;
		uint16_t tss_key, collecting;
	} micros[] = {
		{ "0", 1416, 544 }, { "3", 1416, 544 }, { "4", 1504, 632 }, { "17", 1504, 632 },
	};
	char strings[32] = "\0/usr/lib/python3.7\0" "3.7.";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = strings,
			      .rodata_len = sizeof(strings) };
	struct cpython_image img;
	size_t i;

	for (i = 0; i < sizeof(micros) / sizeof(micros[0]); i++) {
		strcpy(strings + 24, micros[i].micro);
		assert_int_equal(read_fake(&f, &img), 0);
		assert_int_equal(img.minor, 7);
		assert_int_equal(img.tss_vaddr, FAKE_BASE + FAKE_RUNTIME + micros[i].tss_key + 4);
		assert_int_equal(img.collecting_vaddr,
				 FAKE_BASE + FAKE_RUNTIME + micros[i].collecting);
		assert_int_equal(img.gc_stats_vaddr, img.collecting_vaddr - 72);
	}
	strcpy(strings + 24, "x");
	assert_int_equal(read_fake(&f, &img), -ENOTSUP);
}

static void test_sections_only(void **state)
{
	static const char strings[] = "\0/usr/lib/python3.12\0zlib 3.2.0\0Python-3.12.4";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .no_dynsym = true,
			      .rodata = strings, .rodata_len = sizeof(strings) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.12.4");
	assert_int_equal(img.runtime_vaddr, FAKE_BASE + FAKE_RUNTIME);
	assert_int_equal(img.none_vaddr, 0);

	f.rodata_len = 21;	/* no micro version: may be any alpha */
	assert_int_equal(read_fake(&f, &img), -ENOTSUP);
	assert_non_null(strstr(why, "3.12"));
}

static void test_refusals(void **state)
{
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256 };
	uint64_t one = 1;

	f.hex = 0x030504f0;
	expect_refused(&f, "CPython 3.5.4 is not supported (3.6 to 3.15 are)");
	f.hex = 0x031000f0;
	expect_refused(&f, "CPython 3.16.0 is not supported (3.6 to 3.15 are)");
	f.hex = 0x040000a1;
	expect_refused(&f, "CPython 4.0.0a1 is not supported");
	f.hex = 0x030c00b3;
	expect_refused(&f, "CPython 3.12.0b3 is not supported (it is a pre-release)");
	f.hex = 0x030d00f0;
	expect_refused(&f, "CPython 3.13.0 is not supported (its debug offsets");
	f = fake_313();
	f.hex = 0x030d00f0;
	expect_refused(&f, "disagree");
	/* Says it is free-threaded, and has the objects of a build with a GIL. */
	f = fake_313();
	memcpy(golden[0] + 16, &one, 8);
	expect_refused(&f, "CPython 3.13.18 is not supported (its debug offsets are not those of "
		       "3.13: co_firstlineno)");
	memset(golden[0] + 16, 0, 8);
}

/* 3.15's alphas had 3.14's debug offsets and less. */
static void test_prerelease_315(void **state)
{
	struct fake_elf f = { .runtime = golden[2], .runtime_len = golden_len[2] };
	struct cpython_image img;

	golden[2][8] = 0xb4;
	golden[2][9] = 0;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.15.0b4");
	golden[2][32] -= 8;	/* finalizing: one word less */
	expect_refused(&f, "CPython 3.15.0b4 is not supported (its debug offsets");
	golden[2][32] += 8;
	/* As it was before thread_state.last_profiled_frame_seq: all that follows is moved. */
	memmove(golden[2] + 232, golden[2] + 240, golden_len[2] - 240);
	golden[2][8] = 0xb3;
	expect_refused(&f, "CPython 3.15.0b3 is not supported (it is a pre-release, and its debug "
		       "offsets are not those of 3.15: thread_state)");
	golden[2][8] = 0xc1;	/* a release candidate of that shape: its own check */
	expect_refused(&f, "CPython 3.15.0rc1 is not supported (its debug offsets");
	load_golden(state);
}

/* 3.16 and newer: 3.15's struct in full, or refused by name. */
static void test_newer(void **state)
{
	struct fake_elf f = { .runtime = golden[2], .runtime_len = golden_len[2] };
	struct cpython_image img;
	uint64_t word, other;
	size_t pos, taken = 0;

	golden[2][8] = 0xa1;
	golden[2][9] = 0;
	golden[2][10] = 16;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.16.0a1");
	assert_int_equal(img.minor, 16);
	assert_int_equal(img.objects.minor, 15);
	assert_int_equal(img.layout.ts_thread_id, 176);
	for (pos = 24; pos < golden_len[2]; pos += 8) {
		memcpy(&word, golden[2] + pos, 8);
		other = word + 8;
		memcpy(golden[2] + pos, &other, 8);
		if (read_fake(&f, &img))
			assert_non_null(strstr(why, "CPython 3.16.0a1 is not supported"));
		else
			taken++;
		memcpy(golden[2] + pos, &word, 8);
	}
	/* What may move: sizes of the two big structs and fields of PyInterpreterState. */
	assert_in_range(taken, 1, 23);
	golden[2][176] += 8;
	expect_refused(&f, "CPython 3.16.0a1 is not supported (it is newer than 3.15, and its "
		       "debug offsets are not those of 3.15: thread_state)");
	load_golden(state);
}

static void test_old_by_strings(void **state)
{
	static const char strings[] = "x\0/root/3.9.18\0lib/python3.9\0";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = strings,
			      .rodata_len = sizeof(strings) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.9.18");
	assert_int_equal(img.interps_vaddr, FAKE_BASE + FAKE_RUNTIME + 32);
	assert_int_equal(img.tss_vaddr, FAKE_BASE + FAKE_RUNTIME + 588);
	assert_int_equal(img.layout.lasti_unit, 1);
}

/* _PyRuntimeState grew in 3.7.4. */
static void test_37_by_micro(void **state)
{
	static char strings[] = "x\0" "3.7.3\0lib/python3.7\0";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = strings,
			      .rodata_len = sizeof(strings) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_int_equal(img.tss_vaddr, FAKE_BASE + FAKE_RUNTIME + 1420);
	strings[6]++;
	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.7.4");
	assert_int_equal(img.tss_vaddr, FAKE_BASE + FAKE_RUNTIME + 1508);
}

/* 3.9 and 3.10 in the program itself, with no SONAME: Debian's python3.9. */
static void test_old_program_by_strings(void **state)
{
	static const char strings[] = "/usr\0python3.9\0PYTHONPATH\0" "3.9.2";
	static const char others[] = "xpython3.9\0python3.9x\0python3.\0" "3.9.2\0python3.9";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = strings,
			      .rodata_len = sizeof(strings) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.9.2");
	f.rodata = others;
	f.rodata_len = sizeof(others) - sizeof("python3.9");
	expect_refused(&f, "CPython of a version that cannot be found is not supported");
}

static void test_not_python(void **state)
{
	struct fake_elf f = { .rodata = "lib/python3.12" , .rodata_len = 15 };
	struct cpython_image img;
	uint8_t noise[4096];
	size_t i;

	assert_int_equal(read_fake(&f, &img), -ENOENT);
	assert_int_equal(read_bytes("", 0, &img), -ENOENT);
	assert_int_equal(read_bytes("#!/bin/sh\n", 10, &img), -ENOENT);
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = i * 2654435761u >> 13;
	assert_int_equal(read_bytes(noise, sizeof(noise), &img), -ENOENT);
	memcpy(noise, f.image, 16);
	assert_int_equal(read_bytes(noise, sizeof(noise), &img), -ENOENT);
}

/* Up to 3.10 exported, but without section headers: the version is in some segment. */
static void test_strings_without_sections(void **state)
{
	static const char strings[] = "x\0/root/3.9.18\0lib/python3.9\0";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .rodata = strings,
			      .rodata_len = sizeof(strings) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	drop_sections(&f);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), 0);
	assert_string_equal(img.version, "3.9.18");
}

/* 3.11+ without the symbol Py_Version: the constant, and the string that confirms it. */
static void test_version_constant(void **state)
{
	static const char words[] = "\0python2.5\0\0\0\0\0\0\xf0\x07\x0b\x03\0\0\0\0\0" "3.11.7";
	struct fake_elf f = { .runtime = runtime_zeros, .runtime_len = 256, .no_dynsym = true,
			      .rodata = words, .rodata_len = sizeof(words) };
	struct cpython_image img;

	assert_int_equal(read_fake(&f, &img), 0);
	assert_string_equal(img.version, "3.11.7");
	assert_int_equal(img.objects.minor, 11);
	f.image[FAKE_RODATA + sizeof(words) - 2] = '8';
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOTSUP);
}

static void test_other_classes(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;

	fake_elf_build(&f);
	f.image[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOEXEC);
	assert_non_null(strstr(why, "32-bit"));
}

static void test_foreign_machine(void **state)
{
	struct fake_elf f = fake_313();
	struct cpython_image img;
	uint16_t machine = ELF_OWN_MACHINE == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;

	fake_elf_build(&f);
	fake_put(&f, offsetof(Elf64_Ehdr, e_machine), &machine, 2);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOTSUP);
	assert_non_null(strstr(why, elf_machine_name(machine)));
	assert_non_null(strstr(why, elf_machine_name(ELF_OWN_MACHINE)));
	machine = EM_RISCV;
	fake_put(&f, offsetof(Elf64_Ehdr, e_machine), &machine, 2);
	assert_int_equal(read_bytes(f.image, sizeof(f.image), &img), -ENOTSUP);
	assert_non_null(strstr(why, "another machine type"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_micro_versions),
		cmocka_unit_test(test_sections_only),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_prerelease_315),
		cmocka_unit_test(test_newer),
		cmocka_unit_test(test_old_by_strings),
		cmocka_unit_test(test_37_by_micro),
		cmocka_unit_test(test_old_program_by_strings),
		cmocka_unit_test(test_not_python),
		cmocka_unit_test(test_strings_without_sections),
		cmocka_unit_test(test_version_constant),
		cmocka_unit_test(test_other_classes),
		cmocka_unit_test(test_foreign_machine),
	};

	return cmocka_run_group_tests(tests, load_golden, NULL);
}
