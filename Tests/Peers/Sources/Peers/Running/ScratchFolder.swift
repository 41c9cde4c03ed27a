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

    /// Sets the date of a file to 2001-09-09 01:46:40 UTC.
    func age(_ name: String) throws(PeerError) {
        do {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: file(name))
        } catch {
            throw PeerError(.refused, "cannot set the date of \(file(name)): \(error)")
        }
    }

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

/// Waits for changes in a folder (inotify(7)), so that no caller needs to poll it.
struct FolderWatch: ~Copyable {
    private let descriptor: Int32

    /// Watches for changes from now on.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the folder does not exist, or the user has reached the kernel's limit of watches.
    init(_ path: String) throws(PeerError) {
        let descriptor = inotify_init1(O_CLOEXEC)
        guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)) >= 0 else {
            let words = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw PeerError(.refused, "cannot watch \(path): \(words)")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Blocks until a change, the end of `process`, or the deadline `end`. Several changes may be reported as one.
    func wait(orFor process: ProcessEnd? = nil, until end: ContinuousClock.Instant) {
        var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        if let process { waiting.append(pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)) }
        poll(&waiting, nfds_t(waiting.count), end.milliseconds)
        guard waiting[0].revents != 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { _ = read(descriptor, $0.baseAddress, $0.count) }
    }
}

extension ContinuousClock.Instant {
    /// The milliseconds from now until this instant, as `poll` expects them: rounded up, so that it does not wake too early.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = (self - .now).components
        return Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
    }
}

/// The text of a file whose size is unknown, such as those in /proc.
func readText(_ path: String) throws(PeerError) -> String {
    String(decoding: try readBytes(path), as: UTF8.self)
}

/// The bytes of a file whose size is unknown, such as those in /proc.
func readBytes(_ path: String) throws(PeerError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
        throw PeerError(.refused, "cannot read \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return bytes }
        bytes += chunk[..<count]
    }
}
