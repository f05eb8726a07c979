// SPDX-License-Identifier: Apache-2.0
/* See address.h. Numbers only: no name is looked up, so none can be turned elsewhere. */
#include "user/serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define SOCKET_BACKLOG	128
#define SOCKET_MODE	0660
#define SOCKET_DIR_MODE 0755

static const char unix_prefix[] = "unix:";

static int parse_unix(const char *path, struct serve_address *out)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);

	if (path[0] != '/' || path[len - 1] == '/' || len >= sizeof(addr.sun_path))
		return -EINVAL;
	memcpy(addr.sun_path, path, len + 1);
	memcpy(&out->addr, &addr, sizeof(addr));
	out->len = sizeof(addr);
	out->is_unix = true;
	return 0;
}

int serve_address_parse(const char *text, struct serve_address *out)
{
	static const char v4[] = "127.0.0.1:", v6[] = "[::1]:";
	struct serve_address address = { .is_unix = false };
	uint32_t port;
	int err;

	if (strncmp(text, unix_prefix, strlen(unix_prefix)) == 0) {
		err = parse_unix(text + strlen(unix_prefix), &address);
	} else if (strncmp(text, v4, strlen(v4)) == 0) {
		struct sockaddr_in addr = { .sin_family = AF_INET };

		err = parse_u32_range(text + strlen(v4), 1, UINT16_MAX, &port);
		addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		addr.sin_port = htons(err ? 0 : (uint16_t)port);
		memcpy(&address.addr, &addr, sizeof(addr));
		address.len = sizeof(addr);
	} else if (strncmp(text, v6, strlen(v6)) == 0) {
		struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };

		err = parse_u32_range(text + strlen(v6), 1, UINT16_MAX, &port);
		addr.sin6_addr = in6addr_loopback;
		addr.sin6_port = htons(err ? 0 : (uint16_t)port);
		memcpy(&address.addr, &addr, sizeof(addr));
		address.len = sizeof(addr);
	} else {
		err = -EINVAL;
	}
	if (err)
		return -EINVAL;
	*out = address;
	return 0;
}

const char *serve_address_path(const struct serve_address *address)
{
	return address->is_unix ? ((const struct sockaddr_un *)&address->addr)->sun_path : NULL;
}

static int make_parent(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	size_t len = (size_t)(strrchr(path, '/') - path);

	if (!len)
		return 0;
	memcpy(dir, path, len);
	dir[len] = '\0';
	return mkdir(dir, SOCKET_DIR_MODE) && errno != EEXIST ? -errno : 0;
}

/* Removes a socket that no process listens on. A link is not followed: lstat() sees it first. */
static int remove_stale(const struct serve_address *address)
{
	const char *path = serve_address_path(address);
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;

	__cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address->addr, address->len) == 0 ||
	    errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int serve_address_listen(const struct serve_address *address)
{
	const char *path = serve_address_path(address);
	int on = 1;
	int err = 0;
	__cleanup_fd int fd =
		socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (path) {
		err = make_parent(path);
		if (!err)
			err = remove_stale(address);
		if (!err)
			err = fs_bind_socket(fd, (const struct sockaddr *)&address->addr,
					     address->len, SOCKET_MODE); /* no other threads yet */
	} else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		   bind(fd, (const struct sockaddr *)&address->addr, address->len)) {
		err = -errno;
	}
	if (!err && listen(fd, SOCKET_BACKLOG))
		err = -errno;
	return err ? err : take_fd(&fd);
}

bool serve_host_is_foreign(const char *host)
{
	static const char *const ours[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; host && i < ARRAY_SIZE(ours); i++) {
		size_t len = strlen(ours[i]);
		uint32_t port;

		if (strncasecmp(host, ours[i], len) != 0)
			continue;
		if (host[len] == '\0')
			return false;
		if (host[len] == ':' && parse_u32_range(host + len + 1, 1, UINT16_MAX, &port) == 0)
			return false;
	}
	return true;
}
