// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_wire.c - messages between main process, opener and helpers; and false ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "native/native_wire.h"

static int ends[2];
static uint8_t data[ELF_WIRE_BYTES];

static int set_up(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int tear_down(void **state)
{
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void test_a_message_with_data_and_a_descriptor(void **state)
{
	const struct elf_message sent = { .kind = PASS_FILE, .file = 7, .bytes = 5 };
	struct elf_message m;
	int fd;

	assert_int_equal(native_receive(ends[1], &m, data, &fd), -EAGAIN);
	assert_int_equal(native_send(ends[0], &sent, "abcd", STDIN_FILENO), 0);
	assert_int_equal(native_receive(ends[1], &m, data, &fd), 0);
	assert_memory_equal(&m, &sent, sizeof(m));
	assert_string_equal((char *)data, "abcd");
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(ends[0]);
	ends[0] = dup(ends[1]);
	assert_int_equal(native_receive(ends[1], &m, data, &fd), -EPIPE);
	assert_int_equal(fd, -1);
}

static void test_false_lengths(void **state)
{
	struct elf_message m = { .kind = NAMES, .bytes = 9 };
	struct elf_message got;
	int fd;

	assert_int_equal(send(ends[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(native_receive(ends[1], &got, data, &fd), -EBADMSG);
	assert_int_equal(send(ends[0], &m, sizeof(m) - 1, 0), sizeof(m) - 1);
	assert_int_equal(native_receive(ends[1], &got, data, &fd), -EBADMSG);
	m.bytes = ELF_WIRE_BYTES + 1;
	assert_int_equal(native_send(ends[0], &m, data, -1), -EMSGSIZE);
}

static void test_too_long_a_message(void **state)
{
	static uint8_t bytes[sizeof(struct elf_message) + ELF_WIRE_BYTES + 1];
	struct elf_message m = { .kind = NAMES, .bytes = ELF_WIRE_BYTES };
	int fd;

	memcpy(bytes, &m, sizeof(m));
	assert_int_equal(send(ends[0], bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(native_receive(ends[1], &m, data, &fd), -EBADMSG);
}

/* The kernel closes what there is no room for: no descriptor is left open. */
static void test_more_descriptors_than_one(void **state)
{
	const struct elf_message m = { .kind = TABLE };
	struct iovec part = { (void *)&m, sizeof(m) };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} with = { .bytes = { 0 } };
	struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = with.bytes,
			    .msg_controllen = sizeof(with.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	const int three[3] = { 0, 0, 0 };
	struct elf_message got;
	int fd, free_fd = dup(0), next;

	close(free_fd);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(three));
	memcpy(CMSG_DATA(c), three, sizeof(three));
	assert_int_equal(sendmsg(ends[0], &h, 0), sizeof(m));
	assert_int_equal(native_receive(ends[1], &got, data, &fd), 0);
	if (fd >= 0)
		close(fd);
	next = dup(0);
	assert_int_equal(next, free_fd);
	close(next);
}

static uint32_t put_map(uint32_t at, struct opener_map map, const char *path)
{
	map.path_bytes = (uint32_t)strlen(path) + 1;
	memcpy(data + at, &map, sizeof(map));
	memset(data + at + sizeof(map), 0, (map.path_bytes + 7) & ~7u);
	memcpy(data + at + sizeof(map), path, map.path_bytes);
	return at + (uint32_t)sizeof(map) + ((map.path_bytes + 7) & ~7u);
}

static void test_mappings(void **state)
{
	struct elf_message m = { .kind = MAPS, .cnt = 2 };
	const struct opener_map *map;
	const char *path;
	uint32_t at = 0;

	m.bytes = put_map(0, (struct opener_map){ .start = 1, .end = 2 }, "/lib/a");
	m.bytes = put_map(m.bytes, (struct opener_map){ .start = 3, .end = 4 }, "");
	assert_true(opener_maps_ok(&m, data));
	opener_maps_next(data, &at, &path);
	assert_string_equal(path, "/lib/a");
	map = opener_maps_next(data, &at, &path);
	assert_string_equal(path, "");
	assert_int_equal(map->start, 3);
	assert_int_equal(at, m.bytes);
}

static void test_false_mappings(void **state)
{
	struct elf_message m = { .kind = MAPS, .cnt = 1 };
	struct opener_map *map = (void *)data;
	uint32_t whole = put_map(0, (struct opener_map){ .start = 1, .end = 2 }, "/lib/a"), i;

	for (m.bytes = 0; m.bytes < whole; m.bytes++)
		assert_false(opener_maps_ok(&m, data));
	m.bytes = whole;
	m.cnt = 2;
	assert_false(opener_maps_ok(&m, data));
	m.cnt = UINT32_MAX;
	assert_false(opener_maps_ok(&m, data));
	m.cnt = 0;
	assert_false(opener_maps_ok(&m, data));
	m.cnt = 1;
	assert_true(opener_maps_ok(&m, data));
	for (i = 0; i < 3; i++) {
		const uint32_t bytes[] = { 0, OPENER_PATH_MAX + 1, UINT32_MAX };

		map->path_bytes = bytes[i];
		assert_false(opener_maps_ok(&m, data));
	}
	map->path_bytes = 7;
	data[sizeof(*map) + 6] = 'x';
	assert_false(opener_maps_ok(&m, data));
	data[sizeof(*map) + 6] = '\0';
	map->end = 1;
	assert_false(opener_maps_ok(&m, data));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_message_with_data_and_a_descriptor, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_false_lengths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long_a_message, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_more_descriptors_than_one, set_up, tear_down),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_false_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
