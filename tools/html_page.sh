#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# html_page.sh DIR NAME: put a report's page together from DIR/page.html, the
# styles common.css and NAME.css, and the scripts common.js and NAME-*.js.
#
# The page's content security policy allows these styles and this script by
# their hashes and nothing else, so they must come out byte by byte.
set -eu

dir=$1 name=$2
css=$(mktemp) js=$(mktemp)
trap 'rm -f "$css" "$js"' EXIT

hash() {
	sha256sum "$1" | cut -c1-64 | tr a-f A-F | basenc -d --base16 | base64
}

cat "$dir/common.css" "$dir/$name.css" > "$css"
# Without indentation, comments of whole lines and empty lines, 15 % of the script: each page has
# it. No text of ours goes over several lines.
sed -e 's/^\t*//' -e '/SPDX/b' -e '/^\/\*.*\*\/$/d' -e '/^\/\*$/,/^ *\*\/$/d' -e '/^$/d' \
	"$dir/common.js" "$dir/$name"-*.js > "$js"
# What would end the element early, or is a mark of ours.
if grep -n -i -e '</script' -e '</style' -e '<!--' -e '@[A-Z]*@' "$css" "$js" >&2; then
	echo "html_page.sh: not allowed in a page's style or script" >&2
	exit 1
fi
[ "$(grep -c '@DATA@' "$dir/page.html")" = 1 ] || { echo "page.html: one @DATA@" >&2; exit 1; }

awk -v name="$name" -v css="$css" -v js="$js" -v css_hash="$(hash "$css")" \
    -v js_hash="$(hash "$js")" -v body="$dir/$name.html" '
function include(path, line) {
	while ((getline line < path) > 0)
		print line
	close(path)
}
/^@CSS@$/ { printf "<style>"; include(css); print "</style>"; next }
/^@JS@$/ { printf "<script>"; include(js); print "</script>"; next }
/^@BODY@$/ { include(body); next }
{
	gsub(/@NAME@/, name)
	gsub(/@CSS_HASH@/, css_hash)
	gsub(/@JS_HASH@/, js_hash)
	print
}' "$dir/page.html"
