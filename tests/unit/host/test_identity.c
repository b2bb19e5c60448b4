// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_identity.c - whose a process is and where: as /proc says, and by the numbers of cgroups
 * when it is gone.
 */
#include <malloc.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "host/identity.h"
#include "host/proc.h"
#include "tests/unit/tach_test.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GONE INT_MAX	/* above any pid_max */

/* No runtime knows anything of a container. */
static int no_names(struct container *c, pid_t tgid)
{
	return -ENOENT;
}

static void made(struct identities *ids, uint64_t id, const char *path)
{
	struct raw_cgroup raw = { .id = id };

	snprintf((char *)raw.path, sizeof(raw.path), "%s", path);
	identities_cgroup(ids, &raw);
}

static struct raw_origin in(uint64_t id)
{
	return (struct raw_origin){ .cgroups = { cgroup_key(0, id) }, .cgroup_cnt = 1,
				    .uid = 1000, .ns_tgid = 7 };
}

static void test_self(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct identity id;
	struct proc_info who;

	assert_non_null(ids);
	assert_int_equal(proc_info_read(getpid(), &who), 0);
	identity_of_process(ids, &who, &id);
	assert_int_equal(id.uid, geteuid());
	who.tgid = who.task = GONE;	/* it was there when we looked */
	identity_of_process(ids, &who, &id);
	assert_int_equal(id.uid, IDENTITY_NO_UID);
	assert_null(id.container);
	assert_true(identities_hierarchies(ids) & 1);
	identities_free(ids);
}

static void test_gone_before_we_look(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct raw_origin w = in(1ull << 40), other = in(3ull << 40), nowhere = in(5ull << 40);
	struct identity id, again;

	made(ids, 1ull << 40, "/system.slice/docker-" HEX ".scope");
	made(ids, 3ull << 40, "/lxc.payload.web");
	identity_of_origin(ids, GONE, &w, &id);
	assert_non_null(id.container);
	assert_string_equal(id.container->runtime, "docker");
	assert_string_equal(id.container->id, HEX);
	assert_int_equal(id.uid, 1000);
	assert_int_equal(id.ns_tgid, 7);
	/* The same container is the same pointer, however it was found. */
	identity_of_origin(ids, GONE, &w, &again);
	assert_ptr_equal(id.container, again.container);
	made(ids, 7ull << 40, "/system.slice/docker-" HEX ".scope");
	w = in(7ull << 40);
	identity_of_origin(ids, GONE, &w, &again);
	assert_ptr_equal(id.container, again.container);
	identity_of_origin(ids, GONE, &other, &id);
	assert_string_equal(id.container->runtime, "lxc");
	identity_of_origin(ids, GONE, &nowhere, &id);
	assert_null(id.container);
	assert_int_equal(id.uid, 1000);
	assert_int_equal(identities_beyond(ids), 0);
	identities_free(ids);
}

/* Of several hierarchies whichever says more; order and hostile counts do not matter. */
static void test_hierarchies(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct raw_origin w = in(1ull << 40);
	struct identity id;

	made(ids, 1ull << 40, "/system.slice/cron.service");
	made(ids, 3ull << 40, "/docker/" HEX);
	w.cgroups[1] = cgroup_key(0, 3ull << 40);
	w.cgroup_cnt = 2;
	identity_of_origin(ids, GONE, &w, &id);
	assert_string_equal(id.container->id, HEX);
	w.cgroup_cnt = UINT32_MAX;
	identity_of_origin(ids, GONE, &w, &id);
	assert_string_equal(id.container->id, HEX);
	w.cgroup_cnt = 0;
	identity_of_origin(ids, GONE, &w, &id);
	assert_null(id.container);
	identities_free(ids);
}

/* A zombie is in the root's cgroups: that is not remembered as the place of its cgroup. */
static void test_zombie(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct raw_origin w = in(1ull << 40);
	struct identity id;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	identity_of_origin(ids, pid, &w, &id);
	assert_null(id.container);
	made(ids, 1ull << 40, "/docker/" HEX);
	identity_of_origin(ids, pid, &w, &id);
	assert_non_null(id.container);
	assert_string_equal(id.container->id, HEX);
	waitpid(pid, NULL, 0);
	identities_free(ids);
}

