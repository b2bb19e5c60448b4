// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * transfer.c - see transfer.h.
 *
 * The status decides, whatever happens to the rest of the answer: after "200" we know that the
 * server has the request, even if its body never ends. No answer is decompressed (we request no
 * encoding), no redirection followed, no cookie kept.
 */
#include "delivery/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "delivery/grpc.h"
#include "delivery/otlp_reply.h"

#define PYROSCOPE_PATH "/push.v1.PusherService/Push"
#define CONNECT_MS 10000
#define STALL_MS 10000
/* Fewer bytes per second count as no progress. */
#define STALL_BYTES 64

struct transfer {
	CURL *easy;
	struct curl_slist *headers;
	uint64_t job, offset, length;
	uint64_t at;		/* of the prefix and the payload */
	enum request_path path;
	int fd;
	bool grpc;
	struct grpc_status status;		/* of gRPC */
	uint8_t prefix[GRPC_PREFIX_BYTES];	/* before the payload, with gRPC */
	uint32_t prefix_bytes;
	size_t header_bytes, body_len;
	uint8_t body[TRANSFER_BODY_MAX];
};

/* ---- libcurl's callbacks ---- */

static size_t read_payload(char *out, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;
	uint64_t left = t->prefix_bytes + t->length - t->at;
	size_t want = size * cnt < left ? size * cnt : left;
	ssize_t n;

	if (t->at < t->prefix_bytes && want) {
		out[0] = (char)t->prefix[t->at++];
		return 1;
	}
	n = want ? pread(t->fd, out, want, (off_t)(t->offset + t->at - t->prefix_bytes)) : 0;
	if (n < 0 || (want && !n))
		return CURL_READFUNC_ABORT;
	t->at += (uint64_t)n;
	return (size_t)n;
}

/* A kept connection was closed meanwhile: libcurl begins again on a new one. */
static int seek_payload(void *ctx, curl_off_t off, int origin)
{
	struct transfer *t = ctx;

	if (origin != SEEK_SET || off < 0 || (uint64_t)off > t->prefix_bytes + t->length)
		return CURL_SEEKFUNC_FAIL;
	t->at = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

/* Returning less than all of it makes libcurl end the transfer. */
static size_t take_body(char *data, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * cnt, room = sizeof(t->body) - t->body_len;
	size_t take = len < room ? len : room;

	memcpy(t->body + t->body_len, data, take);
	t->body_len += take;
	return take;
}

static size_t take_header(char *data, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * cnt;

	t->header_bytes += len;
	if (t->grpc)
		grpc_take_header(&t->status, data, len);
	return t->header_bytes > TRANSFER_HEADERS_MAX ? 0 : len;
}

/* ---- the request ---- */

static bool add_header(struct transfer *t, const char *line)
{
	struct curl_slist *more = curl_slist_append(t->headers, line);

	if (more)
		t->headers = more;
	return more;
}

static bool add_named(struct transfer *t, const char *name, const char *value)
{
	char *line = NULL;
	bool ok;

	if (!value || !*value)
		return true;
	ok = asprintf(&line, "%s: %s", name, value) >= 0 && add_header(t, line);
	free(line);
	return ok;
}

/* Adds the user's own headers, one per line. */
static bool add_lines(struct transfer *t, const char *lines)
{
	bool ok = true;
	char *line;
	size_t len;

	for (; ok && lines && *lines; lines += len + !!lines[len]) {
		len = strcspn(lines, "\n");
		line = strndup(lines, len);
		ok = line && (!len || add_header(t, line));
		free(line);
	}
	return ok;
}

static bool make_headers(struct transfer *t, const struct sender_server *s,
			 const struct request_info *info)
{
	const char *encoding = t->grpc ? "grpc-encoding" : "Content-Encoding";
	char *token = NULL;
	bool ok;

	if (s->bearer && asprintf(&token, "Bearer %s", s->bearer) < 0)
		return false;
	ok = add_header(t, "Expect:") && add_header(t, "Accept:") &&
	     add_named(t, "Content-Type", t->grpc ? "application/grpc" : info->content_type) &&
	     add_named(t, encoding, info->encoding) &&
	     add_named(t, "TE", t->grpc ? "trailers" : NULL) &&
	     add_named(t, "Authorization", token) && add_lines(t, s->headers);
	free(token);
	return ok;
}

static CURLcode set_url(struct transfer *t, const struct sender_server *s)
{
	bool pyroscope = t->path == REQUEST_PYROSCOPE;
	size_t len = strlen(s->url);
	char *url = NULL;
	CURLcode code;

	while (pyroscope && len && s->url[len - 1] == '/')
		len--;
	if (asprintf(&url, "%.*s%s", (int)len, s->url, pyroscope ? PYROSCOPE_PATH : "") < 0)
		return CURLE_OUT_OF_MEMORY;
	code = curl_easy_setopt(t->easy, CURLOPT_URL, url);
	free(url);
	return code;
}

static CURLcode set_blob(CURL *easy, CURLoption option, const char *pem)
{
	struct curl_blob blob = { .data = (void *)pem, .len = pem ? strlen(pem) : 0,
				  .flags = CURL_BLOB_NOCOPY };

	return pem ? curl_easy_setopt(easy, option, &blob) : CURLE_OK;
}

/* An option that older versions of libcurl lack does no harm if it is not set. */
static void set_tls(CURL *easy, const struct sender_server *s, CURLcode *code)
{
	*code |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	*code |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, s->insecure ? 0L : 1L);
	*code |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, s->insecure ? 0L : 2L);
	*code |= set_blob(easy, CURLOPT_CAINFO_BLOB, s->ca);
	if (s->ca)
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	*code |= set_blob(easy, CURLOPT_SSLCERT_BLOB, s->certificate);
	*code |= set_blob(easy, CURLOPT_SSLKEY_BLOB, s->key);
}

