// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_service.c - which name counts, what a resource says, what identifies a service, and what
 * does not leave the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "telemetry/service_name.c"
#include "base/util.h"
#include "telemetry/resource_variable.h"
#include "telemetry/service.h"
#include "telemetry/service_labels.h"
#include "telemetry/service_places.h"

#define ID_OF_WEB 0x6a882565aba7c851ull

static struct service_config plain;
static const char cmdline[] = "python3\0/usr/bin/gunicorn\0--password=hunter2\0";

/* Everything that is known of one process. */
struct known {
	struct attrs context;
	struct otel_environ env;
	struct container container;
	struct service_facts facts;
};

/* All but command_line and user. */
static const struct service_privacy most = {
	.paths = true, .host_name = true, .containers = true, .others = true,
};

static void know(struct known *k)
{
	memset(k, 0, sizeof(*k));
	k->container.user = CONTAINER_NO_USER;
	k->facts = (struct service_facts){
		.context = &k->context, .env = &k->env, .container = &k->container,
		.exe = "/usr/bin/python3.11", .comm = "gunicorn", .cmdline = cmdline,
		.cmdline_len = sizeof(cmdline) - 1, .python = "3.11.7", .user = "www-data",
		.host_name = "node1",
	};
	plain.privacy = most;
}

static void in_pod(struct container *c)
{
	snprintf(c->runtime, sizeof(c->runtime), "containerd");
	memset(c->id, 'a', 64);
	snprintf(c->pod_uid, sizeof(c->pod_uid), "0c0a3f4e-0000-4000-8000-000000000001");
	snprintf(c->qos, sizeof(c->qos), "burstable");
	snprintf(c->name, sizeof(c->name), "app");
	snprintf(c->image, sizeof(c->image), "reg:5000/team/web:1.2@sha256:0123");
	snprintf(c->pod, sizeof(c->pod), "web-7d9c5b6f4-x2x9z");
	snprintf(c->pod_namespace, sizeof(c->pod_namespace), "shop");
}

static void assert_name(const struct known *k, enum service_source source, const char *name)
{
	char out[SERVICE_NAME_BYTES];

	assert_int_equal(service_name(&k->facts, &plain, out), source);
	assert_string_equal(out, name);
}

/* From the last to the first that counts. */
static void test_order(void **state)
{
	struct known k;

	know(&k);
	assert_name(&k, SERVICE_PROGRAM, "gunicorn");
	snprintf(k.container.unit, sizeof(k.container.unit), "shop-api.service");
	assert_name(&k, SERVICE_UNIT, "shop-api");
	memset(k.container.id, 'b', 64);
	snprintf(k.container.unit, sizeof(k.container.unit), "docker-bbb.scope");
	assert_name(&k, SERVICE_PROGRAM, "gunicorn");
	snprintf(k.container.name, sizeof(k.container.name), "shop_api_1");
	assert_name(&k, SERVICE_CONTAINER, "shop_api_1");
	in_pod(&k.container);
	assert_name(&k, SERVICE_POD, "web");
	snprintf(k.env.resource, sizeof(k.env.resource), "a=b,service.name=my%%20shop");
	assert_name(&k, SERVICE_ENVIRON, "my shop");
	snprintf(k.env.service_name, sizeof(k.env.service_name), "  frontend ");
	assert_name(&k, SERVICE_ENVIRON, "frontend");
	attrs_put_text(&k.context, "service.name", "checkout");
	assert_name(&k, SERVICE_CONTEXT, "checkout");
}

