// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_processes.c - see agent_processes.h. */
#include "agent/agent_processes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_owners.h"
#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "host/users.h"
#include "resolve/process.h"
#include "telemetry/process_ctx_watch.h"

/* A process whose files cannot be read is tried again for this many ticks. */
#define NAME_TRIES 5
/* multiprocessing's helpers are children or grandchildren of the program. */
#define PARENTS_MAX 3
/* A tick spends at most this long on processes; the others wait for the next one. */
#define TICK_NS 20000000ull

struct agent_processes {
	struct agent_processes_args args;
	struct agent_process *first;
	struct agent_process *next_look;	/* where the last tick stopped, or NULL */
	uint64_t begun_ns;			/* when the last process began */
	struct agent_owners *owners;
	struct u64map by_tgid;
	struct u64map maps;			/* address of tables -> their window_map */
	char host_name[HOST_NAME_MAX + 1];
	/* For one process at a time; too large for the stack. */
	struct process_facts facts;
	struct process_ctx context;
	struct service service;
};

struct agent_processes *agent_processes_new(const struct agent_processes_args *args)
{
	struct agent_processes *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->args = *args;
	a->owners = agent_owners_new(args->owners_max);
	if (!a->owners) {
		free(a);
		errno = ENOMEM;
		return NULL;
	}
	if (gethostname(a->host_name, HOST_NAME_MAX))
		a->host_name[0] = '\0';
	return a;
}

void agent_processes_free(struct agent_processes *a)
{
	if (!a)
		return;
	agent_owners_free(a->owners);
	u64map_free(&a->by_tgid);
	u64map_free(&a->maps);
	free(a);
}

static void name_process(struct agent_processes *a, struct agent_process *p,
			 const struct process_ctx *context, unsigned int parents);

/* At a fork, the service of the process that forked it: its child may be gone when it is named. */
static void keep_origin(struct agent_processes *a, struct agent_process *p)
{
	pid_t forked_by = process_forked_by(p->process);
	struct agent_process *parent =
		forked_by ? u64map_get(&a->by_tgid, (uint64_t)forked_by) : NULL;
	uint32_t origin;

	if (!parent || parent == p)
		return;
	if (!parent->named && !parent->tries && !parent->service && !parent->forked_from)
		name_process(a, parent, NULL, PARENTS_MAX);
	origin = parent->service ? parent->service : parent->forked_from;
	p->forked_from = agent_services_join(a->args.services, origin);
}

struct agent_process *agent_processes_begin(struct agent_processes *a, struct process *process)
{
	struct agent_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->process = process;
	if (u64map_put(&a->by_tgid, (uint64_t)process_tgid(process), p)) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	p->next = a->first;
	if (a->first)
		a->first->prev = p;
	a->first = p;
	a->begun_ns = now_ns();
	p->owner = agent_owners_join(a->owners, process_identity(process));
	keep_origin(a, p);
	return p;
}

bool agent_processes_some_new(const struct agent_processes *a, uint64_t now)
{
	return now - a->begun_ns < NS_PER_S;
}

static uint64_t key_of(const struct profile_tables *tables)
{
	return (uint64_t)(uintptr_t)tables;
}

bool agent_processes_map(struct agent_processes *a, struct agent_process *p)
{
	const struct profile_tables *tables = process_tables(p->process);

	if (p->map)
		return true;
	p->map = u64map_get(&a->maps, key_of(tables));
	if (!p->map) {
		p->map = window_map_new(tables);
		if (!p->map || u64map_put(&a->maps, key_of(tables), p->map)) {
			window_map_free(p->map);
			p->map = NULL;
			return false;
		}
	}
	p->map->users++;
	return true;
}

static void leave_map(struct agent_processes *a, struct window_map *map)
{
	if (!map || --map->users)
		return;
	u64map_remove(&a->maps, key_of(map->tables));
	window_map_free(map);
}

void agent_processes_end(struct agent_processes *a, struct agent_process *p)
{
	uint64_t tgid = (uint64_t)process_tgid(p->process);

	if (u64map_get(&a->by_tgid, tgid) == p)
		u64map_remove(&a->by_tgid, tgid);
	if (a->next_look == p)
		a->next_look = p->next;
	if (p->prev)
		p->prev->next = p->next;
	else
		a->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	agent_services_leave(a->args.services, p->service);
	agent_services_leave(a->args.services, p->forked_from);
	agent_owners_leave(a->owners, p->owner);
	leave_map(a, p->map);
	free(p->keys);
	free(p);
}

struct agent_process *agent_processes_first(const struct agent_processes *a)
{
	return a->first;
}

