// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_containers.c - cgroup paths as runtimes make them; names from their state on disk. */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/container_files.h"
#include "host/containers.h"
#include "tests/unit/tach_test.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "0b4c8a3e-51d2-4f0e-9a86-7d1f3f0a2c55"
#define UID_ "0b4c8a3e_51d2_4f0e_9a86_7d1f3f0a2c55"
#define STATIC_UID "c4b8a1f2d9e07f6a5b3c2d1e0f9a8b7c"
#define POD "kubepods-burstable-pod" UID_ ".slice"

/* Rows end where there is no more to say. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A path and all that it says; NULL: nothing. */
struct path_case {
	const char *path, *runtime, *id, *pod_uid, *qos, *unit;
	uint32_t user;	/* 0: the system's */
};

static const struct path_case paths[] = {
	/* docker: cgroupfs, systemd, --cgroup-parent, buildkit, rootless, in docker */
	{ "/docker/" HEX, "docker", HEX },
	{ "/system.slice/docker-" HEX ".scope", "docker", HEX, .unit = "docker-" HEX ".scope" },
	{ "/mine/" HEX, "oci", HEX },
	{ "/docker/buildkit/k3x8p0w1", "buildkit", "k3x8p0w1" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" HEX ".scope",
	  "docker", HEX, .unit = "docker-" HEX ".scope", .user = 1000 },
	{ "/docker/" HEX "/docker/" HEX2, "docker", HEX2 },
	{ "/docker/" HEX "/system.slice/cron.service", "docker", HEX, .unit = "cron.service" },
	/* containerd: CRI, nerdctl, ctr */
	{ "/system.slice/nerdctl-" HEX ".scope", "containerd", HEX,
	  .unit = "nerdctl-" HEX ".scope" },
	{ "/default/web", "containerd", "web" },
	{ "/srv/default/web" },
	{ "/k8s.io/" HEX, "containerd", HEX },
	/* Kubernetes: each class, cgroupfs and systemd, each runtime */
	{ "/kubepods/besteffort/pod" UID "/" HEX, "oci", HEX, UID, "besteffort" },
	{ "/kubepods/burstable/pod" UID "/" HEX, "oci", HEX, UID, "burstable" },
	{ "/kubepods/pod" UID "/" HEX, "oci", HEX, UID, "guaranteed" },
	{ "/kubepods/burstable/pod" UID "/crio-" HEX, "crio", HEX, UID, "burstable" },
	{ "/kubepods/burstable/pod" UID "/crio-conmon-" HEX, "", "", UID, "burstable" },
	{ "/kubepods/burstable/pod" UID, "", "", UID, "burstable" },
	{ "/kubepods/burstable/pod" STATIC_UID "/" HEX, "oci", HEX, STATIC_UID, "burstable" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/"
	  "cri-containerd-" HEX ".scope", "containerd", HEX, UID, "besteffort",
	  "cri-containerd-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/" POD "/crio-" HEX ".scope", "crio", HEX, UID,
	  "burstable", "crio-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/" POD "/crio-" HEX ".scope/container", "crio",
	  HEX, UID, "burstable", "crio-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/" POD "/crio-conmon-" HEX ".scope", "", "", UID,
	  "burstable", "crio-conmon-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/" POD "/docker-" HEX ".scope", "docker", HEX,
	  UID, "burstable", "docker-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" HEX ".scope", "containerd",
	  HEX, UID, "guaranteed", "cri-containerd-" HEX ".scope" },
	{ "/kubepods.slice/kubepods-pod" STATIC_UID ".slice/cri-containerd-" HEX ".scope",
	  "containerd", HEX, STATIC_UID, "guaranteed", "cri-containerd-" HEX ".scope" },
	/* containerd told of systemd's names without using systemd */
	{ "/system.slice/containerd.service/" POD ":cri-containerd:" HEX, "containerd", HEX, UID,
	  "burstable", "containerd.service" },
	{ "/" POD ":cri-containerd:" HEX, "containerd", HEX, UID, "burstable" },
	/* kind: Kubernetes in docker */
	{ "/docker/" HEX "/kubelet/kubepods/besteffort/pod" UID "/" HEX2, "oci", HEX2, UID,
	  "besteffort" },
	{ "/system.slice/docker-" HEX ".scope/kubelet.slice/kubelet-kubepods.slice/"
	  "kubelet-kubepods-burstable.slice/kubelet-" POD "/cri-containerd-" HEX2 ".scope",
	  "containerd", HEX2, UID, "burstable", "cri-containerd-" HEX2 ".scope" },
	/* Amazon's tasks */
	{ "/ecs/0123456789abcdef0123456789abcdef/" HEX, "oci", HEX },
	{ "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-2531612879",
	  "ecs", "0123456789abcdef0123456789abcdef-2531612879" },
	/* podman: root, rootless, cgroupfs, split, pods, conmon */
	{ "/machine.slice/libpod-" HEX ".scope", "podman", HEX, .unit = "libpod-" HEX ".scope" },
	{ "/machine.slice/libpod-" HEX ".scope/container", "podman", HEX,
	  .unit = "libpod-" HEX ".scope" },
	{ "/machine.slice/libpod-conmon-" HEX ".scope", "", "",
	  .unit = "libpod-conmon-" HEX ".scope" },
	{ "/machine.slice/machine-libpod_pod_" HEX2 ".slice/libpod-" HEX ".scope", "podman", HEX,
	  HEX2, .unit = "libpod-" HEX ".scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX ".scope/container",
	  "podman", HEX, .unit = "libpod-" HEX ".scope", .user = 1000 },
	{ "/libpod_parent/libpod-" HEX, "podman", HEX },
	{ "/libpod_parent/conmon" },
	{ "/libpod_parent/" HEX2 "/libpod-" HEX, "podman", HEX },
	{ "/system.slice/web.service/libpod-payload-" HEX, "podman", HEX, .unit = "web.service" },
	/* runc, crun */
	{ "/user.slice/runc-web.scope", "runc", "web", .unit = "runc-web.scope" },
	{ "/user.slice/crun-web.scope", "crun", "web", .unit = "crun-web.scope" },
	/* nspawn and other machines */
	{ "/machine.slice/machine-deb.scope/payload", "nspawn", "deb",
	  .unit = "machine-deb.scope" },
	{ "/machine.slice/machine-my\\x2dweb\\x2d1.scope/payload/system.slice/cron.service",
	  "nspawn", "my-web-1", .unit = "cron.service" },
	{ "/machine.slice/systemd-nspawn@deb.service/payload", "nspawn", "deb",
	  .unit = "systemd-nspawn@deb.service" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dwin.scope/libvirt/emulator", "", "",
	  .unit = "machine-qemu\\x2d1\\x2dwin.scope" },
	/* lxc, LXD, Incus, Proxmox */
	{ "/lxc.payload.web", "lxc", "web" },
	{ "/lxc.payload.web/init.scope", "lxc", "web", .unit = "init.scope" },
	{ "/lxc.payload/web", "lxc", "web" },
	{ "/lxc/101/ns/system.slice/ssh.service", "lxc", "101", .unit = "ssh.service" },
	{ "/lxc.monitor.web" },
	/* systemd: services, users' services, sessions */
	{ "/system.slice/nginx.service", .unit = "nginx.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", .unit = "getty@tty1.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-editor-77.scope",
	  .unit = "app-editor-77.scope", .user = 1000 },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/job.service",
	  .unit = "job.service", .user = 1000 },
	{ "/user.slice/user-0.slice/session-3.scope", .unit = "session-3.scope" },
	{ "/init.scope", .unit = "init.scope" },
	/* seen from a private cgroup namespace */
	{ "/../../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/"
	  "cri-containerd-" HEX ".scope", "containerd", HEX, UID, "besteffort",
	  "cri-containerd-" HEX ".scope" },
	{ "/../" HEX, "oci", HEX },
	{ "/../pod" UID "/" HEX, "oci", HEX, UID },
	{ "/../../../../system.slice/cron.service", .unit = "cron.service" },
	{ "/" }, { "" }, { "/.." }, { "//" },
	/* what only looks like one */
	{ "/docker" }, { "/docker/" }, { "/docker/" HEX "0" }, { "/libpod-" }, { "/pod" },
	{ "/docker-" HEX }, { "/ABCDEF789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
	{ "/kubepods/burstable/podracer/x" }, { "/machine-x.scope", .unit = "machine-x.scope" },
	{ "/lxc.payload." }, { ":cri-containerd:" }, { "/a:b" }, { "/::" },
};

