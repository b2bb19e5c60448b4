// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_libraries.c - see native_libraries.h. Paths are the target's. */
#include "resolve/native_libraries.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/util.h"
#include "model/native_frame.h"
#include "model/native_library.h"
#include "native/native.h"

/* What a file's entry has: a mark each, because the map keeps pointers. */
static char without_build_id, with_build_id;

void native_libraries_free(struct native_libraries *l)
{
	u64map_free(&l->by_file);
}

static int enter(struct intern *in, const struct native_file *f)
{
	char library[4 * NATIVE_LIBRARY_BYTES], path[4 * PATH_MAX];

	escape_text(f->library, strnlen(f->library, NATIVE_LIBRARY_BYTES), library,
		    sizeof(library));
	escape_text(f->path, strnlen(f->path, PATH_MAX - 1), path, sizeof(path));
	return native_library_add(in, library, path, f->build_id, f->build_id_bytes);
}

int native_libraries_note(struct native_libraries *l, const struct native *native, uint32_t file,
			  struct intern *in)
{
	const void *entered = u64map_get(&l->by_file, file);
	const struct native_file *f;
	int err;

	if (!file || entered == &with_build_id ||
	    (!entered && l->by_file.cnt >= NATIVE_LIBRARIES_MAX))
		return 0;
	f = native_file(native, file);
	if (!f || !f->library || !f->path || (entered && !f->build_id_bytes))
		return 0;
	err = u64map_put(&l->by_file, file,
			 f->build_id_bytes ? &with_build_id : &without_build_id);
	return err ? err : enter(in, f);
}
