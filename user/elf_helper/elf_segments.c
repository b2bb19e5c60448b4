// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_segments.c - see elf_segments.h. */
#include "elf_helper/elf_segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/cfi_section.h"

#define MAX_PHDRS 128
#define MAX_NOTES 4096	/* bytes of one segment of notes */
#define ALIGN4(n) (((n) + 3u) & ~3u)

static void add_text(struct elf_segments *s, const Elf64_Phdr *ph)
{
	if (!(ph->p_flags & PF_X) || s->text_cnt == ARRAY_SIZE(s->text))
		return;
	s->text[s->text_cnt++] = (struct elf_load){
		.vaddr = ph->p_vaddr, .off = ph->p_offset, .filesz = ph->p_filesz,
		.memsz = ph->p_memsz, .writable = ph->p_flags & PF_W,
	};
}

/* Finds NT_GNU_BUILD_ID in len bytes of notes. */
static void scan_notes(struct elf_segments *s, const uint8_t *notes, size_t len)
{
	size_t at = 0, name, desc;
	Elf64_Nhdr n;

	while (len - at >= sizeof(n)) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_namesz > len || n.n_descsz > len)
			return;
		name = at;
		desc = at + ALIGN4(n.n_namesz);
		at = desc + ALIGN4(n.n_descsz);
		if (at > len)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
		    n.n_descsz <= sizeof(s->build_id) && !memcmp(notes + name, "GNU", 4)) {
			memcpy(s->build_id, notes + desc, n.n_descsz);
			s->build_id_bytes = n.n_descsz;
			return;
		}
	}
}

static void read_notes(const struct elf_file *f, const Elf64_Phdr *ph, struct elf_segments *s)
{
	uint8_t notes[MAX_NOTES];
	size_t len = ph->p_filesz < sizeof(notes) ? ph->p_filesz : sizeof(notes);

	if (!s->build_id_bytes && !elf_file_pread(f, ph->p_offset, notes, len))
		scan_notes(s, notes, len);
}

int elf_segments_read(const struct elf_file *f, struct elf_segments *out)
{
	Elf64_Phdr ph[MAX_PHDRS];
	Elf64_Ehdr eh;
	unsigned int i;
	int err;

	memset(out, 0, sizeof(*out));
	err = elf_file_pread(f, 0, &eh, sizeof(eh));
	if (err)
		return err;
	if (eh.e_phnum > MAX_PHDRS || eh.e_phentsize != sizeof(ph[0]))
		return -EBADMSG;
	err = elf_file_pread(f, eh.e_phoff, ph, eh.e_phnum * sizeof(ph[0]));
	if (err)
		return err;
	for (i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD)
			add_text(out, &ph[i]);
		else if (ph[i].p_type == PT_NOTE)
			read_notes(f, &ph[i], out);
		else if (ph[i].p_type == PT_GNU_EH_FRAME)
			out->frame_hdr = ph[i].p_vaddr;
	}
	return 0;
}

/* Returns true for the encodings that linkers use: signed offsets from the table's section. */
static bool is_searchable(const uint8_t hdr[12])
{
	return hdr[0] == 1 && (hdr[2] & 0x0f) == 0x03 && hdr[3] == 0x3b;
}

/* Reads the first address of the table's row i. */
static bool row_start(const struct elf_file *f, const struct elf_segments *s, uint32_t i,
		      uint64_t *start)
{
	int32_t off;

	if (elf_file_read(f, s->frame_hdr + 12 + i * 8ull, &off, sizeof(off)))
		return false;
	*start = s->frame_hdr + (int64_t)off;
	return true;
}

