# .ci/mpich.sh: MPICH with FCI as its device, as .ci/run builds and tests it.
# shellcheck shell=bash

# MPICH's build knows the places of FCI and of its own installation. So that a clone anywhere finds
# the last one's, both are always in the same place, beside the other things that are kept; unless
# another run is at work there.
place_mpich() {
    fci=$PWD/build/prefix mpich=$PWD/build/mpich
    exec 9>"$kept/lock"
    flock -n 9 || return 0
    rm -rf "$kept/fci" "$kept/core"
    # libtool's file says where the original is, and a kept MPICH would say it on, to clones that
    # have never seen it.
    cp -a build/prefix "$kept/core" && rm -f "$kept/core/lib/"*.la &&
        fci=$kept/core mpich=$kept/mpich
}

mpich_build() {  # title, log name, prefix, arguments...
    local title=$1 log=$2 prefix=$3
    shift 3
    single "$title" "$log" "$fci/bin/fci-mpich-build" --no-fortran --fci "$fci" --prefix "$prefix" \
        "$@" -- --with-datatype-engine=dataloop
}

# The headers are those of this build, and of others that were configured only.
build_mpich() {
    local others=(4.2 4.3 5.0) code
    [ -e build/prefix/lib/libfci.so ] || return
    place_mpich
    mpich_build "MPICH 4.0.2 with FCI as its device" mpich-build "$mpich"
    single "MPICH's internal headers, 4.0" mpich-headers test/mpich/mpich-headers fetch 4.0 \
        --fci "$fci" --prefix "$mpich"
    [ "$full" = yes ] || return
    begin
    test/mpich/mpich-headers fetch "${others[@]}" --fci "$fci" \
        >build/log/mpich-headers-more.log 2>&1 </dev/null
    code=$?  # 3: the archive does not have them all
    note "MPICH's internal headers, ${others[*]}" $((code != 1)) $((code == 1)) 0
    sed 's/^/    /' build/log/mpich-headers-more.log
}

over_mpich() {
    local quick=--quick more=()
    local between=(--quick --only 'coll/* 8' --only 'pt2pt/* 4' --only 'pt2pt/* 10'
        --only 'pt2pt/huge_*' --only 'pt2pt/*recv* 2' --only pt2pt/mprobe)
    if [ "$full" = yes ]; then
        quick=--lines=20 more=(mpi4py) between=(--lines=20 --dirs 'pt2pt,coll')
    fi
    [ -x "$mpich/bin/mpirun.fci" ] || return
    counted "Debian's MPICH programs" mpich-programs test/programs/run --transport fci-mpich \
        --mpich "$mpich" netpipe mpich flood spawn crowd ordinary protocols leftover deaf \
        'calm/barrier*' calm/steps-2 "${more[@]}"
    counted "instructions of MPICH's calls" mpich-instructions test/instructions/calls mpich \
        "$mpich"
    counted "MPICH's own tests" mpich-tests test/harness/remember mpich-tests @core netmod/ch4 \
        mpich-patches test/mpich -- test/mpich/run "$quick" --prefix "$mpich"
    counted "MPICH's own tests, 2 hosts" mpich-tests-hosts test/harness/remember \
        mpich-tests-hosts @core netmod/ch4 mpich-patches test/mpich test/programs/lab.py -- \
        test/mpich/run --hosts 2 "${between[@]}" --prefix "$mpich"
}

# Where its source is to be had: from Debian's archive, or in the directory MPICH_5_SOURCE.
over_mpich_5() {
    local prefix=$PWD/build/mpich-5 source=(--version 5.0.2)
    if [ -n "${MPICH_5_SOURCE:-}" ]; then
        source=(--source "$MPICH_5_SOURCE")
    elif grep -q '^MPICH 5.0: .*could not be fetched' build/log/mpich-headers-more.log; then
        echo "MPICH 5.0: skipped, its source is not to be had here"
        return
    fi
    mpich_build "MPICH 5.0 with FCI as its device" mpich-5-build "$prefix" "${source[@]}"
    [ -x "$prefix/bin/mpirun.fci" ] || return
    counted "programs over MPICH 5.0" mpich-5-programs test/programs/run --transport fci-mpich \
        --mpich "$prefix" netpipe flood mpich crowd
    counted "MPICH 5.0's own tests, pt2pt" mpich-5-tests test/mpich/run --quick --dirs pt2pt \
        --prefix "$prefix"
}
