// SPDX-License-Identifier: Apache-2.0
/*
 * The resolver: cgroup of a process -> container -> names, cached by container id. Names are
 * looked up at the first sight of a container and kept when it is gone; the file they came from
 * is checked at each lookup, so that a rename shows. What is not found is looked for again later.
 */
#include "user/collect/container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbols/container_file.h"
#include "symbols/slow_file.h"
#include "user/collect/container_cgroup.h"
#include "user/collect/container_names.h"
#include "user/collect/container_service.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define CACHE_BUCKETS	      256
#define CACHE_MAX_ENTRIES     4096 /* then the one not used for longest goes */
#define CGROUP_TEXT_MAX_BYTES 65536
#define HOSTNAME_MAX_BYTES    253 /* of a pod: an RFC 1123 name; fits into a struct slow_file_head */
#define HOSTNAME_MAX_TRIES    8
#define RETRY_NS	      (15 * CLOCK_NS_PER_S) /* for containers nothing is known of */
#define PLACES_RETRY_NS	      (60 * CLOCK_NS_PER_S)
#define SHORT_ID_LEN	      12

struct cached {
	struct cached *next;
	char id[CONTAINER_ID_LEN + 1];
	struct container_names names;
	bool is_known;		/* names were found */
	uint8_t hostname_tries; /* the pod's name may come from it; a process may be gone already */
	uint64_t tried_ns;	/* CLOCK_MONOTONIC */
	uint64_t used;		/* by resolver's tick */
};

struct container_resolver {
	int proc_fd;   /* borrowed */
	int root_fd;   /* borrowed */
	int cgroup_fd; /* -1: no cgroup v2 here */
	struct container_places places;
	uint64_t places_ns; /* when looked for; CLOCK_MONOTONIC */
	struct cached *buckets[CACHE_BUCKETS];
	size_t entry_cnt;
	uint64_t tick;
};

void container_info_release(struct container_info *info)
{
	free(info->cgroup_path);
	free(info->id);
	free(info->name);
	free(info->image);
	free(info->runtime);
	free(info->pod);
	free(info->pod_uid);
	free(info->namespace);
	free(info->service);
	memset(info, 0, sizeof(*info));
}

int container_resolver__new(const struct container_resolver_options *options,
			    struct container_resolver **out)
{
	struct container_resolver *resolver = calloc(1, sizeof(*resolver));
	int err;

	if (!resolver)
		return -ENOMEM;
	resolver->proc_fd = options->proc_fd;
	resolver->root_fd = options->root_fd;
	resolver->cgroup_fd = container_cgroup_mount_open(options->proc_fd, options->cgroup_root);
	if (resolver->cgroup_fd < 0)
		resolver->cgroup_fd = -1;
	err = container_places_find(&resolver->places, resolver->root_fd, resolver->proc_fd);
	if (err) {
		container_resolver__free(resolver);
		return err;
	}
	resolver->places_ns = clock_monotonic_ns();
	*out = resolver;
	return 0;
}

static void cached_free(struct cached *entry)
{
	container_names_release(&entry->names);
	free(entry);
}

void container_resolver__free(struct container_resolver *resolver)
{
	if (!resolver)
		return;
	for (size_t i = 0; i < CACHE_BUCKETS; i++) {
		while (resolver->buckets[i]) {
			struct cached *entry = resolver->buckets[i];

			resolver->buckets[i] = entry->next;
			cached_free(entry);
		}
	}
	container_places_release(&resolver->places);
	if (resolver->cgroup_fd >= 0)
		close(resolver->cgroup_fd);
	free(resolver);
}

int container_cgroup_path(struct container_resolver *resolver, uint64_t cgroup_id, char *path,
			  size_t path_len)
{
	if (resolver->cgroup_fd < 0)
		return -ENOENT;
	return container_cgroup_by_id(resolver->cgroup_fd, cgroup_id, path, path_len);
}

/* ---- which cgroup ---- */

/* The v2 path of /proc/PID/cgroup, or NULL. Ends at the line's end. */
static const char *v2_path(const char *text, size_t *len)
{
	while (*text) {
		*len = strcspn(text, "\n");
		if (strncmp(text, "0::", 3) == 0) {
			*len -= 3;
			return text + 3;
		}
		text += *len;
		text += *text == '\n';
	}
	return NULL;
}

/*
 * The sample's cgroup id is the truth: the process may be gone, or its pid be another's by now.
 * /proc is asked for what the id cannot tell: the v1 hierarchies of the same process.
 */
