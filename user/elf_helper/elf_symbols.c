// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_symbols.c - see elf_symbols.h. System V gABI, chapter 4, "Symbol Table". */
#include "elf_helper/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "elf/elf.h"

#define SOURCES_MAX 4
#define READ_MAX (2ull * ELF_SYMBOLS_MAX)	/* of one table, including data and labels */
#define CHUNK 2048	/* symbols per read */
/* An address is searched in at most this many functions that begin before it. */
#define STEPS_MAX 4096

/* A string table: in a file or, of CPython's methods, in memory. */
struct source {
	struct elf_file file;
	uint64_t off, bytes;
	char *text;		/* NULL: in the file */
};

struct entry {
	uint64_t start;
	uint32_t size;		/* without a size: up to the end of its section, at first */
	uint32_t name;		/* offset in the source's string table */
	uint8_t source;
	uint8_t rank;		/* the highest one at an address gives the name */
	bool sized;
};

struct elf_symbols {
	struct source sources[SOURCES_MAX];
	unsigned int source_cnt;
	struct entry *entries;
	size_t cnt, cap;
};

struct elf_symbols *elf_symbols_new(void)
{
	return calloc(1, sizeof(struct elf_symbols));
}

void elf_symbols_free(struct elf_symbols *s)
{
	unsigned int i;

	if (!s)
		return;
	for (i = 0; i < s->source_cnt; i++)
		free(s->sources[i].text);
	free(s->entries);
	free(s);
}

size_t elf_symbols_bytes(const struct elf_symbols *s)
{
	size_t bytes = sizeof(*s) + s->cap * sizeof(*s->entries);
	unsigned int i;

	for (i = 0; i < s->source_cnt; i++)
		bytes += s->sources[i].text ? s->sources[i].bytes : 0;
	return bytes;
}

/* ---- reading a table ---- */

static uint32_t clamp32(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static uint8_t rank_of(const Elf64_Sym *sym)
{
	uint8_t type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	uint8_t rank = bind == STB_LOCAL ? 1 : bind == STB_WEAK ? 2 : 3;

	if (type != STT_NOTYPE)
		rank += 4;
	return sym->st_size ? rank + 8 : rank;
}

/* Returns true for a function. arm64 marks code and data by local symbols without a type. */
static bool is_code(const struct elf_file *f, const Elf64_Sym *sym)
{
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return f->machine != EM_AARCH64 || ELF64_ST_BIND(sym->st_info) != STB_LOCAL;
	}
	return false;
}

/* Returns 0, also if it is no function, or -ENOMEM. */
static int add_symbol(struct elf_symbols *s, const Elf64_Shdr *sections, const Elf64_Sym *sym)
{
	const struct source *src = &s->sources[s->source_cnt];
	const Elf64_Shdr *in;
	uint64_t room;

	if (!sym->st_shndx || sym->st_shndx >= src->file.shnum || !is_code(&src->file, sym) ||
	    !sym->st_name || sym->st_name >= src->bytes)
		return 0;
	in = &sections[sym->st_shndx];
	room = in->sh_size - (sym->st_value - in->sh_addr);
	if (!(in->sh_flags & SHF_EXECINSTR) || sym->st_value < in->sh_addr ||
	    sym->st_value - in->sh_addr >= in->sh_size)
		return 0;
	return array_add(s->entries, s->cnt, s->cap, (struct entry){
		.start = sym->st_value, .size = clamp32(sym->st_size ? sym->st_size : room),
		.name = sym->st_name, .source = (uint8_t)s->source_cnt, .rank = rank_of(sym),
		.sized = sym->st_size,
	});
}

static int read_table(struct elf_symbols *s, const Elf64_Shdr *sections, const Elf64_Shdr *table)
{
	const struct source *src = &s->sources[s->source_cnt];
	static Elf64_Sym syms[CHUNK];
	uint64_t cnt = table->sh_size / sizeof(syms[0]), done, some, i;
	int err = 0;

	if (cnt > READ_MAX)
		cnt = READ_MAX;
	for (done = 0; !err && done < cnt && s->cnt < ELF_SYMBOLS_MAX; done += some) {
		some = cnt - done < CHUNK ? cnt - done : CHUNK;
		err = elf_file_pread(&src->file, table->sh_offset + done * sizeof(syms[0]), syms,
				     some * sizeof(syms[0]));
		for (i = 0; !err && i < some; i++)
			err = add_symbol(s, sections, &syms[i]);
	}
	return err;
}

