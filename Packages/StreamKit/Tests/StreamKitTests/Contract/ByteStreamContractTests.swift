import EventLoops
import Foundation
import Glibc
import HostResolver
@_spi(Packages) import StreamKit
import StreamKitTesting
import Testing

@Suite(.serialized) struct ByteStreamContractTests {
    // Parity: SK-001, SK-023, SK-024, SK-025, SK-026, SK-027, SK-028, SK-029, SK-030
    // Parity: SK-031, SK-032, SK-033, SK-034, SK-035, SK-036, SK-037, SK-038
    // Parity: SK-039, SK-070, SK-071, SK-072, SK-073, SK-074, SK-075, SK-076
    // Parity: SK-077, SK-078, SK-079, SK-080, SK-081, SK-082, SK-083, SK-084
    @Test(
        "SK-023…SK-039, SK-070…SK-084: the contract holds", .timeLimit(.minutes(5)),
        arguments: PipeKind.allCases, ByteStreamRule.allCases)
    func contractHolds(_ kind: PipeKind, _ rule: ByteStreamRule) async throws {
        // A borrowed descriptor outlives its streams, so releasing them ends nothing.
        if kind.isBorrowed, rule == .droppingCloses { return }
        try await ByteStreamContract { try await kind.make() }.check(rule)
    }
}

/// Every kind of flow for which the contract is checked.
enum PipeKind: String, CaseIterable, CustomTestStringConvertible {
    case bound
    case connected
    case ownedSockets
    case borrowedSockets
    case tcp4
    case tcp6
    case connectedTCP4
    case connectedTCP6
    case unixSocket
    case ownedPipe
    case borrowedPipe
    case fifo
    case fragmentedMemory
    case fragmentedTCP
    case layered
    case lockstep
    case tls
    case fragmentedTLS
    case proxied
    case proxiedTLS

    var testDescription: String { rawValue }

    /// Only an owned descriptor is closed.
    var isBorrowed: Bool { self == .borrowedSockets || self == .borrowedPipe }

    func make() async throws -> BytePipe {
        switch self {
        case .bound: return BytePipe(StreamPair.bound(bufferSize: 1000))
        case .connected:
            let (reader, writer) = StreamPair.connected(bufferSize: 1000)
            return BytePipe(reader: reader, writer: writer)
        case .ownedSockets: return try Wire.unix().pipe(.owned)
        case .borrowedSockets: return try Wire.unix().pipe(.borrowed)
        case .tcp4: return try Wire.tcp(.v4(.loopback)).pipe(.owned)
        case .tcp6: return try Wire.tcp(.v6(.loopback)).pipe(.owned)
        case .connectedTCP4: return try await connected(.ip(.v4(.loopback), port: 0))
        case .connectedTCP6: return try await connected(.ip(.v6(.loopback), port: 0))
        case .unixSocket:
            return try await connected(.unix(UnixSocketAddress(abstractName: "sk-\(UUID().uuidString)")))
        case .ownedPipe: return try Wire.pipe().pipe(.owned)
        case .borrowedPipe: return try Wire.pipe().pipe(.borrowed)
        case .fifo: return try fifo()
        case .fragmentedMemory:
            let pair = StreamPair.bound(bufferSize: 20_000)
            return .over(
                TestTransport.fragmenting(TestTransport.over(reading: pair.input), pieceSize: 997),
                TestTransport.fragmenting(TestTransport.over(writing: pair.output), pieceSize: 1009))
        case .fragmentedTCP:
            let wire = try Wire.tcp(.v4(.loopback))
            return .over(
                TestTransport.fragmenting(TestTransport.over(wire.reader(.owned)), pieceSize: 3001),
                TestTransport.fragmenting(TestTransport.over(wire.writer(.owned)), pieceSize: 3011))
        case .layered:
            let wire = try Wire.tcp(.v4(.loopback))
            return .over(TestTransport.over(wire.reader(.owned)), TestTransport.over(wire.writer(.owned)))
        case .lockstep:
            let pair = TestTransport.lockstep()
            return .over(pair.reading, pair.writing)
        case .tls: return try Wire.tcp(.v4(.loopback)).secured()
        case .fragmentedTLS: return try Wire.tcp(.v4(.loopback)).securedInPieces()
        case .proxied: return try await proxied()
        case .proxiedTLS: return try await proxied(isSecured: true)
        }
    }

