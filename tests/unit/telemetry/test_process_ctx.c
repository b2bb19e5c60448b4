// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_ctx.c - process contexts in memory that changes at each step of a read, and their
 * payloads. Those of real processes: test_process_ctx_live.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "telemetry/process_ctx.c"
#include "tests/unit/telemetry/process_ctx_test.h"

static struct message made;
static struct process_ctx ctx;

/* ---- memory of a test ---- */

#define HEADER_AT 0x1000
#define PAYLOAD_AT 0x2000

struct fake {
	struct published header;
	const struct message *payload;
	unsigned int reads;
	/* Called before each read with its number, from 1 on. */
	void (*before)(struct fake *f, unsigned int read);
	int err;
};

static int read_fake(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct fake *f = arg;

	if (f->before)
		f->before(f, f->reads + 1);
	f->reads++;
	if (f->err)
		return f->err;
	if (addr == HEADER_AT && len == sizeof(f->header))
		memcpy(buf, &f->header, len);
	else if (addr == PAYLOAD_AT && len <= f->payload->len)
		memcpy(buf, f->payload->bytes, len);
	else
		return -EFAULT;
	return 0;
}

static struct fake fake_of(const struct message *payload)
{
	struct fake f = { .payload = payload };

	memcpy(f.header.signature, "OTEL_CTX", 8);
	f.header.version = 2;
	f.header.payload_size = (uint32_t)payload->len;
	f.header.published_ns = 77;
	f.header.payload = PAYLOAD_AT;
	return f;
}

static int read_of(struct fake *f, uint64_t known_ns)
{
	const struct target_mem mem = { read_fake, f };

	return process_ctx_read(&mem, HEADER_AT, known_ns, &ctx);
}

static void test_reads(void **state)
{
	struct fake f;

	make_context(&made, "shop", 2);
	f = fake_of(&made);
	assert_int_equal(read_of(&f, 0), 0);
	assert_int_equal(f.reads, 3);
	assert_int_equal(ctx.published_ns, 77);
	assert_int_equal(ctx.version, 2);
	assert_int_equal(ctx.resource.cnt, 3);
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "shop");
	/* A known one costs one read. */
	assert_int_equal(read_of(&f, 77), -EALREADY);
	assert_int_equal(f.reads, 4);
	assert_int_equal(read_of(&f, 78), 0);
	f.header.version = 1;
	assert_int_equal(read_of(&f, 0), 0);
	assert_int_equal(ctx.version, 1);
}

static void test_no_context(void **state)
{
	struct fake f, good;

	make_context(&made, "shop", 0);
	good = f = fake_of(&made);
	f.header.signature[7] = 'Y';
	assert_int_equal(read_of(&f, 0), -ENOENT);
	f = good;
	f.header.version = 3;
	assert_int_equal(read_of(&f, 0), -ENOENT);
	f.header.version = 0;
	assert_int_equal(read_of(&f, 0), -ENOENT);
	/* Four gigabytes are not read, nor is a byte too many. */
	f = good;
	f.header.payload_size = UINT32_MAX;
	assert_int_equal(read_of(&f, 0), -E2BIG);
	f.header.payload_size = PROCESS_CTX_BYTES_MAX + 1;
	assert_int_equal(read_of(&f, 0), -E2BIG);
	assert_int_equal(f.reads, 2);
	/* A payload that is nowhere. */
	f = good;
	f.header.payload = UINT64_MAX - 4;
	assert_int_equal(read_of(&f, 0), -EFAULT);
	f = good;
	f.header.payload_size--;
	assert_int_equal(read_of(&f, 0), -EBADMSG);
	/* Nothing is something: it may come. */
	f.header.payload_size = 0;
	f.header.payload = 0;
	assert_int_equal(read_of(&f, 0), 0);
	assert_int_equal(ctx.resource.cnt, 0);
}

/* Of a process that always changes it, so much is read and no more. */
static void test_frozen(void **state)
{
	struct fake f;

	make_context(&made, "shop", 0);
	f = fake_of(&made);
	f.header.published_ns = 0;
	assert_int_equal(read_of(&f, 0), -EAGAIN);
	assert_int_equal(f.reads, PROCESS_CTX_TRIES);
}

static void change_time(struct fake *f, unsigned int read)
{
	f->header.published_ns++;
}

static void begin_change(struct fake *f, unsigned int read)
{
	if (read == 3)
		f->header.published_ns = 0;
}

static void change_size(struct fake *f, unsigned int read)
{
	if (read == 2)
		f->header.payload_size--;
}

static void change_once(struct fake *f, unsigned int read)
{
	static struct message other;

	if (read != 2)
		return;
	make_context(&other, "other", 1);
	f->payload = &other;
	f->header.payload_size = (uint32_t)other.len;
	f->header.published_ns = 78;
}

/* The old payload is gone: its address is nowhere now. */
static void move_once(struct fake *f, unsigned int read)
{
	if (read == 1) {
		f->header.payload = 8;
	} else if (read == 3) {
		f->header.payload = PAYLOAD_AT;
		f->header.published_ns = 79;
	}
}

