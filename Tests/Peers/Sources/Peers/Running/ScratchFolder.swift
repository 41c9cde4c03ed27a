internal import Foundation
internal import Glibc

/// A private folder for one peer's files.
///
/// All folders of a process are under one folder that carries the process id. It is removed when the process exits; what
/// a killed process left behind is removed by the next process that uses peers.
final class ScratchFolder: Sendable {
    /// The absolute path of the folder.
    let path: String

    /// Makes a folder whose name begins with `name`.
    init(_ name: String) throws(PeerError) {
        // A program may be told by its path.
        path = try Self.unique("\(try Self.root.get())/\(name.split(separator: "/").last ?? "")")
    }

    deinit {
        remove()
    }

    /// Removes the folder and all that is in it.
    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` in this folder.
    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and gives its path. Missing folders on the way are made.
    @discardableResult
    func write(_ name: String, _ contents: String, mode: Int = 0o644) throws(PeerError) -> String {
        try write(name, Array(contents.utf8), mode: mode)
    }

    /// Writes a file and gives its path. Missing folders on the way are made.
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

    /// Makes a folder in this folder and gives its path.
    @discardableResult
    func folder(_ name: String, mode: Int = 0o755) throws(PeerError) -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        } catch {
            throw PeerError(.refused, "cannot make \(file(name)): \(error)")
        }
        return file(name)
    }

    /// The folder of this process, made at first use.
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

    /// What `atexit` removes; a C function can capture nothing.
    ///
    /// Unsafe but right: written once, above, inside the one-time initialiser of `root` and before `atexit` is called.
    private nonisolated(unsafe) static var exitFolder: UnsafeMutablePointer<CChar>?

    private static var base: String {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private static func unique(_ prefix: String) throws(PeerError) -> String {
        var template = Array("\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw PeerError(.refused, "cannot make a folder \(prefix)-…: \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Servers started by root give their rights away and must still reach their files.
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