uint64_t elf_segments_start(const struct elf_file *f, const struct elf_segments *s, uint64_t addr)
{
	uint64_t start = 0, found = 0;
	uint32_t low = 0, high, middle;
	uint8_t hdr[12];

	if (!s->frame_hdr || elf_file_read(f, s->frame_hdr, hdr, sizeof(hdr)) ||
	    !is_searchable(hdr))
		return 0;
	memcpy(&high, hdr + 8, sizeof(high));
	while (low < high) {
		middle = low + (high - low) / 2;
		if (!row_start(f, s, middle, &start))
			return 0;
		if (start <= addr) {
			found = start;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Reads the first addresses of cnt rows. Returns how many there are in the file. */
static size_t read_starts(const struct elf_file *f, const struct elf_segments *s, uint64_t *starts,
			  uint32_t cnt)
{
	struct { int32_t start, fde; } rows[512];
	size_t done = 0, some, i;
	ssize_t n;

	while (done < cnt) {
		some = cnt - done < ARRAY_SIZE(rows) ? cnt - done : ARRAY_SIZE(rows);
		n = elf_file_read_some(f, s->frame_hdr + 12 + done * sizeof(rows[0]), rows,
				       some * sizeof(rows[0]));
		if (n < (ssize_t)sizeof(rows[0]))
			break;
		some = (size_t)n / sizeof(rows[0]);
		for (i = 0; i < some; i++)
			starts[done++] = s->frame_hdr + (int64_t)rows[i].start;
	}
	return done;
}

/* By the search table. */
static uint64_t *starts_of_table(const struct elf_file *f, const struct elf_segments *s,
				 size_t *cnt)
{
	uint64_t *starts;
	uint8_t hdr[12];
	uint32_t rows;

	if (elf_file_read(f, s->frame_hdr, hdr, sizeof(hdr)) || !is_searchable(hdr))
		return NULL;
	memcpy(&rows, hdr + 8, sizeof(rows));
	if (rows > ELF_STARTS_MAX)
		rows = ELF_STARTS_MAX;
	starts = calloc(rows, sizeof(*starts));
	*cnt = starts ? read_starts(f, s, starts, rows) : 0;
	return starts;
}

/* By the FDEs themselves. */
static uint64_t *starts_of_entries(const struct elf_file *f, size_t *cnt)
{
	struct cfi_entries *entries = malloc(sizeof(*entries));
	uint64_t *starts = NULL;
	struct cfi_section s;
	struct cfi_fde fde;
	size_t cap = 0;
	int what = 1;

	if (!cfi_section_read_eh(f, &s) && entries) {
		cfi_entries_begin(entries, &s);
		while (what && *cnt < ELF_STARTS_MAX) {
			what = cfi_entries_next(entries, &fde);
			if (what > 0 && array_add(starts, *cnt, cap, fde.start))
				what = 0;
		}
	}
	cfi_section_free(&s);
	free(entries);
	return starts;
}

uint64_t *elf_segments_starts(const struct elf_file *f, const struct elf_segments *s, size_t *cnt)
{
	uint64_t *starts;

	*cnt = 0;
	starts = s->frame_hdr ? starts_of_table(f, s, cnt) : starts_of_entries(f, cnt);
	if (starts)
		qsort(starts, *cnt, sizeof(*starts), by_value);
	return starts;
}

/* The sections with stubs are next to each other: .plt, .plt.got, .plt.sec. */
static void find_stubs(const struct elf_file *f, struct elf_facts *out)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec" };
	struct elf_range r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (elf_file_section(f, names[i], &r) || !(r.flags & SHF_EXECINSTR) || !r.size ||
		    r.size > UINT64_MAX - r.vaddr)
			continue;
		if (!out->plt_end || r.vaddr < out->plt_start)
			out->plt_start = r.vaddr;
		if (r.vaddr + r.size > out->plt_end)
			out->plt_end = r.vaddr + r.size;
	}
}

void elf_facts_fill(const struct elf_file *f, const struct elf_segments *s, struct elf_facts *out)
{
	struct elf_range symtab;
	struct elf_symbol eval;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	memcpy(out->build_id, s->build_id, sizeof(out->build_id));
	out->build_id_bytes = s->build_id_bytes;
	out->machine = f->machine;
	out->stripped = elf_file_section(f, ".symtab", &symtab) || !symtab.size;
	out->load_cnt = s->text_cnt;
	for (i = 0; i < s->text_cnt; i++) {
		const struct elf_load *l = &s->text[i];
		uint64_t end = l->vaddr + l->memsz;

		out->loads[i].off = l->off;
		out->loads[i].vaddr = l->vaddr;
		out->loads[i].filesz = l->filesz;
		if (!i || l->vaddr < out->text_start)
			out->text_start = l->vaddr;
		if (end > out->text_end)
			out->text_end = end;
	}
	find_stubs(f, out);
	if (!elf_file_dynsym(f, "_PyEval_EvalFrameDefault", &eval) && eval.value) {
		out->eval_start = eval.value;
		out->eval_end = eval.value + eval.size;
	}
}