static const char *text(const char *s)
{
	return s ? s : "";
}

static void check(const struct container *c, const struct path_case *p)
{
	assert_string_equal(c->runtime, text(p->runtime));
	assert_string_equal(c->id, text(p->id));
	assert_string_equal(c->pod_uid, text(p->pod_uid));
	assert_string_equal(c->qos, text(p->qos));
	assert_string_equal(c->unit, text(p->unit));
	assert_int_equal(c->user, p->user ? p->user : CONTAINER_NO_USER);
}

static void test_paths(void **state)
{
	struct container c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct path_case *p = &paths[i];
		bool any = *text(p->id) || *text(p->unit) || *text(p->pod_uid);
		int err = container_of_cgroup(p->path, &c);

		if (err != (any ? 0 : -ENOENT))
			fail_msg("%s: %d, id '%s', unit '%s'", p->path, err, c.id, c.unit);
		check(&c, p);
		assert_int_equal(container_is(&c), !!*text(p->id));
	}
}

/* What is too long is cut between characters, what is no text is escaped. */
static void test_hostile_paths(void **state)
{
	char path[4096], *p;
	struct container c;

	memset(path, 'a', sizeof(path) - 1);
	memcpy(path, "/lxc/", 5);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(container_of_cgroup(path, &c), 0);
	assert_int_equal(strlen(c.id), sizeof(c.id) - 1);
	for (p = path + 5; p + 2 < path + sizeof(path); p += 2)
		memcpy(p, "\xc3\xa9", 2);	/* e with acute */
	assert_int_equal(container_of_cgroup(path, &c), 0);
	assert_true(strlen(c.id) >= sizeof(c.id) - 3 && strlen(c.id) % 2 == 0);
	assert_int_equal(container_of_cgroup("/lxc/a\033[1mb\n\xff", &c), 0);
	assert_string_equal(c.id, "a\\x1b[1mb\\x0a\\xff");
	assert_int_equal(container_of_cgroup("/machine.slice/machine-a\\x0ab\\x.scope", &c), 0);
	assert_string_equal(c.id, "a\\x0ab\\x");
}

