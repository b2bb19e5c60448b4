// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recover_steps.c - see recover_steps.h. Knows no file but the journal. */
#include "formats/tach/recover_steps.h"

#include <errno.h>
#include <string.h>

#include "formats/tach/tach_checksum.h"

#define CHECK_BYTES sizeof(uint64_t)

/* The size of the entry of either kind that begins here, without its check; 0: there is none. */
static uint64_t entry_size(const uint8_t *p, uint64_t left)
{
	struct tach_journal_entry e;
	uint32_t magic;

	if (left < sizeof(struct tach_journal_join) + CHECK_BYTES)
		return 0;
	memcpy(&magic, p, sizeof(magic));
	if (magic == TACH_JOURNAL_JOIN_MAGIC)
		return sizeof(struct tach_journal_join);
	if (magic != TACH_JOURNAL_ENTRY_MAGIC || left < sizeof(e) + CHECK_BYTES)
		return 0;
	memcpy(&e, p, sizeof(e));
	return sizeof(e) + (uint64_t)e.strings_len + e.frames_len;
}

/* Likewise; 0 also if it is not intact. */
static uint64_t intact_size(const uint8_t *p, uint64_t left, uint64_t id)
{
	uint64_t size = entry_size(p, left), check;

	if (!size || size > left - CHECK_BYTES)
		return 0;
	memcpy(&check, p + size, CHECK_BYTES);
	return XXH3_64bits_withSeed(p, size, id) == check ? size : 0;
}

static bool is_join(const uint8_t *p)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	return magic == TACH_JOURNAL_JOIN_MAGIC;
}

static struct recover_step entry_step(const uint8_t *p)
{
	struct tach_journal_entry e;
	struct recover_step s = { 0 };

	memcpy(&e, p, sizeof(e));
	s.end = e.end;
	memcpy(s.checksum, e.checksum, sizeof(s.checksum));
	return s;
}

/* Returns false if it is invalid. */
static bool join_step(const uint8_t *p, struct recover_step *s)
{
	struct tach_journal_join j;

	memcpy(&j, p, sizeof(j));
	if (j.at < TACH_HEADER_BYTES || j.from < j.at || j.len > j.from - j.at ||
	    j.len > UINT64_MAX - j.from)
		return false;
	*s = (struct recover_step){ .end = j.at + j.len, .at = j.at, .from = j.from };
	memcpy(s->checksum, j.checksum, sizeof(s->checksum));
	return true;
}

/* Removes the steps after this offset in the file. */
static void drop_steps(struct buf *steps, uint64_t at)
{
	struct recover_step last;

	for (; steps->len; steps->len -= sizeof(last)) {
		memcpy(&last, steps->data + steps->len - sizeof(last), sizeof(last));
		if (last.end <= at)
			break;
	}
}

int recover_steps(struct buf *steps, const uint8_t *journal, size_t size,
		  const struct tach_journal_head *head)
{
	uint64_t off = sizeof(*head), entry;

	while ((entry = intact_size(journal + off, size - off, head->id))) {
		struct recover_step s;

		if (!is_join(journal + off))
			s = entry_step(journal + off);
		else if (join_step(journal + off, &s))
			drop_steps(steps, s.at);
		else
			break;
		off += entry + CHECK_BYTES;
		s.entries_end = off;
		if (buf_add(steps, &s, sizeof(s)))
			return -ENOMEM;
	}
	return 0;
}

const uint8_t *recover_next_names(const uint8_t *journal, uint64_t *off, uint64_t end,
				  struct tach_journal_entry *e)
{
	const uint8_t *p;

	while (*off < end) {
		p = journal + *off;
		*off += entry_size(p, end - *off) + CHECK_BYTES;
		if (!is_join(p)) {
			memcpy(e, p, sizeof(*e));
			return p;
		}
	}
	return NULL;
}
