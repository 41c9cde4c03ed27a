import Foundation
import Peers
import Testing

/// The listings of the services guide, on one of two connected hosts; Avahi runs on the other.
@Suite(.serialized) struct ServicesGuideTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    /// Runs a listing in a separate process on the right host.
    private func listing(_ arguments: String...) throws -> LineProgram {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let program = LineProgram(
            (tests as NSString).deletingLastPathComponent + "/listing", arguments, in: network.right)
        try program.start()
        return program
    }

    /// Runs Avahi on the left host, with a music service whose name has dots, and a server that sends a greeting.
    private func withAvahi(_ body: (Avahi, Socat) async throws -> Void) async throws {
        defer { network.remove() }
        let greeter = Socat(.shell("printf 'welcome'"), at: "10.77.5.1", in: network.left)
        try greeter.start()
        defer { greeter.stop() }
        let avahi = Avahi(
            hostName: "avahi-host",
            services: [Avahi.Service("No. 5 Jazz", type: "_music._tcp", port: greeter.port, texts: ["k=v"])],
            in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        try await body(avahi, greeter)
    }

    @Test func browsingResolvingConnecting() async throws {
        try await withAvahi { avahi, greeter in
            let browser = try listing("3-1", "_music._tcp")
            defer { browser.stop() }
            #expect(await browser.says("+ No. 5 Jazz"), "\(browser.log)")
            let resolver = try listing("4-2", "No. 5 Jazz", "_music._tcp")
            defer { resolver.stop() }
            #expect(
                await resolver.shows("avahi-host.local. \(greeter.port) ", "10.77.5.1:\(greeter.port)"),
                "\(resolver.log)")
            let connection = try listing("4-1", "No. 5 Jazz", "_music._tcp")
            defer { connection.stop() }
            #expect(await connection.says("welcome"), "\(connection.log)")
            // The service still answers, so reconfirming it does not remove it.
            let doubt = try listing("4-5", "No. 5 Jazz", "_music._tcp")
            defer { doubt.stop() }
            #expect(await doubt.says("doubted"), "\(doubt.log)")
            avahi.stop()
            #expect(await browser.says("- No. 5 Jazz"), "\(browser.log)")
        }
    }

    /// The same with `NetService`, `NetServiceBrowser` and their delegates.
    @Test func foundationBrowsingResolvingConnecting() async throws {
        try await withAvahi { avahi, greeter in
            let browser = try listing("foundation", "3-1", "_music._tcp")
            defer { browser.stop() }
            #expect(await browser.says("+ No. 5 Jazz"), "\(browser.log)")
            let resolver = try listing("foundation", "4-2", "No. 5 Jazz", "_music._tcp")
            defer { resolver.stop() }
            #expect(await resolver.says("avahi-host.local. \(greeter.port)"), "\(resolver.log)")
            let connection = try listing("foundation", "4-1", "No. 5 Jazz", "_music._tcp")
            defer { connection.stop() }
            #expect(await connection.says("welcome"), "\(connection.log)")
            let doubt = try listing("foundation", "4-5", "No. 5 Jazz", "_music._tcp")
            defer { doubt.stop() }
            #expect(await doubt.says("doubted"), "\(doubt.log)")
            avahi.stop()
            #expect(await browser.says("- No. 5 Jazz"), "\(browser.log)")
        }
    }

    // Parity: SD-018 (Avahi, socat)
    @Test func foundationPublishing() async throws {
        try await withAvahi { avahi, _ in
            let publisher = try listing("foundation", "2-1", "4711")
            defer { publisher.stop() }
            #expect(await publisher.shows("published "), "\(publisher.log)")
            #expect(try await avahi.browse("_music._tcp").contains { $0.contains(";10.77.5.2;4711;") })
            let domains = try listing("foundation", "B-1")
            defer { domains.stop() }
            #expect(await domains.says("+ local."), "\(domains.log)")
        }
    }

    @Test func callbacksOnARunLoop() async throws {
        try await withAvahi { avahi, greeter in
            let browser = try listing("A-3", "_music._tcp")
            defer { browser.stop() }
            #expect(await browser.says("+ No. 5 Jazz"), "\(browser.log)")
            #expect(await browser.says("stopped"))
            let resolver = try listing("A-4", "No. 5 Jazz", "_music._tcp")
            defer { resolver.stop() }
            #expect(await resolver.says("avahi-host.local. \(greeter.port)"), "\(resolver.log)")
            #expect(await resolver.says("cancelled"))
        }
    }

    // Parity: SD-011 (Avahi, socat)
    @Test func publishing() async throws {
        try await withAvahi { avahi, _ in
            let publisher = try listing("2-1", "4711")
            defer { publisher.stop() }
            #expect(await publisher.shows("published "), "\(publisher.log)")
            #expect(try await avahi.browse("_music._tcp").contains { $0.contains(";10.77.5.2;4711;") })
            let printer = try listing("A-2")
            defer { printer.stop() }
            #expect(await printer.says("published Sales Laser Printer"), "\(printer.log)")
            let lines = try await avahi.browse("_printer._tcp")
            #expect(lines.contains { $0.contains(";10.77.5.2;515;") }, "\(lines)")
            let domains = try listing("B-1")
            defer { domains.stop() }
            #expect(await domains.says("+ local."), "\(domains.log)")
        }
    }
}
