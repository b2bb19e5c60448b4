// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * doctor_trial.c - loads the programs of a recording, and counts the running Python processes.
 *
 * The programs are loaded as `tachbpf -a` loads them, with all optional parts. They are not
 * attached, so none of them runs. The number of instructions comes from the verifier's log.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/skeleton.h"
#include "doctor/doctor.h"
#include "host/proc.h"
#include "memory/reader.h"
#include "tachbpf.skel.h"
#include "target/discover.h"
#include "target/inspector.h"

/* include/linux/bpf_verifier.h: BPF_LOG_STATS, since 5.2 */
#define LOG_STATS 4
/*
 * The kernel writes a line for each call of a global function on the path that it follows, 128 of
 * them in walk_lists(). It refuses a log that has ever exceeded its buffer, although it removes
 * these lines again.
 */
#define LOG_BYTES 65536
#define RING_BYTES (4 * 1024 * 1024)

static char libbpf_log[16384];	/* static: libbpf_set_print() takes no context */

/* Appends to libbpf_log. When half of it is used, it is overwritten from the beginning. */
static int keep_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t len = strlen(libbpf_log), half = sizeof(libbpf_log) / 2;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (len >= half)
		len = 0;
	return vsnprintf(libbpf_log + len, sizeof(libbpf_log) - len, fmt, ap);
}

/*
 * Copies the reason why loading failed: the last line of libbpf_log that is neither a statistic nor
 * libbpf's own; otherwise libbpf's first line.
 */
static void reason_from_log(char *out, size_t size)
{
	static const char *const statistics[] = { "processed ", "verification time", "stack depth",
						  "libbpf: ", "-- " };
	char *line, *save, *best = NULL, *first = NULL;
	size_t i;

	for (line = strtok_r(libbpf_log, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		for (i = 0; i < ARRAY_SIZE(statistics); i++)
			if (!strncmp(line, statistics[i], strlen(statistics[i])))
				break;
		if (i == ARRAY_SIZE(statistics))
			best = line;
		else if (!first && !strncmp(line, "libbpf: ", 8))
			first = line + 8;
	}
	best = best ? best : first;
	if (best)
		escape_text(best, strlen(best), out, size);
}

static uint64_t processed_instructions(const char *log)
{
	const char *p = strstr(log, "processed ");
	unsigned long long n = 0;

	return p && sscanf(p, "processed %llu", &n) == 1 ? n : 0;
}

static struct tachbpf_bpf *open_programs(void)
{
	struct tachbpf_bpf *skel = skeleton_open();

	if (!skel)
		return NULL;
	skel->rodata->cfg_all = true;
	skel->rodata->cfg_gc = true;
	skel->rodata->cfg_period_ns = 1000000;
	bpf_program__set_autoload(skel->progs.on_switch, true);
	bpf_program__set_autoload(skel->progs.on_wakeup, true);
	bpf_program__set_autoload(skel->progs.on_task, true);
	bpf_program__set_autoload(skel->progs.on_page_fault, true);
	bpf_program__set_autoload(skel->progs.on_unmapped_area,
				  libbpf_find_vmlinux_btf_id("vm_unmapped_area",
							     BPF_TRACE_RAW_TP) > 0);
	bpf_map__set_max_entries(skel->maps.events, RING_BYTES);
	return skel;
}

/* Loads again without our log buffers: then libbpf prints the verifier's log. */
static void find_reason(struct trial *t)
{
	struct tachbpf_bpf *skel = open_programs();

	libbpf_log[0] = '\0';
	if (skel && skeleton_load(skel))
		reason_from_log(t->reason, sizeof(t->reason));
	tachbpf_bpf__destroy(skel);
}

static void read_logs(struct trial *t, struct tachbpf_bpf *skel, char *logs)
{
	struct bpf_program *prog;
	size_t i = 0;

	bpf_object__for_each_program(prog, skel->obj) {
		struct trial_program *p = &t->programs[i];

		if (!bpf_program__autoload(prog))
			continue;	/* it has no log */
		if (i == t->cnt)
			break;
		snprintf(p->name, sizeof(p->name), "%s", bpf_program__name(prog));
		p->instructions = processed_instructions(logs + i++ * LOG_BYTES);
	}
}

void trial_load(struct trial *t)
{
	libbpf_print_fn_t before = libbpf_set_print(keep_log);
	struct tachbpf_bpf *skel = open_programs();
	char *logs = calloc(TRIAL_PROGRAMS, LOG_BYTES);
	struct bpf_program *prog;

	memset(t, 0, sizeof(*t));
	t->err = skel && logs ? 0 : -ENOMEM;
	if (t->err)
		goto out;
	bpf_object__for_each_program(prog, skel->obj) {
		if (!bpf_program__autoload(prog) || t->cnt == TRIAL_PROGRAMS)
			continue;
		bpf_program__set_log_level(prog, LOG_STATS);
		bpf_program__set_log_buf(prog, logs + t->cnt++ * LOG_BYTES, LOG_BYTES);
	}
	t->err = skeleton_load(skel);
	read_logs(t, skel, logs);
	t->direct = !t->err && direct_map_find(skel);
	if (t->err) {
		snprintf(t->reason, sizeof(t->reason), "%s", strerror(-t->err));
		find_reason(t);
	}
out:
	tachbpf_bpf__destroy(skel);
	free(logs);
	libbpf_set_print(before);
}

/* ---- census ---- */

struct counting {
	struct census *census;
	struct discovery *discovery;
};

static void count_version(struct census *c, const char *version)
{
	size_t i;

	c->profilable++;
	for (i = 0; i < c->version_cnt && strcmp(c->versions[i].version, version); i++)
		;
	if (i == CENSUS_VERSIONS)
		return;
	if (i == c->version_cnt) {
		snprintf(c->versions[i].version, sizeof(c->versions[i].version), "%s", version);
		c->version_cnt++;
	}
	c->versions[i].cnt++;
}

static void count_refused(struct census *c, pid_t tgid, const char *comm, const char *why)
{
	struct python_refused *r = &c->not_profilable[c->refused];

	if (c->refused++ >= CENSUS_REFUSED)
		return;
	r->pid = tgid;
	escape_text(comm, strlen(comm), r->comm, sizeof(r->comm));
	snprintf(r->why, sizeof(r->why), "%s", why);
}

static int count_one(void *ctx, pid_t tgid)
{
	struct counting *k = ctx;
	struct discovered found;
	struct proc_info who;
	uint64_t files = 0;
	int err;

	if (tgid == getpid() || proc_info_read(tgid, &who) || who.stat.kernel_thread ||
	    inspector_is_worker(&who))
		return 0;
	k->census->processes++;
	err = discovery_inspect(k->discovery, &who, &files, 0, &found);
	if (!err)
		count_version(k->census, found.image->version);
	else if (err == -ENOTSUP)
		count_refused(k->census, tgid, who.stat.comm, found.why);
	else if (err == -EACCES || err == -EPERM || err == -ETIMEDOUT || err == -EUSERS)
		k->census->unreadable++;
	return 0;
}

void census_take(struct census *c)
{
	struct counting k = { c, discovery_new() };

	memset(c, 0, sizeof(*c));
	c->err = k.discovery ? proc_each(count_one, &k) : -ENOMEM;
	discovery_free(k.discovery);
	reader_end();
	inspector_end();
}
