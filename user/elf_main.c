// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_main.c - the executable tachbpf-elf, which tachbpf starts for --native: gives up all rights,
 * then reads the ELF files that it is passed (elf_helper/elf_wire.h).
 *
 *     tachbpf-elf tables|names PARENT		3: socket to PARENT, 4: socket to the file opener
 */
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/start.h"
#include "base/util.h"
#include "elf_helper/elf_demangler.h"
#include "elf_helper/elf_serve.h"
#include "worker/jail.h"

#define MAIN_FD 3
#define OPENER_FD 4

static const char *const calls[] = {
	"poll", "ppoll", "pread64", "fstat", "newfstatat", "statx", "lseek", "fcntl",
	"memfd_create", "ftruncate", "pwrite64", "write", "setitimer", "setpriority", NULL,
};
/* libdw looks for files that a file names. The opener does that. */
static const char *const refused[] = {
	"open", "openat", "openat2", "readlink", "readlinkat", "access", "faccessat",
	"faccessat2", "stat", "lstat", "getcwd", "read", "ioctl", "prctl", "sysinfo",
	"sched_getaffinity", NULL,
};
static const struct jail jail = {
	.calls = calls,
	.refused = refused,
	.memory_bytes = 2ull << 30,	/* the DWARF of large files */
	.secret = true,
};

/* What others can see, or do to us. */
static bool detach(const char *role, pid_t parent)
{
	char name[16];
	size_t i;
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };

	snprintf(name, sizeof(name), "tachbpf-%s", role);
	prctl(PR_SET_NAME, name);
	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* close_range() exists since 5.9; all that the parent has is CLOEXEC. */
	syscall(SYS_close_range, OPENER_FD + 1, ~0u, 0);
	jail_leave_files();	/* it undoes PR_SET_PDEATHSIG */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == parent;
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	bool names = argc > 1 && !strcmp(argv[1], "names");

	start_program();
	if (argc != 3 || (!names && strcmp(argv[1], "tables"))) {
		fprintf(stderr, "%s is started by tachbpf\n", argv[0]);
		return EXIT_FAILURE;
	}
	mallopt(M_ARENA_MAX, 1);
	raise_file_limit();
	if (!detach(argv[1], atoi(argv[2])) || (names && elf_demangler_start()) ||
	    jail_enter(&jail))
		return EXIT_FAILURE;
	return elf_serve(MAIN_FD, OPENER_FD) ? EXIT_FAILURE : EXIT_SUCCESS;
}
