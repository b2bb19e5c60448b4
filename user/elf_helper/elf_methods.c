// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_methods.c - see elf_methods.h: finds the tables in a file's writable data by their form.
 *
 * CPython v3.13.0: PyMethodDef in Include/methodobject.h, PyGetSetDef in Include/descrobject.h,
 * PyModuleDef in Include/moduleobject.h, PyType_Spec in Include/object.h; the same in 3.6 to 3.15.
 */
#include "elf_helper/elf_methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf_image.h"
#include "elf_helper/elf_slots.h"
#include "elf_helper/method_names.h"

#define ENTRIES_MAX 4096	/* of one table */
#define TABLES_MAX 65536
#define SLOTS_MAX 128		/* of one PyType_Spec; the highest number is below this, too */
#define OBJECT_BYTES_MAX 65536	/* of an instance */
#define METHOD_FLAGS 0x3ff	/* METH_VARARGS ... METH_METHOD */
#define STATE_BYTES_MAX (1u << 20)	/* of a module */

enum { METHOD_WORDS = 4, GETSET_WORDS = 5, SPEC_WORDS = 4 };

/* An array of PyMethodDef or PyGetSetDef. */
struct table {
	uint64_t vaddr;
	uint32_t cnt;
	uint8_t words;		/* of an entry */
	bool owned;		/* a type or a module has it */
};

struct reading {
	const struct elf_file *f;
	struct elf_image image;
	struct method_names *names;
	struct table *tables;	/* sorted */
	size_t cnt, cap;
};

/* ---- words ---- */

static const struct elf_load *load_at(const struct elf_file *f, uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < f->load_cnt; i++)
		if (addr >= f->loads[i].vaddr && addr - f->loads[i].vaddr < f->loads[i].memsz)
			return &f->loads[i];
	return NULL;
}

/* Returns true for what a pointer to a function may be, or to data. */
static bool may_be_code(const struct reading *r, uint64_t word)
{
	const struct elf_load *l = load_at(r->f, word);

	return !word || word == ELF_IMAGE_ELSEWHERE || (l && l->executable);
}

/* Some linkers put strings into the segment of the code. */
static bool may_be_data(const struct reading *r, uint64_t word)
{
	const struct elf_load *l = load_at(r->f, word);

	return !word || word == ELF_IMAGE_ELSEWHERE ||
	       (l && (!l->executable || !method_is_function(r->names, word)));
}

/* Offsets of fields in an object. */
static bool is_offset(uint64_t word)
{
	return word + OBJECT_BYTES_MAX <= 2ull * OBJECT_BYTES_MAX;
}

/* ---- tables of methods and attributes ---- */

/* Returns true if the `left` words from w on begin with an entry. */
static bool is_method(const struct reading *r, const uint64_t *w, size_t left)
{
	return left >= METHOD_WORDS && w[2] && w[2] <= METHOD_FLAGS && w[0] && w[1] &&
	       (w[1] == ELF_IMAGE_ELSEWHERE || method_is_function(r->names, w[1])) &&
	       may_be_data(r, w[3]) && method_word(r->names, w[0]);
}

static bool is_getset(const struct reading *r, const uint64_t *w, size_t left)
{
	return left >= GETSET_WORDS && w[0] && may_be_code(r, w[1]) && may_be_code(r, w[2]) &&
	       (method_is_function(r->names, w[1]) || method_is_function(r->names, w[2])) &&
	       may_be_data(r, w[3]) && method_word(r->names, w[0]);
}

static uint32_t entries_of(const struct reading *r, const uint64_t *w, size_t left, uint8_t words)
{
	uint32_t cnt = 0;

	while (cnt < ENTRIES_MAX &&
	       (words == METHOD_WORDS ? is_method : is_getset)(r, w, left)) {
		cnt++;
		w += words;
		left -= words;
	}
	return cnt;
}

