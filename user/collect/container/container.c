// SPDX-License-Identifier: Apache-2.0
/*
 * The resolver: cgroup of a process -> container -> names, cached by container id. Names are
 * looked up at the first sight of a container and kept when it is gone; the file they came from
 * is checked at each lookup, so that a rename shows. What is not found is looked for again later.
 */
#include "user/collect/container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "symbols/parser/parser.h"
#include "user/collect/container/cgroup_account.h"
#include "user/collect/container/container_cgroup.h"
#include "user/collect/container/container_names.h"
#include "user/collect/container/container_pods.h"
#include "user/collect/container/container_service.h"
#include "user/host/cgroup_lines.h"
#include "user/host/proc_stat.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define CACHE_BUCKETS	      256
#define CACHE_MAX_ENTRIES     4096 /* then the one not used for longest goes */
#define CGROUP_TEXT_MAX_BYTES 65536
#define HOSTNAME_MAX_BYTES    253 /* of a pod: an RFC 1123 name; fits into a struct opener_head */
#define HOSTNAME_MAX_TRIES    8
#define RETRY_NS	      (15 * CLOCK_NS_PER_S) /* for containers nothing is known of */
#define PLACES_RETRY_NS	      (60 * CLOCK_NS_PER_S)
#define SHORT_ID_LEN	      12
#define ASKED_USERS	      256u
#define ASK_USER_NS	      (60 * CLOCK_NS_PER_S)
#define ASK_USER_BURST	      4u /* containers of one user that start together */

struct cached {
	struct cached *next;
	char id[CONTAINER_ID_LEN + 1];
	uid_t uid; /* the user that gave it this id; 0 = root, whose ids are other ones */
	struct container_names names;
	/* "kubelet" or "hostname" when not from the files of names; else NULL. */
	const char *pod_source;
	bool is_known;		/* names were found */
	uint8_t hostname_tries; /* the pod's name may come from it; a process may be gone already */
	uint64_t tried_ns;	/* CLOCK_MONOTONIC */
	uint64_t used;		/* by resolver's tick */
};

/* A user whose runtime's files were read. */
struct asked_user {
	uid_t uid; /* 0 = none */
	uint32_t cnt;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

struct container_resolver {
	int proc_fd; /* borrowed */
	int root_fd; /* borrowed */
	struct container_hierarchies hierarchies;
	struct parser *parser;	   /* borrowed */
	struct accounts *accounts; /* borrowed */
	struct asked_user asked[ASKED_USERS];
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
	free(info->sources);
	memset(info, 0, sizeof(*info));
}

/* Files of root are the host's. */
static int find_places(struct container_resolver *resolver)
{
	parser__charge(resolver->parser, account_of_host());
	return container_places_find(&resolver->places, resolver->root_fd, resolver->proc_fd,
				     parser__opener(resolver->parser));
}

int container_resolver__new(const struct container_resolver_options *options,
			    struct container_resolver **out)
{
	struct container_resolver *resolver;
	int err;

