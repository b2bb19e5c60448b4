// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_doctor.c - `tachbpf doctor`: whether this machine and this user can record, and if not, why.
 *
 * Runs every check and every feature probe, loads the BPF programs as a test and counts the running
 * Python processes. Prints the results as text or as JSON. Exit status 1: something that recording
 * needs is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/colour.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "doctor/bpf_features.h"
#include "doctor/doctor.h"
#include "doctor/doctor_processes.h"

#define CHECKS_MAX 64
#define TEXT_INDENT 45		/* column of a check's result */

struct diagnosis {
	struct finding checks[CHECKS_MAX];
	int features[FEATURE_CNT];
	struct trial trial;
	struct census census;
	struct process_rights processes[CAPTURE_WORKERS_MAX + PROCESS_RIGHTS_BESIDES];
	size_t process_cnt;
	unsigned int problems;
};

static const char *const verdict_words[VERDICT_CNT] = {
	[VERDICT_OK] = "ok", [VERDICT_NOTE] = "note", [VERDICT_OFF] = "off",
	[VERDICT_UNKNOWN] = "unknown", [VERDICT_BAD] = "problem",
};

static enum verdict feature_verdict(const struct feature *f, int found)
{
	if (found > 0)
		return VERDICT_OK;
	if (found < 0)
		return VERDICT_UNKNOWN;
	return f->need == FEATURE_REQUIRED ? VERDICT_BAD : VERDICT_OFF;
}

static void trial_finding(const struct trial *t, struct finding *f)
{
	size_t i, instructions = 0;

	if (t->err && features_bpf_usable()) {
		finding_set(f, VERDICT_UNKNOWN, "not checked: bpf(2) is denied");
	} else if (t->err) {
		finding_set(f, VERDICT_BAD, "rejected by the kernel: %s", t->reason);
		finding_fix(f, "please report it with the output of: tachbpf doctor --json");
	} else {
		for (i = 0; i < t->cnt; i++)
			instructions += t->programs[i].instructions;
		finding_set(f, VERDICT_OK, "all %zu load; the verifier processed %zu %s",
			    t->cnt, instructions,
			    text_plural(instructions, "instruction", "instructions"));
	}
}

/* Valid only if the programs have been loaded. */
static void direct_finding(const struct trial *t, struct finding *f)
{
	if (t->direct)
		finding_set(f, VERDICT_OK, "processes are read where the kernel has mapped all "
			    "memory");
	else
		finding_set(f, VERDICT_NOTE, "not supported here (requires Linux 6.2 on x86-64): "
			    "processes are read by a helper, and a sample takes up to four times "
			    "as long");
}

static void run_checks(struct diagnosis *d)
{
	const struct worker_kind *kinds[CAPTURE_WORKERS_MAX];
	struct finding trial = { 0 };
	size_t i, cnts[PROCESS_KEEPERS];

	for (i = 0; i < doctor_check_cnt && i < CHECKS_MAX; i++) {
		doctor_checks[i].run(&doctor_checks[i], &d->checks[i]);
		d->problems += d->checks[i].verdict == VERDICT_BAD;
	}
	for (i = 0; i < FEATURE_CNT; i++) {
		d->features[i] = feature_probe(i);
		d->problems += feature_verdict(&features[i], d->features[i]) == VERDICT_BAD;
	}
	features_release();
	trial_load(&d->trial);
	trial_finding(&d->trial, &trial);
	d->problems += trial.verdict == VERDICT_BAD;
	census_take(&d->census);
	cnts[0] = capture_workers(CAPTURE_NATIVE, kinds);
	cnts[1] = capture_workers(CAPTURE_NATIVE | CAPTURE_MEMORY | CAPTURE_CENSUS, kinds);
	cnts[2] = capture_workers(CAPTURE_NATIVE | CAPTURE_MEMORY | CAPTURE_CENSUS |
				  CAPTURE_BLOCKS | CAPTURE_DEBUGINFOD, kinds);
	d->process_cnt = process_rights(kinds, cnts, d->processes, ARRAY_SIZE(d->processes));
}

/* ---- text ---- */

