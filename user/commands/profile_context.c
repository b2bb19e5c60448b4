// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_context.c - what session.json and FILE.json say of a file. See profile_set.h. */
#include <stdio.h>

#include "base/arith.h"
#include "commands/profile_set.h"

const char *profile_file_losses_of(const struct profile_file *file)
{
	return file->beside ? NULL : file->name;
}

enum profile_mode profile_file_mode(const struct profile_file *file, enum profile_mode mode)
{
	return mode == MODE_WALL && file->session && session_json_is_offcpu(file->session) ?
		       MODE_OFFCPU : mode;
}

static void add_loss(void *ctx, const char *cause, uint64_t cnt)
{
	struct profile_stats *stats = ctx;

	stats->lost_known = true;
	stats->lost_cnt = add_capped(stats->lost_cnt, cnt);
}

void profile_file_context(const struct profile_file *file, struct profile_meta *meta,
			  struct profile_stats *stats, char platform[PROFILE_PLATFORM_BYTES])
{
	const char *kernel;

	meta->tgid = file->process.tgid;
	meta->comm = file->process.comm;
	meta->container = file->process.container;
	meta->image = file->process.image;
	if (file->process.thread_names)
		meta->thread_names = file->process.thread_names;
	if (!file->session)
		return;
	meta->mode = profile_file_mode(file, meta->mode);
	meta->event = session_json_event(file->session);
	kernel = session_json_kernel(file->session);
	snprintf(platform, PROFILE_PLATFORM_BYTES, "Linux %s", kernel ? kernel : "");
	meta->platform = kernel ? platform : NULL;
	if (!meta->start_utc_ns)
		meta->start_utc_ns = session_json_utc_ns(file->session, meta->start_us);
	if (stats)
		session_json_losses(file->session, profile_file_losses_of(file), add_loss, stats);
}
