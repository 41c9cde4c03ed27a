internal import CLibcrypto
@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HTTPAuth

/// A connection to a message bus for one blocking thread: method calls, and the signals that arrive in between.
final class DBusConnection {
    private let descriptor: Int32
    private var buffer = DBusBuffer()
    private var serial: UInt32 = 0
    /// Signals that arrived while a call waited for its reply. If there are too many, the oldest are dropped.
    private var signals: [DBusMessage] = []
    /// The program that has sent the last reply, by the name that the bus gave it.
    private var replier: String?

    static let maximumSignals = 64
    static let bus = "org.freedesktop.DBus"

    /// Connects to the bus, authenticates with the credentials of the socket (EXTERNAL) and registers with the bus.
    ///
    /// - Throws: `HTTPAuthError.Code.storeMissing` if no bus listens at the addresses;
    ///   `HTTPAuthError.Code.storeUnavailable`, or `HTTPAuthError.Code.timedOut` after the deadline.
    init(_ addresses: [DBusAddress], until deadline: Moment) throws(HTTPAuthError) {
        guard !addresses.isEmpty else { throw Self.failure("the address contains no Unix socket", .storeMissing) }
        descriptor = try Self.connect(addresses)
        try authenticate(until: deadline)
        _ = try call(.call("Hello", Self.bus, at: "/org/freedesktop/DBus", of: Self.bus), until: deadline)
    }

    /// Takes over a socket that is already authenticated; for tests.
    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        buffer.wipe()
        close(descriptor)
    }

    /// Calls a method and returns the body of its reply. An error reply is thrown as an `HTTPAuthError`.
    func call(
        _ message: DBusMessage, until deadline: Moment
    ) throws(HTTPAuthError) -> [DBusValue] {
        serial += 1
        var message = message
        message.serial = serial
        var bytes = message.encoded()
        defer { bytes.wipe() }
        try send(bytes, until: deadline)
        while true {
            let answer = try next(until: deadline)
            if answer.kind == .signal {
                if signals.count == Self.maximumSignals { signals.removeFirst() }
                signals.append(answer)
            }
            guard answer.fields[.replySerial]?.bits == UInt64(serial) else { continue }
            switch answer.kind {
            case .reply:
                replier = answer.fields[.sender]?.string
                return answer.body
            case .error:
                throw .busError(answer.fields[.errorName]?.string ?? "an error", answer.body.first?.string)
            case .call, .signal: continue
            }
        }
    }

    /// Waits for the next signal of this name from an object of the program that has sent the last reply, and returns its body. Any program can
    /// send a signal to this one.
    func signal(
        _ member: String, from path: String, until deadline: Moment
    ) throws(HTTPAuthError) -> [DBusValue] {
        while true {
            let message = try signals.isEmpty ? next(until: deadline) : signals.removeFirst()
            if message.kind == .signal, message.fields[.member]?.string == member,
                message.fields[.path]?.path == path, message.fields[.sender]?.string == replier
            {
                return message.body
            }
        }
    }

    // MARK: Bytes

    private func next(until deadline: Moment) throws(HTTPAuthError) -> DBusMessage {
        while true {
            // A peer that sends without end must not block the caller: while data is available, no poll(2) checks the
            // deadline.
            try check(deadline)
            try receive(DBusMessage.prefixCount, until: deadline)
            let count = try DBusMessage.length(ofPrefix: buffer.first(DBusMessage.prefixCount))
            try receive(count, until: deadline)
            var bytes = buffer.take(count)
            defer { bytes.wipe() }
            if let message = try DBusMessage.decode(bytes) { return message }
        }
    }

    private func authenticate(until deadline: Moment) throws(HTTPAuthError) {
        let user = Hexadecimal.encode(Array(String(geteuid()).utf8))
        try send([0] + Array("AUTH EXTERNAL ".utf8) + user + Array("\r\n".utf8), until: deadline)
        var line: [UInt8] = []
        while !line.ends(with: "\r\n") {
            guard line.count < 1024 else { throw Self.failure("the peer does not speak D-Bus") }
            try receive(1, until: deadline)
            line += buffer.take(1)
        }
        guard line.starts(with: "OK ".utf8) else { throw Self.failure("it rejected the login of the current user") }
        try send(Array("BEGIN\r\n".utf8), until: deadline)
    }

    /// Waits until at least `count` bytes are buffered.
    private func receive(_ count: Int, until deadline: Moment) throws(HTTPAuthError) {
        while buffer.count < count {
            let moved = buffer.fill { room in
                SystemCall.retrying { recv(descriptor, room.baseAddress, room.count, 0) }
            }
            if moved > 0 { continue }
            if moved < 0, errno == EAGAIN {
                try wait(for: POLLIN, until: deadline)
            } else {
                throw Self.failure(moved == 0 ? "the connection was closed" : SystemCall.text(of: errno))
            }
        }
    }

    private func send(_ bytes: [UInt8], until deadline: Moment) throws(HTTPAuthError) {
        var sent = 0
        while sent < bytes.count {
            let moved = bytes.withUnsafeBytes { bytes in
                SystemCall.retrying {
                    Glibc.send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
            }
            if moved >= 0 {
                sent += moved
            } else if errno == EAGAIN {
                try wait(for: POLLOUT, until: deadline)
            } else {
                throw Self.failure(SystemCall.text(of: errno))
            }
        }
    }

    private func wait(for events: Int32, until deadline: Moment) throws(HTTPAuthError) {
        try check(deadline)
        let left = Moment.now.duration(to: deadline) / .milliseconds(1)
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        // poll(2) does not count the time in which the machine sleeps, and the deadline does: the caller looks at it each second.
        _ = poll(&entry, 1, Int32(min(max(0, left.rounded(.up)), 1000)))
    }

    private func check(_ deadline: Moment) throws(HTTPAuthError) {
        guard .now < deadline else { throw HTTPAuthError(.timedOut, detail: "waiting for the session bus") }
    }

    /// The errors of connect(2) without a bus for this user: no socket, no listener, or another user's folder.
    private static let absences = [ENOENT, ENOTDIR, ECONNREFUSED, EACCES]

    /// Connects to the first socket that accepts a connection.
    private static func connect(_ addresses: [DBusAddress]) throws(HTTPAuthError) -> Int32 {
        var failure = HTTPAuthError(.storeUnavailable)
        for address in addresses {
            let (name, isFile) =
                switch address {
                case .path(let path): (Array(path.utf8), true)
                case .abstract(let name): ([0] + Array(name.utf8), false)
                }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
                failure = Self.failure("the socket path is too long")
                continue
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let descriptor = socket(
                AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
            guard descriptor >= 0 else { throw Self.failure(SystemCall.text(of: errno)) }
            let length = MemoryLayout.size(ofValue: address.sun_family) + name.count + (isFile ? 1 : 0)
            let result = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(length))
                }
            }
            if result == 0 { return descriptor }
            let (number, message) = (errno, SystemCall.text(of: errno))
            failure = Self.failure(
                isFile ? "\(String(decoding: name, as: UTF8.self)): \(message)" : message,
                absences.contains(number) ? .storeMissing : .storeUnavailable)
            close(descriptor)
        }
        throw failure
    }

    private static func failure(
        _ message: String, _ code: HTTPAuthError.Code = .storeUnavailable
    ) -> HTTPAuthError {
        HTTPAuthError(code, detail: "session bus: \(message)")
    }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

