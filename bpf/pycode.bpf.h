/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pycode.bpf.h - identifies the code objects of frames, and sends their names.
 *
 * Computes the fingerprint of each frame's code object (abi.h, code_identity()), and sends a
 * snapshot of each code object that was not sent before. Knows offsets, but not the layout of
 * strings.
 */
#ifndef TACHBPF_PYCODE_H
#define TACHBPF_PYCODE_H

#include "pystring.bpf.h"

/* ---- fingerprints ---- */

/*
 * Add a code object to the sample's list of new ones unless it was sent before. Returns false if
 * the list is full.
 */
static __always_inline bool list_new_code(struct scratch *s, u64 code, u32 id)
{
	u64 hash = (s->ident ^ code * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL + id;
	u64 *sent;
	u32 n;

	hash ^= hash >> 32;
	sent = sent_slot(hash);
	if (likely(!sent || *sent == hash))
		return true;
	/*
	 * Read after the call: older verifiers forget the limits of a value that is kept on the
	 * stack during a call.
	 */
	n = s->new_cnt;
	if (n >= MAX_NEW_CODES)
		return false;
	barrier_var(n);
	s->new_codes[n & (MAX_NEW_CODES - 1)] =
		(struct new_code){ .code = code, .hash = hash, .id = id };
	s->new_cnt = n + 1;
	return true;
}

u32 read_code_id(u64 code, u64 stamp);

/*
 * Code objects that are next to each other have sets next to each other, so that those of a module
 * are on few pages.
 */
#define CACHE_SHIFT 8
static __always_inline struct code_cache_set *cache_set(struct code_cache *cache, u64 code)
{
	u64 place = (code >> CACHE_SHIFT) +
		    ((code >> CACHE_SHIFT) / CODE_CACHE_SETS * 0x9e3779b97f4a7c15ULL >> 32);

	return &cache->sets[place & (CODE_CACHE_SETS - 1)];
}

/* Whatever is known of the code object at this address, in any process, is no longer valid. */
static __always_inline void forget_code(struct code_cache *cache, u64 code)
{
	struct code_cache_set *set = cache_set(cache, code);

	if (set->first.code == code)
		set->first.stamp = 0;
	else if (set->second.code == code)
		set->second.stamp = 0;
}

/* The first place is for another code object: the current one moves, and the last one goes. */
static __always_inline void make_room(struct code_cache_set *set, u32 process)
{
	if (set->second.code && set->second.process == process)
		count_one(CNT_CACHE_EVICTED);
	set->second = set->first;
}

/* Not a function for the reason of FRAME_FIELDS() (pyunwind.bpf.h). */
#define CODE_FIELDS(c, l, FIELD)                                                                   \
	do {                                                                                       \
		(c)->filename = FIELD(u64, (l)->co_filename);                                      \
		(c)->name = FIELD(u64, (l)->co_name);                                              \
		(c)->qualname = FIELD(u64, (l)->co_qualname);                                      \
		(c)->linetable = FIELD(u64, (l)->co_linetable);                                    \
		(c)->firstlineno = FIELD(u32, (l)->co_firstlineno);                                \
		(c)->version = (l)->co_version != ABI_NO_OFF ? FIELD(u32, (l)->co_version) : 0;    \
	} while (0)

/* Read those of the code object into s->fields. Returns 0, or -1. */
static __always_inline int fetch_code(struct scratch *s, u64 code)
{
	struct code_fields *c = &s->fields;
	u64 base = s->l.co_firstlineno & ~7, at;
	const struct direct_page *page;

	page = find_page_inline(s, code + base, CODE_BYTES);
	if (likely(page)) {
		note_direct_read(s);
		at = page->at + (code + base) % PAGE_BYTES;
#define LOADED(type, off) (*(const type *)kernel_words(at + (((off) - base) & FIELD_MASK)))
		CODE_FIELDS(c, &s->l, LOADED);
#undef LOADED
		if (likely(is_still(page)))
			return 0;
	}
	note_reads(s, 1);
	if (read_user(s->code, CODE_BYTES, code + base)) {
		count_reads(s, FAULT_READS);
		return -1;
	}
#define COPIED(type, off) (*(const type *)(s->code + (((off) - base) & FIELD_MASK)))
	CODE_FIELDS(c, &s->l, COPIED);
#undef COPIED
	return 0;
}

/*
 * Read a code object and compute its fingerprint, and cache that under stamp. Returns 0 if it is
 * unreadable. The function has external linkage, so the verifier checks it once and not at every
 * step of the walk.
 */
__weak __noinline u32 read_code_id(u64 code, u64 stamp)
{
	struct code_cache_set *set;
	struct code_cache_entry *e;
	struct code_cache *cache;
	u32 zero = 0, id, process;
	struct code_fields *c;
	struct scratch *s;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	c = &s->fields;
	c->version = 0;
	if (!fetch_code(s, code) && !c->version)
		c->version = read_names_hash(s);
	if (unlikely(!c->version)) {
		s->walk.unverified = 1;
		count_one(CNT_UNVERIFIED_CODE);
		return 0;
	}
	id = code_identity(c->filename, c->name, c->qualname, c->linetable, c->firstlineno,
			   c->version);
	/*
	 * _Py_InitCleanup: see CODE_ID_HIDDEN. Compiled code begins at line 1; only this code
	 * object has line 0 and a function's name in place of the file name.
	 */
	if (!c->firstlineno && c->filename == c->qualname && c->name == c->qualname)
		id = CODE_ID_HIDDEN;
	barrier_var(id);	/* the verifier need not know which of the two it is */
	/* Not before: what is kept during a read takes space on the stack. */
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	if (!cache)
		return 0;
	process = s->ident >> 32 ^ s->ident;
	set = cache_set(cache, code);
	e = set->second.code == code ? &set->second : &set->first;
	if (e->code == code && e->process == process) {
		if (e->id == id && e->stamp) {
			e->stamp = stamp;	/* it is the same still */
			return id;
		}
	} else if (e->code && e->code != code) {
		make_room(set, process);
	}
	*e = (struct code_cache_entry){
		.code = code,
		/* 0: the entry is not valid, so the next sample lists the code object */
		.stamp = id == CODE_ID_HIDDEN || list_new_code(s, code, id) ? stamp : 0,
		.id = id,
		.process = process,
	};
	return id;
}

/*
 * The fingerprint of a code object; 0: unreadable. It comes from the cache if the code object is
 * certainly still the one that was read: within one sample, because this thread stands still
 * and its frames own their code; and as long as the interpreter's counter of code objects
 * (interp_epoch) has not changed. stamp identifies the sample, or the value of that counter.
 */
static __always_inline u32 code_id(struct code_cache *cache, u64 code, u64 stamp)
{
	const struct code_cache_set *set = cache_set(cache, code);
	const struct code_cache_entry *e = set->first.code == code ? &set->first : &set->second;

	if (e->code == code && e->stamp == stamp)
		return e->id;
	return read_code_id(code, stamp);
}

static __always_inline struct known_frame *known_at(struct scratch *s, u64 fr)
{
	return &s->known[fr >> KNOWN_SHIFT & (KNOWN_FRAMES - 1)];
}

/*
 * The same for the code object of the frame at fr, which usually is what it was. What is known of a
 * frame counts as long as a counter says so. A code object that is new is not known yet: it may
 * have to be sent again.
 */
static __always_inline u32 id_of_frame(struct scratch *s, struct code_cache *cache, u64 fr,
				       u64 code, const struct walk *w)
{
	u32 id, process = s->ident >> 32 ^ s->ident;
	u64 key = code ^ w->stamp;

	if (!w->certain)
		return code_id(cache, code, w->stamp);
	if (known_at(s, fr)->key == key && known_at(s, fr)->process == process)
		return known_at(s, fr)->id;
	id = code_id(cache, code, w->stamp);
	if (id && !s->new_cnt)
		*known_at(s, fr) = (struct known_frame){ .key = key, .id = id, .process = process };
	return id;
}

/* ---- sizes of frames ---- */

/* Words of a frame before its variables in 3.11 (Include/internal/pycore_frame.h). */
#define FRAME_WORDS_3_11 9

/*
 * Size in bytes of a code object's frame in a data stack (3.11+); 0: unknown. PyCodeObject has four
 * adjacent ints: co_stacksize, co_firstlineno, co_nlocalsplus and co_framesize (3.12+).
 */
static __always_inline u32 frame_room(struct scratch *s, u64 code)
{
	const struct {
		u32 stacksize, firstlineno, nlocalsplus, framesize;
	} *c = (const void *)s->words;
	u32 words;

	count_reads(s, 1);
	if (read_words(code + s->l.co_firstlineno - 4, 2))
		return 0;
	words = c->framesize;
	if (s->l.fr_is_entry != ABI_NO_OFF)
		words = c->nlocalsplus + c->stacksize + FRAME_WORDS_3_11;
	return 8 * words;
}

/* ---- per-thread bytecode ---- */

u64 own_bytecode(u64 code, u32 index);

/*
 * Address of a thread's own copy of a code object's bytecode (free-threaded 3.14+); 0: unknown. The
 * array at co_tlbc has the copies; index is the frame's. Another thread may replace the array by a
 * longer one at any time, and the old one is freed when this thread is detached. So the entry is
 * only valid if co_tlbc has the same array after the entry was read.
 */
__weak __noinline u64 own_bytecode(u64 code, u32 index)
{
	u64 array = 0, size, entry, again;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	code += s->l.co_tlbc;
	if (read_u64(s, &array, code) || read_u64(s, &size, array) || index >= size ||
	    read_u64(s, &entry, array + 8 + 8 * (u64)index) || read_u64(s, &again, code) ||
	    again != array) {
		count_one(CNT_NO_BYTECODE);
		return 0;
	}
	return entry;
}

/*
 * raw_frame.lasti: the offset in the bytecode, or RAW_LASTI_NONE. ip: the word at fr_ip, which is
 * an address, or (lasti_unit) two ints: f_lasti, which is -1 before the first instruction, and
 * f_lineno. A frame of compiled code has no instruction, but a line. tlbc: the frame's tlbc_index.
 */
static __always_inline u32 offset_of(const struct scratch *s, u64 code, u64 ip, u32 tlbc)
{
	s64 lasti;
	u64 start;

	if (s->l.lasti_unit) {
		if ((s32)ip == -1)
			return raw_lasti_of_line(ip >> 32);
		lasti = (s64)(s32)ip * s->l.lasti_unit;
	} else {
		start = tlbc ? own_bytecode(code, tlbc) : code + s->l.co_code;
		lasti = start ? (s64)(ip - start) : -1;
	}
	return lasti < 0 || lasti >= RAW_LASTI_LINE ? RAW_LASTI_NONE : lasti;
}

/* ---- snapshots of code objects ---- */

/*
 * Read len bytes or, if that fails, those on the first page, because the next page may not be
 * mapped. Sets *at to the part that was read.
 */
static __always_inline void read_piece(struct raw_piece *at, u8 *dst, u32 len, u64 addr)
{
	u32 on_page = 4096 - (addr & 4095);

	at->addr = addr;
	at->len = len;
	if (!read_user(dst, len, addr))
		return;
	at->len = 0;
	if (on_page < len && !read_user(dst, on_page, addr))
		at->len = on_page;
}

/* The word at this offset in the code object. */
static __always_inline u64 head_u64(const struct raw_code *rec, u32 off)
{
	off &= RAW_CODE_HEAD - 8;
	barrier_var(off);
	return *(const u64 *)(rec->head + off);
}

/*
 * Read the line table's object, and at least RAW_CODE_TABLE_MIN bytes if they are readable. Returns
 * how many bytes of rec->table to send.
 */
static __always_inline u32 read_table(struct raw_code *rec, const struct py_layout *l, u64 table)
{
	u32 on_page = 4096 - (table & 4095), len;
	u64 size = 0;

	read_user(&size, sizeof(size), table + l->bytes_size);
	size += l->bytes_data;
	if (size > RAW_CODE_TABLE)
		size = RAW_CODE_TABLE;
	len = size < RAW_CODE_TABLE_MIN ? RAW_CODE_TABLE_MIN : size;
	rec->table_at.addr = table;
	rec->table_at.len = len;
	barrier_var(len);
	if (len <= RAW_CODE_TABLE && !read_user(rec->table, len, table))
		return len;
	len = size < on_page ? on_page : size;
	rec->table_at.len = len;
	barrier_var(len);
	if (len <= RAW_CODE_TABLE && !read_user(rec->table, len, table))
		return len;
	rec->table_at.len = 0;
	return 0;
}

/* The hash in sent_codes is XORed with this if the snapshot that was sent is incomplete. */
#define HALF_SENT 1

/* Do not send the code object now: the next sample that has it lists it again. */
static __always_inline void defer_code(struct code_cache *cache, const struct new_code *code)
{
	count_one(CNT_CODE_LOST);
	forget_code(cache, code->code);
}

/* Send a RAW_CODE. rec: its memory, with the header filled in. */
static __always_inline void send_code(struct raw_code *rec, struct code_cache *cache,
				      const struct py_layout *l, const struct new_code *code)
{
	u64 *sent;
	u32 len;

	rec->code = code->code;
	rec->id = code->id;
	read_piece(&rec->head_at, rec->head, RAW_CODE_HEAD, code->code);
	if (!rec->head_at.len) {
		defer_code(cache, code);
		return;
	}
	read_piece(&rec->name_at, rec->name, RAW_CODE_NAME,
		   head_u64(rec, l->co_qualname == ABI_NO_OFF ? l->co_name : l->co_qualname));
	read_piece(&rec->file_at, rec->file, RAW_CODE_FILE, head_u64(rec, l->co_filename));
	len = read_table(rec, l, head_u64(rec, l->co_linetable));
	if (len > RAW_CODE_TABLE)
		return;
	if (bpf_ringbuf_output(&events, rec, offsetof(struct raw_code, table) + len,
			       wakeup_new(BPF_RB_NO_WAKEUP))) {
		defer_code(cache, code);
		return;
	}
	count_one(CNT_CODE);
	sent = sent_slot(code->hash);
	if (!sent)
		return;
	if (*sent && (*sent ^ code->hash) > HALF_SENT)
		count_one(CNT_SENT_EVICTED);
	/*
	 * A page that is copied after a fork is temporarily unreadable, so the next sample sends
	 * the code object again. But only once: a code object whose snapshot is always incomplete
	 * would take the space of others.
	 */
	if ((!rec->name_at.len || !rec->file_at.len || !rec->table_at.len) &&
	    *sent != (code->hash ^ HALF_SENT)) {
		forget_code(cache, code->code);
		*sent = code->hash ^ HALF_SENT;
	} else {
		*sent = code->hash;
	}
}

/*
 * Returns true if one more code object may be sent now: time is left, the process has not sent too
 * many in this second, and at least half of the ring buffer is free for samples.
 */
static __always_inline bool may_send_code(struct scratch *s)
{
	if (!s->codes_left || is_out_of_time(s, bpf_ktime_get_ns(), NAMES_NS))
		return false;
	s->codes_left--;
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= cfg_codes_bytes;
}

int send_new_code(u32 n);
/*
 * Send the sample's new code object n, or defer it if there is no time or space. The header of the
 * code_records entry must be filled in. Returns 1 if there is none. With external linkage, so that
 * the verifier checks it once.
 */
__weak __noinline int send_new_code(u32 n)
{
	struct code_cache *cache;
	struct raw_code *rec;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	rec = bpf_map_lookup_elem(&code_records, &zero);
	if (!s || !cache || !rec || n >= s->new_cnt)
		return 1;
	n &= MAX_NEW_CODES - 1;
	barrier_var(n);
	if (may_send_code(s))
		send_code(rec, cache, &s->l, &s->new_codes[n]);
	else
		defer_code(cache, &s->new_codes[n]);
	return 0;
}

/* Number that is sent at a time: the verifier follows each call of a loop. */
#define CODES_A_CALL 16

int send_some_codes(u32 first);
/* Send CODES_A_CALL of them. Returns 1 if there are no more. With external linkage, too. */
__weak __noinline int send_some_codes(u32 first)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < CODES_A_CALL; i++)
		if (send_new_code(first + i))
			return 1;
	return 0;
}

