// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_completion.c - tachbpf completion: prints a script with which a shell completes commands,
 * options and their values. All words come from the tables of options_tables.c; those of agent from
 * `tachbpf agent --help`, which the shell runs when they are wanted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/output.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/options_tables.h"

/* Call fn for each option that is shown of each command. */
static void each_option(void (*fn)(enum command_id command, const struct setting *s))
{
	const struct setting *s;
	size_t i, k;

	for (i = 0; i < COMMAND_CNT; i++)
		for (k = 0; (s = cli_option(&options_commands[i], k)); k++)
			if (cli_is_shown(s))
				fn(i, s);
}

/* The words that an option takes, with spaces between them. */
static void print_words(const struct setting *s)
{
	const char *word;
	size_t i;

	for (i = 0; (word = setting_word(s, i)); i++)
		printf("%s%s", i ? " " : "", word);
}

static bool has_words(const struct setting *s)
{
	return setting_word(s, 0);
}

static void print_commands(void)
{
	size_t i;

	for (i = 0; i < COMMAND_CNT; i++)
		printf("%s ", options_commands[i].name);
	fputs("help", stdout);	/* has no row in the table */
}

static void print_shells(void)
{
	int i;

	for (i = SHELL_BASH; i < SHELL_CNT; i++)
		printf("%s%s", i > SHELL_BASH ? " " : "", options_shells[i]);
}

/* ---- bash ---- */

/* "COMMAND:OPTION", as the script's case compares it. */
static void print_bash_case(enum command_id command, const struct setting *s)
{
	const char *cmd = options_commands[command].name;

	printf("\t%s:--%s", cmd, s->name);
	if (s->letter)
		printf("|%s:-%c", cmd, s->letter);
	fputs(") ", stdout);
}

static void bash_value(enum command_id command, const struct setting *s)
{
	if (!setting_arg(s))
		return;
	print_bash_case(command, s);
	if (setting_value_is_optional(s))
		fputs("if [[ $assigned ]]; then ", stdout);
	if (has_words(s)) {
		fputs("COMPREPLY=($(compgen -W '", stdout);
		print_words(s);
		fputs("' -- \"$cur\"))", stdout);
	} else if (s->type == &setting_file) {
		fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", stdout);
	} else {
		fputs("COMPREPLY=()", stdout);
	}
	fputs(setting_value_is_optional(s) ? "; return; fi ;;\n" : "; return ;;\n", stdout);
}

/* With sed -E: the options in what `tachbpf agent --help` prints, and what each does. */
#define AGENT_OPTIONS "s/^ +(-[a-z], )?(--[a-z-]+)"

static void bash_options(const struct cli_command *cmd)
{
	const struct setting *s;
	size_t i;

	if (cmd == &options_commands[COMMAND_AGENT]) {
		printf("\t%s) options=$(\"${COMP_WORDS[0]}\" agent --help 2>/dev/null |\n"
		       "\t\tsed -nE '" AGENT_OPTIONS ".*/\\2/p') ;;\n", cmd->name);
		return;
	}
	printf("\t%s) options='", cmd->name);
	for (i = 0; (s = cli_option(cmd, i)); i++)
		if (cli_is_shown(s))
			printf("%s--%s", i ? " " : "", s->name);
	fputs("' ;;\n", stdout);
}

