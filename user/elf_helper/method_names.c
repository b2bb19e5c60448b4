// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* method_names.c - see method_names.h. Names, and the work on them, have limits. */
#include "elf_helper/method_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"

#define NAME_MAX_BYTES 128
#define STRINGS_MAX 200000	/* that are read, whether they are names or not */
#define TEXT_MAX (8u << 20)
#define USES_MAX (1u << 18)
#define TYPES_MAX 65536
/* Of types with the same function: further ones, and further bases, are not looked at. */
#define OWNERS_MAX 64
#define BASES_MAX 8
/* From the beginning of PyTypeObject to tp_name: PyObject_VAR_HEAD; in a free-threaded build. */
static const uint64_t heads[] = { 24, 40 };

struct type {
	uint64_t vaddr, base;
	uint32_t name, base_name;	/* base_name 0: unknown */
};

struct use {
	uint64_t start;
	uint32_t order;		/* which came first */
	uint32_t owner, word;
	uint8_t rank;
};

struct method_names {
	const struct elf_file *f;
	uint64_t *starts;	/* of functions, sorted */
	size_t start_cnt;
	struct u64map strings;	/* address -> struct string, packed */
	size_t string_cnt;
	struct buf text;	/* a string's number is its offset + 1 */
	struct type *types;
	size_t type_cnt, type_cap;
	struct use *uses;
	size_t use_cnt, use_cap;
};

struct method_names *method_names_new(const struct elf_file *f, const struct elf_segments *s)
{
	struct method_names *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->f = f;
	m->starts = elf_segments_starts(f, s, &m->start_cnt);
	return m;
}

void method_names_free(struct method_names *m)
{
	if (!m)
		return;
	u64map_free(&m->strings);
	buf_free(&m->text);
	free(m->starts);
	free(m->types);
	free(m->uses);
	free(m);
}

/* ---- functions ---- */

