// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * window_names.c - see window_names.h.
 *
 * Owns the names of the agent's windows. A known frame costs one look-up in its process's map; a
 * new one costs making two names printable and three look-ups.
 */
#include "telemetry/window_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/native_library.h"
#include "model/stack_frame.h"

#define FRAMES_LIMIT (1U << 22)	/* of window_code() */

struct window_names {
	uint32_t frames_max, round;
	size_t bytes_max, bytes;
	struct intern *in;		/* strings and frames */
	struct intern *functions;	/* frames only; their strings are in's */
	struct buf function_of;		/* u32 for each of in's frames */
	struct window_privacy privacy;
	char text[WINDOW_NAME_BYTES + 1];
};

static int begin_names(struct window_names *n)
{
	n->in = intern_new();
	n->functions = intern_new();
	return n->in && n->functions ? 0 : -ENOMEM;
}

struct window_names *window_names_new(uint32_t frames_max, size_t string_bytes_max)
{
	struct window_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->frames_max = frames_max < FRAMES_LIMIT ? frames_max : FRAMES_LIMIT;
	n->bytes_max = string_bytes_max;
	n->round = 1;
	if (!begin_names(n))
		return n;
	window_names_free(n);
	errno = ENOMEM;
	return NULL;
}

void window_names_free(struct window_names *n)
{
	if (!n)
		return;
	intern_free(n->in);
	intern_free(n->functions);
	buf_free(&n->function_of);
	free(n);
}

/* Returns false if there is no memory: then the names stay. */
static bool forget_names(struct window_names *n)
{
	struct intern *in = n->in, *functions = n->functions;

	if (begin_names(n)) {		/* no memory: keep the names */
		intern_free(n->in);
		intern_free(n->functions);
		n->in = in;
		n->functions = functions;
		return false;
	}
	intern_free(in);
	intern_free(functions);
	buf_free(&n->function_of);
	n->bytes = 0;
	n->round++;
	return true;
}

bool window_names_trim(struct window_names *n)
{
	if (intern_tables(n->in)->frame_cnt <= n->frames_max / 4 * 3 &&
	    n->bytes <= n->bytes_max / 4 * 3)
		return false;
	return forget_names(n);
}

bool window_names_hide(struct window_names *n, const struct window_privacy *privacy)
{
	if (n->privacy.no_directories == privacy->no_directories &&
	    n->privacy.no_exceptions == privacy->no_exceptions)
		return false;
	n->privacy = *privacy;
	/* Without memory for a new table, the old names stay in it, but cannot be found. */
	if (!forget_names(n))
		n->round++;
	return true;
}

void window_names_meet(const struct window_names *n, struct window_map *map)
{
	if (map->round == n->round)
		return;
	id_map_clear(&map->frames);
	map->libraries = 0;
	map->round = n->round;
}

static bool no_frame_free(const struct window_names *n, const struct window_names_share *share)
{
	return intern_tables(n->in)->frame_cnt + (uint64_t)share->frames >= n->frames_max;
}

/* The id of a name with any bytes. */
static int learn_string(struct window_names *n, struct window_names_share *share, const char *s,
			size_t len, uint32_t *id)
{
	size_t bytes;
	int err;

	escape_text(s, len, n->text, sizeof(n->text));
	bytes = strlen(n->text);
	if (intern_find_string(n->in, n->text, bytes, id))
		return 0;
	if (no_frame_free(n, share))
		return -ENOSPC;
	if (n->bytes + share->bytes + bytes > n->bytes_max)
		return -EFBIG;
	err = intern_string(n->in, n->text, bytes, id);
	if (!err) {
		n->bytes += bytes;
		share->bytes += (uint32_t)bytes;
	}
	return err;
}

/* The number of the function that a frame is in. */
static int learn_function(struct window_names *n, const struct frame *f, uint32_t *id)
{
	struct frame function = stack_frame_cut(DETAIL_FUNCTION, f);

	function.first_line = f->first_line;
	return intern_frame(n->functions, &function, id);
}

/* The code of a frame with names of ours. */
static int learn_frame(struct window_names *n, struct window_names_share *share,
		       const struct frame *f, uint32_t *code)
{
	uint32_t function, id;

	if (intern_find_frame(n->in, f, &id)) {
		*code = window_code(id);
		return 0;
	}
	if (no_frame_free(n, share))
		return -ENOSPC;
	if (learn_function(n, f, &function) ||
	    buf_add(&n->function_of, &function, sizeof(function)))
		return -ENOMEM;
	if (intern_frame(n->in, f, &id)) {
		n->function_of.len -= sizeof(function);
		return -ENOMEM;
	}
	*code = window_code(id);
	share->frames++;
	return 0;
}

