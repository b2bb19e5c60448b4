// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ctl_command.c - see ctl_command.h. */
#include "agent/ctl_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/ctl.h"
#include "base/cli.h"
#include "base/output.h"

/* As in sysexits.h. */
#define EXIT_USAGE_WRONG 2
#define EXIT_NO_AGENT 69	/* EX_UNAVAILABLE */
#define EXIT_TRY_AGAIN 75	/* EX_TEMPFAIL */
#define EXIT_NO_RIGHT 77	/* EX_NOPERM */

#define DEFAULT_SOCKET "/run/tachbpf/agent.sock"
#define DEFAULT_RATE_HZ 999
#define DEFAULT_FOR_NS (30 * 1000000000ull)
/* Longer than the agent takes to refuse us. */
#define ANSWER_S 10

struct ctl_words {
	struct ctl_request request;
	const char *socket;
	bool command, stop, help;
};

/* ---- the command line ---- */

static int set_pid(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	struct ctl_request *r = field;
	uint64_t pid;

	if (!parse_decimal(text, strlen(text), &pid) || !pid || pid > INT32_MAX)
		return setting_why(why, "give the number of a process");
	if (r->pid_cnt == CTL_PIDS_MAX) {
		log_error("more than %d --pid: choose by --comm, --unit or --container",
			  CTL_PIDS_MAX);
		return -EINVAL;
	}
	r->pids[r->pid_cnt++] = (pid_t)pid;
	return 0;
}

static const struct setting_type type_pid = { .set = set_pid };

static int take_word(void *target, char *word)
{
	struct ctl_words *w = target;

	if (w->command) {
		log_error("'%s' is too much behind the command: see `tachbpf agent ctl --help`",
			  word);
		return -EINVAL;
	}
	w->command = true;
	if (!strcmp(word, "status"))
		w->request.what = CTL_STATUS;
	else if (!strcmp(word, "burst"))
		w->request.what = CTL_BURST;
	else if (!strcmp(word, "reload"))
		w->request.what = CTL_RELOAD;
	else {
		log_error("'%s' is no command: give status, burst or reload", word);
		return -EINVAL;
	}
	return 0;
}

#define BURST "burst: which processes"
#define HOW "burst: how"
#define AT(member) .off = offsetof(struct ctl_words, member)
#define CONDITION(NAME, ARG, HELP, KIND)                                                           \
	{ 0, NAME, ARG, BURST, HELP, &proc_filter_setting, AT(request.filter),                     \
	  .data = &(const struct proc_filter_place){ KIND, false } }

static const struct setting ctl_settings[] = {
	CONDITION("container", "NAME", "by the container's name or id", FILTER_CONTAINER),
	CONDITION("pod", "NAME", "by the Kubernetes pod", FILTER_POD),
	CONDITION("unit", "NAME", "by the systemd unit", FILTER_UNIT),
	CONDITION("comm", "GLOB", "by the process' name", FILTER_COMM),
	CONDITION("uid", "USER", "by the user", FILTER_UID),
	CONDITION("exe", "GLOB", "by the executable's path", FILTER_EXE),
	{ 0, "pid", "PID", BURST, "by the number; may be repeated", &type_pid, AT(request) },
	{ 'r', "rate", "RATE", HOW, "samples a second and CPU (999)", &setting_rate,
	  AT(request.rate_hz), .min = 1, .max = CTL_RATE_MAX_HZ,
	  .wanted = "give 1 to 50000 samples a second and CPU" },
	{ 0, "for", "TIME", HOW, "how long, at most 1h (30s)", &setting_duration,
	  AT(request.for_ns), .min = NS_OF_MS, .max = CTL_BURST_MAX_NS,
	  .wanted = "give a time up to 1h, as 30s or 5m" },
	{ 0, "stop", NULL, HOW, "end the burst that runs", &setting_flag, AT(stop) },
	{ 0, "json", NULL, "status", "as JSON", &setting_flag, AT(request.json) },
	{ 0, "socket", "PATH", "General", "of the agent (ctl.socket of its configuration: "
	  DEFAULT_SOCKET ")", &setting_file, AT(socket) },
	{ 'h', "help", NULL, "General", "this text", &setting_flag, AT(help) },
	{ 0 }
};

static const char *const synopsis[] = {
	"tachbpf agent ctl status [--json]",
	"tachbpf agent ctl burst [CONDITION...] [--rate RATE] [--for TIME]",
	"tachbpf agent ctl burst --stop",
	"tachbpf agent ctl reload",
	NULL
};
static const char *const examples[] = {
	"tachbpf agent ctl burst --container web --rate 999 --for 30s",
	"look at one container closely for half a minute",
	"tachbpf agent ctl status", "what the agent does now",
	NULL
};
static const struct cli_command ctl_cli = {
	.name = "agent ctl",
	.help = "Ask the agent that runs on this host (as root).",
	.synopsis = synopsis, .examples = examples, .settings = ctl_settings, .word = take_word,
};

