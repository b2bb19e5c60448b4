// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* html_page.c - see html_page.h. Here a page is just bytes with a placeholder in them. */
#include "formats/html/html_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/json.h"
#include "model/held_series.h"
#include "model/profile_names.h"
#include "model/sink.h"
#include "model/thread_names.h"

#define MARK "@DATA@"
/* A multiple of three, because base64 converts groups of three bytes. */
#define DEFLATE_BYTES (3 * 16 * 1024)
#define DEFLATE_LEVEL 6

void html_varint(struct html_data *d, uint64_t v)
{
	if (!d->err)
		d->err = buf_reserve(&d->b, VARINT_MAX);
	if (!d->err)
		d->b.len = varint_put(d->b.data + d->b.len, v) - d->b.data;
}

void html_svarint(struct html_data *d, int64_t v)
{
	if (!d->err)
		d->err = buf_reserve(&d->b, VARINT_MAX);
	if (!d->err)
		d->b.len = svarint_put(d->b.data + d->b.len, v) - d->b.data;
}

void html_bytes(struct html_data *d, const void *data, size_t len)
{
	html_varint(d, len);
	if (!d->err && len)
		d->err = buf_add(&d->b, data, len);
}

/* Appends s as printable text. Returns its length. */
static size_t add_text(struct html_data *d, struct buf *b, const struct string_ref *s)
{
	/* escape_text() makes at most four bytes of each byte, and adds a NUL. */
	size_t len, room = (size_t)s->len * 4 + 1;

	if (!d->err)
		d->err = buf_reserve(b, room);
	if (d->err)
		return 0;
	escape_text(s->data, s->len, (char *)b->data + b->len, room);
	len = strlen((char *)b->data + b->len);
	b->len += len;
	return len;
}

void html_strings(struct html_data *d, const struct profile_tables *tables)
{
	struct buf text = { 0 };
	uint32_t i;

	html_varint(d, tables->string_cnt);
	for (i = 0; i < tables->string_cnt; i++)
		html_varint(d, add_text(d, &text, &tables->strings[i]));
	html_bytes(d, text.data, text.len);
	buf_free(&text);
}

void html_json(struct html_data *d, int (*put)(struct json *j, const void *ctx),
	       const void *ctx)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = d->err ? NULL : open_memstream(&text, &len);
	struct json j;

	if (!f) {
		d->err = d->err ? d->err : -ENOMEM;
		return;
	}
	json_start(&j, f, false);
	json_object(&j, NULL);
	d->err = put(&j, ctx);
	json_object_end(&j);
	if (fclose(f) && !d->err)
		d->err = -ENOMEM;
	html_bytes(d, text, len);
	free(text);
}

int html_json_text(struct json *j, const char *key, const char *s)
{
	struct html_data text = { 0 };
	struct string_ref ref = { s, s ? strnlen(s, UINT32_MAX) : 0 };

	if (s)
		add_text(&text, &text.b, &ref);
	if (!text.err && s)
		json_string_n(j, key, (char *)text.b.data, text.b.len);
	else if (!text.err)
		json_null(j, key);
	buf_free(&text.b);
	return text.err;
}

static void put_stats(struct json *j, const struct profile_stats *s)
{
	if (!s->known)
		return;
	json_double(j, "duration_s", s->duration_s);
	json_double(j, "rate_hz", s->sample_rate);
	if (s->error_known)
		json_double(j, "error_pct", s->error_pct);
	if (s->missed_known)
		json_double(j, "missed_pct", s->missed_pct);
}

static int put_thread_names(struct json *j, const struct thread_names *names)
{
	size_t i, cnt;
	const struct thread_name *list = thread_names_list(names, &cnt);
	char tid[24];
	int err = 0;

	if (!cnt)
		return 0;
	json_object(j, "thread_names");
	for (i = 0; !err && i < cnt; i++) {
		snprintf(tid, sizeof(tid), "%llu", (unsigned long long)list[i].tid);
		if (*list[i].name)
			err = html_json_text(j, tid, list[i].name);
	}
	json_object_end(j);
	return err;
}

static void put_held(struct json *j, const struct held_series *s)
{
	uint32_t i;

	if (!s)
		return;
	json_object(j, "held");
	json_uint(j, "start_us", s->start_us);
	json_uint(j, "width_us", s->width_us);
	json_uint(j, "check_us", s->check_us);
	json_uint(j, "pages", s->pages);
	json_uint(j, "own", s->own);
	json_uint(j, "gone", s->gone);
	json_array(j, "bytes");
	for (i = 0; i < s->cnt; i++)
		json_uint(j, NULL, s->most[i]);
	json_array_end(j);
	json_object_end(j);
}

