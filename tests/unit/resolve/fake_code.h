/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_code.h - a process' memory full of code objects with the layout of CPython 3.12. Object N
 * is function "f<N>" in "/src/m<N / 8>.py", from line 10 N on.
 */
#ifndef TACHBPF_TESTS_FAKE_CODE_H
#define TACHBPF_TESTS_FAKE_CODE_H

#include "cpython/layout.h"
#include "resolve/symbolize.h"
#include "tests/unit/tach_test.h"

#define FAKE_CODE_BYTES 1024u	/* the object, its strings and its line table */
#define FAKE_NAME 256u
#define FAKE_FILE 384u
#define FAKE_TABLE 512u
#define FAKE_TABLE_ENTRIES 10u	/* 8 code units and one line each */

struct fake_codes {
	struct cpython_image img;
	uint8_t *mem;
	uint64_t base;		/* its address in the process */
	uint32_t cnt;
	unsigned int reads;
	int err;		/* result of every read; 0: reads succeed */
};

static inline int fake_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_codes *f = ctx;
	uint64_t off = addr - f->base, size = (uint64_t)f->cnt * FAKE_CODE_BYTES;

	f->reads++;
	if (f->err)
		return f->err;
	if (off > size || len > size - off)
		return -EFAULT;
	memcpy(buf, f->mem + off, len);
	return 0;
}

static inline void fake_put64(struct fake_codes *f, uint64_t off, uint64_t v)
{
	memcpy(f->mem + off, &v, sizeof(v));
}

static inline void fake_put32(struct fake_codes *f, uint64_t off, uint32_t v)
{
	memcpy(f->mem + off, &v, sizeof(v));
}

static inline void fake_str(struct fake_codes *f, uint64_t off, const char *s)
{
	const struct py_object_layout *o = &f->img.objects;

	fake_put64(f, off + o->str_length, strlen(s));
	fake_put32(f, off + o->str_state,
		   1u << o->str_kind_shift | o->str_compact_bit | o->str_ascii_bit);
	memcpy(f->mem + off + o->str_ascii_data, s, strlen(s) + 1);
}

static inline uint64_t fake_addr(const struct fake_codes *f, uint32_t n)
{
	return f->base + (uint64_t)n * FAKE_CODE_BYTES;
}

/* Write at place n the object number `as`. */
static inline void fake_write(struct fake_codes *f, uint32_t n, uint32_t as)
{
	const struct py_layout *l = &f->img.layout;
	uint64_t off = (uint64_t)n * FAKE_CODE_BYTES, i;
	char text[32];

	snprintf(text, sizeof(text), "f%u", as);
	fake_str(f, off + FAKE_NAME, text);
	snprintf(text, sizeof(text), "/src/m%u.py", as / 8);
	fake_str(f, off + FAKE_FILE, text);
	fake_put64(f, off + l->co_name, f->base + off + FAKE_NAME);
	fake_put64(f, off + l->co_qualname, f->base + off + FAKE_NAME);
	fake_put64(f, off + l->co_filename, f->base + off + FAKE_FILE);
	fake_put64(f, off + l->co_linetable, f->base + off + FAKE_TABLE);
	fake_put32(f, off + l->co_firstlineno, 10 * as);
	fake_put32(f, off + l->co_version, 7 * as + 1);
	fake_put64(f, off + FAKE_TABLE + l->bytes_size, 3 * FAKE_TABLE_ENTRIES);
	for (i = 0; i < FAKE_TABLE_ENTRIES; i++)
		memcpy(f->mem + off + FAKE_TABLE + l->bytes_data + 3 * i, "\xdf\x01\x05", 3);
}

/* Object n is a coroutine's from now on. */
static inline void fake_coroutine(struct fake_codes *f, uint32_t n)
{
	fake_put32(f, (uint64_t)n * FAKE_CODE_BYTES + py_code_layout(12)->flags, 0x83);
}

static inline void fake_codes_init(struct fake_codes *f, uint32_t cnt)
{
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->img.major = 3;
	f->img.minor = 12;
	snprintf(f->img.version, sizeof(f->img.version), "3.12.0");
	assert_int_equal(layout_from_table(&f->img), 0);
	f->cnt = cnt;
	f->base = 0x7f1200000000;
	f->mem = calloc(cnt, FAKE_CODE_BYTES);
	assert_non_null(f->mem);
	for (i = 0; i < cnt; i++)
		fake_write(f, i, i);
}