static void test_many(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct raw_origin w;
	struct identity id;
	char path[128];
	uint64_t i;

	for (i = 1; i <= 20100; i++) {
		snprintf(path, sizeof(path), "/docker/%064llx", (unsigned long long)i);
		made(ids, i << 20, path);
		w = in(i << 20);
		w.uid = 0;
		identity_of_origin(ids, GONE, &w, &id);
	}
	assert_null(id.container);	/* no room, and that is counted */
	assert_int_equal(identities_beyond(ids), 100);
	w = in(1ull << 20);
	identity_of_origin(ids, GONE, &w, &id);
	assert_non_null(id.container);
	identities_free(ids);
}

/*
 * Cgroups that users have made up take the room and the searches that these users have, and no
 * others': neither below a user's own service nor in a container of the user's.
 */
static void test_a_user_takes_not_all_room(void **state)
{
	static const char *const forms[] = {
		"/user.slice/user-1000.slice/user@1000.service/docker-%064llx.scope",
		"/docker/" HEX "/docker-%064llx.scope",
	};
	struct identities *ids = identities_new(no_names);
	struct identity id;
	struct raw_origin w;
	char path[256];
	uint64_t i, cnt = 0;
	size_t form;

	for (form = 0; form < ARRAY_SIZE(forms); form++) {
		for (i = 1; i <= 12000; i++) {
			snprintf(path, sizeof(path), forms[form], (unsigned long long)i);
			made(ids, ++cnt << 20, path);
			w = in(cnt << 20);
			identity_of_origin(ids, GONE, &w, &id);
			if (i == 1)
				assert_non_null(id.container);
		}
		assert_null(id.container);
		assert_int_equal(identities_beyond(ids), form ? 10000 + 2000 : 10000);
	}
	assert_int_equal(identities_unnamed(ids), 1000);
	made(ids, ++cnt << 20, "/docker/" HEX);
	w = in(cnt << 20);
	w.uid = 1001;
	identity_of_origin(ids, GONE, &w, &id);
	assert_non_null(id.container);
	identities_free(ids);
}

static void test_status(void **state)
{
	struct proc_status st;
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_status(child, &st), 0);
	assert_false(st.has_memory);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(proc_status(getpid(), &st), 0);
	assert_true(st.has_memory);
	assert_int_equal(st.uid, geteuid());
	assert_int_equal(st.threads, 1);
	assert_true(st.ns_tgid_cnt >= 1);
	assert_int_equal(st.ns_tgids[0], getpid());
	assert_int_equal(proc_status(GONE, &st), -ESRCH);
}

/* Cgroups with long paths, made without end: their paths take a bounded part of memory. */
static void test_paths_without_end(void **state)
{
	struct identities *ids = identities_new(no_names);
	size_t before = mallinfo2().uordblks;
	char path[1001] = "/";
	uint64_t i;

	memset(path + 1, 'x', 999);
	for (i = 0; i < 60000; i++)
		made(ids, i, path);
	assert_in_range(mallinfo2().uordblks - before, 0, 24 << 20);
	identities_free(ids);
}

/* What a path means to a process: our file, or in another mount namespace another one. */
static void test_root(void **state)
{
	struct identities *ids = identities_new(no_names);
	struct raw_origin w = in(1ull << 40), boxed = in(3ull << 40);
	struct identity id;
	int fds[2];
	char c;
	pid_t pid;

	made(ids, 3ull << 40, "/docker/" HEX);
	identity_of_origin(ids, getpid(), &w, &id);
	assert_int_equal(id.root, IDENTITY_ROOT_OURS);
	identity_of_origin(ids, GONE, &w, &id);
	assert_int_equal(id.root, IDENTITY_ROOT_UNKNOWN);
	identity_of_origin(ids, GONE, &boxed, &id);
	assert_int_equal(id.root, IDENTITY_ROOT_OTHER);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		c = unshare(CLONE_NEWNS) ? 'n' : 'y';
		_exit(write(fds[1], &c, 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	identity_of_origin(ids, pid, &w, &id);
	assert_int_equal(id.root, c == 'y' ? IDENTITY_ROOT_OTHER : IDENTITY_ROOT_OURS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	identities_free(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_gone_before_we_look),
		cmocka_unit_test(test_hierarchies),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_a_user_takes_not_all_room),
		cmocka_unit_test(test_paths_without_end),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
