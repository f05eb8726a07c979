# SPDX-License-Identifier: Apache-2.0
# Completion of bash for jbpfd, jbpf and its commands. `make docs` makes the lines between "begin"
# and "end" from the tables of options.

# _jbpf_words PROGRAM [OPTION]: sets kind, words and operands for the word behind OPTION
_jbpf_words()
{
	kind='' words='' operands=''
	case $1:${2-} in
	# begin words
	jbpf: | jbpf:help) words='--help --version' operands='diff dump maps push record status store top web help' ;;
	jbpfd:) words='--store --host --event --frequency --page-fault-period --off-cpu-rate --window --max-depth --jit --java-parameters --unwind --keep-age --keep-bytes --keep-moments --compact --metrics --pid --cgroup --log-level --config --check --probe --help --version' ;;
	jbpfd:--host | jbpfd:--event | jbpfd:--frequency | jbpfd:--page-fault-period | jbpfd:--off-cpu-rate | jbpfd:--window | jbpfd:--max-depth | jbpfd:--keep-age | jbpfd:--keep-bytes | jbpfd:--keep-moments | jbpfd:--metrics | jbpfd:--pid | jbpfd:--cgroup) kind=free ;;
	jbpfd:--store) kind=folders ;;
	jbpfd:--jit) kind=words words='auto vmstructs perfmap attach off' ;;
	jbpfd:--java-parameters) kind=words words='off on' ;;
	jbpfd:--unwind) kind=words words='auto fp' ;;
	jbpfd:--compact) kind=words words='off on' ;;
	jbpfd:--log-level) kind=words words='err warn info debug' ;;
	jbpfd:--config) kind=files ;;
	jbpfd:--probe) kind=words words='none live ready' ;;
	jbpf-diff:) words='--before --after --since --until --outlier-hosts --days --store --from --event --before-image --after-image --before-host --after-host --before-container --after-container --before-pod --after-pod --before-namespace --after-namespace --before-service --after-service --container --pod --namespace --service --image --host -p --pid --comm --thread --cgroup --kind --relevant --format -o --output -n --rows --no-pager --output-dir --keep-days --fail-on --help --version' kind=files ;;
	jbpf-diff:--before | jbpf-diff:--after | jbpf-diff:--since | jbpf-diff:--until | jbpf-diff:--days | jbpf-diff:--from | jbpf-diff:--before-image | jbpf-diff:--after-image | jbpf-diff:--before-host | jbpf-diff:--after-host | jbpf-diff:--before-container | jbpf-diff:--after-container | jbpf-diff:--before-pod | jbpf-diff:--after-pod | jbpf-diff:--before-namespace | jbpf-diff:--after-namespace | jbpf-diff:--before-service | jbpf-diff:--after-service | jbpf-diff:--container | jbpf-diff:--pod | jbpf-diff:--namespace | jbpf-diff:--service | jbpf-diff:--image | jbpf-diff:--host | jbpf-diff:--pid | jbpf-diff:-p | jbpf-diff:--comm | jbpf-diff:--thread | jbpf-diff:--cgroup | jbpf-diff:--relevant | jbpf-diff:--rows | jbpf-diff:-n | jbpf-diff:--keep-days) kind=free ;;
	jbpf-diff:--store) kind=folders ;;
	jbpf-diff:--event) kind=words words='cpu page-faults major-faults context-switches cpu-migrations off-cpu sched alloc wall lock disk' ;;
	jbpf-diff:--kind) kind=words words='java kernel native' ;;
	jbpf-diff:--format) kind=words words='top folded html json' ;;
	jbpf-diff:--output | jbpf-diff:-o) kind=files ;;
	jbpf-diff:--output-dir) kind=folders ;;
	jbpf-diff:--fail-on) kind=words words='regression slower regression-or-unjudged slower-or-unjudged' ;;
	jbpf-dump:) words='--since --until --store --from --event --container --pod --namespace --service --image --host -p --pid --comm --thread --cgroup --kind --format -o --output --no-pager --by --sort --callers -n --rows --lines --own --idle --list --help --version' ;;
	jbpf-dump:--since | jbpf-dump:--until | jbpf-dump:--from | jbpf-dump:--container | jbpf-dump:--pod | jbpf-dump:--namespace | jbpf-dump:--service | jbpf-dump:--image | jbpf-dump:--host | jbpf-dump:--pid | jbpf-dump:-p | jbpf-dump:--comm | jbpf-dump:--thread | jbpf-dump:--cgroup | jbpf-dump:--callers | jbpf-dump:--rows | jbpf-dump:-n | jbpf-dump:--own) kind=free ;;
	jbpf-dump:--store) kind=folders ;;
	jbpf-dump:--event) kind=words words='cpu page-faults major-faults context-switches cpu-migrations off-cpu sched alloc wall lock disk' ;;
	jbpf-dump:--kind) kind=words words='java kernel native' ;;
	jbpf-dump:--format) kind=words words='folded html svg top json pprof speedscope otlp cells' ;;
	jbpf-dump:--output | jbpf-dump:-o) kind=files ;;
	jbpf-dump:--by) kind=words words='container pod namespace service image host comm pid thread none' ;;
	jbpf-dump:--sort) kind=words words='self total' ;;
	jbpf-maps:) words='-p --pid --container -d --directory --force --help --version' ;;
	jbpf-maps:--pid | jbpf-maps:-p | jbpf-maps:--container) kind=free ;;
	jbpf-maps:--directory | jbpf-maps:-d) kind=folders ;;
	jbpf-push:) words='--store --once --interval --state --metrics --init --help --version' kind=files ;;
	jbpf-push:--interval) kind=free ;;
	jbpf-push:--store) kind=folders ;;
	jbpf-push:--state) kind=folders ;;
	jbpf-push:--metrics) kind=files ;;
	jbpf-record:) words='-d --duration -o --output --format --threads --event -c --count --frequency --off-cpu-rate --threshold --wakers --jit --java-parameters --unwind --ignore-opt-out --by --sort --callers -n --rows --lines --own --idle --container --pod --namespace --service --image --host -p --pid --comm --thread --cgroup --kind --help --version' kind=files ;;
	jbpf-record:--duration | jbpf-record:-d | jbpf-record:--count | jbpf-record:-c | jbpf-record:--frequency | jbpf-record:--off-cpu-rate | jbpf-record:--threshold | jbpf-record:--callers | jbpf-record:--rows | jbpf-record:-n | jbpf-record:--own | jbpf-record:--container | jbpf-record:--pod | jbpf-record:--namespace | jbpf-record:--service | jbpf-record:--image | jbpf-record:--host | jbpf-record:--pid | jbpf-record:-p | jbpf-record:--comm | jbpf-record:--thread | jbpf-record:--cgroup) kind=free ;;
	jbpf-record:--output | jbpf-record:-o) kind=files ;;
	jbpf-record:--format) kind=words words='folded html svg top json pprof speedscope otlp' ;;
	jbpf-record:--event) kind=words words='cpu page-faults major-faults context-switches cpu-migrations off-cpu sched alloc wall lock disk' ;;
	jbpf-record:--jit) kind=words words='auto vmstructs perfmap attach off' ;;
	jbpf-record:--java-parameters) kind=words words='off on' ;;
	jbpf-record:--unwind) kind=words words='auto fp' ;;
	jbpf-record:--by) kind=words words='container pod namespace service image host comm pid thread none' ;;
	jbpf-record:--sort) kind=words words='self total' ;;
	jbpf-record:--kind) kind=words words='java kernel native' ;;
	jbpf-status:) words='--store --event --all --format --json --check --no-pager --help --version' ;;
	jbpf-status:--store) kind=folders ;;
	jbpf-status:--event) kind=words words='cpu page-faults major-faults context-switches cpu-migrations off-cpu sched alloc' ;;
	jbpf-status:--format) kind=words words='table json' ;;
	jbpf-store:) words='--store --format --help --version' operands='check compact' ;;
	jbpf-store:--store) kind=folders ;;
	jbpf-store:--format) kind=words words='text json' ;;
	jbpf-top:) words='--event --store --sample --container --pod --namespace --service --image --host -p --pid --comm --thread --cgroup --kind --once --since -n --rows --help --version' ;;
	jbpf-top:--container | jbpf-top:--pod | jbpf-top:--namespace | jbpf-top:--service | jbpf-top:--image | jbpf-top:--host | jbpf-top:--pid | jbpf-top:-p | jbpf-top:--comm | jbpf-top:--thread | jbpf-top:--cgroup | jbpf-top:--since | jbpf-top:--rows | jbpf-top:-n) kind=free ;;
	jbpf-top:--event) kind=words words='cpu page-faults major-faults context-switches cpu-migrations off-cpu sched alloc' ;;
	jbpf-top:--store) kind=folders ;;
	jbpf-top:--kind) kind=words words='java kernel native' ;;
	jbpf-web:) words='--store --from --listen --help --version' ;;
	jbpf-web:--from | jbpf-web:--listen) kind=free ;;
	jbpf-web:--store) kind=folders ;;
	# end
	esac
}