static void test_files(void **state)
{
	static const struct {
		const char *text;
		struct path_case is;
	} cases[] = {
		{ "0::/system.slice/docker-" HEX ".scope\n",
		  { NULL, "docker", HEX, .unit = "docker-" HEX ".scope" } },
		/* v1 */
		{ "12:pids:/docker/" HEX "\n11:cpuset:/docker/" HEX "\n1:name=systemd:/docker/" HEX
		  "\n", { NULL, "docker", HEX } },
		{ "9:cpu,cpuacct:/kubepods/burstable/pod" UID "/" HEX "\n3:pids:/\n",
		  { NULL, "oci", HEX, UID, "burstable" } },
		/* hybrid: either may be the one that tells */
		{ "4:memory:/libpod_parent/libpod-" HEX "\n1:name=systemd:/\n0::/\n",
		  { NULL, "podman", HEX } },
		{ "4:memory:/user.slice\n1:name=systemd:/user.slice/user-0.slice/session-3.scope\n"
		  "0::/libpod_parent/libpod-" HEX "\n", { NULL, "podman", HEX } },
		{ "2:cpu:/\n1:name=systemd:/system.slice/cron.service\n"
		  "0::/system.slice/cron.service\n",
		  { NULL, .unit = "cron.service" } },
		/* colons and spaces in paths, a deleted cgroup, no newline at the end */
		{ "0::/lxc/a:b c", { NULL, "lxc", "a:b c" } },
		{ "0::/lxc/web (deleted)\n", { NULL, "lxc", "web" } },
		{ "0::/../lxc.payload.web", { NULL, "lxc", "web" } },
		{ "", { NULL } }, { "\n\n", { NULL } }, { "0:", { NULL } }, { "0::", { NULL } },
		{ "nonsense\n::\n", { NULL } },
	};
	struct container c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		container_of_cgroup_file(cases[i].text, strlen(cases[i].text), &c);
		check(&c, &cases[i].is);
	}
}

/* ---- processes ---- */

