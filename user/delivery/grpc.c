// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* grpc.c - see grpc.h. */
#include "delivery/grpc.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"

enum {
	OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS,
	PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE,
	UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED, CODES
};

void grpc_prefix(uint8_t out[GRPC_PREFIX_BYTES], bool compressed, uint32_t len)
{
	out[0] = compressed;
	out[1] = (uint8_t)(len >> 24);
	out[2] = (uint8_t)(len >> 16);
	out[3] = (uint8_t)(len >> 8);
	out[4] = (uint8_t)len;
}

bool grpc_message(const uint8_t *body, size_t len, const uint8_t **message, size_t *message_len)
{
	uint32_t said;

	if (len < GRPC_PREFIX_BYTES || body[0])
		return false;
	said = (uint32_t)body[1] << 24 | (uint32_t)body[2] << 16 | (uint32_t)body[3] << 8 | body[4];
	if (said > len - GRPC_PREFIX_BYTES)
		return false;
	*message = body + GRPC_PREFIX_BYTES;
	*message_len = said;
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* grpc-message has "%" and two digits for bytes that a header cannot have. */
static void decode_text(const char *text, size_t len, char out[GRPC_TEXT_BYTES])
{
	size_t at = 0, i;
	int high, low;

	for (i = 0; i < len && at < GRPC_TEXT_BYTES - 1; i++) {
		high = text[i] == '%' && i + 2 < len ? hex_digit(text[i + 1]) : -1;
		low = high >= 0 ? hex_digit(text[i + 2]) : -1;
		out[at] = low >= 0 ? (char)(high << 4 | low) : text[i];
		i += low >= 0 ? 2 : 0;
		at += out[at] != '\0';
	}
	out[at] = '\0';
}

/* Returns true if the line has this name; then *value is what follows, without blanks around it. */
static bool is_header(const char *line, size_t len, const char *name, const char **value,
		      size_t *value_len)
{
	size_t name_len = strlen(name);

	if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len))
		return false;
	for (name_len++; name_len < len && line[name_len] == ' ';)
		name_len++;
	while (len > name_len && isspace((unsigned char)line[len - 1]))
		len--;
	*value = line + name_len;
	*value_len = len - name_len;
	return true;
}

void grpc_take_header(struct grpc_status *s, const char *line, size_t len)
{
	const char *value;
	uint64_t number;
	size_t value_len;

	if (is_header(line, len, "grpc-message", &value, &value_len))
		decode_text(value, value_len, s->text);
	else if (is_header(line, len, "grpc-status", &value, &value_len) &&
		 parse_decimal(value, value_len, &number)) {
		s->known = true;
		s->code = number < CODES ? (uint32_t)number : UNKNOWN;
	} else if (is_header(line, len, "grpc-retry-pushback-ms", &value, &value_len) &&
		   parse_decimal(value, value_len, &number)) {
		s->retry_after_ms = number < SENDER_RETRY_AFTER_MAX_MS ? (uint32_t)number :
									 SENDER_RETRY_AFTER_MAX_MS;
	}
}

enum send_result grpc_judge(const struct grpc_status *s)
{
	if (!s->known)		/* it does not speak gRPC */
		return SEND_DENIED;
	switch (s->code) {
	case OK:
		return SEND_DONE;
	case INVALID_ARGUMENT:
		return SEND_DROP;
	case NOT_FOUND:
	case PERMISSION_DENIED:
	case UNIMPLEMENTED:
	case UNAUTHENTICATED:
		return SEND_DENIED;
	case RESOURCE_EXHAUSTED:	/* a server's limit of the message, or of its load */
		return strstr(s->text, "larger than max") ? SEND_TOO_LARGE : SEND_RETRY;
	default:
		return SEND_RETRY;
	}
}

const char *grpc_code_name(uint32_t code)
{
	static const char *const names[CODES] = {
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
		"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
		"ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
		"UNAUTHENTICATED",
	};

	return code < CODES ? names[code] : "status";
}