    /// A listener and a connection to it, opened through the public API.
    private func connected(_ address: SocketAddress) async throws -> BytePipe {
        let listener = try Listener(address)
        let near = StreamPair(address: listener.address)
        try near.open()
        try await near.output.opened()
        let far = StreamPair(descriptor: try listener.accept(), ownership: .owned)
        return BytePipe(reader: near, writer: far, companions: [listener])
    }

    private func fifo() throws -> BytePipe {
        let file = TestFile()
        try #require(mkfifo(file.path, 0o600) == 0)
        let input = ReadStream(path: file.path)
        try input.open()
        let output = WriteStream(path: file.path, append: true)
        try output.open()
        return BytePipe(
            output: output, input: input, companions: [file],
            end: { () async throws(StreamError) in output.close() })
    }
}

extension BytePipe {
    /// The two halves of a bound pair.
    init(_ pair: StreamPair) {
        self.init(output: pair.output, input: pair.input)
    }

    /// One direction between two connected pairs.
    init(
        reader: StreamPair, writer: StreamPair, companions: [any Sendable] = [],
        breakOff: (@Sendable () -> Void)? = nil
    ) {
        self.init(
            output: writer.output, input: reader.input, companions: companions + [reader, writer],
            leave: { reader.close() }, breakOff: breakOff)
    }

    static func over(_ reading: any StreamTransport, _ writing: any StreamTransport) -> BytePipe {
        BytePipe(output: WriteStream(transport: writing), input: ReadStream(transport: reading))
    }
}

/// Two connected descriptors.
struct Wire {
    let near: Int32
    let far: Int32

    static func unix() throws -> Wire {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        return Wire(near: pair[0], far: pair[1])
    }

