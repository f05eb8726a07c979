// SPDX-License-Identifier: Apache-2.0
/*
 * The resolver against a tree like a host's (tests/fixtures/containers: root/ and proc/), and
 * against trees that change or are hostile, made in a temporary directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/parse_here.h"
#include "tests/unit/remove_tree.h"
#include "user/util/account.h"
#include "user/collect/container/container.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define FIXTURES "tests/fixtures/containers"
#define UID	 "cd3dbd0e-9a5a-4bd0-a0a7-54d1a1b2c3d4"
#define X16(c)	 c c c c c c c c c c c c c c c c
#define X32(c)	 X16(c) X16(c)
#define X64(c)	 X16(c) X16(c) X16(c) X16(c)

/* What is written here need not outlast the host, and a disk takes ten times as long as all else. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

static struct accounts *accounts;

static struct container_resolver *resolver_with(int root_fd, int proc_fd, const char *cgroup_root)
{
	const struct container_resolver_options options = {
		.proc_fd = proc_fd,
		.root_fd = root_fd,
		.cgroup_root = cgroup_root,
		.parser = parser_here(),
		.accounts = accounts,
	};
	struct container_resolver *resolver = NULL;

	assert_true(root_fd >= 0 && proc_fd >= 0);
	assert_int_equal(container_resolver__new(&options, &resolver), 0);
	return resolver;
}

static struct container_resolver *resolver_for(int root_fd, int proc_fd)
{
	return resolver_with(root_fd, proc_fd, FIXTURES "/no-cgroup");
}

/* Of whichever process has that number now. */
static int look_up(struct container_resolver *resolver, uint32_t pid, struct container_info *out)
{
	const struct container_sight sight = { .pid = pid };

	return container_resolver__lookup(resolver, &sight, out);
}

struct lookup_case {
	uint32_t pid;
	const char *name, *image, *runtime, *pod, *pod_uid, *namespace, *service, *id;
};

static const struct lookup_case lookups[] = {
	/* Docker: data root by default, by daemon.json, with userns-remap, by dockerd's arguments */
	{ 10, "shop-1", "registry.example/team/shop:1.2", "docker", "", "", "", "shop", X64("a") },
	{ 11, "proj-cart-1", "cart", "docker", "", "", "", "cart", X64("b") },
	{ 12, "moved", "img", "docker", "", "", "", "moved", X64("c") },
	{ 13, "remapped", "img", "docker", "", "", "", "remapped", X64("d") },
	{ 14, "app", "shop:2", "docker", "shop-5d8f7b9c4-x2x4z", UID, "prod", "shop", X64("e") },
	{ 15, "by-cmdline", "img", "docker", "", "", "", "by-cmdline", X64("f") },
	/* containerd: CRI, nerdctl */
	{ 21, "app", "registry.example/shop:3", "containerd", "shop-5d8f7b9c4-x2x4z", UID, "prod",
	  "shop", X64("1") },
	{ 22, "web-1", "", "containerd", "", "", "", "web", X64("3") },
	/* CRI-O: the pod's app label comes from the sandbox */
	{ 23, "app", "quay.example/cart:1", "crio", "cart-0", UID, "stage", "cart-service",
	  X64("4") },
	/* Podman, also with metadata that is no JSON */
	{ 24, "pod_man", "docker.io/library/redis:7", "podman", "", "", "", "pod_man", X64("6") },
	{ 25, "brief", "", "podman", "", "", "", "brief", X64("8") },
	/* no file knows it, though a false dockerd's would; a pod's name from its host name */
	{ 30, "999999999999", "", "docker", "", "", "", "", X64("9") },
	{ 31, "9a9a9a9a9a9a", "", "kubernetes", "shop-5d8f7b9c4-x2x4z", UID, "", "shop",
	  X32("9a") },
	{ 32, "000000000000", "", "kubernetes", "", UID, "", "", X64("0") },
	/* no container, or one without an id */
	{ 40, "", "", "systemd", "", "", "", "nginx", "" },
	{ 41, "web01", "", "lxc", "", "", "", "web01", "" },
	{ 42, "", "", "", "", "", "", "", "" },
};