static void test_changes_meanwhile(void **state)
{
	struct fake f;

	make_context(&made, "shop", 0);
	f = fake_of(&made);
	f.before = change_time;
	assert_int_equal(read_of(&f, 0), -EAGAIN);
	assert_int_equal(f.reads, 3 * PROCESS_CTX_TRIES);
	f = fake_of(&made);
	f.before = begin_change;
	assert_int_equal(read_of(&f, 0), -EAGAIN);
	f = fake_of(&made);
	f.before = change_once;
	assert_int_equal(read_of(&f, 0), 0);
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "other");
	assert_int_equal(ctx.published_ns, 78);
	f = fake_of(&made);
	f.before = move_once;
	assert_int_equal(read_of(&f, 0), 0);
	assert_int_equal(ctx.published_ns, 79);
	/* Somebody who forges the time is not believed either. */
	f = fake_of(&made);
	f.before = change_size;
	assert_int_equal(read_of(&f, 0), -EBADMSG);
	assert_int_equal(f.reads, 6);
}

static void test_errors_of_reads(void **state)
{
	static const int errors[] = { -EBUSY, -ESRCH, -EPERM, -EFAULT };
	struct fake f;
	size_t i;

	make_context(&made, "shop", 0);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		f = fake_of(&made);
		f.err = errors[i];
		assert_int_equal(read_of(&f, 0), errors[i]);
		assert_int_equal(f.reads, 1);
	}
}

static int read_two(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct fake *two = arg;

	/* The first is at 0x9000. */
	return addr == 0x9000 ? read_fake(&two[0], HEADER_AT, buf, len) :
		read_fake(&two[1], addr, buf, len);
}

static void test_several(void **state)
{
	const struct otel_mappings mappings = { { 0x9000, HEADER_AT }, 2 }, none = { { 0 }, 0 };
	struct fake two[2];
	const struct target_mem mem = { read_two, two };

	make_context(&made, "shop", 0);
	two[0] = two[1] = fake_of(&made);
	two[0].header.version = 9;
	assert_int_equal(process_ctx_read_any(&mem, &mappings, 0, &ctx), 0);
	assert_int_equal(process_ctx_read_any(&mem, &mappings, 77, &ctx), -EALREADY);
	two[1].header.payload = 0;
	assert_int_equal(process_ctx_read_any(&mem, &mappings, 0, &ctx), -EFAULT);
	two[0].header.version = 2;
	two[0].header.published_ns = 0;
	assert_int_equal(process_ctx_read_any(&mem, &mappings, 0, &ctx), -EAGAIN);
	assert_int_equal(process_ctx_read_any(&mem, &none, 0, &ctx), -ENOENT);
}

/* ---- payloads ---- */

static int parse(const struct message *m)
{
	uint8_t *exact = malloc(m->len + !m->len);	/* for the sanitizers */
	int err;

	memcpy(exact, m->bytes, m->len);
	err = process_ctx_parse(exact, m->len, &ctx);
	free(exact);
	return err;
}

static void make_any(struct message *any, unsigned int field, unsigned int type, uint64_t v)
{
	any->len = 0;
	put_varint(any, field << 3 | type);
	if (type == 1) {
		memcpy(any->bytes + any->len, &v, 8);
		any->len += 8;
	} else {
		put_varint(any, v);
	}
}

static void test_values(void **state)
{
	static struct message resource, any;
	double d = 0.5;
	uint64_t v;

	memcpy(&v, &d, 8);
	resource.len = made.len = any.len = 0;
	make_any(&any, 2, 0, 1);
	put_pair(&resource, 1, "a.bool", &any);
	make_any(&any, 3, 0, (uint64_t)-5);
	put_pair(&resource, 1, "an.int", &any);
	make_any(&any, 4, 1, v);
	put_pair(&resource, 1, "a.double", &any);
	any.len = 0;
	put_pair(&resource, 1, "nothing", &any);
	put_bytes(&any, 7, "bytes", 5);
	put_pair(&resource, 1, "bytes", &any);
	put_string(&resource, 1, "hostile\n", "\x1b[2J\xff\0x", 7);
	put_string(&resource, 1, "service.name", "one", 3);
	put_string(&resource, 1, "service.name", "two", 3);
	put_message(&made, 1, &resource);
	put_bytes(&made, 15, "of a later version", 18);
	assert_int_equal(parse(&made), 0);
	assert_string_equal(attrs_text(&ctx.resource, "a.bool"), "true");
	assert_int_equal(attrs_find(&ctx.resource, "an.int")->number, -5);
	assert_string_equal(attrs_text(&ctx.resource, "a.double"), "0.5");
	assert_string_equal(attrs_text(&ctx.resource, "hostile\\x0a"), "\\x1b[2J\\xff\\x00x");
	assert_string_equal(attrs_text(&ctx.resource, "service.name"), "one");
	assert_int_equal(ctx.resource.cnt, 5);
	assert_int_equal(ctx.resource.dropped, 2);
	assert_string_equal(ctx.threads.schema, "");
}

