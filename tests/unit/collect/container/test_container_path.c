// SPDX-License-Identifier: Apache-2.0
/* Cgroup paths as the runtimes of the world write them, and choosing one of /proc/PID/cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "user/collect/container/container.h"
#include "user/util/cleanup.h"

#define ID1  "fc533062de76175f5adbb7ddff2b408d9906cf4355b69e158992fb91287957c9"
#define ID2  "b9a9f3a7c8d1e2f30415263748596a7b8c9d0e1f2a3b4c5d6e7f8091a2b3c4d5"
#define UID  "cd3dbd0e-9a5a-4bd0-a0a7-54d1a1b2c3d4"
#define UID_ "cd3dbd0e_9a5a_4bd0_a0a7_54d1a1b2c3d4"
#define HASH "6b1d2c4f8a9e0b1c2d3e4f5061728394" /* uid of a static pod */

struct path_case {
	const char *path;
	const char *id;
	const char *pod_uid;
	const char *name;
	const char *runtime;
	const char *unit;
};

static const struct path_case cases[] = {
	/* Docker: cgroupfs, systemd, rootless, cgroup parent, a cgroup of its own inside. */
	{ "/docker/" ID1, ID1, "", "", "docker", "" },
	{ "/system.slice/docker-" ID1 ".scope", ID1, "", "", "docker", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID1 ".scope", ID1, "",
	  "", "docker", "" },
	{ "/docker/" ID1 "/init.scope", ID1, "", "", "docker", "" },
	{ "/docker/" ID1 "/system.slice/nginx.service", ID1, "", "", "docker", "" },
	{ "/system.slice/docker-" ID1 ".scope/app", ID1, "", "", "docker", "" },
	{ "/system.slice:docker:" ID1, ID1, "", "", "docker", "" },
	{ "/actions_job/" ID1, ID1, "", "", "docker", "" },
	{ "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID1, ID1, "", "", "", "" },
	{ "/mygroup/" ID1, ID1, "", "", "", "" },
	{ "/system.slice/docker.service", "", "", "", "systemd", "docker.service" },
	/* Kubernetes: both drivers, all classes, all runtimes. */
	{ "/kubepods/burstable/pod" UID "/" ID1, ID1, UID, "", "kubernetes", "" },
	{ "/kubepods/besteffort/pod" UID "/" ID1, ID1, UID, "", "kubernetes", "" },
	{ "/kubepods/pod" UID "/" ID1, ID1, UID, "", "kubernetes", "" },
	{ "/kubepods/burstable/pod" HASH "/" ID1, ID1, HASH, "", "kubernetes", "" },
	{ "/kubepods/burstable/pod" UID, "", UID, "", "kubernetes", "" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID1 ".scope",
	  ID1, UID, "", "containerd", "" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID1 ".scope", ID1, UID, "",
	  "containerd", "" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	  ".slice/cri-containerd-" ID1 ".scope",
	  ID1, HASH, "", "containerd", "" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/crio-" ID1 ".scope",
	  ID1, UID, "", "crio", "" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/crio-" ID1 ".scope/container",
	  ID1, UID, "", "crio", "" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/crio-conmon-" ID1 ".scope",
	  "", UID, "", "kubernetes", "" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/docker-" ID1 ".scope",
	  ID1, UID, "", "docker", "" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID1,
	  ID1, UID, "", "containerd", "" },
	{ "/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" ID1, ID1, UID, "", "containerd",
	  "" },
	{ "/k8s.io/" ID1, ID1, "", "", "containerd", "" },
	{ "/default/" ID1, ID1, "", "", "containerd", "" },
	{ "/system.slice/nerdctl-" ID1 ".scope", ID1, "", "", "containerd", "" },
	{ "/system.slice/kubelet.service", "", "", "", "systemd", "kubelet.service" },
	/* Podman. */
	{ "/machine.slice/libpod-" ID1 ".scope", ID1, "", "", "podman", "" },
	{ "/machine.slice/libpod-" ID1 ".scope/container", ID1, "", "", "podman", "" },
	{ "/machine.slice/libpod-conmon-" ID1 ".scope", "", "", "", "systemd",
	  "libpod-conmon-" ID1 ".scope" },
	{ "/libpod_parent/libpod-" ID1, ID1, "", "", "podman", "" },
	{ "/libpod_parent/" ID1, ID1, "", "", "podman", "" },
	{ "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID1 ".scope", ID1, "", "",
	  "podman", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID1 ".scope", ID1, "",
	  "", "podman", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service/libpod-payload-" ID1,
	  ID1, "", "", "podman", "" },
	/* LXC, Incus, nspawn. */
	{ "/lxc.payload.web01", "", "", "web01", "lxc", "" },
	{ "/lxc.payload.web01/system.slice/nginx.service", "", "", "web01", "lxc", "" },
	{ "/lxc.payload/web01/user.slice", "", "", "web01", "lxc", "" },
	{ "/lxc/103/ns/system.slice/cron.service", "", "", "103", "lxc", "" },
	{ "/lxc.monitor.web01", "", "", "", "", "" },
	{ "/lxc.payload.web01/docker/" ID1, ID1, "", "", "docker", "" },
	{ "/machine.slice/machine-foo.scope/payload", "", "", "foo", "nspawn", "" },
	{ "/machine.slice/machine-my\\x2dbox.scope", "", "", "my-box", "nspawn", "" },
	{ "/machine.slice/systemd-nspawn@foo.service/payload/system.slice/a.service", "", "", "foo",
	  "nspawn", "" },
	{ "/machine.slice/systemd-nspawn@foo.service/supervisor", "", "", "", "", "" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "", "", "", "systemd",
	  "machine-qemu\\x2d1\\x2dvm.scope" },
	/* Nested: the innermost wins; a pod below a container has no id until its own comes. */
	{ "/docker/" ID1 "/docker/" ID2, ID2, "", "", "docker", "" },
	{ "/docker/" ID1 "/kubelet/kubepods/burstable/pod" UID "/" ID2, ID2, UID, "", "kubernetes",
	  "" },
	{ "/system.slice/docker-" ID1
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID2 ".scope",
	  ID2, UID, "", "containerd", "" },
	{ "/docker/" ID1 "/kubelet/kubepods/burstable/pod" UID, "", UID, "", "kubernetes", "" },
	{ "/kubepods/burstable/pod" UID "/" ID1 "/docker/" ID2, ID2, UID, "", "docker", "" },
	/* Seen from inside a cgroup namespace. */
	{ "/../../docker/" ID1, ID1, "", "", "docker", "" },
	{ "/../cri-containerd-" ID1 ".scope", ID1, "", "", "containerd", "" },
	{ "/..", "", "", "", "", "" },
	/* Plain units. */
	{ "/system.slice/nginx.service", "", "", "", "systemd", "nginx.service" },
	{ "/system.slice/system-postgresql.slice/postgresql@15-main.service", "", "", "", "systemd",
	  "postgresql@15-main.service" },
	{ "/system.slice/foo.service/worker-3", "", "", "", "systemd", "foo.service" },
	{ "/user.slice/user-0.slice/session-3.scope", "", "", "", "systemd", "session-3.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/ide.service", "", "", "",
	  "systemd", "ide.service" },
	{ "/init.scope", "", "", "", "systemd", "init.scope" },
	{ "/system.slice", "", "", "", "", "" },
	/* Nothing, and things that only look like something. */
	{ "/", "", "", "", "", "" },
	{ "", "", "", "", "", "" },
	{ "///", "", "", "", "", "" },
	{ "/docker", "", "", "", "", "" },
	{ "/docker/fc533062de76", "", "", "", "", "" },
	{ "/docker/" ID1 "0", "", "", "", "", "" },
	{ "/docker/FC533062DE76175F5ADBB7DDFF2B408D9906CF4355B69E158992FB91287957C9", "", "", "",
	  "", "" },
	{ "/docker/gc533062de76175f5adbb7ddff2b408d9906cf4355b69e158992fb91287957c9", "", "", "",
	  "", "" },
	{ "/-" ID1 ".scope", "", "", "", "systemd", "-" ID1 ".scope" },
	{ "/x-" ID1 ".scope", ID1, "", "", "", "" },
	{ "/kubepods/burstable/podcast", "", "", "", "", "" },
	{ "/kubepods-pod" UID_ "x.slice", "", "", "", "", "" },
	{ "/podcast/" ID1, ID1, "", "", "", "" },
	{ "/machine.slice/machine-.scope", "", "", "", "systemd", "machine-.scope" },
	{ "/lxc.payload.", "", "", "", "", "" },
};

static void container_path_knows_every_runtime(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct container_path got;

		container_path_parse(cases[i].path, &got);
		if (strcmp(got.id, cases[i].id) != 0 ||
		    strcmp(got.pod_uid, cases[i].pod_uid) != 0 ||
		    strcmp(got.name, cases[i].name) != 0 ||
		    strcmp(got.runtime, cases[i].runtime) != 0 ||
		    strcmp(got.unit, cases[i].unit) != 0)
			fail_msg("%s:\n id '%s' pod '%s' name '%s' runtime '%s' unit '%s'",
				 cases[i].path, got.id, got.pod_uid, got.name, got.runtime,
				 got.unit);
	}
}

