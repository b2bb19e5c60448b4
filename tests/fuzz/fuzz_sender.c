// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_sender.c - any bytes as what the sender reads of servers, what the main process reads of the
 * sender, and what a start finds in the spool. The first byte says which.
 */
#include <stdlib.h>
#include <string.h>

#include "delivery/grpc.h"
#include "delivery/otlp_reply.h"
#include "delivery/sender_wire.h"
#include "delivery/spool_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CRC_AT 12
#define BYTES_AT 16

static void check_reply(const struct otlp_reply *r, const uint8_t *data, size_t size)
{
	if (r->rejected < 0)
		abort();
	if (r->text && (r->text < data || r->text_len > size ||
			r->text + r->text_len > data + size))
		abort();
}

static void as_reply(const uint8_t *data, size_t size)
{
	struct otlp_reply r;

	if (otlp_reply_success(data, size, &r) && (r.text || r.rejected))
		abort();
	check_reply(&r, data, size);
	if (otlp_reply_error(data, size, &r) && r.text)
		abort();
	check_reply(&r, data, size);
}

/* A header that is accepted is written again as it was. */
static void as_head(const uint8_t *data, size_t size)
{
	uint8_t out[SPOOL_HEAD_MAX];
	struct request_info info;
	struct spool_sizes sizes;
	size_t len;

	if (spool_entry_parse(data, size, &info, &sizes))
		return;
	if (request_info_check(&info) || sizes.head_bytes > size ||
	    spool_entry_head(out, &len, &info, "", 0) || len != sizes.head_bytes)
		abort();
}

/* As it is, and with a checksum that is right. */
static void as_entry(const uint8_t *data, size_t size)
{
	static uint8_t copy[SPOOL_HEAD_MAX];
	uint32_t bytes, crc = 0;

	as_head(data, size);
	size = size < sizeof(copy) ? size : sizeof(copy);
	if (size < BYTES_AT + sizeof(bytes))
		return;
	memcpy(copy, data, size);
	memcpy(&bytes, copy + BYTES_AT, sizeof(bytes));
	memcpy(copy + CRC_AT, &crc, sizeof(crc));
	crc = spool_entry_crc(0, copy, bytes < size ? bytes : size);
	memcpy(copy + CRC_AT, &crc, sizeof(crc));
	as_head(copy, size);
}

static void as_answer(const uint8_t *data, size_t size)
{
	struct sender_answer a = { 0 };

	memcpy(&a, data, size < sizeof(a) ? size : sizeof(a));
	if (sender_answer_ok(&a) && strlen(a.text) >= sizeof(a.text))
		abort();
}

static void as_servers(const uint8_t *data, size_t size)
{
	struct buf b = { .data = (uint8_t *)(uintptr_t)data, .len = size };
	struct sender_server servers[SENDER_EXPORTERS_MAX];
	char why[128];
	int cnt = sender_servers_get(&b, servers), i;

	for (i = 0; i < cnt; i++)
		sender_check_server(&servers[i], why, sizeof(why));
}

/* As a line of trailers, and as a body. */
static void as_grpc(const uint8_t *data, size_t size)
{
	struct grpc_status s = { 0 };
	const uint8_t *message;
	size_t len;

	grpc_take_header(&s, (const char *)data, size);
	if (strlen(s.text) >= sizeof(s.text) || grpc_judge(&s) >= SEND_RESULTS ||
	    s.retry_after_ms > SENDER_RETRY_AFTER_MAX_MS)
		abort();
	if (grpc_message(data, size, &message, &len) &&
	    (message != data + GRPC_PREFIX_BYTES || len > size - GRPC_PREFIX_BYTES))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const as[])(const uint8_t *, size_t) = {
		as_reply, as_entry, as_answer, as_servers, as_grpc,
	};

	if (size)
		as[data[0] % 5](data + 1, size - 1);
	return 0;
}