int window_names_synthetic(struct window_names *n, struct window_names_share *share,
			   const char *name, uint32_t *code)
{
	struct frame f = stack_frame_cut(DETAIL_FUNCTION, &(struct frame){
							  .kind = FRAME_SYNTHETIC });
	int err = learn_string(n, share, SYNTHETIC_FILE, strlen(SYNTHETIC_FILE), &f.file);

	if (!err)
		err = learn_string(n, share, name, strlen(name), &f.func);
	return err ? err : learn_frame(n, share, &f, code);
}

static struct string_ref shown_path(const struct window_names *n, struct string_ref path)
{
	const char *slash = n->privacy.no_directories && path.len ?
			    memrchr(path.data, '/', path.len) : NULL;

	if (slash) {
		path.len -= (size_t)(slash + 1 - path.data);
		path.data = slash + 1;
	}
	return path;
}

/* The id of a frame's file as it may be shown. */
static int learn_file(struct window_names *n, struct window_names_share *share,
		      const struct profile_tables *t, const struct frame *f, uint32_t *id)
{
	struct string_ref file = t->strings[f->file], source;
	char name[NATIVE_FILE_BYTES];

	source = f->kind == FRAME_NATIVE ? native_source(&file) : (struct string_ref){ 0 };
	if (source.len) {
		source = shown_path(n, source);
		snprintf(name, sizeof(name), "[%.*s] %.*s", (int)native_library(&file).len,
			 native_library(&file).data, (int)source.len, source.data);
		file = string_of(name);
	} else if (f->kind != FRAME_NATIVE) {
		file = shown_path(n, file);
	}
	return learn_string(n, share, file.data, file.len, id);
}

/* Enters the libraries of a process's tables, as far as there is room. */
static void learn_libraries(struct window_names *n, struct window_names_share *share,
			    struct window_map *map)
{
	char text[2 * NATIVE_FILE_BYTES];
	const struct profile_tables *t = map->tables;
	struct native_library l;
	uint32_t id;

	for (; map->libraries < t->library_cnt; map->libraries++) {
		if (!native_library_parse(&t->strings[t->libraries[map->libraries]], &l))
			continue;
		l.path = shown_path(n, l.path);
		native_library_text(&l, text, sizeof(text));
		/* It is a library if it fits with the names. */
		if (learn_string(n, share, text, strlen(text), &id) ||
		    intern_library(n->in, n->text, strlen(n->text)))
			return;
	}
}

static struct string_ref shown_synthetic(const struct window_names *n, struct string_ref name)
{
	static const char begin[] = "<exception ", shown[] = "<exception>";

	if (!n->privacy.no_exceptions || name.len < strlen(begin) ||
	    memcmp(name.data, begin, strlen(begin)))
		return name;
	return (struct string_ref){ .data = shown, .len = strlen(shown) };
}

int window_names_learn(struct window_names *n, struct window_names_share *share,
		       struct window_map *map, uint32_t frame, uint32_t *code)
{
	const struct profile_tables *t = map->tables;
	struct string_ref func;
	struct frame f;
	int err;

	if (frame >= t->frame_cnt || t->frames[frame].file >= t->string_cnt ||
	    t->frames[frame].func >= t->string_cnt)
		return window_names_synthetic(n, share, "<lost frame>", code);
	f = stack_frame_cut(DETAIL_LINE, &t->frames[frame]);
	f.first_line = t->frames[frame].first_line;
	func = f.kind == FRAME_SYNTHETIC ? shown_synthetic(n, t->strings[f.func]) :
					   t->strings[f.func];
	err = learn_file(n, share, t, &t->frames[frame], &f.file);
	if (!err && f.kind == FRAME_NATIVE)
		learn_libraries(n, share, map);
	if (!err)
		err = learn_string(n, share, func.data, func.len, &f.func);
	if (!err)
		err = learn_frame(n, share, &f, code);
	if (err)
		return err;
	return id_map_set(&map->frames, frame,
			  f.kind == FRAME_SYNTHETIC ? *code | WINDOW_MAP_SYNTHETIC : *code);
}

const struct profile_tables *window_names_tables(const struct window_names *n)
{
	return intern_tables(n->in);
}

const struct profile_tables *window_names_functions(const struct window_names *n,
						    const uint32_t **function_of)
{
	*function_of = (const uint32_t *)(const void *)n->function_of.data;
	return intern_tables(n->functions);
}

size_t window_names_bytes(const struct window_names *n)
{
	return n->bytes;
}