static void container_path_survives_overlong_parts(void **state)
{
	char path[2 * PATH_MAX];
	struct container_path got;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	memcpy(path + sizeof(path) - 9, ".service", 9);
	container_path_parse(path, &got);
	assert_string_equal(got.unit, "");
	memcpy(path, "/lxc.payload.", strlen("/lxc.payload."));
	container_path_parse(path, &got);
	assert_string_equal(got.name, "");
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	container_path_parse(path, &got);
	assert_string_equal(got.id, "");
}

struct choose_case {
	const char *text;
	const char *path; /* NULL = error */
	int err;
};

static const struct choose_case choices[] = {
	{ "0::/docker/" ID1 "\n", "/docker/" ID1, 0 },
	{ "0::/system.slice/nginx.service", "/system.slice/nginx.service", 0 },
	/* cgroup v1 */
	{ "12:cpuset:/docker/" ID1 "\n4:memory:/docker/" ID1 "\n1:name=systemd:/docker/" ID1 "\n",
	  "/docker/" ID1, 0 },
	/* hybrid: v2 is empty or only knows the unit */
	{ "2:memory:/docker/" ID1 "\n1:name=systemd:/\n0::/\n", "/docker/" ID1, 0 },
	{ "2:memory:/docker/" ID1 "\n0::/system.slice/containerd.service\n", "/docker/" ID1, 0 },
	{ "0::/system.slice/containerd.service\n2:memory:/docker/" ID1 "\n", "/docker/" ID1, 0 },
	/* equal: v2, then systemd, then memory */
	{ "4:memory:/docker/" ID1 "\n0::/docker/" ID2 "\n", "/docker/" ID2, 0 },
	{ "4:memory:/docker/" ID1 "\n1:name=systemd:/docker/" ID2 "\n", "/docker/" ID2, 0 },
	{ "4:cpu,cpuacct:/docker/" ID1 "\n3:hugetlb,memory:/docker/" ID2 "\n", "/docker/" ID2, 0 },
	{ "9:pids:/a\n1:name=systemd:/init.scope\n0::/\n", "/init.scope", 0 },
	{ "4:memory:/some/group\n0::/\n", "/some/group", 0 },
	{ "4:memory:/\n0::/\n", "/", 0 },
	/* a removed cgroup, a path with colons */
	{ "0::/docker/" ID1 " (deleted)\n", "/docker/" ID1, 0 },
	{ "0::/system.slice:docker:" ID1 "\n", "/system.slice:docker:" ID1, 0 },
	/* garbage */
	{ "", NULL, -ENOENT },
	{ "\n\n", NULL, -ENOENT },
	{ "0", NULL, -ENOENT },
	{ "0:", NULL, -ENOENT },
	{ "0::", NULL, -ENOENT },
	{ "0::relative\n", NULL, -ENOENT },
	{ "zzz\n0::/docker/" ID1 "\n", "/docker/" ID1, 0 },
};

