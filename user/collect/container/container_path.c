// SPDX-License-Identifier: Apache-2.0
/*
 * What a cgroup path says by itself. Every runtime and cgroup driver writes another form (docker
 * as directory or as scope, CRI runtimes below the pod's slice, LXC by name, ...), and they nest:
 * a container of Docker-in-Docker lies below the outer one. So the path is read from the root, one
 * component after the other, and what is found deeper replaces what was found above.
 */
#include "user/collect/container/container.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/parse.h"

#define POD_UID_LEN	   36 /* 8-4-4-4-12 */
#define STATIC_POD_UID_LEN 32 /* hash of the manifest, no dashes */

static struct text piece_without_suffix(struct text piece, struct text suffix)
{
	if (text_ends_with(piece, suffix))
		piece.len -= suffix.len;
	return piece;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool piece_is_container_id(struct text piece)
{
	if (piece.len != CONTAINER_ID_LEN)
		return false;
	for (size_t i = 0; i < piece.len; i++) {
		if (!is_hex(piece.at[i]))
			return false;
	}
	return true;
}

/* False, and nothing is copied, when it does not fit: half a name is a wrong name. */
static bool piece_copy(struct text piece, char *out, size_t out_len)
{
	if (piece.len >= out_len)
		return false;
	memcpy(out, piece.at, piece.len);
	out[piece.len] = '\0';
	return true;
}

static void set_runtime(struct container_path *out, const char *runtime)
{
	(void)snprintf(out->runtime, sizeof(out->runtime), "%s", runtime);
}

/* Runtime by the word in front of the id: "docker" of "docker-<id>.scope". */
static const char *runtime_of_prefix(struct text prefix)
{
	static const struct {
		const char *prefix;
		const char *runtime;
	} known[] = {
		{ "docker", "docker" },
		{ "cri-containerd", "containerd" },
		{ "containerd", "containerd" },
		{ "nerdctl", "containerd" },
		{ "crio", "crio" },
		{ "cri-o", "crio" },
		{ "libpod", "podman" },
		{ "libpod-payload", "podman" },
		{ "podman", "podman" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (text_is(prefix, known[i].prefix))
			return known[i].runtime;
	}
	return "";
}

/* Runtime by the directory that holds plain ids: "/docker/<id>", "/k8s.io/<id>". */
static const char *runtime_of_parent(struct text parent)
{
	static const struct {
		const char *parent;
		const char *runtime;
	} known[] = {
		{ "docker", "docker" },	       { "moby", "docker" },
		{ "default", "containerd" },   { "k8s.io", "containerd" },
		{ "libpod_parent", "podman" }, { "actions_job", "docker" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (text_is(parent, known[i].parent))
			return known[i].runtime;
	}
	return "";
}

static bool is_container(const struct container_path *path)
{
	return path->id[0] || path->name[0] || path->pod_uid[0];
}

static void container_found(struct container_path *out, struct text id, const char *runtime)
{
	(void)piece_copy(id, out->id, sizeof(out->id));
	out->name[0] = '\0';
	out->unit[0] = '\0';
	if (*runtime)
		set_runtime(out, runtime);
	else if (out->pod_uid[0])
		set_runtime(out, "kubernetes");
	else
		set_runtime(out, "");
}

static bool named_container_found(struct container_path *out, struct text name, const char *runtime)
{
	if (name.len == 0 || !piece_copy(name, out->name, sizeof(out->name)))
		return false;
	out->id[0] = '\0';
	out->unit[0] = '\0';
	out->pod_uid[0] = '\0';
	set_runtime(out, runtime);
	return true;
}

/*
 * "docker-<id>.scope", "libpod-<id>", "kubepods-...-pod<uid>.slice:cri-containerd:<id>" (what
 * containerd makes of the systemd form when it drives cgroupfs itself). conmon is Podman's and
 * CRI-O's monitor, a process of the host beside the container.
 */
static bool parse_prefixed_id(struct text component, struct container_path *out)
{
	struct text body = piece_without_suffix(component, TEXT(".scope"));
	struct text prefix, id;
	char separator;

	if (body.len <= CONTAINER_ID_LEN + 1)
		return false;
	id = text_from(body, body.len - CONTAINER_ID_LEN);
	separator = id.at[-1];
	if ((separator != '-' && separator != ':') || !piece_is_container_id(id))
		return false;
	prefix = (struct text){ body.at, body.len - CONTAINER_ID_LEN - 1 };
	if (text_ends_with(prefix, TEXT("conmon")))
		return false;
	for (size_t i = prefix.len; separator == ':' && i > 0; i--) {
		if (prefix.at[i - 1] != ':')
			continue;
		prefix = text_from(prefix, i);
		break;
	}
	container_found(out, id, runtime_of_prefix(prefix));
	return true;
}

/* Copies a pod's uid, underscores (systemd's escape) as dashes. False when it is none. */
static bool pod_uid_copy(struct text uid, char *out)
{
	if (uid.len != POD_UID_LEN && uid.len != STATIC_POD_UID_LEN)
		return false;
	for (size_t i = 0; i < uid.len; i++) {
		char c = uid.at[i] == '_' ? '-' : uid.at[i];

		if (!is_hex(c) && (c != '-' || uid.len != POD_UID_LEN))
			return false;
		out[i] = c;
	}
	out[uid.len] = '\0';
	return true;
}

/*
 * "pod<uid>" below a kubepods directory, or the slice "kubepods-burstable-pod<uid>.slice", also
 * with something in front (kind: "kubelet-kubepods-...") and with ":runtime:id" behind.
 */
static bool parse_pod(struct text component, bool in_kubepods, struct container_path *out)
{
	struct text body = component;
	const char *colon = memchr(component.at, ':', component.len);
	size_t at = 0;
	char uid[sizeof(out->pod_uid)];

	if (colon)
		body.len = (size_t)(colon - component.at);
	body = piece_without_suffix(body, TEXT(".slice"));
	if (!(in_kubepods && text_starts_with(body, TEXT("pod")))) {
		const char *mark = memmem(body.at, body.len, "kubepods", strlen("kubepods"));

		if (!mark)
			return false;
		mark = memmem(mark, body.len - (size_t)(mark - body.at), "-pod", strlen("-pod"));
		if (!mark)
			return false;
		at = (size_t)(mark - body.at) + 1;
	}
	if (!pod_uid_copy(text_from(body, at + strlen("pod")), uid))
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(out->pod_uid, uid, sizeof(uid));
	set_runtime(out, "kubernetes");
	return true;
}

/* systemd escapes bytes of a unit name as \xNN. */
static bool unit_unescape(struct text text, char *out, size_t out_len)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (used + 1 >= out_len)
			return false;
		if (c == '\\' && i + 3 < text.len && text.at[i + 1] == 'x') {
			const char *high = memchr(digits, text.at[i + 2], 16);
			const char *low = memchr(digits, text.at[i + 3], 16);

			if (high && low) {
				c = (char)((high - digits) << 4 | (low - digits));
				i += 3;
			}
		}
		out[used++] = c;
	}
	out[used] = '\0';
	return true;
}

/*
 * systemd-nspawn: "machine-<name>.scope" (machinectl) or "systemd-nspawn@<name>.service". Other
 * machines are virtual ones: their processes are the hypervisor's, and the unit says it best.
 */
static bool parse_nspawn(struct text component, struct container_path *out)
{
	char name[sizeof(out->name)];
	struct text escaped;

	if (text_starts_with(component, TEXT("machine-")) &&
	    text_ends_with(component, TEXT(".scope")))
		escaped = piece_without_suffix(text_from(component, strlen("machine-")),
					       TEXT(".scope"));
	else if (text_starts_with(component, TEXT("systemd-nspawn@")) &&
		 text_ends_with(component, TEXT(".service")))
		escaped = piece_without_suffix(text_from(component, strlen("systemd-nspawn@")),
					       TEXT(".service"));
	else
		return false;
	if (!unit_unescape(escaped, name, sizeof(name)) || strncmp(name, "qemu-", 5) == 0 ||
	    strncmp(name, "lxc-", 4) == 0)
		return false;
	return named_container_found(out, (struct text){ name, strlen(name) }, "nspawn");
}

/* LXC and Incus: "lxc.payload.<name>", "lxc.payload/<name>", "lxc/<name>". */
static bool parse_lxc(struct text component, struct text parent, struct container_path *out)
{
	struct text name = component;

	if (text_starts_with(component, TEXT("lxc.payload.")))
		name = text_from(component, strlen("lxc.payload."));
	else if (!text_is(parent, "lxc") && !text_is(parent, "lxc.payload"))
		return false;
	return named_container_found(out, name, "lxc");
}

/* The innermost unit, as long as no container was found: what runs in one has units of its own. */
static bool parse_unit(struct text component, struct container_path *out)
{
	if (is_container(out))
		return false;
	if (!text_ends_with(component, TEXT(".service")) &&
	    !text_ends_with(component, TEXT(".scope")) &&
	    !text_ends_with(component, TEXT(".socket")))
		return false;
	if (!piece_copy(component, out->unit, sizeof(out->unit)))
		return false;
	set_runtime(out, "systemd");
	return true;
}

/* True when it said something. */
static bool parse_component(struct text component, struct text parent, bool in_kubepods,
			    struct container_path *out)
{
	bool is_pod = parse_pod(component, in_kubepods, out);

