// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pyroscope_query.c - see pyroscope_query.h. */
#include "agent/pyroscope_query.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "telemetry/service_labels.h"

/* Room for what follows the name. */
#define REST_BYTES 128
#define BRACE_BYTES 3	/* the last "}" */

static const char *const shared_keys[] = {
	"service.namespace", "service.version", "deployment.environment.name", "host.name",
	"k8s.namespace.name", "k8s.pod.name", "k8s.container.name", "container.name",
	"systemd.unit",
};

struct query {
	char *out;
	size_t len, room;
};

/* Appends a character, encoded. Returns false if there is no room. */
static bool put_char(struct query *q, unsigned char c)
{
	bool plain = isalnum(c) || strchr("-_.~", c);

	if (q->len + 3 >= q->room)
		return false;
	q->len += (size_t)snprintf(q->out + q->len, 4, plain ? "%c" : "%%%02X", c);
	return true;
}

/* Appends a text. Names in Pyroscope have no quotes, so its special characters are replaced. */
static bool put_text(struct query *q, const char *text)
{
	for (; *text; text++)
		if (!put_char(q, strchr("{}=,", *text) ? '_' : (unsigned char)*text))
			return false;
	return true;
}

/* A label's name may consist of letters, digits and "_". */
static bool put_key(struct query *q, const char *key)
{
	for (; *key; key++)
		if (!put_char(q, isalnum((unsigned char)*key) ? (unsigned char)*key : '_'))
			return false;
	return true;
}

static void put_label(struct query *q, const char *key, const char *value, char before)
{
	size_t len = q->len;

	if (put_char(q, (unsigned char)before) && put_key(q, key) && put_char(q, '=') &&
	    put_text(q, value))
		return;
	q->len = len;
	q->out[len] = '\0';
}

static bool is_shared(const char *key)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(shared_keys) && strcmp(shared_keys[i], key))
		i++;
	return i < ARRAY_SIZE(shared_keys);
}

void pyroscope_query(const struct service *service, const struct service_config *config,
		     uint64_t begin_ns, uint64_t end_ns, char out[SPOOL_QUERY_BYTES])
{
	struct query q = { .out = out, .room = SPOOL_QUERY_BYTES - REST_BYTES };
	const struct attrs *labels = config->labels;
	const char *key, *value;
	size_t i, name_len;

	q.room -= BRACE_BYTES;
	q.len = (size_t)sprintf(out, "name=");
	put_text(&q, service ? service_name_of(service) : SERVICE_OTHER_NAME);
	name_len = q.len;
	for (i = 0; i < ARRAY_SIZE(shared_keys); i++) {
		value = service_attribute(service, config, shared_keys[i]);
		if (*value)
			put_label(&q, shared_keys[i], value, q.len == name_len ? '{' : ',');
	}
	for (i = 0; labels && i < labels->cnt; i++) {
		key = attr_key(labels, &labels->items[i]);
		value = service_attribute(service, config, key);
		if (!is_shared(key))	/* a number that a process says makes no label */
			put_label(&q, key, *value ? value : attr_value(labels, &labels->items[i]),
				  q.len == name_len ? '{' : ',');
	}
	q.room += BRACE_BYTES;
	if (q.len != name_len)
		put_char(&q, '}');
	snprintf(out + q.len, SPOOL_QUERY_BYTES - q.len,
		 "&from=%llu&until=%llu&format=pprof&spyName=tachbpf", begin_ns / NS_PER_S,
		 end_ns / NS_PER_S);
}