/* A context whose key map has cnt names of len letters. */
static void make_key_map(size_t cnt, size_t len)
{
	static struct message any, array;
	char name[256];
	size_t i;

	made.len = array.len = 0;
	put_string(&made, 2, "threadlocal.schema_version", "tlsdesc_v1_dev", 14);
	for (i = 0; i < cnt; i++) {
		memset(name, 'a' + (int)(i % 26), len);
		any.len = 0;
		put_bytes(&any, i == 3 ? 7 : 1, name, len);	/* the fourth is no string */
		put_message(&array, 1, &any);
	}
	any.len = 0;
	put_message(&any, 5, &array);
	put_pair(&made, 2, "threadlocal.attribute_key_map", &any);
}

static void test_thread_keys(void **state)
{
	make_key_map(5, 4);
	assert_int_equal(parse(&made), 0);
	assert_string_equal(ctx.threads.schema, "tlsdesc_v1_dev");
	assert_int_equal(ctx.threads.cnt, 5);
	assert_string_equal(thread_key(&ctx.threads, 0), "aaaa");
	assert_string_equal(thread_key(&ctx.threads, 3), "");
	assert_string_equal(thread_key(&ctx.threads, 4), "eeee");
	assert_string_equal(thread_key(&ctx.threads, 5), "");
	assert_string_equal(thread_key(&ctx.threads, UINT32_MAX), "");
	/* The first 64, and of long names as many as there is room for. */
	make_key_map(70, 4);
	assert_int_equal(parse(&made), 0);
	assert_int_equal(ctx.threads.cnt, THREAD_KEYS_MAX);
	assert_int_equal(ctx.threads.beyond, 6);
	make_key_map(64, 200);
	assert_int_equal(parse(&made), 0);
	assert_true(ctx.threads.cnt >= 15 && ctx.threads.cnt < 64);
	assert_int_equal(ctx.threads.cnt + ctx.threads.beyond, 64);
}

/* Lists of lists are not entered: as deep as a payload can be, it takes no stack. */
static void test_nested_lists(void **state)
{
	static struct message any, array;
	size_t levels;

	any.len = array.len = 0;
	for (levels = 0; any.len < 60000; levels++) {
		array.len = 0;
		put_message(&array, 1, &any);
		any.len = 0;
		put_message(&any, 5, &array);
	}
	assert_true(levels > 5000);
	made.len = array.len = 0;
	put_pair(&array, 1, "deep", &any);
	put_message(&made, 1, &array);
	assert_int_equal(parse(&made), 0);
	assert_int_equal(ctx.resource.dropped, 1);
	made.len = 0;
	put_pair(&made, 2, "threadlocal.attribute_key_map", &any);
	assert_int_equal(parse(&made), 0);
	assert_int_equal(ctx.threads.cnt, 1);
	assert_string_equal(thread_key(&ctx.threads, 0), "");
}

static void test_garbage(void **state)
{
	static const struct { const char *bytes; size_t len; } bad[] = {
		{ "\x0a", 1 }, { "\x0a\x05""abc", 5 }, { "\x0b", 1 }, { "\x00\x01", 2 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11 }, { "\x08", 1 },
		{ "\x09\x01\x02", 3 }, { "\x0d\x01", 2 }, { "\x08\x01", 2 },	/* no message */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
		{ "\x0a\x02\x0a\x09", 4 }, { "\x0a\x02\x08\x09", 4 },
		{ "\x12\x04\x12\x02\x0a\x07", 6 },
	};
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(made.bytes, bad[i].bytes, bad[i].len);
		made.len = bad[i].len;
		assert_int_equal(parse(&made), -EBADMSG);
	}
	/* Cut off anywhere but between its fields. */
	make_context(&made, "shop", 3);
	for (at = made.len - 1; at; at--) {
		made.len = at;
		assert_int_equal(parse(&made), -EBADMSG);
	}
}

/* What make_fuzz_seeds.py has written, which knows the format from its specification. */
static void test_of_another_encoder(void **state)
{
	int fd = open(GOLDEN_DIR "/fuzz_process_ctx/0.bin", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, made.bytes, sizeof(made.bytes));

	assert_true(n > 0);
	close(fd);
	made.len = (size_t)n;
	assert_int_equal(parse(&made), 0);
	assert_int_equal(ctx.resource.cnt, 6);
	assert_string_equal(attrs_text(&ctx.resource, "service.version"), "1.4.2");
	assert_string_equal(attrs_text(&ctx.resource, "telemetry.sdk.language"), "python");
	assert_string_equal(ctx.threads.schema, "tlsdesc_v1_dev");
	assert_int_equal(ctx.threads.cnt, 3);
	assert_string_equal(thread_key(&ctx.threads, 2), "user.id");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_no_context),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_changes_meanwhile),
		cmocka_unit_test(test_errors_of_reads),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_thread_keys),
		cmocka_unit_test(test_nested_lists),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_of_another_encoder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
