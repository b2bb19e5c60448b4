/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind_write.h - puts the parts of a table into a memfd, as unwind_file.h describes it. */
#ifndef TACHBPF_ELF_UNWIND_WRITE_H
#define TACHBPF_ELF_UNWIND_WRITE_H

#include "elf/unwind_file.h"

/*
 * Write a table. Of head, what is not a place or a length of a part is the caller's: machine, hash,
 * start, bytes, what building has met; the rest is filled in. Returns a descriptor that is sealed
 * against changes; -EFBIG: larger than UNWIND_FILE_BYTES_MAX; other -errno.
 */
int unwind_write(struct unwind_file *head, const struct unwind_row *rows, uint32_t row_cnt,
		 const struct unwind_rule *rules, uint32_t rule_cnt);

#endif
