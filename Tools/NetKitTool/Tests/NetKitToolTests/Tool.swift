import Foundation
import Peers

/// Runs `netkit` and collects its output.
enum Tool {
    /// The result of a run.
    struct Run {
        var status: Int32
        /// Standard output; on a terminal, all that it shows.
        var output: String
        /// Standard error.
        var errors: String

        /// Standard output, then standard error.
        var text: String { output + errors }
    }

    /// The path of the program, which is built beside these tests.
    private static let path: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("netkit").path
    }()

    /// Runs netkit without a terminal.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], in namespace: NetworkNamespace? = nil
    ) async throws -> Run {
        // A session of its own, so that netkit cannot ask on the terminal that runs the tests.
        var command = Command(
            Program("setsid", package: "util-linux"), ["--wait", path] + arguments, in: namespace)
        command.environment = environment
        let result = try await command.run()
        return Run(status: result.status, output: result.text, errors: result.errors)
    }

    /// Runs a shell command, in which `$netkit` is the program.
    static func run(shell line: String) async throws -> Run {
        var command = Command(Program("sh", package: "dash"), ["-c", line])
        command.environment = ["netkit": path]
        let result = try await command.run()
        return Run(status: result.status, output: result.text, errors: result.errors)
    }

    /// Runs netkit on a terminal: waits for each question in turn, and types the line.
    static func run(
        _ arguments: [String], typing turns: [(question: String, line: String)], environment: [String: String] = [:]
    ) async throws -> Run {
        let pairs = try JSONSerialization.data(withJSONObject: turns.map { [$0.question, $0.line] })
        var command = Command(
            Program("python3"), ["-c", terminal, String(decoding: pairs, as: UTF8.self), path] + arguments)
        command.environment = environment
        let result = try await command.run()
        return Run(status: result.status, output: result.text, errors: result.errors)
    }

    private static let terminal = """
        import json, os, pty, sys
        turns = json.loads(sys.argv[1])
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(sys.argv[2], sys.argv[2:])
        seen = rest = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                break
            if not piece:
                break
            seen, rest = seen + piece, rest + piece
            if turns and turns[0][0].encode() in rest:
                rest = b""
                os.write(fd, turns.pop(0)[1].encode() + b"\\n")
        sys.stdout.buffer.write(seen)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
}

/// A new folder, which is removed with this object.
final class TemporaryFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-\(UUID())").path

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file.
    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    /// The names of the files, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

extension ScriptedServer {
    /// A server that redirects to a page with a login.
    ///
    /// - Parameters:
    ///   - redirect: The reason phrase of the redirect.
    ///   - page: The reason phrase of the page.
    static func withLogin(redirect: String = "Found", page: String = "OK") throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let answer =
                    if !head.hasPrefix("GET /page") {
                        "302 \(redirect)\r\nLocation: /page?q=1\r\nContent-Length: 0\r\n\r\n"
                    } else if !head.lowercased().contains("authorization: basic") {
                        "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"<Room>\"\r\nContent-Length: 0\r\n\r\n"
                    } else {
                        "200 \(page)\r\nContent-Type: text/html\r\nSet-Cookie: id=topsecret\r\nContent-Length: 4\r\n\r\nbody"
                    }
                try connection.send("HTTP/1.1 \(answer)")
            }
        }
    }
}