/* What SDKs say if they do not know is no name, nor are blanks. */
static void test_no_names(void **state)
{
	struct known k;

	know(&k);
	attrs_put_text(&k.context, "service.name", "unknown_service:python3");
	snprintf(k.env.service_name, sizeof(k.env.service_name), "   ");
	snprintf(k.env.resource, sizeof(k.env.resource), "service.name=unknown_service");
	assert_name(&k, SERVICE_PROGRAM, "gunicorn");
	snprintf(k.env.service_name, sizeof(k.env.service_name), "unknown_services");
	assert_name(&k, SERVICE_ENVIRON, "unknown_services");
	snprintf(k.env.service_name, sizeof(k.env.service_name), "\x1b[2J\xff");
	assert_name(&k, SERVICE_ENVIRON, "\\x1b[2J\\xff");
	k.facts = (struct service_facts){ 0 };
	assert_name(&k, SERVICE_PROGRAM, "python");
}

static void test_parents(void **state)
{
	static const char helper[] = "python3\0-c\0from multiprocessing.spawn import spawn_main\0";
	struct known k;

	know(&k);
	k.facts.parent = "trainer";
	assert_name(&k, SERVICE_PROGRAM, "gunicorn");
	k.facts.cmdline = helper;
	k.facts.cmdline_len = sizeof(helper) - 1;
	assert_name(&k, SERVICE_PARENT, "trainer");
	k.facts.parent = NULL;
	assert_name(&k, SERVICE_PROGRAM, "multiprocessing");
}

static void test_workloads(void **state)
{
	static const struct { const char *pod, *workload; } pods[] = {
		{ "web-7d9c5b6f4-x2x9z", "web" },		/* Deployment */
		{ "shop-api-5f6b7c8d9f-2kqtz", "shop-api" },
		{ "db-0", "db" }, { "kafka-broker-12", "kafka-broker" },	/* StatefulSet */
		{ "node-exporter-b7zq4", "node-exporter" },	/* DaemonSet */
		{ "backup-28391040-h7k2q", "backup" },		/* CronJob */
		{ "migrate-v2-xx9bz", "migrate-v2" },		/* Job */
		{ "standalone", "standalone" }, { "web-nginx", "web-nginx" },
		{ "-x2x9z", "-x2x9z" }, { "", "" },
	};
	char out[SERVICE_PLACE_BYTES];
	struct container c = { .pod_namespace = "shop" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pods); i++) {
		snprintf(c.pod, sizeof(c.pod), "%s", pods[i].pod);
		assert_string_equal(service_workload(&c, out), pods[i].workload);
	}
	/* podman's pods are not Kubernetes'. */
	c.pod_namespace[0] = '\0';
	snprintf(c.pod, sizeof(c.pod), "web-x2x9z");
	assert_string_equal(service_workload(&c, out), "");
	assert_string_equal(service_container(&c, out), "web-x2x9z");
}

static void test_units(void **state)
{
	static const struct { const char *unit, *service; } units[] = {
		{ "shop.service", "shop" }, { "worker@3.service", "worker@3" },
		{ "session-4.scope", "" }, { "user@1000.service", "" }, { "ssh.service", "" },
		{ "sshd@3-10.0.0.1.service", "" }, { "cron.service", "" }, { "docker.service", "" },
		{ "init.scope", "" }, { ".service", "" }, { "", "" },
		{ "serial-getty@ttyS0.service", "" }, { "k3s-agent.service", "" },
	};
	char out[SERVICE_PLACE_BYTES];
	struct container c = { .id = "" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		snprintf(c.unit, sizeof(c.unit), "%s", units[i].unit);
		assert_string_equal(service_unit(&c, out), units[i].service);
	}
}

