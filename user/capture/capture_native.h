/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_native.h - the part of a capture that is there with --native only: sizes of the maps, the
 * helpers that read files, answers that come from them.
 */
#ifndef TACHBPF_CAPTURE_NATIVE_H
#define TACHBPF_CAPTURE_NATIVE_H

struct capture;
struct native_counts;

/* Where unwind tables are kept on disk, and shared by recordings. */
#define CAPTURE_NATIVE_TABLES "/var/cache/tachbpf/unwind"

/*
 * Before the BPF programs are loaded: sizes and settings; without --native the maps stay tiny. 0,
 * or -errno after logging: there is no helper executable.
 */
int capture_native_configure(struct capture *s);

/*
 * When they are loaded: start the helpers, which must happen before this process gives up its
 * rights. 0, or -errno after logging; without --native 0.
 */
int capture_native_start(struct capture *s);
/* s->skel must still be there. */
void capture_native_free(struct capture *s);

/* Before the first sample: wait for the tables of the processes that are known, a second at most. */
void capture_native_prepare(struct capture *s);
/* Take what the helpers have answered. To be called at each capture_poll(). */
void capture_native_poll(struct capture *s);
/* All are 0 without --native. */
void capture_native_counts(const struct capture *s, struct native_counts *out);

#endif
