#!/usr/bin/env bash
# Downloads the libraries for aarch64 that cmake/aarch64.cmake links (zstd, zlib, cmocka) into build/aarch64-root with apt-get. It uses
# separate package lists, installs nothing, and leaves the machine's architectures unchanged. Exit status 77: the mirror does not have them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root
if [ -e "$root/complete" ]; then exit 0; fi
rm -rf "$root"
mkdir -p "$root"/apt/lists/partial "$root"/apt/cache/archives/partial "$root"/debs
apt=(apt-get -qq -o Dir::State::Lists="$root/apt/lists" -o Dir::Cache="$root/apt/cache" -o Dir::State::status=/dev/null
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root)
"${apt[@]}" update >"$root/apt/log" 2>&1 || true      # a mirror of another release may not have arm64
if ! (cd "$root/debs" && "${apt[@]}" download libzstd-dev zlib1g zlib1g-dev libcmocka0 libcmocka-dev) >>"$root/apt/log" 2>&1; then
    echo "aarch64: skipped: the libraries for arm64 cannot be had here: $(tail -1 "$root/apt/log")"
    exit 77
fi
for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root"; done
rm -rf "$root"/apt "$root"/debs
touch "$root/complete"