static void print_bash(void)
{
	size_t i;

	fputs("# bash completion for tachbpf; made by: tachbpf completion bash\n"
	      "_tachbpf() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal command=record options= assigned= i word commands='", stdout);
	print_commands();
	fputs("'\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tword=${COMP_WORDS[i]}\n"
	      "\t\tif [[ $word == -- ]]; then\n"
	      "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\")); return\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\t# bash cuts --option=value into three words.\n"
	      "\tif [[ $cur == = ]]; then\n"
	      "\t\tcur= assigned=1\n"
	      "\telif [[ $prev == = ]]; then\n"
	      "\t\tassigned=1\n"
	      "\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tfi\n"
	      "\tif [[ \" $commands \" == *\" ${COMP_WORDS[1]} \"* ]] && ((COMP_CWORD > 1)); then\n"
	      "\t\tcommand=${COMP_WORDS[1]}\n"
	      "\tfi\n"
	      "\tcase $command:$prev in\n", stdout);
	each_option(bash_value);
	fputs("\tesac\n"
	      "\tcase $command in\n", stdout);
	for (i = 0; i < COMMAND_CNT; i++)
		bash_options(&options_commands[i]);
	fputs("\tesac\n"
	      "\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\telif ((COMP_CWORD == 1)) || [[ $command == help ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
	      "\telif [[ $command == agent ]] && ((COMP_CWORD == 2)); then\n"
	      "\t\tCOMPREPLY=($(compgen -W ctl -- \"$cur\"))\n"
	      "\telif [[ $command == completion ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '", stdout);
	print_shells();
	fputs("' -- \"$cur\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _tachbpf tachbpf\n", stdout);
}

/* ---- zsh, fish: an option is shown with its help ---- */

/* A help text as one line, quoted for '...' in both shells; zsh also reserves [ ] and :. */
static void print_help_text(const char *help, bool zsh)
{
	for (; *help; help++) {
		if (*help == '\n')
			putchar(' ');
		else if (*help == '\'')
			fputs(zsh ? "'\\''" : "\\'", stdout);
		else if (zsh && strchr("[]:\\", *help))
			printf("\\%c", *help);
		else if (!zsh && *help == '\\')
			fputs("\\\\", stdout);
		else
			putchar(*help);
	}
}

static void zsh_option(const struct setting *s)
{
	fputs("\t\t", stdout);
	if (s->letter)
		printf("'*'{-%c,--%s}", s->letter, s->name);
	else
		printf("'*'--%s%s", s->name, setting_value_is_optional(s) ? "=-" : "");
	fputs("'[", stdout);
	print_help_text(s->help, true);
	fputs("]", stdout);
	if (setting_arg(s)) {
		fputs(setting_value_is_optional(s) ? ":: :" : ": :", stdout);
		if (has_words(s)) {
			putchar('(');
			print_words(s);
			putchar(')');
		} else if (s->type == &setting_file) {
			fputs("_files", stdout);
		}
	}
	fputs("' \\\n", stdout);
}

/* The agent's, from its help. */
static void print_zsh_agent(void)
{
	fputs("\tagent)\n"
	      "\t\tlocal -a flags=(${(f)\"$($program agent --help 2>/dev/null |\n"
	      "\t\t\tsed -nE '" AGENT_OPTIONS ".*/\\2/p')\"})\n"
	      "\t\tif [[ $words[CURRENT] == -* ]]; then\n"
	      "\t\t\tcompadd -a flags\n"
	      "\t\telif ((CURRENT == 2)); then\n"
	      "\t\t\tcompadd ctl\n"
	      "\t\telse\n"
	      "\t\t\t_files\n"
	      "\t\tfi ;;\n", stdout);
}

/* What words of a command are that are no options. */
static void zsh_words(enum command_id command)
{
	if (command == COMMAND_COMPLETION) {
		fputs("\t\t'*:shell:(", stdout);
		print_shells();
		fputs(")' ;;\n", stdout);
	} else {
		fputs("\t\t'*:file:_files' ;;\n", stdout);
	}
}

