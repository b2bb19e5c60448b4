// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_extra.c - RAW_EXTRA, which is sent before a sample: an exception's type, the kernel's stack.
 */
#include "world.h"

static struct world w;
static struct task_struct idle_task;

#define EACH_MINOR(minor) for ((minor) = LAYOUT_MINOR_MIN; (minor) <= LAYOUT_MINOR_MAX; (minor)++)
#define VALUE (W_HEAP + 0x500000)
#define TYPE (W_HEAP + 0x510000)
#define META (W_HEAP + 0x520000)
#define NAME (W_HEAP + 0x530000)

static void set(const volatile bool *setting, bool v)
{
	host_set(setting, &v, sizeof(v));
}

/* Write an exception, its class, its metaclass, and the class' name. */
static void make_exception(const char *name)
{
	u32 header = w.img.layout.str_length;

	host_mem_map(VALUE, 4096);
	host_mem_map(TYPE, 4096);
	host_mem_map(META, 4096);
	host_mem_map(NAME, 4096);
	host_mem_put64(VALUE + header - 8, TYPE);
	host_mem_put64(TYPE + header - 8, META);
	host_mem_put64(TYPE + header + 152, 1ull << 30);	/* Py_TPFLAGS_BASE_EXC_SUBCLASS */
	host_mem_put64(META + header + 152, 1ull << 31);	/* Py_TPFLAGS_TYPE_SUBCLASS */
	host_mem_put64(TYPE + header + 8, NAME);
	host_mem_write(NAME, name, strlen(name) + 1);
}

static const struct raw_extra *extra(size_t *len)
{
	int i = 0;

	return host_record(RAW_EXTRA, &i, len);
}

static void expect_exception(const char *name)
{
	const struct raw_sample *s = world_sample();
	const struct raw_extra *x = extra(NULL);

	assert_non_null(s);
	assert_true(s->status & STATUS_HAS_EXCEPTION);
	assert_non_null(x);
	assert_string_equal(x->exception, name);
	assert_int_equal(x->h.time_ns, s->h.time_ns);
	assert_int_equal(x->h.start_ns, s->h.start_ns);
	assert_int_equal(x->tid, s->tid);
	assert_int_equal(x->interp_id, s->interp_id);
	assert_int_equal(x->nkernel, 0);
}

static void test_exception(void **state)
{
	const struct py_layout *l = &w.img.layout;
	int minor;

	set(&cfg_exceptions, true);
	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		world_expect(&w, 3, 0);
		assert_null(extra(NULL));
		make_exception("ValueError");
		/* an exception that propagates: up to 3.11 its class, then itself */
		host_mem_put64(W_TSTATE + l->ts_exc_current, minor <= 11 ? TYPE : VALUE);
		expect_exception("ValueError");
		host_mem_put64(W_TSTATE + l->ts_exc_current, 0);
		/* an exception that is handled: up to 3.10 its class */
		host_mem_put64(W_TSTATE + l->ts_exc_state,
			       minor <= 10 ? TYPE : VALUE);
		expect_exception("ValueError");
	}
	set(&cfg_exceptions, false);
	world_sample();
	assert_null(extra(NULL));
}

/* The sample is sent whatever is unreadable, and without a wrong name. */
static void test_exception_unreadable(void **state)
{
	const struct py_layout *l = &w.img.layout;
	char longest[200];
	int i;

	set(&cfg_exceptions, true);
	world_init(&w, 13);
	world_recurse(&w, 3);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	make_exception(longest);
	host_mem_put64(W_TSTATE + l->ts_exc_current, VALUE);
	world_expect(&w, 3, 0);
	assert_non_null(extra(NULL));
	assert_int_equal(strlen(extra(NULL)->exception), RAW_EXCEPTION - 1);
	for (i = 0; i < 4; i++) {
		static const u64 pages[] = { NAME, META, TYPE, VALUE };

		host_mem_unmap(pages[i], 4096);
		world_expect(&w, 3, 0);
		assert_null(extra(NULL));
	}
	set(&cfg_exceptions, false);
}

static void test_kernel_stack(void **state)
{
	const struct raw_extra *x;
	size_t len;

	set(&cfg_kernel_stacks, true);
	world_init(&w, 13);
	world_recurse(&w, 3);
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.stack = NULL;
	host.kernel_frames = 3;
	host.kernel_stack[0] = 0xffffffff81000010ull;
	host.kernel_stack[2] = 0xffffffff81000030ull;
	host.task.__state = 1;
	host_drop_records();
	host_on_switch(false, &host.task, &idle_task);
	x = extra(&len);
	assert_non_null(x);
	assert_int_equal(x->nkernel, 3);
	assert_int_equal(len, offsetof(struct raw_extra, kernel) + 3 * 8);
	assert_int_equal(x->kernel[0], host.kernel_stack[0]);
	assert_int_equal(x->kernel[2], host.kernel_stack[2]);
	assert_string_equal(x->exception, "");
	/* A RAW_EXTRA that is lost is counted. */
	host.ring_room = 0;
	host_on_switch(false, &host.task, &idle_task);
	host.ring_room = HOST_RECORDS_MAX;
	assert_int_equal(host_counter(CNT_EXTRA_LOST), 1);
	/* A runnable thread does not block in the kernel. */
	host_drop_records();
	host_on_switch(true, &host.task, &idle_task);
	assert_null(extra(NULL));
	/* A tick has the kernel's stack if it has interrupted the kernel. */
	host.regs.cs = 0x10;
	world_sample();
	assert_int_equal(extra(NULL)->nkernel, 3);
	host.regs.cs = 0x33;
	host.regs.sp = 4096;
	world_sample();
	assert_null(extra(NULL));
	host.regs.sp = 0;
	set(&cfg_kernel_stacks, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exception),
		cmocka_unit_test(test_exception_unreadable),
		cmocka_unit_test(test_kernel_stack),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
