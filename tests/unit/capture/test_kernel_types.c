// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_kernel_types.c - which of a kernel's types libbpf gets. */
#include <errno.h>

#include "user/capture/kernel_types.c"
#include "tests/unit/tach_test.h"

/* The kernel's types. */
static struct kernel {
	struct btf *btf;
	int number, unused, inner, outer, regs;
} kernel;

static int add_struct(struct btf *btf, const char *name, const char *member, int type)
{
	int id = btf__add_struct(btf, name, 8);

	assert_int_equal(btf__add_field(btf, member, type, 0, 0), 0);
	return id;
}

/* BTF of a kernel: outer contains inner, and points to unused. */
static int make_kernel(void **state)
{
	struct kernel *k = &kernel;
	int pointer, elements;

	k->btf = btf__new_empty();
	k->number = btf__add_int(k->btf, "long", 8, BTF_INT_SIGNED);
	k->unused = add_struct(k->btf, "unused", "a", k->number);
	k->inner = add_struct(k->btf, "inner", "value", k->number);
	pointer = btf__add_ptr(k->btf, k->unused);
	elements = btf__add_array(k->btf, k->number, btf__add_const(k->btf, k->inner), 2);
	k->outer = add_struct(k->btf, "outer", "parts", elements);
	assert_int_equal(btf__add_field(k->btf, "other", pointer, 128, 0), 0);
	k->regs = add_struct(k->btf, "pt_regs", "ax", k->number);
	btf__add_enum(k->btf, "ways", 4);
	btf__add_enum_value(k->btf, "WAY_IN", 7);
	btf__add_func(k->btf, "bpf_iter_task", BTF_FUNC_STATIC, btf__add_func_proto(k->btf, 0));
	return 0;
}

static int free_kernel(void **state)
{
	btf__free(kernel.btf);
	return 0;
}

/* What is picked for programs that name one type; the caller frees it. */
static struct btf *pick_for(const char *name, uint32_t *task_iterator)
{
	struct btf *programs = btf__new_empty(), *picked;
	struct buf out = { 0 };
	const void *raw;
	uint32_t len;

	btf__add_struct(programs, name, 0);
	raw = btf__raw_data(kernel.btf, &len);
	assert_int_equal(kernel_types_pick(raw, len, programs, &out, task_iterator), 0);
	picked = btf__new(out.data, (uint32_t)out.len);
	assert_non_null(picked);
	buf_free(&out);
	btf__free(programs);
	return picked;
}

static const char *member_name(const struct btf *btf, const struct btf_type *t, int i)
{
	return btf__name_by_offset(btf, btf_members(t)[i].name_off);
}

static void test_contents(void **state)
{
	uint32_t iterator;
	struct btf *btf = pick_for("outer___5_10", &iterator);
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)btf__find_by_name(btf, "outer"));
	const struct btf_type *parts, *inner;

	assert_int_equal(btf_vlen(t), 2);
	assert_string_equal(member_name(btf, t, 0), "parts");
	assert_int_equal(btf_members(t)[1].offset, 128);
	parts = btf__type_by_id(btf, btf_members(t)[0].type);
	assert_int_equal(btf_array(parts)->nelems, 2);
	inner = btf__type_by_id(btf, btf_array(parts)->type);
	assert_true(btf_is_const(inner));
	inner = btf__type_by_id(btf, inner->type);
	assert_string_equal(btf__name_by_offset(btf, inner->name_off), "inner");
	assert_int_equal(btf__type_by_id(btf, btf_members(inner)[0].type)->size, 8);
	/* It points to something, which is not there. */
	assert_int_equal(btf__type_by_id(btf, btf_members(t)[1].type)->type, 0);
	assert_true(btf__find_by_name(btf, "unused") < 0);
	assert_true(btf__find_by_name(btf, "ways") < 0);
	assert_int_equal(iterator, btf__find_by_name(kernel.btf, "bpf_iter_task"));
	btf__free(btf);
}

/* Programs use the id of pt_regs. */
static void test_ids(void **state)
{
	uint32_t iterator;
	struct btf *btf = pick_for("pt_regs", &iterator);

	assert_int_equal(btf__find_by_name(btf, "pt_regs"), kernel.regs);
	btf__free(btf);
}

static void test_enum(void **state)
{
	struct btf *btf;
	const struct btf_type *t;
	uint32_t iterator;

	btf = pick_for("ways", &iterator);
	t = btf__type_by_id(btf, (uint32_t)btf__find_by_name(btf, "ways"));
	assert_string_equal(btf__name_by_offset(btf, btf_enum(t)[0].name_off), "WAY_IN");
	assert_int_equal(btf_enum(t)[0].val, 7);
	btf__free(btf);
}

/* Any cut or changed byte gives an error, or types that libbpf may refuse; never a crash. */
static void test_damaged(void **state)
{
	struct btf *programs = btf__new_empty();
	uint32_t len, i, iterator;
	const void *raw = btf__raw_data(kernel.btf, &len);
	uint8_t *copy = malloc(len);

	btf__add_struct(programs, "outer", 0);
	for (i = 0; i < len; i++) {
		struct buf out = { 0 };
		uint8_t *cut = malloc(i + 1);

		memcpy(cut, raw, i);
		assert_int_equal(kernel_types_pick(cut, i, programs, &out, &iterator), -EINVAL);
		memcpy(copy, raw, len);
		copy[i] ^= 0xff;
		kernel_types_pick(copy, len, programs, &out, &iterator);
		buf_free(&out);
		free(cut);
	}
	free(copy);
	btf__free(programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_enum),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, make_kernel, free_kernel);
}
