#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A folder of src/ may include only what stands above it in docs/architecture.md, section 2.
# Usage: tests/layers.sh [SOURCE_ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# folder: the folders that it may include besides itself
allowed="
base:
wire: base
agent: base wire
lang: base
policy: base
egress: base wire
backend: base wire
core: base wire lang policy egress backend
pool: base wire lang policy egress backend core
mcp: base wire lang policy egress backend core pool
http: base wire lang policy egress backend core pool
cli: mcp
"

failures=0
number=0
fail() {
	echo "# $*"
	failures=$((failures + 1))
}

check_folder() {
	local folder=$1 may=" $1 $2 " line file included

	while IFS= read -r line; do
		file=${line%%:*}
		included=${line#*\"}
		included=${included%%\"*}
		case $included in
		*..*)
			fail "$file: \"$included\" climbs out of its folder"
			;;
		*/*)
			[[ $may == *" ${included%%/*} "* ]] ||
				fail "$file: $folder may not include \"$included\""
			;;
		esac
	done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "src/$folder" | sed 's/:[0-9]*:/:/')
}

# The agent is no user of the library, and the library's users need no private header.
check_public_headers() {
	local found

	found=$(grep -rnE '#[[:space:]]*include[[:space:]]*"' include || true)
	[[ -z $found ]] || fail "a public header includes a private one: $found"
	found=$(grep -rnE '#[[:space:]]*include[[:space:]]*<llmsandbox/(session|doctor|language|result|version)\.h>' \
		src/base src/wire src/agent 2>/dev/null || true)
	[[ -z $found ]] || fail "a lower layer includes the API: $found"
}

report() {
	number=$((number + 1))
	if [[ $failures -eq $2 ]]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
	fi
}

for path in src/*/; do
	folder=$(basename "$path")
	before=$failures
	if row=$(grep "^$folder:" <<<"$allowed"); then
		check_folder "$folder" "${row#*:}"
	else
		fail "src/$folder has no place in the layers"
	fi
	report "$folder includes only what stands above it" "$before"
done
before=$failures
check_public_headers
report "public headers stand alone" "$before"
echo "1..$number"
[[ $failures -eq 0 ]]