	if (parse_prefixed_id(component, out) || is_pod)
		return true;
	if (piece_is_container_id(component)) {
		container_found(out, component, runtime_of_parent(parent));
		return true;
	}
	return parse_nspawn(component, out) || parse_lxc(component, parent, out) ||
	       parse_unit(component, out);
}

/* The names in the first `len` bytes. */
static void parse_len(const char *cgroup_path, size_t len, struct container_path *out)
{
	struct text rest = { cgroup_path, len };
	struct text parent = { "", 0 };
	bool in_kubepods = false;

	memset(out, 0, sizeof(*out));
	for (;;) {
		struct text component;

		while (rest.len && *rest.at == '/')
			rest = text_from(rest, 1);
		component = (struct text){ rest.at, strcspn(rest.at, "/") };
		if (component.len > rest.len)
			component.len = rest.len;
		if (component.len == 0)
			return;
		if (text_is(component, "kubepods"))
			in_kubepods = true;
		/* nspawn keeps its own process beside what runs inside. */
		if (strcmp(out->runtime, "nspawn") == 0 && text_is(component, "supervisor"))
			memset(out, 0, sizeof(*out));
		else if (parse_component(component, parent, in_kubepods, out))
			out->len = (size_t)(component.at - cgroup_path) + component.len;
		parent = component;
		rest = text_from(rest, component.len);
	}
}

void container_path_parse(const char *cgroup_path, struct container_path *out)
{
	parse_len(cgroup_path, strlen(cgroup_path), out);
}

/*
 * Where no hierarchy can be looked at, the usual tree tells whose names begin where: what is below
 * a user's slice was named by that user's own systemd.
 */
static void trust_by_form(const char *path, struct container_trust *out)
{
	static const char slices[] = "/user.slice/user-";
	const char *uid_text = path + strlen(slices);
	const char *at;
	uint64_t uid;

	out->root_len = strlen(path);
	out->rest_owner = CONTAINER_TRUST_NOBODY;
	if (strncmp(path, slices, strlen(slices)) != 0)
		return;
	at = uid_text + strspn(uid_text, "0123456789");
	if (strncmp(at, ".slice/", strlen(".slice/")) != 0 ||
	    parse_u64_n(uid_text, (size_t)(at - uid_text), 10, &uid) || uid == 0 ||
	    uid >= UINT32_MAX)
		return;
	at += strlen(".slice/");
	out->root_len = (size_t)(at + strcspn(at, "/") - path);
	out->rest_owner = (uid_t)uid;
}

/*
 * Does what a user named say more than what root named above it? Units of a user's own systemd do;
 * those below another unit are parts of a service that was given its cgroup, and belong to it.
 */
static bool says_more(const struct container_path *users, const struct container_path *roots)
{
	if (is_container(users))
		return true;
	return users->unit[0] && strcmp(users->unit, roots->unit) != 0 &&
	       (roots->unit[0] == '\0' || strncmp(roots->unit, "user@", strlen("user@")) == 0);
}

void container_path_identify(const char *cgroup_path, const struct container_trust *trust,
			     struct container_identity *out)
{
	struct container_trust trusted = *trust;
	struct container_path whole;

	if (!trust->is_checked)
		trust_by_form(cgroup_path, &trusted);
	out->namer = trust->is_checked ? CONTAINER_NAMER_ROOT : CONTAINER_NAMER_UNCHECKED;
	out->uid = 0;
	parse_len(cgroup_path, trusted.root_len, &out->path);
	out->roots_len = out->path.len;
	if (is_container(&out->path) || trusted.rest_owner == CONTAINER_TRUST_NOBODY)
		return;
	container_path_parse(cgroup_path, &whole);
	if (!says_more(&whole, &out->path))
		return;
	out->path = whole;
	out->namer = CONTAINER_NAMER_USER;
	out->uid = trusted.rest_owner;
}
