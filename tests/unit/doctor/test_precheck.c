// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_precheck.c - which kernel is this, and can it freeze? */
#include "doctor/precheck.h"
#include "tests/unit/tach_test.h"

#define V(a, b, c) ((a) << 16 | (b) << 8 | (c))

static void test_versions(void **state)
{
	static const struct {
		const char *release, *version;
		unsigned int want;
	} cases[] = {
		/* Debian: the release names the ABI, the version string the kernel. */
		{ "6.1.0-18-amd64",
		  "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", V(6, 1, 76) },
		{ "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)",
		  V(6, 1, 27) },
		{ "5.10.0-28-amd64", "#1 SMP Debian 5.10.209-2 (2024-01-31)", V(5, 10, 209) },
		{ "6.5.0-0.deb12.4-amd64",
		  "#1 SMP PREEMPT_DYNAMIC Debian 6.5.10-1~bpo12+1 (2023-11-23)", V(6, 5, 10) },
		{ "6.12.9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10)",
		  V(6, 12, 9) },
		/* Of another series it says nothing. */
		{ "6.2.0-1-custom", "#1 SMP Debian 6.1.76-1", V(6, 2, 0) },
		{ "6.1.0", "#1 Debian x.y", V(6, 1, 0) },
		{ "6.1.5-mine", "#1 SMP Debian 6.1.76-1", V(6, 1, 5) },
		/* Ubuntu says .0 and means a moving target. */
		{ "5.19.0-50-generic", "#50-Ubuntu SMP PREEMPT_DYNAMIC Mon Jul 10 18:24:29 UTC",
		  V(5, 19, 0) },
		{ "6.8.0-31-generic", "#31-Ubuntu SMP PREEMPT_DYNAMIC", V(6, 8, 0) },
		/* Others */
		{ "5.14.0-427.13.1.el9_4.x86_64", "#1 SMP PREEMPT_DYNAMIC", V(5, 14, 0) },
		{ "4.18.0-553.el8_10.x86_64", "#1 SMP", V(4, 18, 0) },
		{ "6.6.87.2-microsoft-standard-WSL2", "#1 SMP PREEMPT_DYNAMIC", V(6, 6, 87) },
		{ "6.9-rc3", "", V(6, 9, 0) },
		{ "6.9.0-rc3+", "", V(6, 9, 0) },
		{ "5.15", "", V(5, 15, 0) },
		{ "4.14.336", "", V(4, 14, 255) },	/* capped, as the kernel does */
		{ "4.14.256", "", V(4, 14, 255) },
		{ "4.14.255", "", V(4, 14, 255) },
		/* Nothing to tell */
		{ "", "", 0 },
		{ "6", "", 0 },
		{ "mainline", "#1", 0 },
		{ "v6.1.1", "", 0 },
		{ "6.x.1", "", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned int v = precheck_kernel_version(cases[i].release, cases[i].version);

		if (v != cases[i].want)
			fail_msg("%s %s: %x", cases[i].release, cases[i].version, v);
	}
}

static void test_freeze(void **state)
{
	static const struct {
		unsigned int first, last;
	} bad[] = {
		{ V(5, 19, 0), V(6, 1, 35) },
		{ V(6, 2, 0), V(6, 3, 9) },
	};
	unsigned int v;

	/* Both ends, and the first version behind and before them. */
	assert_false(precheck_kernel_can_freeze(V(5, 18, 255)));
	assert_true(precheck_kernel_can_freeze(V(5, 19, 0)));
	assert_true(precheck_kernel_can_freeze(V(6, 0, 19)));
	assert_true(precheck_kernel_can_freeze(V(6, 1, 35)));
	assert_false(precheck_kernel_can_freeze(V(6, 1, 36)));
	assert_false(precheck_kernel_can_freeze(V(6, 1, 255)));
	assert_true(precheck_kernel_can_freeze(V(6, 2, 0)));
	assert_true(precheck_kernel_can_freeze(V(6, 3, 9)));
	assert_false(precheck_kernel_can_freeze(V(6, 3, 10)));
	assert_false(precheck_kernel_can_freeze(V(6, 4, 0)));
	assert_false(precheck_kernel_can_freeze(0));
	for (v = V(4, 0, 0); v < V(7, 255, 0); v++)
		assert_int_equal(precheck_kernel_can_freeze(v),
				 (v >= bad[0].first && v <= bad[0].last) ||
					 (v >= bad[1].first && v <= bad[1].last));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_freeze),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