	if (!options->parser || !options->accounts)
		return -EINVAL;
	resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return -ENOMEM;
	resolver->proc_fd = options->proc_fd;
	resolver->root_fd = options->root_fd;
	resolver->parser = options->parser;
	resolver->accounts = options->accounts;
	resolver->hierarchies.v2_fd =
		container_cgroup_mount_open(options->proc_fd, options->cgroup_root);
	if (resolver->hierarchies.v2_fd < 0)
		resolver->hierarchies.v2_fd = -1;
	resolver->hierarchies.dir_fd = open(options->cgroup_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = find_places(resolver);
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
	if (resolver->hierarchies.v2_fd >= 0)
		close(resolver->hierarchies.v2_fd);
	if (resolver->hierarchies.dir_fd >= 0)
		close(resolver->hierarchies.dir_fd);
	free(resolver);
}

/* ---- which cgroup ---- */

/*
 * Was what was read of /proc/PID so far of this process? Asked behind the reading: who has the number
 * now, had it then.
 */
static bool was_read_of(const struct container_resolver *resolver,
			const struct container_sight *sight)
{
	return !sight->start_ns ||
	       proc_stat_check_start(resolver->proc_fd, sight->pid, sight->start_ns) == 0;
}

static int read_proc_cgroup(const struct container_resolver *resolver,
			    const struct container_sight *sight, struct strbuf *text)
{
	int err = fs_read_filef(resolver->proc_fd, CGROUP_TEXT_MAX_BYTES, text, "%u/cgroup",
				sight->pid);

	return err || was_read_of(resolver, sight) ? err : -ESRCH;
}

/*
 * The sample's cgroup id is the truth: the process may be gone, or its pid be another's by now.
 * /proc is asked for what the id cannot tell: the v1 hierarchies of the same process.
 */
static int find_cgroup(struct container_resolver *resolver, const struct container_sight *sight,
		       char *path, size_t path_len, struct container_identity *identity)
{
	uint64_t cgroup_id = sight->cgroup_id;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct container_trust trust;
	char by_id[PATH_MAX];
	struct cgroup_line v2;
	int proc_err = read_proc_cgroup(resolver, sight, &text);
	int id_err = cgroup_id > 1 && resolver->hierarchies.v2_fd >= 0 ?
			     container_cgroup_by_id(resolver->hierarchies.v2_fd, cgroup_id, by_id,
						    sizeof(by_id)) :
			     -ENOENT;

	if (proc_err == -ENOMEM)
		return -ENOMEM;
	if (id_err)
		return proc_err ? -ENOENT :
				  container_cgroup_choose(strbuf_str(&text), &resolver->hierarchies,
							  path, path_len, identity);
	if (!proc_err && cgroup_lines_find(strbuf_str(&text), text.len, NULL, &v2) &&
	    v2.path_len == strlen(by_id) && memcmp(v2.path, by_id, v2.path_len) == 0)
		return container_cgroup_choose(strbuf_str(&text), &resolver->hierarchies, path,
					       path_len, identity);
	if (strlen(by_id) >= path_len)
		return -ENAMETOOLONG;
	memcpy(path, by_id, strlen(by_id) + 1);
	container_trust_below(resolver->hierarchies.v2_fd, path, &trust);
	container_path_identify(path, &trust, identity);
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

static struct cached *find_or_add(struct container_resolver *resolver,
				  const struct container_identity *identity)
{
	const char *id = identity->path.id;
	struct cached **bucket = bucket_of(resolver, id);
	struct cached *entry;

	for (entry = *bucket; entry; entry = entry->next) {
		if (entry->uid == identity->uid && strcmp(entry->id, id) == 0) {
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
	entry->uid = identity->uid;
	entry->used = ++resolver->tick;
	entry->next = *bucket;
	*bucket = entry;
	resolver->entry_cnt++;
	return entry;
}

/* ---- names ---- */

/* In the files of a user only that user's containers are looked for, and in root's only root's. */
static void rootless_user(struct container_resolver *resolver, uid_t uid,
			  struct container_user *out)
{
	out->home[0] = '\0';
	out->uid = uid;
	if (uid &&
	    container_user_find(resolver->root_fd, uid, parser__opener(resolver->parser), out))
		out->home[0] = '\0';
}

/*
 * A pod's host name is its name, unless it uses the host's network: then it is the node's. The
 * file is the container's to write, so only what can be a pod's name is taken.
 */
static int hostname_as_pod(struct container_resolver *resolver, const struct container_sight *sight,
			   char **out)
{
	const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER,
						    .max_bytes = HOSTNAME_MAX_BYTES };
	__cleanup_strbuf struct strbuf name = STRBUF_INIT, host = STRBUF_INIT;
	__cleanup_fd int root_fd = container_root_open(resolver->proc_fd, sight->pid);
	struct opener_head head;
	size_t len;

	/* Another pod's name would be kept for all processes of this one. */
	if (root_fd < 0 || !was_read_of(resolver, sight))
		return 0;

	__cleanup_fd int fd = opener__file(parser__opener(resolver->parser), root_fd,
					   "/etc/hostname", &rules, NULL, &head);

	if (fd < 0)
		return 0;
	strbuf_append(&name, head.bytes, head.len);
	if (strbuf_error(&name))
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

/*
 * A user can make any number of cgroups that are called like containers, and write its runtime's files
 * as often: they are read this often at most.
 */
static bool may_ask_user(struct container_resolver *resolver, uid_t uid, uint64_t now_ns)
{
	struct asked_user *asked = &resolver->asked[uid % ASKED_USERS];

	if (asked->uid != uid || now_ns - asked->since_ns >= ASK_USER_NS)
		*asked = (struct asked_user){ .uid = uid, .since_ns = now_ns };
	return asked->cnt++ < ASK_USER_BURST;
}

/* False: they are known, or were looked for a moment ago. */
static bool wants_names(struct container_resolver *resolver, const struct cached *entry,
			struct account *account, uint64_t now)
{
	parser__charge(resolver->parser, entry->uid ? account : account_of_host());
	if (entry->is_known)
		return container_source_changed(&entry->names.source, resolver->root_fd,
						parser__opener(resolver->parser));
	return !entry->tried_ns || now - entry->tried_ns >= RETRY_NS;
}

/* Brings the entry up to date; a user's files are read at the cost of `account`. 0 or -ENOMEM. */
static int refresh(struct container_resolver *resolver, struct cached *entry,
		   struct account *account)
{
	uint64_t now = clock_monotonic_ns();
	struct container_names names;
	struct container_user user;
	int err;

	if (!wants_names(resolver, entry, account, now))
		return 0;
	if (!entry->is_known && now - resolver->places_ns > PLACES_RETRY_NS) {
		err = find_places(resolver);
		if (err)
			return err;
		resolver->places_ns = now;
	}
	entry->tried_ns = now;
	parser__charge(resolver->parser, account_of_host());
	rootless_user(resolver, entry->uid, &user);
	if (entry->uid && (!user.home[0] || !may_ask_user(resolver, user.uid, now)))
		return 0;
	parser__charge(resolver->parser, entry->uid ? account : account_of_host());
	err = container_names_read(&resolver->places, resolver->root_fd, entry->id, &user,
				   resolver->parser, &names);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (names.pod) {
		entry->pod_source = NULL;
	} else if (entry->pod_source) {
		names.pod = take_ptr(entry->names.pod);
		if (!names.namespace)
			names.namespace = take_ptr(entry->names.namespace);
	}
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

/* A name as it is shown: what a user gave is that user's. */
static int put_name(char **field, const struct container_identity *identity, const char *text)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (identity->namer != CONTAINER_NAMER_USER || !text || !*text)
		return put(field, text);
	strbuf_printf(&name, CONTAINER_USER_PREFIX "%u/%s", identity->uid, text);
	return strbuf_error(&name) ? -ENOMEM : put(field, strbuf_str(&name));
}

/* What is known of a container, and where from. Borrowed strings, NULL or "" where nothing is. */
struct answer {
	const struct container_identity *identity;
	const char *cgroup_path;
	const struct container_names *names;
	const char *pod_source;
};

/* "container=docker pod=kubelet namespace=kubelet service=label by=root" */
static int put_sources(const struct answer *answer, const char *service_source,
		       struct container_info *out)
{
	const char *files = first_text(answer->names->runtime, "file");
	const char *pod = answer->pod_source ? answer->pod_source : files;
	const char *namespace = answer->pod_source && strcmp(answer->pod_source, "kubelet") == 0 ?
					answer->pod_source :
					files;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!*answer->cgroup_path)
		return put(&out->sources, "");
	if (*out->name)
		strbuf_printf(&text, "container=%s ", answer->names->name ? files : "cgroup");
	if (*out->pod)
		strbuf_printf(&text, "pod=%s ", pod);
	if (*out->namespace)
		strbuf_printf(&text, "namespace=%s ", namespace);
	if (*service_source)
		strbuf_printf(&text, "service=%s ", service_source);
	if (answer->identity->namer == CONTAINER_NAMER_USER)
		strbuf_printf(&text, "by=" CONTAINER_USER_PREFIX "%u", answer->identity->uid);
	else
		strbuf_puts(&text, answer->identity->namer == CONTAINER_NAMER_ROOT ?
					   "by=root" :
					   "by=unchecked");
	return strbuf_error(&text) ? -ENOMEM : put(&out->sources, strbuf_str(&text));
}

static int fill(const struct answer *answer, struct container_info *out)
{
	const struct container_identity *identity = answer->identity;
	const struct container_path *path = &identity->path;
	const struct container_names *names = answer->names;
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
	const char *service_source = container_service_derive(&hints, service, sizeof(service));
	int err;

	(void)snprintf(short_id, sizeof(short_id), "%.*s", SHORT_ID_LEN, path->id);
	if (!*runtime || strcmp(runtime, "kubernetes") == 0)
		runtime = first_text(names->runtime, path->runtime);
	out->is_opted_out = names->is_opted_out;
	out->roots_path_len = identity->roots_len;
	err = put(&out->cgroup_path, answer->cgroup_path);
	if (!err)
		err = put_name(&out->id, identity, path->id);
	if (!err)
		err = put_name(&out->name, identity, first_text(name, short_id));
	if (!err)
		err = put_name(&out->image, identity, names->image);
	if (!err)
		err = put(&out->runtime, runtime);
	if (!err)
		err = put_name(&out->pod, identity, names->pod);
	if (!err)
		err = put_name(&out->pod_uid, identity, first_text(path->pod_uid, names->pod_uid));
	if (!err)
		err = put_name(&out->namespace, identity, names->namespace);
	if (!err)
		err = put_name(&out->service, identity, service);
	return err ? err : put_sources(answer, service_source, out);
}

/*
 * The name of a pod that its runtime keeps in no file: from the kubelet's directories of logs, which
 * are root's, else from the container's own host name file, which is the container's to write.
 */
static int find_pod(struct container_resolver *resolver, const struct container_sight *sight,
		    const char *pod_uid, struct account *account, struct cached *entry)
{
	int err;

	if (entry->names.pod || entry->hostname_tries >= HOSTNAME_MAX_TRIES)
		return 0;
	entry->hostname_tries++;
	parser__charge(resolver->parser, account_of_host());
	err = container_pod_find(resolver->root_fd, parser__opener(resolver->parser), pod_uid,
				 &entry->names.pod, &entry->names.namespace);
	if (err == 0)
		entry->pod_source = "kubelet";
	if (err == 0 || err == -ENOMEM)
		return err;
	parser__charge(resolver->parser, account);
	err = hostname_as_pod(resolver, sight, &entry->names.pod);
	if (!err && entry->names.pod)
		entry->pod_source = "hostname";
	return err;
}

/* Whose the container is, as one more user of it. 0 or -ENOMEM. */
static int account_of(const struct container_resolver *resolver, const struct answer *answer,
		      struct account **out)
{
	const char *path = answer->cgroup_path;
	size_t len = cgroup_account_len_within(path, answer->identity->roots_len);
	char name[ACCOUNT_NAME_BYTES];

	snprintf(name, sizeof(name), "%.*s", (int)len, path);
	*out = accounts__get(resolver->accounts, cgroup_account_id(path, len), name);
	return *out ? 0 : -ENOMEM;
}

/* Names of the path's container, borrowed from the cache. */
static int look_up_names(struct container_resolver *resolver, const struct container_sight *sight,
			 struct answer *answer)
{
	const struct container_identity *identity = answer->identity;
	struct cached *entry = find_or_add(resolver, identity);
	struct account *account;
	int err;

	if (!entry)
		return -ENOMEM;
	err = account_of(resolver, answer, &account);
	if (!err)
		err = refresh(resolver, entry, account);
	if (!err && identity->path.pod_uid[0])
		err = find_pod(resolver, sight,
			       identity->namer == CONTAINER_NAMER_USER ? "" :
									 identity->path.pod_uid,
			       account, entry);
	account__put(account);
	answer->names = &entry->names;
	answer->pod_source = entry->pod_source;
	return err;
}

int container_resolver__lookup(struct container_resolver *resolver,
			       const struct container_sight *sight, struct container_info *out)
{
	static const struct container_names no_names;
	struct container_identity identity = { .namer = CONTAINER_NAMER_UNCHECKED };
	struct container_info info = { 0 };
	char cgroup_path[PATH_MAX] = "";
	struct answer answer = {
		.identity = &identity,
		.cgroup_path = cgroup_path,
		.names = &no_names,
	};
	int found = find_cgroup(resolver, sight, cgroup_path, sizeof(cgroup_path), &identity);
	int err = found == -ENOMEM ? found : 0;

	if (!err && identity.path.id[0])
		err = look_up_names(resolver, sight, &answer);
	if (!err)
		err = fill(&answer, &info);
	if (err) {
		container_info_release(&info);
		return err;
	}
	*out = info;
	return found ? -ENOENT : 0;
}
