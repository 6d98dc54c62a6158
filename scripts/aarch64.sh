#!/usr/bin/env bash
# Fetches the libraries for aarch64 that cmake/aarch64.cmake links (zstd, zlib, cmocka) into build/aarch64-root, by apt-get with lists of
# its own: nothing is installed, and the machine's own architectures stay what they are.  77: the release's mirror has none of them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root
if [ -e "$root/complete" ]; then exit 0; fi
rm -rf "$root"
mkdir -p "$root"/apt/lists/partial "$root"/apt/cache/archives/partial "$root"/debs
apt=(apt-get -qq -o Dir::State::Lists="$root/apt/lists" -o Dir::Cache="$root/apt/cache" -o Dir::State::status=/dev/null
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root)
"${apt[@]}" update >"$root/apt/log" 2>&1 || true      # a mirror of something else may not have arm64
if ! (cd "$root/debs" && "${apt[@]}" download libzstd-dev zlib1g zlib1g-dev libcmocka0 libcmocka-dev) >>"$root/apt/log" 2>&1; then
    echo "aarch64: skipped: the libraries for arm64 cannot be had here: $(tail -1 "$root/apt/log")"
    exit 77
fi
for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root"; done
rm -rf "$root"/apt "$root"/debs
touch "$root/complete"
