internal import CEventLoops
internal import Glibc

/// The list of mounts of this process, as in `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
struct Mounts {
    /// What files are on, and hang together with.
    enum Device: Hashable {
        /// A device number of the list of mounts. `st_dev` of `fstat(2)` is another one for a subvolume of btrfs.
        case number(UInt64)
        /// The server of a network file system, whose mounts have a number each.
        case server(String)
        case unknown

        /// Whether a call on a file may ask another machine, as far as is known.
        var isRemote: Bool {
            switch self {
            case .number: false
            case .server, .unknown: true
            }
        }
    }

    /// The name of a file or folder in a path, compared by bytes.
    private typealias Name = ArraySlice<UInt8>

    /// A folder in which something is mounted, there or farther down.
    private struct Folder {
        /// The device of the latest mount, which hides the earlier ones.
        var device: Device?
        /// The indices of the folders inside.
        var folders: [Name: Int] = [:]
    }

    /// The first one is the root.
    private var folders = [Folder()]
    private var devices: [Int64: Device] = [:]

    /// Whether the list has no mounts, because it could not be read.
    var isEmpty: Bool { devices.isEmpty }

    /// The list of the present system.
    static var present: Mounts { kept.mounts(now: .now) }

    private static let kept = KeptMounts(threads: BlockingThreads(limit: 1), text: text)

    /// The text of the list; empty without one. The kernel makes it up, so that no disk is waited for.
    private static func text() -> String {
        String(decoding: (try? SystemCall.contents(of: "/proc/self/mountinfo")) ?? [], as: UTF8.self)
    }

    /// Reads a list. A line that is not understood is skipped.
    init(text: String) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 4, let id = Int64(Substring(fields[0])) else { continue }
            let numbers = fields[2].split(separator: UInt8(ascii: ":")).compactMap { UInt32(Substring($0)) }
            guard numbers.count == 2 else { continue }
            // The optional fields end with a hyphen; the type and the source follow.
            let source = fields.dropFirst(6).drop { !$0.elementsEqual("-".utf8) }.dropFirst(2).first
            let device = source.flatMap(Self.server) ?? .number(Self.number(numbers[0], numbers[1]))
            insert(device, at: Self.names(Array(Self.unescaped(fields[4]).utf8)))
            devices[id] = device
        }
    }

    private mutating func insert(_ device: Device, at point: [Name]) {
        var folder = 0
        for name in point {
            if let next = folders[folder].folders[name] {
                folder = next
            } else {
                folders[folder].folders[name] = folders.count
                folder = folders.count
                folders.append(Folder())
            }
        }
        folders[folder].device = device
    }

    /// The server of a source: `server:/export` (NFS, Ceph, SSHFS) or `//server/share` (SMB). Nil for a source of this machine.
    private static func server(_ source: Substring.UTF8View) -> Device? {
        let text = unescaped(source)
        if text.utf8.starts(with: "//".utf8) {
            return .server(String(Substring(text.utf8.dropFirst(2).prefix { $0 != UInt8(ascii: "/") })))
        }
        let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.utf8.endIndex
        let name = text.utf8[..<slash]
        return name.count > 1 && name.last == UInt8(ascii: ":") ? .server(String(Substring(name.dropLast()))) : nil
    }

    /// A device number of 64 bits, as makedev(3) makes it; a macro that Swift does not import.
    private static func number(_ major: UInt32, _ minor: UInt32) -> UInt64 {
        let (major, minor) = (UInt64(major), UInt64(minor))
        return (major & ~0xFFF) << 32 | (major & 0xFFF) << 8 | (minor & ~0xFF) << 12 | minor & 0xFF
    }

    /// The device of an open file. The kernel tells what it knows without the disk.
    func device(of descriptor: CInt) -> Device {
        var number: UInt64 = 0
        let mount = netkit_mount_id(descriptor, &number)
        return device(ofMount: mount, number)
    }

    /// The device of a mount; the one with the number if the list does not have the mount.
    func device(ofMount id: Int64, _ number: UInt64) -> Device { devices[id] ?? .number(number) }

    /// The device for a path, absolute or from the current folder. Does not look at the path itself.
    func device(at path: String) -> Device {
        let isRelative = path.utf8.first != UInt8(ascii: "/")
        let folder = isRelative ? getcwd(nil, 0) : nil
        defer { free(folder) }
        let start = folder.map { String(cString: $0) + "/" } ?? ""
        return device(atAbsolute: start + path)
    }

    private func device(atAbsolute path: String) -> Device {
        var folder = folders[0]
        var device = folder.device
        for name in Self.names(Array(path.utf8)) {
            guard let next = folder.folders[name] else { break }
            folder = folders[next]
            device = folder.device ?? device
        }
        return device ?? .unknown
    }

    /// The names of a path, without `.` and `..`.
    private static func names(_ path: [UInt8]) -> [Name] {
        var names: [Name] = []
        for name in path.split(separator: UInt8(ascii: "/")) where !name.elementsEqual(".".utf8) {
            if name.elementsEqual("..".utf8) { _ = names.popLast() } else { names.append(name) }
        }
        return names
    }

    /// A mount point without its escapes: a blank, for example, is `\040`.
    private static func unescaped(_ field: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(Substring(rest.prefix(3)), radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A list of mounts that is read again after a while, on a thread: with thousands of mounts, that takes longer than an event loop may wait.
///
/// Until it has been read, the list before it is used. A mount that is missing there has the device of the one above it.
final class KeptMounts: Sendable {
    private struct State {
        var mounts = Mounts(text: "")
        /// When the list is read next; nil while it is being read.
        var next: Moment?
    }

    /// The time from one reading to the next; shorter after one that failed, since a process without descriptors may soon have some.
    private static let interval = Duration.seconds(5)
    private static let intervalAfterFailure = Duration.seconds(1)

    private let state: Locked<State>
    private let threads: BlockingThreads
    private let text: @Sendable () -> String

    /// - Parameters:
    ///   - threads: the threads that read.
    ///   - text: returns the text of the list; empty without one.
    init(threads: BlockingThreads, now: Moment = .now, text: @escaping @Sendable () -> String) {
        state = Locked(State(next: now))
        self.threads = threads
        self.text = text
    }

    /// The list, which is out of date if it is due to be read. Without one, it is read at once, unless the caller is on the thread of a loop.
    func mounts(now: Moment) -> Mounts {
        let isOnLoop = LoopThread.isCurrent
        let (mounts, isDue) = state.withLock { state in
            guard let next = state.next, next <= now, isOnLoop || !state.mounts.isEmpty else {
                return (state.mounts, false)
            }
            state.next = nil
            return (state.mounts, true)
        }
        if mounts.isEmpty, !isOnLoop { return read(now: now) }
        if isDue {
            threads.run(
                BlockingThreads.Work {
                    [self] in
                    read(now: now)
                } refuseAtOnce: { [self] _ in
                    state.withLock { $0.next = now + Self.intervalAfterFailure }
                })
        }
        return mounts
    }

    /// Reads the list, without the lock. Keeps the old one if there is none.
    @discardableResult
    private func read(now: Moment) -> Mounts {
        let mounts = Mounts(text: text())
        return state.withLock { state in
            if !mounts.isEmpty { state.mounts = mounts }
            state.next = now + (mounts.isEmpty ? Self.intervalAfterFailure : Self.interval)
            return state.mounts
        }
    }
}