static void check_lookup(struct container_resolver *resolver, const struct lookup_case *want)
{
	struct container_info got = { 0 };
	int err = look_up(resolver, want->pid, &got);

	if (err || strcmp(got.name, want->name) != 0 || strcmp(got.image, want->image) != 0 ||
	    strcmp(got.runtime, want->runtime) != 0 || strcmp(got.pod, want->pod) != 0 ||
	    strcmp(got.pod_uid, want->pod_uid) != 0 ||
	    strcmp(got.namespace, want->namespace) != 0 ||
	    strcmp(got.service, want->service) != 0 || strcmp(got.id, want->id) != 0)
		fail_msg("pid %u: %d name '%s' image '%s' runtime '%s' pod '%s' uid '%s' "
			 "namespace '%s' service '%s' id '%s'",
			 want->pid, err, got.name, got.image, got.runtime, got.pod, got.pod_uid,
			 got.namespace, got.service, got.id);
	container_info_release(&got);
}

static void container_resolver_names_containers_of_every_runtime(void **state)
{
	__cleanup_fd int root_fd = open(FIXTURES "/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int proc_fd = open(FIXTURES "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct container_resolver *resolver = resolver_for(root_fd, proc_fd);

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(lookups); i++)
			check_lookup(resolver, &lookups[i]);
	}
	container_resolver__free(resolver);
}

