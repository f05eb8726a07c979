// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the answer of the process that compares a service: what is taken is an outcome as
 * others make it, and is the same bytes again when it is written.
 */
#include "tests/fuzz/fuzz.h"
#include "user/daily/daily_verdict.h"
#include "user/daily/daily_wire.h"

static void must_be_alarms(const struct daily_alarm *alarms, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		must(alarms[i].method);
		must(alarms[i].kind <= DAILY_ALARM_CREEP);
		must(alarms[i].event < EVENT_VIEW_END);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct strbuf again = STRBUF_INIT;
	struct daily_outcome outcome;
	struct cmd_store_damage damage;
	int err = daily_wire_get(data, len, &outcome, &damage);

	must(err == 0 || err == -EBADMSG || err == -ENOMEM);
	if (err)
		return 0;
	must(*daily_state_name(outcome.state));
	must(outcome.alarm_cnt <= DAILY_ALARMS_MAX && outcome.known_cnt <= DAILY_KNOWN_MAX);
	must_be_alarms(outcome.alarms, outcome.alarm_cnt);
	must_be_alarms(outcome.known, outcome.known_cnt);
	must(daily_wire_put(&outcome, &damage, &again) == 0);
	must(again.len == len && memcmp(again.data, data, len) == 0);
	strbuf_release(&again);
	daily_outcome_release(&outcome);
	return 0;
}
