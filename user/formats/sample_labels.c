// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sample_labels.c - see sample_labels.h. */
#include "formats/sample_labels.h"

#include <errno.h>

#include "model/profile_names.h"

/* A number, also if it is a text, as some write pids. */
static bool read_number(struct string_ref text, uint64_t number, uint64_t *v)
{
	uint32_t i;

	*v = text.len ? 0 : number;
	for (i = 0; i < text.len; i++) {
		if (text.len > 18 || text.data[i] < '0' || text.data[i] > '9')
			return false;
		*v = *v * 10 + (uint64_t)(text.data[i] - '0');
	}
	return true;
}

/* "gil+on-cpu" */
static uint8_t parse_status(struct string_ref text)
{
	const char *at = text.data, *end = text.data + text.len, *plus;
	uint8_t status = 0, bit;

	for (; at < end; at = plus + 1) {
		plus = memchr(at, '+', (size_t)(end - at));
		plus = plus ? plus : end;
		if (profile_status_parse(at, (size_t)(plus - at), &bit))
			status |= bit;
	}
	return status;
}

enum label { PID, TID, THREAD, COMM, CONTAINER, CONTAINER_ID, IMAGE, STATUS, OTHER };

static const struct {
	const char *key;
	enum label label;
} keys[] = {
	{ "pid", PID }, { "process_id", PID }, { "process.pid", PID },
	{ "tid", TID }, { "thread_id", TID }, { "thread id", TID }, { "thread.id", TID },
	{ "thread", THREAD }, { "thread_name", THREAD }, { "thread.name", THREAD },
	{ "comm", COMM }, { "process", COMM }, { "process_name", COMM },
	{ "process.executable.name", COMM },
	{ "container", CONTAINER }, { "container.name", CONTAINER },
	{ "container.id", CONTAINER_ID },
	{ "image", IMAGE }, { "container.image.name", IMAGE },
	{ "status", STATUS },
};

static enum label label_of(struct string_ref key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (ref_is(key, keys[i].key))
			return keys[i].label;
	}
	return OTHER;
}

/* Where the text of a label goes; NULL: nowhere. */
static const char **text_place(struct sample_labels *l, enum label label, struct string_ref key)
{
	enum service_part part;

	switch (label) {
	case THREAD:
		return &l->thread.name;
	case COMM:
		return &l->of.comm;
	case CONTAINER:
		return &l->of.container;
	case CONTAINER_ID:	/* a name counts more */
		return l->of.container ? NULL : &l->of.container;
	case IMAGE:
		return &l->of.image;
	default:
		if (ref_is(key, "service_name"))
			return &l->of.service.part[SERVICE_NAME];
		return service_part_find(key.data, key.len, &part) ? &l->of.service.part[part] :
								      NULL;
	}
}

int sample_labels_take(struct sample_store *s, struct string_ref key, struct string_ref text,
		       uint64_t number, struct sample_labels *l)
{
	enum label label = label_of(key);
	const char **place;
	uint64_t id;

	if (label == PID) {
		if (read_number(text, number, &id) && id <= UINT32_MAX)
			l->of.tgid = (uint32_t)id;
		return 0;
	}
	if (label == TID) {
		l->thread.known = read_number(text, number, &l->thread.id);
		return 0;
	}
	if (label == STATUS) {
		l->status = parse_status(text);
		return 0;
	}
	place = text.len ? text_place(l, label, key) : NULL;
	if (place)
		*place = sample_store_text(s, text.data, text.len);
	return place && !*place ? -ENOMEM : 0;
}
