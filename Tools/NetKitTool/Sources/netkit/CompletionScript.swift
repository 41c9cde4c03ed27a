/// What netkit adds to the completion script of the parser for bash.
enum BashCompletion {
    /// The script with completion of the files after `@`, as in `-d @FILE`.
    ///
    /// bash takes `@` for a word of its own, so that the parser's functions do not recognize the option before it.
    static func extended(_ script: String) -> String {
        guard script.hasPrefix("#!/bin/bash"), script.contains(registration) else { return script }
        return script.replacing(registration, with: addition)
    }

    private static let registration = "complete -o filenames -F _netkit netkit"

    private static let addition = """
        # Files after @, and all else.
        _netkit_or_files() {
            if [[ "${2}" != @* ]]; then
                _netkit "${@}"
                return
            fi
            # bash would escape the @, and then not recognize it.
            compopt +o filenames 2>/dev/null
            COMPREPLY=()
            local file
            while IFS='' read -r file; do
                [[ -d "${file/#\\~/${HOME}}" ]] && file+=/
                COMPREPLY+=("@$(printf %q "${file}")")
            done < <(compgen -f -- "${2#@}")
            # A folder is not the end of the word.
            if [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" = */ ]]; then compopt -o nospace 2>/dev/null; fi
        }

        complete -o filenames -F _netkit_or_files netkit
        """
}
