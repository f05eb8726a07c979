// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles are compared over days, so each needs a name that survives restarts, roll-outs and
 * scaling. The owner's own label is best; otherwise what the machinery appended is taken off
 * again: Kubernetes' hashes and ordinals, Compose's and Swarm's replica numbers, uuids.
 */
#include "user/collect/container/container_service.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POD_SUFFIX_LEN	  5
#define POD_HASH_MIN_LEN  6
#define POD_HASH_MAX_LEN  10
#define SWARM_TASK_ID_LEN 25
#define UUID_LEN	  36
#define HEX_RUN_MIN_LEN	  8

/* Kubernetes' random names avoid vowels and look-alikes (apimachinery util/rand). */
#define POD_ALPHABET "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS	     "0123456789"
#define HEX_DIGITS   "0123456789abcdef"

static bool made_of(const char *text, size_t len, const char *alphabet)
{
	for (size_t i = 0; i < len; i++) {
		if (!strchr(alphabet, text[i]))
			return false;
	}
	return len > 0;
}

/* Start of the last part behind a `separator`, or `len` when there is none or nothing before it. */
static size_t last_part(const char *text, size_t len, char separator)
{
	for (size_t i = len; i > 1; i--) {
		if (text[i - 1] == separator)
			return i;
	}
	return len;
}

static bool is_pod_hash(const char *text, size_t len)
{
	/* Kubernetes before 1.8 wrote the hash as a decimal number. */
	return len >= POD_HASH_MIN_LEN && len <= POD_HASH_MAX_LEN &&
	       (made_of(text, len, POD_ALPHABET) || made_of(text, len, DIGITS));
}

/* "shop-5d8f7b9c4-x2x4z" -> "shop", "db-0" -> "db", "backup-28412340-abcde" -> "backup". */
static size_t pod_owner_len(const char *pod)
{
	size_t len = strlen(pod);
	size_t at = last_part(pod, len, '-');

	if (at == len)
		return len;
	if (made_of(pod + at, len - at, DIGITS))
		return at - 1;
	if (len - at != POD_SUFFIX_LEN || !made_of(pod + at, len - at, POD_ALPHABET))
		return len;
	len = at - 1;
	at = last_part(pod, len, '-');
	if (at == len)
		return len;
	/* A ReplicaSet's hash, a CronJob's minute or an indexed Job's index. */
	if (is_pod_hash(pod + at, len - at) || made_of(pod + at, len - at, DIGITS))
		return at - 1;
	return len;
}

static bool is_uuid(const char *text)
{
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !memchr(HEX_DIGITS, text[i], 16))
			return false;
	}
	return true;
}

/* Swarm: "web.1.<25 letters and digits>", Nomad: "web-<uuid>", Compose: "shop-web-1", "web_1". */
static size_t stable_len(const char *name)
{
	size_t len = strlen(name);
	size_t at = last_part(name, len, '.');

	if (len > UUID_LEN + 1 && is_uuid(name + len - UUID_LEN) && name[len - UUID_LEN - 1] == '-')
		return len - UUID_LEN - 1;
	if (len - at == SWARM_TASK_ID_LEN) {
		size_t slot = last_part(name, at - 1, '.');

		if (slot < at - 1 && made_of(name + slot, at - 1 - slot, DIGITS))
			return slot - 1;
	}
	at = last_part(name, len, '-');
	if (at == len)
		at = last_part(name, len, '_');
	if (at == len)
		return len;
	if (made_of(name + at, len - at, DIGITS))
		return at - 1;
	if (len - at >= HEX_RUN_MIN_LEN && made_of(name + at, len - at, HEX_DIGITS) &&
	    strcspn(name + at, DIGITS) < len - at)
		return at - 1;
	return len;
}

/* "registry:5000/team/shop:1.2@sha256:..." -> "shop"; "" for a bare digest. */
static const char *image_base(const char *image, size_t *len_out)
{
	const char *slash = strrchr(image, '/');
	const char *base = slash ? slash + 1 : image;

	*len_out = strcspn(base, ":@");
	if (strncmp(base, "sha256:", strlen("sha256:")) == 0)
		*len_out = 0;
	return base;
}

static size_t unit_len(const char *unit)
{
	size_t len = strlen(unit);
	const char *dot = strrchr(unit, '.');
	size_t at;

	if (!dot)
		return len;
	len = (size_t)(dot - unit);
	if (strcmp(dot, ".scope") != 0)
		return len;
	/* Scopes are numbered: session-3, app-browser-4711. */
	at = last_part(unit, len, '-');
	return at < len && made_of(unit + at, len - at, DIGITS) ? at - 1 : len;
}

static bool known(const char *text)
{
	return text && *text;
}

const char *container_service_derive(const struct container_service_hints *hints, char *out,
				     size_t out_len)
{
	const char *text = "", *from = "";
	size_t len = 0;

	if (known(hints->label)) {
		from = "label";
		text = hints->label;
		len = strlen(text);
	} else if (known(hints->pod)) {
		from = "pod";
		text = hints->pod;
		len = pod_owner_len(text);
	} else if (known(hints->container)) {
		from = "container";
		text = hints->container;
		len = stable_len(text);
	} else if (known(hints->image)) {
		from = "image";
		text = image_base(hints->image, &len);
	} else if (known(hints->unit)) {
		from = "unit";
		text = hints->unit;
		len = unit_len(text);
	}
	if (len >= out_len)
		len = out_len - 1;
	memcpy(out, text, len);
	out[len] = '\0';
	return from;
}