/* The same, with this test as the process: addresses are those of f->mem. */
static inline void fake_codes_in_self(struct fake_codes *f, uint32_t cnt)
{
	uint32_t i;

	fake_codes_init(f, cnt);
	f->base = (uintptr_t)f->mem;
	for (i = 0; i < cnt; i++)
		fake_write(f, i, i);
}

static inline void fake_codes_free(struct fake_codes *f)
{
	free(f->mem);
	f->mem = NULL;
}

static inline struct target_mem fake_mem(struct fake_codes *f)
{
	return (struct target_mem){ fake_read, f };
}

/* The fingerprint of the object that is at place n now. */
static inline uint32_t fake_id(const struct fake_codes *f, uint32_t n)
{
	const struct py_layout *l = &f->img.layout;
	const uint8_t *c = f->mem + (uint64_t)n * FAKE_CODE_BYTES;
	uint64_t file, name, qualname, table;
	uint32_t line, version;

	memcpy(&file, c + l->co_filename, 8);
	memcpy(&name, c + l->co_name, 8);
	memcpy(&qualname, c + l->co_qualname, 8);
	memcpy(&table, c + l->co_linetable, 8);
	memcpy(&line, c + l->co_firstlineno, 4);
	memcpy(&version, c + l->co_version, 4);
	return code_identity(file, name, qualname, table, line, version);
}

static inline struct raw_frame fake_frame(const struct fake_codes *f, uint32_t n, uint32_t lasti)
{
	return (struct raw_frame){ fake_addr(f, n), lasti, fake_id(f, n) };
}

/* The BPF side's snapshot of object n; returns its length. */
static inline size_t fake_snapshot(const struct fake_codes *f, uint32_t n, struct raw_code *raw)
{
	const uint8_t *c = f->mem + (uint64_t)n * FAKE_CODE_BYTES;
	const uint64_t addr = fake_addr(f, n);

	memset(raw, 0, sizeof(*raw));
	raw->h.kind = RAW_CODE;
	raw->code = addr;
	raw->id = fake_id(f, n);
	raw->head_at = (struct raw_piece){ .addr = addr, .len = RAW_CODE_HEAD };
	raw->name_at = (struct raw_piece){ .addr = addr + FAKE_NAME, .len = RAW_CODE_NAME };
	raw->file_at = (struct raw_piece){ .addr = addr + FAKE_FILE, .len = RAW_CODE_FILE };
	raw->table_at = (struct raw_piece){ .addr = addr + FAKE_TABLE, .len = 512 };
	memcpy(raw->head, c, RAW_CODE_HEAD);
	memcpy(raw->name, c + FAKE_NAME, RAW_CODE_NAME);
	memcpy(raw->file, c + FAKE_FILE, RAW_CODE_FILE);
	memcpy(raw->table, c + FAKE_TABLE, 512);
	return offsetof(struct raw_code, table) + 512;
}

/* The line of lasti in object number `as`. */
static inline int fake_line(uint32_t as, uint32_t lasti)
{
	if (lasti / 16 >= FAKE_TABLE_ENTRIES)
		return as ? 10 * (int)as : LINE_NONE;
	return 10 * (int)as + (int)(lasti / 16) + 1;
}

static inline bool frame_is(const struct profile_tables *t, uint32_t id, const char *file,
			    const char *func, int line)
{
	const struct frame *f = &t->frames[id];

	return id < t->frame_cnt && f->line == line &&
	       t->strings[f->file].len == strlen(file) &&
	       !memcmp(t->strings[f->file].data, file, strlen(file)) &&
	       t->strings[f->func].len == strlen(func) &&
	       !memcmp(t->strings[f->func].data, func, strlen(func));
}

/* Is this frame object number `as` at lasti? */
static inline bool frame_is_fake(const struct profile_tables *t, uint32_t id, uint32_t as,
				 uint32_t lasti)
{
	char file[32], func[32];

	snprintf(file, sizeof(file), "/src/m%u.py", as / 8);
	snprintf(func, sizeof(func), "f%u", as);
	return frame_is(t, id, file, func, fake_line(as, lasti));
}

static inline bool frame_is_synthetic(const struct profile_tables *t, uint32_t id,
				      const char *name)
{
	return frame_is(t, id, SYNTHETIC_FILE, name, LINE_NONE) &&
	       t->frames[id].kind == FRAME_SYNTHETIC;
}

#endif
