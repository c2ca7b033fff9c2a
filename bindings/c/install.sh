#!/bin/sh
# Puts the built library, its header, pkg-config file and CMake package under a prefix, or takes them away again:
# `install.sh install`, `install.sh uninstall`. The Makefile calls it, and says where and what in the environment:
# DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, VERSION, ABI, and BUILT, where cargo has put the library.
set -eu

# The path $1, which is meant from $2 on unless it is absolute; without a slash at its end.
from() {
    case $1 in
    /*) path=$1 ;;
    *) path=${2%/}/$1 ;;
    esac
    while [ "$path" != / ] && [ "$path" != "${path%/}" ]; do path=${path%/}; done
    printf '%s\n' "$path"
}

PREFIX=$(from "${PREFIX:?is empty, which would be here}" "$PWD")
LIBDIR=$(from "${LIBDIR:-lib}" "$PREFIX")
INCLUDEDIR=$(from "${INCLUDEDIR:-include}" "$PREFIX")
DESTDIR=${DESTDIR:+$(from "$DESTDIR" "$PWD")}
[ "$DESTDIR" != / ] || DESTDIR=
lib=$DESTDIR$LIBDIR
include=$DESTDIR$INCLUDEDIR
cmake=$lib/cmake/decluster
source=$(dirname "$0")

# What the static library needs of the system: `cargo rustc --print native-static-libs` says so. Two that it names are
# left out: the C library, and libgcc_s, for which every C compiler finds a substitute where all is to be static.
system_libraries='-lutil -lrt -lpthread -lm -ldl'

# `name` and `name.N`, which the linker and the loader look for, and the file that they lead to.
put_library() {
    file=libdecluster.so.$VERSION
    older=$(readlink "$lib/libdecluster.so.$ABI" || true)
    install -m 755 "$BUILT/libdecluster.so" "$lib/$file"
    ln -sf "$file" "$lib/libdecluster.so.$ABI"
    ln -sf "libdecluster.so.$ABI" "$lib/libdecluster.so"
    # This version has taken its place. Another ABI's stays for the programs that were linked with it.
    case $older in
    "$file" | */*) ;;
    libdecluster.so.*) rm -f "$lib/$older" ;;
    esac
    install -m 644 "$BUILT/libdecluster.a" "$lib"
}

# $1 seen from below the prefix, as $2 calls it, if it lies there.
below_prefix() {
    case $1 in
    "${PREFIX%/}"/*) printf '%s\n' "$2${1#"${PREFIX%/}"}" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

# The way from the CMake package up to the prefix and down to the header. What lies outside of the prefix does not move.
way_to_header() {
    package=$(below_prefix "$LIBDIR/cmake/decluster" '')
    if [ "$package" = "$LIBDIR/cmake/decluster" ] && [ "$PREFIX" != / ]; then
        printf '%s\n' "$INCLUDEDIR"
    else
        below_prefix "$INCLUDEDIR" "$(printf '%s\n' "$package" | sed 's,//*[^/]*,/..,g; s,^/,,')"
    fi
}

# Writes a template to $2, with what stands between @ replaced.
fill() {
    pc_libdir=$(below_prefix "$LIBDIR" '${prefix}')
    pc_includedir=$(below_prefix "$INCLUDEDIR" '${prefix}')
    sed -e "s|@VERSION@|$VERSION|; s|@ABI@|$ABI|; s|@SYSTEM_LIBRARIES@|$system_libraries|" \
        -e "s|@CMAKE_SYSTEM_LIBRARIES@|$(printf '%s' "$system_libraries" | tr ' ' ';')|" \
        -e "s|@PREFIX@|$(quoted "$PREFIX")|; s|@PC_LIBDIR@|$(quoted "$pc_libdir")|" \
        -e "s|@PC_INCLUDEDIR@|$(quoted "$pc_includedir")|" \
        -e "s|@CMAKE_INCLUDEDIR@|$(quoted "$(way_to_header)")|" \
        "$source/$1" >"$2.new"
    chmod 644 "$2.new"
    mv -f "$2.new" "$2"
}

# As the right side of sed's `s`.
quoted() {
    printf '%s\n' "$1" | sed 's/[\\&|]/\\&/g'
}

# Removes the directory $1 and those above it while they are empty and below $2.
remove_empty() {
    path=$1
    while [ "$path" != "${path#"${2%/}"/}" ] && rmdir "$path" 2>/dev/null; do path=$(dirname "$path"); done
}

case ${1-} in
install)
    # Make takes what is there for built, whatever cargo was told.
    if grep -q decluster_test_panic "$BUILT/libdecluster.so" "$BUILT/libdecluster.a"; then
        echo "install.sh: $BUILT has the library with the hook of its tests; build it without" >&2
        exit 1
    fi
    # Not mkdir -p, which would heed a umask that shuts others out.
    install -d "$include" "$lib/pkgconfig" "$cmake"
    install -m 644 "$source/../../include/decluster.h" "$include"
    put_library
    fill decluster.pc.in "$lib/pkgconfig/decluster.pc"
    fill declusterConfig.cmake.in "$cmake/declusterConfig.cmake"
    fill declusterConfigVersion.cmake.in "$cmake/declusterConfigVersion.cmake"
    ;;
uninstall)
    name=libdecluster.so.$ABI
    older=$(readlink "$lib/$name" || true)
    case $older in
    */*) ;;
    libdecluster.so.*) rm -f "$lib/$older" ;;
    esac
    # What has no ABI in its name may belong to another one by now, and stays with it.
    current=$(readlink "$lib/libdecluster.so" || true)
    rm -f "$lib/libdecluster.so.$VERSION" "$lib/$name"
    case $current in
    "$name" | '')
        rm -f "$lib/libdecluster.so" "$lib/libdecluster.a" "$include/decluster.h" "$lib/pkgconfig/decluster.pc" \
            "$cmake/declusterConfig.cmake" "$cmake/declusterConfigVersion.cmake"
        ;;
    esac
    remove_empty "$cmake" "$lib"
    remove_empty "$lib/pkgconfig" "$lib"
    # A system keeps its directories, even empty ones; a prefix or a stage of one's own is as it was.
    case $DESTDIR$PREFIX in
    / | /usr | /usr/local) ;;
    *)
        remove_empty "$lib" "${DESTDIR:-$PREFIX}"
        remove_empty "$include" "${DESTDIR:-$PREFIX}"
        ;;
    esac
    ;;
*)
    echo "install.sh install, or install.sh uninstall" >&2
    exit 2
    ;;
esac