/* Returns the index of the first function after addr. */
static size_t first_after(const struct method_names *m, uint64_t addr)
{
	size_t low = 0, high = m->start_cnt, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->starts[middle] <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool method_is_function(const struct method_names *m, uint64_t addr)
{
	size_t i = first_after(m, addr);

	return i && m->starts[i - 1] == addr;
}

/* A function ends where the next one begins, or with its segment. */
static uint64_t end_of(const struct method_names *m, uint64_t start)
{
	size_t next = first_after(m, start);
	unsigned int i;

	if (next < m->start_cnt)
		return m->starts[next];
	for (i = 0; i < m->f->load_cnt; i++) {
		const struct elf_load *l = &m->f->loads[i];

		if (start >= l->vaddr && start - l->vaddr < l->memsz)
			return l->vaddr + l->memsz;
	}
	return start + 1;
}

/* ---- strings ---- */

/* A string's number, and whether it has a dot, in a pointer that is never NULL. */
static void *pack(uint32_t number, bool dotted)
{
	return (void *)((uintptr_t)number << 2 | (uintptr_t)dotted << 1 | 1);
}

static const char *text_of(const struct method_names *m, uint32_t number)
{
	return (const char *)m->text.data + number - 1;
}

/* Adds a string of len bytes and a NUL. Returns its number, or 0. */
static uint32_t add_text(struct method_names *m, const char *s, size_t len)
{
	uint32_t number = (uint32_t)m->text.len + 1;

	if (m->text.len + len + 1 > TEXT_MAX)
		return 0;
	return buf_add(&m->text, s, len) || buf_add(&m->text, "", 1) ? 0 : number;
}

/* Returns the length of identifiers with dots between them; 0: it is something else. */
static size_t path_length(const char *s, size_t room, bool *dotted)
{
	bool begins = true;
	size_t i;

	*dotted = false;
	for (i = 0; i < room && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		/* "method-wrapper" is a type. */
		if (c > 127 || (!isalpha(c) && c != '_' &&
				(begins || (!isdigit(c) && c != '.' && c != '-'))))
			return 0;
		begins = c == '.';
		*dotted |= begins || c == '-';
	}
	return i < room && !begins ? i : 0;
}

/* Reads the string at an address, once. */
static void *string_at(struct method_names *m, uint64_t addr)
{
	void *known = u64map_get(&m->strings, addr);
	char s[NAME_MAX_BYTES];
	bool dotted = false;
	size_t len = 0;
	ssize_t n;

	if (known || m->string_cnt == STRINGS_MAX)
		return known ? known : pack(0, false);
	m->string_cnt++;
	n = elf_file_read_some(m->f, addr, s, sizeof(s));
	if (n > 0)
		len = path_length(s, (size_t)n, &dotted);
	known = pack(len ? add_text(m, s, len) : 0, dotted);
	return u64map_put(&m->strings, addr, known) ? pack(0, false) : known;
}

uint32_t method_path(struct method_names *m, uint64_t addr)
{
	return (uint32_t)((uintptr_t)string_at(m, addr) >> 2);
}

uint32_t method_word(struct method_names *m, uint64_t addr)
{
	void *s = string_at(m, addr);

	return (uintptr_t)s & 2 ? 0 : (uint32_t)((uintptr_t)s >> 2);
}

uint32_t method_literal(struct method_names *m, const char *text)
{
	/* No address in a file is that high: elf_file_read_some() has refused it. */
	uint64_t key = (uint64_t)(uintptr_t)text | 1ull << 63;
	void *known = u64map_get(&m->strings, key);
	uint32_t number;

	if (known)
		return (uint32_t)((uintptr_t)known >> 2);
	number = add_text(m, text, strlen(text));
	return u64map_put(&m->strings, key, pack(number, false)) ? 0 : number;
}

static bool is_same(const struct method_names *m, uint32_t a, uint32_t b)
{
	return a == b || (a && b && !strcmp(text_of(m, a), text_of(m, b)));
}

/* ---- what the tables say ---- */

int method_type(struct method_names *m, uint64_t vaddr, uint32_t name, uint64_t base)
{
	const struct type t = { .vaddr = vaddr, .base = base, .name = name };

	if (m->type_cnt == TYPES_MAX)
		return 0;
	return array_add(m->types, m->type_cnt, m->type_cap, t);
}

int method_use(struct method_names *m, uint64_t addr, enum method_rank rank, uint32_t owner,
	       uint32_t word)
{
	const struct use u = { .start = addr, .order = (uint32_t)m->use_cnt, .owner = owner,
			       .word = word, .rank = (uint8_t)rank };

	if (!word || m->use_cnt == USES_MAX || !method_is_function(m, addr))
		return 0;
	return array_add(m->uses, m->use_cnt, m->use_cap, u);
}

/* ---- the common base of types ---- */

static int by_vaddr(const void *a, const void *b)
{
	const struct type *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int by_name(const void *a, const void *b)
{
	const struct type *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

/* Finds the name of each type's base; then sorts types by their names. */
static void link_bases(struct method_names *m)
{
	size_t i, k;

	if (!m->type_cnt)
		return;
	qsort(m->types, m->type_cnt, sizeof(*m->types), by_vaddr);
	for (i = 0; i < m->type_cnt; i++)
		for (k = 0; k < ARRAY_SIZE(heads) && !m->types[i].base_name; k++) {
			const struct type key = { .vaddr = m->types[i].base + heads[k] };
			const struct type *base = bsearch(&key, m->types, m->type_cnt,
							  sizeof(key), by_vaddr);

			if (base)
				m->types[i].base_name = base->name;
		}
	qsort(m->types, m->type_cnt, sizeof(*m->types), by_name);
}

static uint32_t base_of(const struct method_names *m, uint32_t name)
{
	const struct type key = { .name = name };
	const struct type *t = m->type_cnt ? bsearch(&key, m->types, m->type_cnt, sizeof(key),
						     by_name) : NULL;

	return t ? t->base_name : 0;
}

static bool has_base(const struct method_names *m, uint32_t name, uint32_t base)
{
	unsigned int i;

	for (i = 0; name && i < BASES_MAX; i++) {
		if (is_same(m, name, base))
			return true;
		name = base_of(m, name);
	}
	return false;
}

/* Returns the name of the first owner, or of its nearest base, that all others have; 0: none. */
static uint32_t common_base(const struct method_names *m, const struct use *uses, size_t cnt)
{
	uint32_t base = uses[0].owner;
	unsigned int tries;
	size_t i;

	if (cnt > OWNERS_MAX)
		cnt = OWNERS_MAX;
	for (tries = 0; base && tries < BASES_MAX; tries++) {
		for (i = 1; i < cnt && has_base(m, uses[i].owner, base); i++)
			;
		if (i == cnt)
			return base;
		base = base_of(m, base);
	}
	return 0;
}

/* Returns the length of what all owners have in common of "module.", with the dot. 0: nothing. */
static size_t common_module(const struct method_names *m, const struct use *uses, size_t cnt)
{
	const char *first = uses[0].owner ? text_of(m, uses[0].owner) : "";
	const char *dot = strrchr(first, '.');
	size_t len = dot ? (size_t)(dot - first) + 1 : 0, i;

	for (i = 1; len && i < cnt; i++)
		if (!uses[i].owner || strncmp(text_of(m, uses[i].owner), first, len))
			return 0;
	return len;
}

/* ---- one name for each function ---- */

static int by_start(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return (int)x->rank - (int)y->rank;
	return (x->order > y->order) - (x->order < y->order);
}

/* Appends "owner.word". Functions of builtins have no prefix in Python either. */
static int put_name(struct buf *text, const char *owner, size_t len, const char *word)
{
	static const char builtins[] = "builtins.";
	int err = 0;

	if (len && !(len == sizeof(builtins) - 1 && !memcmp(owner, builtins, len)))
		err = buf_add(text, owner, len);
	return err ? err : buf_add(text, word, strlen(word) + 1);
}

/*
 * Appends the name of a function with cnt uses of the same rank. Returns 0; -ENOENT: they do not
 * agree, so there is none; -ENOMEM.
 */
static int name_function(const struct method_names *m, const struct use *uses, size_t cnt,
			 struct buf *text)
{
	bool same_owner = true, same_word = true;
	char module[NAME_MAX_BYTES + 2] = "";
	const char *word = text_of(m, uses[0].word);
	uint32_t owner;
	size_t len = 0, i;

	for (i = 1; i < cnt; i++) {
		same_owner &= is_same(m, uses[i].owner, uses[0].owner);
		same_word &= is_same(m, uses[i].word, uses[0].word);
	}
	if (!same_owner && !same_word)
		return -ENOENT;
	owner = same_owner ? uses[0].owner : common_base(m, uses, cnt);
	if (owner)
		len = (size_t)snprintf(module, sizeof(module), "%s.", text_of(m, owner));
	else if (!same_owner && (len = common_module(m, uses, cnt)))
		len = (size_t)snprintf(module, sizeof(module), "%.*s*.", (int)len,
				       text_of(m, uses[0].owner));
	return put_name(text, module, len, word);
}

/* The length of the group of uses of one function; *ranked: those of its first rank. */
static size_t group_of(const struct use *uses, size_t cnt, size_t *ranked)
{
	size_t i;

	for (*ranked = 1; *ranked < cnt && uses[*ranked].start == uses[0].start &&
	     uses[*ranked].rank == uses[0].rank; (*ranked)++)
		;
	for (i = *ranked; i < cnt && uses[i].start == uses[0].start; i++)
		;
	return i;
}

int method_names_resolve(struct method_names *m, struct elf_methods *out)
{
	size_t cap = 0, i, group, ranked;
	struct buf text = { 0 };
	int err = 0;

	link_bases(m);
	if (m->use_cnt)
		qsort(m->uses, m->use_cnt, sizeof(*m->uses), by_start);
	for (i = 0; !err && i < m->use_cnt; i += group) {
		struct elf_method f = { .start = m->uses[i].start, .name = (uint32_t)text.len };

		group = group_of(m->uses + i, m->use_cnt - i, &ranked);
		err = name_function(m, m->uses + i, ranked, &text);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		f.end = end_of(m, f.start);
		if (!err)
			err = array_add(out->functions, out->cnt, cap, f);
	}
	out->text = (char *)text.data;
	out->text_bytes = text.len;
	return err;
}