/* gRPC wants HTTP/2: by TLS's agreement, or known before. */
static long http_version(const struct sender_server *s)
{
	if (!s->grpc)
		return CURL_HTTP_VERSION_1_1;
	return strncasecmp(s->url, "https:", 6) ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE :
						  CURL_HTTP_VERSION_2TLS;
}

/*
 * gRPC has a connection for each request: libcurl 7.88.1 (Debian 12) cannot send another one on a
 * connection of HTTP/2 that was known before, "Error in the HTTP2 framing layer".
 */
static void set_connection(CURL *easy, const struct sender_server *s, CURLcode *code)
{
	*code |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, http_version(s));
	*code |= curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)s->grpc);
	*code |= curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, (long)s->grpc);
}

static void set_bounds(CURL *easy, const struct sender_server *s, uint32_t timeout_ms,
		       CURLcode *code)
{
	uint32_t stall_ms = s->stall_ms ? s->stall_ms : STALL_MS;
	uint32_t connect_ms = timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS;

	*code |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	*code |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	*code |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES);
	*code |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)(stall_ms + 999) / 1000);
	*code |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	*code |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
	*code |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	*code |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
				  (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	/* A name server that does not answer blocks only its own thread. */
	*code |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

static void set_callbacks(struct transfer *t, CURLcode *code)
{
	CURL *easy = t->easy;

	*code |= curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
	*code |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
	*code |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				  (curl_off_t)(t->prefix_bytes + t->length));
	*code |= curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_payload);
	*code |= curl_easy_setopt(easy, CURLOPT_READDATA, t);
	*code |= curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_payload);
	*code |= curl_easy_setopt(easy, CURLOPT_SEEKDATA, t);
	*code |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	*code |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	*code |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	*code |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	*code |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	*code |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "tachbpf-agent/" TACHBPF_VERSION);
}

static bool set_up(struct transfer *t, const struct sender_server *s,
		   const struct sender_message *m)
{
	CURLcode code = CURLE_OK;

	t->easy = curl_easy_init();
	if (!t->easy || !make_headers(t, s, &m->info))
		return false;
	set_callbacks(t, &code);
	set_bounds(t->easy, s, m->timeout_ms, &code);
	set_connection(t->easy, s, &code);
	set_tls(t->easy, s, &code);
	if (s->user) {
		code |= curl_easy_setopt(t->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		code |= curl_easy_setopt(t->easy, CURLOPT_USERNAME, s->user);
		code |= curl_easy_setopt(t->easy, CURLOPT_PASSWORD, s->password ? s->password : "");
	}
	if (s->proxy)
		code |= curl_easy_setopt(t->easy, CURLOPT_PROXY, s->proxy);
	code |= set_url(t, s);
	return code == CURLE_OK;
}

struct transfer *transfer_new(const struct sender_server *server, const struct sender_message *m,
			      int fd)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t) {
		close(fd);
		return NULL;
	}
	t->fd = fd;
	t->job = m->job;
	t->offset = m->offset;
	t->length = m->length;
	t->path = (enum request_path)m->info.path;
	t->grpc = server->grpc && t->path == REQUEST_OTLP;
	if (t->grpc) {
		t->prefix_bytes = GRPC_PREFIX_BYTES;
		grpc_prefix(t->prefix, m->info.encoding[0], (uint32_t)m->length);
	}
	if (set_up(t, server, m))
		return t;
	transfer_free(t);
	return NULL;
}

