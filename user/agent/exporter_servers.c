// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* exporter_servers.c - see exporter_servers.h. */
#include "agent/exporter_servers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"

#define FILE_BYTES_MAX (256 * 1024)

/* Texts never outgrow this, because growing could move them and leave a copy of a secret behind. */
#define ROOM_BYTES (2 * FILE_BYTES_MAX)

/* Frees a text after overwriting it. */
static void wipe_text(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->len);
	buf_free(b);
}

/*
 * Hands the text to the list if *err is 0. Returns it; or NULL if *err is set, or if there is no
 * memory, which sets it.
 */
static char *keep_text(struct exporter_servers *s, struct buf *text, int *err)
{
	if (!*err && (!text->data || s->text_cnt == ARRAY_SIZE(s->texts)))
		*err = -ENOMEM;
	if (*err) {
		wipe_text(text);
		return NULL;
	}
	s->texts[s->text_cnt++] = *text;
	return (char *)text->data;
}

/* Removes newlines at the end of a file's content, and adds a NUL. Returns 0 or -errno. */
static int make_text(struct buf *b)
{
	while (b->len && (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == '\r'))
		b->len--;
	if (!b->len)
		return -ENODATA;
	return memchr(b->data, '\0', b->len) ? -EILSEQ : buf_add(b, "", 1);
}

static int read_file(const char *path, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err;

	if (fd < 0)
		return -errno;
	err = buf_reserve(b, ROOM_BYTES);
	if (!err)
		err = buf_add_file(b, fd, FILE_BYTES_MAX);
	close(fd);
	return err ? err : make_text(b);
}

/* The text of a file that the user names. Returns NULL if path is "" or *err is set. */
static char *read_text(struct exporter_servers *s, const char *path, int *err)
{
	struct buf b = { 0 };

	if (!*path || *err)
		return NULL;
	*err = read_file(path, &b);
	if (*err)
		log_error("cannot use the file %s: %s", path,
			  *err == -ENODATA ? "it is empty" : *err == -EILSEQ ? "it is not text" :
			  *err == -EINVAL ? "it is not a regular file" :
			  *err == -EFBIG ? "it is larger than 256 KiB" : strerror(-*err));
	return keep_text(s, &b, err);
}

static int put_header(struct buf *b, const char *name, const char *value)
{
	return buf_add(b, name, strlen(name)) || buf_add(b, ": ", 2) ||
	       buf_add(b, value, strlen(value)) || buf_add(b, "\n", 1) ? -ENOMEM : 0;
}

/* All headers as lines. */
static const char *header_lines(struct exporter_servers *s, const struct agent_http *http,
				const char *tenant, int *err)
{
	const char *file = read_text(s, http->headers_file, err);
	struct buf b = { 0 };
	size_t i;

	if (*err || !(http->headers.cnt || *tenant || file))
		return NULL;
	*err = buf_reserve(&b, ROOM_BYTES);
	for (i = 0; !*err && i < http->headers.cnt; i++)
		*err = put_header(&b, http->headers.pairs[i].name, http->headers.pairs[i].value);
	if (!*err && *tenant)
		*err = put_header(&b, "X-Scope-OrgID", tenant);
	if (!*err)
		*err = buf_add(&b, file ? file : "", file ? strlen(file) + 1 : 1);
	return keep_text(s, &b, err);
}

/* USER:PASSWORD */
static void basic_auth(struct exporter_servers *s, const struct agent_http *http,
		       struct sender_server *out, int *err)
{
	char *text = read_text(s, http->basic_auth_file, err), *colon;

	if (!text)
		return;
	colon = strchr(text, ':');
	if (!colon) {
		log_error("cannot use the file %s: it does not contain "
			  "USER:PASSWORD", http->basic_auth_file);
		*err = -EINVAL;
		return;
	}
	*colon = '\0';
	out->user = text;
	out->password = colon + 1;
}

static int add_server(struct exporter_servers *s, const char *name, const struct agent_config *c,
		      const struct agent_http *http, char *url, const char *tenant)
{
	struct delivery_exporter *e = &s->exporters[s->cnt++];
	size_t len = url ? strlen(url) + 1 : 0;
	struct buf address = { .data = (uint8_t *)url, .len = len, .cap = len };
	int err = 0;

	*e = (struct delivery_exporter){
		.name = name, .timeout_ms = (uint32_t)(http->timeout_ns / NS_PER_MS),
		.pause_ns = c->retry.initial_ns, .pause_max_ns = c->retry.max_ns,
	};
	e->server.url = keep_text(s, &address, &err);
	e->server.headers = header_lines(s, http, tenant, &err);
	e->server.bearer = read_text(s, http->bearer_token_file, &err);
	basic_auth(s, http, &e->server, &err);
	e->server.ca = read_text(s, http->ca_file, &err);
	e->server.certificate = read_text(s, http->cert_file, &err);
	e->server.key = read_text(s, http->key_file, &err);
	e->server.proxy = *http->proxy ? http->proxy : NULL;
	e->server.insecure = http->insecure;
	return err;
}

static uint64_t hash_mix(uint64_t hash, const void *data, size_t len)
{
	return hash_u64(hash ^ hash_bytes(data, len));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return text ? hash_mix(hash, text, strlen(text)) : hash_u64(hash + 1);
}

/* The hash of everything that the delivery gets. */
static uint64_t hash_of(const struct exporter_servers *s)
{
	uint64_t hash = s->cnt;
	size_t i;

	for (i = 0; i < s->cnt; i++) {
		const struct delivery_exporter *e = &s->exporters[i];
		const struct sender_server *v = &e->server;
		const char *const texts[] = { e->name, v->url, v->headers, v->user, v->password,
					      v->bearer, v->proxy, v->ca, v->certificate, v->key };
		const uint64_t numbers[] = { e->timeout_ms, e->transfers, e->pause_ns,
					     e->pause_max_ns, v->insecure, v->grpc,
					     v->stall_ms };
		size_t t;

		for (t = 0; t < ARRAY_SIZE(texts); t++)
			hash = mix_text(hash, texts[t]);
		hash = hash_mix(hash, numbers, sizeof(numbers));
	}
	return hash;
}

static int add_otlp(struct exporter_servers *s, const struct agent_config *c,
		    const struct agent_otlp *otlp)
{
	int err = add_server(s, otlp->name, c, &otlp->http, agent_config_otlp_url(otlp), "");

	s->exporters[s->cnt - 1].server.grpc = otlp->protocol == AGENT_GRPC;
	return err;
}

int exporter_servers_make(const struct agent_config *c, struct exporter_servers *out)
{
	const struct agent_pyroscope *pyroscope = &c->exporters.pyroscope;
	const struct agent_otlp *otlp;
	size_t i;
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (i = 0; !err && (otlp = agent_config_otlp(c, i)); i++)
		err = add_otlp(out, c, otlp);
	if (!err && *pyroscope->url)
		err = add_server(out, EXPORTER_PYROSCOPE, c, &pyroscope->http,
				 strdup(pyroscope->url), pyroscope->tenant_id);
	if (!err && !out->cnt)
		out->exporters[out->cnt++].name = EXPORTER_OTLP;
	out->hash = hash_of(out);
	return err;
}

void exporter_servers_free(struct exporter_servers *s)
{
	while (s->text_cnt)
		wipe_text(&s->texts[--s->text_cnt]);
	s->cnt = 0;
}
