internal import Foundation

/// A program that peers run, and the Debian package that brings it.
public struct Program: Hashable, Sendable {
    /// The name of the executable, or its path.
    public var name: String
    /// The Debian package to install when it is missing; empty if it is not installed but unpacked.
    public var package: String

    /// The only folder where it counts; nil means wherever it is found. Debian's Python modules, for one, are those of
    /// `/usr/bin/python3` and of no other Python that `PATH` may have.
    public var folder: String?

    /// Describes the program `name` of the Debian package `package` (the same name if nothing is said).
    public init(_ name: String, package: String? = nil, in folder: String? = nil) {
        self.name = name
        self.package = package ?? name
        self.folder = folder
    }

    /// Whether the program is on this machine.
    public var isInstalled: Bool { location != nil }

    /// Where the program is: in its own folder if it has one, else in the folders of `PATH` and then the system's own, as
    /// servers are often outside a user's `PATH`.
    public var location: String? {
        if folder != nil || name.contains("/") {
            let place = folder.map { "\($0)/\(name)" } ?? name
            return FileManager.default.isExecutableFile(atPath: place) ? place : nil
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Where the program is.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, naming the package. A missing server is always an error: a test that
    ///   is skipped on the machine that should run it proves nothing.
    func located() throws(PeerError) -> String {
        guard let location else {
            if name.contains("/") { throw PeerError(.notInstalled, "'\(name)' is no program") }
            let way = package.isEmpty ? "" : ", or: apt-get install --no-install-recommends \(package)"
            throw PeerError(.notInstalled, "'\(name)' is not installed; run Scripts/bootstrap\(way)")
        }
        return location
    }
}
