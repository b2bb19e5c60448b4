/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config.h - the agent's configuration: what is in force, where each value came from, and what a
 * reload may change.
 *
 * A value is, by precedence, that of a flag, an environment variable, the file, or the default. A
 * list comes entirely from the strongest source that has the key. Maps are merged: for each name,
 * the strongest source gives the value. config_keys.c has the table of all keys;
 * docs/agent-config.md is the table for users.
 *
 * A file's values may name environment variables: ${NAME}, ${NAME:-DEFAULT}; $$ is a $.
 *
 * All of it runs in the agent's main process, before the start and at each SIGHUP; it is not
 * thread-safe. Nothing here opens a file except the configuration: the files that *_file keys name
 * are read by their users.
 */
#ifndef TACHBPF_AGENT_CONFIG_H
#define TACHBPF_AGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/util.h"
#include "target/proc_filter.h"
#include "telemetry/service.h"

/* The user's texts: never empty, no control characters, at most AGENT_TEXT_MAX bytes each. */
#define AGENT_TEXT_MAX 4096
struct agent_list {
	char **items;
	size_t cnt;
};

/* Names are unique, in the order in which they were first given. */
struct agent_map {
	struct agent_pair {
		char *name;
		char *value;	/* may be empty */
	} *pairs;
	size_t cnt;
};

/* Rules have passed service_rule_check(); the first one that matches counts. */
struct agent_rules {
	struct service_rule *rules;
	size_t cnt;
};

/* As sample types; bits of agent_config.modes. */
enum agent_mode {
	AGENT_CPU = 1 << 0, AGENT_OFFCPU = 1 << 1, AGENT_GIL = 1 << 2, AGENT_EXCEPTION = 1 << 3,
	AGENT_MEMORY = 1 << 4, AGENT_HEAP = 1 << 5,
	/* Those of time, of which events are samples. */
	AGENT_TIMES = AGENT_CPU | AGENT_OFFCPU | AGENT_GIL | AGENT_EXCEPTION,
};

enum agent_paths { AGENT_PATHS_FULL, AGENT_PATHS_BASE };
enum agent_compression { AGENT_COMPRESSION_NONE, AGENT_COMPRESSION_GZIP };
enum agent_protocol { AGENT_HTTP_PROTOBUF, AGENT_GRPC };
enum agent_native { AGENT_NATIVE_OFF, AGENT_NATIVE_ON, AGENT_NATIVE_FULL, AGENT_NATIVE_LINES };
enum agent_event { AGENT_EVENT_AUTO, AGENT_EVENT_CYCLES, AGENT_EVENT_CLOCK };

/* Whose word counts if a process says something else of itself than labels do. */
enum agent_trust { AGENT_TRUST_ADMIN, AGENT_TRUST_PROCESS };

/* How to talk to a server. In all strings of this file "" stands for "not given", never NULL. */
struct agent_http {
	struct agent_map headers;	/* SECRET: values may be */
	char *headers_file;		/* lines "Name: value" */
	char *bearer_token_file;	/* the token, and perhaps a newline */
	char *basic_auth_file;		/* USER:PASSWORD, and perhaps a newline */
	uint64_t timeout_ns;		/* of one request */
	char *ca_file, *cert_file, *key_file;	/* PEM; cert and key are given both, or neither */
	bool insecure;			/* the server's certificate is not checked */
	char *proxy;			/* SECRET: may have USER:PASSWORD@ */
	uint64_t max_request_bytes;	/* of a request's body before compression */
};

/* What may leave the machine, besides names of services, functions and files. */
struct agent_privacy {
	bool command_line;	/* process.command_line */
	enum agent_paths paths;	/* of files in frames, and of the executable */
	bool usernames;		/* process.owner */
	bool host_name;		/* host.name, host.id */
	bool containers;	/* container.*, k8s.*: names and ids */
	bool exception_types;	/* frames are <exception NAME>, else <exception> */
};

#define AGENT_KEYS_MAX 112
#define AGENT_OTLP_MAX 4		/* exporters */
#define AGENT_OTLP_NAME_BYTES 48

struct setting;	/* base/settings.h */

/* From the weakest to the strongest. */
enum agent_source { AGENT_DEFAULT, AGENT_FILE, AGENT_ENV, AGENT_FLAG };
struct agent_origin {
	enum agent_source source;	/* of a map: the strongest one that gave a name */
	uint32_t line, column;		/* of AGENT_FILE; from 1 */
	const char *name;		/* of AGENT_ENV, AGENT_FLAG: variable, flag; static */
};

