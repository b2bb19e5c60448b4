/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * print_layout.c - what cpython_image_read() says about a file, as "name value" lines.
 *
 * Exits 1 for "no CPython in it", 2 for "not supported" (and says why).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "cpython/image.h"

#define PRINT(name, value) printf("%s %lld\n", name, (long long)(value))
#define L(field) PRINT(#field, img->layout.field)
#define O(field) PRINT(#field, img->objects.field)

static void print_layout(const struct cpython_image *img)
{
	L(ts_next); L(ts_interp); L(ts_frame); L(cframe_frame); L(ts_thread_id); L(ts_gil);
	L(ts_gil_mask); L(ts_exc_current); L(ts_exc_info); L(ts_exc_state);
	PRINT("exc_value", 0);	/* is_handled() */
	L(exc_previous); L(fr_code); L(fr_previous); L(fr_ip); L(fr_owner); L(fr_bytes);
	L(co_firstlineno); L(co_version); L(co_filename); L(co_name); L(co_qualname);
	L(co_linetable); L(co_code); L(interp_id);
	L(interp_next); L(interp_threads_head); L(interp_gc_collecting); L(interp_gc_frame);
	L(interp_epoch); L(interp_gc_stats); L(gc_stats_how); L(gc_young_items); L(gc_old_items);
	L(gil_how); L(skip_owner); L(end_shim); L(code_tag_mask);
	L(fr_tlbc_index); L(co_tlbc); L(interp_threads_main); L(gc_by_frame);
	PRINT("rt_interp_head", img->rt.interp_head);
	PRINT("rt_tss_key", img->rt.tss_key);
	PRINT("rt_gil", img->rt.gil);
	PRINT("rt_collecting", img->rt.collecting);
	PRINT("rt_gc_stats", img->rt.gc_stats);
	PRINT("fr_base", img->layout.fr_base);
	L(lasti_unit); L(tss_flag); L(ts_datastack); L(ts_cframe); L(ts_status);
	L(foreign_ids); L(fr_is_entry); L(fr_object); L(fo_data);
	PRINT("fo_frame", img->layout.bytes_size + 8);
	PRINT("fo_lineno", img->layout.bytes_size + 24);	/* own_line() */
	PRINT("rt_main_thread", img->rt.main_thread);
	PRINT("rt_ceval_gil", img->rt.ceval_gil);
	L(interp_gil); L(gil_cond); L(ts_gil_requested);
	PRINT("layout_bytes_size", img->layout.bytes_size);
	PRINT("layout_bytes_data", img->layout.bytes_data);
	O(bytes_size); O(bytes_data); O(str_length); O(str_state); O(str_ascii_data);
	O(str_compact_data); O(str_kind_mask); O(str_kind_shift); O(str_compact_bit);
	O(str_ascii_bit); O(minor); O(interp_modules); O(type_cached_keys);
	O(co_executors); O(ts_running_loop);
}

int main(int argc, char **argv)
{
	struct cpython_image img;
	char why[200];
	int fd, err;

	if (argc != 2)
		return 3;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 3;
	}
	err = cpython_image_read(fd, &img, why, sizeof(why));
	if (err) {
		fprintf(stderr, "%s\n", why);
		return err == -ENOENT ? 1 : 2;
	}
	print_layout(&img);
	return 0;
}
