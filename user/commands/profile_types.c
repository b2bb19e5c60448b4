// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_types.c - see profile_types.h. */
#include "commands/profile_types.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/profile_set.h"
#include "formats/readers.h"

#define WHY_BYTES 256

bool profile_name_is_typed(const char *name)
{
	return ends_with(name, ".pb.gz") || ends_with(name, ".otlp");
}

int profile_types_choose(struct profile_set *set)
{
	char why[WHY_BYTES];
	const char *type;
	struct reader *r;
	size_t i;

	for (i = 0; i < set->file_cnt && !profile_name_is_typed(set->files[i].name); i++)
		;
	if (set->reader_args.type || set->file_cnt < 2 || i == set->file_cnt)
		return 0;
	r = reader_open(set->files[i].path, &set->reader_args, why, sizeof(why));
	if (!r)
		return 0;	/* profile_set_each() says why */
	type = reader_info(r)->meta.type;
	set->type = type ? strdup(type) : NULL;
	set->reader_args.type = set->type;
	set->reader_args.type_optional = true;
	reader_free(r);
	return type && !set->type ? -ENOMEM : 0;
}

void profile_types_report(struct profile_set *set)
{
	char shown[WHY_BYTES];
	const char *type = set->reader_args.type;

	if (!set->other_types)
		return;
	escape_text(type, strlen(type), shown, sizeof(shown));
	if (!set->visited && !set->skipped) {
		log_error("no file has the sample type '%s': tachbpf info lists a file's types",
			  shown);
		set->failed = true;
	} else if (set->type) {
		log_info("%zu %s other sample types than %s and %s left out: --value TYPE "
			 "chooses one",
			 set->other_types,
			 text_plural(set->other_types, "file has", "files have"), shown,
			 text_plural(set->other_types, "is", "are"));
	}
}
