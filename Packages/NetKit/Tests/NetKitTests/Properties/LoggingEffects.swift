#if Logging
import Logging
import NetKit

@_spi(Packages) @testable import StreamKit

extension PropertyEffect {
    /// A log handler that reports each message.
    private struct Witness: LogHandler {
        let lines: AsyncStream<Void>.Continuation
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.yield() }
    }

    static let logging = [
        PropertyEffect("logger", of: connecting + [.socket, .accepted, .unixSocket]) { kind in
            let (lines, continuation) = AsyncStream<Void>.makeStream()
            let fixture = try KindFixture.make(kind)
            try fixture.subject.set(.logger, to: Logger(label: "matrix") { _ in Witness(lines: continuation) })
            // A connected socket reports only a handshake, which the limit ends.
            if [StreamKind.socket.name, StreamKind.accepted.name].contains(kind) {
                try fixture.subject.set(.tls, to: named)
                try fixture.subject.set(.openTimeout, to: .milliseconds(1))
            }
            try fixture.subject.begin()
            for await _ in lines { return true }
            return false
        }
    ]
}
#else
extension PropertyEffect {
    static let logging: [PropertyEffect] = []
}
#endif