/* Times are in ns, sizes in bytes. docs/agent-config.md says what each key means. */
struct agent_config {
	uint32_t rate_hz;
	uint64_t window_ns;
	uint32_t modes;			/* enum agent_mode; at least one */
	uint64_t min_wait_ns;
	struct {
		uint64_t every_bytes, interval_ns;	/* of AGENT_MEMORY */
	} memory;
	struct {
		uint64_t every_ns;
		uint32_t processes;	/* of each service */
		double cpu_percent;	/* of one CPU, on average */
	} heap;					/* of AGENT_HEAP */
	enum agent_event event;
	double probability;		/* > 0, <= 1 */
	bool native_threads;
	enum agent_native native;
	struct agent_list debuginfod;	/* URLs; with a space or NUL after each, they are at most
					 * AGENT_TEXT_MAX bytes */
	bool trace_context;
	bool thread_names;
	bool async;
	enum log_level log_level;
	enum log_form log_form;		/* LOG_TIMED for text */
	struct agent_map labels;
	enum agent_trust trust;
	struct agent_rules service_rules;
	/*
	 * Conditions by kind and, in the second row, exclusions; FILTER_PID has none. Their text
	 * has been checked: agent_config_selection() makes a filter of it.
	 */
	struct agent_list select[2][FILTER_KINDS];
	uint64_t min_age_ns;
	struct agent_privacy privacy;
	struct {
		struct agent_otlp {
			char name[AGENT_OTLP_NAME_BYTES];	/* "otlp", or "otlp/NAME" */
			char *endpoint;		/* base URL: agent_config_otlp_url() */
			char *profiles_endpoint; /* complete URL, used as it is */
			enum agent_protocol protocol;
			enum agent_compression compression;
			struct agent_http http;
		} otlp;
		struct agent_pyroscope {
			char *url;		/* base URL; "": off */
			char *tenant_id;	/* X-Scope-OrgID */
			struct agent_http http;
		} pyroscope;
		struct agent_tach {
			char *dir;		/* "": off */
			uint64_t rotate_time_ns, rotate_size_bytes;
			uint32_t keep;		/* recordings */
		} tach;
		struct agent_pprof {
			char *dir;		/* "": off */
			uint32_t keep;		/* files */
		} pprof;
	} exporters;
	struct {
		uint64_t initial_ns, max_ns;	/* initial_ns <= max_ns */
	} retry;
	struct {
		char *dir;			/* not empty */
		uint64_t size_bytes;
		uint64_t max_age_ns;
	} spool;
	struct {
		double cpu_percent;		/* of all CPUs of this host; 0: no limit */
		uint64_t bytes_per_minute;	/* 0: no limit */
		uint32_t min_rate_hz;		/* <= rate_hz */
	} budget;
	struct {
		char *listen;			/* ADDRESS:PORT as in docs; "": off */
		struct agent_list hosts;	/* names that a request's Host may have */
		uint32_t services;
		struct agent_list labels;	/* attributes; at most 8 */
	} metrics;
	struct {
		char *socket;			/* "": off */
		char *allow_group;		/* "": only root */
	} ctl;

	/* The exporters otlp/NAME: of each, only exporters.otlp counts. agent_config_otlp(). */
	struct agent_config *otlp_more[AGENT_OTLP_MAX - 1];
	size_t otlp_more_cnt;

	char *path;				/* of the file; NULL: none was read */
	struct agent_origin origin[AGENT_KEYS_MAX];	/* by the keys' order in agent_keys[] */
};

/* ---- the command line: an option for each key, and what ends at once ---- */

enum agent_action { AGENT_RUN, AGENT_CHECK, AGENT_PRINT_CONFIG, AGENT_HELP, AGENT_VERSION };

struct agent_options {
	enum agent_action action;	/* --help wins over everything else */
	const char *path;		/* --config; NULL: no file. All texts point into argv. */
	struct agent_flag {
		const struct setting *key;
		const char *text;
	} *flags;			/* in their order; each is valid by itself */
	size_t cnt;
};

/* The agent is to run. */
#define AGENT_GO (-1)
/* Exit statuses: the configuration is wrong; the command line is wrong. */
#define AGENT_EXIT_CONFIG 1
#define AGENT_EXIT_USAGE 2

/*
 * Parses the words after "tachbpf agent" (NULL-terminated), which must live as long as *o: a reload
 * reads them again. Loads the configuration, and does what ends at once, on out: --check prints
 * nothing but errors, on stderr. Returns AGENT_GO: *config is the configuration in force, to be
 * freed by agent_config_free(), and *o is for reloads; else the exit status, and *config is NULL.
 * The caller calls agent_options_free() in both cases.
 */
int agent_config_begin(struct agent_options *o, char **words, FILE *out,
		       struct agent_config **config);
void agent_options_free(struct agent_options *o);
/* Prints the text of --help. */
void agent_options_help(FILE *out);

/* ---- the configuration in force ---- */

/*
 * Reads what the options, the environment and the file say. All errors are logged, a line each, as
 * FILE:LINE:COLUMN or by the flag or variable. Returns NULL with errno: EINVAL for wrong values,
 * ENOMEM, or why the file cannot be read (logged, too).
 */
struct agent_config *agent_config_load(const struct agent_options *o);
/* Likewise from a file's text, without flags and variables for keys. path: for messages. */
struct agent_config *agent_config_parse(const char *path, const void *text, size_t len);
void agent_config_free(struct agent_config *c);	/* c may be NULL */

/* The differences between two configurations. */
struct agent_changes {
	bool changed[AGENT_KEYS_MAX];	/* by the keys' order in agent_keys[] */
	size_t cnt;
};
/*
 * Compares the configuration in force with that of a reload. Returns 0; or -EBUSY if a key differs
 * that only a restart can change: one line that names all of these is logged, and old should stay
 * in force. *changes is filled in both cases.
 */
int agent_config_diff(const struct agent_config *old, const struct agent_config *new,
		      struct agent_changes *changes);
/* Returns true if this key has changed, or one below it. For example "rate", "exporters.otlp". */
bool agent_config_changed(const struct agent_changes *changes, const char *path);

/*
 * The conditions on processes. Returns 0, -ENOMEM, or -EINVAL after logging if a user is no longer
 * known. *filter is zero before, and the caller frees it by proc_filter_free() in any case.
 */
int agent_config_selection(const struct agent_config *c, struct proc_filter *filter);

/* The OTLP exporters that are on, by their number from 0; NULL: no more. */
const struct agent_otlp *agent_config_otlp(const struct agent_config *c, size_t number);
/*
 * Where it posts profiles (gRPC: the URL of its method), to be freed; NULL with errno: no memory.
 */
char *agent_config_otlp_url(const struct agent_otlp *otlp);

/*
 * Writes the configuration in force as YAML with each value's origin after it, which can be loaded
 * again. Secrets are <secret>. The caller checks ferror().
 */
void agent_config_print(const struct agent_config *c, FILE *out);

#endif
