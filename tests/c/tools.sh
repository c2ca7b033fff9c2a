#!/usr/bin/env bash
# Sees to it that the programs named by Debian packages are here: `tools.sh clang cmake`. What is missing is installed
# where that can be done without a question (as root, or with sudo that asks for no password), and reported where not.
set -euo pipefail

has() {
    case $1 in
    build-essential) command -v gcc && command -v g++ ;;
    libcurl4-openssl-dev) pkg-config --exists libcurl ;;
    # What clang's sanitizers are made of.
    libclang-rt-dev) clang -fsanitize=address,undefined -x c -o /dev/null - 2>&1 <<<'int main(void) { return 0; }' ;;
    pkg-config | clang | cmake | valgrind | chromium) command -v "$1" ;;
    *) echo "tools.sh does not know how to look for $1" >&2 && exit 2 ;;
    esac >/dev/null
}

missing=()
for package; do
    has "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit

install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if ! command -v apt-get >/dev/null; then
    sudo=none
elif [ "$(id -u)" -eq 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo='sudo -n'
else
    sudo=none
fi
if [ "$sudo" = none ]; then
    echo "The tests need what is not here: ${missing[*]} (names of Debian's packages)." >&2
    exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
$sudo "${install[@]}" >/dev/null || { $sudo apt-get update >/dev/null && $sudo "${install[@]}" >/dev/null; }
for package in "${missing[@]}"; do
    has "$package" || { echo "$package was installed, but is still not found" >&2 && exit 1; }
done
