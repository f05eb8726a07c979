/* SPDX-License-Identifier: Apache-2.0 */
/* What the page must know first: version, host, events, and from when to when there are samples. */
#ifndef JBPF_WEB_WEB_INFO_H
#define JBPF_WEB_WEB_INFO_H

/* JSON on standard output; argv as of a main(), with --store=DIR. An exit code. */
int web_info_run(int argc, char **argv);

#endif