/* ---- names ---- */

/* The facts known without reading /proc: of a process that has ended, all there are. */
static void known_facts(struct agent_processes *a, const struct agent_process *p,
			struct service_facts *f)
{
	const struct identity *id = process_identity(p->process);
	const struct cpython_image *image = process_image(p->process);
	struct passwd *user = NULL;

	if (a->args.config->privacy.user || a->args.config->rule_cnt)
		user = id->uid == IDENTITY_NO_UID ? NULL : user_by_uid(id->uid);
	*f = (struct service_facts){
		.container = id->container, .comm = process_comm(p->process),
		.python = image ? image->version : NULL,
		.user = user ? user->pw_name : NULL, .host_name = a->host_name,
	};
}

/* The parent's service name if it is a Python process, too; for multiprocessing's helpers. */
static const char *parent_name(struct agent_processes *a, pid_t ppid)
{
	const struct agent_process *parent = u64map_get(&a->by_tgid, (uint64_t)ppid);

	return parent && parent->service ? agent_services_name(a->args.services, parent->service) :
					   NULL;
}

/* The parent's name has changed: its children may have been named after it. */
static void rename_children(struct agent_processes *a, pid_t parent)
{
	struct agent_process *p;

	for (p = a->first; p; p = p->next) {
		if (p->parent != parent)
			continue;
		p->named = false;
		p->tries = 0;
	}
}

/* The process now counts for this service, and no longer for its old one. */
static void take_service(struct agent_processes *a, struct agent_process *p, uint32_t service)
{
	uint32_t old = p->service;

	p->service = service;
	agent_services_leave(a->args.services, old);
	if (p->service == old)
		return;
	if (a->args.moved)
		a->args.moved(a->args.ctx, p, old);
	if (old != SERVICE_NUMBER_OTHER)
		rename_children(a, process_tgid(p->process));
}

/*
 * Returns true if the process that forked it has a name that a child does not have by itself: a
 * process context is not inherited.
 */
static bool has_published_name(const struct agent_processes *a, const struct agent_process *p)
{
	const struct agent_process *parent =
		u64map_get(&a->by_tgid, (uint64_t)process_forked_by(p->process));
	const struct service *s = agent_services_get(a->args.services, parent && parent != p ?
						     parent->service : p->forked_from);

	return process_forked_by(p->process) && s && s->source == SERVICE_CONTEXT;
}

/* Enters the service that the facts describe. */
static void enter_service(struct agent_processes *a, struct agent_process *p,
			  const struct service_facts *facts)
{
	service_make(facts, a->args.config, &a->service);
	take_service(a, p, agent_services_enter(a->args.services, &a->service, p->owner));
}

/*
 * Returns true if /proc tells of the program that was sampled. One that ends has no environment
 * any more, and perhaps no command line. Of one that is executing another program nothing may be
 * readable for a moment; so of a forked child, whose parent's name is known, it must be.
 */
static bool is_as_sampled(const struct agent_process *p, const struct proc_stat *st)
{
	uint64_t program = process_program(p->process);

	if (st->zombie || st->exiting || st->in_exec)
		return false;
	return !program || program == st->program || (!st->program && !p->forked_from);
}

/* The process may be named after its parent, which is named first, after its own parent. */
static void name_parent(struct agent_processes *a, pid_t ppid, unsigned int parents)
{
	struct agent_process *parent = u64map_get(&a->by_tgid, (uint64_t)ppid);

	if (parents && parent && !parent->named && !parent->tries && !parent->service)
		name_process(a, parent, NULL, parents - 1);
}

/*
 * Reads the facts of a process, whose parent may be named first. Returns 0; -EBUSY: some could not
 * be read now; -ESRCH: it is not as it was sampled any more, so only few are known.
 */
static int read_facts(struct agent_processes *a, struct agent_process *p, unsigned int parents,
		      struct service_facts *facts, pid_t *ppid)
{
	struct proc_info who;
	struct proc_stat after;
	bool lives = !proc_info_read(process_tgid(p->process), &who) &&
		     is_as_sampled(p, &who.stat);
	int err;

	*ppid = lives ? who.stat.ppid : 0;
	if (lives)
		name_parent(a, *ppid, parents);
	known_facts(a, p, facts);
	if (!lives)
		return -ESRCH;
	err = process_facts_read(&who, &a->facts);
	if (p->forked_from && (proc_stat(process_tgid(p->process), &after) ||
			       !is_as_sampled(p, &after)))
		return -ESRCH;
	process_facts_fill(&a->facts, facts);
	facts->parent = parent_name(a, *ppid);
	facts->forked = has_published_name(a, p);
	if (facts->forked && !facts->parent)
		facts->parent = agent_services_name(a->args.services, p->forked_from);
	return err == -EBUSY ? err : 0;
}

