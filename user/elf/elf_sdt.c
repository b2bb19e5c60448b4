// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_sdt.c - see elf_sdt.h. */
#include "elf/elf_sdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_BYTES_MAX (8u << 20)	/* libraries with thousands of probes have 1 MiB */
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3

/* A note's descriptor: three addresses, and three strings. */
struct addresses {
	uint64_t pc, base, semaphore;
};

struct search {
	const struct elf_file *f;
	const char *provider, *name;
	uint64_t base;		/* address of .stapsdt.base; 0: the file has none */
	struct elf_sdt_place *places;
	uint32_t cnt;
};

/* File offset of what is mapped at vaddr; 0: in no part of this kind. */
static uint64_t offset_of(const struct elf_file *f, uint64_t vaddr, bool code)
{
	unsigned int i;

	for (i = 0; i < f->load_cnt; i++) {
		const struct elf_load *l = &f->loads[i];
		uint64_t in = vaddr - l->vaddr;

		if ((code ? !l->executable : !l->writable) || vaddr < l->vaddr ||
		    in >= l->filesz || in >= UINT64_MAX - l->off)
			continue;
		return l->off + in < f->size ? l->off + in : 0;
	}
	return 0;
}

/* Cut a string off the beginning of the rest. NULL: it has no end. */
static const char *take_string(const uint8_t **at, size_t *left)
{
	const uint8_t *end = memchr(*at, '\0', *left), *begin = *at;

	if (!end)
		return NULL;
	*left -= (size_t)(end + 1 - begin);
	*at = end + 1;
	return (const char *)begin;
}

/* 0, or -E2BIG. */
static int take_note(struct search *s, const uint8_t *desc, size_t len)
{
	const char *provider, *name;
	struct elf_sdt_place place;
	struct addresses a;
	uint64_t moved;

	if (len < sizeof(a))
		return 0;
	memcpy(&a, desc, sizeof(a));
	desc += sizeof(a);
	len -= sizeof(a);
	provider = take_string(&desc, &len);
	name = provider ? take_string(&desc, &len) : NULL;
	if (!name || strcmp(provider, s->provider) || strcmp(name, s->name))
		return 0;
	/* prelink moves addresses of sections, but not those in notes. */
	moved = s->base && a.base ? s->base - a.base : 0;
	place = (struct elf_sdt_place){ .offset = offset_of(s->f, a.pc + moved, true) };
	if (a.semaphore)
		place.semaphore = offset_of(s->f, a.semaphore + moved, false);
	/* Without its semaphore the probe would stay disabled. */
	if (!place.offset || (a.semaphore && !place.semaphore))
		return 0;
	if (s->cnt == ELF_SDT_PLACES_MAX)
		return -E2BIG;
	s->places[s->cnt++] = place;
	return 0;
}

static size_t padded_size(uint32_t bytes)
{
	return ((size_t)bytes + 3) & ~(size_t)3;
}

static int take_notes(struct search *s, const uint8_t *data, size_t left)
{
	Elf64_Nhdr h;
	int err = 0;

	while (!err && left >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		data += sizeof(h);
		left -= sizeof(h);
		if (padded_size(h.n_namesz) > left || h.n_descsz > left - padded_size(h.n_namesz))
			break;
		if (h.n_type == NOTE_TYPE && h.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(data, NOTE_OWNER, sizeof(NOTE_OWNER)))
			err = take_note(s, data + padded_size(h.n_namesz), h.n_descsz);
		data += padded_size(h.n_namesz);
		left -= padded_size(h.n_namesz);
		if (padded_size(h.n_descsz) >= left)
			break;
		data += padded_size(h.n_descsz);
		left -= padded_size(h.n_descsz);
	}
	return err;
}

int elf_sdt_find(const struct elf_file *f, const char *provider, const char *name,
		 struct elf_sdt_place places[ELF_SDT_PLACES_MAX], uint32_t *cnt)
{
	struct search s = { .f = f, .provider = provider, .name = name, .places = places };
	struct elf_range notes, base;
	uint8_t *data;
	int err = elf_file_section(f, ".note.stapsdt", &notes);

	*cnt = 0;
	if (err)
		return err;
	if (notes.size > NOTES_BYTES_MAX)
		return -E2BIG;
	if (!elf_file_section(f, ".stapsdt.base", &base))
		s.base = base.vaddr;
	data = malloc(notes.size + 1);
	if (!data)
		return -ENOMEM;
	err = elf_file_pread(f, notes.off, data, notes.size);
	if (!err)
		err = take_notes(&s, data, notes.size);
	free(data);
	*cnt = s.cnt;
	return err ? err : s.cnt ? 0 : -ENOENT;
}