static void print_finding(const char *name, const struct finding *f)
{
	static const enum colour colours[VERDICT_CNT] = {
		[VERDICT_OK] = COLOUR_GREEN, [VERDICT_OFF] = COLOUR_YELLOW,
		[VERDICT_BAD] = COLOUR_RED,
	};
	size_t width = text_terminal_width(stdout);
	enum colour c = colours[f->verdict];

	printf("  %s%-9s%s%-34s", colour_on(stdout, c), verdict_words[f->verdict],
	       c == COLOUR_NONE ? "" : colour_off(stdout), name);
	text_wrap(stdout, f->text, TEXT_INDENT, width);
	if (f->fix[0]) {
		printf("%*s-> ", TEXT_INDENT, "");
		text_wrap(stdout, f->fix, TEXT_INDENT + 3, width);
	}
}

static void print_features(const struct diagnosis *d)
{
	size_t i;

	printf("BPF features\n");
	for (i = 0; i < FEATURE_CNT; i++) {
		const struct feature *f = &features[i];
		struct finding out = { .verdict = feature_verdict(f, d->features[i]) };

		if (out.verdict == VERDICT_OK)
			finding_set(&out, VERDICT_OK, "present (since %s)", f->since);
		else if (out.verdict == VERDICT_UNKNOWN)
			finding_set(&out, VERDICT_UNKNOWN, "unknown: %s",
				    strerror(-d->features[i]));
		else
			finding_set(&out, out.verdict, "missing (since %s): %s", f->since,
				    f->without);
		print_finding(f->name, &out);
	}
}

static void print_trial(const struct trial *t)
{
	struct finding f = { 0 };
	size_t i;

	printf("BPF programs\n");
	trial_finding(t, &f);
	print_finding("recorder", &f);
	for (i = 0; !t->err && i < t->cnt; i++)
		printf("  %-9s  %-32s%llu %s\n", "", t->programs[i].name,
		       (unsigned long long)t->programs[i].instructions,
		       text_plural(t->programs[i].instructions, "instruction", "instructions"));
	if (t->err)
		return;
	f = (struct finding){ 0 };
	direct_finding(t, &f);
	print_finding("direct reads", &f);
}

static void print_processes(const struct diagnosis *d)
{
	char caps[160], text[320];
	size_t i;

	printf("recorder processes\n");
	for (i = 0; i < d->process_cnt; i++) {
		const struct process_rights *p = &d->processes[i];

		snprintf(text, sizeof(text), "capabilities: %s; %s; %s",
			 caps_text(p->caps, caps, sizeof(caps)),
			 p->filter ? "system call filter" : "no system call filter",
			 p->does);
		printf("  %-9s  %-32s", "", p->name);
		text_wrap(stdout, text, TEXT_INDENT, text_terminal_width(stdout));
	}
}

static void print_census(const struct census *c)
{
	struct finding f = { 0 };
	char name[64];
	size_t i;

	printf("running Python processes\n");
	if (c->err)
		finding_set(&f, VERDICT_UNKNOWN, "/proc: %s", strerror(-c->err));
	else
		finding_set(&f, VERDICT_OK, "%u of %u %s", c->profilable, c->processes,
			    text_plural(c->processes, "process", "processes"));
	print_finding("profilable", &f);
	for (i = 0; i < c->version_cnt; i++)
		printf("  %-9s  %-32s%u\n", "", c->versions[i].version, c->versions[i].cnt);
	if (c->unreadable) {
		finding_set(&f, VERDICT_UNKNOWN, "%u %s", c->unreadable,
			    text_plural(c->unreadable, "process of another user, or protected",
					"processes of other users, or protected"));
		print_finding("not readable", &f);
	}
	if (!c->refused)
		return;
	finding_set(&f, VERDICT_OFF, "%u %s", c->refused,
		    text_plural(c->refused, "Python process", "Python processes"));
	print_finding("not profilable", &f);
	for (i = 0; i < c->refused && i < CENSUS_REFUSED; i++) {
		const struct python_refused *r = &c->not_profilable[i];

		snprintf(name, sizeof(name), "%d (%.48s)", r->pid, r->comm);
		printf("  %-9s  %-32s", "", name);
		text_wrap(stdout, r->why, TEXT_INDENT, text_terminal_width(stdout));
	}
}

static void print_text(const struct diagnosis *d)
{
	const char *group = "";
	size_t i;

	for (i = 0; i < doctor_check_cnt; i++) {
		if (strcmp(group, doctor_checks[i].group)) {
			group = doctor_checks[i].group;
			printf("%s\n", group);
		}
		print_finding(doctor_checks[i].name, &d->checks[i]);
	}
	print_features(d);
	print_trial(&d->trial);
	print_processes(d);
	print_census(&d->census);
	if (d->problems)
		printf("%u %s: recording cannot work\n", d->problems,
		       text_plural(d->problems, "problem", "problems"));
	else
		printf("ready to record\n");
}

