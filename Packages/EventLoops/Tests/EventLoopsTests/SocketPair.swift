import Glibc
import Testing

@testable import EventLoops

/// A connected pair of Unix sockets. `near` is for the wait point under test; `far` is closed with the value.
final class SocketPair: Sendable {
    let near: CInt
    let far: CInt

    init() throws {
        var pair: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutablePointer(to: &pair) {
            $0.withMemoryRebound(to: CInt.self, capacity: 2) {
                socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, $0)
            }
        }
        try #require(result == 0, "socketpair: \(errno)")
        (near, far) = pair
    }

    deinit { close(far) }

    /// What a read that does not wait says of a descriptor.
    enum Look: Equatable {
        case byte(UInt8), end, nothing, failed(CInt)
    }

    static func look(at descriptor: CInt, flags: CInt = 0) -> Look {
        var byte: UInt8 = 0
        switch recv(descriptor, &byte, 1, CInt(MSG_DONTWAIT) | flags) {
        case 1: return .byte(byte)
        case 0: return .end
        default: return errno == EAGAIN ? .nothing : .failed(errno)
        }
    }

    @discardableResult
    static func send(_ byte: UInt8, to descriptor: CInt) -> Bool {
        var byte = byte
        return Glibc.send(descriptor, &byte, 1, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)) == 1
    }

    /// Fills the near side's way out until it would block.
    func fillNear() {
        let bytes = [UInt8](repeating: 0, count: 65536)
        while Glibc.send(near, bytes, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)) > 0 {}
    }

    /// Takes everything that waits at the far side.
    func drainFar() {
        var bytes = [UInt8](repeating: 0, count: 65536)
        while recv(far, &bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
    }
}

/// What came of reading one byte.
enum Reading: Equatable, Sendable {
    case byte(UInt8), end, woken(Wake), error(CInt)
}

extension WaitPoint {
    /// Reads one byte as a stream would: try, wait, try again.
    nonisolated(nonsending) func readByte(until deadline: Moment? = nil) async -> Reading {
        switch enter(.reader) {
        case .entered: break
        case .busy: return .woken(.busy)
        case .closed: return .woken(.closed)
        }
        defer { leave(.reader) }
        while true {
            switch SocketPair.look(at: descriptor) {
            case .byte(let byte): return .byte(byte)
            case .end: return .end
            case .failed(let code) where descriptor >= 0: return .error(code)
            case .failed, .nothing: break
            }
            let wake = await readerWait(for: .readable, until: deadline)
            if wake != .ready { return .woken(wake) }
        }
    }

    /// Reads one byte on this thread, waiting in `poll`.
    @available(*, noasync)
    func blockForByte(until deadline: Moment? = nil) -> Reading {
        guard enter(.reader) == .entered else { return .woken(isClosed(.reader) ? .closed : .busy) }
        defer { leave(.reader) }
        while true {
            switch SocketPair.look(at: descriptor) {
            case .byte(let byte): return .byte(byte)
            case .end: return .end
            case .failed(let code) where descriptor >= 0: return .error(code)
            case .failed, .nothing: break
            }
            let wake = block(.reader, for: .readable, until: deadline)
            if wake != .ready { return .woken(wake) }
        }
    }

    /// Reads one byte on this thread, waiting in `recv` itself.
    @available(*, noasync)
    func receiveByte() -> Reading {
        guard enter(.reader) == .entered else { return .woken(isClosed(.reader) ? .closed : .busy) }
        defer { leave(.reader) }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        if isClosed(.reader) { return .woken(.closed) }
        return count == 1 ? .byte(byte) : count == 0 ? .end : .error(errno)
    }
}
