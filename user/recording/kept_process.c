// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kept_process.c - see kept_process.h. */
#include "recording/kept_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/recording.h"
#include "resolve/losses.h"

struct kept_process *kept_process_new(struct process *p, uint64_t now_ns)
{
	struct kept_process *k = calloc(1, sizeof(*k));
	char text[RECORDING_COMMAND_BYTES];

	if (k)
		k->command = strdup(recording_command(p, text));
	if (!k || !k->command) {
		free(k);
		return NULL;
	}
	k->process = p;
	k->begin_ns = now_ns;
	k->bytes = sizeof(*k) + strlen(k->command) + 1;
	process_hold(p);
	return k;
}

static size_t part_bytes(const struct kept_part *part)
{
	return sizeof(*part) + kept_events_bytes(&part->events) +
	       (part->stats ? sizeof(*part->stats) : 0) + (part->lost ? sizeof(*part->lost) : 0);
}

static void free_part(struct kept_process *k, struct kept_part *part)
{
	k->bytes -= part_bytes(part);
	kept_events_free(&part->events);
	free(part->stats);
	free(part->lost);
	free(part);
}

void kept_process_free(struct kept_process *k)
{
	struct kept_part *part;

	while ((part = k->oldest)) {
		k->oldest = part->next;
		free_part(k, part);
	}
	free(k->lost_before);
	free(k->command);
	process_release(k->process);
	free(k);
}

static struct kept_part *new_part(struct kept_process *k, uint64_t number)
{
	struct kept_part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->number = number;
	if (k->newest)
		k->newest->next = part;
	else
		k->oldest = part;
	k->newest = part;
	k->bytes += part_bytes(part);
	kept_last_reset(&k->last);
	return part;
}

/* Returns the part of this number, which is the newest. NULL: no memory. */
static struct kept_part *part_of(struct kept_process *k, uint64_t number)
{
	return k->newest && k->newest->number == number ? k->newest : new_part(k, number);
}

int kept_process_event(struct kept_process *k, uint64_t number, const struct event *ev)
{
	struct kept_part *part = part_of(k, number);
	size_t before = part ? kept_events_bytes(&part->events) : 0;
	int err = part ? kept_events_add(&part->events, &k->last, ev) : -ENOMEM;

	if (err)
		return err;
	part->samples += process_samples_in(k->process, ev);
	k->bytes += kept_events_bytes(&part->events) - before;
	return 0;
}

static bool has_changed(const struct kept_process *k, const struct process_stats *now)
{
	const struct kept_part *last = k->newest;
	const struct process_stats *then = last && last->stats ? last->stats : &k->before;

	return memcmp(then, now, sizeof(*now)) != 0;
}

/* Without memory a part has no counts: those of the next part cover both. */
void kept_process_close(struct kept_process *k, uint64_t number)
{
	struct process_stats now;
	struct kept_part *part;

	memset(&now, 0, sizeof(now));
	process_stats(k->process, &now);
	if (!has_changed(k, &now))
		return;
	part = part_of(k, number);
	if (!part || part->stats)
		return;
	k->bytes -= part_bytes(part);
	kept_events_close(&part->events);
	part->stats = malloc(sizeof(now));
	if (part->stats)
		memcpy(part->stats, &now, sizeof(now));
	losses_add_since(&part->lost, process_thread_losses(k->process), NULL);
	k->bytes += part_bytes(part);
}

/* Removes the oldest part from the list: its counters at its end become those before. */
static struct kept_part *take_oldest(struct kept_process *k)
{
	struct kept_part *part = k->oldest;

	k->oldest = part->next;
	if (!k->oldest)
		k->newest = NULL;
	if (!part->stats)
		return part;
	memcpy(&k->before, part->stats, sizeof(k->before));
	k->bytes -= k->lost_before ? sizeof(*k->lost_before) : 0;
	free(k->lost_before);
	k->bytes -= part->lost ? sizeof(*part->lost) : 0;
	k->lost_before = part->lost;
	part->lost = NULL;
	k->bytes += k->lost_before ? sizeof(*k->lost_before) : 0;
	return part;
}

void kept_process_forget_before(struct kept_process *k, uint64_t number)
{
	while (k->oldest && k->oldest->number < number)
		free_part(k, take_oldest(k));
}

uint64_t kept_process_drop_oldest(struct kept_process *k)
{
	uint64_t samples = k->oldest ? k->oldest->samples : 0;

	if (!k->oldest)
		return 0;
	free_part(k, take_oldest(k));
	process_add_lost(k->process, 0, LOSS_MEMORY, samples);
	return samples;
}

void kept_process_end(struct kept_process *k, uint64_t number, uint64_t end_ns)
{
	kept_process_close(k, number);
	k->end_ns = end_ns;
	k->over = true;
	k->bytes += process_held_bytes(k->process);
}
