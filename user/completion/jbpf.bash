# SPDX-License-Identifier: Apache-2.0
# Completion of bash for jbpfd, jbpf and its commands. `make docs` makes the lines between "begin"
# and "end" from the tables of options.

# _jbpf_words PROGRAM [OPTION]: sets kind, words and operands for the word behind OPTION
_jbpf_words()
{
	kind='' words='' operands=''
	case $1:${2-} in
	# begin words
	jbpf: | jbpf:help) words='--help --version' operands='diff dump maps record status store help' ;;
	jbpfd:) words='--store --frequency --window --max-depth --jit --keep-age --keep-bytes --compact --metrics --pid --cgroup --log-level --config --check --help --version' ;;
	jbpfd:--frequency | jbpfd:--window | jbpfd:--max-depth | jbpfd:--keep-age | jbpfd:--keep-bytes | jbpfd:--metrics | jbpfd:--pid | jbpfd:--cgroup) kind=free ;;
	jbpfd:--store) kind=folders ;;
	jbpfd:--jit) kind=words words='auto vmstructs perfmap attach off' ;;
	jbpfd:--compact) kind=words words='off on' ;;
	jbpfd:--log-level) kind=words words='err warn info debug' ;;
	jbpfd:--config) kind=files ;;
	jbpf-diff:) words='--before --after --before-image --after-image --since --until --days --store --container --pod --namespace --service --pid --comm --cgroup --kind --relevant --format -o --output --output-dir --keep-days --fail-on --help --version' kind=files ;;
	jbpf-diff:--before | jbpf-diff:--after | jbpf-diff:--before-image | jbpf-diff:--after-image | jbpf-diff:--since | jbpf-diff:--until | jbpf-diff:--days | jbpf-diff:--container | jbpf-diff:--pod | jbpf-diff:--namespace | jbpf-diff:--service | jbpf-diff:--pid | jbpf-diff:--comm | jbpf-diff:--cgroup | jbpf-diff:--relevant | jbpf-diff:--keep-days) kind=free ;;
	jbpf-diff:--store) kind=folders ;;
	jbpf-diff:--kind) kind=words words='java kernel native' ;;
	jbpf-diff:--format) kind=words words='top folded html json' ;;
	jbpf-diff:--output | jbpf-diff:-o) kind=files ;;
	jbpf-diff:--output-dir) kind=folders ;;
	jbpf-diff:--fail-on) kind=words words='regression' ;;
	jbpf-dump:) words='--since --until --store --container --pod --namespace --service --pid --comm --cgroup --kind --by --format -o --output --lines --list --help --version' ;;
	jbpf-dump:--since | jbpf-dump:--until | jbpf-dump:--container | jbpf-dump:--pod | jbpf-dump:--namespace | jbpf-dump:--service | jbpf-dump:--pid | jbpf-dump:--comm | jbpf-dump:--cgroup) kind=free ;;
	jbpf-dump:--store) kind=folders ;;
	jbpf-dump:--kind) kind=words words='java kernel native' ;;
	jbpf-dump:--by) kind=words words='container pod service pid none' ;;
	jbpf-dump:--format) kind=words words='folded html svg top json pprof speedscope cells' ;;
	jbpf-dump:--output | jbpf-dump:-o) kind=files ;;
	jbpf-maps:) words='-p --pid --container -d --directory --force --help --version' ;;
	jbpf-maps:--pid | jbpf-maps:-p | jbpf-maps:--container) kind=free ;;
	jbpf-maps:--directory | jbpf-maps:-d) kind=folders ;;
	jbpf-record:) words='-p --pid --container --comm -d --duration -o --output --format --frequency --jit --ignore-opt-out --help --version' ;;
	jbpf-record:--pid | jbpf-record:-p | jbpf-record:--container | jbpf-record:--comm | jbpf-record:--duration | jbpf-record:-d | jbpf-record:--frequency) kind=free ;;
	jbpf-record:--output | jbpf-record:-o) kind=files ;;
	jbpf-record:--format) kind=words words='html svg folded json top' ;;
	jbpf-record:--jit) kind=words words='auto vmstructs perfmap attach off' ;;
	jbpf-status:) words='--store --all --format --json --check --help --version' ;;
	jbpf-status:--store) kind=folders ;;
	jbpf-status:--format) kind=words words='table json' ;;
	jbpf-store:) words='--store --format --help --version' operands='check compact' ;;
	jbpf-store:--store) kind=folders ;;
	jbpf-store:--format) kind=words words='text json' ;;
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
complete -F _jbpf jbpf jbpfd jbpf-diff jbpf-dump jbpf-maps jbpf-record jbpf-status jbpf-store
# end