/* The service of the process that forked it: what it has now, or had at the fork. */
static uint32_t origin_of(const struct agent_processes *a, const struct agent_process *p)
{
	const struct agent_process *parent =
		u64map_get(&a->by_tgid, (uint64_t)process_forked_by(p->process));

	return parent && parent != p && parent->service ? parent->service : p->forked_from;
}

/* context: what the process publishes, or NULL. parents: how many ancestors may be named first. */
static void name_process(struct agent_processes *a, struct agent_process *p,
			 const struct process_ctx *context, unsigned int parents)
{
	struct service_facts facts;
	pid_t ppid;
	int err = read_facts(a, p, parents, &facts, &ppid);

	/* Not what little could be read of a child, which may be gone when more can. */
	if ((err == -ESRCH && p->service) || (err && !context && p->forked_from)) {
		if (!p->service)	/* otherwise the name that it had is right */
			take_service(a, p, agent_services_join(a->args.services, origin_of(a, p)));
		p->tries += err == -EBUSY;
		p->named = err != -EBUSY || p->tries >= NAME_TRIES;
		return;
	}
	p->parent = facts.parent ? ppid : 0;
	facts.context = context ? &context->resource : NULL;
	enter_service(a, p, &facts);
	p->tries += err == -EBUSY;
	p->named = err != -EBUSY || p->tries >= NAME_TRIES;
}

void agent_processes_name(struct agent_processes *a, struct agent_process *p)
{
	/* A process that has a service keeps it until the tick, which looks for a context, too. */
	if (!p->named && !p->tries && !p->service)
		name_process(a, p, NULL, PARENTS_MAX);
}

/* Stores what the context says about threads; without memory, nothing. */
static void take_keys(struct agent_processes *a, struct agent_process *p)
{
	free(p->keys);
	p->keys = a->args.trace && a->context.threads.schema[0] ? malloc(sizeof(*p->keys)) : NULL;
	if (p->keys)
		*p->keys = a->context.threads;
}

static void trace_threads(struct agent_processes *a, struct agent_process *p, uint64_t now)
{
	int err = p->keys ? a->args.trace(a->args.ctx, p) : 0;

	if (err == -EAGAIN || err == -EBUSY)
		p->watch.due_ns = now + NS_PER_S;
}

/* Looks for a context; if there is a new one, the process is named again. */
static void look_for_context(struct agent_processes *a, struct agent_process *p, uint64_t now)
{
	pid_t task = proc_living_task(process_tgid(p->process));
	int err = task > 0 ? process_ctx_look(&p->watch, task, now, true, &a->context) : -ESRCH;

	if (!err) {
		name_process(a, p, &a->context, PARENTS_MAX);
		take_keys(a, p);
	}
	if (!err || err == -EALREADY)
		trace_threads(a, p, now);
}

/* Makes the next look read the context even if it has not changed. */
static void forget_context(struct agent_process *p)
{
	p->watch.known_ns = 0;
	p->watch.due_ns = 0;
	p->watch.wait_s = 0;
}

static void tick_one(struct agent_processes *a, struct agent_process *p, uint64_t now)
{
	/* Its files could not be read when its context was; both are needed at once. */
	if (!p->named && p->watch.known_ns)
		forget_context(p);
	if (process_ctx_due(&p->watch, now))
		look_for_context(a, p, now);
	if (!p->named && !p->watch.known_ns)
		name_process(a, p, NULL, PARENTS_MAX);
}

void agent_processes_tick(struct agent_processes *a, uint64_t now)
{
	struct agent_process *p = a->next_look ? a->next_look : a->first;
	struct agent_process *next;

	for (; p && now_ns() - now < TICK_NS; p = next) {
		next = p->next;
		tick_one(a, p, now);
	}
	a->next_look = p;
}

void agent_processes_rename(struct agent_processes *a)
{
	struct agent_process *p;

	agent_services_refresh(a->args.services);
	for (p = a->first; p; p = p->next) {
		p->named = false;
		p->tries = 0;
		forget_context(p);
	}
}

void agent_processes_retry_other(struct agent_processes *a)
{
	struct agent_process *p;

	for (p = a->first; p; p = p->next) {
		if (!p->named || p->service != SERVICE_NUMBER_OTHER)
			continue;
		p->named = false;
		p->tries = 0;
	}
}
