import EventLoops
import Foundation
import Glibc
import HTTPAuthTesting
import Testing

@testable import CredentialStores

/// Tests a connection whose peer is the test.
@Suite struct DBusConnectionTests {
    private let call = DBusMessage.call("Ping", "test.Peer", at: "/", of: "test")

    /// Returns an authenticated connection and the descriptor of its peer.
    private func connectionPair() -> (DBusConnection, Int32) {
        var pair: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
        return (DBusConnection(adopting: pair[0]), pair[1])
    }

    private func message(
        _ kind: DBusMessage.Kind, _ fields: [DBusMessage.Field: DBusValue], _ body: [DBusValue] = []
    ) -> [UInt8] {
        DBusMessage(kind: kind, serial: 1, fields: fields, body: body).encoded()
    }

    private func reply(_ serial: UInt64, _ text: String) -> [UInt8] {
        message(.reply, [.replySerial: .number(.uint32, serial)], [.string(text)])
    }

    private var deadline: Moment { .now + .seconds(20) }

    @Test func repliesAmongOthers() throws {
        let (bus, other) = connectionPair()
        defer { close(other) }
        let signal = message(.signal, [.path: .path("/p"), .member: .string("Completed")], [.boolean(true)])
        let stray = message(.signal, [.path: .path("/q"), .member: .string("Completed")], [.boolean(false)])
        var unknown = reply(1, "of an unknown type")
        unknown[1] = 9
        let all = stray + reply(77, "of another call") + unknown + signal + reply(1, "one") + reply(2, "two")
        #expect(write(other, all, all.count) == all.count)
        #expect(try bus.call(call, until: deadline) == [.string("one")])
        #expect(try bus.call(call, until: deadline) == [.string("two")])
        #expect(try bus.signal("Completed", from: "/p", until: deadline) == [.boolean(true)])
    }

    /// A signal of another program is none of the program that was called.
    @Test func signalsOfOtherPrograms() throws {
        let (bus, other) = connectionPair()
        defer { close(other) }
        func signal(_ sender: String?, _ value: Bool) -> [UInt8] {
            var fields: [DBusMessage.Field: DBusValue] = [.path: .path("/p"), .member: .string("Completed")]
            if let sender { fields[.sender] = .string(sender) }
            return message(.signal, fields, [.boolean(value)])
        }
        let reply = message(.reply, [.replySerial: .number(.uint32, 1), .sender: .string(":1.7")])
        let all = signal(":1.8", false) + reply + signal(nil, false) + signal(":1.70", false) + signal(":1.7", true)
        #expect(write(other, all, all.count) == all.count)
        _ = try bus.call(call, until: deadline)
        #expect(try bus.signal("Completed", from: "/p", until: deadline) == [.boolean(true)])
    }

    /// A reply that arrives in two parts, split at every byte.
    @Test func everySplit() throws {
        let whole = reply(1, "hello")
        for cut in 0...whole.count {
            let (bus, other) = connectionPair()
            defer { close(other) }
            #expect(write(other, Array(whole[..<cut]), cut) == cut)
            if cut < whole.count { writeAfterTheCall(Array(whole[cut...]), to: other) }
            #expect(try bus.call(call, until: deadline) == [.string("hello")])
        }
    }

    /// Writes bytes when the call has arrived. Uses a thread, because the test blocks one of the few threads of tasks.
    private func writeAfterTheCall(_ bytes: [UInt8], to other: Int32) {
        Thread.detachNewThread {
            var event = pollfd(fd: other, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, 20_000) == 1 else { return }
            _ = write(other, bytes, bytes.count)
        }
    }

