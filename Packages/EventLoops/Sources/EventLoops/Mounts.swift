internal import Glibc

/// The list of mounts of this process, as in `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
struct Mounts {
    private typealias Components = [Substring.UTF8View]

    private struct Mount {
        /// As `st_dev` of `fstat(2)`.
        let device: UInt64
        let point: Components
    }

    /// In the order of mounting: of two mounts at one point, the later one hides the other.
    private var mounts: [Mount] = []

    /// The device for a path of the present system; 0 if it is unknown. Does not look at the path itself.
    static func device(of path: String) -> UInt64 {
        let isRelative = path.utf8.first != UInt8(ascii: "/")
        let folder = isRelative ? getcwd(nil, 0) : nil
        defer { free(folder) }
        let start = folder.map { String(cString: $0) + "/" } ?? ""
        return Mounts(text: text()).device(of: start + path) ?? 0
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
            guard fields.count > 4 else { continue }
            let numbers = fields[2].split(separator: UInt8(ascii: ":")).compactMap { UInt32(Substring($0)) }
            guard numbers.count == 2 else { continue }
            let point = Substring(Self.unescaped(fields[4])).utf8
            mounts.append(Mount(device: Self.device(numbers[0], numbers[1]), point: Self.components(point)))
        }
    }

    /// A device number of 64 bits, as makedev(3) makes it; a macro that Swift does not import.
    private static func device(_ major: UInt32, _ minor: UInt32) -> UInt64 {
        let (major, minor) = (UInt64(major), UInt64(minor))
        return (major & ~0xFFF) << 32 | (major & 0xFFF) << 8 | (minor & ~0xFF) << 12 | minor & 0xFF
    }

    /// The device that is mounted at an absolute path, or above it; nil if the list does not have it.
    func device(of path: String) -> UInt64? {
        let components = Self.components(Substring(path).utf8)
        var best: Mount?
        for mount in mounts where mount.point.count >= best?.point.count ?? 0 {
            if components.count >= mount.point.count,
                zip(components, mount.point).allSatisfy({ $0.elementsEqual($1) })
            {
                best = mount
            }
        }
        return best?.device
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