static int find_cgroup(struct container_resolver *resolver, uint32_t pid, uint64_t cgroup_id,
		       char *path, size_t path_len)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char by_id[PATH_MAX];
	const char *by_proc;
	size_t len;
	int proc_err =
		fs_read_filef(resolver->proc_fd, CGROUP_TEXT_MAX_BYTES, &text, "%u/cgroup", pid);
	int id_err = cgroup_id > 1 ?
			     container_cgroup_path(resolver, cgroup_id, by_id, sizeof(by_id)) :
			     -ENOENT;

	if (proc_err == -ENOMEM)
		return -ENOMEM;
	if (id_err)
		return proc_err ? -ENOENT :
				  container_cgroup_choose(strbuf_str(&text), path, path_len);
	by_proc = proc_err ? NULL : v2_path(strbuf_str(&text), &len);
	if (by_proc && len == strlen(by_id) && memcmp(by_proc, by_id, len) == 0)
		return container_cgroup_choose(strbuf_str(&text), path, path_len);
	if (strlen(by_id) >= path_len)
		return -ENAMETOOLONG;
	memcpy(path, by_id, strlen(by_id) + 1);
	return 0;
}

/* ---- cache ---- */

static struct cached **bucket_of(struct container_resolver *resolver, const char *id)
{
	uint64_t hash = 0;

	(void)parse_u64_n(id, 8, 16, &hash); /* ids are random already */
	return &resolver->buckets[hash % CACHE_BUCKETS];
}

static void evict_oldest(struct container_resolver *resolver)
{
	struct cached **oldest = NULL;

	for (size_t i = 0; i < CACHE_BUCKETS; i++) {
		for (struct cached **at = &resolver->buckets[i]; *at; at = &(*at)->next) {
			if (!oldest || (*at)->used < (*oldest)->used)
				oldest = at;
		}
	}
	if (oldest) {
		struct cached *entry = *oldest;

		*oldest = entry->next;
		cached_free(entry);
		resolver->entry_cnt--;
	}
}

static struct cached *find_or_add(struct container_resolver *resolver, const char *id)
{
	struct cached **bucket = bucket_of(resolver, id);
	struct cached *entry;

	for (entry = *bucket; entry; entry = entry->next) {
		if (strcmp(entry->id, id) == 0) {
			entry->used = ++resolver->tick;
			return entry;
		}
	}
	if (resolver->entry_cnt >= CACHE_MAX_ENTRIES)
		evict_oldest(resolver);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	memcpy(entry->id, id, sizeof(entry->id));
	entry->used = ++resolver->tick;
	entry->next = *bucket;
	*bucket = entry;
	resolver->entry_cnt++;
	return entry;
}

/* ---- names ---- */

/* A rootless runtime's container lies below its user's slice. */
static void rootless_user(struct container_resolver *resolver, const char *cgroup_path,
			  struct container_user *out)
{
	static const char slice[] = "/user.slice/user-";
	const char *at = strstr(cgroup_path, slice);
	uint64_t uid;
	size_t digits;

	out->home[0] = '\0';
	if (!at)
		return;
	at += strlen(slice);
	digits = strspn(at, "0123456789");
	if (parse_u64_n(at, digits, 10, &uid) || uid == 0 || uid >= UINT32_MAX)
		return;
	if (container_user_find(resolver->root_fd, (uid_t)uid, out))
		out->home[0] = '\0';
}

/*
 * A pod's host name is its name, unless it uses the host's network: then it is the node's. The
 * file is the container's to write, so only what can be a pod's name is taken.
 */
static int hostname_as_pod(struct container_resolver *resolver, uint32_t pid, char **out)
{
	const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER,
						    .max_bytes = HOSTNAME_MAX_BYTES };
	__cleanup_strbuf struct strbuf name = STRBUF_INIT, host = STRBUF_INIT;
	__cleanup_fd int root_fd = container_root_open(resolver->proc_fd, pid);
	struct slow_file_head head;
	size_t len;

	if (root_fd < 0)
		return 0;

	__cleanup_fd int fd = slow_file_open(root_fd, "/etc/hostname", &rules, NULL, &head);

	if (fd < 0)
		return 0;
	if (strbuf_append(&name, head.bytes, head.len))
		return -ENOMEM;
	len = strcspn(strbuf_str(&name), "\n");
	if (len == 0 || strspn(name.data, "abcdefghijklmnopqrstuvwxyz0123456789-.") != len)
		return 0;
	strbuf_truncate(&name, len);
	if (fs_read_file(resolver->proc_fd, "sys/kernel/hostname", HOSTNAME_MAX_BYTES, &host))
		return 0;
	host.len = strcspn(strbuf_str(&host), "\n");
	if (host.len == len && memcmp(host.data, name.data, len) == 0)
		return 0;
	*out = strdup(strbuf_str(&name));
	return *out ? 0 : -ENOMEM;
}

