internal import BenchmarkRows
internal import CMeasure
internal import EventLoops
internal import Glibc

// The floors of 4a and 4b in Swift: the system calls and waits of a request, with the minimal HTTP of `Floors/http.c`. No request,
// stream or response exists, nothing is checked, and nothing is allocated per request. Their difference is the cost of a wait in a task.

/// The floor of 4a: on the calling thread.
let bareRequests = Row("bare-requests") { arguments in
    let count = arguments.number("count")
    let bare = BareConnection(arguments)
    var bytes = 0
    measure_begin()
    for _ in 0..<count {
        bare.send()
        var response = BareResponse()
        while response.isIncomplete { response.receive(from: bare, flags: 0) }
        bytes += response.count
    }
    measure_end(Double(count), Double(bytes))
}

/// The floor of 4b: in one task per connection, all on the event loop.
let bareRequestsAsync = Row(async: "bare-requests-async") { arguments in
    let connections = arguments.number("connections")
    let each = arguments.number("count") / connections
    let bare = (0..<connections).map { _ in BareConnection(arguments) }
    await withNetworkExecutor {
        measure_begin()
        let bytes = await withTaskGroup(of: Int.self) { group in
            for connection in bare { group.addTask { await getOften(each, on: connection) } }
            return await group.reduce(0, +)
        }
        measure_end(Double(each * connections), Double(bytes))
    }
}

private func getOften(_ count: Int, on connection: BareConnection) async -> Int {
    var bytes = 0
    for _ in 0..<count {
        connection.send()
        var response = BareResponse()
        while response.isIncomplete {
            _ = await connection.point.readerWait(for: .readable, until: nil)
            response.receive(from: connection, flags: Int32(MSG_DONTWAIT))
        }
        bytes += response.count
    }
    return bytes
}

/// A connection with its request and a buffer.
private final class BareConnection: @unchecked Sendable {
    // Unchecked: one task or thread uses it.

    let point: WaitPoint
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024 + 1, alignment: 16)
    private let request: [UInt8]

    init(_ arguments: Arguments) {
        point = WaitPoint(descriptor: measure_connect(CInt(arguments.number("port"))), ownership: .owned)
        request = Array("GET \(arguments.text("path")) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    }

    func send() {
        let sent = request.withUnsafeBytes { Glibc.send(point.descriptor, $0.baseAddress, $0.count, 0) }
        guard sent == request.count else { stop("send") }
    }
}

/// The bytes of a response so far.
private struct BareResponse {
    private(set) var count = 0
    private var length = 0

    var isIncomplete: Bool { length == 0 || count < length }

    mutating func receive(from connection: BareConnection, flags: CInt) {
        guard let start = connection.buffer.baseAddress else { return }
        let received = recv(connection.point.descriptor, start + count, connection.buffer.count - 1 - count, flags)
        guard received > 0 else {
            if received < 0, errno == EAGAIN { return }
            stop("recv")
        }
        count += received
        start.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
        if length == 0 {
            length = measure_response_length(start.assumingMemoryBound(to: CChar.self), count)
        }
    }
}
