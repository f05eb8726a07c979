// SPDX-License-Identifier: Apache-2.0
/*
 * What tells which container a process is in: cgroup paths, /proc/PID/cgroup, the files of Docker,
 * containerd, Podman and CRI-O, passwd; and the reply of a JVM that was attached to. Ids have their
 * form, texts end within their arrays, names come from the text, and nothing of a file but names is
 * kept.
 *
 * Input: one byte (modulo 12: see the end), then that.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/parse_here.h"
#include "user/collect/container/container.h"
#include "user/collect/container/container_names.h"
#include "user/collect/container/container_service.h"
#include "user/collect/attach/jvm_attach_talk.h"
#include "user/util/cleanup.h"
#include "user/host/proc_stat.h"

#define ID	   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NAME_BYTES 512

static int dir_fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	dir_fd = fuzz_dir();
	/* A dockerd that sees our root. */
	fuzz_dir_put(dir_fd, "8/comm", "dockerd\n", 8);
	must(symlinkat("..", dir_fd, "8/root") == 0);
	return 0;
}

static bool is_hex(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static void check_path(const char *path)
{
	struct container_path parsed;

	memset(&parsed, 'x', sizeof(parsed));
	container_path_parse(path, &parsed);
	must(memchr(parsed.id, '\0', sizeof(parsed.id)));
	must(!parsed.id[0] || is_hex(parsed.id, CONTAINER_ID_LEN));
	must(!parsed.id[0] || strstr(path, parsed.id));
	must(memchr(parsed.pod_uid, '\0', sizeof(parsed.pod_uid)));
	must(!parsed.pod_uid[0] || strlen(parsed.pod_uid) == 36 || is_hex(parsed.pod_uid, 32));
	must(memchr(parsed.name, '\0', sizeof(parsed.name)));
	must(memchr(parsed.runtime, '\0', sizeof(parsed.runtime)));
	must(memchr(parsed.unit, '\0', sizeof(parsed.unit)));
	must(!parsed.unit[0] || strstr(path, parsed.unit));
	must(parsed.len <= strlen(path));
	/* It is one thing. */
	must(!!parsed.id[0] + !!parsed.name[0] + !!parsed.unit[0] <= 1);
	if (parsed.id[0] || parsed.name[0] || parsed.unit[0] || parsed.pod_uid[0])
		must(parsed.runtime[0] || parsed.id[0]);
}

/* What root named is not replaced by what a user named, after whichever component the border is. */
static void check_identity(const char *path)
{
	struct container_trust trust = { .is_checked = true, .rest_owner = 7 };

	for (; trust.root_len <= strlen(path); trust.root_len++) {
		struct container_identity identity;

		if (path[trust.root_len] && path[trust.root_len] != '/')
			continue;
		container_path_identify(path, &trust, &identity);
		must(identity.namer != CONTAINER_NAMER_UNCHECKED);
		must(identity.roots_len <= trust.root_len);
		if (identity.namer == CONTAINER_NAMER_ROOT)
			must(identity.path.len == identity.roots_len && identity.uid == 0);
		else
			must(identity.path.len > trust.root_len && identity.uid == 7);
	}
}

/* The path that was chosen stands in one of the lines, at its end. */
static void check_cgroup(const char *text)
{
	const struct container_hierarchies nowhere = { -1, -1 };
	struct container_identity identity;
	char path[PATH_MAX];
	int err = container_cgroup_choose(text, &nowhere, path, sizeof(path), &identity);
	bool is_there = false;

	must(err == 0 || err == -ENOENT || err == -ENAMETOOLONG);
	for (const char *line = text; !err && *line && !is_there;) {
		static const char deleted[] = " (deleted)";
		size_t len = strcspn(line, "\n"), path_len = strlen(path), used = len;

		if (used > strlen(deleted) && !strncmp(line + used - strlen(deleted), deleted, 10))
			used -= strlen(deleted);
		for (int i = 0; i < 2 && !is_there; i++, used = len)
			is_there = used > path_len && line[used - path_len - 1] == ':' &&
				   memcmp(line + used - path_len, path, path_len) == 0;
		line += len + (line[len] == '\n');
	}
	must(err || (is_there && path[0] == '/'));
	if (!err) {
		char *small = malloc(strlen(path) + 1);

		must(small);
		must(container_cgroup_choose(text, &nowhere, small, strlen(path), &identity) ==
		     -ENAMETOOLONG);
		must(container_cgroup_choose(text, &nowhere, small, strlen(path) + 1, &identity) ==
		     0);
		free(small);
		check_path(path);
		check_identity(path);
	}
}

static void check_names_in(const char *path, const uint8_t *bytes, size_t len)
{
	struct container_places places = { .docker_roots = { strdup("/docker") },
					   .docker_root_cnt = 1 };
	struct container_names names = { 0 };
	struct container_user nobody = { .home = "" };
	int err;

	fuzz_dir_put(dir_fd, path, bytes, len);
	err = container_names_read(&places, dir_fd, ID, &nobody, parser_here(), &names);
	must(err == 0 || err == -ENOENT);
	if (!err) {
		const char *const texts[] = { names.name,    names.image,     names.pod,
					      names.pod_uid, names.namespace, names.service };

		must(names.runtime && names.source.path[0]);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			must(!texts[i] || (*texts[i] && strlen(texts[i]) <= NAME_BYTES));
		container_names_release(&names);
	}
	container_places_release(&places);
	must(unlinkat(dir_fd, path, 0) == 0);
}

/* Where Docker keeps its containers: the usual place first, each once. */
static void check_places(const char *path, const uint8_t *bytes, size_t len)
{
	struct container_places places = { .docker_root_cnt = 0 };

	fuzz_dir_put(dir_fd, path, bytes, len);
	must(container_places_find(&places, dir_fd, dir_fd, opener_here()) == 0);
	must(places.docker_root_cnt >= 1);
	must(places.docker_root_cnt <= CONTAINER_DOCKER_ROOTS_MAX);
	for (size_t i = 0; i < places.docker_root_cnt; i++) {
		must(places.docker_roots[i][0] == '/');
		must(strlen(places.docker_roots[i]) < PATH_MAX / 2);
		for (size_t j = 0; j < i; j++)
			must(strcmp(places.docker_roots[i], places.docker_roots[j]) != 0);
	}
	must(strcmp(places.docker_roots[0], "/var/lib/docker") == 0);
	container_places_release(&places);
	must(unlinkat(dir_fd, path, 0) == 0);
}

static void check_user(const uint8_t *bytes, size_t len)
{
	struct container_user user;

	fuzz_dir_put(dir_fd, "etc/passwd", bytes, len);
	for (uid_t uid = 0; uid < 3; uid++) {
		int err = container_user_find(dir_fd, uid * 1000, opener_here(), &user);

		must(err == 0 || err == -ENOENT);
		if (err)
			continue;
		must(user.uid == uid * 1000 && memchr(user.home, '\0', sizeof(user.home)));
		must(user.home[0] == '/' && memmem(bytes, len, user.home, strlen(user.home)));
	}
}

static void check_service(struct fuzz_input *input)
{
	char *texts[5], service[64];
	struct container_service_hints hints;

	for (size_t i = 0; i < 5; i++)
		texts[i] = fuzz_text(input, '\n');
	hints = (struct container_service_hints){ .label = texts[0],
						  .pod = texts[1],
						  .container = texts[2],
						  .image = texts[3],
						  .unit = texts[4] };
	memset(service, 'x', sizeof(service));
	container_service_derive(&hints, service, sizeof(service));
	must(memchr(service, '\0', sizeof(service)));
	if (*texts[0])
		must(strncmp(service, texts[0], sizeof(service) - 1) == 0);
	for (size_t i = 0; i < 5; i++)
		free(texts[i]);
}

static void check_proc(const uint8_t *bytes, size_t len)
{
	struct proc_status status;
	struct proc_stat stat;
	int err;

	fuzz_dir_put(dir_fd, "7/stat", bytes, len);
	err = proc_stat_read(dir_fd, 7, &stat);
	must(err == 0 || err == -EINVAL || err == -ERANGE || err == -EFBIG);
	fuzz_dir_put(dir_fd, "7/status", bytes, len);
	err = proc_status_read(dir_fd, 7, &status);
	must(err == 0 || err == -EINVAL || err == -EFBIG);
}

static void check_reply(const char *reply, size_t len)
{
	enum jvm_attach_outcome outcome = jvm_talk_judge_reply(reply, len);

	must(outcome > JVM_ATTACH_NONE && outcome < JVM_ATTACH_OUTCOME_CNT);
	/* Only a JVM that says 0 has written its map. */
	if (outcome == JVM_ATTACH_OK)
		must(len && reply[0] == '0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const files[] = {
		"docker/containers/" ID "/config.v2.json",
		"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		"run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		"var/lib/containers/storage/overlay-containers/containers.json",
	};
	struct fuzz_input input = { data, len };
	uint8_t what = fuzz_u8(&input) % 12;
	char *text = strndup(input.left ? (const char *)input.at : "", input.left);

	must(text);
	if (what < 4)
		check_names_in(files[what], input.at, input.left);
	else if (what == 4)
		check_path(text);
	else if (what == 5)
		check_cgroup(text);
	else if (what == 6)
		check_user(input.at, input.left);
	else if (what == 7)
		check_service(&input);
	else if (what == 8)
		check_proc(input.at, input.left);
	else if (what == 9)
		check_reply((const char *)input.at, input.left);
	else
		check_places(what == 10 ? "etc/docker/daemon.json" : "8/cmdline", input.at,
			     input.left);
	free(text);
	return 0;
}
