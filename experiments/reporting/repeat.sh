#!/bin/sh
# Checks this bundle, repeats what it holds, and compares byte by byte:
#     sh repeat.sh /path/to/tcplab
# tcplab is a checkout or a program, of the version that README.md names.
set -u

here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "Not the same: $*" >&2; exit 1; }

[ ! -d "${1-tcplab}" ] || set -- "$1/tcplab"
tcplab=$(command -v "${1-tcplab}") || {
    echo "There is no ${1-tcplab}. Name the program: sh repeat.sh /path/to/tcplab" >&2
    exit 2
}
case $tcplab in /*) ;; *) tcplab=$PWD/$tcplab ;; esac
cd "$here" || exit 2
bad=$(sha256sum --check --quiet SHA256SUMS 2>/dev/null | head -n 1)
[ -z "$bad" ] || fail "${bad%%: *} is not the file that was packed."
echo "The files are those that were packed."

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
[ ! -d studies ] || export TCPLAB_STUDIES="$here/studies"

"$tcplab" verify "$here/data" || exit 1

for file in figures/*.csv; do
    [ -f "$file" ] || continue
    kind=$(basename "$file" .csv)
    case $kind in table) ending=tex ;; *) ending=pdf ;; esac
    "$tcplab" figure "$here/data" --kind "$kind" --out "$work/$kind.$ending" >/dev/null || exit 1
    cmp -s "$file" "$work/$kind.csv" || fail "$file differs when it is made again from data."
done
echo "The data of all figures came out again."
