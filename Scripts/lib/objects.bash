# For scripts that link the objects of a release build themselves. `root` is the folder of the repository.

# release_objects BUILD OPTION PATTERN: prints the objects of the modules that `grep OPTION PATTERN` chooses. SwiftPM also keeps the objects of
# source files that were renamed or removed since; only those of present files are printed.
release_objects() {
    local build=$1 folder module object source
    for folder in "$build"/*.build; do
        module=$(basename "$folder" .build)
        grep -qE "${@:2}" <<<"$module" || continue
        while read -r object; do
            if [[ -e $folder/sources ]]; then
                source=$(basename "$object" .o)
                grep -q "/$source\$" "$folder/sources" && [[ -e $(grep -m 1 "/$source\$" "$folder/sources") ]] || continue
            else
                source=${object#"$folder"/}
                compgen -G "$root/Packages/*/Sources/$module/${source%.o}" >/dev/null || continue
            fi
            echo "$object"
        done < <(find "$folder" -name '*.o')
    done
}