static void test_pid(void **state)
{
	struct container own, other;
	pid_t pid, child;
	int err = container_of_pid(getpid(), &own), ready[2];

	assert_true(!err || err == -ENOENT);
	assert_string_not_equal(own.runtime, "pidns");
	assert_int_equal(container_of_pid(INT_MAX, &other), -ESRCH);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		child = fork();
		if (!child) {
			close(ready[0]);
			pause();
			_exit(0);
		}
		if (write(ready[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		waitpid(child, NULL, 0);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &child, sizeof(child)) != sizeof(child)) {
		waitpid(pid, NULL, 0);
		print_message("SKIP: no right to make a pid namespace\n");
		skip();
	}
	err = container_of_pid(child, &other);
	kill(child, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	assert_int_equal(err, 0);
	if (!container_is(&own)) {
		assert_string_equal(other.runtime, "pidns");
		assert_true(strtoull(other.id, NULL, 10) > 1);
	} else {
		assert_string_equal(other.id, own.id);	/* we are in one ourselves */
	}
}

/* ---- names ---- */

static char root[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int make_root(void **state)
{
	strcpy(root, "/tmp/test_containers.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file below root with all its directories. */
static void put(const char *path, const char *content)
{
	char full[PATH_MAX], *p;
	FILE *f;

	assert_true(snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full));
	for (p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(!mkdir(full, 0755) || errno == EEXIST);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(content, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct container named(const char *path, int want)
{
	struct container c;

	container_of_cgroup(path, &c);
	assert_int_equal(container_names(&c, root, 0, container_file_parse), want);
	return c;
}

static void assert_label(const struct container *c, const char *want)
{
	char label[CONTAINER_LABEL_BYTES];

	assert_string_equal(container_label(c, label), want);
}

#define DOCKER_STATE                                                                               \
	"{\"ID\":\"" HEX "\",\"Name\":\"/checkout\",\"Config\":{\"Image\":\"shop/checkout:1.2\","  \
	"\"Labels\":{\"a\":\"b\"}}}"

static void test_docker(void **state)
{
	struct container c = named("/docker/" HEX, -ENOENT);

	assert_label(&c, "0123456789ab");
	put("/var/lib/docker/containers/" HEX "/config.v2.json", DOCKER_STATE);
	c = named("/docker/" HEX, 0);
	assert_string_equal(c.name, "checkout");
	assert_string_equal(c.image, "shop/checkout:1.2");
	assert_label(&c, "checkout");
	/* Of a form that does not tell the runtime. */
	c = named("/mine/" HEX, 0);
	assert_string_equal(c.runtime, "docker");
	assert_string_equal(c.name, "checkout");
	/* A user's cgroup of that name is not docker's. */
	c = named("/user.slice/user-1000.slice/user@1000.service/docker-" HEX ".scope", -ENOENT);
	assert_string_equal(c.name, "");
	put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n");
	put("/home/u/.local/share/docker/containers/" HEX "/config.v2.json",
	    "{\"Name\":\"/mine\"}");
	c = named("/user.slice/user-1000.slice/user@1000.service/docker-" HEX ".scope", 0);
	assert_string_equal(c.name, "mine");
	/* Elsewhere. */
	put("/etc/docker/daemon.json", "{\"data-root\":\"/data\"}");
	put("/data/containers/" HEX2 "/config.v2.json", "{\"Name\":\"/other\"}");
	c = named("/docker/" HEX2, 0);
	assert_string_equal(c.name, "other");
}

static void test_kubernetes(void **state)
{
	static const char path[] = "/kubepods/burstable/pod" UID "/" HEX;
	struct container c;

	put("/var/log/containers/web-1_shop_checkout-" HEX ".log", "");
	c = named(path, 0);
	assert_string_equal(c.runtime, "oci");
	assert_label(&c, "shop/web-1/checkout");
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" HEX "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"checkout\","
	    "\"io.kubernetes.cri.sandbox-name\":\"web-2\","
	    "\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
	    "\"io.kubernetes.cri.image-name\":\"docker.io/shop/checkout:1\"}}");
	c = named(path, 0);
	assert_string_equal(c.runtime, "containerd");
	assert_string_equal(c.image, "docker.io/shop/checkout:1");
	assert_string_equal(c.pod, "web-2");
	assert_string_equal(c.pod_namespace, "shop");
	assert_label(&c, "shop/web-2/checkout");
	assert_true(container_matches(&c, "checkout"));
	assert_true(container_matches(&c, "shop/web-2/checkout"));
	assert_true(container_matches_pod(&c, "web-2"));
	assert_true(container_matches_pod(&c, "shop/web-2"));
	assert_true(container_matches_pod(&c, UID));
	assert_false(container_matches_pod(&c, "web"));
	assert_false(container_matches_pod(&c, "shop/"));
	put("/run/containers/storage/overlay-containers/" HEX2 "/userdata/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri-o.ContainerName\":\"k8s_pay_pay-0_shop_x_0\","
	    "\"io.kubernetes.container.name\":\"pay\","
	    "\"io.kubernetes.cri-o.ImageName\":\"quay.io/pay:2\","
	    "\"io.kubernetes.pod.name\":\"pay-0\",\"io.kubernetes.pod.namespace\":\"shop\"}}");
	c = named("/kubepods.slice/kubepods-burstable.slice/" POD "/crio-" HEX2 ".scope", 0);
	assert_string_equal(c.image, "quay.io/pay:2");
	assert_label(&c, "shop/pay-0/pay");
}

#define STORED(id, name)                                                                           \
	"{\"id\":\"" id "\",\"names\":[\"" name "\"],\"image\":\"sha\",\"metadata\":"              \
	"\"{\\\"image-name\\\":\\\"docker.io/library/" name ":latest\\\",\\\"name\\\":\\\"" name   \
	"\\\"}\",\"created\":\"2026-01-01T00:00:00Z\"}"

static void test_podman(void **state)
{
	struct container c;

	put("/var/lib/containers/storage/overlay-containers/containers.json",
	    "[" STORED(HEX2, "db") "," STORED(HEX, "web") "]");
	c = named("/machine.slice/libpod-" HEX ".scope/container", 0);
	assert_string_equal(c.name, "web");
	assert_string_equal(c.image, "docker.io/library/web:latest");
	c = named("/libpod_parent/libpod-" HEX2, 0);
	assert_string_equal(c.name, "db");
	put("/var/lib/containers/storage/overlay-containers/containers.json", "[]");
	put("/var/lib/containers/storage/overlay-containers/volatile-containers.json",
	    "[" STORED(HEX, "brief") "]");
	c = named("/libpod_parent/libpod-" HEX, 0);
	assert_string_equal(c.name, "brief");
	put("/etc/passwd", "u:x:1000:1000::/home/u:/bin/sh\n");
	put("/home/u/.local/share/containers/storage/overlay-containers/containers.json",
	    "[" STORED(HEX, "mine") "]");
	c = named("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX ".scope",
		  0);
	assert_string_equal(c.name, "mine");
}

/* Damaged, huge, strange, not there: nothing is said, and nothing breaks. */
static void test_hostile_state(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "null", "{\"Name\":1}", "{\"Name\":null,\"Config\":[]}",
		"{\"Name\":{},\"Config\":\"x\"}", "{\"Config\":{\"Labels\":7,\"Image\":[]}}",
	};
	static const char file[] = "/var/lib/docker/containers/" HEX "/config.v2.json";
	char path[PATH_MAX];
	struct container c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		put(file, texts[i]);
		container_of_cgroup("/docker/" HEX, &c);
		container_names(&c, root, 0, container_file_parse);
		assert_string_equal(c.name, "");
		assert_string_equal(c.image, "");
	}
	put(file, "{\"Name\":\"/a\\u001b[1m\\nb\\u202e\"}");
	c = named("/docker/" HEX, 0);
	assert_null(strchr(c.name, '\033'));
	assert_null(strchr(c.name, '\n'));
	assert_non_null(strstr(c.name, "\\x1b"));
	/* A FIFO would make us wait. */
	assert_true(snprintf(path, sizeof(path), "%s%s", root, file) < (int)sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	c = named("/docker/" HEX, -ENOENT);
	assert_string_equal(c.name, "");
	/* A symlink stays below the root: it is not our /etc. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/state.json", path), 0);
	put("/state.json", "{\"Name\":\"/linked\"}");
	c = named("/docker/" HEX, 0);
	assert_string_equal(c.name, "linked");
}

/* A list is longer than what is in memory of it, and the container is anywhere in it. */
static void test_long_list(void **state)
{
	static const char path[] = "/var/lib/containers/storage/overlay-containers/containers.json";
	static const char last[] = STORED(HEX, "web") "]";
	static const size_t before[] = { 0, 65536 - 100, 65536 - 30, 65536 + 7, 3000000 };
	struct container c;
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		b.len = 0;
		assert_int_equal(buf_add(&b, "[", 1), 0);
		while (b.len < before[i])
			assert_int_equal(buf_add(&b, " ", 1), 0);
		assert_int_equal(buf_add(&b, last, sizeof(last)), 0);
		put(path, (const char *)b.data);
		c = named("/machine.slice/libpod-" HEX ".scope/container", 0);
		assert_string_equal(c.name, "web");
	}
	buf_free(&b);
}

#define MIB ((size_t)1 << 20)

/* count times the text between two others. */
static void put_times(const char *path, const char *head, const char *text, size_t count,
		      const char *tail)
{
	struct buf b = { 0 };

	assert_int_equal(buf_add(&b, head, strlen(head)), 0);
	while (count--)
		assert_int_equal(buf_add(&b, text, strlen(text)), 0);
	assert_int_equal(buf_add(&b, tail, strlen(tail) + 1), 0);
	put(path, (const char *)b.data);
	buf_free(&b);
}

/* Look a container up with at most 8 MiB more than we have. Does it get this name? */
static void named_in_8_mib(const char *cgroup, const char *want)
{
	struct container c;
	struct rlimit limit;
	unsigned long pages = 0;
	int status = 1;
	pid_t pid = fork();
	FILE *f;

	if (!pid) {
		f = fopen("/proc/self/statm", "r");
		if (!f || fscanf(f, "%lu", &pages) != 1 || fclose(f))
			_exit(2);
		limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + 8 * MIB;
		if (setrlimit(RLIMIT_AS, &limit))
			_exit(3);
		container_of_cgroup(cgroup, &c);
		container_names(&c, root, 0, container_file_parse);
		_exit(!!strcmp(c.name, want));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Whatever a user puts there: 9.4 MB of it cost 2.45 GB once. */
static void test_memory(void **state)
{
	static const char docker[] = "/var/lib/docker/containers/" HEX "/config.v2.json";
	static const char bundle[] = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" HEX
				     "/config.json";
	static const char list[] = "/var/lib/containers/storage/overlay-containers/containers.json";
	static const char name[] = "],\"Name\":\"/web\",\"Config\":{\"Image\":\"i\"}}";

#if defined(__SANITIZE_ADDRESS__)
	skip();		/* it takes all address space */
#endif
	put_times(docker, "{\"x\":[0", ",{}", 9400000 / 3, name);
	named_in_8_mib("/docker/" HEX, "");		/* too large */
	put_times(docker, "{\"x\":[0", ",{}", MIB / 3 - 100, name);
	named_in_8_mib("/docker/" HEX, "web");
	put_times(docker, "{\"x\":[0", ",\"k\"", MIB / 4 - 100, name);
	named_in_8_mib("/docker/" HEX, "web");
	put_times(docker, "{\"Name\":\"", "a", MIB - 100, "\"}");
	named_in_8_mib("/docker/" HEX, "");
	put_times(docker, "", "[", MIB - 100, "");
	named_in_8_mib("/docker/" HEX, "");
	put_times(docker, "{\"Config\":{\"Labels\":{\"0\":\"0\"", ",\"key\":\"value\"",
		  MIB / 16 - 100, "}},\"Name\":\"web\"}");
	named_in_8_mib("/docker/" HEX, "web");
	put_times(bundle, "{\"annotations\":{\"0\":\"0\"", ",\"key\":\"value\"", 9400000 / 16,
		  ",\"io.kubernetes.cri.container-name\":\"web\"}}");
	named_in_8_mib("/kubepods/pod0/cri-containerd-" HEX ".scope", "");
	put_times(list, "[", "{\"id\":\"" HEX2 "\"},", 9400000 / 74, STORED(HEX, "web") "]");
	named_in_8_mib("/machine.slice/libpod-" HEX ".scope/container", "web");
	put_times(list, "[{\"id\":\"" HEX "\",\"names\":[", "\"web\",", 9400000 / 6, "0]}]");
	named_in_8_mib("/machine.slice/libpod-" HEX ".scope/container", "");
}

static void test_matches(void **state)
{
	struct container c;
	char label[CONTAINER_LABEL_BYTES];

	container_of_cgroup("/docker/" HEX, &c);
	assert_true(container_matches(&c, HEX));
	assert_true(container_matches(&c, "0123456789ab"));
	assert_true(container_matches(&c, "0123"));
	assert_false(container_matches(&c, "012"));
	assert_false(container_matches(&c, ""));
	assert_false(container_matches(&c, "1234"));
	strcpy(c.name, "web");
	assert_true(container_matches(&c, "web"));
	assert_false(container_matches(&c, "we"));
	container_of_cgroup("/system.slice/web.service", &c);
	assert_false(container_matches(&c, "web"));
	assert_false(container_matches(&c, "web.service"));
	assert_string_equal(container_label(&c, label), "");
	container_of_cgroup("/lxc/deadbeef", &c);
	assert_true(container_matches(&c, "deadbeef"));
	assert_false(container_matches(&c, "dead"));	/* a name, not a number */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_hostile_paths),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_pid),
		cmocka_unit_test_setup_teardown(test_docker, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_kubernetes, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_podman, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_long_list, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_memory, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_hostile_state, make_root, remove_root),
		cmocka_unit_test(test_matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
