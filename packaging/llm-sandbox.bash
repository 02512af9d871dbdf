# bash completion for llm-sandbox; SPDX-License-Identifier: MIT
#
# Commands and options are asked from the program that is being completed, so this list is
# never behind. "help --options" prints "command TAB --name TAB -x TAB ARGUMENT" lines.

_llm_sandbox_dump() {
	"$1" help --options 2>/dev/null
}

_llm_sandbox_sessions() {
	"$1" session list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# The words for the value of an option, or file names.
_llm_sandbox_value() {
	local program=$1 option=$2 current=$3

	case $option in
	--language | -l)
		COMPREPLY=($(compgen -W 'python java javascript cpp go ruby r' -- "$current"))
		;;
	--backend)
		COMPREPLY=($(compgen -W 'native docker podman micromamba auto' -- "$current"))
		;;
	--session | -S)
		COMPREPLY=($(compgen -W "$(_llm_sandbox_sessions "$program")" -- "$current"))
		;;
	--artifacts | -A)
		COMPREPLY=($(compgen -d -- "$current"))
		;;
	--pull)
		COMPREPLY=($(compgen -W 'missing always never' -- "$current"))
		;;
	--config | --dockerfile | --token-file | --tls-cert | --tls-key)
		COMPREPLY=($(compgen -f -- "$current"))
		;;
	*)
		COMPREPLY=()
		;;
	esac
}

# What may stand behind a command without being an option's value.
_llm_sandbox_word() {
	local program=$1 command=$2 current=$3 sessions

	case $command in
	"lib remove" | "lib lock" | "lib verify")
		COMPREPLY=($(compgen -W "$("$program" lib list 2>/dev/null |
			awk 'NR > 1 { print $1 }')" -- "$current"))
		;;
	"image build")
		COMPREPLY=($(compgen -W 'python java javascript cpp go ruby r' -- "$current"))
		;;
	"image remove")
		COMPREPLY=($(compgen -W "$("$program" image list 2>/dev/null |
			awk 'NR > 1 { print $1 }')" -- "$current"))
		;;
	"session stop" | ls | cat | cp)
		sessions=$(_llm_sandbox_sessions "$program")
		COMPREPLY=($(compgen -W "$sessions" -- "$current"))
		[[ $command == cp ]] && COMPREPLY+=($(compgen -f -- "$current"))
		;;
	*)
		COMPREPLY=($(compgen -f -- "$current"))
		;;
	esac
}

_llm_sandbox() {
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]:-} current=${COMP_WORDS[COMP_CWORD]}
	local previous=${COMP_WORDS[COMP_CWORD - 1]} dump takes seconds

	dump=$(_llm_sandbox_dump "$program")
	if [[ $COMP_CWORD -eq 1 ]] || [[ $command == help && $COMP_CWORD -eq 2 && $current != -* ]]; then
		COMPREPLY=($(compgen -W "$(awk -F '\t' 'NF == 1 { sub(/ .*/, "", $1); print $1 }' \
			<<<"$dump")" -- "$current"))
		return
	fi
	# Names of two words: "session start".
	seconds=$(awk -F '\t' -v c="$command" 'NF == 1 && index($1, c " ") == 1 {
		print substr($1, length(c) + 2) }' <<<"$dump")
	if [[ -n $seconds && $COMP_CWORD -eq 2 ]]; then
		COMPREPLY=($(compgen -W "$seconds" -- "$current"))
		return
	fi
	[[ -n $seconds ]] && command+=" ${COMP_WORDS[2]}"
	takes=$(awk -F '\t' -v c="$command" -v o="$previous" \
		'$1 == c && ($2 == o || $3 == o) && $4 != ""' <<<"$dump")
	if [[ -n $takes ]]; then
		_llm_sandbox_value "$program" "$previous" "$current"
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "$(awk -F '\t' -v c="$command" '$1 == c { print $2 }' \
			<<<"$dump")" -- "$current"))
	else
		_llm_sandbox_word "$program" "$command" "$current"
	fi
}

complete -o filenames -F _llm_sandbox llm-sandbox
