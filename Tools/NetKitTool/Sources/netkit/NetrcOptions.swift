import ArgumentParser
import Foundation
import NetKit

/// Passwords from a file.
struct NetrcOptions: ParsableArguments {
    @Flag(help: "Take passwords from $NETRC or ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Take passwords from FILE, in the form of netrc.", valueName: "FILE"))
    var netrcFile: String?

    /// Whether there may be passwords to send.
    var isUsed: Bool { netrc || netrcFile != nil }

    /// The file; nil if none is wanted.
    func file() throws -> NetrcFile? {
        let environment = ProcessInfo.processInfo.environment
        let usual = environment["NETRC"] ?? environment["HOME"].map { $0 + "/.netrc" }
        return try (netrcFile ?? (netrc ? usual : nil)).map { try NetrcFile(path: $0) }
    }
}
