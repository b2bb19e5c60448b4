// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_show.c - what both the tables and the JSON of tachbpf gil show. See gil_show.h.
 */
#include "commands/gil_show.h"

#include "commands/limit.h"
#include "model/thread_names.h"

double gil_seconds(const struct gil_section *s, uint64_t samples)
{
	return samples * (s->meta->interval_us / 1e6);
}

double gil_observed_s(const struct gil_section *s)
{
	const struct gil_process *p = s->process;

	if (p->last_us < p->first_us)
		return 0;
	/* The last sample, too, stands for an interval. */
	return (p->last_us - p->first_us) / 1e6 + s->meta->interval_us / 1e6;
}

double gil_utilisation(const struct gil_section *s, uint64_t held)
{
	double observed = gil_observed_s(s);
	double pct = observed > 0 ? 100 * gil_seconds(s, held) / observed : 0;

	return pct < 100 ? pct : 100;
}

const char *gil_reason(const struct gil_section *s)
{
	static const char *const reasons[] = {
		[GIL_NOT_RECORDED] = "not recorded: threads that wait for the GIL are only in "
				     "profiles of modes gil, wall and all (record with --mode gil)",
		[GIL_NO_GIL] = "a free-threaded Python: it has no GIL that could be waited for",
		[GIL_NEVER_SEEN] = "no thread had or wanted the GIL: it was idle",
	};

	return s->known == GIL_KNOWN ? NULL : reasons[s->known];
}

const char *gil_no_holders(const struct gil_section *s)
{
	return gil_holders_known(s->process) ? NULL :
	       "running threads were not recorded, so who had the GIL is not known";
}

uint32_t gil_tgid(const struct gil_section *s)
{
	return s->process->tgid ? s->process->tgid : s->file->process.tgid;
}

const char *gil_comm(const struct gil_section *s)
{
	return s->process->tgid ? s->process->comm : s->file->process.comm;
}

const struct gil_exact_thread *gil_exact(const struct gil_section *s, uint64_t thread_id)
{
	return s->threads ? u64map_get(s->threads, thread_id) : NULL;
}

const char *gil_thread_name(const struct gil_section *s, uint64_t thread_id)
{
	const struct gil_exact_thread *exact = gil_exact(s, thread_id);

	return exact && exact->name ? exact->name :
				      thread_names_find(s->file->process.thread_names, thread_id);
}

uint32_t gil_shown(const struct gil_report *r, uint32_t cnt)
{
	return (uint32_t)limit_rows(r->limit, cnt);
}