static void test_rules(void **state)
{
	static const struct service_rule rules[] = {
		{ { [FACT_COMMAND] = "*never*" }, "x" },
		{ { [FACT_IMAGE] = "*" }, "{user}{unit}" },	/* empty here: the next rule */
		{ { [FACT_NAMESPACE] = "sho?", [FACT_PROGRAM] = "gunicorn",
		    [FACT_POD] = "shop/web-*",
		    [FACT_EXE] = "python3*" },
		  "{namespace}/{workload} ({program}, $1 {python})$" },
		{ { [FACT_PROGRAM] = "*" }, "not reached" },
	};
	struct service_config c = { .rules = rules, .rule_cnt = ARRAY_SIZE(rules),
				    .privacy = most };
	char out[SERVICE_NAME_BYTES], huge[1024];
	struct known k;

	know(&k);
	k.facts.user = NULL;
	attrs_put_text(&k.context, "service.name", "checkout");
	in_pod(&k.container);
	assert_int_equal(service_name(&k.facts, &c, out), SERVICE_RULE);
	assert_string_equal(out, "shop/web (gunicorn, $1 3.11.7)$");
	k.container.pod_namespace[0] = '\0';
	c.rule_cnt = 3;
	assert_int_equal(service_name(&k.facts, &c, out), SERVICE_CONTEXT);
	/* Long texts of hostile processes are cut at a character. */
	memset(huge, 'a', sizeof(huge));
	memcpy(huge + SERVICE_NAME_BYTES - 2, "\xc3\xa9", 2);
	huge[sizeof(huge) - 1] = '\0';
	k.facts.user = huge;
	assert_int_equal(service_name(&k.facts, &c, out), SERVICE_RULE);
	assert_true(strlen(out) >= SERVICE_NAME_BYTES - 6);
	assert_null(strchr(out, '\xc3'));
}

static void test_rules_are_checked(void **state)
{
	static const struct { struct service_rule rule; const char *why; } bad[] = {
		{ { { [FACT_EXE] = "*" }, "{programm}" }, "'programm'" },
		{ { { [FACT_EXE] = "*" }, "a{exe" }, "'exe'" },
		{ { { [FACT_EXE] = "*" }, "a}" }, "brace" },
		{ { { [FACT_EXE] = "*" }, "" }, "must have" },
		{ { { NULL }, "x" }, "must have" },
		{ { { [FACT_EXE] = "*********" }, "x" }, "stars" },
	};
	static const struct service_rule good = {
		{ [FACT_EXE] = "/opt/*", [FACT_UNIT] = "x" }, "a {exe} $ {user}",
	};
	char why[400];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(service_rule_check(&bad[i].rule, why, sizeof(why)), -EINVAL);
		if (!strstr(why, bad[i].why))
			fail_msg("%s", why);
	}
	assert_int_equal(service_rule_check(&good, why, sizeof(why)), 0);
	for (i = 0; i < FACT_CNT; i++)
		assert_int_equal(service_fact_find(service_fact_names[i],
						   strlen(service_fact_names[i])), i);
	assert_int_equal(service_fact_find("", 0), FACT_CNT);
}

static void test_resource(void **state)
{
	static struct service s;
	struct known k;

	know(&k);
	in_pod(&k.container);
	attrs_put_text(&k.context, "service.version", "1.4");
	attrs_put_text(&k.context, "telemetry.sdk.language", "python");
	attrs_put_text(&k.context, "container.id", "forged");
	attrs_put_text(&k.context, "service.instance.id", "627cc493-f310-47de-96bd-71410b7dec09");
	attrs_put_number(&k.context, "process.pid", strlen("process.pid"), 77);
	attrs_put_number(&k.context, "team.size", strlen("team.size"), 5);
	snprintf(k.env.resource, sizeof(k.env.resource),
		 "deployment.environment.name=prod,service.version=0,host.name=forged,user.id=7");
	service_make(&k.facts, &plain, &s);
	assert_string_equal(service_name_of(&s), "web");
	assert_string_equal(attrs_text(&s.resource, "service.version"), "1.4");
	assert_string_equal(attrs_text(&s.resource, "deployment.environment.name"), "prod");
	assert_string_equal(attrs_text(&s.resource, "container.id"), k.container.id);
	assert_string_equal(attrs_text(&s.resource, "container.image.name"), "reg:5000/team/web");
	assert_string_equal(attrs_text(&s.resource, "k8s.pod.name"), "web-7d9c5b6f4-x2x9z");
	assert_string_equal(attrs_text(&s.resource, "k8s.pod.uid"), k.container.pod_uid);
	assert_string_equal(attrs_text(&s.resource, "k8s.namespace.name"), "shop");
	assert_string_equal(attrs_text(&s.resource, "k8s.container.name"), "app");
	assert_string_equal(attrs_text(&s.resource, "host.name"), "node1");
	assert_string_equal(attrs_text(&s.resource, "os.type"), "linux");
	assert_string_equal(attrs_text(&s.resource, "process.runtime.name"), "cpython");
	assert_string_equal(attrs_text(&s.resource, "process.runtime.version"), "3.11.7");
	assert_string_equal(attrs_text(&s.resource, "process.executable.name"), "python3.11");
	assert_string_equal(attrs_text(&s.resource, "telemetry.sdk.language"), "python");
	assert_int_equal(attrs_find(&s.resource, "team.size")->number, 5);
	assert_null(attrs_find(&s.resource, "process.pid"));
	assert_null(attrs_find(&s.resource, "service.instance.id"));
	assert_null(attrs_find(&s.resource, "container.name"));
}

