// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_agent.c - tachbpf agent: becomes the executable tachbpf-agent, which is next to this one.
 *
 * The agent is a separate executable so that this one does not need its libraries. This file
 * ignores the words after `agent`: tachbpf-agent parses them and prints its own help, and its exit
 * status is the command's.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/options.h"

#define AGENT "tachbpf-agent"
/* Exit statuses, as in a shell. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

/* Returns the path of AGENT in the directory of this executable. 0 or -errno. */
static int agent_path(char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof(AGENT));
	char *slash;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	strcpy(slash + 1, AGENT);
	return 0;
}

/* Runs it. Returns only if that fails: -errno. */
static int become_agent(const char *path, char **words)
{
	char **argv;
	size_t cnt;
	int err;

	for (cnt = 0; words[cnt]; cnt++)
		;
	argv = calloc(cnt + 2, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	argv[0] = (char *)AGENT;
	memcpy(argv + 1, words, cnt * sizeof(*argv));
	execv(path, argv);
	err = -errno;
	free(argv);
	return err;
}

int agent_command_run(const struct agent_command_options *opts)
{
	char path[PATH_MAX], shown[CLI_TEXT_MAX];
	int err = agent_path(path);

	if (err) {
		log_error("cannot find %s: /proc/self/exe: %s; is /proc mounted?", AGENT,
			  strerror(-err));
		return EXIT_NOT_FOUND;
	}
	err = become_agent(path, opts->words);
	escape_text(path, strlen(path), shown, sizeof(shown));
	if (err == -ENOENT) {
		log_error("%s not found: install the package %s, or build with make AGENT=1",
			  shown, AGENT);
		return EXIT_NOT_FOUND;
	}
	log_error("cannot run %s: %s", shown, strerror(-err));
	return EXIT_CANNOT_RUN;
}