static void container_resolver_takes_a_pods_name_from_its_host_name(void **state)
{
	__cleanup_fd int root_fd = open(FIXTURES "/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int proc_fd = open(FIXTURES "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct container_resolver *resolver = resolver_for(root_fd, proc_fd);
	struct container_info got = { 0 };

	(void)state;
	assert_int_equal(look_up(resolver, 31, &got), 0);
	assert_string_equal(got.pod, "shop-5d8f7b9c4-x2x4z");
	assert_string_equal(got.service, "shop");
	assert_string_equal(got.sources, "container=cgroup pod=hostname service=pod by=unchecked");
	container_info_release(&got);
	/* the host's own name is the node's, not the pod's */
	assert_int_equal(look_up(resolver, 32, &got), 0);
	assert_string_equal(got.pod, "");
	container_info_release(&got);
	container_resolver__free(resolver);
}

static void container_resolver_says_when_the_process_is_gone(void **state)
{
	__cleanup_fd int root_fd = open(FIXTURES "/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int proc_fd = open(FIXTURES "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct container_resolver *resolver = resolver_for(root_fd, proc_fd);
	const struct container_sight gone = { .pid = 77777, .cgroup_id = 12345 };
	struct container_info got = { 0 };

	(void)state;
	assert_int_equal(container_resolver__lookup(resolver, &gone, &got), -ENOENT);
	assert_string_equal(got.cgroup_path, "");
	assert_string_equal(got.id, "");
	assert_string_equal(got.service, "");
	container_info_release(&got);
	container_resolver__free(resolver);
}

/* ---- trees that change ---- */

struct tree {
	char path[64];
	int root_fd;
	int proc_fd;
	struct container_resolver *resolver;
};

static void put(const struct tree *tree, const char *path, const char *text)
{
	char full[PATH_MAX];
	char *slash;

	(void)snprintf(full, sizeof(full), "%s/%s", tree->path, path);
	slash = strrchr(full, '/');
	*slash = '\0';
	assert_int_equal(fs_mkdir_all(full, 0700), 0);
	*slash = '/';
	assert_int_equal(fs_write_atomic(AT_FDCWD, full, 0600, text, strlen(text)), 0);
}

static int open_below(const struct tree *tree, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", tree->path, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int tree_make(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	strcpy(tree->path, "/tmp/jbpf-test-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	put(tree, "root/etc/passwd", "ann:x:1000:1000:Ann:/home/ann:/bin/bash\n");
	put(tree, "proc/1/cgroup", "0::/docker/" X64("a") "\n");
	tree->root_fd = open_below(tree, "root");
	tree->proc_fd = open_below(tree, "proc");
	tree->resolver = resolver_for(tree->root_fd, tree->proc_fd);
	*state = tree;
	return 0;
}

static int tree_remove(void **state)
{
	struct tree *tree = *state;

	container_resolver__free(tree->resolver);
	close(tree->root_fd);
	close(tree->proc_fd);
	(void)remove_tree(tree->path);
	free(tree);
	return 0;
}

#define CONFIG_A "root/var/lib/docker/containers/" X64("a") "/config.v2.json"

static void assert_name(const struct tree *tree, const char *name)
{
	struct container_info got = { 0 };

	assert_int_equal(look_up(tree->resolver, 1, &got), 0);
	assert_string_equal(got.name, name);
	container_info_release(&got);
}

static bool is_opted_out(const struct tree *tree)
{
	struct container_info got = { 0 };
	bool result;

	assert_int_equal(look_up(tree->resolver, 1, &got), 0);
	result = got.is_opted_out;
	container_info_release(&got);
	return result;
}

static void a_container_opts_out_by_its_label(void **state)
{
	struct tree *tree = *state;

	put(tree, CONFIG_A, "{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"jbpf.profile\":\"on\"}}}");
	assert_false(is_opted_out(tree));
	put(tree, CONFIG_A, "{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"jbpf.profile\":\"Off\"}}}");
	assert_true(is_opted_out(tree));
	/* in the wrong place, of the wrong kind */
	put(tree, CONFIG_A, "{\"Name\":\"/ab\",\"Config\":{\"Env\":[\"jbpf.profile=off\"]}}");
	assert_false(is_opted_out(tree));
	put(tree, CONFIG_A, "{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"jbpf.profile\":false}}}");
	assert_false(is_opted_out(tree));
}

#define BUNDLE_A "root/run/containerd/io.containerd.runtime.v2.task/k8s.io/" X64("a") "/config.json"

static void a_container_opts_out_by_an_annotation_of_its_bundle(void **state)
{
	struct tree *tree = *state;

	put(tree, BUNDLE_A, "{\"annotations\":{\"jbpf.profile\":\"off\"}}");
	assert_true(is_opted_out(tree));
}

#define STORAGE "root/var/lib/containers/storage/overlay-containers/"

/* CRI-O keeps a pod's annotations with the sandbox and the container, as JSON in a string. */
static void a_pod_opts_out_by_an_annotation(void **state)
{
	struct tree *tree = *state;

	put(tree, STORAGE X64("a") "/userdata/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri-o.SandboxID\":\"" X64("b") "\"}}");
	put(tree, STORAGE X64("b") "/userdata/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri-o.Annotations\":"
	    "\"{\\\"jbpf.profile\\\":\\\"0\\\",\\\"app\\\":\\\"no-name\\\"}\"}}");
	assert_true(is_opted_out(tree));
}

static void a_container_of_podman_opts_out_by_an_annotation(void **state)
{
	struct tree *tree = *state;

	put(tree, STORAGE X64("a") "/userdata/config.json",
	    "{\"annotations\":{\"jbpf.profile\":\"false\"}}");
	put(tree, STORAGE "containers.json", "[{\"id\":\"" X64("a") "\",\"names\":[\"pod_man\"]}]");
	assert_true(is_opted_out(tree));
	assert_name(tree, "pod_man");
}

/* Ids are random, but who writes the file may choose one. */
static void a_container_whose_id_begins_alike_is_another_one(void **state)
{
	struct tree *tree = *state;

	put(tree, STORAGE "containers.json",
	    "[{\"id\":\"" X32("a") X32("b") "\",\"names\":[\"other\"]},"
					    "{\"id\":\"" X64("a") "\",\"names\":[\"own\"]}]");
	assert_name(tree, "own");
}

static void container_resolver_notices_a_rename_and_keeps_names_of_the_dead(void **state)
{
	struct tree *tree = *state;
	char path[PATH_MAX];

	put(tree, CONFIG_A, "{\"Name\":\"/before\",\"Config\":{\"Image\":\"i\"}}");
	assert_name(tree, "before");
	assert_name(tree, "before");
	put(tree, CONFIG_A, "{\"Name\":\"/later\",\"Config\":{\"Image\":\"i\"}}");
	assert_name(tree, "later");
	/* half-written: what was known stays */
	put(tree, CONFIG_A, "{\"Name\":\"/torn");
	assert_name(tree, "later");
	(void)snprintf(path, sizeof(path), "%s/%s", tree->path, CONFIG_A);
	assert_int_equal(unlink(path), 0);
	assert_name(tree, "later");
}

static void container_resolver_survives_files_that_are_garbage(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"Name\":7,\"Config\":[]}",
		"{\"Name\":\"\",\"Config\":{\"Image\":{},\"Labels\":[1]}}",
		"{\"Name\":\"/\",\"Config\":null}",
		"{\"Name\":\"/a\\u0000b\"}",
		"\xff\xfe",
	};
	struct tree *tree = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(tree, CONFIG_A, texts[i]);
		assert_name(tree, "aaaaaaaaaaaa");
		container_resolver__free(tree->resolver);
		tree->resolver = resolver_for(tree->root_fd, tree->proc_fd);
	}
}

