import EventLoops
@_spi(Packages) import FTPStream
import FoundationEssentials
import Glibc
import HTTPMessage
import HostResolver
@_spi(Packages) import NetKit
import Testing

@testable import StreamKit
@testable import StreamSockets

/// A stream of one kind, with a peer that accepts connections and sends nothing.
final class Fixture: Sendable {
    let subject: Subject
    /// The stream's peer, if it exists before the stream is opened.
    let peer: StreamPair?
    /// Objects that must stay alive.
    private let others: [any Sendable]

    init(_ subject: Subject, peer: StreamPair? = nil, keeping others: any Sendable...) {
        self.subject = subject
        self.peer = peer
        self.others = others
    }

    deinit {
        subject.close()
        peer?.close()
    }
}

/// Makes a stream of one kind.
struct KindFixture: Sendable, CustomTestStringConvertible {
    let kind: StreamKind
    let make: @Sendable () throws -> Fixture

    init(_ kind: StreamKind, _ make: @escaping @Sendable () throws -> Fixture) {
        self.kind = kind
        self.make = make
    }

    var testDescription: String { kind.name }
}

/// A port of 127.0.0.1 that accepts connections on request.
final class SilentPeer: Sendable {
    let socket: Socket
    let port: UInt16

    init() throws {
        socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        port = try #require(socket.localAddress?.port)
    }

    deinit { socket.invalidate() }

    /// The next connection, opened, and its remote address.
    func accept() async throws -> (pair: StreamPair, address: SocketAddress) {
        let client = try await socket.accept()
        let address = try #require(client.peerAddress)
        let pair = try client.makeStreams()
        try pair.open()
        return (pair, address)
    }
}

/// A finder that returns one address at once.
struct KnownPlace: AddressFinder {
    let port: UInt16
    var description: String { "a known place" }

    func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
        let place = FoundAddresses(addresses: [.ip(.v4(.loopback), port: port)], name: "place.test")
        EventLoop.shared.execute { handler(.success(place)) }
        return LookupToken { true }
    }
}

/// A file that is removed with this object.
final class ScratchFile: Sendable {
    let path: String

    init(_ content: String = "0123456789") throws {
        var template = Array("/tmp/netkit-matrix-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try #require(write(descriptor, content, content.utf8.count) == content.utf8.count)
        Glibc.close(descriptor)
    }

    deinit { unlink(path) }

    var content: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}

/// A custom transport over a socket.
final class OwnTransport: StreamTransport {
    let pair: StreamPair

    init(_ pair: StreamPair) { self.pair = pair }

    var waitPoint: WaitPoint { pair.input.waitPoint }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let count = try pair.input.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        return count == 0 ? .ended : .moved(count)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let count = try pair.output.tryWrite(bytes) else { return .wouldBlock(.writable) }
        return .moved(count)
    }

    func peek() throws(StreamError) -> Attempt { pair.input.hasBytesAvailable ? .moved(1) : .wouldBlock(.readable) }
    func writability() throws(StreamError) -> Attempt {
        pair.output.canAcceptBytes ? .moved(1) : .wouldBlock(.writable)
    }
    func close() { pair.close() }
}

/// A transport that never opens.
final class NeverOpening: StreamTransport {
    let waitPoint = WaitPoint()

    func tryOpen() throws(StreamError) -> OpenAttempt { .wouldBlock(.readable) }
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
    func peek() throws(StreamError) -> Attempt { .ended }
    func writability() throws(StreamError) -> Attempt { .ended }
}

