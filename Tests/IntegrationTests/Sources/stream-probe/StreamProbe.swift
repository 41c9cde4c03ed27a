import Glibc
import NetKit

/// The program that tests run inside network namespaces: streams, reported in lines.
///
///     stream-probe answer PORT TEXT            listens on all addresses; sends TEXT to each client
///     stream-probe service NAME TYPE SECONDS   connects to a service given only its name, and prints the received data
///     stream-probe stranded ADDRESS COMMAND    connects from ADDRESS to itself and waits to read; then runs COMMAND in a
///                                              shell, and prints the results of the streams
@main struct StreamProbe {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("answer", 3): try await answer(UInt16(arguments[1]) ?? 0, arguments[2])
            case ("service", 4): try await service(arguments[1], arguments[2], Int(arguments[3]) ?? 0)
            case ("stranded", 3): try await stranded(arguments[1], arguments[2])
            default:
                print("usage: stream-probe answer|service|stranded …")
                exit(2)
            }
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }

    private static func answer(_ port: UInt16, _ text: String) async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.any), port: port))
        say("ready")
        while true {
            let pair = try await listener.accept().makeStreams()
            try pair.open()
            try await pair.output.writeAll(Array("\(text)\n".utf8))
            pair.close()
        }
    }

    private static func service(_ name: String, _ type: String, _ seconds: Int) async throws {
        var properties = StreamProperties()
        properties[.openTimeout] = .seconds(seconds)
        let service = try ServiceInstance(name: name, type: try ServiceType(type))
        let pair = StreamPair(service: service, engine: .embedded, properties: properties)
        try pair.open()
        print(String(decoding: try await pair.input.readAll(limit: 1000), as: UTF8.self), terminator: "")
        print(pair.report.steps.map { "\($0.kind): \($0.outcome)" }.joined(separator: "\n"))
    }

    private static func stranded(_ text: String, _ command: String) async throws {
        guard let address = IPAddress(text) else { throw StreamError.closed }
        let listener = try Socket(listeningAt: .ip(address, port: 0))
        guard let target = listener.localAddress else { throw StreamError.closed }
        // One is notified, the other waits until the kernel reports a failure.
        let watching = StreamPair(address: target)
        try watching.set(.failsWhenAddressIsRemoved, to: true)
        let other = StreamPair(address: target)
        for pair in [watching, other] {
            try pair.open()
            try await pair.input.opened()
        }
        let reading = Task { () async -> String in
            do throws(StreamError) {
                return "read \(try await watching.input.read(upTo: 1).count)"
            } catch {
                return "\(error)"
            }
        }
        guard system(command) == 0 else { exit(1) }
        print(await reading.value)
        print("\(watching.output.status) \(other.output.status)")
    }

    /// Prints a line immediately, also to a pipe.
    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
