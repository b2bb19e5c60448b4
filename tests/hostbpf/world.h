/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * world.h - interpreters for tests: the memory of a process with one thread, its frames and their
 * code objects, in the layout of a supported CPython; and the frames that the walk must find.
 */
#ifndef HOSTBPF_WORLD_H
#define HOSTBPF_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/layout.h"
#include "host.h"

#define EACH_MINOR(minor) for ((minor) = LAYOUT_MINOR_MIN; (minor) <= LAYOUT_MINOR_MAX; (minor)++)

/* Addresses in the target. */
#define W_RUNTIME 0x1000000ull
#define W_NONE    0x1100000ull
#define W_INTERP  0x2000000ull
#define W_TSTATE  0x3000000ull
#define W_ROOT_CFRAME (W_TSTATE + 344)	/* after all that is read of the state */
#define W_TP      0x4000000ull
#ifdef __TARGET_ARCH_arm64
#define W_TSS     0x110ull	/* specific_1stblock in struct pthread */
#define W_MUSL_TSD 0x70ull	/* struct pthread's tsd */
#define W_DTV     0ull		/* offset of the DTV's address from the thread pointer */
#else
#define W_TSS     0x310ull
#define W_MUSL_TSD 0x80ull
#define W_DTV     8ull
#endif
#define W_HEAP    0x5550000000ull	/* generators' frames, exceptions */
#define W_CODES   0x6000000000ull
#define W_STRINGS 0x6100000000ull
#define W_CHUNK   0x7f0000000000ull	/* chunks of the data stack, with gaps between them */
#define W_CSTACK  0x7ffc00000000ull

#define W_CHUNK_BYTES (16 * 1024ull)
#define W_CHUNK_STEP  0x1000000ull
#define W_CODE_STEP   512ull
#define W_FRAMES_MAX  1200
#define W_CODES_MAX   1500

enum { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_SHIM = 3 };

struct world {
	struct cpython_image img;
	struct py_proc proc;
	u64 top;			/* the newest frame */
	u64 sp, chunk, heap, cstack, strings;
	u32 locals;			/* words after every frame */
	u8 code_tag;			/* low bits (StackRef tag) of references to code */
	u32 code_cnt;
	u32 code_ids[W_CODES_MAX];
	/* The Python frames that the walk must find, outermost first, and their addresses. */
	struct raw_frame want[W_FRAMES_MAX];
	u64 at[W_FRAMES_MAX];
	u32 want_cnt;
};

/* The free-threaded build of 3.13: 13 + FREE_THREADED. 3.13 and later. */
#define FREE_THREADED 100
/* The Py_TRACE_REFS build of 3.12: 12 + TRACE_REFS. 3.6 to 3.12. */
#define TRACE_REFS 200

/* Fill in the layouts of a build: a minor version, perhaps + FREE_THREADED or TRACE_REFS. */
static inline void world_image(struct cpython_image *img, int build)
{
	int minor = build % FREE_THREADED;
	struct debug_offsets d;
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	const char *what = NULL;
	char path[512];
	size_t len;
	FILE *f;

	memset(img, 0, sizeof(*img));
	img->major = 3;
	img->minor = minor;
	img->trace_refs = build >= TRACE_REFS;
	if (minor <= 12) {
		assert_int_equal(layout_from_table(img), 0);
		if (minor == 6)	/* static variables, at any addresses */
			img->rt = (struct py_runtime_layout){ 0, 8, 16, 24, ABI_NO_OFF,
								 ABI_NO_OFF, 2048 };
		return;
	}
	snprintf(path, sizeof(path), "%s/debug_offsets_3.%d%s.bin", GOLDEN_DIR, minor,
		 build < FREE_THREADED ? "" : "t");
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_int_equal(debug_offsets_read(bytes, len, minor, &d, &what), 0);
	assert_int_equal(layout_from_debug_offsets(img, minor, &d, &what), 0);
}

static inline u64 world_frame_bytes(const struct world *w)
{
	return (w->img.layout.fr_base + w->img.layout.fr_bytes + 7) / 8 * 8 + 8 * w->locals;
}

