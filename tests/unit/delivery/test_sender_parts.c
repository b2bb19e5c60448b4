// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_sender_parts.c - what the sender makes of answers, what it gets of servers, and which of its
 * own answers are believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "delivery/grpc.h"
#include "delivery/otlp_reply.h"
#include "delivery/sender_wire.h"
#include "delivery/transfer.c"

static void test_statuses(void **state)
{
	static const struct {
		uint32_t status;
		enum send_result result;
	} rows[] = {
		{ 200, SEND_DONE }, { 202, SEND_DONE }, { 301, SEND_DENIED }, { 400, SEND_DROP },
		{ 401, SEND_DENIED }, { 403, SEND_DENIED }, { 404, SEND_DENIED },
		{ 405, SEND_DENIED }, { 408, SEND_RETRY }, { 413, SEND_TOO_LARGE },
		{ 422, SEND_RETRY }, { 429, SEND_RETRY }, { 500, SEND_RETRY }, { 502, SEND_RETRY },
		{ 503, SEND_RETRY }, { 504, SEND_RETRY }, { 999, SEND_RETRY }, { 0, SEND_RETRY },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(transfer_judge(rows[i].status), rows[i].result);
}

static struct grpc_status status_of(const char *lines)
{
	struct grpc_status s = { 0 };
	size_t len;

	for (; *lines; lines += len + 1) {
		len = strcspn(lines, "\n");
		grpc_take_header(&s, lines, len);
	}
	return s;
}

static void test_grpc(void **state)
{
	static const struct {
		const char *lines, *text;
		enum send_result result;
	} rows[] = {
		{ "grpc-status: 0\r\n", "", SEND_DONE },
		{ "content-type: application/grpc\r\nGrpc-Status:14\r\n"
		  "grpc-message: no %e2%82%ac, 5%25%\r\n", "no \xe2\x82\xac, 5%%", SEND_RETRY },
		{ "grpc-status: 3\ngrpc-message: bad%\n", "bad%", SEND_DROP },
		{ "grpc-status: 16\n", "", SEND_DENIED }, { "grpc-status: 12\n", "", SEND_DENIED },
		{ "grpc-status: 7\n", "", SEND_DENIED }, { "grpc-status: 13\n", "", SEND_RETRY },
		{ "grpc-status: 8\n", "", SEND_RETRY },
		{ "grpc-message: grpc: received message larger than max (5)\ngrpc-status: 8\n",
		  "grpc: received message larger than max (5)", SEND_TOO_LARGE },
		{ "grpc-status: 99999999999999999999\n", "", SEND_DENIED },
		{ "grpc-status: 99\n", "", SEND_RETRY }, { "grpc-status: -1\n", "", SEND_DENIED },
		{ "grpc-statuses: 0\n", "", SEND_DENIED }, { "\n", "", SEND_DENIED },
		{ "grpc-message: a%00b\ngrpc-status: 2\n", "ab", SEND_RETRY },
	};
	static const uint8_t body[] = { 0, 0, 0, 0, 2, 'h', 'i', 'x' };
	uint8_t prefix[GRPC_PREFIX_BYTES];
	const uint8_t *message;
	struct grpc_status s;
	size_t len, i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		s = status_of(rows[i].lines);
		assert_int_equal(grpc_judge(&s), rows[i].result);
		assert_string_equal(s.text, rows[i].text);
	}
	s = status_of("grpc-status: 14\ngrpc-retry-pushback-ms: 1500\n");
	assert_int_equal(s.retry_after_ms, 1500);
	s = status_of("grpc-retry-pushback-ms: 99999999999\n");
	assert_int_equal(s.retry_after_ms, SENDER_RETRY_AFTER_MAX_MS);
	assert_string_equal(grpc_code_name(14), "UNAVAILABLE");
	assert_string_equal(grpc_code_name(1000), "status");
	grpc_prefix(prefix, true, 0x01020304);
	assert_memory_equal(prefix, "\1\1\2\3\4", 5);
	assert_true(grpc_message(body, sizeof(body), &message, &len));
	assert_int_equal(len, 2);
	assert_ptr_equal(message, body + 5);
	assert_false(grpc_message(body, 6, &message, &len));
	assert_false(grpc_message(body, 4, &message, &len));
	assert_false(grpc_message((const uint8_t *)"\1\0\0\0\0", 5, &message, &len));
}