void transfer_free(struct transfer *t)
{
	if (!t)
		return;
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	close(t->fd);
	free(t);
}

CURL *transfer_easy(struct transfer *t)
{
	return t->easy;
}

/* ---- the answer ---- */

/*
 * What a status means; for tests. Only 400 is about this request for ever. OTLP would have us drop
 * all but 429, 502, 503 and 504, but a Pyroscope that is not ready answers 500.
 */
static enum send_result transfer_judge(uint32_t status)
{
	if (status >= 200 && status < 300)
		return SEND_DONE;
	if (status / 100 == 3)
		return SEND_DENIED;
	switch (status) {
	case 400:
		return SEND_DROP;
	case 401:
	case 403:
	case 404:
	case 405:
		return SEND_DENIED;
	case 413:
		return SEND_TOO_LARGE;
	default:
		return SEND_RETRY;
	}
}

static enum send_cause cause_of(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return CAUSE_DNS;
	case CURLE_COULDNT_CONNECT:
		return CAUSE_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return CAUSE_TLS;
	case CURLE_OPERATION_TIMEDOUT:
		return CAUSE_TIMEOUT;
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
		return CAUSE_CLOSED;
	default:
		return CAUSE_OTHER;
	}
}

static void put_text(struct sender_answer *out, const void *text, size_t len)
{
	escape_text(text, len, out->text, sizeof(out->text));
}

/* Reads the server's message in its answer's body. */
static void read_body(const struct transfer *t, struct sender_answer *out)
{
	struct otlp_reply reply = { 0 };
	const uint8_t *body = t->body;
	size_t len = t->body_len;
	int err = -1;

	if (t->grpc && !grpc_message(body, len, &body, &len))
		len = 0;
	if (t->path == REQUEST_OTLP)
		err = out->result == SEND_DONE ? otlp_reply_success(body, len, &reply) :
						 otlp_reply_error(body, len, &reply);
	out->rejected = (uint64_t)reply.rejected;
	if (!err && reply.text)
		put_text(out, reply.text, reply.text_len);
	else if (out->result != SEND_DONE)
		put_text(out, t->body, t->body_len);
}

/* gRPC says 200 whatever happens; its own status is in the trailers. */
static void read_grpc(struct transfer *t, struct sender_answer *out)
{
	const struct grpc_status *s = &t->status;
	char text[GRPC_TEXT_BYTES + 32];
	int len;

	out->result = grpc_judge(s);
	out->cause = out->result == SEND_DONE ? CAUSE_NONE : CAUSE_STATUS;
	if (out->result == SEND_DONE) {
		read_body(t, out);
		return;
	}
	out->retry_after_ms = send_is_kept(out->result) ? s->retry_after_ms : 0;
	len = snprintf(text, sizeof(text), "%s: %s",
		       s->known ? grpc_code_name(s->code) : "it does not speak gRPC", s->text);
	put_text(out, text, (size_t)len);
}

static uint32_t retry_after_ms(CURL *easy)
{
	curl_off_t seconds = 0;

	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
	if (seconds <= 0)
		return 0;
	return seconds < SENDER_RETRY_AFTER_MAX_MS / 1000 ? (uint32_t)seconds * 1000 :
							     SENDER_RETRY_AFTER_MAX_MS;
}

void transfer_answer(struct transfer *t, CURLcode code, struct sender_answer *out)
{
	const char *why = curl_easy_strerror(code);
	curl_off_t sent = 0;
	long status = 0;

	memset(out, 0, sizeof(*out));
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	out->job = t->job;
	out->sent_bytes = (uint64_t)sent;
	out->sent_bytes -= out->sent_bytes < t->prefix_bytes ? out->sent_bytes : t->prefix_bytes;
	out->status = status >= 200 && status < 1000 ? (uint32_t)status : 0;
	if (t->grpc && out->status == 200 && (t->status.known || code == CURLE_OK)) {
		read_grpc(t, out);
		return;
	}
	if (t->grpc && out->status == 200)	/* it ended before its trailers */
		out->status = 0;
	if (out->status) {
		out->result = transfer_judge(out->status);
		out->cause = out->result == SEND_DONE ? CAUSE_NONE : CAUSE_STATUS;
		out->retry_after_ms = send_is_kept(out->result) ? retry_after_ms(t->easy) : 0;
		read_body(t, out);
		return;
	}
	out->result = SEND_RETRY;
	out->cause = code == CURLE_OK ? CAUSE_CLOSED : cause_of(code);
	put_text(out, why, strlen(why));
}