/* Rejects options of another command than the given one. Returns 0 or -EINVAL. */
static int check_words(struct ctl_words *w)
{
	struct ctl_request *r = &w->request;
	bool how = r->filter.cnt || r->pid_cnt || r->rate_hz || r->for_ns;

	if (!w->command) {
		log_error("give status, burst or reload: see `tachbpf agent ctl --help`");
		return -EINVAL;
	}
	if (r->what != CTL_BURST && (how || w->stop)) {
		log_error("these options are of burst: see `tachbpf agent ctl --help`");
		return -EINVAL;
	}
	if (r->json && r->what != CTL_STATUS) {
		log_error("--json is an option of status");
		return -EINVAL;
	}
	if (!r->rate_hz)
		r->rate_hz = DEFAULT_RATE_HZ;
	if (!r->for_ns)
		r->for_ns = DEFAULT_FOR_NS;
	if (!w->stop)
		return 0;
	if (how) {
		log_error("--stop ends the burst, whatever it is of: leave out the other options");
		return -EINVAL;
	}
	r->what = CTL_BURST_STOP;
	return 0;
}

/* ---- the agent ---- */

/* Returns the socket, or the exit status as a negative number after logging why. */
static int connect_to(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = ANSWER_S };
	int fd, err;

	if (strlen(path) >= sizeof(at.sun_path)) {
		log_error("bad --socket '%s': a socket's path has at most 107 bytes", path);
		return -EXIT_USAGE_WRONG;
	}
	memcpy(at.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	err = errno;
	close(fd);
	if (err == EACCES || err == EPERM) {
		log_error("no right to ask the agent at %s: use sudo", path);
		return -EXIT_NO_RIGHT;
	}
	if (err == EAGAIN) {
		log_error("the agent at %s does not answer", path);
		return -EXIT_TRY_AGAIN;
	}
	log_error("no agent listens at %s (%s): start `tachbpf agent`, or name the ctl.socket of "
		  "its configuration with --socket", path, strerror(err));
	return -EXIT_NO_AGENT;
}

/* Reads up to the end of the line, or of the data. Returns 0 or -errno. */
static int read_answer(int fd, struct buf *line)
{
	ssize_t n;
	int err;

	do {
		err = buf_reserve(line, 4096);
		if (err)
			return err;
		n = recv(fd, line->data + line->len, 4096, 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		line->len += n > 0 ? n : 0;
		if (line->len > 8 * CTL_ANSWER_MAX)
			return -EFBIG;
	} while (n && (!line->len || line->data[line->len - 1] != '\n'));
	return 0;
}

static int print_answer(int status, const struct buf *text)
{
	if (status) {
		log_error("%.*s", (int)text->len, text->data ? (char *)text->data : "");
		return status;
	}
	fwrite(text->data, 1, text->len, stdout);
	return output_flush_stdout() ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int ask_agent(const char *path, const struct ctl_request *r)
{
	struct buf line = { 0 }, answer = { 0 }, text = { 0 };
	int fd, err, status = EXIT_TRY_AGAIN;

	if (ctl_request_write(r, &line)) {
		log_error("the conditions are longer than a request may be (%d bytes)",
			  CTL_REQUEST_MAX);
		buf_free(&line);
		return EXIT_USAGE_WRONG;
	}
	fd = connect_to(path);
	if (fd < 0) {
		buf_free(&line);
		return -fd;
	}
	/* The agent may answer without reading the request, for example that it is busy. */
	send(fd, line.data, line.len, MSG_NOSIGNAL);
	err = read_answer(fd, &answer);
	if (!err)
		status = ctl_answer_read(answer.data ? answer.data : line.data, answer.len, &text);
	if (err || status < 0) {
		log_error("the agent at %s does not answer%s%s", path, err ? ": " : "",
			  err ? strerror(-err) : "");
		status = EXIT_TRY_AGAIN;
	} else {
		status = print_answer(status, &text);
	}
	close(fd);
	buf_free(&line);
	buf_free(&answer);
	buf_free(&text);
	return status;
}

static int print_help(void)
{
	cli_print_usage(&ctl_cli, stdout);
	cli_print_options(&ctl_cli, stdout);
	cli_print_examples(&ctl_cli, stdout);
	return output_flush_stdout() ? EXIT_FAILURE : EXIT_SUCCESS;
}

int ctl_command(char **words)
{
	struct ctl_words w = { .socket = DEFAULT_SOCKET };
	int status = EXIT_USAGE_WRONG;

	if (!cli_parse(&ctl_cli, words, &w)) {
		if (w.help)
			status = print_help();
		else if (!check_words(&w))
			status = ask_agent(w.socket, &w.request);
	}
	ctl_request_free(&w.request);
	return status;
}
