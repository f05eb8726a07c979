// SPDX-License-Identifier: Apache-2.0
/* Names of workloads without what restarts and scaling append to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/collect/container/container_service.h"
#include "user/util/cleanup.h"

static const struct {
	struct container_service_hints hints;
	const char *service;
} cases[] = {
	/* what the owner says wins */
	{ { .label = "cart", .pod = "shop-0", .container = "app", .image = "i", .unit = "u" },
	  "cart" },
	{ { .label = "", .pod = "shop-0", .container = "app" }, "shop" },
	/* Deployment, DaemonSet, StatefulSet, Job, CronJob, indexed Job, a decimal hash */
	{ { .pod = "shop-5d8f7b9c4-x2x4z" }, "shop" },
	{ { .pod = "shop-cart-5d8f7b9c4d-x2x4z" }, "shop-cart" },
	{ { .pod = "node-exporter-x2x4z" }, "node-exporter" },
	{ { .pod = "db-0" }, "db" },
	{ { .pod = "db-main-12" }, "db-main" },
	{ { .pod = "backup-28412340-x2x4z" }, "backup" },
	{ { .pod = "batch-7-x2x4z" }, "batch" },
	{ { .pod = "shop-3408853312-x2x4z" }, "shop" },
	/* words that only look random stay */
	{ { .pod = "shop" }, "shop" },
	{ { .pod = "my-nginx" }, "my-nginx" },
	{ { .pod = "my-mysql" }, "my-mysql" },
	{ { .pod = "kube-apiserver-node1" }, "kube-apiserver-node1" },
	{ { .pod = "shop-service-x2x4z" }, "shop-service" },
	{ { .pod = "-0" }, "-0" },
	{ { .pod = "0" }, "0" },
	/* containers: Compose, Swarm, Nomad, hash */
	{ { .container = "project-web-1" }, "project-web" },
	{ { .container = "project_web_12" }, "project_web" },
	{ { .container = "web.1.kq8v2y1q0w3e4r5t6y7u8i9o0" }, "web" },
	{ { .container = "web.x.kq8v2y1q0w3e4r5t6y7u8i9o0" }, "web.x.kq8v2y1q0w3e4r5t6y7u8i9o0" },
	{ { .container = "web-cd3dbd0e-9a5a-4bd0-a0a7-54d1a1b2c3d4" }, "web" },
	{ { .container = "web-3f2a9c1b" }, "web" },
	{ { .container = "web-deadbeef" }, "web-deadbeef" },
	{ { .container = "web" }, "web" },
	{ { .container = "-1" }, "-1" },
	/* image */
	{ { .image = "registry:5000/team/shop:1.2" }, "shop" },
	{ { .image = "shop@sha256:0123" }, "shop" },
	{ { .image = "jre17" }, "jre17" },
	{ { .image = "sha256:0123" }, "" },
	/* units */
	{ { .unit = "nginx.service" }, "nginx" },
	{ { .unit = "postgresql@15-main.service" }, "postgresql@15-main" },
	{ { .unit = "session-3.scope" }, "session" },
	{ { .unit = "init.scope" }, "init" },
	{ { .unit = "odd" }, "odd" },
	/* nothing */
	{ { 0 }, "" },
	{ { .label = "", .pod = "", .container = "", .image = "", .unit = "" }, "" },
};

static void container_service_keeps_what_survives_a_restart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char got[128];

		container_service_derive(&cases[i].hints, got, sizeof(got));
		if (strcmp(got, cases[i].service) != 0)
			fail_msg("case %zu: '%s', not '%s'", i, got, cases[i].service);
	}
}

static void container_service_is_cut_at_the_end_of_its_buffer(void **state)
{
	char got[4] = "xxx";

	(void)state;
	container_service_derive(&(struct container_service_hints){ .label = "abcdef" }, got,
				 sizeof(got));
	assert_string_equal(got, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_service_keeps_what_survives_a_restart),
		cmocka_unit_test(container_service_is_cut_at_the_end_of_its_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
