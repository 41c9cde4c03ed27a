# Sourced by the other scripts: runs commands as named steps and prints one line per step, with its time.
# On a terminal the line also shows the latest output. The whole output of each step is in .build/logs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
logs=$root/.build/logs
mkdir -p "$logs"
steps_started=$EPOCHREALTIME
steps=0 broken=0 tested=0 passed=0 failed=0 skipped=0
export NETKIT_STRICT=1 # warnings are errors
# One build folder for the tests of all packages, which depend on each other by path: each module is compiled once.
build=$root/.build/packages

# Prints the seconds since a given EPOCHREALTIME.
since() { local now=$EPOCHREALTIME; printf '%d.%d' $(((${now/./} - ${1/./}) / 1000000)) $(((${now/./} - ${1/./}) / 100000 % 10)); }

# Copies standard input to the log, and each line to the terminal if standard output is one.
show() {
    local name=$1 width line
    if [[ ! -t 1 ]]; then cat >"$log"; return; fi
    width=$(($(tput cols 2>/dev/null || echo 80) - ${#name} - 12))
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        printf '\r\033[K  …  %s  %s' "$name" "${line:0:$((width > 0 ? width : 0))}"
    done 3>"$log"
    printf '\r\033[K'
}

# step NAME COMMAND…: runs the command; for a failure, prints the relevant output and counts it for `finish`.
step() {
    local name=$1 started=$EPOCHREALTIME status=0 note=
    local log=$logs/${name//[^A-Za-z0-9]/-}.log p f s
    shift
    set -o pipefail
    "$@" 2>&1 </dev/null | show "$name" || status=$?
    read -r p f s < <(count_tests "$log")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    steps=$((steps + 1)) tested=$((tested + p + f + s))
    if ((p + f + s)); then note=" ($p passed, $f failed, $s skipped)"; fi
    if ((status == 0)); then
        printf 'ok      %7s s  %s%s\n' "$(since "$started")" "$name" "$note"
        return 0
    fi
    broken=$((broken + 1))
    if ((f == 0)); then failed=$((failed + 1)); fi # a failed build or a crash counts as well
    printf 'FAILED  %7s s  %s%s\n' "$(since "$started")" "$name" "$note"
    # A line with ◇ says that a test has begun; its arguments may be called errors.
    { grep -E '^✘|error:|^warning:|Fatal error' "$log" | grep -v '^◇' || tail -n 40 "$log"; } | head -n 60 | sed 's/^/    /'
    if ((status == 124)); then echo "    stopped at the time limit"; fi
    echo "    whole output: $log"
    return 1
}

# Without the system's modules in the index, which the discovery of tests needs, and the symbols of a debugger, a build takes three quarters
# of the time. Scripts that build the same folder must do so with the same options.
# Those that build a program alone need no index: --disable-index-store.
build_options=(-debug-info-format none -Xswiftc -index-ignore-system-modules -Xswiftc -index-ignore-clang-modules)

# Builds the libraries of the root package.
build_umbrella() { swift build --package-path "$root" "${build_options[@]}"; }

# build_package FOLDER [OPTION…]: builds a package; an import of our modules that a target does not declare is an error.
build_package() {
    # SwiftPM would take the plan of the package that was built before for this one's.
    in_build_folder sh -c 'rm -f "$0"; exec "$@"' "$build/debug.yaml" \
        swift build --package-path "$1" --scratch-path "$build" "${build_options[@]}" \
            --explicit-target-dependency-import-check error "${@:2}"
}

# in_build_folder COMMAND…: runs a command that uses the build folder, once no other script does.
in_build_folder() {
    mkdir -p "$build"
    flock -o "$build.lock" "$@"
}

# run_tests FOLDER [OPTION…]: runs the Swift Testing tests of a package that is built; fails if the run hangs or finds no test. Names the
# tests of a run that hangs or crashes.
run_tests() {
    in_build_folder timeout --foreground 900 swift test --package-path "$1" --scratch-path "$build" --disable-xctest --skip-build "${@:2}" |
        awk '
            function name(line) {
                sub(/^[^ ]+ Test /, "", line)
                sub(/( started\.|( with [0-9]+ test cases?)? (passed|failed) after .*)$/, "", line)
                return line
            }
            { print; fflush() }
            / Test run with 0 tests / { none = 1 }
            / Test run .* (passed|failed) after / { ended = 1 }
            / Test (run|case) / { next }
            /^[^ ]+ Test .* started\.$/ { open[name($0)] }
            /^[^ ]+ Test .* (passed|failed) after / { delete open[name($0)] }
            END {
                if (none) print "error: no test matches"
                if (!ended) for (test in open) print "error: did not end: " test
                exit none
            }'
}

# test_package FOLDER [OPTION…]: builds one package from its own folder, as its users do, and runs its tests. Each target's tests run in a
# process of their own, since some count the descriptors of the process, which others would change; and a limited number of them at
# once, since they start many servers.
test_package() {
    local folder=$1 target
    shift
    step "build of $(basename "$folder")" build_package "$folder" --build-tests "$@" || return
    for target in "$folder"/Tests/*Tests/; do
        target=$(basename "$target")
        step "$target" run_tests "$folder" --filter "^$target\\." --experimental-maximum-parallelization-width 16 "$@"
    done
}

# Prints "passed failed skipped" for a log of Swift Testing.
count_tests() {
    awk '/^(✔|━) Test .* passed after/ && !/ Test run with / { p++ }
         /^✘ Test .* failed after/ && !/ Test run with / { f++ }
         /^➜ Test .* skipped/ { s++ }
         END { print p + 0, f + 0, s + 0 }' "$1"
}

# Prints the totals and exits with the overall status.
finish() {
    printf -- '--      %7s s  in total' "$(since "$steps_started")"
    if ((tested)); then
        printf ': %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    else
        printf ': %d of %d steps failed\n' "$broken" "$steps"
    fi
    exit $((broken > 0))
}

# Prints the comment at the top of the calling script as its help, and exits.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit "${1:-0}"; }
