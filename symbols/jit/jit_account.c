// SPDX-License-Identifier: Apache-2.0
/* The budget for reading a JVM; see jit_account.h. */
#include "symbols/jit/jit_account.h"

#include <errno.h>

#include "user/util/clock.h"

bool jit_account_may_read(struct jit_account *account)
{
	if (account->is_ended || account->spent_ns > JIT_ACCOUNT_BUDGET_NS)
		return false;
	/* Asking for CPU time is a system call: only questions that read something are measured. */
	if (!account->reading_ns)
		account->reading_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	account->read_cnt++;
	return true;
}

int jit_account_note(struct jit_account *account, int err)
{
	if (err == -ESRCH || err == -EPERM || err == -EACCES)
		account->is_ended = true;
	return err;
}

void jit_account_settle(struct jit_account *account)
{
	if (account->reading_ns)
		account->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - account->reading_ns;
	account->reading_ns = 0;
}

void jit_account_renew(struct jit_account *account)
{
	account->spent_ns = 0;
}

void jit_account_stir(struct jit_account *account, uint64_t now_ns)
{
	account->restless_ns = now_ns + JIT_ACCOUNT_RESTLESS_NS;
}

bool jit_account_is_restless(const struct jit_account *account, uint64_t now_ns)
{
	return now_ns < account->restless_ns;
}

uint64_t jit_account_round_ns(const struct jit_account *account, uint64_t now_ns)
{
	return jit_account_is_restless(account, now_ns) ? JIT_ACCOUNT_RESTLESS_ROUND_NS :
							  JIT_ACCOUNT_ROUND_NS;
}