static inline void world_new_chunk(struct world *w)
{
	w->chunk += W_CHUNK_STEP;
	host_mem_map(w->chunk, W_CHUNK_BYTES);
	w->sp = w->chunk + 24;		/* _PyStackChunk: previous, size, top */
	if (w->img.layout.ts_datastack != ABI_NO_OFF)
		host_mem_put64(W_TSTATE + w->img.layout.ts_datastack, w->chunk);
}

/* A place for the next frame of this owner. */
static inline u64 world_frame_place(struct world *w, int owner)
{
	u64 at;

	if (owner == OWNER_THREAD) {
		if (w->sp + world_frame_bytes(w) > w->chunk + W_CHUNK_BYTES)
			world_new_chunk(w);
		at = w->sp;
		w->sp += world_frame_bytes(w);
	} else if (owner == OWNER_GENERATOR) {
		at = w->heap;
		host_mem_map(at, 256);
		w->heap += 10064;	/* far from its neighbours, aligned to 16 bytes */
	} else {
		w->cstack -= 208;
		at = w->cstack;
		host_mem_map(at, 128);
	}
	return at;
}

/* Make frame the thread's current frame, through a _PyCFrame if this CPython has one. */
static inline void world_set_frame(struct world *w, u64 frame)
{
	const struct py_layout *l = &w->img.layout;

	w->top = frame;
	if (l->cframe_frame == ABI_NO_OFF) {
		host_mem_put64(W_TSTATE + l->ts_frame, frame);
		return;
	}
	/* The _PyCFrame has no previous one: see world_enter(). */
	host_mem_put64(W_TSTATE + l->ts_frame, W_ROOT_CFRAME);
	host_mem_put64(W_ROOT_CFRAME + l->cframe_frame, frame);
}

/*
 * C has called the interpreter: add a new _PyCFrame whose current_frame is frame. The previous
 * _PyCFrame has from.
 */
static inline void world_enter(struct world *w, u64 frame, u64 from)
{
	const struct py_layout *l = &w->img.layout;
	u64 before = W_ROOT_CFRAME, cframe = W_CSTACK + 8192;

	host_mem_put64(before + l->cframe_frame, from);
	host_mem_map(cframe, 64);
	host_mem_put64(cframe + l->cframe_frame, frame);
	host_mem_put64(cframe + l->cframe_frame + 8, before);
	host_mem_put64(W_TSTATE + l->ts_frame, cframe);
}

/* Set the size of a code object's frames, which frame_room() reads. */
static inline void world_set_room(struct world *w, u64 addr)
{
	u32 words = world_frame_bytes(w) / 8;

	if (w->img.layout.ts_datastack == ABI_NO_OFF)
		return;
	addr += w->img.layout.co_firstlineno;
	host_mem_put32(addr - 4, w->img.minor == 11 ? 3 : 0xdead);		/* co_stacksize */
	host_mem_put32(addr + 4, w->img.minor == 11 ? words - 9 - 3 : 0xdead);	/* co_nlocalsplus */
	host_mem_put32(addr + 8, w->img.minor == 11 ? 0xdead : words);	/* co_framesize */
}

/* Add a new current frame at this address. lasti -2: it has run no instruction. */
static inline void world_push_at(struct world *w, u64 at, int owner, u32 code, s32 lasti)
{
	const struct py_layout *l = &w->img.layout;
	u64 addr = W_CODES + code * W_CODE_STEP;

	at += l->fr_base;
	host_mem_put64(at + l->fr_code,
		       owner >= OWNER_SHIM ? W_NONE | (l->code_tag_mask ? 1 : 0) :
					     addr | w->code_tag);
	host_mem_put64(at + l->fr_previous, w->top);
	if (l->lasti_unit)
		host_mem_put64(at + l->fr_ip, lasti < 0 ? (u32)-1 : (u32)lasti / l->lasti_unit);
	else
		host_mem_put64(at + l->fr_ip, addr + l->co_code + (s64)lasti);
	if (l->fr_owner != ABI_NO_OFF)
		host_mem_put8(at + l->fr_owner, owner);
	at -= l->fr_base;
	world_set_frame(w, at);
	if (owner >= OWNER_SHIM)
		return;
	if (owner == OWNER_THREAD)
		world_set_room(w, addr);
	assert_true(w->want_cnt < W_FRAMES_MAX);
	w->at[w->want_cnt] = at;
	w->want[w->want_cnt++] = (struct raw_frame){
		.code = addr,
		.lasti = lasti < 0 ? RAW_LASTI_NONE : (u32)lasti,
		.id = w->code_ids[code],
	};
}