/* Returns the section headers, which the caller frees; NULL: there are none, or no memory. */
static Elf64_Shdr *read_sections(const struct elf_file *f)
{
	Elf64_Shdr *sections = f->shnum ? calloc(f->shnum, sizeof(*sections)) : NULL;

	if (sections && !elf_file_pread(f, f->shoff, sections, f->shnum * sizeof(*sections)))
		return sections;
	free(sections);
	return NULL;
}

static const Elf64_Shdr *find_table(const struct elf_file *f, const Elf64_Shdr *sections,
				    uint32_t type)
{
	uint32_t i;

	for (i = 0; i < f->shnum; i++)
		if (sections[i].sh_type == type && sections[i].sh_link < f->shnum &&
		    sections[i].sh_entsize == sizeof(Elf64_Sym))
			return &sections[i];
	return NULL;
}

int elf_symbols_add(struct elf_symbols *s, int fd, uint32_t type)
{
	struct source *src = &s->sources[s->source_cnt];
	const Elf64_Shdr *table, *names;
	Elf64_Shdr *sections;
	size_t before = s->cnt;
	int err;

	if (s->source_cnt == SOURCES_MAX)
		return -ENOSPC;
	err = elf_file_open(&src->file, fd);
	if (err)
		return err;
	sections = read_sections(&src->file);
	table = sections ? find_table(&src->file, sections, type) : NULL;
	if (!table || table->sh_offset > src->file.size) {
		free(sections);
		return -ENOENT;
	}
	names = &sections[table->sh_link];
	src->off = names->sh_offset;
	src->bytes = names->sh_size;
	err = read_table(s, sections, table);
	free(sections);
	s->source_cnt++;
	/* A truncated table keeps the symbols before its end. */
	return s->cnt > before || !err ? (int)(s->cnt - before) : err;
}

int elf_symbols_add_methods(struct elf_symbols *s, struct elf_methods *m)
{
	struct source *src = &s->sources[s->source_cnt];
	size_t i;
	int err = 0;

	if (!m->cnt)
		return 0;
	if (s->source_cnt == SOURCES_MAX)
		return -ENOSPC;
	*src = (struct source){ .bytes = m->text_bytes, .text = m->text };
	m->text = NULL;
	for (i = 0; !err && i < m->cnt; i++) {
		const struct elf_method *f = &m->functions[i];

		err = array_add(s->entries, s->cnt, s->cap, (struct entry){
			.start = f->start, .size = clamp32(f->end - f->start), .name = f->name,
			.source = (uint8_t)s->source_cnt, .sized = true,
		});
	}
	s->source_cnt++;
	return err;
}

/* ---- their order ---- */

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/*
 * A function without a size extends to the next one, ignoring labels inside functions. Entries at
 * the same address are alternatives to each other.
 */
void elf_symbols_sort(struct elf_symbols *s)
{
	uint64_t covered = 0, next = UINT64_MAX;
	size_t i, kept = 0;

	if (!s->cnt)
		return;
	qsort(s->entries, s->cnt, sizeof(*s->entries), by_address);
	for (i = s->cnt; i--;) {
		struct entry *e = &s->entries[i];

		if (i + 1 < s->cnt && s->entries[i + 1].start != e->start)
			next = s->entries[i + 1].start;
		if (!e->sized && next - e->start < e->size)
			e->size = (uint32_t)(next - e->start);
	}
	for (i = 0; i < s->cnt; i++) {
		const struct entry *e = &s->entries[i];

		if (!e->sized && e->start < covered)
			continue;
		if (e->sized && add_capped(e->start, e->size) > covered)
			covered = add_capped(e->start, e->size);
		s->entries[kept++] = *e;
	}
	s->cnt = kept;
}

/* ---- requests ---- */

