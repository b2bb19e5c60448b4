/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf_features.h - what the running kernel's BPF can do.
 *
 * A table of features with a probe each: existence in the kernel's own type information,
 * and, with the right to, an attempt. Never a version number. Knows what each is for and
 * what happens without it; whether that is a problem is for the caller to say.
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
	FEATURE_OPEN_ITER,
	FEATURE_CNT,
};

enum feature_need {
	FEATURE_REQUIRED,	/* no recording without it */
	FEATURE_REPLACED,	/* something else does the same where it is not there */
	FEATURE_UNUSED,		/* no mode uses it */
};

struct feature {
	const char *name;
	const char *since;	/* the first release that has it; for people to read */
	enum feature_need need;
	const char *without;	/* what is so on a kernel that lacks it */
	int (*probe)(const struct feature *f);
	const char *symbol;	/* for probe */
	int number;		/* for probe */
};

extern const struct feature features[FEATURE_CNT];

/*
 * 1: there. 0: not. -errno: the kernel's type information cannot be read. What this user
 * may not try is judged by type information alone.
 */
int feature_probe(enum feature_id id);

/* May this process use bpf(2) at all? 0 or -errno of the smallest possible map. */
int features_bpf_usable(void);

/* Forget the kernel's type information again. */
void features_release(void);

#endif
