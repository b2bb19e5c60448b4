// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* doctor_processes.c - see doctor_processes.h. */
#include "doctor/doctor_processes.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "doctor/precheck.h"
#include "host/privileges.h"

static void add_rights(struct process_rights *out, size_t max, size_t *cnt,
		       struct process_rights row)
{
	row.caps &= precheck_caps();
	if (*cnt < max)
		out[(*cnt)++] = row;
}

size_t process_rights(const struct worker_kind *const kinds[], const size_t cnts[PROCESS_KEEPERS],
		      struct process_rights *out, size_t max)
{
	static const struct {
		const char *name, *does;
	} keepers[PROCESS_KEEPERS] = {
		{ KEEPER_NAME, "only starts the others" },
		{ KEEPER_NAME " --mode mem", "the same, when recording memory" },
		{ KEEPER_NAME " --allocations", "the same, with --allocations" },
	};
	bool filter = !jail_filter_works();
	size_t n = 0, i;

	add_rights(out, max, &n, (struct process_rights){
		"tachbpf", "drains the ring buffer, writes files",
		privileges_for_recording(precheck_caps()), false });
	for (i = 0; i < PROCESS_KEEPERS; i++)
		add_rights(out, max, &n, (struct process_rights){
			keepers[i].name, keepers[i].does, keeper_caps(kinds, cnts[i]), filter });
	for (i = 0; i < cnts[PROCESS_KEEPERS - 1]; i++)
		add_rights(out, max, &n, (struct process_rights){
			kinds[i]->name, kinds[i]->does, kinds[i]->jail->caps, filter });
	/* The executable tachbpf-elf, which is no worker. */
	add_rights(out, max, &n, (struct process_rights){
		"tachbpf-tables", "--native: builds unwind tables of libraries; opens nothing", 0,
		filter });
	add_rights(out, max, &n, (struct process_rights){
		"tachbpf-names", "--native: names functions of libraries; opens nothing", 0,
		filter });
	return n;
}

/* include/uapi/linux/capability.h; those that our processes may have */
const char *cap_name(int bit)
{
	static const char *const names[] = {
		[2] = "CAP_DAC_READ_SEARCH", [19] = "CAP_SYS_PTRACE", [21] = "CAP_SYS_ADMIN",
		[38] = "CAP_PERFMON", [39] = "CAP_BPF", [40] = "CAP_CHECKPOINT_RESTORE",
	};

	return bit >= 0 && (size_t)bit < ARRAY_SIZE(names) ? names[bit] : NULL;
}

char *caps_text(uint64_t caps, char *out, size_t size)
{
	size_t len = 0;
	int bit;

	snprintf(out, size, "none");
	for (bit = 0; bit < 64 && len < size; bit++)
		if (caps >> bit & 1 && cap_name(bit))
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						cap_name(bit));
	return out;
}
