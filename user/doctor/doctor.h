/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * doctor.h - what the doctor looks at, as a table of checks.
 *
 * A check looks at one thing and says in one line what it found and, if that is
 * a problem, what to do about it. It prints nothing and changes nothing.
 */
#ifndef TACHBPF_DOCTOR_H
#define TACHBPF_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,		/* fine, and worth to know */
	VERDICT_OFF,		/* something works less well or not at all; recording does */
	VERDICT_UNKNOWN,	/* this user may not look */
	VERDICT_BAD,		/* recording cannot work */
	VERDICT_CNT,
};

struct finding {
	enum verdict verdict;
	char text[256];
	char fix[256];		/* "": there is nothing to be done */
};

struct doctor_check {
	const char *group, *name;
	void (*look)(const struct doctor_check *c, struct finding *f);
	int bit;		/* of a capability */
	enum verdict without;
	const char *purpose;
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_cnt;

void finding_set(struct finding *f, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_fix(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- our own BPF programs, loaded for a moment ---- */

#define TRIAL_PROGRAMS 64
struct trial_program {
	char name[64];
	bool loaded;
	uint64_t instructions;	/* the verifier looked at; 0: it did not say */
};
struct trial {
	int err;		/* 0, or why loading failed */
	char reason[256];	/* the kernel's last words, printable */
	struct trial_program programs[TRIAL_PROGRAMS];
	size_t cnt;
};
void trial_load(struct trial *t);

/* ---- the Pythons that run now ---- */

struct python_version {
	char version[24];
	uint32_t cnt;
};
struct python_refused {
	int pid;
	char comm[64];		/* printable */
	char why[256];
};
#define CENSUS_VERSIONS 32
#define CENSUS_REFUSED 16	/* shown; more are only counted */
struct census {
	int err;
	uint32_t processes, profilable, refused, unreadable;
	struct python_version versions[CENSUS_VERSIONS];
	size_t version_cnt;
	struct python_refused not_profilable[CENSUS_REFUSED];
};
void census_take(struct census *c);

#endif
