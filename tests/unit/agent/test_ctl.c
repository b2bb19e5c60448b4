// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_ctl.c - requests over the agent's socket: good ones, and clients that mean no good. */
#include "agent/ctl.h"
#include "agent/ctl_command.h"
#include "base/time.h"
#include "tests/unit/tach_test.h"

#include <errno.h>
#include <grp.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>


static char dir[] = "/tmp/test_ctl.XXXXXX", path[100];
static struct ctl *ctl;
static uint64_t now = NS_PER_S;
static struct ctl_request last;		/* without its conditions */
static size_t conditions, answer_bytes;
static int answer_status, obeyed;

/* ctl_obey_fn */
static int obey(void *ctx, struct ctl_request *r, struct buf *out)
{
	size_t i;

	last = *r;
	obeyed++;
	conditions = r->filter.cnt;
	for (i = 0; i < answer_bytes; i++)
		assert_int_equal(buf_add(out, i % 64 == 63 ? "\n" : "x", 1), 0);
	return answer_status;
}

static void begin(void)
{
	snprintf(path, sizeof(path), "%s/run/agent.sock", dir);
	ctl = ctl_new(path, "", obey, NULL);
	assert_non_null(ctl);
	answer_bytes = 100;
	answer_status = 0;
	obeyed = 0;
}

static void end(void)
{
	struct stat st;

	ctl_free(ctl);
	ctl = NULL;
	assert_int_equal(lstat(path, &st), -1);
}

static int client(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void say(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

static void ticks(int cnt)
{
	while (cnt--)
		ctl_tick(ctl, now);
}

/* All that comes until the end of the connection; the status of the answer. */
static int answer_of(int fd, struct buf *text)
{
	struct buf line = { 0 };
	int status, i;
	ssize_t n = -1;

	for (i = 0; i < 10000 && n; i++) {
		ticks(1);
		assert_int_equal(buf_reserve(&line, 4096), 0);
		n = recv(fd, line.data + line.len, 4096, 0);
		line.len += n > 0 ? n : 0;
		if (n < 0 && errno != EAGAIN)
			break;
	}
	close(fd);
	status = line.len ? ctl_answer_read(line.data, line.len, text) : -ENODATA;
	buf_free(&line);
	return status;
}

static int ask(const char *request, struct buf *text)
{
	int fd = client();

	text->len = 0;
	say(fd, request, strlen(request));
	return answer_of(fd, text);
}

static void test_good_requests(void **state)
{
	struct buf text = { 0 };

	begin();
	assert_int_equal(ask("{\"command\":\"status\"}\n", &text), 0);
	assert_int_equal(text.len, 100);
	assert_int_equal(last.what, CTL_STATUS);
	assert_false(last.json);
	assert_int_equal(ask("{\"command\":\"status\",\"json\":true,\"new\":[{}]}\n", &text), 0);
	assert_true(last.json);
	answer_status = 3;
	assert_int_equal(ask("{\"command\":\"reload\"}\n", &text), 3);
	assert_int_equal(last.what, CTL_RELOAD);
	assert_int_equal(ask("{\"command\":\"burst\",\"rate_hz\":999,\"for_ms\":30000,"
			     "\"conditions\":[[\"container\",\"web\"],"
			     "[\"comm\",\"gun*\"]],\"pids\":[7,8]}\n",
			     &text), 3);
	assert_int_equal(last.what, CTL_BURST);
	assert_int_equal(last.rate_hz, 999);
	assert_int_equal(last.for_ns, 30 * NS_PER_S);
	assert_int_equal(conditions, 2);
	assert_int_equal(last.pid_cnt, 2);
	assert_int_equal(last.pids[1], 8);
	assert_int_equal(obeyed, 4);
	end();
	buf_free(&text);
}

static void test_bad_requests(void **state)
{
	static const char *const bad[] = {
		"\n", "{}\n", "[]\n", "null\n", "status\n", "{\"command\":1}\n",
		"{\"command\":\"x\"}\n",
		"{\"command\":\"status\"} x\n", "{\"command\":\"burst\"}\n",
		"{\"command\":\"burst\",\"rate_hz\":0,\"for_ms\":1}\n",
		"{\"command\":\"burst\",\"rate_hz\":50001,\"for_ms\":1}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":3600001}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":18446744073709551616}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"pids\":[0]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"pids\":[-1]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"pids\":[\"x\"]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":[1]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":[[\"comm\"]]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":"
		"[[\"cgroup\",\"/\"]]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":"
		"[[\"pid\",\"1\"]]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":"
		"[[\"comm\",\"a\\u0000b\"]]}\n",
		"{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,\"conditions\":"
		"[[\"uid\",\"no such user\"]]}\n",
	};
	struct buf text = { 0 };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (ask(bad[i], &text) != 2)
			fail_msg("taken: %s", bad[i]);
		assert_true(text.len > 10);
	}
	assert_int_equal(obeyed, 0);
	end();
	buf_free(&text);
}

