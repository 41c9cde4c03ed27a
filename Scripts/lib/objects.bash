# For scripts that build what is installed. `root` is the folder of the repository.

# The build folder of all that is installed: each module is compiled once. It is not that of the tests, since root may install.
optimized=$root/.build/optimized

# build_release FOLDER OPTION…: an optimized build of a package. Always with the flags of users, or the next one would compile everything.
build_release() {
    mkdir -p "$optimized"
    # One script at a time. SwiftPM would take the plan of the package that was built before for this one's.
    flock -o "$optimized.lock" env -u NETKIT_STRICT sh -c 'rm -f "$0"; exec "$@"' "$optimized/release.yaml" \
        swift build -c release --package-path "$1" --scratch-path "$optimized" "${@:2}"
}

# with_dependencies MODULE…: prints the modules and all that they depend on, without system libraries.
with_dependencies() (
    set -o pipefail
    swift package dump-package --package-path "$root" | python3 -c '
import json, sys
targets = {target["name"]: target for target in json.load(sys.stdin)["targets"]}
found, waiting = set(), sys.argv[1:]
while waiting:
    module = waiting.pop()
    if module not in found and targets[module]["type"] != "system":
        found.add(module)
        waiting += [name for entry in targets[module]["dependencies"] for name, *_ in entry.values()]
print(*sorted(found), sep="\n")' "$@"
)

# release_objects MODULE…: sets `objects` to the objects of the modules and of all that they depend on; fails if a module has none. SwiftPM
# also keeps the objects of source files that were renamed or removed since; only those of present files are taken.
release_objects() {
    local module modules folder object source count
    modules=$(with_dependencies "$@") || return 1
    objects=()
    for module in $modules; do
        folder=$optimized/release/$module.build count=${#objects[@]}
        while read -r object; do
            if [[ -e $folder/sources ]]; then
                source=$(basename "$object" .o)
                grep -q "/$source\$" "$folder/sources" && [[ -e $(grep -m 1 "/$source\$" "$folder/sources") ]] || continue
            else
                source=${object#"$folder"/}
                compgen -G "$root/Packages/*/Sources/$module/${source%.o}" >/dev/null || continue
            fi
            objects+=("$object")
        done < <(find "$folder" -name '*.o')
        if ((${#objects[@]} == count)); then echo "error: $module is not built" >&2; return 1; fi
    done
}
