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
#include "base/quantity.h"

/* As sysexits.h has them. */
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
	bool command, stop, help, conditions, rate, time;
};

/* ---- the command line ---- */

static int opt_condition(void *target, const struct cli_option *opt, const char *value)
{
	struct ctl_words *w = target;
	const enum proc_filter_kind *kind = opt->data;

	w->conditions = true;
	return proc_filter_add(&w->request.filter, *kind, false, value);
}

static int opt_pid(void *target, const struct cli_option *opt, const char *value)
{
	struct ctl_words *w = target;
	uint64_t pid;

	if (!parse_decimal(value, strlen(value), &pid) || !pid || pid > INT32_MAX) {
		log_error("bad --pid '%s': give the number of a process", value);
		return -EINVAL;
	}
	if (w->request.pid_cnt == CTL_PIDS_MAX) {
		log_error("more than %d --pid: choose by --comm, --unit or --container",
			  CTL_PIDS_MAX);
		return -EINVAL;
	}
	w->conditions = true;
	w->request.pids[w->request.pid_cnt++] = (pid_t)pid;
	return 0;
}

static int opt_rate(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = {
		{ "", 1 }, { "hz", 1 }, { "k", 1000 }, { "khz", 1000 }, { 0 }
	};
	struct ctl_words *w = target;
	double hz;

	if (quantity_parse(value, units, &hz) || hz < 1 || hz > CTL_RATE_MAX_HZ ||
	    hz != (uint32_t)hz) {
		log_error("bad --rate '%s': give 1 to %d samples a second and CPU", value,
			  CTL_RATE_MAX_HZ);
		return -EINVAL;
	}
	w->rate = true;
	w->request.rate_hz = (uint32_t)hz;
	return 0;
}

static int opt_for(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = {
		{ "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 }, { 0 }
	};
	struct ctl_words *w = target;
	double ns;

	if (quantity_parse(value, units, &ns) || ns < 1e6 || ns > CTL_BURST_MAX_NS) {
		log_error("bad --for '%s': give a time up to 1h, as 30s or 5m", value);
		return -EINVAL;
	}
	w->time = true;
	w->request.for_ns = (uint64_t)ns;
	return 0;
}

static int opt_stop(void *target, const struct cli_option *opt, const char *value)
{
	((struct ctl_words *)target)->stop = true;
	return 0;
}

static int opt_json(void *target, const struct cli_option *opt, const char *value)
{
	((struct ctl_words *)target)->request.json = true;
	return 0;
}

static int opt_help(void *target, const struct cli_option *opt, const char *value)
{
	((struct ctl_words *)target)->help = true;
	return 0;
}

static int opt_socket(void *target, const struct cli_option *opt, const char *value)
{
	((struct ctl_words *)target)->socket = value;
	return 0;
}

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

static const enum proc_filter_kind container = FILTER_CONTAINER, pod = FILTER_POD,
	unit = FILTER_UNIT, comm = FILTER_COMM, uid = FILTER_UID, exe = FILTER_EXE;

#define BURST "burst: which processes"
#define HOW "burst: how"

static const struct cli_option ctl_options[] = {
	{ 0, "container", "NAME", BURST, "by the container's name or id", opt_condition, 0,
	  &container },
	{ 0, "pod", "NAME", BURST, "by the Kubernetes pod", opt_condition, 0, &pod },
	{ 0, "unit", "NAME", BURST, "by the systemd unit", opt_condition, 0, &unit },
	{ 0, "comm", "GLOB", BURST, "by the process' name", opt_condition, 0, &comm },
	{ 0, "uid", "USER", BURST, "by the user", opt_condition, 0, &uid },
	{ 0, "exe", "GLOB", BURST, "by the executable's path", opt_condition, 0, &exe },
	{ 0, "pid", "PID", BURST, "by the number; may be repeated", opt_pid, 0, NULL },
	{ 'r', "rate", "RATE", HOW, "samples a second and CPU (999)", opt_rate, 0, NULL },
	{ 0, "for", "TIME", HOW, "how long, at most 1h (30s)", opt_for, 0, NULL },
	{ 0, "stop", NULL, HOW, "end the burst that runs", opt_stop, 0, NULL },
	{ 0, "json", NULL, "status", "as JSON", opt_json, 0, NULL },
	{ 0, "socket", "PATH", "General", "of the agent (ctl.socket of its configuration: "
	  DEFAULT_SOCKET ")", opt_socket, 0, NULL },
	{ 'h', "help", NULL, "General", "this text", opt_help, 0, NULL },
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
	.synopsis = synopsis, .examples = examples, .options = ctl_options,
	.option_cnt = ARRAY_SIZE(ctl_options), .word = take_word,
};

/* Options of another command than the one that was given. 0 or -EINVAL. */
static int check_words(struct ctl_words *w)
{
	bool burst = w->request.what == CTL_BURST;

	if (!w->command) {
		log_error("give status, burst or reload: see `tachbpf agent ctl --help`");
		return -EINVAL;
	}
	if (!burst && (w->conditions || w->rate || w->time || w->stop)) {
		log_error("these options are of burst: see `tachbpf agent ctl --help`");
		return -EINVAL;
	}
	if (w->request.json && w->request.what != CTL_STATUS) {
		log_error("--json is an option of status");
		return -EINVAL;
	}
	if (!w->stop)
		return 0;
	if (w->conditions || w->rate || w->time) {
		log_error("--stop ends the burst, whatever it is of: leave out the other options");
		return -EINVAL;
	}
	w->request.what = CTL_BURST_STOP;
	return 0;
}

/* ---- the agent ---- */

/* The socket, or the exit status as a negative number; logs why. */
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
	log_error("no agent listens at %s (%s): start `tachbpf agent`, or name the ctl.socket of its "
		  "configuration with --socket", path, strerror(err));
	return -EXIT_NO_AGENT;
}

/* Read up to the end of the line, or of what is sent. 0 or -errno. */
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

static int ask(const char *path, const struct ctl_request *r)
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
	/* What it does not read it may still answer: that it is busy, for example. */
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
	struct ctl_words w = {
		.request = { .rate_hz = DEFAULT_RATE_HZ, .for_ns = DEFAULT_FOR_NS },
		.socket = DEFAULT_SOCKET,
	};
	int status = EXIT_USAGE_WRONG;

	if (!cli_parse(&ctl_cli, words, &w)) {
		if (w.help)
			status = print_help();
		else if (!check_words(&w))
			status = ask(w.socket, &w.request);
	}
	ctl_request_free(&w.request);
	return status;
}