static int find_tables(struct reading *r, const struct elf_image_part *part)
{
	struct table t = { 0 };
	size_t i;

	for (i = 0; i < part->cnt; i += t.cnt ? (size_t)t.cnt * t.words : 1) {
		const uint64_t *w = part->words + i;

		t.words = METHOD_WORDS;
		t.cnt = entries_of(r, w, part->cnt - i, t.words);
		if (!t.cnt) {
			t.words = GETSET_WORDS;
			t.cnt = entries_of(r, w, part->cnt - i, t.words);
		}
		if (!t.cnt || r->cnt == TABLES_MAX)
			continue;
		t.vaddr = part->vaddr + i * 8;
		if (array_add(r->tables, r->cnt, r->cap, t))
			return -ENOMEM;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct table *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static struct table *table_at(const struct reading *r, uint64_t vaddr)
{
	const struct table key = { .vaddr = vaddr };

	if (!r->cnt || vaddr < r->tables[0].vaddr || vaddr > r->tables[r->cnt - 1].vaddr)
		return NULL;
	return bsearch(&key, r->tables, r->cnt, sizeof(key), by_address);
}

/* Names the functions of a table, which belongs to this type or module. */
static int name_entries(struct reading *r, const struct table *t, uint32_t owner)
{
	enum method_rank rank = t->words == METHOD_WORDS ? RANK_METHOD : RANK_GETSET;
	int err = 0;
	size_t left;
	const uint64_t *w = elf_image_at(&r->image, t->vaddr, &left);
	uint32_t i;

	/* Segments that overlap, or wrap: another one is at this address. */
	if (!w || left < (size_t)t->cnt * t->words)
		return 0;
	for (i = 0; !err && i < t->cnt; i++, w += t->words) {
		uint32_t word = method_word(r->names, w[0]);

		err = method_use(r->names, w[1], rank, owner, word);
		if (!err && rank == RANK_GETSET)
			err = method_use(r->names, w[2], rank, owner, word);
	}
	return err;
}

static int own_table(struct reading *r, uint64_t vaddr, uint32_t owner)
{
	struct table *t = table_at(r, vaddr);

	if (!t)
		return 0;
	t->owned = true;
	return name_entries(r, t, owner);
}

/* ---- types ---- */

static bool is_type(const struct reading *r, const uint64_t *w, size_t left)
{
	static const uint8_t code[] = { 3, 5, 6, 8, 12, 13, 14, 15, 16, 20, 21, 22, 24, 25, 31, 32,
					34, 35, 36, 37, 38 };
	static const uint8_t data[] = { TYPE_ASYNC, TYPE_NUMBER, TYPE_SEQUENCE, TYPE_MAPPING,
					TYPE_BUFFER, TYPE_DOC, TYPE_METHODS, TYPE_MEMBERS,
					TYPE_GETSET, TYPE_BASE };
	unsigned int used = 0, i;

	if (left < TYPE_WORDS || !w[TYPE_NAME] || w[TYPE_SIZE] >= OBJECT_BYTES_MAX ||
	    w[TYPE_ITEM_SIZE] >= OBJECT_BYTES_MAX || w[TYPE_FLAGS] > UINT32_MAX ||
	    !is_offset(w[TYPE_WEAKLIST]) || !is_offset(w[TYPE_DICT_OFFSET]))
		return false;
	for (i = 0; i < ARRAY_SIZE(code); i++) {
		if (!may_be_code(r, w[code[i]]))
			return false;
		used += w[code[i]] != 0;
	}
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		if (!may_be_data(r, w[data[i]]))
			return false;
		used += w[data[i]] != 0;
	}
	return used > 0;
}

/* Names a slot of the type whose words are w; the table is elsewhere if slot->table is set. */
static int name_slot(struct reading *r, const uint64_t *w, size_t left,
		     const struct elf_slot *slot, uint32_t owner)
{
	enum method_rank rank = slot->id == SLOT_VECTORCALL ? RANK_VECTORCALL : RANK_SLOT;
	size_t cnt = left;

	if (slot->word == SLOT_NO_WORD)
		return 0;
	if (slot->table)
		w = elf_image_at(&r->image, w[slot->table], &cnt);
	if (!w || slot->word >= cnt)
		return 0;
	return method_use(r->names, w[slot->word], rank, owner,
			  method_literal(r->names, slot->name));
}

/* A number or text with functions behind it looks like an attribute: tp_doc with tp_traverse. */
static void drop_tables_within(struct reading *r, uint64_t type)
{
	struct table *t;
	unsigned int i;

	for (i = 0; i < TYPE_WORDS; i++) {
		t = table_at(r, type + i * 8);
		if (t)
			t->owned = true;
	}
}

static int take_type(struct reading *r, uint64_t vaddr, const uint64_t *w, size_t left)
{
	uint32_t owner = method_path(r->names, w[TYPE_NAME]);
	const struct elf_slot *slots;
	size_t cnt, i;
	int err;

	if (!owner)
		return 0;
	drop_tables_within(r, vaddr);
	err = method_type(r->names, vaddr, owner, w[TYPE_BASE]);
	if (!err)
		err = own_table(r, w[TYPE_METHODS], owner);
	if (!err)
		err = own_table(r, w[TYPE_GETSET], owner);
	slots = elf_slots(&cnt);
	for (i = 0; !err && i < cnt; i++)
		err = name_slot(r, w, left, &slots[i], owner);
	return err;
}

/* ---- PyType_Spec ---- */

/* Returns the number of PyType_Slots; 0: they are none. A slot is a number and a pointer. */
static uint32_t count_slots(const struct reading *r, const uint64_t *w, size_t left)
{
	uint32_t cnt;

	for (cnt = 0; cnt < SLOTS_MAX && left >= 2 && w[0]; cnt++, w += 2, left -= 2)
		if (w[0] > UINT32_MAX || (uint16_t)w[0] >= SLOTS_MAX ||
		    (!may_be_code(r, w[1]) && !may_be_data(r, w[1])))
			return 0;
	return left >= 2 && !w[0] ? cnt : 0;
}

static int take_spec(struct reading *r, const uint64_t *spec)
{
	size_t left;
	const uint64_t *w = elf_image_at(&r->image, spec[3], &left);
	uint32_t cnt = w ? count_slots(r, w, left) : 0, i;
	uint32_t owner = cnt ? method_path(r->names, spec[0]) : 0;
	int err = 0;

	for (i = 0; owner && !err && i < cnt; i++, w += 2) {
		uint16_t id = (uint16_t)w[0];
		const struct elf_slot *slot = elf_slot_of(id);

		if (id == SLOT_METHODS || id == SLOT_GETSET)
			err = own_table(r, w[1], owner);
		else if (slot)
			err = method_use(r->names, w[1], RANK_SLOT, owner,
					 method_literal(r->names, slot->name));
	}
	return err;
}

/* name, int basicsize, int itemsize, unsigned int flags, slots */
static bool may_be_spec(const uint64_t *w, size_t left)
{
	return left >= SPEC_WORDS && w[0] && w[3] && w[2] <= UINT32_MAX &&
	       is_offset((uint64_t)(int32_t)w[1]) && w[1] >> 32 < OBJECT_BYTES_MAX;
}

/* ---- modules ---- */

/* m_name, m_doc, m_size, m_methods: w is the last of them. */
static int take_module(struct reading *r, const uint64_t *w)
{
	uint32_t name;

	if (!may_be_data(r, w[-2]) || w[-1] + 1 > STATE_BYTES_MAX)
		return 0;
	name = method_path(r->names, w[-3]);
	return name ? own_table(r, *w, name) : 0;
}

/* ---- all of it ---- */

static int find_owners(struct reading *r, const struct elf_image_part *part)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < part->cnt; i++) {
		const uint64_t *w = part->words + i;

		if (is_type(r, w, part->cnt - i))
			err = take_type(r, part->vaddr + i * 8, w, part->cnt - i);
		else if (may_be_spec(w, part->cnt - i))
			err = take_spec(r, w);
		if (!err && i >= 3 && table_at(r, *w))
			err = take_module(r, w);
	}
	return err;
}

