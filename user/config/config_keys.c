// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_keys.c - the table of all keys of the agent's configuration, and look-ups in it. See
 * config_keys.h. A new key is a row here, a field in config.h, and `build/tests/unit/agent/
 * test_config_docs print` for docs/agent-config.md.
 */
#include "config/config_keys.h"

#include <errno.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"

#define KIB 0x1p10
#define MIB 0x1p20
#define GIB 0x1p30
#define TIB 0x1p40

static const struct setting_word modes[] = {
	{ "cpu", AGENT_CPU }, { "offcpu", AGENT_OFFCPU }, { "gil", AGENT_GIL },
	{ "exception", AGENT_EXCEPTION }, { "memory", AGENT_MEMORY }, { "heap", AGENT_HEAP },
	{ 0 }
};
static const struct setting_word events[] = {
	{ "auto", AGENT_EVENT_AUTO }, { "cycles", AGENT_EVENT_CYCLES },
	{ "cpu-clock", AGENT_EVENT_CLOCK }, { 0 }
};
static const struct setting_word natives[] = {
	{ "off", AGENT_NATIVE_OFF }, { "on", AGENT_NATIVE_ON }, { "full", AGENT_NATIVE_FULL },
	{ "lines", AGENT_NATIVE_LINES }, { 0 }
};
static const struct setting_word levels[] = {
	{ "error", LOG_QUIET }, { "info", LOG_NORMAL }, { "debug", LOG_VERBOSE },
	{ "trace", LOG_DEBUG }, { 0 }
};
static const struct setting_word paths[] = {
	{ "full", AGENT_PATHS_FULL }, { "base", AGENT_PATHS_BASE }, { 0 }
};
static const struct setting_word compressions[] = {
	{ "gzip", AGENT_COMPRESSION_GZIP }, { "none", AGENT_COMPRESSION_NONE }, { 0 }
};
static const struct setting_word trusts[] = {
	{ "admin", AGENT_TRUST_ADMIN }, { "process", AGENT_TRUST_PROCESS }, { 0 }
};
static const struct setting_word forms[] = {
	{ "text", LOG_TIMED }, { "logfmt", LOG_LOGFMT }, { "json", LOG_JSON }, { 0 }
};
static const struct setting_word protocols[] = {
	{ "http/protobuf", AGENT_HTTP_PROTOBUF }, { "grpc", AGENT_GRPC }, { 0 }
};

/* ---- checks of texts beyond their type ---- */

/* The only names that no service has of its own: a label would give all services one name. */
static int check_label(const struct setting *key, const char *name, struct setting_why *why)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-/";

	if (!strcmp(name, "service.name"))
		return setting_why(why, "every service has its own: see service_rules");
	if (name[strspn(name, allowed)])
		return setting_why(why, "a label name may only contain letters, "
					"digits and . _ - /");
	return 0;
}

/* A token of RFC 9110, 5.6.2. */
static int check_header(const struct setting *key, const char *name, struct setting_why *why)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789!#$%&'*+-.^_`|~";

	if (name[strspn(name, allowed)])
		return setting_why(why, "this is not a valid HTTP header name");
	return 0;
}

static int check_server(const struct setting *key, const char *url, struct setting_why *why)
{
	if (config_url_has_user(url))
		return setting_why(why, "leave out the user and the password: debuginfod servers "
					"are asked without");
	if (!config_is_url(url))
		return setting_why(why, "expected " CONFIG_URLS);
	return 0;
}

/* The header Host has it, without the port. */
static int check_host(const struct setting *key, const char *name, struct setting_why *why)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	if (!*name || name[strspn(name, allowed)])
		return setting_why(why, "expected a host name, without a port");
	return 0;
}

static int check_condition(const struct setting *key, const char *text, struct setting_why *why)
{
	struct proc_filter filter = { .rules = NULL };
	const struct proc_filter_place *place = key->data;
	const char *remedy;
	int err = proc_filter_try(&filter, place->kind, place->exclude, text, &remedy);

	proc_filter_free(&filter);
	return err == -EINVAL ? setting_why(why, "%s", remedy) : err;
}

/* ---- the table ---- */