# _jbpf_offer KIND WORDS CURRENT
_jbpf_offer()
{
	case $1 in
	words) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$3") ;;
	files) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
	folders) mapfile -t COMPREPLY < <(compgen -d -- "$3") ;;
	*) COMPREPLY=() ;;
	esac
	case $1 in
	files | folders) compopt -o filenames 2>/dev/null ;;
	esac
	return 0
}

_jbpf()
{
	local kind words operands option
	local program=${COMP_WORDS[0]##*/} first=1
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}

	if [ "$program" = jbpf ] && [ "$COMP_CWORD" -gt 1 ]; then
		case ${COMP_WORDS[1]} in
		-*) return 0 ;;
		help) ;;
		*) program=jbpf-${COMP_WORDS[1]} ;;
		esac
		first=2
	fi
	# --format=html is three words: bash breaks at "=".
	option=$before
	if [ "$current" = '=' ]; then
		current=''
	elif [ "$before" = '=' ] && [ "$COMP_CWORD" -gt 2 ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "$COMP_CWORD" -gt "$first" ] || [ "$option" != "$before" ]; then
		_jbpf_words "$program" "$option"
		if [ -n "$kind" ] && [[ $option == -* ]]; then
			_jbpf_offer "$kind" "$words" "$current"
			return 0
		fi
	fi
	_jbpf_words "$program"
	if [[ $current == -* ]]; then
		_jbpf_offer words "$words" "$current"
	elif [ -n "$kind" ]; then
		_jbpf_offer "$kind" '' "$current"
	elif [ -n "$operands" ]; then
		# The verb or the command, once.
		[ "$COMP_CWORD" = "$first" ] && _jbpf_offer words "$operands" "$current"
	else
		_jbpf_offer words "$words" "$current"
	fi
	return 0
}

# begin programs
complete -F _jbpf jbpf jbpfd jbpf-diff jbpf-dump jbpf-maps jbpf-push jbpf-record jbpf-status jbpf-store jbpf-top jbpf-web
# end