/* The same at the next place for this owner. */
static inline void world_push(struct world *w, int owner, u32 code, s32 lasti)
{
	world_push_at(w, world_frame_place(w, owner), owner, code, lasti);
}

/* Set the line that the newest frame has itself. */
static inline void world_set_line(struct world *w, u32 line)
{
	const struct py_layout *l = &w->img.layout;
	u64 at = w->top, object = at - 128;	/* the frame is part of it */

	if (l->lasti_unit) {
		host_mem_put32(at + l->fr_base + l->fr_ip + 4, line);
	} else {
		host_mem_map(object, 256);
		host_mem_put64(at + l->fr_object, object);
		host_mem_put64(object + l->bytes_size + 8, at);		/* f_frame */
		host_mem_put32(object + l->bytes_size + 24, line);	/* f_lineno */
	}
	w->want[w->want_cnt - 1].lasti = RAW_LASTI_LINE + line;
}

/* Add a new current frame of compiled code, as Nuitka makes them, which is at this line. */
static inline void world_push_compiled(struct world *w, u32 code, u32 line)
{
	s32 lasti = w->img.layout.lasti_unit ? -2 : 2;

	world_push(w, OWNER_GENERATOR, code, lasti);
	world_set_line(w, line);
}

/* Add a shim if this CPython has shims. */
static inline void world_shim(struct world *w)
{
	if (w->img.layout.end_shim)
		world_push(w, OWNER_SHIM, 0, 0);
}

/* Write a str object at this address. */
static inline void world_string_at(struct world *w, u64 at, const char *s)
{
	const struct py_object_layout *o = &w->img.objects;

	host_mem_map(at, 8192);
	host_mem_put64(at + o->str_length, strlen(s));
	host_mem_put32(at + o->str_state,
		       1u << o->str_kind_shift | o->str_compact_bit | o->str_ascii_bit);
	host_mem_write(at + o->str_ascii_data, s, strlen(s) + 1);
}

/* Write a new str object. Returns its address. */
static inline u64 world_string(struct world *w, const char *s)
{
	u64 at = w->strings;

	w->strings += 4096 + 16;	/* each at another offset in its page */
	world_string_at(w, at, s);
	return at;
}

/*
 * Write n line table entries in the version's own form: each for 8 code units, its line one more
 * than the one before. Returns their size in bytes.
 */
static inline u32 world_fill_table(struct world *w, u64 data, u32 n)
{
	u32 i, bytes = w->img.minor <= 10 ? 2 : 3;

	for (i = 0; i < n; i++, data += bytes) {
		if (w->img.minor <= 10) {
			/* co_lnotab: the code before the line; 3.10: the code of the line. */
			host_mem_put8(data, w->img.minor <= 9 && !i ? 0 : 16);
			host_mem_put8(data + 1, 1);
			continue;
		}
		host_mem_put8(data, 0x80 | 11 << 3 | 7);
		host_mem_put8(data + 1, 4);
		host_mem_put8(data + 2, 9);
	}
	return bytes * n;
}

/* Write a new line table object with n entries. Returns its address. */
static inline u64 world_table(struct world *w, u32 n)
{
	u64 at = w->strings;

	w->strings += (3 * n + 4096 + 4095) & ~4095ull;
	host_mem_map(at, 3 * n + 4096);
	host_mem_put64(at + w->img.objects.bytes_size,
		       world_fill_table(w, at + w->img.objects.bytes_data, n));
	return at;
}

