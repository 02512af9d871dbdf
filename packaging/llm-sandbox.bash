# bash completion for llm-sandbox; SPDX-License-Identifier: MIT
#
# Commands and options are asked from the program that is being completed, so this list is
# never behind. "help --options" prints "command TAB --name TAB -x TAB ARGUMENT" lines.

_llm_sandbox_dump() {
	"$1" help --options 2>/dev/null
}

# The words for the value of an option, or file names.
_llm_sandbox_value() {
	local program=$1 option=$2 current=$3

	case $option in
	--language | -l)
		COMPREPLY=($(compgen -W 'python java javascript cpp go ruby r' -- "$current"))
		;;
	--backend)
		COMPREPLY=($(compgen -W 'native' -- "$current"))
		;;
	--config | --token-file | --tls-cert | --tls-key)
		COMPREPLY=($(compgen -f -- "$current"))
		;;
	*)
		COMPREPLY=()
		;;
	esac
}

_llm_sandbox() {
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]:-} current=${COMP_WORDS[COMP_CWORD]}
	local previous=${COMP_WORDS[COMP_CWORD - 1]} dump takes

	dump=$(_llm_sandbox_dump "$program")
	if [[ $COMP_CWORD -eq 1 ]] || [[ $command == help && $current != -* ]]; then
		COMPREPLY=($(compgen -W "$(awk -F '\t' 'NF == 1' <<<"$dump")" -- "$current"))
		return
	fi
	takes=$(awk -F '\t' -v c="$command" -v o="$previous" \
		'$1 == c && ($2 == o || $3 == o) && $4 != ""' <<<"$dump")
	if [[ -n $takes ]]; then
		_llm_sandbox_value "$program" "$previous" "$current"
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "$(awk -F '\t' -v c="$command" '$1 == c { print $2 }' \
			<<<"$dump")" -- "$current"))
	else
		COMPREPLY=($(compgen -f -- "$current"))
	fi
}

complete -o filenames -F _llm_sandbox llm-sandbox
