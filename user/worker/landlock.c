// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * landlock.c - see landlock.h. The numbers are those of include/uapi/linux/landlock.h (Linux 5.13):
 * the same on all architectures, and missing from the headers of older systems.
 */
#include "worker/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define RULE_PATH_BENEATH 1
#define READ_FILE (1ull << 2)
#define READ_DIR (1ull << 3)
/* All rights of the first version: execute, write, read, list, remove, make. */
#define ALL_RIGHTS ((1ull << 13) - 1)

struct ruleset {
	uint64_t handled;
};
struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

/* 0 or -errno. */
static int rules_add_dir(int rules, const char *dir, uint64_t allowed)
{
	struct path_beneath rule = { .allowed = allowed };
	int err = 0;

	rule.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return 0;
	if (syscall(ADD_RULE, rules, RULE_PATH_BENEATH, &rule, 0))
		err = -errno;
	close(rule.parent_fd);
	return err;
}

int landlock_limit(const char *const *reads_below, const char *writes_below)
{
	struct ruleset set = { ALL_RIGHTS };
	int rules = (int)syscall(CREATE_RULESET, &set, sizeof(set), 0), err = 0;

	if (rules < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : -errno;
	for (; !err && *reads_below; reads_below++)
		err = rules_add_dir(rules, *reads_below, READ_FILE | READ_DIR);
	if (!err && writes_below)
		err = rules_add_dir(rules, writes_below, ALL_RIGHTS);
	if (!err && syscall(RESTRICT_SELF, rules, 0))
		err = -errno;
	close(rules);
	return err;
}
