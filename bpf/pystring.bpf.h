/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pystring.bpf.h - hashes of str objects: the names of code objects without a version. */
#ifndef TACHBPF_PYSTRING_H
#define TACHBPF_PYSTRING_H

#include "pyread.bpf.h"

/*
 * Read the str object at str, the address of its length, into s->name. One read is enough for a
 * short string; one at the end of a page before an unreadable one takes more. Returns 0, or -1.
 */
static __always_inline int fetch_string(struct scratch *s, u64 str, u32 data)
{
	u64 len;
	u32 n;

	note_reads(s, 1);
	if (!read_user(s->name, sizeof(s->name), str))
		return 0;
	count_reads(s, FAULT_READS);
	if (read_user(s->name, 8, str))
		return -1;
	len = *(u64 *)s->name;
	n = len < STRING_HEAD ? len : STRING_HEAD;
	barrier_var(n);
	return n > STRING_HEAD || read_user(s->name + data, n, str + data) ? -1 : 0;
}

/*
 * The hash of the string of this length that begins at text. head: its first STRING_HEAD bytes; the
 * place of their page in s->direct is kept.
 */
static __always_inline u32 hash_string(struct scratch *s, u64 text, u64 length, const u64 *head)
{
	_Static_assert(STRING_TAIL == 8 * READ_WORDS, "read_apart() reads the tail");
	if (length > STRING_HEAD &&
	    read_apart(text + length - STRING_TAIL)) {
		count_reads(s, FAULT_READS);
		return 0;
	}
	return string_hash(length, head, s->words);
}

/*
 * The same with the helper, for the string at str, the address of its length. Its text begins
 * `data` bytes further.
 */
static __always_inline u32 copy_and_hash(struct scratch *s, u64 str, u32 data)
{
	u64 length;

	if (fetch_string(s, str, data))
		return 0;
	length = *(u64 *)s->name;
	if (length > STRING_HEAD &&
	    read_user(s->words, STRING_TAIL, str + data + length - STRING_TAIL)) {
		count_reads(s, FAULT_READS);
		return 0;
	}
	return string_hash(length, (const u64 *)(s->name + data), s->words);
}

/* Where the text of a str object begins, counted from its length. */
static __always_inline u32 text_at(const struct scratch *s)
{
	return (s->l.str_data - s->l.str_length) & TEXT_MAX;
}

u32 string_by_helper(u64 str);
/*
 * copy_and_hash() where most strings are read directly. With external linkage, so that the verifier
 * checks it once.
 */
__weak __noinline u32 string_by_helper(u64 str)
{
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	return HAVE_DIRECT && s ? copy_and_hash(s, str, text_at(s)) : 0;
}

/* Returns string_hash() of the str object, or 0. */
static __always_inline u32 read_string_hash(struct scratch *s, u64 str)
{
	u32 data = text_at(s), hash;
	const struct direct_page *page;
	u64 at, length;

	str += s->l.str_length;
	if (!HAVE_DIRECT)
		return copy_and_hash(s, str, data);
	page = find_page_inline(s, str, TEXT_MAX);
	if (likely(page)) {
		note_direct_read(s);
		at = page->at + str % PAGE_BYTES;
		length = *kernel_words(at);
		/* What is behind the page is loaded, too: the text must not reach it. */
		if (str % PAGE_BYTES + data + (length < STRING_HEAD ? length : STRING_HEAD) <=
		    PAGE_BYTES) {
			hash = hash_string(s, str + data, length, kernel_words(at + data));
			if (likely(is_still(page)))
				return hash;
		}
	}
	return string_by_helper(str);
}

/*
 * names_hash() of s->fields. The hash of the last file name is kept: adjacent frames often have the
 * same file.
 */
static __always_inline u32 read_names_hash(struct scratch *s)
{
	const struct code_fields *c = &s->fields;
	u32 i, hash = 0;

	/*
	 * A loop, so that both share the code. Older verifiers refuse one that is entered in the
	 * middle, as clang would make it if it knew i.
	 */
#pragma clang loop unroll(disable)
	for (i = 0; i < 2; i++) {
		barrier_var(i);
		if (!i && s->file == c->filename)
			continue;
		hash = read_string_hash(s, i ? c->qualname : c->filename);
		if (!i) {
			s->file_hash = hash;
			s->file = c->filename;
		}
	}
	return names_hash(hash, s->file_hash);
}

#endif