static const struct container_hierarchies nowhere = { -1, -1 };

static void container_cgroup_choose_takes_the_path_that_tells_most(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		char path[256] = "untouched";
		struct container_identity identity;
		int err = container_cgroup_choose(choices[i].text, &nowhere, path, sizeof(path),
						  &identity);
		const char *want = choices[i].path ? choices[i].path : "untouched";

		if (err != choices[i].err || strcmp(path, want) != 0)
			fail_msg("%s: %d '%s'", choices[i].text, err, path);
	}
}

static void container_cgroup_choose_refuses_what_does_not_fit(void **state)
{
	struct container_identity identity;
	char path[16] = "untouched";
	char text[PATH_MAX + 64] = "0::/";

	(void)state;
	assert_int_equal(container_cgroup_choose("0::/docker/" ID1 "\n", &nowhere, path,
						 sizeof(path), &identity),
			 -ENAMETOOLONG);
	assert_string_equal(path, "untouched");
	memset(text + 4, 'a', sizeof(text) - 5);
	assert_int_equal(container_cgroup_choose(text, &nowhere, path, sizeof(path), &identity),
			 -ENAMETOOLONG);
}

/* ---- what root named, and what a user named ---- */

#define UNKNOWN	 (-1)
#define USER_DIR "/user.slice/user-1000.slice/user@1000.service"

