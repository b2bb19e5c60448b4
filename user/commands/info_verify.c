// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * info_verify.c - tachbpf info --verify: checks every byte of a file.
 */
#include "commands/info_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"
#include "formats/readers.h"
#include "formats/tach/tach_profile.h"
#include "formats/tach/tach_reader.h"

static const char *const checksums[] = {
	[TACH_CHECKSUM_NONE] = "none", [TACH_CHECKSUM_RIGHT] = "right",
	[TACH_CHECKSUM_WRONG] = "wrong", [TACH_CHECKSUM_UNKNOWN] = "unknown",
};

struct verdict {
	uint64_t samples;
	enum tach_checksum checksum;
	char why[256];		/* "": intact */
};

static int count_sample(void *ctx, const struct event *ev)
{
	struct verdict *v = ctx;

	v->samples = add_capped(v->samples, ev->weight);
	return 0;
}

/* Readers accept names that are not UTF-8; here they are an error. */
static void verify_strings(const struct profile_tables *t, struct verdict *v)
{
	uint32_t i, cp;
	size_t at, n;

	for (i = 0; i < t->string_cnt; i++) {
		for (at = 0; at < t->strings[i].len; at += n) {
			n = utf8_char(t->strings[i].data + at, t->strings[i].len - at, &cp);
			if (!n) {
				snprintf(v->why, sizeof(v->why),
					 "damaged: string %u is not valid UTF-8 at "
					 "byte %zu", i, at);
				return;
			}
		}
	}
}

static int verify_reader(struct reader *r, struct verdict *v)
{
	struct tach_reader *tach = reader_as_tach(r);
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < reader_profile_cnt(r); i++) {
		reader_select(r, i);
		err = reader_run(r, count_sample, v, v->why, sizeof(v->why));
	}
	if (err && err != -EBADMSG)
		return err;
	v->checksum = tach ? tach_reader_checksum(tach) : TACH_CHECKSUM_NONE;
	if (v->checksum == TACH_CHECKSUM_UNKNOWN)
		return -ENOMEM;
	if (!*v->why)
		verify_strings(reader_tables(r), v);
	if (!*v->why && v->checksum == TACH_CHECKSUM_WRONG)
		snprintf(v->why, sizeof(v->why),
			 "damaged: its checksum does not match its contents");
	return 0;
}

static void json_verdict(struct json *j, const struct profile_file *file, const struct verdict *v)
{
	json_object(j, NULL);
	json_string(j, "path", file->path);
	json_bool(j, "sound", !*v->why);
	json_uint(j, "samples", v->samples);
	json_string(j, "checksum", v->checksum == TACH_CHECKSUM_UNKNOWN ? NULL :
							       checksums[v->checksum]);
	json_string(j, "defect", *v->why ? v->why : NULL);
	json_object_end(j);
}

static int verify_file(struct profile_set *set, struct json *j, const struct profile_file *file)
{
	struct verdict v = { .checksum = TACH_CHECKSUM_UNKNOWN };
	struct reader *r = reader_open(file->path, &set->reader_args, v.why, sizeof(v.why));
	char shown[2 * sizeof(v.why)];
	int err = 0;

	if (r)
		err = verify_reader(r, &v);
	else if (!*v.why)
		snprintf(v.why, sizeof(v.why), "%s", strerror(errno));
	reader_free(r);
	if (err)
		return err;
	if (j)
		json_verdict(j, file, &v);
	else if (!*v.why)
		printf("%s: sound: %" PRIu64 " %s, %s\n", file->shown, v.samples,
		       text_plural(v.samples, "sample", "samples"),
		       v.checksum == TACH_CHECKSUM_NONE ? "no checksum" : "checksum right");
	if (*v.why) {
		log_error("'%s': %s", file->shown,
			  escape_text(v.why, strlen(v.why), shown, sizeof(shown)));
		set->failed = true;
	}
	return 0;
}

int info_verify(struct profile_set *set, bool as_json)
{
	struct json j;
	size_t i;
	int err = 0;

	if (as_json) {
		json_start(&j, stdout, true);
		json_object(&j, NULL);
		json_array(&j, "files");
	}
	for (i = 0; !err && i < set->file_cnt; i++)
		err = verify_file(set, as_json ? &j : NULL, &set->files[i]);
	if (as_json) {
		json_array_end(&j);
		json_object_end(&j);
	}
	return err;
}
