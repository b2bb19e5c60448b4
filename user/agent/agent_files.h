/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_files.h - the exporters that write files, as the agent drives them: TACH recordings
 * (tach_exporter.h) and pprof files (pprof_exporter.h). Either is off without a directory.
 */
#ifndef TACHBPF_AGENT_FILES_H
#define TACHBPF_AGENT_FILES_H

#include "agent/agent_windows.h"
#include "agent/pprof_exporter.h"
#include "agent/tach_exporter.h"

struct agent_config;
struct agent_files;

struct agent_files_args {
	const struct agent_config *config;
	const struct record_mode_def *mode;	/* outlives the files */
	/* As in struct tach_exporter_args. */
	void (*counts)(void *ctx, struct capture_counts *out);
	void *ctx;
};

/* Returns 0, or -errno after logging. */
int agent_files_new(struct agent_files **out, const struct agent_files_args *args);
/* Finishes what is being written. f may be NULL. */
void agent_files_free(struct agent_files *f);

/*
 * Applies a reload. Returns 0, or -errno after logging: the old configuration is in force, or part
 * of the new one (pprof), and the caller sets the old one again.
 */
int agent_files_set(struct agent_files *f, const struct agent_config *c);

/* Returns the viewer of the capture's events. */
struct agent_viewer agent_files_viewer(struct agent_files *f);

/*
 * Writes a finished window. config: of the services, whose attributes become comments. Errors are
 * counted and logged.
 */
void agent_files_window(struct agent_files *f, const struct window *w,
			const struct agent_services *services, const struct service_config *config,
			uint64_t period_ns);

/* Returns the path of the recording being written, or NULL. Valid until the next call. */
const char *agent_files_path(const struct agent_files *f);

void agent_files_stats(const struct agent_files *f, struct tach_exporter_stats *tach,
		       struct pprof_exporter_stats *pprof);

#endif
