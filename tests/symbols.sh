#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The shared library exports all that the public headers declare, and nothing else; the agent, which
# runs where no library of this machine is, needs none.
# Usage: tests/symbols.sh SOURCE_ROOT LIBRARY AGENT
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -f "$folder"/exported "$folder"/declared; rmdir "$folder"' EXIT
nm -D --defined-only "$2" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u \
	>"$folder/exported"
# A declaration starts with SBX_API; its function is the word before the first parenthesis.
tr '\n' ' ' <<<"$(cat "$1"/include/llmsandbox/*.h)" | grep -oE 'SBX_API [^(;]*\(' |
	grep -oE 'sbx_[a-z0-9_]+\($' | tr -d '(' | sort -u >"$folder/declared"

status=0
check() {
	if [[ -z $3 ]]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		echo "# $3" | tr '\n' ' '
		echo
		status=1
	fi
}
echo 1..4
check 1 "only sbx_ names are exported" "$(grep -v '^sbx_' "$folder/exported" || true)"
check 2 "what is exported is declared" "$(comm -23 "$folder/exported" "$folder/declared")"
check 3 "what is declared is exported" "$(comm -13 "$folder/exported" "$folder/declared")"
needs=$(readelf -lWd "$3" | grep -E 'NEEDED|interpreter' || true)
check 4 "the agent needs no loader and no library" "$needs"
exit $status
