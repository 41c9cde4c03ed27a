import Foundation
import Peers
import Testing

/// The completion of bash, fish and zsh.
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
        (["get"], "--http", ["--http1.1", "--http2", "--http2-prior-knowledge"]),
        (["resolve", "--type"], "S", ["SOA", "SRV", "SVCB"]), (["ls", "--tls"], "r", ["required"]),
        (["browse", "--engine"], "", ["auto", "daemon", "embedded"]),
    ])
    func bash(_ words: [String], _ current: String, _ expected: [String]) async throws {
        let folder = try Self.files()
        #expect(try await replies(words, current, in: folder.path) == expected)
    }

    /// A folder with "file one", "file2" and "sub/inner".
    private static func files() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: true)
        for name in ["file one", "file2", "sub/inner"] { try folder.write("", to: name) }
        return folder
    }

    @Test(arguments: [
        ("get -d @fi", ["@file one", "@file2"]), ("get -F a=@sub/", ["a=@sub/inner"]), ("get -d fi", []),
        ("get --json-body @su", ["@sub/"]), ("get -T file2", ["file2"]),
        ("get --http", ["--http1.1", "--http2", "--http2-prior-knowledge"]),
        ("get --http1.1 --compr", ["--compressed"]),
    ])
    func fish(_ line: String, _ expected: [String]) async throws {
        let folder = try Self.files()
        let run = try await Tool.run(
            shell: """
                cd '\(folder.path)' && "$netkit" --generate-completion-script fish >script && ln -s "$netkit" netkit &&
                HOME=$PWD PATH=$PWD:$PATH fish -c 'source script; complete -C "netkit \(line)"'
                """)
        let replies = run.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
        #expect(replies.map(String.init).sorted() == expected && run.errors.isEmpty, "\(run.text)")
    }

    /// zsh completes only on a terminal.
    @Test(arguments: [
        ("get -d @file2", "get -d @file2 "), ("get --data-binary @sub/in", "get --data-binary @sub/inner "),
        ("get -F a=@su", "get -F a=@sub/"),
    ])
    func zsh(_ line: String, _ expected: String) async throws {
        let folder = try Self.files()
        var command = Command(
            Program("python3"), ["-c", Self.terminal, folder.path, "netkit \(line)", "netkit \(expected)"])
        command.environment = ["HOME": folder.path]
        let script = try await Tool.run(["--generate-completion-script", "zsh"])
        try folder.write(script.output, to: "_netkit")
        let result = try await command.run()
        #expect(result.status == 0, "\(result.text) \(result.errors)")
    }

    /// Types a line and a tab, and waits until the terminal shows the completed line.
    private static let terminal = #"""
        import os, pty, signal, sys
        folder, line, expected = sys.argv[1:]
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f"])
        signal.alarm(100)
        def wait(text):
            seen = b""
            while text.encode() not in seen:
                seen += os.read(fd, 4096)
        os.write(fd, f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='rea''dy> '\n".encode())
        wait("ready> ")
        os.write(fd, line.encode() + b"\t")
        wait(expected)
        os.kill(pid, signal.SIGKILL)
        """#
}
