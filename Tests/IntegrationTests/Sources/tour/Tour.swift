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