/* Tables that are given to a type or a module at run time: whose they are is not known. */
static int name_others(struct reading *r)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->cnt; i++)
		if (!r->tables[i].owned)
			err = name_entries(r, &r->tables[i], 0);
	return err;
}

static int read_tables(struct reading *r)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < r->image.part_cnt; i++)
		err = find_tables(r, &r->image.parts[i]);
	if (r->cnt)
		qsort(r->tables, r->cnt, sizeof(*r->tables), by_address);
	for (i = 0; !err && i < r->image.part_cnt; i++)
		err = find_owners(r, &r->image.parts[i]);
	return err ? err : name_others(r);
}

/* Returns true if the file defines or uses a function of CPython's C API. */
static bool is_of_cpython(const struct elf_file *f)
{
	char names[4096];
	uint64_t at = 0;
	ssize_t n;

	/* Parts overlap: a name may begin at the end of one. */
	for (; at < f->dyn.strtab_bytes; at += sizeof(names) - 4) {
		n = elf_file_read_some(f, f->dyn.strtab + at, names, sizeof(names));
		if (n <= 0)
			return false;
		if (memmem(names, (size_t)n, "\0Py", 3) || memmem(names, (size_t)n, "\0_Py", 4))
			return true;
	}
	return false;
}

int elf_methods_read(const struct elf_file *f, const struct elf_segments *s,
		     struct elf_methods *out)
{
	struct reading r = { .f = f };
	int err;

	memset(out, 0, sizeof(*out));
	if (!is_of_cpython(f))
		return 0;
	r.names = method_names_new(f, s);
	err = r.names ? elf_image_read(f, &r.image) : -ENOMEM;
	if (!err)
		err = read_tables(&r);
	if (!err)
		err = method_names_resolve(r.names, out);
	elf_image_free(&r.image);
	free(r.tables);
	method_names_free(r.names);
	return err;
}

void elf_methods_free(struct elf_methods *m)
{
	free(m->functions);
	free(m->text);
	memset(m, 0, sizeof(*m));
}
