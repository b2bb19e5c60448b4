/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf_features.h - the BPF features of the running kernel.
 *
 * A table of features. The probe of a feature looks it up in the kernel's type information and, if
 * this process may use bpf(2), tries it; it never compares version numbers. The table describes the
 * consequence of a missing feature; the caller decides whether that is a problem.
 */
#ifndef TACHBPF_BPF_FEATURES_H
#define TACHBPF_BPF_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

enum feature_id {
	FEATURE_RINGBUF,
	FEATURE_TP_BTF,
	FEATURE_PERF_PROGRAMS,
	FEATURE_TASK_BTF,
	FEATURE_MEMCG,
	FEATURE_TASK_STORAGE,
	FEATURE_ATTACH_COOKIE,
	FEATURE_LOOP,
	FEATURE_FIND_VMA,
	FEATURE_SLEEPABLE_READS,
	FEATURE_ANY_LOAD,
	FEATURE_OPEN_ITER,
	FEATURE_CNT,
};

enum feature_need {
	FEATURE_REQUIRED,	/* no recording without it */
	FEATURE_REPLACED,	/* without it, something else takes its place */
	FEATURE_UNUSED,		/* no mode uses it */
};

struct feature {
	const char *name;
	const char *since;	/* the first release that has it; informational */
	enum feature_need need;
	const char *without;	/* the consequence on a kernel that lacks it */
	int (*probe)(const struct feature *f);
	const char *symbol;	/* for probe */
	int number;		/* for probe */
};

extern const struct feature features[FEATURE_CNT];

/*
 * Returns 1 if the kernel has the feature, 0 if not, -errno if the kernel's type information
 * cannot be read. If this process may not use bpf(2), type information alone decides.
 */
int feature_probe(enum feature_id id);

/* As feature_probe(), for a typedef of this name in the kernel's type information. */
int features_has_typedef(const char *name);

/* Returns 0 if this process may use bpf(2), or -errno of creating the smallest possible map. */
int features_bpf_usable(void);

/* Frees the kernel's type information; a later probe reads it again. */
void features_release(void);

#endif
