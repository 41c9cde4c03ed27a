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
    }

    private typealias Components = [Substring.UTF8View]

    private struct Mount {
        let id: Int64
        let device: Device
        let point: Components
    }

    /// In the order of mounting: of two mounts at one point, the later one hides the other.
    private var mounts: [Mount] = []
    private var devices: [Int64: Device] = [:]

    /// The list of the present system.
    static var present: Mounts { kept.withLock { $0.mounts(now: .now, text: text) } }

    private static let kept = Locked(Kept())

    /// A list that is read again after a while. A mount that is missing until then has the device of the one above it.
    struct Kept {
        private static let age = Duration.seconds(5)

        private var mounts = Mounts(text: "")
        private var end: Moment?

        mutating func mounts(now: Moment, text: () -> String) -> Mounts {
            if let end, now < end { return mounts }
            (mounts, end) = (Mounts(text: text()), now + Self.age)
            return mounts
        }
    }

    /// The text of the list; empty without one. The kernel makes it up, so that no disk is waited for.
    private static func text() -> String {
        let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = SystemCall.retrying { read(descriptor, &piece, piece.count) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    /// Reads a list. A line that is not understood is skipped.
    init(text: String) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 4, let id = Int64(Substring(fields[0])) else { continue }
            let numbers = fields[2].split(separator: UInt8(ascii: ":")).compactMap { UInt32(Substring($0)) }
            guard numbers.count == 2 else { continue }
            let point = Substring(Self.unescaped(fields[4])).utf8
            // The optional fields end with a hyphen; the type and the source follow.
            let source = fields.dropFirst(6).drop { !$0.elementsEqual("-".utf8) }.dropFirst(2).first
            let device = source.flatMap(Self.server) ?? .number(Self.number(numbers[0], numbers[1]))
            mounts.append(Mount(id: id, device: device, point: Self.components(point)))
            devices[id] = device
        }
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
        let components = Self.components(Substring(path).utf8)
        var best: Mount?
        for mount in mounts where mount.point.count >= best?.point.count ?? 0 {
            if components.count >= mount.point.count,
                zip(components, mount.point).allSatisfy({ $0.elementsEqual($1) })
            {
                best = mount
            }
        }
        return best?.device ?? .unknown
    }

    /// The names of a path, without `.` and `..`.
    private static func components(_ path: Substring.UTF8View) -> Components {
        var names: Components = []
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
