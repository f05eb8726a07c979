/* SPDX-License-Identifier: Apache-2.0 */
/* What libbpf has to say while a probe is opened: all of it for debugging, the last complaint for users. */
#ifndef JBPF_PROBE_PROBE_LOG_H
#define JBPF_PROBE_PROBE_LOG_H

/* From now on libbpf's messages come here. */
void probe_log_take(void);

/* Forgets the last complaint of this thread. */
void probe_log_clear(void);
/* That since; NULL: none. Until the next one. */
const char *probe_log_last(void);

#endif
