// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_elf_wire.c - any messages to the helper, from the main process and the opener, about a file
 * that it has. Input: for each message a byte (1: from the opener; 2: with a descriptor), a u16
 * with its length, and its bytes. The helper ends, and has closed what it was passed.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf_helper/elf_serve.h"
#include "elf_helper/elf_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES_MAX 8	/* their answers fit the socket */

static int open_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int cnt = 0;

	while (dir && readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

/* Send bytes as they are. */
static void send_raw(int fd, const uint8_t *data, size_t len, int passed)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} with = { .bytes = { 0 } };
	struct iovec part = { (void *)data, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (passed >= 0) {
		m.msg_control = with.bytes;
		m.msg_controllen = sizeof(with.bytes);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(passed));
	}
	sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_all(const int fds[2], const uint8_t *data, size_t size, int file)
{
	uint16_t len;
	int cnt;

	for (cnt = 0; cnt < MESSAGES_MAX && size >= 3; cnt++) {
		uint8_t flags = data[0];

		memcpy(&len, data + 1, sizeof(len));
		data += 3;
		size -= 3;
		len = len < size ? len : (uint16_t)size;
		send_raw(fds[flags & 1], data, len, flags & 2 ? file : -1);
		data += len;
		size -= len;
	}
}

/* Of no ELF file the helper asks nobody for more. */
static int some_file(void)
{
	static const char text[] = "1000 100 first\n1080 10 second\n";
	int fd = memfd_create("map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_message pass = { .kind = PASS_FILE, .file = 1 };
	static int file = -1;
	int to_main[2], to_opener[2], before;

	if (file < 0)
		file = some_file();
	before = open_cnt();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_main) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_opener))
		abort();
	elf_channel_send(to_opener[0], &pass, NULL, file);
	send_all((int[]){ to_main[0], to_opener[0] }, data, size, file);
	shutdown(to_main[0], SHUT_WR);
	elf_serve(to_main[1], to_opener[1]);
	close(to_main[0]);
	close(to_main[1]);
	close(to_opener[0]);
	close(to_opener[1]);
	if (open_cnt() != before)
		abort();
	return 0;
}