static void test_replies(void **state)
{
	static const uint8_t good[] = "\x12\x01z\x0a\x07\x08\xac\x02\x12\x02no\x19"
				      "12345678";
	static const uint8_t negative[] = "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct otlp_reply r;
	size_t len;

	assert_int_equal(otlp_reply_success(good, sizeof(good) - 1, &r), 0);
	assert_int_equal(r.rejected, 300);
	assert_memory_equal(r.text, "no", 2);
	for (len = 1; len < sizeof(good) - 1; len++)	/* cut: an error, or what is whole of it */
		if (!otlp_reply_success(good, len, &r))
			assert_true(len == 3 || len == 12);
	assert_int_equal(otlp_reply_success(negative, sizeof(negative) - 1, &r), 0);
	assert_int_equal(r.rejected, 0);
	assert_int_equal(otlp_reply_success(good, 0, &r), 0);
	assert_null(r.text);
	assert_int_equal(otlp_reply_error((const uint8_t *)"<html>", 6, &r), -EBADMSG);
	assert_null(r.text);
}

static void test_servers(void **state)
{
	const struct sender_server in[] = {
		{ .url = "http://a", .headers = "A: b\nC: d", .ca = "pem", .stall_ms = 5 },
		{ .url = "https://b", .user = "u", .password = "p", .insecure = true },
		/* No server yet; the next one has both. */
		{ .bearer = "t" },
		{ .url = "https://c", .insecure = true, .stall_ms = UINT32_MAX },
	};
	struct sender_server out[SENDER_EXPORTERS_MAX];
	struct buf b = { 0 };
	size_t len;

	assert_int_equal(sender_servers_put(&b, in, 4), 0);
	assert_int_equal(sender_servers_get(&b, out), 4);
	assert_false(out[0].insecure);
	assert_true(out[1].insecure);
	assert_int_equal(out[1].stall_ms, 0);
	assert_null(out[2].url);
	assert_false(out[2].insecure);
	assert_true(out[3].insecure);
	assert_int_equal(out[3].stall_ms, UINT32_MAX);
	b.len = 0;
	assert_int_equal(sender_servers_put(&b, in, 2), 0);
	assert_int_equal(sender_servers_get(&b, out), 2);
	assert_string_equal(out[0].headers, "A: b\nC: d");
	assert_int_equal(out[0].stall_ms, 5);
	assert_null(out[0].user);
	assert_string_equal(out[1].password, "p");
	for (len = b.len; b.len--;)
		if (b.len != len / 2)
			assert_true(sender_servers_get(&b, out) != 2);
	buf_free(&b);
}

static int check(struct sender_server s)
{
	char why[128];
	int err;

	if (!s.url)
		s.url = "http://127.0.0.1/";
	err = sender_check_server(&s, why, sizeof(why));
	assert_true(!err == !why[0]);
	return err;
}

static void test_wrong_servers(void **state)
{
	assert_int_equal(check((struct sender_server){ .headers = "A: b\nC-d:e" }), 0);
	assert_int_equal(check((struct sender_server){ .url = "HTTPS://x" }), 0);
	assert_int_equal(check((struct sender_server){ .url = "file:///etc/passwd" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .url = "http://" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .url = "http://a b" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .url = "http://a\r\nX: y" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .headers = "A b: c" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .headers = "A: b\r\nC: d" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .headers = ": b" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .bearer = "a\nb" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .bearer = "a", .user = "b" }), -EINVAL);
	assert_int_equal(check((struct sender_server){ .key = "a" }), -EINVAL);
}

static void test_answers(void **state)
{
	struct sender_answer a = { .job = 1, .text = "fine \xc3\xa4" };

	assert_true(sender_answer_ok(&a));
	strcpy(a.text, "\x1b[2J");
	assert_false(sender_answer_ok(&a));
	strcpy(a.text, "\xff");
	assert_false(sender_answer_ok(&a));
	memset(a.text, 'a', sizeof(a.text));
	assert_false(sender_answer_ok(&a));
	a.text[0] = '\0';
	a.result = SEND_RESULTS;
	assert_false(sender_answer_ok(&a));
	a = (struct sender_answer){ .job = 1, .cause = SEND_CAUSES };
	assert_false(sender_answer_ok(&a));
	a = (struct sender_answer){ .job = 1, .retry_after_ms = SENDER_RETRY_AFTER_MAX_MS + 1 };
	assert_false(sender_answer_ok(&a));
	a = (struct sender_answer){ .status = 200 };
	assert_false(sender_answer_ok(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_grpc),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_wrong_servers),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
