// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_write.c - see unwind_write.h. */
#include "elf/unwind_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/unwind_index.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Where the parts lie. 0 or -EFBIG. */
static int place(struct unwind_file *head, uint32_t row_cnt, uint32_t rule_cnt)
{
	uint64_t index_cnt;

	head->magic = UNWIND_FILE_MAGIC;
	head->version = UNWIND_FILE_VERSION;
	head->row_cnt = row_cnt;
	head->ext_cnt = rule_cnt;
	head->shift = unwind_index_shift(head->bytes, row_cnt);
	index_cnt = unwind_index_cnt(head->bytes, head->shift);
	if (row_cnt > UNWIND_FILE_BYTES_MAX / sizeof(struct unwind_row))
		return -EFBIG;
	head->index_at = 2 * row_cnt;
	head->ext_at = (uint32_t)(round_up(head->index_at + index_cnt, 4) / 4);
	head->total = round_up(((uint64_t)head->ext_at + rule_cnt) * sizeof(struct unwind_rule),
			       NATIVE_CHUNK);
	return head->total > UNWIND_FILE_BYTES_MAX ? -EFBIG : 0;
}

static int write_index(int fd, const struct unwind_file *head, const struct unwind_row *rows)
{
	uint64_t cnt = unwind_index_cnt(head->bytes, head->shift);
	uint32_t *index = calloc(cnt, sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	unwind_index_fill(index, head->bytes, head->shift, rows, head->row_cnt);
	err = pwrite_all(fd, index, cnt * sizeof(*index),
			 UNWIND_FILE_HEAD + sizeof(*index) * (uint64_t)head->index_at);
	free(index);
	return err;
}

static int write_parts(int fd, const struct unwind_file *head, const struct unwind_row *rows,
		       const struct unwind_rule *rules)
{
	int err = ftruncate(fd, (off_t)(UNWIND_FILE_HEAD + head->total)) ? -errno : 0;

	if (!err)
		err = pwrite_all(fd, head, sizeof(*head), 0);
	if (!err)
		err = pwrite_all(fd, rows, head->row_cnt * sizeof(*rows), UNWIND_FILE_HEAD);
	if (!err)
		err = write_index(fd, head, rows);
	if (!err && head->ext_cnt)
		err = pwrite_all(fd, rules, head->ext_cnt * sizeof(*rules),
				 UNWIND_FILE_HEAD + sizeof(*rules) * (uint64_t)head->ext_at);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS))
		err = -errno;
	return err;
}

int unwind_write(struct unwind_file *head, const struct unwind_row *rows, uint32_t row_cnt,
		 const struct unwind_rule *rules, uint32_t rule_cnt)
{
	int err = place(head, row_cnt, rule_cnt), fd;

	if (err)
		return err;
	fd = memfd_create("tachbpf-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = write_parts(fd, head, rows, rules);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