struct identity_case {
	const char *roots; /* the part of the path that root named */
	const char *rest;
	int owner; /* of the rest; UNKNOWN */
	const char *id, *name, *unit, *pod_uid;
	enum container_namer namer;
	const char *roots_container; /* the part of the path that says whose it is */
};

static const struct identity_case identities[] = {
	/* all of it is root's */
	{ "/docker/" ID1, "", 0, ID1, "", "", "", CONTAINER_NAMER_ROOT, "/docker/" ID1 },
	{ "/docker/" ID1 "/init.scope", "", 0, ID1, "", "", "", CONTAINER_NAMER_ROOT,
	  "/docker/" ID1 },
	/* a user's cgroup is called as another container */
	{ "/jobs", "/docker-" ID1 ".scope", 12345, ID1, "", "", "", CONTAINER_NAMER_USER, "" },
	{ "/system.slice/job.service", "/docker/" ID1, 12345, ID1, "", "", "", CONTAINER_NAMER_USER,
	  "/system.slice/job.service" },
	{ "/jobs", "/lxc.payload.web01", 12345, "", "web01", "", "", CONTAINER_NAMER_USER, "" },
	{ "/jobs", "/kubepods/pod" UID, 12345, "", "", "", UID, CONTAINER_NAMER_USER, "" },
	/* ... within a container: it stays in that one */
	{ "/docker/" ID1, "/docker/" ID2, 12345, ID1, "", "", "", CONTAINER_NAMER_ROOT,
	  "/docker/" ID1 },
	{ "/lxc.payload.web01", "/system.slice/docker-" ID2 ".scope", 100000, "", "web01", "", "",
	  CONTAINER_NAMER_ROOT, "/lxc.payload.web01" },
	{ "/kubepods/pod" UID, "/" ID1, 12345, "", "", "", UID, CONTAINER_NAMER_ROOT,
	  "/kubepods/pod" UID },
	/* rootless runtimes, and units of a user's own systemd */
	{ USER_DIR, "/user.slice/libpod-" ID1 ".scope/container", 1000, ID1, "", "", "",
	  CONTAINER_NAMER_USER, USER_DIR },
	{ USER_DIR, "/app.slice/nginx.service", 1000, "", "", "nginx.service", "",
	  CONTAINER_NAMER_USER, USER_DIR },
	/* a service that was given its cgroup, and its parts */
	{ "/system.slice/ci.service", "/payload.scope", 998, "", "", "ci.service", "",
	  CONTAINER_NAMER_ROOT, "/system.slice/ci.service" },
	{ "/system.slice/ci.service", "/worker-3", 998, "", "", "ci.service", "",
	  CONTAINER_NAMER_ROOT, "/system.slice/ci.service" },
	/* nobody knows whose the rest was */
	{ "/jobs", "/docker/" ID1, UNKNOWN, "", "", "", "", CONTAINER_NAMER_ROOT, "" },
	{ "", "/docker/" ID1, UNKNOWN, "", "", "", "", CONTAINER_NAMER_ROOT, "" },
};

