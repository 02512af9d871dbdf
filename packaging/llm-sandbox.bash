# Completion of llm-sandbox for bash: the program itself is asked what there is.

_llm_sandbox() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}

	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run exec languages doctor version help' -- "$word")
		return
	fi
	case $before in
	-l | --language)
		mapfile -t COMPREPLY < <(compgen -W 'python java javascript cpp go ruby r' -- "$word")
		return
		;;
	esac
	case $word in
	-*)
		mapfile -t COMPREPLY < <(compgen -W "$(llm-sandbox help "$command" 2>/dev/null |
			grep -o -- '--[a-z-]*')" -- "$word")
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	esac
}

complete -o filenames -F _llm_sandbox llm-sandbox
