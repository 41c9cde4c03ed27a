internal import Foundation
internal import Glibc

/// A private folder for the files of one peer.
///
/// All folders of a process are in one folder whose name contains the process id. It is removed when the process exits. Folders
/// of killed processes are removed by the next process that uses peers.
final class ScratchFolder: Sendable {
    /// The absolute path of the folder.
    let path: String

    /// Creates a folder whose name begins with `name`.
    init(_ name: String) throws(PeerError) {
        // A program's name may be a path.
        path = try Self.unique("\(try Self.root.get())/\(name.split(separator: "/").last ?? "")")
    }

    deinit {
        remove()
    }

    /// Removes the folder and its contents.
    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` in this folder.
    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path. Creates missing folders.
    @discardableResult
    func write(_ name: String, _ contents: String, mode: Int = 0o644) throws(PeerError) -> String {
        try write(name, Array(contents.utf8), mode: mode)
    }

    /// Writes a file and returns its path. Creates missing folders.
    @discardableResult
    func write(_ name: String, _ contents: [UInt8], mode: Int = 0o644) throws(PeerError) -> String {
        let file = file(name)
        do {
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(contents).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        } catch {
            throw PeerError(.refused, "cannot write \(file): \(error)")
        }
        return file
    }

    /// Creates a folder in this folder and returns its path.
    @discardableResult
    func folder(_ name: String, mode: Int = 0o755) throws(PeerError) -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        } catch {
            throw PeerError(.refused, "cannot create \(file(name)): \(error)")
        }
        return file(name)
    }

    /// The folder of this process, created on first use.
    private static let root: Result<String, PeerError> = {
        removeLeftovers()
        do throws(PeerError) {
            let path = try unique("\(base)/peers-\(getuid())-\(getpid())")
            exitFolder = strdup(path)
            atexit {
                guard let path = ScratchFolder.exitFolder else { return }
                try? FileManager.default.removeItem(atPath: String(cString: path))
            }
            return .success(path)
        } catch {
            return .failure(error)
        }
    }()

    /// The folder that the `atexit` handler removes. It is static because a C function cannot capture values.
    ///
    /// `nonisolated(unsafe)` is correct: it is written once, in the one-time initializer of `root`, before `atexit` is called.
    private nonisolated(unsafe) static var exitFolder: UnsafeMutablePointer<CChar>?

    private static var base: String {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private static func unique(_ prefix: String) throws(PeerError) -> String {
        var template = Array("\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw PeerError(.refused, "cannot create a folder \(prefix)-…: \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Servers started by root drop their privileges and must still be able to read their files.
        if getuid() == 0 { chmod(path, 0o755) }
        return path
    }

    private static func removeLeftovers() {
        let prefix = "peers-\(getuid())-"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? [] where name.hasPrefix(prefix) {
            guard let pid = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }), kill(pid, 0) != 0, errno == ESRCH
            else { continue }
            try? FileManager.default.removeItem(atPath: "\(base)/\(name)")
        }
    }
}