/* Reads an entry's name into ELF_MANGLED_BYTES. Returns false if it has none. */
static bool read_name(const struct elf_symbols *s, const struct entry *e, char *name)
{
	const struct source *src = &s->sources[e->source];
	uint64_t len = src->bytes - e->name, some;
	size_t got = 0;
	char *version;

	if (src->text) {	/* shorter than ELF_MANGLED_BYTES */
		strcpy(name, src->text + e->name);
		return true;
	}
	if (len > ELF_MANGLED_BYTES - 1)
		len = ELF_MANGLED_BYTES - 1;
	while (got < len) {	/* most names are short */
		some = len - got < 128 ? len - got : got ? len - got : 128;
		if (elf_file_pread(&src->file, src->off + e->name + got, name + got, some))
			return false;
		if (memchr(name + got, '\0', some))
			break;
		got += some;
	}
	name[len] = '\0';
	version = strchr(name, '@');
	if (version && version != name)
		*version = '\0';
	return *name;
}

/* Number of the first entry after the address. */
static size_t first_after(const struct elf_symbols *s, uint64_t addr)
{
	size_t low = 0, high = s->cnt, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->entries[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entry that names the function which begins at this address, or NULL. */
static const struct entry *entry_at(const struct elf_symbols *s, uint64_t start)
{
	size_t i = first_after(s, start);

	while (i > 1 && s->entries[i - 2].start == start)
		i--;
	return i && s->entries[i - 1].start == start ? &s->entries[i - 1] : NULL;
}

int elf_symbols_add_parts(struct elf_symbols *s, const struct elf_parts *p)
{
	struct entry *found = NULL;
	size_t cnt = 0, cap = 0, i;
	int err = 0;

	for (i = 0; !err && i < p->cnt; i++) {
		const struct entry *function = entry_at(s, p->parts[i].function);
		struct entry part;

		if (!function || entry_at(s, p->parts[i].start))
			continue;
		part = *function;
		part.start = p->parts[i].start;
		part.size = clamp32(p->parts[i].end - part.start);
		part.sized = true;
		err = array_add(found, cnt, cap, part);
	}
	for (i = 0; !err && i < cnt; i++)
		err = array_add(s->entries, s->cnt, s->cap, found[i]);
	free(found);
	elf_symbols_sort(s);
	return err;
}

bool elf_symbols_find(const struct elf_symbols *s, uint64_t addr, char *name, uint64_t *start)
{
	const struct entry *best = NULL;
	size_t i = first_after(s, addr), steps;

	for (steps = 0; i && steps < STEPS_MAX; steps++) {
		const struct entry *e = &s->entries[--i];

		if (best && e->start != best->start)
			break;
		if (addr - e->start < e->size)
			best = e;	/* the best entry of an address comes first */
	}
	if (!best || !read_name(s, best, name))
		return false;
	*start = best->start;
	return true;
}

/* Number of the first pattern that matches the name, or -1. */
static int pattern_of(const struct elf_symbols *s, const struct entry *e, const char *name,
		      const char *patterns, uint32_t cnt)
{
	uint32_t i;

	/* The functions that the patterns mean are C functions, or methods of types. */
	if (s->sources[e->source].text && !strchr(name, '.'))
		return -1;

	for (i = 0; i < cnt; i++) {
		size_t len = strlen(patterns);

		if (len && patterns[len - 1] == '*' ? !strncmp(name, patterns, len - 1) :
						      !strcmp(name, patterns))
			return (int)i;
		patterns += len + 1;
	}
	return -1;
}

int elf_symbols_match(const struct elf_symbols *s, const char *patterns, uint32_t cnt, bool others,
		      struct elf_match **out)
{
	struct elf_match *found = NULL;
	size_t found_cnt = 0, cap = 0, i;
	char name[ELF_MANGLED_BYTES];
	int err = 0;

	for (i = 0; !err && i < s->cnt; i++) {
		const struct entry *e = &s->entries[i];
		int pattern = read_name(s, e, name) ? pattern_of(s, e, name, patterns, cnt) : -1;

		if (pattern < 0 && others)
			pattern = (int)cnt;
		if (pattern < 0)
			continue;
		err = found_cnt == ELF_MATCHES_MAX ? -E2BIG :
		      array_add(found, found_cnt, cap, (struct elf_match){
				e->start, add_capped(e->start, e->size), (uint32_t)pattern, 0 });
	}
	if (!err) {
		*out = found;
		return (int)found_cnt;
	}
	free(found);
	return err;
}
