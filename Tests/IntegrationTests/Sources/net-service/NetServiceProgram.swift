import Foundation
import NetKitFoundation

/// The program that tests run inside network namespaces: `NetService` and `NetServiceBrowser` on the default engine, reported in lines.
///
///     net-service browse TYPE [DOMAIN]               + NAME MORE-COMING; - NAME MORE-COMING
///     net-service resolve NAME TYPE DOMAIN SECONDS   resolving; HOST PORT FAMILY…; failed NUMBER; stopped
///     net-service monitor NAME TYPE                  text KEY=VALUE …
///     net-service publish NAME TYPE PORT             publishing; published NAME at PORT in DOMAIN; failed NUMBER
///     net-service listen NAME TYPE PORT              the same; then accepted COUNT, and echoes the bytes of connections
///     net-service connect NAME TYPE DOMAIN TEXT      HOST PORT; heard TEXT, through a stream to the host name
///
/// Each operation lasts until the program ends. A line of the standard input ends it before that: stopped.
@main struct NetServiceProgram {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let observer = Observer()
        // The objects are used by this thread alone.
        let kept: NSObject
        switch (words.first, words.count) {
        case ("browse", 2), ("browse", 3):
            let browser = NetServiceBrowser()
            browser.delegate = observer
            browser.searchForServices(ofType: words[1], inDomain: words.count > 2 ? words[2] : "")
            kept = browser
        case ("resolve", 5):
            let service = NetService(domain: words[3], type: words[2], name: words[1])
            service.delegate = observer
            service.resolve(withTimeout: Double(words[4]) ?? 0)
            kept = service
        case ("monitor", 3):
            let service = NetService(domain: "local.", type: words[2], name: words[1])
            service.delegate = observer
            service.startMonitoring()
            kept = service
        case ("publish", 4), ("listen", 4):
            let service = NetService(domain: "", type: words[2], name: words[1], port: Int32(words[3]) ?? 0)
            service.delegate = observer
            service.publish(options: words[0] == "listen" ? .listenForConnections : [])
            kept = service
        case ("connect", 5):
            let service = NetService(domain: words[3], type: words[2], name: words[1])
            observer.text = words[4]
            service.delegate = observer
            service.resolve(withTimeout: 0)
            kept = service
        default:
            say("error: unknown operation")
            exit(64)
        }
        nonisolated(unsafe) let operation = kept  // its members may be called from any thread
        Thread.detachNewThread {
            guard readLine() != nil else { return }
            (operation as? NetService)?.stop()
            (operation as? NetServiceBrowser)?.stop()
        }
        withExtendedLifetime((kept, observer)) {
            while true { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
        }
    }

    /// Prints a line immediately.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

/// Reports all events.
final class Observer: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {
    /// What to send to the host that is found, if anything.
    var text: String?
    private var accepted = 0

    private func say(_ line: String) { NetServiceProgram.say(line) }

    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        say("+ \(service.name) \(moreComing)")
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        say("- \(service.name) \(moreComing)")
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        say("failed \(errorDict[NetService.errorCode] ?? 0)")
    }

    func netServiceWillPublish(_ sender: NetService) { say("publishing") }

    func netServiceDidPublish(_ sender: NetService) {
        say("published \(sender.name) at \(sender.port) in \(sender.domain)")
    }

    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        say("failed \(errorDict[NetService.errorCode] ?? 0)")
    }

    func netServiceWillResolve(_ sender: NetService) { say("resolving") }

    func netServiceDidResolveAddress(_ sender: NetService) {
        let families = (sender.addresses ?? []).map { address in
            address.withUnsafeBytes {
                $0.loadUnaligned(as: sockaddr.self).sa_family == sa_family_t(AF_INET) ? "v4" : "v6"
            }
        }
        let location = "\(sender.hostName ?? "nowhere") \(sender.port)"
        say("\(location) \(Set(families).sorted().joined(separator: " "))")
        guard let text, let host = sender.hostName, let port = UInt16(exactly: sender.port) else { return }
        self.text = nil
        Thread.detachNewThread { Self.connect(host, port, text) }
    }

    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        say("failed \(errorDict[NetService.errorCode] ?? 0)")
    }

    func netServiceDidStop(_ sender: NetService) { say("stopped") }

    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) { say("stopped") }

    func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
        let pairs = NetService.dictionary(fromTXTRecord: data).map { "\($0)=\(String(decoding: $1, as: UTF8.self))" }
        say("text \(pairs.sorted().joined(separator: " "))")
    }

    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {
        accepted += 1
        say("accepted \(accepted)")
        let connection = Connection(inputStream, outputStream)
        Thread.detachNewThread { connection.echo() }
    }

    /// Connects by name, sends the text and prints the echo.
    private static func connect(_ host: String, _ port: UInt16, _ text: String) {
        let pair = StreamPair(host: host, port: port)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.open()
            try pair.output.writeAll(Array(text.utf8))
            var heard: [UInt8] = []
            while heard.count < text.utf8.count {
                let more = try pair.input.read(upTo: text.utf8.count - heard.count)
                if more.isEmpty { break }
                heard += more
            }
            NetServiceProgram.say("heard \(String(decoding: heard, as: UTF8.self))")
        } catch {
            NetServiceProgram.say("error: \(error)")
        }
    }
}

/// The streams of a connection, which only one thread uses once it is accepted.
private final class Connection: @unchecked Sendable {
    private let input: InputStream
    private let output: OutputStream

    init(_ input: InputStream, _ output: OutputStream) {
        (self.input, self.output) = (input, output)
    }

    func echo() {
        input.open()
        output.open()
        var buffer = [UInt8](repeating: 0, count: 1000)
        while case let count = input.read(&buffer, maxLength: buffer.count), count > 0 {
            guard output.write(buffer, maxLength: count) == count else { break }
        }
        input.close()
        output.close()
    }
}