#define KEY(PATH, NAME) .path = PATH, .name = NAME
#define AT(member) .off = offsetof(struct agent_config, member)
#define AT_A(type, member) .off = SETTING_OFF(struct agent_config, member, type)
#define PATH_AT(member) .type = &config_path, AT_A(char *, member), .preset = ""
#define URL_AT(member) .type = &config_url, AT_A(char *, member), .preset = ""
#define BOOLEAN_AT(member) .type = &setting_boolean, AT_A(bool, member)
#define DURATION_AT(member) .type = &setting_duration, AT_A(uint64_t, member)
#define SIZE_AT(member) .type = &setting_size, AT_A(uint64_t, member)
#define CHOICE_AT(member, list) .type = &setting_choice, AT_A(int, member), .words = list
#define CHOICES_AT(member, list) .type = &setting_choices, AT_A(uint32_t, member), .words = list
#define SAMPLING .group = "Sampling"
#define SELECTION .group = "Process filters (OR within a key, AND between keys)"
#define EXCLUSION .group = "Process exclusions (a process that matches any of them is left out)"
#define NAMES .group = "Names and labels"
#define PRIVACY .group = "Privacy: data that is exported"
#define OTLP .group = "Exporter: OpenTelemetry (enabled by an endpoint)"
#define PYROSCOPE .group = "Exporter: Pyroscope (enabled by a URL)"
#define FILES .group = "Exporters: files (enabled by a directory)"
#define SENDING .group = "Retries and spool"
#define BUDGET .group = "Overhead budget"
#define SERVING .group = "Metrics and control"

#define CONDITION(NAME, KIND, VALUE, HELP)                                                         \
	{ KEY("selection." NAME, NAME), .type = &config_list, AT(select[0][KIND]), .arg = VALUE,   \
	  .check = check_condition, SELECTION, .help = HELP,                                       \
	  .data = &(const struct proc_filter_place){ KIND, false } },
#define EXCLUDED(NAME, KIND, VALUE, HELP)                                                          \
	{ KEY("selection.exclude." NAME, "exclude-" NAME), .type = &config_list, .arg = VALUE,     \
	  AT(select[1][KIND]), .check = check_condition, EXCLUSION, .help = HELP,                  \
	  .data = &(const struct proc_filter_place){ KIND, true } },

/* OpenTelemetry's variables: for profiles, and for all signals. */
#define OTEL(NAME) .env = { "OTEL_EXPORTER_OTLP_PROFILES_" NAME, "OTEL_EXPORTER_OTLP_" NAME }
#define NO_ENV(NAME) .env = { NULL }

/* Shared by all exporters that send. */
#define HTTP_KEYS(PATH, FLAG, MEMBER, GROUP, ENV)                                                  \
	{ KEY(PATH ".headers", FLAG "-headers"), ENV("HEADERS"), .type = &config_map,              \
	  AT(MEMBER.headers), .check = check_header, .secret = true, GROUP,                        \
	  .help = "sent with each request" },                                                      \
	{ KEY(PATH ".headers_file", FLAG "-headers-file"), PATH_AT(MEMBER.headers_file), GROUP,    \
	  .help = "file with more headers, one NAME: VALUE per line" },                            \
	{ KEY(PATH ".bearer_token_file", FLAG "-bearer-token-file"),                               \
	  PATH_AT(MEMBER.bearer_token_file), GROUP,                                                \
	  .help = "file with the token for Authorization: Bearer" },                               \
	{ KEY(PATH ".basic_auth_file", FLAG "-basic-auth-file"), PATH_AT(MEMBER.basic_auth_file),  \
	  GROUP, .help = "file with USER:PASSWORD for Authorization: Basic" },                     \
	{ KEY(PATH ".timeout", FLAG "-timeout"), ENV("TIMEOUT"), DURATION_AT(MEMBER.timeout_ns),   \
	  .preset = "10s", .min = 100 * NS_OF_MS, .max = NS_OF_H, GROUP,                           \
	  .help = "timeout of a request" },                                                        \
	{ KEY(PATH ".ca_file", FLAG "-ca-file"), ENV("CERTIFICATE"), PATH_AT(MEMBER.ca_file),      \
	  GROUP, .help = "PEM file of CA certificates to trust instead of the system's" },         \
	{ KEY(PATH ".cert_file", FLAG "-cert-file"), ENV("CLIENT_CERTIFICATE"),                    \
	  PATH_AT(MEMBER.cert_file), GROUP, .help = "PEM file of the client certificate" },        \
	{ KEY(PATH ".key_file", FLAG "-key-file"), ENV("CLIENT_KEY"), PATH_AT(MEMBER.key_file),    \
	  GROUP, .help = "PEM file of the client's private key" },                                 \
	{ KEY(PATH ".insecure", FLAG "-insecure"), BOOLEAN_AT(MEMBER.insecure), GROUP,             \
	  .help = "do not check the server's certificate" },                                       \
	{ KEY(PATH ".proxy", FLAG "-proxy"), .type = &config_proxy, AT(MEMBER.proxy),              \
	  .preset = "", GROUP, .help = "proxy URL; credentials only in the file" },                \
	{ KEY(PATH ".max_request_bytes", FLAG "-max-request-bytes"),                               \
	  SIZE_AT(MEMBER.max_request_bytes), .preset = "1MiB", .min = 64 * KIB, .max = 16 * MIB,   \
	  GROUP, .help = "maximum request size before compression; larger windows are split" }

