import Foundation
import Peers

/// The example server in a separate process, tested with other clients than ours.
final class ExampleServer {
    /// SwiftPM puts executables next to the test bundle.
    private static let path = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("serve").path

    let program: LineProgram
    private(set) var url = ""

    /// - Parameters:
    ///   - clients: whether to require client certificates of our authority.
    ///   - descriptors: the server's limit of descriptors.
    init(
        isSecure: Bool = false, clients: Bool = false, descriptors: Int? = nil, options: [String] = []
    ) async throws {
        let authority = try CertificateAuthority.shared()
        var words = options
        if isSecure {
            let identity = authority.server(.good)
            words += ["--certificate", identity.chain, "--key", identity.key]
        }
        if clients { words += ["--clients", authority.root] }
        if let descriptors {
            program = LineProgram("prlimit", ["--nofile=\(descriptors)", Self.path] + words)
        } else {
            program = LineProgram(Self.path, words)
        }
        try program.start()
        guard await program.shows("listening on ") else {
            throw PeerError(.exited, "the example server did not start", log: program.log)
        }
        url =
            program.log.split(separator: "\n").first { $0.hasPrefix("listening on ") }?.dropFirst(13).description ?? ""
    }

    deinit {
        program.stop()
    }

    var port: UInt16 { UInt16(URLComponents(string: url)?.port ?? 0) }
    var pid: Int32 { program.process.pid ?? 0 }

    /// The present numbers of its threads and descriptors.
    var threads: Int { count("task") }
    var descriptors: Int { count("fd") }

    private func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/\(folder)").count) ?? 0
    }

    /// Runs curl with a path of the server.
    func curl(_ path: String, _ options: String...) async throws -> Command.Result {
        let authority = try CertificateAuthority.shared()
        let words = ["-sS", "--max-time", "20", "--noproxy", "*", "--cacert", authority.root] + options
        return try await Command(Program("curl"), words + [url + path]).run()
    }
}
