import Foundation
import NetKitFoundation

/// A tour of every component, with servers of its own: one line of results each. Uses only loopback.
///
/// `Scripts/tour` builds it and sets `NETKIT` to the path of the tool. On a terminal the present stop is shown; otherwise the lines
/// are plain.
@main struct Tour {
    static func main() async {
        let start = ContinuousClock.now
        let guide = Guide()
        await guide.stop("HTTPMessage") { try Messages.parse() }
        await guide.stop("HTTPAuth") { try await Messages.answerAChallenge() }
        await guide.stop("EventLoops") { await Waiting.fireTimer() }
        await guide.stop("HostResolver") { try await Waiting.lookUp() }
        await guide.stop("StreamKit") { try await Streams.echo() }
        await guide.stop("StreamKit") { try await Streams.race() }
        await guide.stop("HTTPServer") { try await Web.load() }
        await guide.stop("HTTPSession") { try await Web.logIn() }
        await guide.stop("HTTP proxies") { try await Web.passAProxy() }
        await guide.stop("Foundation") { try await Streams.readAsFoundationDoes() }
        await guide.stop("FTPStream") { try await Files.fetch() }
        await guide.stop("Bonjour") { try await Services.find() }
        await guide.stop("NetService") { try await Services.connectAsFoundationDoes() }
        await guide.stop("NetDiag") { try await Diagnoses.explain() }
        await guide.stop("netkit") { try await Web.useTheTool() }
        guide.say("\(guide.stops) stops in \(Waiting.milliseconds(start.duration(to: .now)))")
    }
}

/// Prints the stops: on a terminal in colours and with the present one, otherwise in plain lines.
final class Guide {
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let hasColors = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    private(set) var stops = 0

    /// Makes one stop and prints its result. An error ends the tour.
    func stop(_ name: String, _ visit: () async throws -> String) async {
        let title = styled("1", name.padding(toLength: 13, withPad: " ", startingAt: 0))
        if isTerminal { write("\(title) …") }
        do {
            let story = try await visit()
            stops += 1
            say("\(isTerminal ? "\r\u{1b}[K" : "")\(title) \(styled("32", "✔")) \(story)")
        } catch {
            say("\(isTerminal ? "\r\u{1b}[K" : "")\(title) \(styled("31", "✘")) \(error)")
            exit(1)
        }
    }

    func say(_ line: String) { write(line + "\n") }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    private func styled(_ code: String, _ text: String) -> String {
        hasColors ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}

/// An unexpected result on the tour.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
