#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every public header compiles alone, as C11 and as C++17, without a warning.
# Usage: tests/headers.sh SOURCE_ROOT
set -euo pipefail
cd "$1"

strict=(-Wall -Wextra -pedantic -Werror -Iinclude -fsyntax-only)
failures=0
number=0

check() {
	local name=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		failures=$((failures + 1))
	fi
}

for header in include/llmsandbox/*.h; do
	name=llmsandbox/$(basename "$header")
	# A header of macros alone would leave nothing to compile.
	text="#include <$name>"$'\n'"extern int not_empty;"
	check "$name is C11" "${CC:-cc}" -std=c11 "${strict[@]}" -x c - <<<"$text"
	check "$name is C++17" "${CXX:-c++}" -std=c++17 "${strict[@]}" -x c++ - <<<"$text"
done
echo "1..$number"
[[ $failures -eq 0 ]]