/* string_hash() of the str object; 0: unreadable. */
static inline u32 world_string_hash(const struct py_layout *l, u64 str)
{
	u64 head[STRING_HEAD / 8] = { 0 }, tail[STRING_TAIL / 8] = { 0 }, length;

	if (host_mem_read(NULL, str + l->str_length, &length, 8) ||
	    host_mem_read(NULL, str + l->str_data, head,
			  length < STRING_HEAD ? length : STRING_HEAD))
		return 0;
	if (length > STRING_HEAD &&
	    host_mem_read(NULL, str + l->str_data + length - STRING_TAIL, tail, sizeof(tail)))
		return 0;
	return string_hash(length, head, tail);
}

/* The fingerprint that the walk must compute for the code object as it is in memory now. */
static inline u32 world_code_identity(struct world *w, u32 code)
{
	const struct py_layout *l = &w->img.layout;
	u64 addr = W_CODES + code * W_CODE_STEP, f[4];
	u32 line, version = 0;

	assert_int_equal(host_mem_read(NULL, addr + l->co_filename, &f[0], 8), 0);
	assert_int_equal(host_mem_read(NULL, addr + l->co_name, &f[1], 8), 0);
	assert_int_equal(host_mem_read(NULL, addr + l->co_qualname, &f[2], 8), 0);
	assert_int_equal(host_mem_read(NULL, addr + l->co_linetable, &f[3], 8), 0);
	assert_int_equal(host_mem_read(NULL, addr + l->co_firstlineno, &line, 4), 0);
	if (l->co_version != ABI_NO_OFF)
		assert_int_equal(host_mem_read(NULL, addr + l->co_version, &version, 4), 0);
	if (!version)
		version = names_hash(world_string_hash(l, f[2]), world_string_hash(l, f[0]));
	if (!version)
		return 0;
	return code_identity(f[0], f[1], f[2], f[3], line, version);
}

/* Add a new code object: func_N in file_N.py from line 100 + N on. Returns N. */
static inline u32 world_code(struct world *w)
{
	const struct py_layout *l = &w->img.layout;
	u32 i = w->code_cnt++;
	u64 addr = W_CODES + i * W_CODE_STEP;
	char name[32];

	assert_true(i < W_CODES_MAX);
	host_mem_map(addr, W_CODE_STEP);
	snprintf(name, sizeof(name), "func_%u", i);
	host_mem_put64(addr + l->co_qualname, world_string(w, name));
	host_mem_put64(addr + l->co_name, world_string(w, name));
	snprintf(name, sizeof(name), "file_%u.py", i);
	host_mem_put64(addr + l->co_filename, world_string(w, name));
	host_mem_put64(addr + l->co_linetable, world_table(w, 20));
	host_mem_put32(addr + l->co_firstlineno, 100 + i);
	if (l->co_version != ABI_NO_OFF)
		host_mem_put32(addr + l->co_version, 5000 + i);
	w->code_ids[i] = world_code_identity(w, i);
	return i;
}

/* Remove all frames, keep the code objects. */
static inline void world_no_frames(struct world *w)
{
	w->want_cnt = 0;
	w->heap = W_HEAP;
	w->cstack = W_CSTACK;
	w->chunk = W_CHUNK;
	world_new_chunk(w);
	world_set_frame(w, 0);
	world_shim(w);
}

/* Write w->proc into py_procs. */
static inline void world_put_proc(struct world *w)
{
	u32 tgid = host.task.tgid;

	assert_int_equal(bpf_map_update_elem(&py_procs, &tgid, &w->proc, BPF_ANY), 0);
}

/* The process' entry in py_procs, or NULL. */
static inline struct py_proc *world_proc(void)
{
	u32 tgid = host.task.tgid;

	return bpf_map_lookup_elem(&py_procs, &tgid);
}