static void container_resolver_follows_no_symlink_and_reads_no_fifo(void **state)
{
	struct tree *tree = *state;
	char path[PATH_MAX], target[PATH_MAX];

	put(tree, CONFIG_A, "{\"Name\":\"/x\"}");
	put(tree, "elsewhere", "{\"Name\":\"/stolen\"}");
	(void)snprintf(path, sizeof(path), "%s/%s", tree->path, CONFIG_A);
	(void)snprintf(target, sizeof(target), "%s/elsewhere", tree->path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_name(tree, "aaaaaaaaaaaa");
	container_resolver__free(tree->resolver);
	tree->resolver = resolver_for(tree->root_fd, tree->proc_fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_name(tree, "aaaaaaaaaaaa");
}

static void container_resolver_finds_rootless_containers_in_the_users_home(void **state)
{
	struct tree *tree = *state;
	struct container_info got = { 0 };
	uid_t uid = getuid();
	char passwd[256], cgroup[512];

	(void)snprintf(passwd, sizeof(passwd), "ann:x:%u:1000:Ann:/home/ann:/bin/bash\n",
		       uid ? uid : 1000);
	put(tree, "root/etc/passwd", passwd);
	(void)snprintf(cgroup, sizeof(cgroup),
		       "0::/user.slice/user-%u.slice/user@%u.service/user.slice/libpod-" X64(
			       "b") ".scope/container\n",
		       uid ? uid : 1000, uid ? uid : 1000);
	put(tree, "proc/2/cgroup", cgroup);
	put(tree,
	    "root/home/ann/.local/share/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" X64("b") "\",\"names\":[\"anns\"],\"metadata\":\"{}\"}]");
	assert_int_equal(look_up(tree->resolver, 2, &got), 0);
	assert_string_equal(got.name + strcspn(got.name, "/"), "/anns");
	assert_int_equal(strncmp(got.name, "user:", strlen("user:")), 0);
	assert_string_equal(got.runtime, "podman");
	container_info_release(&got);
}

/* ---- names that users give ---- */

/* A cgroup that everybody may write to stands for one that was given to a user. */
static void put_given_cgroup(const struct tree *tree, const char *path, const char *below)
{
	char full[PATH_MAX];
	uid_t uid = getuid();

	(void)snprintf(full, sizeof(full), "%s/cgroup/memory%s", tree->path, path);
	assert_int_equal(fs_mkdir_all(full, 0755), 0);
	assert_int_equal(chmod(full, 0777), 0);
	(void)snprintf(full, sizeof(full), "%s/cgroup/memory%s%s", tree->path, path, below);
	assert_int_equal(fs_mkdir_all(full, 0755), 0);
	/* Root gives it to somebody; others cannot, and nobody is told apart from them. */
	if (uid == 0)
		assert_int_equal(chown(full, 1000, 1000), 0);
}

static struct container_resolver *resolver_with_cgroups(const struct tree *tree)
{
	char cgroups[PATH_MAX];

	(void)snprintf(cgroups, sizeof(cgroups), "%s/cgroup", tree->path);
	return resolver_with(tree->root_fd, tree->proc_fd, cgroups);
}

static void a_cgroup_that_a_user_named_is_not_another_container(void **state)
{
	struct tree *tree = *state;
	struct container_info got = { 0 };
	struct container_resolver *resolver;

	put(tree, CONFIG_A,
	    "{\"Name\":\"/shop\",\"Config\":{\"Labels\":{\"jbpf.profile\":\"off\"}}}");
	put(tree, "proc/1/cgroup", "4:memory:/docker/" X64("a") "\n");
	put(tree, "proc/2/cgroup", "4:memory:/given/docker-" X64("a") ".scope\n");
	put(tree, "cgroup/memory/docker/" X64("a") "/tasks", "");
	put_given_cgroup(tree, "/given", "/docker-" X64("a") ".scope");
	resolver = resolver_with_cgroups(tree);

	assert_int_equal(look_up(resolver, 1, &got), 0);
	assert_string_equal(got.name, "shop");
	assert_string_equal(got.id, X64("a"));
	assert_true(got.is_opted_out);
	container_info_release(&got);

	assert_int_equal(look_up(resolver, 2, &got), 0);
	assert_null(strstr(got.name, "shop"));
	assert_string_not_equal(got.id, X64("a"));
	assert_int_not_equal(strncmp(got.id, "aaaaaa", 6), 0);
	assert_null(strstr(got.service, "shop"));
	assert_false(got.is_opted_out);
	container_info_release(&got);
	container_resolver__free(resolver);
}

static void a_container_keeps_its_name_in_a_cgroup_that_it_was_given(void **state)
{
	struct tree *tree = *state;
	struct container_info got = { 0 };
	struct container_resolver *resolver;

	put(tree, CONFIG_A, "{\"Name\":\"/shop\",\"Config\":{\"Image\":\"i\"}}");
	put(tree, "proc/1/cgroup", "4:memory:/docker/" X64("a") "/docker/" X64("b") "\n");
	put_given_cgroup(tree, "/docker/" X64("a"), "/docker");
	resolver = resolver_with_cgroups(tree);
	assert_int_equal(look_up(resolver, 1, &got), 0);
	assert_string_equal(got.name, "shop");
	assert_string_equal(got.id, X64("a"));
	assert_string_equal(got.sources, "container=docker service=container by=root");
	assert_int_equal(got.roots_path_len, strlen("/docker/" X64("a")));
	container_info_release(&got);
	container_resolver__free(resolver);
}

static void a_pods_name_is_the_kubelets_where_there_is_one(void **state)
{
	struct tree *tree = *state;
	struct container_info got = { 0 };

	put(tree, "proc/1/cgroup", "0::/kubepods/burstable/pod" UID "/" X64("c") "\n");
	put(tree, "proc/1/root/etc/hostname", "victim-5d8f7b9c4-x2x4z\n");
	put(tree, "proc/sys/kernel/hostname", "node\n");
	put(tree, "root/var/log/pods/prod_other-0_11111111-9a5a-4bd0-a0a7-54d1a1b2c3d4/x", "");
	put(tree, "root/var/log/pods/prod_shop-0_" UID "/x", "");
	assert_int_equal(look_up(tree->resolver, 1, &got), 0);
	assert_string_equal(got.pod, "shop-0");
	assert_string_equal(got.namespace, "prod");
	assert_string_equal(got.service, "shop");
	assert_string_equal(
		got.sources,
		"container=cgroup pod=kubelet namespace=kubelet service=pod by=unchecked");
	container_info_release(&got);
}

/* 16 MiB of "{},{}," took 1.25 GiB, again each time the file was touched. */
static void files_of_a_user_are_small_or_not_read_and_not_all_the_time(void **state)
{
	static char large[2 << 20];
	struct tree *tree = *state;
	char passwd[256], cgroup[512], list[256];
	uid_t uid = getuid() ? getuid() : 1000;

	(void)snprintf(passwd, sizeof(passwd), "ann:x:%u:1000:Ann:/home/ann:/bin/bash\n", uid);
	put(tree, "root/etc/passwd", passwd);
	for (int i = 0; i < 10; i++) {
		struct container_info got = { 0 };
		char id[65];

		(void)snprintf(id, sizeof(id), "%064x", 0xabcde0 + i);
		(void)snprintf(cgroup, sizeof(cgroup),
			       "0::/user.slice/user-%u.slice/user.slice/libpod-%s.scope\n", uid,
			       id);
		put(tree, "proc/2/cgroup", cgroup);
		(void)snprintf(list, sizeof(list), "[{\"id\":\"%s\",\"names\":[\"anns\"]}]", id);
		memset(large, ' ', sizeof(large) - 1);
		memcpy(large, list, strlen(list));
		put(tree,
		    "root/home/ann/.local/share/containers/storage/overlay-containers/containers.json",
		    i == 0 ? large : list);
		assert_int_equal(look_up(tree->resolver, 2, &got), 0);
		if (i >= 1 && i < 4)
			assert_non_null(strstr(got.name, "anns"));
		else
			assert_null(strstr(got.name, "anns"));
		container_info_release(&got);
	}
}

static void container_resolver_cache_stays_bounded(void **state)
{
	struct tree *tree = *state;

	for (int i = 0; i < 4200; i++) {
		struct container_info got = { 0 };
		char cgroup[128], want[13];

		(void)snprintf(cgroup, sizeof(cgroup), "0::/docker/%08x%056d\n", i * 2654435761u,
			       0);
		(void)snprintf(want, sizeof(want), "%08x%04d", i * 2654435761u, 0);
		put(tree, "proc/1/cgroup", cgroup);
		assert_int_equal(look_up(tree->resolver, 1, &got), 0);
		assert_string_equal(got.name, want);
		container_info_release(&got);
	}
}

static int accounts_make(void **state)
{
	(void)state;
	accounts = accounts__new();
	return accounts ? 0 : -1;
}

static int accounts_free(void **state)
{
	(void)state;
	accounts__free(accounts);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_resolver_names_containers_of_every_runtime),
		cmocka_unit_test(container_resolver_takes_a_pods_name_from_its_host_name),
		cmocka_unit_test(container_resolver_says_when_the_process_is_gone),
		cmocka_unit_test_setup_teardown(a_container_opts_out_by_its_label, tree_make,
						tree_remove),
		cmocka_unit_test_setup_teardown(a_container_opts_out_by_an_annotation_of_its_bundle,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(a_pod_opts_out_by_an_annotation, tree_make,
						tree_remove),
		cmocka_unit_test_setup_teardown(a_container_of_podman_opts_out_by_an_annotation,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(a_container_whose_id_begins_alike_is_another_one,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(
			container_resolver_notices_a_rename_and_keeps_names_of_the_dead, tree_make,
			tree_remove),
		cmocka_unit_test_setup_teardown(container_resolver_survives_files_that_are_garbage,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(
			container_resolver_follows_no_symlink_and_reads_no_fifo, tree_make,
			tree_remove),
		cmocka_unit_test_setup_teardown(
			files_of_a_user_are_small_or_not_read_and_not_all_the_time, tree_make,
			tree_remove),
		cmocka_unit_test_setup_teardown(
			container_resolver_finds_rootless_containers_in_the_users_home, tree_make,
			tree_remove),
		cmocka_unit_test_setup_teardown(a_cgroup_that_a_user_named_is_not_another_container,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(
			a_container_keeps_its_name_in_a_cgroup_that_it_was_given, tree_make,
			tree_remove),
		cmocka_unit_test_setup_teardown(a_pods_name_is_the_kubelets_where_there_is_one,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(container_resolver_cache_stays_bounded, tree_make,
						tree_remove),
	};

	return cmocka_run_group_tests(tests, accounts_make, accounts_free);
}