/* How many code objects the process may still send in this second. */
static __always_inline u32 codes_left(struct py_proc *p, u64 now)
{
	u32 second = now >> 30, sent;

	if (p->codes_second != second) {
		p->codes_second = second;
		p->codes_sent = 0;
	}
	sent = p->codes_sent;	/* another CPU may change it meanwhile */
	return sent < MAX_CODES_A_SECOND ? MAX_CODES_A_SECOND - sent : 0;
}

/* send_new_codes() if there are some. */
static __noinline void send_listed_codes(struct scratch *s, struct py_proc *p,
					 const struct raw_header *h)
{
	struct raw_code *rec;
	u32 zero = 0, before, i;

	rec = bpf_map_lookup_elem(&code_records, &zero);
	if (!rec)
		return;
	rec->h = *h;
	rec->h.kind = RAW_CODE;
	s->codes_left = before = codes_left(p, h->time_ns);
#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_NEW_CODES; i += CODES_A_CALL)
		if (send_some_codes(i))
			break;
	p->codes_sent += before - s->codes_left;
}

/*
 * Send the sample's new code objects. h: the sample's header. Call it before the sample is sent, so
 * that user space knows the names when it gets the sample.
 */
static __always_inline void send_new_codes(struct scratch *s, struct py_proc *p,
					   const struct raw_header *h)
{
	if (s->new_cnt)
		send_listed_codes(s, p, h);
}

#endif