/* Write what leads to the thread state: the pthread key; from 3.15 on TLS. */
static inline void world_thread(struct world *w)
{
	const struct py_layout *l = &w->img.layout;

	host_mem_map(W_TP - 4096, 4 * 4096);
	host.task.THREAD_POINTER = W_TP;
	w->proc.tstate_how = w->img.rt.tss_key == ABI_NO_OFF ? PY_TSTATE_TLS_TP :
								      PY_TSTATE_TSS_GLIBC;
	w->proc.tls_off = -64;
	w->proc.tss_key = -1;
	host_mem_put64(W_TP - 64, W_TSTATE);
	if (w->img.rt.tss_key != ABI_NO_OFF) {
		host_mem_put32(W_RUNTIME + w->img.rt.tss_key, 1);
		host_mem_put32(W_RUNTIME + w->img.rt.tss_key + 4, 3);
	}
	host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, W_TSTATE);
	host_mem_put64(W_TSTATE + l->ts_interp, W_INTERP);
	host_mem_put64(W_TSTATE + l->ts_thread_id, W_TP);
	if (l->ts_exc_info != ABI_NO_OFF)
		host_mem_put64(W_TSTATE + l->ts_exc_info, W_TSTATE + l->ts_exc_state);
	if (l->ts_status != ABI_NO_OFF)
		host_mem_put32(W_TSTATE + l->ts_status, TS_BOUND_GILSTATE);
	/* The thread is the main thread. */
	if (l->interp_threads_main != ABI_NO_OFF32)
		host_mem_put64(W_INTERP + l->interp_threads_main, W_TSTATE);
	if (w->img.rt.main_thread != ABI_NO_OFF) {
		w->proc.main_id = W_RUNTIME + w->img.rt.main_thread;
		host_mem_put64(w->proc.main_id, W_TP);
	}
}

/* A new machine with CPython 3.minor and one thread, which has no frame and no GIL. */
static inline void world_init(struct world *w, int minor)
{
	const struct py_layout *l = &w->img.layout;

	host_reset();
	memset(w, 0, sizeof(*w));
	world_image(&w->img, minor);
	w->locals = 6;
	w->strings = W_STRINGS;
	host_mem_map(W_RUNTIME, 4 * 4096);
	host_mem_map(W_INTERP, 256 * 1024);
	host_mem_map(W_TSTATE, 4096);
	host_mem_map(W_NONE, 4096);
	w->proc = (struct py_proc){
		.start_ns = host.leader.start_boottime, .ident = 0x1234567, .runtime = W_RUNTIME,
		.none = W_NONE, .state = PY_PROC_PYTHON, .l = *l,
		.interps = W_RUNTIME + w->img.rt.interp_head,
	};
	if (w->img.rt.tss_key != ABI_NO_OFF)
		w->proc.tss = W_RUNTIME + w->img.rt.tss_key + 4;
	if (w->img.rt.gil != ABI_NO_OFF)
		w->proc.current = W_RUNTIME + w->img.rt.gil;
	if (w->img.rt.main_thread != ABI_NO_OFF)
		w->proc.main_id = W_RUNTIME + w->img.rt.main_thread;
	if (w->img.rt.collecting != ABI_NO_OFF)
		w->proc.collecting = W_RUNTIME + w->img.rt.collecting;
	if (w->img.rt.gc_stats != ABI_NO_OFF)
		w->proc.gc_stats = W_RUNTIME + w->img.rt.gc_stats;
	host_mem_put64(W_RUNTIME + w->img.rt.interp_head, W_INTERP);
	host_mem_put64(W_INTERP + l->interp_threads_head, W_TSTATE);
	if (l->interp_id != ABI_NO_OFF32)
		host_mem_put64(W_INTERP + l->interp_id, 6);
	if (l->interp_epoch != ABI_NO_OFF32)
		host_mem_put32(W_INTERP + l->interp_epoch, 40);
	world_thread(w);
	world_put_proc(w);
	world_no_frames(w);
}

/* The interpreter's id; 3.6 has none. */
static inline u32 world_interp_id(const struct world *w)
{
	return w->img.layout.interp_id == ABI_NO_OFF32 ? 0 : 6;
}