/* More of anything than there may be. */
static void test_too_much(void **state)
{
	struct buf line = { 0 }, text = { 0 };
	char why[CTL_WHY_BYTES];
	struct ctl_request r;
	int i;

	assert_int_equal(buf_add(&line, "{\"command\":\"burst\",\"rate_hz\":9,\"for_ms\":9,"
				 "\"pids\":[1",
				 52), 0);
	for (i = 0; i < CTL_PIDS_MAX; i++)
		assert_int_equal(buf_add(&line, ",1", 2), 0);
	assert_int_equal(buf_add(&line, "]}", 2), 0);
	assert_int_equal(ctl_request_read(&r, line.data, line.len, why), -EINVAL);
	ctl_request_free(&r);
	line.len = 0;
	for (i = 0; i < 3000; i++)
		assert_int_equal(buf_add(&line, "[", 1), 0);
	assert_int_equal(ctl_request_read(&r, line.data, line.len, why), -EINVAL);
	ctl_request_free(&r);
	buf_free(&line);
	buf_free(&text);
}

/* A request is read as it was written, whatever its texts have. */
static void test_round_trip(void **state)
{
	struct ctl_request r = { .what = CTL_BURST, .rate_hz = 99, .for_ns = 5 * NS_PER_S,
				 .pids = { 1, 4194304 }, .pid_cnt = 2 }, again;
	struct buf line = { 0 };
	char why[CTL_WHY_BYTES];
	int i;

	assert_int_equal(proc_filter_add(&r.filter, FILTER_COMM, false, "a \"b\" \\ \x80*"), 0);
	assert_int_equal(proc_filter_add(&r.filter, FILTER_CONTAINER, false, "wéb"), 0);
	assert_int_equal(ctl_request_write(&r, &line), 0);
	assert_int_equal(line.data[line.len - 1], '\n');
	assert_null(memchr(line.data, '\n', line.len - 1));
	assert_int_equal(ctl_request_read(&again, line.data, line.len - 1, why), 0);
	assert_int_equal(again.filter.cnt, 2);
	assert_string_equal(again.filter.rules[1].text, "wéb");
	assert_int_equal(again.pids[1], 4194304);
	assert_int_equal(again.for_ns, 5 * NS_PER_S);
	ctl_request_free(&again);
	for (i = 0; i < 200; i++)
		assert_int_equal(proc_filter_add(&r.filter, FILTER_COMM, false, "0123456789"), 0);
	line.len = 0;
	assert_int_equal(ctl_request_write(&r, &line), -E2BIG);
	ctl_request_free(&r);
	buf_free(&line);
}

