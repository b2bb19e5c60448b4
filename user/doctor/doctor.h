/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * doctor.h - the checks of `tachbpf doctor`: a table of checks, a trial load of the BPF programs,
 * and a census of the running Python processes.
 *
 * A check examines one thing. It returns one line with its finding and, if that is a problem, one
 * with the remedy. It prints nothing and changes nothing.
 */
#ifndef TACHBPF_DOCTOR_H
#define TACHBPF_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,		/* no problem, but worth knowing */
	VERDICT_OFF,		/* something works less well or not at all, but recording works */
	VERDICT_UNKNOWN,	/* this user lacks the permission for the check */
	VERDICT_BAD,		/* recording cannot work */
	VERDICT_CNT,
};

struct finding {
	enum verdict verdict;
	char text[256];
	char fix[256];		/* the remedy; "": none */
};

struct doctor_check {
	const char *group, *name;
	void (*run)(const struct doctor_check *c, struct finding *f);
	/* For a check of a capability. */
	int bit;		/* the capability's number */
	enum verdict without;	/* the verdict if this process lacks it */
	const char *purpose;	/* what it allows */
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_cnt;

/* Set the verdict and its text, or the remedy. Text that does not fit is cut off. */
void finding_set(struct finding *f, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_fix(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- our own BPF programs, loaded for a moment ---- */

#define TRIAL_PROGRAMS 64
struct trial_program {
	char name[64];
	uint64_t instructions;	/* processed by the verifier; 0: unknown */
};
struct trial {
	int err;		/* 0, or the error of loading */
	char reason[256];	/* the verifier's last message, printable */
	struct trial_program programs[TRIAL_PROGRAMS];
	size_t cnt;
	bool direct;		/* they can read a process's memory directly: skeleton.h */
};
/* Loads the BPF programs as a recording does, without attaching them, and unloads them. */
void trial_load(struct trial *t);

/* ---- running Python processes ---- */

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
	int err;		/* 0, or -errno of reading /proc */
	uint32_t processes, profilable, refused, unreadable;	/* numbers of processes */
	struct python_version versions[CENSUS_VERSIONS];
	size_t version_cnt;
	struct python_refused not_profilable[CENSUS_REFUSED];
};
/* Inspects all processes in /proc. */
void census_take(struct census *c);

#endif