/* Old names of attributes become current ones; Datadog's version counts if there is no other. */
static void test_old_names(void **state)
{
	static struct service s;
	struct known k;

	know(&k);
	snprintf(k.env.version, sizeof(k.env.version), "2.0-dd");
	snprintf(k.env.resource, sizeof(k.env.resource), "deployment.environment=prod");
	service_make(&k.facts, &plain, &s);
	assert_string_equal(attrs_text(&s.resource, "deployment.environment.name"), "prod");
	assert_null(attrs_find(&s.resource, "deployment.environment"));
	assert_string_equal(attrs_text(&s.resource, "service.version"), "2.0-dd");
	attrs_put_text(&k.context, "service.version", "1.4");
	service_make(&k.facts, &plain, &s);
	assert_string_equal(attrs_text(&s.resource, "service.version"), "1.4");
}

static void test_images(void **state)
{
	static const struct { const char *image, *name, *tag; } images[] = {
		{ "nginx", "nginx", "" }, { "nginx:1.25", "nginx", "1.25" },
		{ "reg:5000/nginx", "reg:5000/nginx", "" }, { "r:5/n:v2", "r:5/n", "v2" },
		{ "a/b@sha256:00", "a/b", "" }, { "a/b:c@sha256:00", "a/b", "c" },
		{ "a/b:", "a/b", "" }, { ":1", "", "1" }, { "", "", "" },
	};
	const struct attr *tags;
	static struct service s;
	struct known k;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(images); i++) {
		know(&k);
		snprintf(k.container.image, sizeof(k.container.image), "%s", images[i].image);
		service_make(&k.facts, &plain, &s);
		assert_string_equal(attrs_text(&s.resource, "container.image.name"),
				    images[i].name);
		tags = attrs_find(&s.resource, "container.image.tags");
		assert_int_equal(tags && tags->is_list, *images[i].tag != '\0');
		assert_string_equal(attrs_text(&s.resource, "container.image.tags"),
				    images[i].tag);
	}
}

/* Is a word anywhere in the resource? */
static bool says(const struct service *s, const char *word)
{
	size_t i;

	for (i = 0; i < s->resource.cnt; i++)
		if (strstr(attr_key(&s->resource, &s->resource.items[i]), word) ||
		    strstr(attr_value(&s->resource, &s->resource.items[i]), word))
			return true;
	return false;
}

