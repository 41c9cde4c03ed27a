import Foundation
import NetKitFoundation

/// The program that tests run inside network namespaces: streams to services, reported in lines.
///
///     service-streams serve NAME TYPE         published NAME; then echoes the bytes of connections
///     service-streams call NAME TYPE TEXT     heard TEXT, through Foundation's streams
///     service-streams stream NAME TYPE TEXT   heard TEXT from HOST, and whether its address has a port
///     service-streams find TYPE               + NAME; NAME at HOST, and whether it has a port; - NAME of how many
///     service-streams fetch TYPE              + NAME; at HOST PORT; then each file of an FTP service: its name, size and text
///     service-streams insist NAME TYPE        + NAME; connects repeatedly, until - NAME
///
/// Before the verb, `--embedded` selects the embedded engine instead of the default one.
@main struct ServiceStreams {
    private static let engine =
        CommandLine.arguments.contains("--embedded") ? DiscoveryEngine.embedded : DiscoveryEngine.automatic

    static func main() {
        let arguments = CommandLine.arguments.dropFirst().filter { $0 != "--embedded" }
        switch arguments.first {
        case "serve": serve(arguments[1], arguments[2])
        case "call": call(arguments[1], arguments[2], arguments[3])
        case "find": find(arguments[1])
        case "stream":
            run { try await stream(service(arguments[1], arguments[2]), arguments[3]) }
        case "fetch":
            run { try await fetch(arguments[1]) }
        case "insist":
            run { try await insist(service(arguments[1], arguments[2])) }
        default:
            say("error: unknown verb")
            exit(64)
        }
    }

    /// Prints a line immediately.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func service(_ name: String, _ type: String) throws -> ServiceInstance {
        try ServiceInstance(name: name, type: ServiceType(type))
    }

    private static func run(_ body: @escaping @Sendable () async throws -> Void) {
        Task {
            do { try await body() } catch { say("error: \(error)") }
            exit(0)
        }
        dispatchMain()
    }

    // MARK: Foundation's API

    private static func serve(_ name: String, _ type: String) {
        let delegate = EchoDelegate()
        let service = NetService(domain: "", type: type, name: name, port: 0, engine: engine)
        service.delegate = delegate
        service.publish(options: .listenForConnections)
        while true { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }

    private static func call(_ name: String, _ type: String, _ text: String) {
        let service = NetService(domain: "local.", type: type, name: name, engine: engine)
        var input: InputStream?
        var output: OutputStream?
        guard service.getInputStream(&input, outputStream: &output), let input, let output else {
            return say("error: no service")
        }
        input.open()
        output.open()
        guard output.write(Array(text.utf8), maxLength: text.utf8.count) == text.utf8.count else {
            return say("error: \(output.streamError?.localizedDescription ?? "")")
        }
        var buffer = [UInt8](repeating: 0, count: 1000)
        let count = input.read(&buffer, maxLength: buffer.count)
        say(
            count < 0
                ? "error: \(input.streamError?.localizedDescription ?? "")"
                : "heard \(String(decoding: buffer[..<count], as: UTF8.self))")
    }

    private static func find(_ type: String) {
        let delegate = FinderDelegate()
        let browser = NetServiceBrowser(engine: engine)
        browser.delegate = delegate
        browser.searchForServices(ofType: type, inDomain: "")
        while true { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }

    // MARK: NetKit's API

    private static func stream(_ service: ServiceInstance, _ text: String) async throws {
        let pair = StreamPair(service: service, engine: engine)
        defer { pair.close() }
        try pair.open()
        try await pair.output.writeAll(Array(text.utf8))
        let received = String(decoding: try await pair.input.read(upTo: 1000), as: UTF8.self)
        say("heard \(received) from \(pair[.remoteHostName] ?? "") \(pair[.remoteAddress]?.port ?? 0 > 0)")
    }

    /// Finds an FTP service, and lists and fetches the files in the folder that its TXT record names.
    private static func fetch(_ type: String) async throws {
        let search = try ServiceBrowser(ServiceType(type), engine: engine).start()
        guard let found = try await search.next(until: .now + .seconds(60)) else { return say("error: none") }
        say("+ \(found.value.name)")
        let resolved = try await ServiceResolver(found.value, engine: engine).resolve(until: .now + .seconds(60))
        say("at \(resolved.hostName) \(resolved.port)")
        guard let address = resolved.addresses.lazy.compactMap(\.ipAddress).first(where: { $0.family == .v4 }),
            let folder = URL(string: "ftp://\(address):\(resolved.port)\(resolved.record.string("path") ?? "/")")
        else { return say("error: no address") }
        let listing = try ReadStream(ftpURL: folder)
        try listing.open()
        let lines = try await listing.readAll(limit: 1 << 20)
        let options = ListingOptions(now: Int64(Date().timeIntervalSince1970))
        let entries = try ListingParser.entries(of: lines, options)
        for entry in entries.sorted(by: { $0.name < $1.name }) where entry.kind == .file {
            let file = try ReadStream(ftpURL: folder.appending(component: entry.name))
            try file.open()
            let text = String(decoding: try await file.readAll(limit: 1 << 20), as: UTF8.self)
            say("\(entry.name) \(entry.size ?? 0) \(text)")
        }
    }

    private static func insist(_ service: ServiceInstance) async throws {
        let search = try ServiceBrowser(service.type, engine: engine).start()
        var isThere = false
        while true {
            do throws(ServiceDiscoveryError) {
                guard let change = try await search.next(until: .now + .milliseconds(200)) else { return }
                say("\(change.kind == .found ? "+" : "-") \(change.value.name)")
                if change.value == service { isThere = change.kind == .found }
            } catch {
                if error.code != .timedOut { throw error }
            }
            guard isThere else { continue }
            let pair = StreamPair(service: service, engine: engine)
            do throws(StreamError) {
                try pair.open()
                try await pair.input.opened()
            } catch {
                say("failed: \(error)")
            }
            pair.close()
        }
    }
}

/// Sends back the bytes that connections receive.
final class EchoDelegate: NSObject, NetServiceDelegate {
    /// The streams of a connection, which only one thread uses from then on.
    private final class Connection: @unchecked Sendable {
        let input: InputStream
        let output: OutputStream

        init(_ input: InputStream, _ output: OutputStream) {
            (self.input, self.output) = (input, output)
        }

        func echo() {
            input.open()
            output.open()
            var buffer = [UInt8](repeating: 0, count: 1000)
            while case let count = input.read(&buffer, maxLength: buffer.count), count > 0 {
                _ = output.write(buffer, maxLength: count)
            }
            input.close()
            output.close()
        }
    }

    func netServiceDidPublish(_ sender: NetService) {
        ServiceStreams.say("published \(sender.name) \(sender.port > 0)")
    }

    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        ServiceStreams.say("error: \(errorDict[NetService.errorCode] ?? 0)")
    }

    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {
        let connection = Connection(inputStream, outputStream)
        Thread.detachNewThread { connection.echo() }
    }
}

/// Resolves the services that it finds.
final class FinderDelegate: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
    private var services: [NetService] = []

    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        ServiceStreams.say("+ \(service.name)")
        services.append(service)
        service.delegate = self
        service.resolve(withTimeout: 0)
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        services.removeAll { $0 == service }
        ServiceStreams.say("- \(service.name) of \(services.count + 1)")
    }

    func netServiceDidResolveAddress(_ sender: NetService) {
        ServiceStreams.say("\(sender.name) at \(sender.hostName ?? "") \(sender.port > 0)")
    }
}
