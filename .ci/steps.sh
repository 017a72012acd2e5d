# .ci/steps.sh: the steps of .ci/run. Each prints one line: what it was, its seconds, those of
# processor time (other work on the machine does not add to them), its cases; all of these are kept
# in build/log/steps, a line "title|seconds|processor seconds|passed|failed|remembered" for each.
# shellcheck shell=bash
steps=$PWD/build/log/steps
: >"$steps"

# Into processor: seconds of processor time of all children of this shell that have ended.
look_at_processor() {
    local times=$steps.times.$BASHPID
    times >"$times"  # a pipe would be a shell of its own
    processor=$(awk -F'[ms ]+' 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }' "$times")
    rm -f "$times"
}

# A step begins: start and processor_start are those of the next note.
begin() {
    look_at_processor
    start=$SECONDS processor_start=$processor
}

note() {  # title, passed, failed, remembered, remark
    local title=$1 seconds=$((SECONDS - start))
    shift
    look_at_processor
    echo "$title|$seconds|$((processor - processor_start))|$1|$2|$3" >>"$steps"
    printf '%-45s %5d s, %5d of processor   %s\n' "$title" "$seconds" \
        $((processor - processor_start)) \
        "$1 passed, $2 failed${4:+, $4}$([ "$3" -eq 0 ] || echo ", $3 passed before")"
}

# What a log says: its last "N passed, N failed" into p and f, and what it left out because it
# passed before into r; if the command failed, f is not 0.
read_count() {  # log, exit code
    read -r p _ f _ <<<"$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$1" | tail -n 1)"
    p=${p:-0} f=${f:-0}
    r=$(sed -n 's/^ *\([0-9]*\) more passed before with the same content$/\1/p' "$1" |
        awk '{ r += $1 } END { print r + 0 }')
    if [ "$2" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    if [ $((p + f + r)) -eq 0 ]; then f=1; fi  # nothing ran
}

# One build directory, one make, its tests counted case by case.
#   checked TITLE DIRECTORY CONFIGURE-ARGUMENTS TARGET
checked() {
    local title=$1 directory=$2 configure=$3 target=$4 log p f s code
    begin
    log=$PWD/build/log/$(basename "$directory").log
    mkdir -p "$directory"
    rm -rf "$directory/test/results"
    # shellcheck disable=SC2086
    (cd "$directory" && { [ -e Makefile ] || "$OLDPWD/configure" -q $configure; } &&
        make -k -j"$jobs" "$target") >"$log" 2>&1 </dev/null
    code=$?
    read -r p f s <<<"$(cat "$directory"/test/results/*.count 2>/dev/null |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')"
    if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    [ "$p" -gt 0 ] || [ "$f" -gt 0 ] || f=1  # nothing ran
    note "$title" "$p" "$f" 0 "$s skipped"
    [ "$f" -gt 0 ] || return
    grep -E '^(FAIL|ERROR): |error: ' "$log" | sort -u | head -n 20 | sed 's/^/    /'
    cat "$directory"/test/results/*.failed 2>/dev/null | sed 's/^/    | /'
    echo "    see $log and $directory/*.log"
}

# One command that is one case.
single() {  # title, log name, command...
    local title=$1 log=build/log/$2.log
    shift 2
    begin
    if "$@" >"$log" 2>&1 </dev/null; then
        note "$title" 1 0 0
        return
    fi
    note "$title" 0 1 0
    grep -E '^(FAIL|ERROR): |^\[  FAILED  \]|^not ok|: Failure$|error: |^seed |ERROR: ' "$log" |
        sort -u | head -n 20 | sed 's/^/    /'
    tail -n 20 "$log" | sed 's/^/    /'
    return 1
}

# One command that counts its cases.
counted() {  # title, log name, command...
    local title=$1 log=build/log/$2.log p f r
    shift 2
    begin
    "$@" >"$log" 2>&1 </dev/null
    read_count "$log" $?
    note "$title" "$p" "$f" "$r"
    [ "$f" -gt 0 ] || return
    grep -iE -A 4 '^ *(fail|not ok) ' "$log" | head -n 40 | sed 's/^/    /'
    tail -n 5 "$log" | sed 's/^/    | /'
}

# Two functions at once, each of which uses one core and measures no time. What the first one says
# comes last.
together() {
    "$1" >"build/log/$1.out" 2>&1 &
    local one=$!
    "$2"
    wait "$one"
    cat "build/log/$1.out"
}

# The seconds of this run into build/log/seconds.md, as the table of docs/hacking.md; then totals.
summary() {  # seconds in all
    local passed failed remembered
    {
        echo '| step | seconds | of processor | cases | passed before |'
        echo '|---|---:|---:|---:|---:|'
        awk -F'|' '{ printf "| %s | %d | %d | %d | %s |\n", $1, $2, $3, $4 + $5, $6 ? $6 : "" }
            { processor += $3 }
            END { printf "| **all** | %d | %d | | |\n", all, processor }' all="$1" "$steps"
    } >build/log/seconds.md
    read -r passed failed remembered <<<"$(awk -F'|' '{ p += $4; f += $5; r += $6 }
        END { print p + 0, f + 0, r + 0 }' "$steps")"
    echo
    echo "$1 s in all; a table of them is in build/log/seconds.md"
    echo "$remembered more passed before with the same content and were not run again" \
        "(.ci/run --full runs them)"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