    @Test func failures() throws {
        let error = message(
            .error, [.replySerial: .number(.uint32, 1), .errorName: .string("test.Error.Odd")], [.string("why")])
        var garbage = reply(1, "x")
        garbage[0] = 0
        for (bytes, detail) in [(error, "test.Error.Odd: why"), (garbage, "version is not 1"), ([], "closed")] {
            let (bus, other) = connectionPair()
            if !bytes.isEmpty { #expect(write(other, bytes, bytes.count) == bytes.count) }
            if bytes.isEmpty { shutdown(other, Int32(SHUT_WR)) }
            let failure = failure(of: { _ = try bus.call(call, until: deadline) })
            #expect(failure?.code == .storeUnavailable && failure?.detail?.contains(detail) == true)
            close(other)
        }
        let (bus, other) = connectionPair()
        defer { close(other) }
        #expect(failure(of: { _ = try bus.call(call, until: .now) })?.code == .timedOut)
        let signals = (0..<200).flatMap { _ in message(.signal, [.path: .path("/p"), .member: .string("S")]) }
        #expect(write(other, signals + reply(2, "x"), signals.count + reply(2, "x").count) > 0)
        _ = try bus.call(call, until: deadline)
        // The number of stored signals is limited.
        for _ in 0..<DBusConnection.maximumSignals { _ = try bus.signal("S", from: "/p", until: deadline) }
        #expect(failure(of: { _ = try bus.signal("S", from: "/p", until: .now) })?.code == .timedOut)
    }

    /// Where no bus listens there is none, which a failing one is told from.
    @Test func missingBuses() {
        let path = "/tmp/netkit-\(UUID())"
        // A socket of another type.
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(isBound == 0)
        for (address, code) in [
            ("unix:path=\(path)-", .storeMissing), ("unix:path=\(path)/bus", .storeMissing),
            ("unix:abstract=\(path)", .storeMissing), ("tcp:host=h,port=1", .storeMissing),
            ("unix:path=\(path)", .storeUnavailable),
        ] as [(String, HTTPAuthError.Code)] {
            #expect(failure(of: { try SecretServiceStore(busAddress: address).check() })?.code == code, "\(address)")
        }
    }

    /// A bus that sends without end, but never the reply, does not block the caller: data is always available, so no
    /// wait checks the deadline.
    @Test func endlessSignalsDoNotBlock() throws {
        let (bus, other) = connectionPair()
        defer { close(other) }
        let signal = message(.signal, [.path: .path("/p"), .member: .string("S")])
        #expect(write(other, signal + signal, 2 * signal.count) == 2 * signal.count)
        shutdown(other, Int32(SHUT_WR))
        // Reading on would reach the end of the stream.
        #expect(failure(of: { _ = try bus.call(call, until: .now) })?.code == .timedOut)
        #expect(failure(of: { _ = try bus.signal("T", from: "/p", until: .now) })?.code == .timedOut)
    }

    /// The kernel closes descriptors attached to a message, because the connection provides no space for them.
    @Test func takesNoDescriptors() throws {
        let (bus, other) = connectionPair()
        defer { close(other) }
        var pipe: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&pipe) == 0)
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipe[0]) }
        var bytes = reply(1, "with a descriptor")
        let room = MemoryLayout<cmsghdr>.size + 8
        let control = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 8)
        defer { control.deallocate() }
        var head = cmsghdr()
        (head.cmsg_len, head.cmsg_level, head.cmsg_type) = (room - 4, SOL_SOCKET, Int32(SCM_RIGHTS))
        control.storeBytes(of: head, as: cmsghdr.self)
        control.storeBytes(of: pipe[1], toByteOffset: MemoryLayout<cmsghdr>.size, as: Int32.self)
        let sent = bytes.withUnsafeMutableBytes { bytes in
            var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &piece) { piece in
                var message = msghdr()
                (message.msg_iov, message.msg_iovlen) = (piece, 1)
                (message.msg_control, message.msg_controllen) = (control, room)
                return sendmsg(other, &message, 0)
            }
        }
        #expect(sent == bytes.count)
        close(pipe[1])
        #expect(try bus.call(call, until: deadline) == [.string("with a descriptor")])
        // No descriptor of the other end is open any more.
        var byte: UInt8 = 0
        #expect(read(pipe[0], &byte, 1) == 0)
    }
}

@Suite struct DBusInputTests {
    /// Fills a buffer in parts of a given size.
    private func fill(_ input: inout DBusBuffer, _ bytes: [UInt8], inPiecesOf size: Int) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let moved = input.fill { room in
                let piece = rest.prefix(min(size, room.count))
                room.copyBytes(from: piece)
                return piece.count
            }
            rest = rest.dropFirst(moved)
        }
    }

    @Test(arguments: [1, 7, 4096, .max])
    func returnsBytesAndWipesThem(_ size: Int) {
        var input = DBusBuffer()
        let secret = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 % 255 + 1) }
        fill(&input, secret + [1, 2, 3], inPiecesOf: size)
        #expect(input.count == secret.count + 3 && input.first(4) == [1, 2, 3, 4])
        #expect(input.take(secret.count) == secret)
        #expect(input.count == 3 && input.storage[3...].allSatisfy { $0 == 0 })
        #expect(input.take(3) == [1, 2, 3])
        #expect(input.count == 0 && input.storage.allSatisfy { $0 == 0 })
    }

    @Test func failuresAreReported() {
        var input = DBusBuffer()
        #expect(input.fill { _ in -1 } == -1)
        #expect(input.fill { _ in 0 } == 0)
        #expect(input.count == 0)
    }
}
