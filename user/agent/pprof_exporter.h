/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pprof_exporter.h - the exporter `pprof`: a directory with a gzipped pprof file for each service
 * and sample type of each window, DIR/SERVICE-TYPE-YYYYMMDDTHHMMSSZ.pb.gz. The time is the window's
 * begin in UTC; TYPE is window_kinds[].type; if two services have the same name, "~2" follows
 * SERVICE.
 *
 * All functions run in the agent's main process and thread. They write files, and wait for nothing
 * else.
 */
#ifndef TACHBPF_AGENT_PPROF_EXPORTER_H
#define TACHBPF_AGENT_PPROF_EXPORTER_H

#include <stddef.h>
#include <stdint.h>

struct pprof_exporter;
struct window;
struct window_comments;

struct pprof_exporter_args {
	const char *dir;	/* not ""; copied */
	uint32_t keep;		/* number of files; the oldest are removed */
};

/* Since pprof_exporter_new(). They only increase. */
struct pprof_exporter_stats {
	uint64_t files, bytes;	/* written */
	uint64_t errors;	/* files that could not be written */
	uint64_t removed;	/* old files */
};

/* NULL with errno: no memory, or the directory cannot be used (dated_dir.h), which was logged. */
struct pprof_exporter *pprof_exporter_new(const struct pprof_exporter_args *args);
void pprof_exporter_free(struct pprof_exporter *e);	/* NULL is allowed */

/* Applies a reload: another number of files. Another directory needs another exporter. */
void pprof_exporter_keep(struct pprof_exporter *e, uint32_t keep);

/*
 * Writes the window's profiles, and removes the oldest files. names: of services 0 to name_cnt - 1,
 * any bytes; a service beyond these, or a NULL, is "service-N". period_ns: between two samples of a
 * CPU; 0: unknown. comments: about each service; NULL: none. A file that cannot be written is counted, and logged at most once in ten
 * minutes. Returns 0; -EIO: at least one file was not written; or -ENOMEM.
 */
int pprof_exporter_window(struct pprof_exporter *e, const struct window *w,
			  const char *const *names, size_t name_cnt, uint64_t period_ns,
			  const struct window_comments *comments);

void pprof_exporter_stats(const struct pprof_exporter *e, struct pprof_exporter_stats *out);

/* Room for pprof_exporter_service(). */
#define PPROF_SERVICE_BYTES 101

#endif