    /// `near` is the reading end.
    static func pipe() throws -> Wire {
        var pair: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&pair) == 0)
        for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return Wire(near: pair[0], far: pair[1])
    }

    /// Closes the reading end of a pipe, and waits until the kernel has noticed: a child process that another test starts holds a
    /// copy of the descriptor until it executes its program.
    func closePipeReader() {
        Glibc.close(near)
        var writer = pollfd(fd: far, events: 0, revents: 0)
        while writer.revents & Int16(POLLERR) == 0 { Glibc.poll(&writer, 1, -1) }
    }

    static func tcp(_ address: IPAddress) throws -> Wire {
        let listener = try Listener(.ip(address, port: 0))
        let near = socket(listener.address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(listener.address.withSockAddr { connect(near, $0, $1) } == 0)
        return Wire(near: near, far: try listener.accept())
    }

    func reader(_ ownership: DescriptorOwnership) -> StreamPair { StreamPair(descriptor: near, ownership: ownership) }

    func writer(_ ownership: DescriptorOwnership) -> StreamPair { StreamPair(descriptor: far, ownership: ownership) }

    func pipe(_ ownership: DescriptorOwnership) throws -> BytePipe {
        let far = far
        let reader = reader(ownership)
        let writer = writer(ownership)
        var pipe = BytePipe(reader: reader, writer: writer)
        if ownership == .borrowed {
            let wire = Descriptors([near, far])
            pipe.companions.append(wire)
            pipe.leave = {
                reader.close()
                wire.close(0)
            }
            if Wire.isSocket(far) { return pipe }
            pipe.end = { () async throws(StreamError) in
                writer.close()
                wire.close(1)
            }
        } else if !Wire.isSocket(far) {
            pipe.end = { () async throws(StreamError) in writer.close() }
        } else if Wire.isInternet(far) {
            pipe.breakOff = {
                var option = linger(l_onoff: 1, l_linger: 0)
                setsockopt(far, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
                writer.close()
            }
        }
        return pipe
    }

    private static func isSocket(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    private static func isInternet(_ descriptor: Int32) -> Bool {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) {
            getsockname(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        } == 0 && Int32(address.ss_family) != AF_UNIX
    }
}

/// Descriptors that the streams borrow.
final class Descriptors: Sendable {
    private let numbers: Locked<[Int32]>

    init(_ numbers: [Int32]) {
        self.numbers = Locked(numbers)
    }

    func close(_ index: Int) {
        numbers.withLock {
            if $0[index] >= 0 { Glibc.close($0[index]) }
            $0[index] = -1
        }
    }

    deinit {
        close(0)
        close(1)
    }
}

/// A listening socket and its address.
final class Listener: Sendable {
    let descriptor: Int32
    let address: SocketAddress

    init(_ wanted: SocketAddress, backlog: Int32 = 8) throws {
        let descriptor = socket(wanted.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(wanted.withSockAddr { bind(descriptor, $0, $1) } == 0, "bind: \(errno)")
        try #require(listen(descriptor, backlog) == 0)
        self.descriptor = descriptor
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        address = try withUnsafeMutableBytes(of: &storage) { bytes in
            getsockname(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
            return try SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: bytes[..<Int(size)]))
        }
    }

    deinit { Glibc.close(descriptor) }

    /// The next connection, which is already in progress.
    func accept() throws -> Int32 {
        let descriptor = Glibc.accept(descriptor, nil, nil)
        try #require(descriptor >= 0, "accept: \(errno)")
        return descriptor
    }
}

/// A file with an unused name, removed at the end.
final class TestFile: Sendable {
    let path: String

    init(_ content: [UInt8]? = nil) {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("sk-\(UUID().uuidString)").path
        if let content { _ = FileManager.default.createFile(atPath: path, contents: Data(content)) }
    }

    var content: [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }

    deinit { unlink(path) }
}

extension PipeKind {
    private static let authority = SharedAuthority()

    /// A connection opened through a proxy, which then acts as the target itself.
    func proxied(isSecured: Bool = false) async throws -> BytePipe {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let near = StreamPair(host: "www.example.org", port: 80)
        try near.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: try #require(listener.address.port)))
        if isSecured { try near.set(.tls, to: Self.authority.client) }
        try near.open()
        let far = StreamPair(
            descriptor: try await onThread {
                let connection = FakeConnection(try listener.accept())
                defer { connection.close() }
                try connection.acceptSOCKS()
                return connection.duplicate()
            }, ownership: .owned)
        if isSecured {
            try far.set(.tls, to: Self.authority.server)
            try far.open()
        }
        try await near.input.opened()
        return BytePipe(reader: near, writer: far, companions: [listener])
    }
}

extension Wire {
    private static let authority = SharedAuthority()

    /// TLS on both ends, from server to client.
    func secured() throws -> BytePipe {
        let (reader, writer) = try securedPairs()
        return BytePipe(reader: reader, writer: writer)
    }

    /// The same, with layers below and above that split all data.
    func securedInPieces() throws -> BytePipe {
        let (reader, writer) = try securedPairs()
        let reading = StreamPair(transport: TestTransport.fragmenting(TestTransport.over(reader), pieceSize: 5001))
        let writing = StreamPair(transport: TestTransport.fragmenting(TestTransport.over(writer), pieceSize: 5003))
        return BytePipe(reader: reading, writer: writing)
    }

    private func securedPairs() throws -> (reader: StreamPair, writer: StreamPair) {
        var client = Wire.authority.client
        client.peerName = "www.example.org"
        let reader = reader(.owned)
        let writer = writer(.owned)
        try reader.set(.tls, to: client)
        try writer.set(.tls, to: Wire.authority.server)
        return (reader, writer)
    }
}
