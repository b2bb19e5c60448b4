// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_lines.c - see elf_lines.h. DWARF 5, 2.17, 3.3.8, 6.2. */
#include "elf_helper/elf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf.h"

#define UNITS_MAX 200000
#define RANGES_MAX (1u << 20)
#define DEPTH_MAX 64		/* of nested scopes */
#define DIES_MAX (1u << 20)	/* visited for one address */
#define STEPS_MAX 64		/* overlapping ranges of units */

/* A part of a compilation unit. */
struct unit {
	uint64_t start, end;
	Dwarf_Off die;
};

struct elf_lines {
	Elf *elf, *alt_elf;
	Dwarf *dw, *alt_dw;
	struct unit *units;
	size_t cnt, cap;
};

/* ---- the units ---- */

static int add_unit(struct elf_lines *l, uint64_t start, uint64_t end, Dwarf_Off die)
{
	struct unit *grown;

	if (start >= end)
		return 0;
	if (l->cnt == l->cap) {
		grown = array_grow(l->units, l->cnt, &l->cap, sizeof(*l->units));
		if (!grown)
			return -ENOMEM;
		l->units = grown;
	}
	l->units[l->cnt++] = (struct unit){ start, end, die };
	return 0;
}

static int add_ranges(struct elf_lines *l, Dwarf_Off off)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Die die;
	int err = 0;

	if (!dwarf_offdie(l->dw, off, &die))
		return 0;
	while (!err && l->cnt < RANGES_MAX &&
	       (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
		err = add_unit(l, start, end, off);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_units(struct elf_lines *l)
{
	Dwarf_Off off = 0, next;
	size_t head, n;
	int err = 0;

	for (n = 0; !err && n < UNITS_MAX; n++, off = next) {
		if (dwarf_nextcu(l->dw, off, &next, &head, NULL, NULL, NULL) || next <= off)
			break;
		err = add_ranges(l, off + head);
	}
	if (l->cnt)
		qsort(l->units, l->cnt, sizeof(*l->units), by_start);
	return err ? err : l->cnt ? 0 : -ENOENT;
}

/* libelf trusts what a file says about its sections, so we check it first. */
static Dwarf *open_dwarf(int fd, Elf **elf)
{
	struct elf_file f;

	if (elf_file_open(&f, fd) || !f.shnum)
		return NULL;
	*elf = elf_begin(fd, ELF_C_READ, NULL);
	return *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
}

struct elf_lines *elf_lines_new(int fd, int alt_fd)
{
	struct elf_lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return NULL;
	elf_version(EV_CURRENT);
	l->dw = open_dwarf(fd, &l->elf);
	if (l->dw && alt_fd >= 0)
		l->alt_dw = open_dwarf(alt_fd, &l->alt_elf);
	if (l->alt_dw)
		dwarf_setalt(l->dw, l->alt_dw);
	err = l->dw ? read_units(l) : -ENOENT;
	if (!err)
		return l;
	elf_lines_free(l);
	errno = -err;
	return NULL;
}

void elf_lines_free(struct elf_lines *l)
{
	if (!l)
		return;
	dwarf_end(l->dw);
	dwarf_end(l->alt_dw);
	elf_end(l->elf);
	elf_end(l->alt_elf);
	free(l->units);
	free(l);
}

/* ---- the functions at an address ---- */

struct walk {
	uint64_t addr;
	Dwarf_Die found[DEPTH_MAX];	/* functions, outermost first */
	unsigned int cnt, depth;
	uint32_t dies;
};

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Returns true for a scope without addresses in which functions are defined. */
static bool is_space(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_module || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static bool find_in_children(struct walk *w, Dwarf_Die *parent);

/* Returns true if the address is in this DIE. Functions inside it are found, too. */
static bool find_in_die(struct walk *w, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	if (is_space(tag))
		return find_in_children(w, die);
	if (!is_function(tag) && !is_block(tag))
		return false;
	if (dwarf_haspc(die, w->addr) <= 0)
		return false;
	if (is_function(tag) && w->cnt < DEPTH_MAX)
		w->found[w->cnt++] = *die;
	find_in_children(w, die);
	return true;
}

static bool find_in_children(struct walk *w, Dwarf_Die *parent)
{
	bool found = false;
	Dwarf_Die die;

	if (w->depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	w->depth++;
	do {
		found = find_in_die(w, &die);
	} while (!found && ++w->dies < DIES_MAX && !dwarf_siblingof(&die, &die));
	w->depth--;
	return found;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

/* Fills in the place where the inlined function was called. */
static void call_place(Dwarf_Die *unit, Dwarf_Die *die, struct elf_line *out)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t cnt;

	if (dwarf_attr(die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &line))
		out->line = line < UINT32_MAX ? (uint32_t)line : 0;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &file) &&
	    !dwarf_getsrcfiles(unit, &files, &cnt) && file < cnt)
		out->source = dwarf_filesrc(files, file, NULL, NULL);
}

static void line_place(Dwarf_Die *unit, uint64_t addr, struct elf_line *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, addr);
	int number;

	if (!line)
		return;
	out->source = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		out->line = (uint32_t)number;
}

/* Each function's line is where it called the next inner one. */
static unsigned int fill_lines(Dwarf_Die *unit, struct walk *w, struct elf_line *out)
{
	unsigned int cnt = w->cnt < ELF_INLINED_MAX ? w->cnt : ELF_INLINED_MAX, i;

	memset(out, 0, ELF_INLINED_MAX * sizeof(*out));
	for (i = 0; i < cnt; i++) {
		Dwarf_Die *die = &w->found[cnt - 1 - i];

		out[i].name = name_of(die);
		if (cnt - i < w->cnt)
			call_place(unit, &w->found[cnt - i], &out[i]);
		else
			line_place(unit, w->addr, &out[i]);
	}
	if (!cnt) {
		line_place(unit, w->addr, &out[0]);
		return out[0].source || out[0].line;
	}
	return cnt;
}

/* Returns false if the unit does not contain the address. */
static bool find_in(struct elf_lines *l, const struct unit *u, struct walk *w,
		    struct elf_line *out, unsigned int *cnt)
{
	Dwarf_Die unit;

	if (!dwarf_offdie(l->dw, u->die, &unit))
		return false;
	w->cnt = w->depth = 0;
	w->dies = 0;
	find_in_children(w, &unit);
	*cnt = fill_lines(&unit, w, out);
	return *cnt;
}

unsigned int elf_lines_find(struct elf_lines *l, uint64_t addr,
			    struct elf_line out[ELF_INLINED_MAX])
{
	struct walk w = { .addr = addr };
	size_t low = 0, high = l->cnt, steps;
	unsigned int cnt = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->units[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (steps = 0; low && steps < STEPS_MAX; steps++) {
		const struct unit *u = &l->units[--low];

		if (addr < u->end && find_in(l, u, &w, out, &cnt))
			break;
	}
	return cnt;
}
