import Dispatch
import EventLoops
import Glibc
import HostResolver
import StreamKit
import Testing

/// A server in this process that runs a script per connection, each on a thread.
final class FakeProxy: Sendable {
    let listener: Listener
    private let done: Done

    private final class Done: Sendable {
        struct State {
            var failures: [String] = []
            var remaining = 0
            var waiters: [CheckedContinuation<Void, Never>] = []
        }

        let state = Locked(State())
    }

    var port: UInt16 { listener.address.port ?? 0 }

    /// Accepts one connection for each script, in order. A connection is closed when its script returns.
    init(_ scripts: (@Sendable (FakeConnection) throws -> Void)...) throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let done = Done()
        done.state.withLock { $0.remaining = scripts.count }
        (self.listener, self.done) = (listener, done)
        onOwnThread {
            for script in scripts {
                let descriptor = Glibc.accept(listener.descriptor, nil, nil)
                onOwnThread {
                    let connection = FakeConnection(descriptor)
                    var failure: String?
                    do { try script(connection) } catch { failure = "\(error)" }
                    connection.close()
                    let waiters = done.state.withLock { done in
                        if let failure { done.failures.append(failure) }
                        done.remaining -= 1
                        return done.remaining == 0 ? done.waiters : []
                    }
                    for waiter in waiters { waiter.resume() }
                }
            }
        }
    }

    /// Waits until every script has run; none may have failed.
    func finished(sourceLocation: SourceLocation = #_sourceLocation) async {
        await withCheckedContinuation { waiter in
            let isDone = done.state.withLock { done in
                if done.remaining > 0 { done.waiters.append(waiter) }
                return done.remaining == 0
            }
            if isDone { waiter.resume() }
        }
        #expect(done.state.withLock { $0.failures } == [], sourceLocation: sourceLocation)
    }
}

/// One connection of a ``FakeProxy``, on plain blocking calls.
final class FakeConnection: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.send(descriptor, Array(rest), rest.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { throw FakeFailure("sending: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads as many bytes as these, which must be equal.
    func expect(_ bytes: [UInt8]) throws {
        let found = try read(bytes.count)
        guard found == bytes else { throw FakeFailure("expected \(bytes), got \(found)") }
    }

    func read(_ count: Int) throws -> [UInt8] {
        var found: [UInt8] = []
        while found.count < count {
            let more = readSome(count - found.count)
            if more.isEmpty { throw FakeFailure("the end after \(found)") }
            found += more
        }
        return found
    }

    func readSome(_ limit: Int = 4096) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return Array(buffer[..<max(0, count)])
    }

    /// SOCKS 5 without a password, up to the reply. Returns the request without version, command and reserved byte.
    @discardableResult
    func acceptSOCKS(reply: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 9]) throws -> [UInt8] {
        try expect([5, 1, 0])
        try send([5, 0])
        let head = try read(4)
        guard head.starts(with: [5, 1, 0]) else { throw FakeFailure("no request: \(head)") }
        let asked: [UInt8]
        switch head[3] {
        case 1: asked = try read(6)
        case 4: asked = try read(18)
        default:
            let length = try read(1)
            asked = length + (try read(Int(length[0]) + 2))
        }
        try send(reply)
        return [head[3]] + asked
    }

    /// Forwards bytes to a port of 127.0.0.1 and back, until either end closes.
    func relay(to port: UInt16) throws {
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(other) }
        let status = SocketAddress.ip(.v4(.loopback), port: port).withSockAddr { connect(other, $0, $1) }
        guard status == 0 else { throw FakeFailure("connecting: \(errno)") }
        let back = FakeConnection(other)
        let done = DispatchSemaphore(value: 0)
        onOwnThread { [self] in
            back.copy(to: self)
            done.signal()
        }
        copy(to: back)
        done.wait()
    }

    private func copy(to other: FakeConnection) {
        while true {
            let bytes = readSome()
            guard !bytes.isEmpty, (try? other.send(bytes)) != nil else { break }
        }
        shutdown(other.descriptor, Int32(SHUT_WR))
    }

    /// Returns the descriptor, which the caller then owns.
    func duplicate() -> Int32 { dup(descriptor) }

    func close() { Glibc.close(descriptor) }
}

struct FakeFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A queue of its own, which has its own thread while it blocks.
private func onOwnThread(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "fake proxy").async(execute: body)
}
