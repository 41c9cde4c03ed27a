internal import Glibc

/// A typed socket option, for `getsockopt(2)` and `setsockopt(2)`.
///
/// ```swift
/// try socket.set(.keepsAlive, to: true)
/// try socket.set(.keepAliveIdle, to: .seconds(60))
/// let size = try socket.get(.receiveBufferSize)
/// ```
///
/// Further options can be added: `SocketOption<Bool>(SOL_SOCKET, SO_DONTROUTE, named: "SO_DONTROUTE")`.
public struct SocketOption<Value: Sendable>: Sendable {
    typealias Reader = @Sendable (CInt) -> Result<Value, ErrorNumber>
    typealias Writer = @Sendable (CInt, Value) -> ErrorNumber?

    /// The C name, for error messages.
    public let name: String

    let read: Reader
    let write: Writer

    init(_ name: String, read: @escaping Reader, write: @escaping Writer) {
        self.name = name
        self.read = read
        self.write = write
    }

    /// An option that is a C `int`, with conversions.
    init(
        _ level: CInt, _ number: CInt, named name: String, from: @escaping @Sendable (CInt) -> Value,
        to: @escaping @Sendable (Value) -> CInt
    ) {
        self.init(name) {
            Syscalls.option($0, level, number, CInt(0)).map(from)
        } write: {
            Syscalls.setOption($0, level, number, to($1))
        }
    }
}

extension SocketOption where Value == Bool {
    /// An option that is a C `int` used as a switch.
    public init(_ level: Int32, _ number: Int32, named name: String) {
        self.init(level, number, named: name, from: { $0 != 0 }, to: { $0 ? 1 : 0 })
    }
}

extension SocketOption where Value == Int {
    /// An option that is a C `int`.
    public init(_ level: Int32, _ number: Int32, named name: String) {
        self.init(level, number, named: name, from: { Int($0) }, to: { CInt(clamping: $0) })
    }
}

extension SocketOption where Value == Duration {
    /// An option that is a C `int` of whole seconds; rounded up.
    init(seconds level: Int32, _ number: Int32, named name: String) {
        self.init(
            level, number, named: name, from: { .seconds($0) },
            to: { duration in
                let (seconds, rest) = duration.components
                return CInt(clamping: rest > 0 ? seconds + 1 : seconds)
            })
    }
}

extension Socket {
    /// The value of an option.
    ///
    /// - Throws: `ENOPROTOOPT` or `EOPNOTSUPP` if the socket has no such option.
    public func get<Value>(_ option: SocketOption<Value>) throws(StreamError) -> Value {
        switch try using({ (descriptor) throws(StreamError) in option.read(descriptor) }) {
        case .success(let value): return value
        case .failure(let number): throw StreamError(posix: number.value, .optionFailed(option.name, number.value))
        }
    }

    /// Sets an option.
    ///
    /// - Throws: `ENOPROTOOPT` or `EOPNOTSUPP` if the socket has no such option; `EINVAL` for an invalid value;
    ///   `EPERM`.
    public func set<Value>(_ option: SocketOption<Value>, to value: Value) throws(StreamError) {
        if let number = try using({ (descriptor) throws(StreamError) in option.write(descriptor, value) }) {
            throw StreamError(posix: number.value, .optionFailed(option.name, number.value))
        }
    }
}