static void test_privacy(void **state)
{
	static const struct {
		size_t at;		/* of the switch */
		const char *words[4];
	} switches[] = {
		{ offsetof(struct service_privacy, command_line), { "hunter2", "arg-secret" } },
		{ offsetof(struct service_privacy, paths), { "/usr/bin/python3.11", "/home/bob" } },
		{ offsetof(struct service_privacy, host_name), { "node1", "10.0.0.9" } },
		{ offsetof(struct service_privacy, user), { "www-data", "uid-7" } },
		{ offsetof(struct service_privacy, others), { "team", "telemetry.sdk" } },
	};
	struct service_config c = { .rule_cnt = 0 };
	static struct service s;
	struct known k;
	size_t i, n;

	know(&k);
	snprintf(k.env.resource, sizeof(k.env.resource), "process.command_args=arg-secret,"
		 "process.working_directory=/home/bob,host.ip=10.0.0.9,user.id=uid-7,team=x,"
		 "telemetry.sdk.name=opentelemetry");
	for (i = 0; i < ARRAY_SIZE(switches); i++) {
		c.privacy = (struct service_privacy){ 0 };
		service_make(&k.facts, &c, &s);
		for (n = 0; n < 4 && switches[i].words[n]; n++)
			assert_false(says(&s, switches[i].words[n]));
		((bool *)&c.privacy)[switches[i].at] = true;
		service_make(&k.facts, &c, &s);
		for (n = 0; n < 4 && switches[i].words[n]; n++)
			assert_true(says(&s, switches[i].words[n]));
	}
}

/* A process may not say that it is where we do not see it, unless processes are trusted. */
static void test_places(void **state)
{
	struct service_config c = { .privacy = { true, true, true, true, true, true } };
	static struct service s;
	struct known k;
	int trust;

	for (trust = 0; trust < 2; trust++) {
		know(&k);
		c.trust_processes = trust;
		snprintf(k.env.resource, sizeof(k.env.resource), "team=mine,"
			 "k8s.namespace.name=kube-system,container.name=root,k8s.node.name=n");
		service_make(&k.facts, &c, &s);
		assert_string_equal(attrs_text(&s.resource, "k8s.namespace.name"),
				    trust ? "kube-system" : "");
		assert_string_equal(attrs_text(&s.resource, "container.name"), trust ? "root" : "");
		assert_string_equal(attrs_text(&s.resource, "k8s.node.name"), "n");
		/* In a pod it may say more than we know, but not something else. */
		in_pod(&k.container);
		snprintf(k.env.resource, sizeof(k.env.resource), "k8s.deployment.name=web,"
			 "k8s.namespace.name=kube-system");
		service_make(&k.facts, &c, &s);
		assert_string_equal(attrs_text(&s.resource, "k8s.deployment.name"), "web");
		assert_string_equal(attrs_text(&s.resource, "k8s.namespace.name"), "shop");
	}
}

static const char *value_of(const struct otlp_attribute *a, uint32_t cnt, const char *key)
{
	const char *found = NULL;
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (!strcmp(a[i].key, key)) {
			assert_null(found);	/* once each */
			found = a[i].text ? a[i].text : "a number";
		}
	return found;
}

/* What the administrator says counts before what a process says, unless processes are trusted. */
static void test_labels(void **state)
{
	struct otlp_attribute all[SERVICE_ATTRIBUTES_MAX];
	static struct attrs labels;
	struct service_config c = { .labels = &labels };
	static struct service s;
	uint32_t cnt;
	int trust;

	attrs_clear(&labels);
	attrs_put_text(&labels, "team", "payments");
	attrs_put_text(&labels, "ring", "one");
	attrs_put_text(&labels, "service.name", "never");	/* config_keys.c refuses it */
	attrs_clear(&s.resource);
	attrs_put_text(&s.resource, "service.name", "web");
	attrs_put_text(&s.resource, "team", "mine");
	attrs_put_number(&s.resource, "n", 1, 5);
	for (trust = 0; trust < 2; trust++) {
		c.trust_processes = trust;
		cnt = service_attributes(&s, &c, all);
		assert_int_equal(cnt, 4);
		assert_string_equal(all[0].key, "service.name");
		assert_string_equal(value_of(all, cnt, "service.name"), "web");
		assert_string_equal(value_of(all, cnt, "team"), trust ? "mine" : "payments");
		assert_string_equal(value_of(all, cnt, "ring"), "one");
		assert_string_equal(value_of(all, cnt, "n"), "a number");
		assert_string_equal(service_attribute(&s, &c, "team"), trust ? "mine" : "payments");
		assert_string_equal(service_attribute(&s, &c, "ring"), "one");
		assert_string_equal(service_attribute(&s, &c, "n"), "");
		assert_string_equal(service_attribute(&s, &c, "none"), "");
		cnt = service_attributes(NULL, &c, all);
		assert_int_equal(cnt, 3);
		assert_string_equal(value_of(all, cnt, "service.name"), SERVICE_OTHER_NAME);
		assert_string_equal(service_attribute(NULL, &c, "team"), "payments");
	}
	c.labels = NULL;
	assert_int_equal(service_attributes(&s, &c, all), 3);
	assert_string_equal(service_attribute(&s, &c, "team"), "mine");
}