static void print_zsh(void)
{
	const struct cli_command *cmd;
	const struct setting *s;
	size_t i, k;

	fputs("#compdef tachbpf\n"
	      "# zsh completion for tachbpf; made by: tachbpf completion zsh\n"
	      "_tachbpf() {\n"
	      "\tlocal command=record program=$words[1]\n"
	      "\tlocal -a commands=(\n", stdout);
	for (i = 0; i < COMMAND_CNT; i++) {
		printf("\t\t'%s:", options_commands[i].name);
		print_help_text(options_commands[i].help, true);
		fputs("'\n", stdout);
	}
	fputs("\t\t'help:Show the options of a command.'\n"
	      "\t)\n"
	      "\tif ((CURRENT == 2)) && [[ $words[2] != -* ]] || [[ $words[2] == help ]]; then\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tif (($commands[(I)$words[2]:*])); then\n"
	      "\t\tcommand=$words[2]\n"
	      "\t\tshift words\n"
	      "\t\t((CURRENT--))\n"
	      "\tfi\n"
	      "\tcase $command in\n", stdout);
	for (i = 0; i < COMMAND_CNT; i++) {
		cmd = &options_commands[i];
		if (i == COMMAND_AGENT) {
			print_zsh_agent();
			continue;
		}
		printf("\t%s) _arguments -S \\\n", cmd->name);
		for (k = 0; (s = cli_option(cmd, k)); k++)
			if (cli_is_shown(s))
				zsh_option(s);
		zsh_words(i);
	}
	fputs("\tesac\n}\n_tachbpf \"$@\"\n", stdout);
}

static void fish_option(enum command_id command, const struct setting *s)
{
	const char *cmd = options_commands[command].name;

	/* record is also what tachbpf does without a command. */
	printf("complete -c tachbpf -n '%s %s' -l %s",
	       command == COMMAND_RECORD ? "__tachbpf_records" : "__fish_seen_subcommand_from",
	       command == COMMAND_RECORD ? "" : cmd, s->name);
	if (s->letter)
		printf(" -s %c", s->letter);
	if (setting_arg(s) && has_words(s)) {
		fputs(setting_value_is_optional(s) ? " -f -a '" : " -x -a '", stdout);
		print_words(s);
		putchar('\'');
	} else if (setting_arg(s)) {
		fputs(s->type == &setting_file ? " -r -F" : " -x", stdout);
	}
	fputs(" -d '", stdout);
	print_help_text(s->help, false);
	fputs("'\n", stdout);
}

static void print_fish_agent(void)
{
	fputs("function __tachbpf_agent_options\n"
	      "\tset -l words (commandline -opc)\n"
	      "\t$words[1] agent --help 2>/dev/null | sed -nE '" AGENT_OPTIONS
	      "( [^ ]+)? *(.*)/\\2\\t\\4/p'\n"
	      "end\n"
	      "complete -c tachbpf -n '__fish_seen_subcommand_from agent' "
	      "-a '(__tachbpf_agent_options)'\n"
	      "complete -c tachbpf -n '__fish_seen_subcommand_from agent' -a ctl\n", stdout);
}

static void print_fish(void)
{
	size_t i;

	fputs("# fish completion for tachbpf; made by: tachbpf completion fish\n"
	      "function __tachbpf_records\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest (count $words) -lt 2; or not contains -- $words[2]", stdout);
	for (i = 0; i < COMMAND_CNT; i++)
		if (i != COMMAND_RECORD)
			printf(" %s", options_commands[i].name);
	fputs("\nend\n", stdout);
	for (i = 0; i < COMMAND_CNT; i++) {
		printf("complete -c tachbpf -n __fish_use_subcommand -a %s -d '",
		       options_commands[i].name);
		print_help_text(options_commands[i].help, false);
		fputs("'\n", stdout);
	}
	fputs("complete -c tachbpf -n __fish_use_subcommand -a help -d 'Show the options of a command.'\n"
	      "complete -c tachbpf -n '__fish_seen_subcommand_from help' -x -a '", stdout);
	print_commands();
	fputs("'\ncomplete -c tachbpf -n '__fish_seen_subcommand_from completion' -x -a '", stdout);
	print_shells();
	fputs("'\n", stdout);
	each_option(fish_option);
	print_fish_agent();
}

int completion_run(const struct completion_options *opts)
{
	static void (*const print[])(void) = {
		[SHELL_BASH] = print_bash, [SHELL_ZSH] = print_zsh, [SHELL_FISH] = print_fish,
	};

	print[opts->shell]();
	return output_flush_stdout() ? EXIT_FAILURE : EXIT_SUCCESS;
}
