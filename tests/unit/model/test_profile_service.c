// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_profile_service.c - names of services, which globs match them, and services by process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/service_map.h"

static const struct profile_service checkout = {
	{ [SERVICE_NAME] = "checkout", [SERVICE_NAMESPACE] = "shop", [SERVICE_VERSION] = "1.2" },
};
static const struct profile_service plain = { { [SERVICE_NAME] = "cart" } };

static void test_names(void **state)
{
	struct named_service *a = named_service_new(&checkout), *b = named_service_new(&plain);

	assert_string_equal(a->name, "shop/checkout");
	assert_string_equal(a->release, "shop/checkout 1.2");
	assert_string_equal(b->name, "cart");
	assert_string_equal(b->release, "cart");
	assert_true(profile_service_same(&a->of, &checkout));
	assert_false(profile_service_same(&a->of, &b->of));
	assert_false(profile_service_same(&a->of, NULL));
	named_service_free(a);
	named_service_free(b);
}

static void test_globs(void **state)
{
	static const struct {
		const char *glob;
		bool fits;
	} cases[] = {
		{ "checkout", true }, { "shop/checkout", true }, { "checkout 1.2", true },
		{ "shop/checkout 1.2", true }, { "check*", true }, { "shop/*", true },
		{ "* 1.?", true }, { "checkout 1.3", false }, { "check", false }, { "", false },
		{ "cart", false }, { "1.2", false },
	};
	struct named_service *n = named_service_new(&checkout);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(named_service_matches(n, cases[i].glob), cases[i].fits);
	named_service_free(n);
}

static void test_parts(void **state)
{
	enum service_part part;

	assert_true(service_part_find("service.version", 15, &part));
	assert_int_equal(part, SERVICE_VERSION);
	assert_true(service_part_find("service.name=x", 12, &part));
	assert_int_equal(part, SERVICE_NAME);
	assert_false(service_part_find("service.names", 13, &part));
	assert_false(service_part_find("", 0, &part));
}

static void test_map(void **state)
{
	struct service_map m = { 0 };

	assert_null(service_map_get(NULL, 12));
	assert_int_equal(service_map_put(&m, 12, &checkout), 0);
	assert_int_equal(service_map_put(&m, 13, &checkout), 0);
	assert_int_equal(service_map_put(&m, 12, &plain), 0);
	assert_string_equal(service_map_get(&m, 12)->name, "cart");
	assert_string_equal(service_map_get(&m, 13)->name, "shop/checkout");
	assert_null(service_map_get(&m, 14));
	service_map_free(&m);
	assert_null(service_map_get(&m, 12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