/* Half a line, nothing at all, a line in pieces, a line that never ends, a client that is gone. */
static void test_odd_clients(void **state)
{
	static char huge[CTL_REQUEST_MAX];
	struct buf text = { 0 };
	int half, silent, fd, i;
	const char *line = "{\"command\":\"status\"}\n";
	char c;

	begin();
	half = client();
	silent = client();
	say(half, "{\"comm", 6);
	ticks(3);
	assert_int_equal(recv(half, &c, 1, 0), -1);	/* neither answered nor waited for */
	fd = client();
	for (i = 0; line[i]; i++) {
		say(fd, line + i, 1);
		ticks(1);
	}
	assert_int_equal(answer_of(fd, &text), 0);
	memset(huge, 'x', sizeof(huge));
	fd = client();
	say(fd, huge, sizeof(huge));
	assert_int_equal(answer_of(fd, &text), 2);
	fd = client();
	say(fd, line, strlen(line));
	close(fd);
	ticks(3);
	assert_int_equal(recv(half, &c, 1, 0), -1);
	now += CTL_CLIENT_NS + 1;
	ticks(2);
	assert_int_equal(recv(half, &c, 1, 0), 0);
	assert_int_equal(recv(silent, &c, 1, 0), 0);
	close(half);
	close(silent);
	end();
	buf_free(&text);
}

/* A long answer goes to a client that reads slowly; one that does not read is dropped. */
static void test_long_answers(void **state)
{
	struct buf text = { 0 };
	size_t got = 0;
	char part[4096];
	int lazy;
	ssize_t n;

	begin();
	answer_bytes = CTL_ANSWER_MAX + 1000;
	assert_int_equal(ask("{\"command\":\"status\"}\n", &text), 0);
	assert_int_equal(text.len, CTL_ANSWER_MAX);
	lazy = client();
	say(lazy, "{\"command\":\"status\"}\n", 21);
	ticks(20);
	now += CTL_CLIENT_NS + 1;
	ticks(1);
	while ((n = recv(lazy, part, sizeof(part), 0)) > 0)
		got += n;
	assert_int_equal(n, 0);
	assert_true(got < CTL_ANSWER_MAX);
	close(lazy);
	end();
	buf_free(&text);
}

/*
 * A thousand connections: each gets an answer at once, the agent keeps eight, and later serves
 * again.
 */
static void test_a_thousand_connections(void **state)
{
	struct rlimit limit;
	struct buf text = { 0 };
	int fds[1000], i, busy = 0, open = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	setrlimit(RLIMIT_NOFILE, &limit);
	begin();
	for (i = 0; i < 1000; i++) {
		fds[i] = client();
		if (i % 20 == 0)
			ticks(1);
	}
	ticks(40);
	for (i = 0; i < 1000; i++) {
		char answer[256];
		ssize_t n = recv(fds[i], answer, sizeof(answer), 0);

		text.len = 0;
		if (n < 0)
			open++;
		else
			busy += ctl_answer_read(answer, n, &text) == 75;
	}
	assert_int_equal(open, CTL_CLIENTS_MAX);
	assert_int_equal(busy, 1000 - CTL_CLIENTS_MAX);
	assert_int_equal(ask("{\"command\":\"status\"}\n", &text), 75);
	now += CTL_CLIENT_NS + 1;
	ticks(1);
	assert_int_equal(ask("{\"command\":\"status\"}\n", &text), 0);
	for (i = 0; i < 1000; i++)
		close(fds[i]);
	end();
	buf_free(&text);
}

/* Only root: by the mode, and if somebody changes that, by the peer's uid. */
static void test_rights(void **state)
{
	struct stat st;
	int status, i;
	pid_t pid;

	begin();
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	if (!geteuid()) {
		assert_int_equal(chmod(dir, 0755) | chmod(path, 0666), 0);
		pid = fork();
		if (!pid) {
			char *words[] = { "status", "--socket", path, NULL };

			_exit(setresuid(65534, 65534, 65534) ? 1 : ctl_command(words));
		}
		for (i = 0; !waitpid(pid, &status, WNOHANG); i++)
			ctl_tick(ctl, now);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 77);
		assert_int_equal(obeyed, 0);
	}
	end();
}