/* Address of the int that is not 0 during a collection. */
static inline u64 world_collecting(const struct world *w)
{
	return w->img.layout.interp_gc_collecting == ABI_NO_OFF32 ?
		       w->proc.collecting : W_INTERP + w->img.layout.interp_gc_collecting;
}

/* A bit of everything: chunks, generators, shims, the GIL, an exception, a collection. */
#define WORLD_RICH_FRAMES 48
static inline void world_rich(struct world *w, int minor)
{
	const struct py_layout *l = &w->img.layout;
	const u64 item = W_HEAP + 0x500000;
	u32 i;

	world_init(w, minor);
	for (i = 0; i < WORLD_RICH_FRAMES; i++) {
		if (i % 12 == 5)
			world_shim(w);
		if (i % 20 == 10)
			world_new_chunk(w);
		world_push(w, i % 6 == 2 ? OWNER_GENERATOR : OWNER_THREAD, world_code(w), 2 * i);
	}
	if (l->gil_how == PY_GIL_RT_CURRENT)
		host_mem_put64(w->proc.current, W_TSTATE);
	else
		host_mem_put32(W_TSTATE + l->ts_gil, l->ts_gil_mask);
	if (world_collecting(w))
		host_mem_put32(world_collecting(w), 1);
	if (l->interp_gc_frame != ABI_NO_OFF32)
		host_mem_put64(W_INTERP + l->interp_gc_frame, w->at[WORLD_RICH_FRAMES - 5]);
	host_mem_map(item, 64);
	host_mem_put64(item, 0x7777770);
	host_mem_put64(item + l->exc_previous, W_TSTATE + l->ts_exc_state);
	if (l->ts_exc_info != ABI_NO_OFF)
		host_mem_put64(W_TSTATE + l->ts_exc_info, item);
	else
		host_mem_put64(W_TSTATE + l->ts_exc_state, 0x7777770);
	if (l->interp_id != ABI_NO_OFF32)	/* the main interpreter, which is recognized */
		host_mem_put64(W_INTERP + l->interp_id, 0);
}

/* Add n frames of at most 50 code objects, each at another instruction. */
static inline void world_recurse(struct world *w, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (i < 50 && w->code_cnt <= i)
			world_code(w);
		world_push(w, OWNER_THREAD, i % 50, 2 * (i % 70));
	}
}

/* Runs a tick. Returns the sample, or NULL. */
static inline const struct raw_sample *world_sample(void)
{
	const struct raw_sample *s;
	size_t len;
	int i = 0;

	host_tick();
	s = host_record(RAW_SAMPLE, &i, &len);
	if (s) {	/* the weight is 1, so the record has no room for it */
		assert_int_equal(len, offsetof(struct raw_sample, frames) +
					      s->nframes * sizeof(struct raw_frame));
		assert_int_equal(len, raw_sample_bytes(s->nframes, s->flags));
	}
	return s;
}

/* s must have the n innermost frames of the stack. */
static inline void world_check_frames(const struct world *w, const struct raw_sample *s, u32 n)
{
	u32 i;

	assert_int_equal(s->nframes, n);
	for (i = 0; i < n; i++) {
		const struct raw_frame *want = &w->want[w->want_cnt - 1 - i];

		assert_int_equal(s->frames[i].code, want->code);
		assert_int_equal(s->frames[i].lasti, want->lasti);
		assert_int_equal(s->frames[i].id, want->id);
		assert_false(s->frames[i].lasti >> RAW_KIND_SHIFT);
	}
}

/* Runs a tick, whose sample must have the n innermost frames and these flags. Returns it. */
static inline const struct raw_sample *world_expect(const struct world *w, u32 n, u8 flags)
{
	const struct raw_sample *s = world_sample();

	assert_non_null(s);
	assert_int_equal(s->flags, flags);
	world_check_frames(w, s, n);
	return s;
}

/* Runs a tick, which must send no sample and end with this counter. */
static inline void world_expect_end(enum counter end)
{
	u64 before = host_counter(end);

	assert_null(world_sample());
	assert_int_equal(host_counter(end), before + 1);
}

#endif