static bool same(const struct known *a, const struct known *b)
{
	static struct service of_a, of_b;
	bool is_same;

	service_make(&a->facts, &plain, &of_a);
	service_make(&b->facts, &plain, &of_b);
	is_same = service_same(&of_a, &of_b);
	assert_int_equal(is_same, of_a.id == of_b.id);
	assert_true(of_a.id && of_b.id);
	return is_same;
}

static void test_identity(void **state)
{
	struct known a, b;

	know(&a);
	know(&b);
	/* Workers of one service: other processes, users, command lines, instance ids of SDKs. */
	b.facts.user = "root";
	b.facts.python = "3.12.1";
	b.facts.exe = "/opt/python";
	attrs_put_text(&a.context, "service.instance.id", "1");
	attrs_put_text(&b.context, "service.instance.id", "2");
	assert_true(same(&a, &b));
	/* An instance that the administrator has named is another. */
	snprintf(b.env.resource, sizeof(b.env.resource), "service.instance.id=blue");
	assert_false(same(&a, &b));
	b.env.resource[0] = '\0';
	/* The same name in another container, pod, unit, version or environment. */
	in_pod(&a.container);
	in_pod(&b.container);
	assert_true(same(&a, &b));
	b.container.id[0] = 'f';
	assert_false(same(&a, &b));
	b.container = a.container;
	attrs_put_text(&b.context, "service.version", "2");
	assert_false(same(&a, &b));
	attrs_put_text(&a.context, "service.version", "2");
	assert_true(same(&a, &b));
	snprintf(b.env.resource, sizeof(b.env.resource), "deployment.environment.name=test");
	assert_false(same(&a, &b));
	know(&a);
	know(&b);
	snprintf(a.env.service_name, sizeof(a.env.service_name), "w");
	snprintf(b.env.service_name, sizeof(b.env.service_name), "w");
	snprintf(a.container.unit, sizeof(a.container.unit), "w@1.service");
	snprintf(b.container.unit, sizeof(b.container.unit), "w@2.service");
	assert_false(same(&a, &b));
	/* Logins are no services. */
	snprintf(a.container.unit, sizeof(a.container.unit), "session-1.scope");
	snprintf(b.container.unit, sizeof(b.container.unit), "session-2.scope");
	assert_true(same(&a, &b));
}

/* The number is in files and on servers: it stays the same from version to version. */
static void test_id_is_stable(void **state)
{
	static struct service s;
	struct known k;

	know(&k);
	in_pod(&k.container);
	service_make(&k.facts, &plain, &s);
	assert_int_equal(s.id, ID_OF_WEB);
}