/* ---- JSON ---- */

static void json_finding(struct json *j, const char *group, const char *name,
			 const struct finding *f)
{
	json_object(j, NULL);
	json_string(j, "group", group);
	json_string(j, "name", name);
	json_string(j, "verdict", verdict_words[f->verdict]);
	json_string(j, "text", f->text);
	json_string(j, "fix", f->fix);
	json_object_end(j);
}

static void json_features(struct json *j, const struct diagnosis *d)
{
	static const char *const needs[] = { "required", "replaced", "unused" };
	size_t i;

	json_array(j, "features");
	for (i = 0; i < FEATURE_CNT; i++) {
		json_object(j, NULL);
		json_string(j, "name", features[i].name);
		json_string(j, "since", features[i].since);
		json_string(j, "need", needs[features[i].need]);
		if (d->features[i] < 0)
			json_null(j, "found");
		else
			json_bool(j, "found", d->features[i]);
		json_string(j, "without", features[i].without);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_trial(struct json *j, const struct trial *t)
{
	size_t i;

	json_object(j, "programs");
	json_bool(j, "loaded", !t->err);
	json_string(j, "reason", t->reason);
	json_bool(j, "direct_reads", t->direct);
	json_object(j, "instructions");
	for (i = 0; i < t->cnt; i++)
		json_uint(j, t->programs[i].name, t->programs[i].instructions);
	json_object_end(j);
	json_object_end(j);
}

static void json_processes(struct json *j, const struct diagnosis *d)
{
	size_t i;
	int bit;

	json_array(j, "processes");
	for (i = 0; i < d->process_cnt; i++) {
		const struct process_rights *p = &d->processes[i];

		json_object(j, NULL);
		json_string(j, "name", p->name);
		json_array(j, "capabilities");
		for (bit = 0; bit < 64; bit++)
			if (p->caps >> bit & 1 && cap_name(bit))
				json_string(j, NULL, cap_name(bit));
		json_array_end(j);
		json_bool(j, "filter", p->filter);
		json_string(j, "does", p->does);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_census(struct json *j, const struct census *c)
{
	size_t i;

	json_object(j, "pythons");
	json_uint(j, "processes", c->processes);
	json_uint(j, "profilable", c->profilable);
	json_uint(j, "refused", c->refused);
	json_uint(j, "unreadable", c->unreadable);
	json_object(j, "versions");
	for (i = 0; i < c->version_cnt; i++)
		json_uint(j, c->versions[i].version, c->versions[i].cnt);
	json_object_end(j);
	json_array(j, "not_profilable");
	for (i = 0; i < c->refused && i < CENSUS_REFUSED; i++) {
		json_object(j, NULL);
		json_int(j, "pid", c->not_profilable[i].pid);
		json_string(j, "comm", c->not_profilable[i].comm);
		json_string(j, "why", c->not_profilable[i].why);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void print_json(const struct diagnosis *d)
{
	struct utsname u;
	struct json j;
	size_t i;

	uname(&u);
	json_start(&j, stdout, true);
	json_object(&j, NULL);
	json_string(&j, "version", TACHBPF_VERSION);
	json_string(&j, "kernel", u.release);
	json_string(&j, "machine", u.machine);
	json_bool(&j, "ok", !d->problems);
	json_uint(&j, "problems", d->problems);
	json_array(&j, "checks");
	for (i = 0; i < doctor_check_cnt; i++)
		json_finding(&j, doctor_checks[i].group, doctor_checks[i].name, &d->checks[i]);
	json_array_end(&j);
	json_features(&j, d);
	json_trial(&j, &d->trial);
	json_processes(&j, d);
	json_census(&j, &d->census);
	json_object_end(&j);
	putchar('\n');
}

int doctor_run(const struct doctor_options *opts)
{
	struct diagnosis *d = calloc(1, sizeof(*d));
	int status;

	if (!d) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	run_checks(d);
	if (opts->json)
		print_json(d);
	else
		print_text(d);
	status = d->problems ? EXIT_FAILURE : EXIT_SUCCESS;
	free(d);
	return output_flush_stdout() ? EXIT_FAILURE : status;
}
