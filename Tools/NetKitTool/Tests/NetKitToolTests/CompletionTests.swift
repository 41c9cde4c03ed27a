import Foundation
import Testing

/// The completion of bash.
@Suite struct CompletionTests {
    /// The replies for a word after others.
    private func replies(_ words: [String], _ current: String, in folder: String) async throws -> [String] {
        let quoted = (["netkit"] + words + [current]).map { "'\($0)'" }.joined(separator: " ")
        let previous = words.last ?? "netkit"
        let run = try await Tool.run(
            shell: """
                cd '\(folder)' && "$netkit" --generate-completion-script bash >script && bash -c '
                source ./script
                function=$(complete -p netkit | sed "s/.*-F \\([^ ]*\\).*/\\1/")
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
                "$function" netkit "${@: -1}" "${@: -2:1}"
                printf "%s\\n" "${COMPREPLY[@]}"' bash \(quoted)
                """)
        #expect(run.errors.isEmpty, "\(previous): \(run.errors)")
        return run.output.split(separator: "\n").map(String.init).sorted()
    }

    @Test(arguments: [
        (["get", "-d"], "@fi", ["@file2", #"@file\ one"#]), (["get", "-d"], "@sub", ["@sub/"]),
        // bash separates @ from what follows.
        (["get", "-d", "@"], "@sub/in", ["@sub/inner"]), (["get", "--json-body", "@"], "@file2", ["@file2"]),
        (["get", "-T"], "file2", ["file2"]), (["put"], "file2", ["file2"]),
        (["get", "--auth"], "n", ["negotiate", "ntlm"]), (["diagnose", "--proxy-auth"], "b", ["basic"]),
        (["get", "--tls-min"], "", ["1.2", "1.3"]), (["connect", "--tls-max"], "1.3", ["1.3"]),
        (["connect", "--starttls"], "", ["ftp", "imap", "pop3", "smtp"]),
        (["get", "-X"], "P", ["PATCH", "POST", "PUT"]),
        (["resolve", "--type"], "S", ["SOA", "SRV", "SVCB"]), (["ls", "--tls"], "r", ["required"]),
        (["browse", "--engine"], "", ["auto", "daemon", "embedded"]),
    ])
    func bash(_ words: [String], _ current: String, _ expected: [String]) async throws {
        let folder = try RequestTests.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/sub", withIntermediateDirectories: true)
        for name in ["file one", "file2", "sub/inner"] {
            try Data().write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        #expect(try await replies(words, current, in: folder) == expected)
    }
}