static void names_of_users_count_only_where_root_named_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(identities); i++) {
		const struct identity_case *want = &identities[i];
		const struct container_trust trust = {
			.is_checked = true,
			.root_len = strlen(want->roots),
			.rest_owner = (uid_t)want->owner,
		};
		struct container_identity got;
		char path[1024];

		(void)snprintf(path, sizeof(path), "%s%s", want->roots, want->rest);
		container_path_identify(path, &trust, &got);
		if (strcmp(got.path.id, want->id) != 0 || strcmp(got.path.name, want->name) != 0 ||
		    strcmp(got.path.unit, want->unit) != 0 ||
		    strcmp(got.path.pod_uid, want->pod_uid) != 0 || got.namer != want->namer ||
		    got.roots_len != strlen(want->roots_container) ||
		    got.uid != (got.namer == CONTAINER_NAMER_USER ? (uid_t)want->owner : 0))
			fail_msg(
				"%s: id '%s' name '%s' unit '%s' pod '%s' by %d, uid %u, %zu bytes",
				path, got.path.id, got.path.name, got.path.unit, got.path.pod_uid,
				got.namer, got.uid, got.roots_len);
	}
}

/* Without a look at the directories the usual tree decides: below a user's slice it is the user's. */
static void unchecked_paths_below_a_users_slice_are_that_users(void **state)
{
	static const struct {
		const char *path, *id;
		enum container_namer namer;
		uid_t uid;
	} rows[] = {
		{ "/docker/" ID1, ID1, CONTAINER_NAMER_UNCHECKED, 0 },
		{ USER_DIR "/user.slice/libpod-" ID1 ".scope", ID1, CONTAINER_NAMER_USER, 1000 },
		{ "/user.slice/user-0.slice/libpod-" ID1 ".scope", ID1, CONTAINER_NAMER_UNCHECKED,
		  0 },
		{ "/user.slice/user-1000x.slice/a/docker-" ID1 ".scope", ID1,
		  CONTAINER_NAMER_UNCHECKED, 0 },
		{ "/user.slice/user-1000.slice/docker-" ID1 ".scope", ID1,
		  CONTAINER_NAMER_UNCHECKED, 0 },
		{ "/docker/" ID2 USER_DIR "/docker-" ID1 ".scope", ID1, CONTAINER_NAMER_UNCHECKED,
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct container_trust trust = { .rest_owner = CONTAINER_TRUST_NOBODY };
		struct container_identity got;

		container_path_identify(rows[i].path, &trust, &got);
		if (strcmp(got.path.id, rows[i].id) != 0 || got.namer != rows[i].namer ||
		    got.uid != rows[i].uid)
			fail_msg("%s: id '%s' by %d, uid %u", rows[i].path, got.path.id, got.namer,
				 got.uid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_path_knows_every_runtime),
		cmocka_unit_test(container_path_survives_overlong_parts),
		cmocka_unit_test(container_cgroup_choose_takes_the_path_that_tells_most),
		cmocka_unit_test(container_cgroup_choose_refuses_what_does_not_fit),
		cmocka_unit_test(names_of_users_count_only_where_root_named_nothing),
		cmocka_unit_test(unchecked_paths_below_a_users_slice_are_that_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
