/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_coroutine.h - all of a coroutine at once, by the functions of coroutine.h. */
#ifndef TACHBPF_TESTS_READ_COROUTINE_H
#define TACHBPF_TESTS_READ_COROUTINE_H

#include <errno.h>

#include "asyncio/coroutine.h"

/* 0; -EBADMSG: it is none; -errno of py_get(). */
static inline int coroutine_read(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
				 struct coroutine *out)
{
	size_t need = coroutine_bytes(w, at), n = object_first_read(obj, need, COROUTINE_READ);
	uint8_t bytes[COROUTINE_READ];
	int err = need ? py_get(w, obj, bytes, n) : -EBADMSG;

	if (!err)
		err = coroutine_look(w, at, obj, bytes, n, out);
	if (err)
		return err;
	coroutine_awaits(w, at, bytes, n, out);
	out->lasti = coroutine_lasti(w, at, out);
	return 0;
}

#endif
