/// What netkit adds to the completion scripts of the parser: the files after `@`, as in `-d @FILE`.
enum CompletionScript {
    /// The script for bash, zsh or fish with the addition; any other text as it is.
    static func extended(_ script: String) -> String {
        if script.hasPrefix("#!/bin/bash") { return script.replacing(registration, with: addition) }
        if script.hasPrefix(zshStart) {
            return script.replacing(zshStart, with: zshStart + zshAddition, maxReplacements: 1)
                .replacing(/(@(?:FILE|-).*\]:[^:']+:)'/) { "\($0.1)_netkit_files_after_at'" }
        }
        if script.hasPrefix("function __netkit") {
            return fishAddition
                + withoutDots(script).replacing(/(@FILE.*) -rfka ''/) { "\($0.1) -rfka '(__netkit_files_after_at)'" }
        }
        return script
    }

    /// The script for fish, in which `--http1.1` has a name without a dot where fish parses the words that are typed: its argparse refuses
    /// names with dots, and the script would never end.
    private static func withoutDots(_ script: String) -> String {
        let name = VersionFlag.http1.rawValue
        let inner = name.replacing(".", with: "_")
        return script.replacing(name, with: inner).replacing("-l '\(inner)'", with: "-l '\(name)'")
            .replacing(
                "unparsed_tokens (__netkit_tokens -pc)",
                with: "unparsed_tokens (__netkit_tokens -pc | string replace -- --\(name) --\(inner))")
    }

    private static let zshStart = "#compdef netkit\n"

    private static let zshAddition = """

        # Files after @; any other text is free.
        _netkit_files_after_at() {
            if compset -P '*@'; then _files; fi
        }

        """

    private static let fishAddition = """
        # Files after @; any other text is free.
        function __netkit_files_after_at
            set -l word (commandline -ct)
            string match -q '*@*' -- $word; or return
            set -l start (string replace -r '@[^@]*$' '@' -- $word)
            for file in (__fish_complete_path (string replace -r '^.*@' '' -- $word))
                echo $start$file
            end
        end


        """

    /// bash takes `@` for a word of its own, so that the parser's functions do not recognize the option before it.
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