/* Members of the group may ask; what they may is said to who obeys. Others may not. */
static void test_group(void **state)
{
	gid_t group = getgid(), other = 65533;
	struct group *gr = getgrgid(group);
	int status, member;
	struct stat st;
	pid_t pid;

	if (geteuid() || !gr)
		skip();
	snprintf(path, sizeof(path), "%s/run/agent.sock", dir);
	assert_null(ctl_new(path, "no-such-group-here", obey, NULL));
	ctl = ctl_new(path, gr->gr_name, obey, NULL);
	assert_non_null(ctl);
	obeyed = 0;
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, group);
	assert_int_equal(chmod(dir, 0755) | chmod(path, 0666), 0);
	for (member = 0; member < 3; member++) {
		pid = fork();
		if (!pid) {
			char *words[] = { "status", "--socket", path, NULL };

			freopen("/dev/null", "w", stdout);
			/* Not one; by its own group; by one more. */
			if (setgroups(member == 2, &group) ||
			    setresgid(65534, member == 1 ? group : other, 65534) ||
			    setresuid(65534, 65534, 65534))
				_exit(99);
			_exit(ctl_command(words));
		}
		while (!waitpid(pid, &status, WNOHANG))
			ctl_tick(ctl, now);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), member ? answer_status : 77);
		assert_int_equal(obeyed, member);
		assert_true(!member || last.limited);
	}
	end();
}

/* The command's exit status with these words, while the agent answers. */
static int command(char **words)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		freopen("/dev/null", "w", stdout);
		freopen("/dev/null", "w", stderr);
		_exit(ctl_command(words));
	}
	while (!waitpid(pid, &status, WNOHANG))
		if (ctl)
			ctl_tick(ctl, now);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_the_command(void **state)
{
	char *status_words[] = { "status", "--json", "--socket", path, NULL };
	char *burst[] = { "burst", "--container", "web", "--comm", "gun*", "--pid", "7", "--rate",
			  "2kHz", "--for", "5m", "--socket", path, NULL };
	char *stop[] = { "burst", "--stop", "--socket", path, NULL };
	char *wrong[] = { "burst", "--for", "2h", "--socket", path, NULL };
	char *mixed[] = { "status", "--rate", "9", "--socket", path, NULL };
	char *none[] = { "--socket", path, NULL };

	begin();
	assert_int_equal(command(status_words), 0);
	assert_true(last.json);
	assert_int_equal(command(burst), 0);
	assert_int_equal(last.what, CTL_BURST);
	assert_int_equal(last.rate_hz, 2000);
	assert_int_equal(last.for_ns, 300 * NS_PER_S);
	assert_int_equal(last.pids[0], 7);
	assert_int_equal(conditions, 2);
	answer_status = 1;
	assert_int_equal(command(stop), 1);
	assert_int_equal(last.what, CTL_BURST_STOP);
	assert_int_equal(command(wrong), 2);
	assert_int_equal(command(mixed), 2);
	assert_int_equal(command(none), 2);
	end();
	assert_int_equal(command(status_words), 69);
}

/* A dead agent's socket is replaced; a living one's, and another file, are not. */
static void test_the_socket(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char longer[200];
	int fd;

	begin();
	errno = 0;
	assert_null(ctl_new(path, "", obey, NULL));
	assert_int_equal(errno, EADDRINUSE);
	end();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
	begin();
	/* Another agent's socket has taken our place: it stays. */
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	ctl_free(ctl);
	assert_null(ctl_new(path, "", obey, NULL));
	assert_int_equal(errno, ENOTSOCK);
	assert_int_equal(unlink(path), 0);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_null(ctl_new(longer, "", obey, NULL));
	assert_int_equal(errno, ENAMETOOLONG);
	assert_null(ctl_new("/nowhere/at/all/x.sock", "", obey, NULL));
	assert_int_equal(errno, ENOENT);
	ctl = NULL;
}

static int make_dir(void **state)
{
	log_set_level(LOG_QUIET);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	snprintf(path, sizeof(path), "%s/run", dir);
	return rmdir(path) | rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_requests),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_odd_clients),
		cmocka_unit_test(test_long_answers),
		cmocka_unit_test(test_a_thousand_connections),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_the_command),
		cmocka_unit_test(test_the_socket),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