static int put_process(struct json *j, const struct html_process *p)
{
	const struct profile_meta *m = &p->meta;
	char python[16];
	int err;

	json_object(j, NULL);
	json_uint(j, "pid", m->tgid);
	err = html_json_text(j, "comm", m->comm);
	if (!err && m->program)
		err = html_json_text(j, "program", m->program);
	if (!err && m->container)
		err = html_json_text(j, "container", m->container);
	if (!err && m->image)
		err = html_json_text(j, "image", m->image);
	if (!err)
		err = put_thread_names(j, m->thread_names);
	snprintf(python, sizeof(python), "%u.%u.%u", m->python_major, m->python_minor,
		 m->python_micro);
	json_string(j, "python", m->python_major ? python : NULL);
	json_string(j, "mode", m->event ? m->event :
			       profile_mode_known(m->mode) ? profile_mode_name(m->mode) : NULL);
	json_string(j, "unit", profile_unit_name(m->unit));
	json_uint(j, "interval_us", m->interval_us);
	if (m->held_apart)
		json_bool(j, "held_apart", true);
	put_held(j, m->held);
	if (m->features_known)
		json_uint(j, "features", m->features);
	json_uint(j, "side", p->side);
	put_stats(j, &p->stats);
	json_object_end(j);
	return err;
}

int html_json_processes(struct json *j, const struct html_processes *ps)
{
	size_t i;
	int err = 0;

	json_array(j, "processes");
	for (i = 0; !err && i < ps->cnt; i++)
		err = put_process(j, &ps->list[i]);
	json_array_end(j);
	return err;
}

int html_processes_add(struct html_processes *ps, const struct profile_meta *meta,
		       const struct profile_stats *stats, uint32_t side)
{
	struct html_process *list = array_grow(ps->list, ps->cnt, &ps->cap, sizeof(*list)), *p;

	if (!list)
		return -ENOMEM;
	ps->list = list;
	p = &list[ps->cnt];
	memset(p, 0, sizeof(*p));
	p->side = side;
	if (stats)
		p->stats = *stats;
	if (!sink_meta_copy(&p->meta, meta))
		return -ENOMEM;
	ps->cnt++;
	return 0;
}

int html_processes_join(struct html_processes *ps, struct html_processes *src)
{
	struct html_process *list = ps->list;
	size_t i;

	for (i = 0; i < src->cnt; i++) {
		list = array_grow(list, ps->cnt + i, &ps->cap, sizeof(*list));
		if (!list)
			return -ENOMEM;
		ps->list = list;
		list[ps->cnt + i] = src->list[i];
	}
	ps->cnt += src->cnt;
	src->cnt = 0;
	return 0;
}

void html_processes_free(struct html_processes *ps)
{
	size_t i;

	for (i = 0; i < ps->cnt; i++)
		sink_meta_free(&ps->list[i].meta);
	free(ps->list);
	memset(ps, 0, sizeof(*ps));
}

/*
 * Converts to base64. len must be a multiple of three except at the end. Returns the length of the
 * output.
 */
static size_t base64_encode(const uint8_t *in, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *p = out;
	size_t i;

	for (i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)in[i] << 16;

		if (i + 1 < len)
			v |= (uint32_t)in[i + 1] << 8;
		if (i + 2 < len)
			v |= in[i + 2];
		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*p++ = i + 2 < len ? digits[v & 63] : '=';
	}
	return p - out;
}

/* Writes data, compressed by zlib, as base64. */
static int write_compressed(int fd, const struct buf *data)
{
	struct { uint8_t packed[DEFLATE_BYTES]; char text[DEFLATE_BYTES / 3 * 4]; } *out;
	z_stream z = { 0 };
	size_t left = data->len;
	int err = -ENOMEM, state;

	out = malloc(sizeof(*out));
	if (!out || deflateInit(&z, DEFLATE_LEVEL) != Z_OK)
		goto out;
	z.next_in = data->data;
	do {
		z.next_out = out->packed;
		z.avail_out = sizeof(out->packed);
		do {
			if (!z.avail_in) {
				z.avail_in = left < UINT32_MAX ? left : UINT32_MAX;
				left -= z.avail_in;
			}
			state = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		} while (state == Z_OK && z.avail_out);
		err = write_all(fd, out->text, base64_encode(out->packed,
							     sizeof(out->packed) - z.avail_out,
							     out->text));
	} while (!err && state == Z_OK);
	if (!err && state != Z_STREAM_END)
		err = -EIO;	/* zlib's state is damaged */
	deflateEnd(&z);
out:
	free(out);
	return err;
}

int html_write(int fd, const struct html_page *page, struct html_data *d)
{
	const char *mark = memmem(page->start, page->end - page->start, MARK, strlen(MARK));
	int err = d->err;

	if (!err && !mark)
		err = -EINVAL;	/* cannot happen: tools/html_page.sh refuses to build it */
	if (!err)
		err = write_all(fd, page->start, mark - page->start);
	if (!err)
		err = write_compressed(fd, &d->b);
	if (!err)
		err = write_all(fd, mark + strlen(MARK), page->end - mark - strlen(MARK));
	buf_free(&d->b);
	return err;
}