static void test_resource_variable(void **state)
{
	static const struct { const char *text, *shown; uint32_t dropped; } table[] = {
		{ "", "", 0 }, { ",,,", "", 0 },
		{ "a=b", "a=b;", 0 }, { " a = b c ,d=e", "a=b c;d=e;", 0 },
		{ "a=b,a=c", "a=b;", 0 },
		{ "a=b%2Cc%3dd%20", "a=b,c=d ;", 0 },
		{ "a%2Eb=c=d", "a.b=c=d;", 0 },
		{ "k=%e2%82%ac", "k=\xe2\x82\xac;", 0 },
		{ "k=%", "k=%;", 0 }, { "k=%4", "k=%4;", 0 }, { "k=%zz", "k=%zz;", 0 },
		{ "k=%00x%0a%1b%ff", "k=\\x00x\\x0a\\x1b\\xff;", 0 },
		{ "novalue,x=1", "x=1;", 1 }, { "=v", "", 1 }, { "k=", "k=;", 0 },
		{ "%0a=v", "\\x0a=v;", 0 }, { "k=\xe2\x82", "k=\\xe2\\x82;", 0 },
	};
	char shown[256], *at;
	struct attrs a;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		attrs_clear(&a);
		resource_variable_read(table[i].text, &a);
		*shown = '\0';
		for (n = 0, at = shown; n < a.cnt; n++)
			at += sprintf(at, "%s=%s;", attr_key(&a, &a.items[n]),
				      attr_value(&a, &a.items[n]));
		assert_string_equal(shown, table[i].shown);
		assert_int_equal(a.dropped, table[i].dropped);
	}
}

/* What does not fit is counted, and the service's own attributes are there. */
static void test_bounds(void **state)
{
	static struct service s;
	struct known k;
	char *at;
	size_t i;

	know(&k);
	in_pod(&k.container);
	for (i = 0, at = k.env.resource; i < 300; i++)
		at += sprintf(at, "k%zu=%zu,", i, i);
	for (i = 0; i < 2 * ATTRS_MAX; i++) {
		char key[16];

		snprintf(key, sizeof(key), "c%zu", i);
		attrs_put_number(&k.context, key, strlen(key), (int64_t)i);
	}
	assert_int_equal(k.context.cnt, ATTRS_MAX);
	assert_int_equal(k.context.dropped, ATTRS_MAX);
	service_make(&k.facts, &plain, &s);
	assert_int_equal(s.resource.cnt, ATTRS_MAX);
	assert_true(s.resource.dropped > 300);
	assert_string_equal(attrs_text(&s.resource, "process.runtime.version"), "3.11.7");
	assert_string_equal(service_name_of(&s), "web");
}

static void test_attrs(void **state)
{
	char key[2 * ATTR_KEY_BYTES], value[2 * ATTR_VALUE_BYTES];
	struct attrs a, copy;
	size_t i;

	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	attrs_clear(&a);
	assert_false(attrs_put(&a, key, ATTR_KEY_BYTES, "v", 1));
	assert_false(attrs_put(&a, "", 0, "v", 1));
	assert_int_equal(a.dropped, 2);
	assert_true(attrs_put(&a, key, ATTR_KEY_BYTES - 1, value, sizeof(value)));
	assert_int_equal(strlen(attr_value(&a, &a.items[0])), ATTR_VALUE_BYTES - 1);
	assert_false(attrs_put_text(&a, "x", NULL));
	assert_false(attrs_put_text(&a, "x", ""));
	assert_int_equal(a.dropped, 2);
	/* The text is full before the list is. */
	for (i = 0; i < 20; i++)
		attrs_put(&a, key, i + 1, value, sizeof(value));
	assert_true(a.cnt < 20 && a.dropped > 2 && a.text_len <= ATTRS_TEXT_BYTES);
	copy = a;
	assert_string_equal(attrs_text(&copy, "k"), attrs_text(&a, "k"));
	assert_string_equal(attrs_text(&a, "none"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_parents),
		cmocka_unit_test(test_workloads),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_rules_are_checked),
		cmocka_unit_test(test_resource),
		cmocka_unit_test(test_old_names),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_privacy),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_id_is_stable),
		cmocka_unit_test(test_resource_variable),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_attrs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
