// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* regions_write.c - the regions of a recording that is made from others. See regions_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/writer.h"
#include "recording/regions_file.h"

static int start(struct regions_out *o)
{
	char path[PATH_MAX];
	int err = regions_path(o->recording, path) ? output_open(&o->file, path) : -ENAMETOOLONG;

	if (err)
		return err;
	o->w = writer_new(o->file.fd, REGIONS_FILE_BYTES);
	if (!o->w) {
		output_abort(&o->file);
		return -ENOMEM;
	}
	writer_text(o->w, "{\"version\":1,\"regions\":[");
	return 0;
}

static void put_attribute(struct writer *w, const struct region_attribute *a)
{
	json_string_in(w, a->name);
	writer_char(w, ':');
	if (a->is_text)
		json_string_in(w, a->value);
	else
		writer_put(w, a->value.data, a->value.len);
}

static void put_region(struct writer *w, const struct profile_region *r)
{
	const uint64_t numbers[] = { r->thread_id, r->begin_ns, r->end_ns };
	size_t i;

	writer_char(w, '[');
	json_string_in(w, r->name);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		writer_char(w, ',');
		writer_uint(w, numbers[i]);
	}
	writer_text(w, ",{");
	for (i = 0; i < r->attribute_cnt; i++) {
		writer_text(w, i ? "," : "");
		put_attribute(w, &r->attributes[i]);
	}
	writer_text(w, "}]");
}

int regions_out_add(struct regions_out *o, const struct profile_region *region)
{
	int err = 0;

	if (o->cnt == REGIONS_MAX) {
		o->lost++;
		return 0;
	}
	if (!o->w)
		err = start(o);
	if (err)
		return err;
	writer_text(o->w, o->cnt ? ",\n" : "\n");
	put_region(o->w, region);
	if (!o->cnt || region->begin_ns < o->begin_ns)
		o->begin_ns = region->begin_ns;
	o->cnt++;
	return o->w->err;
}

void regions_remove(const char *recording)
{
	struct regions old;
	char path[PATH_MAX], why[128];

	if (!regions_path(recording, path) || regions_read(&old, AT_FDCWD, path, why, sizeof(why)))
		return;
	unlink(path);
	regions_free(&old);
}

int regions_out_end(struct regions_out *o, int err)
{
	int own_err;

	if (!err && !o->w)
		regions_remove(o->recording);
	if (!o->w)
		return err;
	writer_text(o->w, "\n],\"begin_ns\":");
	writer_uint(o->w, o->begin_ns);
	writer_text(o->w, ",\"lost\":");
	writer_uint(o->w, o->lost);
	writer_text(o->w, "}\n");
	own_err = writer_flush(o->w);
	free(o->w);
	o->w = NULL;
	if (!err && !own_err)
		return output_commit(&o->file);
	if (!err)
		log_error("cannot write %s: %s; the profile is complete without it", o->file.name,
			  strerror(-own_err));
	output_abort(&o->file);
	return err ? err : own_err;
}
