import Foundation
import Listings
import NetKit
import Peers
import StreamKitTesting
import Testing

private typealias Listings2 = CFNetworkGuide.Chapter2

/// Chapter 2: streams, on files and against socat and squid.
struct StreamListingTests {
    private let deadEnd: RefusedPort

    init() throws { deadEnd = try RefusedPort() }

    // Parity: SK-001, FT-006
    @Test func filesFrom1To5() async throws {
        let folder = try TemporaryFolder()
        let file = URL(fileURLWithPath: folder.file("hello.txt"))
        try await onThread {
            try Listings2.listing5(file, "Hello, world")
            var stream = Listings2.listing1(file)
            let opened = try #require(stream)
            #expect(Listings2.listing2(opened) == nil)
            let bytes = Gathered()
            try Listings2.listing3(opened) { bytes.add($0) }
            #expect(bytes.text == "Hello, world")
            Listings2.listing4(&stream)
            #expect(opened.status == .closed)
            let missing = try #require(Listings2.listing1(URL(fileURLWithPath: folder.file("none"))))
            #expect(Listings2.listing2(missing) == "No such file or directory")
            #expect(missing.status == .error)
        }
    }

    @Test func eventsFrom6To8() async throws {
        // The second piece is sent after the first was handled: two events.
        let handled = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("one")
            try connection.wait(for: handled)
            try connection.send("two")
        }
        defer { server.stop() }
        try await onThread {
            let bytes = Gathered()
            let ends = Locked<[StreamError?]>([])
            func load(_ port: Int) throws {
                let stream = StreamPair(host: "127.0.0.1", port: UInt16(port)).input
                Listings2.listing6(stream) { stream, event in
                    Listings2.listing8(
                        stream, event,
                        handleBytes: {
                            bytes.add($0[...])
                            handled.fire()
                        },
                        report: { error in ends.withLock { $0.append(error) } })
                }
                try Listings2.listing7(stream)
                #expect(stream.status == .closed || stream.status == .error)
            }
            try load(server.port)
            #expect(bytes.text == "onetwo")
            try load(Int(deadEnd.port))
            let reported = ends.withLock { $0 }
            #expect(reported.count == 2 && reported.first == .some(nil))
            #expect(reported.last??.isPOSIX(ECONNREFUSED) == true)
        }
    }

    @Test func polling9And10() async throws {
        let server = Socat(.echo)
        try server.start()
        defer { server.stop() }
        try await onThread {
            let pair = StreamPair(host: "127.0.0.1", port: UInt16(server.port))
            try pair.open()
            try Listings2.listing10(pair.output, "Hello, world") { sched_yield() }
            try pair.output.finish()
            let bytes = Gathered()
            try Listings2.listing9(pair.input, handleBytes: { bytes.add($0) }, doSomethingElse: { sched_yield() })
            #expect(bytes.text == "Hello, world")
            // In this case the guide's loops never end.
            let refused = StreamPair(host: "127.0.0.1", port: deadEnd.port)
            try refused.open()
            #expect(throws: StreamError.self) {
                try Listings2.listing9(refused.input, handleBytes: { _ in }, doSomethingElse: { sched_yield() })
            }
            #expect(throws: StreamError.self) { try Listings2.listing10(refused.output, "x") { sched_yield() } }
        }
    }

    @Test func proxiesFrom11To17() async throws {
        let nginx = Nginx(listeners: [.plain])
        try nginx.start()
        defer { nginx.stop() }
        let squid = Squid()
        try await onThread { try squid.start() }
        defer { squid.stop() }
        let folder = try TemporaryFolder()
        let file = folder.file("proxies")
        let proxy = "http_proxy = http://127.0.0.1:\(squid.port)\nbypass_loopback = no\n"
        // The first proxy has a closed port.
        try Data("http_proxy = http://127.0.0.1:\(deadEnd.port)\nbypass_loopback = no\n".utf8)
            .write(to: URL(fileURLWithPath: file))
        let url = try #require(URL(string: nginx.url(.plain, "/hello")))
        try await onThread {
            let once = try ReadStream(httpURL: url)
            try Listings2.listing11(once, try ProxySettings(fileText: proxy))
            try once.open()
            #expect(try once.readAll(limit: 100) == Array("hello\n".utf8))

            let keeper = try Listings2.Listing12(file)
            let changes = Locked(0)
            keeper.listing13 { changes.withLock { $0 += 1 } }
            try keeper.listing14()
            let dead = try ReadStream(httpURL: url)
            try keeper.listing16(dead)
            #expect(throws: StreamError.self) {
                try dead.open()  // or the read, whichever fails first
                _ = try dead.readAll(limit: 100)
            }

            try Data(proxy.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            let end = Date(timeIntervalSinceNow: 10)
            while changes.withLock({ $0 }) == 0, Date() < end { _ = RunLoop.current.run(mode: .default, before: end) }
            let alive = try ReadStream(httpURL: url)
            try keeper.listing16(alive)
            try alive.open()
            #expect(try alive.readAll(limit: 100) == Array("hello\n".utf8))
            keeper.listing17()
            #expect(!RunLoop.current.run(mode: .default, before: .distantFuture))  // it has no sources left
        }
    }
}