const struct setting agent_keys[] = {
	{ KEY("rate", "rate"), .type = &setting_rate, AT(rate_hz), .preset = "19", .min = 1,
	  .max = 50000, SAMPLING, .help = "samples per second and CPU; the budget may lower it" },
	{ KEY("window", "window"), DURATION_AT(window_ns), .preset = "15s", .min = NS_OF_S,
	  .max = NS_OF_H, SAMPLING, .help = "duration of one profile" },
	{ KEY("modes", "modes"), CHOICES_AT(modes, modes), .preset = "cpu", .restart = true,
	  SAMPLING, .help = "what to sample: on-CPU time, off-CPU time, waits for the GIL, "
	  "exceptions, memory by stack, Python objects by type" },
	{ KEY("min_wait", "min-wait"), DURATION_AT(min_wait_ns), .max = NS_OF_H, .preset = "0",
	  .restart = true, SAMPLING, .help = "ignore shorter waits" },
	{ KEY("memory.every", "memory-every"), SIZE_AT(memory.every_bytes), .preset = "64KiB",
	  .min = 64 * KIB, .max = GIB, .restart = true, SAMPLING,
	  .help = "mode memory: record one stack per this much new memory" },
	{ KEY("memory.interval", "memory-interval"), DURATION_AT(memory.interval_ns),
	  .preset = "5s", .min = NS_OF_S, .max = NS_OF_H, .restart = true, SAMPLING,
	  .help = "mode memory: how often to check what is still held" },
	{ KEY("heap.every", "heap-every"), DURATION_AT(heap.every_ns), .preset = "10m",
	  .min = NS_OF_S, .max = NS_OF_D, SAMPLING,
	  .help = "mode heap: how often to count the objects of each service" },
	{ KEY("heap.processes", "heap-processes"), .type = &setting_integer, AT(heap.processes),
	  .preset = "4", .min = 1, .max = 64, SAMPLING,
	  .help = "mode heap: of a service with more processes, this many are counted, chosen "
	  "at random, and stand for all" },
	{ KEY("heap.cpu", "heap-cpu"), .type = &setting_percent, AT(heap.cpu_percent),
	  .preset = "0.5%", .min = 0.01, .max = 100, SAMPLING,
	  .help = "mode heap: share of one CPU that counting may use, beside budget.cpu; services "
	  "wait longer accordingly" },
	{ KEY("event", "event"), CHOICE_AT(event, events), .preset = "auto", .restart = true,
	  SAMPLING, .help = "sampling clock: hardware cycles, or the kernel's clock" },
	{ KEY("probability", "probability"), .type = &setting_number, AT(probability),
	  .preset = "1", .min = 0.0001, .max = 1, SAMPLING,
	  .help = "share of windows that are profiled; weights are scaled accordingly" },
	{ KEY("native_threads", "native-threads"), BOOLEAN_AT(native_threads), .preset = "true",
	  .restart = true, SAMPLING, .help = "CPU time of threads that run no Python" },
	{ KEY("native", "native"), CHOICE_AT(native, natives), .preset = "off", .restart = true,
	  SAMPLING, .help = "include functions in C and other machine code, and kernel functions; "
	  "full: also the interpreter's own" },
	{ KEY("debuginfod", "debuginfod"), .type = &config_list, AT(debuginfod), .arg = "URL",
	  .check = check_server, .restart = true, SAMPLING, .help = "request missing debug files "
	  "from these debuginfod servers, which are sent the build IDs of libraries; requires "
	  "native" },
	{ KEY("trace_context", "trace-context"), BOOLEAN_AT(trace_context), .restart = true,
	  SAMPLING, .help = "link samples to the trace and span that is active in their thread" },
	{ KEY("thread_names", "thread-names"), BOOLEAN_AT(thread_names), .restart = true,
	  SAMPLING, .help = "OTLP: send each sample with its thread's name; threads that run the "
	  "same code are no longer one sample" },
	{ KEY("async", "async"), BOOLEAN_AT(async), .restart = true, SAMPLING,
	  .help = "asyncio: show who awaits the task instead of the event loop; and metrics of "
	  "how the loops fare" },

	PROC_FILTER_CONDITIONS(CONDITION)
	{ KEY("selection.min_age", "min-age"), DURATION_AT(min_age_ns), .preset = "0",
	  .max = 366 * NS_OF_D, SELECTION, .help = "processes at least this old" },
	PROC_FILTER_EXCLUSIONS(EXCLUDED)

	{ KEY("labels", "label"), .env = { "OTEL_RESOURCE_ATTRIBUTES" }, .type = &config_map,
	  AT(labels), .check = check_label, NAMES,
	  .help = "resource attribute for every service, such as deployment.environment.name" },
	{ KEY("trust", "trust"), CHOICE_AT(trust, trusts), .preset = "admin", NAMES,
	  .help = "who wins if a process says something else of itself: admin: labels, and "
	  "pods and containers are only those that the agent sees; process: the process" },
	{ KEY("service_rules", "service-rule"), .type = &config_rules, AT(service_rules), NAMES,
	  .help = "assigns service names; the first matching rule applies" },

	{ KEY("privacy.command_line", "command-line"), BOOLEAN_AT(privacy.command_line), PRIVACY,
	  .help = "command lines" },
	{ KEY("privacy.paths", "paths"), CHOICE_AT(privacy.paths, paths), .preset = "full",
	  PRIVACY, .help = "file paths: whole paths, or base names only" },
	{ KEY("privacy.usernames", "usernames"), BOOLEAN_AT(privacy.usernames), PRIVACY,
	  .help = "names of the users that run processes" },
	{ KEY("privacy.host_name", "host-name"), BOOLEAN_AT(privacy.host_name), .preset = "true",
	  PRIVACY, .help = "this host's name and ID" },
	{ KEY("privacy.containers", "containers"), BOOLEAN_AT(privacy.containers),
	  .preset = "true", PRIVACY, .help = "names and IDs of containers and pods" },
	{ KEY("privacy.exception_types", "exception-types"), BOOLEAN_AT(privacy.exception_types),
	  .preset = "true", PRIVACY, .help = "exception types" },

	{ KEY("exporters.otlp.endpoint", "otlp-endpoint"),
	  .env = { "OTEL_EXPORTER_OTLP_ENDPOINT" }, URL_AT(exporters.otlp.endpoint), OTLP,
	  .help = "base URL; /v1development/profiles is appended" },
	{ KEY("exporters.otlp.profiles_endpoint", "otlp-profiles-endpoint"),
	  .env = { "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT" },
	  URL_AT(exporters.otlp.profiles_endpoint), OTLP,
	  .help = "full URL, used instead of the endpoint" },
	{ KEY("exporters.otlp.protocol", "otlp-protocol"), OTEL("PROTOCOL"),
	  CHOICE_AT(exporters.otlp.protocol, protocols), .preset = "http/protobuf", OTLP,
	  .help = "http/protobuf: port 4318 of most collectors; grpc: 4317" },
	{ KEY("exporters.otlp.compression", "otlp-compression"), OTEL("COMPRESSION"),
	  CHOICE_AT(exporters.otlp.compression, compressions), .preset = "gzip", OTLP,
	  .help = "compression of requests" },
	HTTP_KEYS("exporters.otlp", "otlp", exporters.otlp.http, OTLP, OTEL),

	{ KEY("exporters.pyroscope.url", "pyroscope-url"), URL_AT(exporters.pyroscope.url),
	  PYROSCOPE, .help = "base URL; /push.v1.PusherService/Push is appended" },
	{ KEY("exporters.pyroscope.tenant_id", "pyroscope-tenant-id"), .type = &config_string,
	  AT(exporters.pyroscope.tenant_id), .preset = "", PYROSCOPE,
	  .help = "sent as X-Scope-OrgID" },
	HTTP_KEYS("exporters.pyroscope", "pyroscope", exporters.pyroscope.http, PYROSCOPE, NO_ENV),

	{ KEY("exporters.tach.dir", "tach-dir"), PATH_AT(exporters.tach.dir), FILES,
	  .help = "write recordings like those of tachbpf record into this directory" },
	{ KEY("exporters.tach.rotate_time", "tach-rotate-time"),
	  DURATION_AT(exporters.tach.rotate_time_ns), .preset = "1h", .min = 10 * NS_OF_S,
	  .max = 31 * NS_OF_D, FILES, .help = "start a new recording after this time" },
	{ KEY("exporters.tach.rotate_size", "tach-rotate-size"),
	  SIZE_AT(exporters.tach.rotate_size_bytes), .preset = "64MiB", .min = MIB, .max = TIB,
	  FILES, .help = "start a new recording at this size" },
	{ KEY("exporters.tach.keep", "tach-keep"), .type = &setting_integer,
	  AT(exporters.tach.keep), .preset = "24", .min = 1, .max = 1e6, FILES,
	  .help = "maximum number of recordings; the oldest is removed" },
	{ KEY("exporters.pprof.dir", "pprof-dir"), PATH_AT(exporters.pprof.dir), FILES,
	  .help = "write pprof files, one per service and window, into this directory" },
	{ KEY("exporters.pprof.keep", "pprof-keep"), .type = &setting_integer,
	  AT(exporters.pprof.keep), .preset = "1000", .min = 1, .max = 1e6, FILES,
	  .help = "maximum number of files; the oldest is removed" },

	{ KEY("retry.initial", "retry-initial"), DURATION_AT(retry.initial_ns), .preset = "1s",
	  .min = 10 * NS_OF_MS, .max = NS_OF_H, SENDING, .help = "delay before the first retry, "
	  "unless the server sets it; doubled each time" },
	{ KEY("retry.max", "retry-max"), DURATION_AT(retry.max_ns), .preset = "1m",
	  .min = 10 * NS_OF_MS, .max = NS_OF_D, SENDING,
	  .help = "maximum delay between retries" },
	{ KEY("spool.dir", "spool-dir"), .type = &config_path, AT(spool.dir), .needed = true,
	  .preset = "/var/lib/tachbpf/spool", .restart = true, SENDING,
	  .help = "directory for data that was not sent yet" },
	{ KEY("spool.size", "spool-size"), SIZE_AT(spool.size_bytes), .preset = "256MiB",
	  .min = MIB, .max = TIB, SENDING, .help = "maximum size of the spool; the oldest data is "
						   "removed" },
	{ KEY("spool.max_age", "spool-max-age"), DURATION_AT(spool.max_age_ns), .preset = "3d",
	  .min = 60 * NS_OF_S, .max = 366 * NS_OF_D, SENDING,
	  .help = "data that could not be sent for this long is removed" },

	{ KEY("budget.cpu", "budget-cpu"), .type = &setting_percent, AT(budget.cpu_percent),
	  .preset = "0.5%", .max = 100, BUDGET,
	  .help = "share of this host's CPUs that the agent may use; the rate is lowered "
		  "accordingly; 0: no limit" },
	{ KEY("budget.bytes_per_minute", "budget-bytes-per-minute"),
	  SIZE_AT(budget.bytes_per_minute), .preset = "0", .max = TIB, BUDGET,
	  .help = "exported data per minute; the rate is lowered accordingly; 0: no limit" },
	{ KEY("budget.min_rate", "budget-min-rate"), .type = &setting_rate,
	  AT(budget.min_rate_hz), .preset = "1", .min = 1, .max = 50000, BUDGET,
	  .help = "the rate is never lowered below this" },

	{ KEY("metrics.listen", "metrics-listen"), .type = &config_address, AT(metrics.listen),
	  .preset = "127.0.0.1:9419", SERVING, .restart = true,
	  .help = "listen address for Prometheus metrics; empty: disabled" },
	{ KEY("metrics.hosts", "metrics-host"), .type = &config_list, AT(metrics.hosts),
	  .arg = "NAME", .check = check_host, SERVING, .restart = true,
	  .help = "names by which requests may call this server (the header Host), besides "
		  "localhost and addresses; if none is given, any name if other hosts can "
		  "connect" },
	{ KEY("metrics.services", "metrics-services"), .type = &setting_integer,
	  AT(metrics.services), .preset = "100", .max = 10000, SERVING,
	  .help = "number of services with metrics of their own, those that use most CPU; the "
		  "others are combined" },
	{ KEY("metrics.labels", "metrics-label"), .type = &config_list, AT(metrics.labels),
	  .arg = "ATTRIBUTE", .check = check_label, SERVING, .restart = true,
	  .preset = "service.namespace,service.version,deployment.environment.name",
	  .help = "resource attributes that are labels of tachbpf_python_* besides the service, at "
		  "most 8; in their names, '.' is '_'" },
	{ KEY("ctl.socket", "ctl-socket"), .type = &config_path, AT(ctl.socket), .restart = true,
	  .preset = "/run/tachbpf/agent.sock", SERVING,
	  .help = "socket for tachbpf agent ctl; empty: disabled" },
	{ KEY("ctl.allow_group", "allow-group"), .type = &config_string, AT(ctl.allow_group),
	  .preset = "", .arg = "GROUP", .restart = true, SERVING,
	  .help = "group whose members may use tachbpf agent ctl for status and bursts" },
	{ KEY("log_level", "log-level"), CHOICE_AT(log_level, levels), .preset = "info", SERVING,
	  .help = "verbosity of the log on standard error" },
	{ KEY("log_format", "log-format"), CHOICE_AT(log_form, forms), .preset = "text",
	  SERVING,
	  .help = "form of the log: text, with the time except in systemd's journal; logfmt; "
		  "json" },
	{ 0 }
};
const size_t agent_key_cnt = ARRAY_SIZE(agent_keys) - 1;
_Static_assert(ARRAY_SIZE(agent_keys) <= AGENT_KEYS_MAX, "there is an origin of each");