extension KindFixture {
    /// Two connected sockets, the second one open.
    static func sockets() throws -> (first: Int32, peer: StreamPair) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let peer = StreamPair(descriptor: ends[1], ownership: .owned)
        try peer.open()
        return (ends[0], peer)
    }

    /// A connected TCP socket whose peer is not accepted.
    static func connectedSocket() throws -> (descriptor: Int32, listener: SilentPeer) {
        let listener = try SilentPeer()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let address = SocketAddress.ip(.v4(.loopback), port: listener.port)
        try #require(address.withSockAddr { connect(descriptor, $0, $1) } == 0)
        return (descriptor, listener)
    }

    private static func openPair() throws -> (pair: StreamPair, peer: StreamPair) {
        let (first, peer) = try sockets()
        let pair = StreamPair(descriptor: first, ownership: .owned)
        try pair.open()
        return (pair, peer)
    }

    /// The stream kinds of all packages; ``PropertyMatrixTests`` proves that the list is complete.
    static let all: [KindFixture] =
        ofStreamKit
        + NetworkKind.all.map { kind in
            KindFixture(kind.kind) {
                let peer = try SilentPeer()
                return Fixture(try kind.make("127.0.0.1", peer.port, false), keeping: peer)
            }
        }

    /// The kinds without a connection.
    private static let ofStreamKit: [KindFixture] = [
        KindFixture(.readFile) {
            let file = try ScratchFile()
            return Fixture(.reader(ReadStream(path: file.path)), keeping: file)
        },
        KindFixture(.writtenFile) {
            let file = try ScratchFile()
            return Fixture(.writer(WriteStream(path: file.path)), keeping: file)
        },
        KindFixture(.readMemory) { Fixture(.reader(ReadStream(bytes: [1]))) },
        KindFixture(.writtenMemory) { Fixture(.writer(WriteStream(toMemoryOfCapacity: nil))) },
        KindFixture(.boundInput) {
            let pair = StreamPair.bound()
            return Fixture(.reader(pair.input), keeping: pair)
        },
        KindFixture(.boundOutput) {
            let pair = StreamPair.bound()
            return Fixture(.writer(pair.output), keeping: pair)
        },
        KindFixture(.descriptor) {
            let terminal = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY)
            try #require(terminal >= 0)
            return Fixture(.pair(StreamPair(descriptor: terminal, ownership: .owned)))
        },
        KindFixture(.socket) {
            let (descriptor, listener) = try connectedSocket()
            return Fixture(.pair(StreamPair(descriptor: descriptor, ownership: .owned)), keeping: listener)
        },
        KindFixture(.accepted) {
            let (descriptor, listener) = try connectedSocket()
            let accepted = Socket.Accepted(descriptor: descriptor, peer: nil)
            return Fixture(.pair(StreamPair(accepted, StreamProperties(), loop: .shared)), keeping: listener)
        },
        KindFixture(.unixSocket) {
            let address = SocketAddress.unix(
                try UnixSocketAddress(abstractName: "netkit-matrix-\(UUID().uuidString)"))
            let listener = try Socket(listeningAt: address)
            return Fixture(.pair(StreamPair(address: address)), keeping: listener)
        },
        KindFixture(.transport) {
            let (pair, peer) = try openPair()
            return Fixture(.pair(StreamPair(transport: OwnTransport(pair))), peer: peer)
        },
        KindFixture(.readTransport) {
            let (pair, peer) = try openPair()
            return Fixture(.reader(ReadStream(transport: OwnTransport(pair))), peer: peer)
        },
        KindFixture(.writtenTransport) {
            let (pair, peer) = try openPair()
            return Fixture(.writer(WriteStream(transport: OwnTransport(pair))), peer: peer)
        },
        KindFixture(.layer) {
            let (pair, peer) = try openPair()
            let layer = try StreamPair(securing: pair, with: TLSConfiguration(), peerName: "peer.test")
            return Fixture(.pair(layer), peer: peer)
        },
    ]
}

/// A kind of stream that connects to a host and a port.
struct NetworkKind: Sendable {
    let kind: StreamKind
    /// Makes a stream, optionally with TLS from the first byte.
    let make: @Sendable (_ host: String, _ port: UInt16, _ isSecure: Bool) throws -> Subject

    init(_ kind: StreamKind, _ make: @escaping @Sendable (String, UInt16, Bool) throws -> Subject) {
        self.kind = kind
        self.make = make
    }

    private static func pair(_ pair: StreamPair, _ isSecure: Bool) throws -> Subject {
        if isSecure { try pair.set(.tls, to: TLSConfiguration()) }
        return .pair(pair)
    }

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static func ftp(_ subject: Subject, _ isSecure: Bool) throws -> Subject {
        if isSecure { try subject.set(.ftp(\.security), to: .implicit) }
        return subject
    }

    /// The body of an HTTP request: larger than the sum of all buffers.
    static let body = [UInt8](repeating: 7, count: 64 << 20)

    static let all: [NetworkKind] = [
        NetworkKind(.host) { try pair(StreamPair(host: $0, port: $1), $2) },
        NetworkKind(.address) { host, port, isSecure in
            let address = SocketAddress.ip(.v4(.loopback), port: port)
            return try pair(StreamPair(addresses: [address], name: host), isSecure)
        },
        NetworkKind(.found) { try pair(StreamPair(finder: KnownPlace(port: $1)), $2) },
        NetworkKind(.http) { host, port, isSecure in
            let request = try HTTPRequest(
                method: .put, url: url("\(isSecure ? "https" : "http")://\(host):\(port)/"))
            return .reader(ReadStream(request: request, body: .bytes(body)))
        },
        NetworkKind(.readFTPFile) { try ftp(.reader(ReadStream(ftpURL: url("ftp://\($0):\($1)/file"))), $2) },
        NetworkKind(.ftpListing) { try ftp(.reader(ReadStream(ftpURL: url("ftp://\($0):\($1)/pub/"))), $2) },
        NetworkKind(.writtenFTPFile) { try ftp(.writer(WriteStream(ftpURL: url("ftp://\($0):\($1)/file"))), $2) },
        NetworkKind(.madeFTPDirectory) { try ftp(.writer(WriteStream(ftpURL: url("ftp://\($0):\($1)/pub/"))), $2) },
        NetworkKind(.ftpClient) { try ftp(.client(FTPClient(url("ftp://\($0):\($1)/"))), $2) },
    ]

    static func of(_ kind: StreamKind) -> NetworkKind? { all.first { $0.kind.name == kind.name } }
}