/// The address of a message bus: a Unix socket (D-Bus specification, "Server addresses").
enum DBusAddress: Hashable {
    case path(String)
    /// A name in the abstract namespace, which is not a file.
    case abstract(String)

    /// Returns the Unix sockets in a list such as `unix:path=/run/user/1000/bus,guid=…;tcp:host=…`. Other transports
    /// are ignored.
    static func parse(_ list: String, runtimeFolder: String? = nil) -> [DBusAddress] {
        list.utf8.split(separator: UInt8(ascii: ";")).compactMap { address in
            let parts = address.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual("unix".utf8) else { return nil }
            for pair in parts[1].split(separator: UInt8(ascii: ",")) {
                let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let value = unescaped(parts[1]) else { return nil }
                switch Substring(parts[0]) {
                case "path": return .path(value)
                case "abstract": return .abstract(value)
                case "runtime": return runtimeFolder.map { .path($0 + "/bus") }
                default: continue
                }
            }
            return nil
        }
    }

    /// Decodes percent escapes; returns nil if one is invalid or the result contains a NUL.
    private static func unescaped(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit),
                    let escaped = UInt8(digits, radix: 16)
                else { return nil }
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}

/// A buffer for bytes received from a bus. They may contain secrets, so bytes that leave the buffer are overwritten,
/// and so is the old memory when the buffer grows.
struct DBusBuffer {
    /// The minimum free space for the next read, in bytes.
    static let minimumSpace = 4096

    private(set) var count = 0
    /// The memory; all bytes after ``count`` are zero.
    private(set) var storage: [UInt8] = []

    /// Calls `receive` with the free space after the buffered bytes. The closure returns the number of bytes it wrote;
    /// this method returns the same number.
    mutating func fill(_ receive: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if storage.count - count < Self.minimumSpace {
            var larger = [UInt8](repeating: 0, count: 2 * storage.count + Self.minimumSpace)
            larger.replaceSubrange(..<count, with: storage[..<count])
            storage.wipe()
            storage = larger
        }
        let moved = storage.withUnsafeMutableBytes { receive(UnsafeMutableRawBufferPointer(rebasing: $0[count...])) }
        count += max(0, moved)
        return moved
    }

    /// Returns a copy of the first `length` bytes, which must be buffered.
    func first(_ length: Int) -> [UInt8] { Array(storage[..<length]) }

    /// Removes and returns the first `length` bytes, which must be buffered. The caller wipes them.
    mutating func take(_ length: Int) -> [UInt8] {
        let taken = first(length)
        let rest = count - length
        storage.withUnsafeMutableBytes { bytes in
            bytes.copyBytes(from: bytes[length..<count])
            if let start = bytes.baseAddress { OPENSSL_cleanse(start + rest, length) }
        }
        count = rest
        return taken
    }

    mutating func wipe() {
        storage.wipe()
        count = 0
    }
}
