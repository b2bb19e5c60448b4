// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* flight_room.c - frees old data, and data for which there is no room. See flight.h. */
#include "recording/flight_parts.h"

/* Removes an ended process from the list and frees it. at: the pointer to it. */
static void free_process(struct flight *f, struct kept_process **at)
{
	struct kept_process *k = *at;

	*at = k->next;
	if (f->over_end == &k->next)
		f->over_end = at;
	kept_room_leave(&f->room, k);
	kept_process_free(k);
}

static void forget_before(struct flight *f, struct kept_process *k, uint64_t part)
{
	size_t before = k->bytes;

	kept_process_forget_before(k, part);
	kept_room_changed(&f->room, k, before);
}

static bool ends_too_early(const struct flight *f, uint64_t number, uint64_t now)
{
	uint64_t end = f->times[(number + 1) % TIMES].begin_ns;

	return f->newest - number >= TIMES - 1 || now - end >= f->args.keep_ns;
}

void flight_forget_old(struct flight *f)
{
	uint64_t now = f->times[f->newest % TIMES].begin_ns;
	struct kept_process *k, **at = &f->over;
	size_t pos = 0;

	while (f->oldest < f->newest && ends_too_early(f, f->oldest, now)) {
		counts_since_free(f->times[f->oldest % TIMES].since);
		f->times[f->oldest++ % TIMES].since = NULL;
	}
	while ((k = u64map_next(&f->live, &pos)))
		forget_before(f, k, f->oldest);
	while ((k = *at)) {
		forget_before(f, k, f->oldest);
		if (k->oldest)
			at = &k->next;
		else
			free_process(f, at);
	}
}

/* Returns the user's process with the most bytes and something to free. *at: of an ended one. */
static struct kept_process *largest_of(const struct flight *f, const struct kept_owner *o,
				       struct kept_process ***at)
{
	struct kept_process *k, *most = NULL, **p = (struct kept_process **)&f->over;
	size_t pos = 0;

	*at = NULL;
	while ((k = u64map_next(&f->live, &pos)))
		if (k->owner == o && k->oldest && (!most || k->bytes > most->bytes))
			most = k;
	for (; (k = *p); p = &k->next) {
		if (k->owner != o || (most && k->bytes <= most->bytes))
			continue;
		most = k;
		*at = p;
	}
	return most;
}

/* A whole process is freed: there is nothing left to which its samples could count as lost. */
static void forget_over(struct flight *f, struct kept_process **at)
{
	const struct kept_part *part;
	uint64_t samples = 0;

	for (part = (*at)->oldest; part; part = part->next)
		samples += part->samples;
	f->times[f->newest % TIMES].forgotten += samples;
	f->dropped += samples;
	free_process(f, at);
}

static bool drop_some(struct flight *f)
{
	struct kept_owner *o = kept_room_largest(&f->room);
	struct kept_process **at, *k = o ? largest_of(f, o, &at) : NULL;
	size_t before;

	if (!k)
		return false;
	before = k->bytes;
	if (at && (!k->oldest || !k->oldest->next)) {
		forget_over(f, at);
		return true;
	}
	f->dropped += kept_process_drop_oldest(k);
	kept_room_changed(&f->room, k, before);
	return k->bytes < before;
}

static void drop_over(struct flight *f)
{
	const struct kept_owner *o = kept_room_most_over(&f->room);
	struct kept_process **at = &f->over;

	while (*at && (*at)->owner != o)
		at = &(*at)->next;
	if (*at)
		forget_over(f, at);
}

void flight_make_room(struct flight *f)
{
	while (f->room.over > f->args.over_max)
		drop_over(f);
	while (f->room.bytes > f->args.bytes_max && drop_some(f))
		;
}