/* ---- look-ups ---- */

void *config_field(struct agent_config *c, const struct setting *key)
{
	return (char *)c + key->off;
}

const void *config_field_of(const struct agent_config *c, const struct setting *key)
{
	return (const char *)c + key->off;
}

const struct setting *config_key_find(const char *path)
{
	size_t i;

	for (i = 0; i < agent_key_cnt; i++)
		if (!strcmp(agent_keys[i].path, path))
			return &agent_keys[i];
	return NULL;
}

/* The part of path after the group and its dot; NULL: it is not below the group. */
static const char *path_below(const char *path, const char *group)
{
	size_t len = strlen(group);

	if (!len)
		return path;
	return !strncmp(path, group, len) && path[len] == '.' ? path + len + 1 : NULL;
}

bool config_key_is_group(const char *path)
{
	size_t i;

	for (i = 0; i < agent_key_cnt; i++)
		if (path_below(agent_keys[i].path, path))
			return true;
	return false;
}

bool config_key_is_otlp(const struct setting *key)
{
	return path_below(key->path, OTLP_GROUP);
}

/* The names below a group, for cli_nearest(). */
struct names {
	char list[AGENT_KEYS_MAX][CONFIG_PATH_BYTES];
	size_t cnt;
};

static void names_below(const char *group, struct names *names)
{
	const char *rest;
	size_t i;

	names->cnt = 0;
	for (i = 0; i < agent_key_cnt; i++) {
		rest = path_below(agent_keys[i].path, group);
		if (rest)
			snprintf(names->list[names->cnt++], CONFIG_PATH_BYTES, "%.*s",
				 (int)strcspn(rest, "."), rest);
	}
}

static const char *name_at(const void *ctx, size_t i)
{
	const struct names *names = ctx;

	return i < names->cnt ? names->list[i] : NULL;
}

static const char *last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

void config_key_nearest(const char *group, const char *name, char near[CONFIG_PATH_BYTES])
{
	struct names names;
	const char *found;
	size_t i;

	*near = '\0';
	names_below(group, &names);
	found = cli_nearest(name, strlen(name), name_at, &names);
	if (found) {
		snprintf(near, CONFIG_PATH_BYTES, "%s%s%s", group, *group ? "." : "", found);
		return;
	}
	/* A key that belongs elsewhere, or a flag's name. */
	for (i = 0; i < agent_key_cnt; i++) {
		if (strcmp(last_name(agent_keys[i].path), name) != 0 &&
		    strcmp(agent_keys[i].name, name) != 0)
			continue;
		snprintf(near, CONFIG_PATH_BYTES, "%s", agent_keys[i].path);
		return;
	}
}
