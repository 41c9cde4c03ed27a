internal import Foundation

/// A program that peers run, and the Debian package that contains it.
public struct Program: Hashable, Sendable {
    /// The name of the executable, or its path.
    public var name: String
    /// The Debian package that contains the program; empty if the program is unpacked, not installed.
    public var package: String

    /// The only folder in which to look for the program; nil means all of `PATH`. For example, Debian's Python modules are available
    /// to `/usr/bin/python3` only, not to another Python in `PATH`.
    public var folder: String?

    /// Creates a program with the name `name` of the Debian package `package`, which defaults to the same name.
    public init(_ name: String, package: String? = nil, in folder: String? = nil) {
        self.name = name
        self.package = package ?? name
        self.folder = folder
    }

    /// Whether the program is installed on this machine.
    public var isInstalled: Bool { location != nil }

    /// The path of the program, or nil if it is not installed: in ``folder`` if that is set, else in `PATH`, else in the system's
    /// folders, because servers are often outside a user's `PATH`.
    public var location: String? {
        if folder != nil || name.contains("/") {
            let place = folder.map { "\($0)/\(name)" } ?? name
            return FileManager.default.isExecutableFile(atPath: place) ? place : nil
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of the program.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, naming the package. A missing server is always an error, because a skipped test
    ///   proves nothing.
    func located() throws(PeerError) -> String {
        guard let location else {
            if name.contains("/") { throw PeerError(.notInstalled, "'\(name)' is not an executable file") }
            let way = package.isEmpty ? "" : ", or: apt-get install --no-install-recommends \(package)"
            throw PeerError(.notInstalled, "'\(name)' is not installed; run Scripts/bootstrap\(way)")
        }
        return location
    }
}
