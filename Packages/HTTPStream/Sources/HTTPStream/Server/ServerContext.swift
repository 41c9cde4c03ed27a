internal import EventLoops
internal import Glibc
internal import HTTPMessage
internal import HostResolver
internal import StreamKit

/// What all exchanges of a server share.
final class ServerContext: Sendable {
    let configuration: HTTPServer.Configuration
    let stopping: ServerStopping
    let date: DateLine
    let longLived: LongLivedLimit

    init(
        configuration: HTTPServer.Configuration, stopping: ServerStopping, date: DateLine, longLived: LongLivedLimit
    ) {
        self.configuration = configuration
        self.stopping = stopping
        self.date = date
        self.longLived = longLived
    }
}

extension ServerContext {
    /// The address of the client, also once it has disconnected; nil unless the configuration's observer needs it.
    func observedAddress(of pair: StreamPair) -> SocketAddress? {
        configuration.onResponse == nil ? nil : pair[.remoteAddress]
    }
}

/// The value of `Date`, formatted once per second (RFC 9110 §6.6.1).
final class DateLine: Sendable {
    private struct Made {
        var second: Int64 = .min
        var bytes: [UInt8] = []
    }

    private let made = Locked(Made())

    var now: [UInt8] {
        let second = Int64(time(nil))
        return made.withLock { made in
            if made.second != second {
                made = Made(second: second, bytes: Array(HTTPDate(secondsSinceEpoch: second).description.utf8))
            }
            return made.bytes
        }
    }
}
