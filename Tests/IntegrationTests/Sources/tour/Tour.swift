import Foundation
import NetKitFoundation

/// A walk through every component, on servers of our own making: a line each on what happened. Uses nothing but loopback.
///
/// `Scripts/tour` builds it, and says where the tool is: `NETKIT`. On a terminal the stop under way is shown; piped, the lines are plain.
@main struct Tour {
    static func main() async {
        let start = ContinuousClock.now
        let guide = Guide()
        await guide.stop("HTTPMessage") { try Messages.parse() }
        await guide.stop("HTTPAuth") { try await Messages.answerAChallenge() }
        await guide.stop("EventLoops") { await Waiting.ring() }
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