/* Brings the entry up to date. 0 or -ENOMEM. */
static int refresh(struct container_resolver *resolver, const char *cgroup_path,
		   struct cached *entry)
{
	uint64_t now = clock_monotonic_ns();
	struct container_names names;
	struct container_user user;
	int err;

	if (entry->is_known && !container_source_changed(&entry->names.source, resolver->root_fd))
		return 0;
	if (!entry->is_known && entry->tried_ns && now - entry->tried_ns < RETRY_NS)
		return 0;
	if (!entry->is_known && now - resolver->places_ns > PLACES_RETRY_NS) {
		err = container_places_find(&resolver->places, resolver->root_fd,
					    resolver->proc_fd);
		if (err)
			return err;
		resolver->places_ns = now;
	}
	entry->tried_ns = now;
	rootless_user(resolver, cgroup_path, &user);
	err = container_names_read(&resolver->places, resolver->root_fd, entry->id, &user, &names);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!names.pod && entry->names.pod) /* the host name's */
		names.pod = take_ptr(entry->names.pod);
	container_names_release(&entry->names);
	entry->names = names;
	entry->is_known = true;
	return 0;
}

/* ---- answers ---- */

static int put(char **field, const char *text)
{
	*field = strdup(text ? text : "");
	return *field ? 0 : -ENOMEM;
}

static const char *first_text(const char *a, const char *b)
{
	return a && *a ? a : b;
}

static int fill(const struct container_path *path, const char *cgroup_path,
		const struct container_names *names, struct container_info *out)
{
	char short_id[SHORT_ID_LEN + 1], service[256];
	const char *name = first_text(names->name, path->name);
	const char *runtime = path->runtime;
	const struct container_service_hints hints = {
		.label = names->service,
		.pod = names->pod,
		.container = name,
		.image = names->image,
		.unit = path->unit,
	};
	int err;

	(void)snprintf(short_id, sizeof(short_id), "%.*s", SHORT_ID_LEN, path->id);
	if (!*runtime || strcmp(runtime, "kubernetes") == 0)
		runtime = first_text(names->runtime, path->runtime);
	container_service_derive(&hints, service, sizeof(service));
	out->is_opted_out = names->is_opted_out;
	err = put(&out->cgroup_path, cgroup_path);
	if (!err)
		err = put(&out->id, path->id);
	if (!err)
		err = put(&out->name, first_text(name, short_id));
	if (!err)
		err = put(&out->image, names->image);
	if (!err)
		err = put(&out->runtime, runtime);
	if (!err)
		err = put(&out->pod, names->pod);
	if (!err)
		err = put(&out->pod_uid, first_text(path->pod_uid, names->pod_uid));
	if (!err)
		err = put(&out->namespace, names->namespace);
	if (!err)
		err = put(&out->service, service);
	return err;
}

/* Names of the path's container; *names_out is borrowed from the cache. */
static int look_up_names(struct container_resolver *resolver, uint32_t pid, const char *cgroup_path,
			 const struct container_path *path,
			 const struct container_names **names_out)
{
	struct cached *entry = find_or_add(resolver, path->id);
	int err;

	if (!entry)
		return -ENOMEM;
	err = refresh(resolver, cgroup_path, entry);
	if (err)
		return err;
	if (path->pod_uid[0] && !entry->names.pod && entry->hostname_tries < HOSTNAME_MAX_TRIES) {
		err = hostname_as_pod(resolver, pid, &entry->names.pod);
		if (err)
			return err;
		entry->hostname_tries++;
	}
	*names_out = &entry->names;
	return 0;
}

int container_resolver__lookup(struct container_resolver *resolver, uint32_t pid,
			       uint64_t cgroup_id, struct container_info *out)
{
	static const struct container_names no_names;
	const struct container_names *names = &no_names;
	struct container_info info = { 0 };
	struct container_path path;
	char cgroup_path[PATH_MAX] = "";
	int found = find_cgroup(resolver, pid, cgroup_id, cgroup_path, sizeof(cgroup_path));
	int err = found == -ENOMEM ? found : 0;

	container_path_parse(cgroup_path, &path);
	if (!err && path.id[0])
		err = look_up_names(resolver, pid, cgroup_path, &path, &names);
	if (!err)
		err = fill(&path, cgroup_path, names, &info);
	if (err) {
		container_info_release(&info);
		return err;
	}
	*out = info;
	return found ? -ENOENT : 0;
}
