// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_demangler.c - see elf_demangler.h. There are two processes: one demangles, the other one only
 * waits for its end, says which name was too much, and starts it again.
 */
#include "elf_helper/elf_demangler.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_helper/elf_demangle.h"
#include "elf_helper/elf_wire.h"
#include "worker/jail.h"

#define MEMORY_BYTES (256u << 20)

static const char *const demangling_calls[] = { "setitimer", NULL };
static const struct jail demangling_jail = {
	.calls = demangling_calls, .memory_bytes = MEMORY_BYTES, .secret = true,
};
/* What fork(), waiting, and entering the other jail need. */
static const char *const starting_calls[] = {
	"clone", "fork", "set_robust_list", "wait4", "getppid", "setitimer", "prctl", "seccomp",
	"capget", "capset", "setrlimit", "prlimit64", NULL,
};
static const struct jail starting_jail = {
	.calls = starting_calls, .memory_bytes = MEMORY_BYTES, .secret = true,
};

static struct {
	int fd;			/* to the process; -1: none */
	uint32_t request;	/* number of the last one */
} self = { .fd = -1 };

/* ---- the process that demangles ---- */

static void limit_time(suseconds_t us)
{
	const struct itimerval after = { .it_value.tv_usec = us };

	setitimer(ITIMER_VIRTUAL, &after, NULL);
}

/* Until the other end is closed. request: the number of the one in progress. */
static int demangle_names(int fd, volatile uint32_t *request)
{
	static struct elf_packet p;
	char name[ELF_DEMANGLE_MAX + 1];
	int passed, err;

	while (!(err = elf_channel_receive(fd, &p, &passed, 0))) {
		if (p.head.bytes > ELF_DEMANGLE_MAX)
			return -EBADMSG;
		memcpy(name, p.data, p.head.bytes);
		name[p.head.bytes] = '\0';
		*request = p.head.request;
		limit_time(ELF_DEMANGLE_US);
		p.head.bytes = (uint32_t)elf_demangle(name, (char *)p.data, ELF_NAME_BYTES);
		limit_time(0);
		err = elf_channel_send(fd, &p.head, p.data, -1);
		if (err)
			return err;
	}
	return err == -EPIPE ? 0 : err;
}

static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_SUCCESS);
}

/* ---- the one that starts it ---- */

/* Returns the status of the process that demangles, as of waitpid(). */
static int run_demangling(int fd, volatile uint32_t *request)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid < 0)
		_exit(EXIT_FAILURE);
	if (!pid) {
		end_with(parent);
		if (jail_enter(&demangling_jail))
			_exit(EXIT_FAILURE);
		_exit(demangle_names(fd, request) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			_exit(EXIT_FAILURE);
	return status;
}

static void serve_names(int fd)
{
	volatile uint32_t *request = mmap(NULL, sizeof(*request), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct elf_message m = { .kind = DEMANGLE, .result = -ETIME };
	int status, err = request == MAP_FAILED ? -ENOMEM : jail_enter(&starting_jail);

	while (!err) {
		status = run_demangling(fd, request);
		if (WIFEXITED(status))
			_exit(WEXITSTATUS(status));
		m.request = *request;
		err = elf_channel_send(fd, &m, NULL, -1);
	}
	_exit(EXIT_FAILURE);
}

/* ---- who asks ---- */

int elf_demangler_start(void)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid) {
		end_with(parent);
		/* No socket of the helper's may stay open with us. */
		dup2(ends[1], 0);
		syscall(SYS_close_range, 1, ~0u, 0);
		serve_names(0);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	self.fd = ends[0];
	return 0;
}

/* Returns the text's length, or -errno; -ETIME: it took too long. */
static int ask_name(const char *name, char *out, size_t size)
{
	static struct elf_packet p;
	struct elf_message m = { .kind = DEMANGLE, .bytes = (uint32_t)strlen(name),
				 .request = ++self.request };
	int passed, err = elf_channel_send(self.fd, &m, name, -1);

	/* Killed after its answer, the process leaves two. */
	do
		err = err ? err : elf_channel_receive(self.fd, &p, &passed, 0);
	while (!err && p.head.request != m.request);
	if (err || p.head.result)
		return err ? err : -ETIME;
	if (p.head.bytes >= size)
		return -EBADMSG;
	memcpy(out, p.data, p.head.bytes);
	out[p.head.bytes] = '\0';
	return (int)p.head.bytes;
}

int elf_demangler_name(const char *name, char *out, size_t size, bool *costly)
{
	int len;

	*costly = false;
	if (!elf_is_mangled(name))
		return (int)elf_name_copy(name, out, size);
	len = ask_name(name, out, size);
	*costly = len == -ETIME;
	return *costly ? (int)elf_name_copy(name, out, size) : len;
}
