internal import EventLoops
internal import StreamKit

/// The bytes of a load that have been sent and received so far.
///
/// Each report differs from the one before it, at least in one property: while the response arrives, ``sent`` remains as it is.
/// A program that acts once all bytes are sent therefore remembers that it has acted.
///
/// ```swift
/// let film = try await session.load(request, body: upload) { progress in
///     print("\(progress.sent) of \(progress.toSend ?? 0) bytes sent")
/// }
/// ```
public struct HTTPProgress: Sendable, Hashable {
    /// The number of body bytes of the request that have been passed to the connection. It begins again at 0 if the request is
    /// sent again, such as for a redirect or a login.
    public var sent: Int64 = 0
    /// The length of the request's body; nil if it is unknown or there is no body.
    public var toSend: Int64?
    /// The number of body bytes of the response that have been received and decoded.
    public var received: Int64 = 0
    /// The length of the response's body; nil if it is unknown, or the body is coded.
    public var toReceive: Int64?
}

/// Reports the progress of a load to the application.
final class ProgressObserver: Sendable {
    private let progress = Locked(HTTPProgress())
    private let report: @Sendable (HTTPProgress) -> Void

    init(_ report: @escaping @Sendable (HTTPProgress) -> Void) {
        self.report = report
    }

    /// Returns a body that reports how much of it has been read.
    func observe(_ body: HTTPBody?) -> HTTPBody? {
        guard let body else { return nil }
        progress.withLock { $0.toSend = body.length }
        return body.observed { [self] count in change { $0.sent = count } }
    }

    /// Records that the response has arrived.
    func begin(_ stream: ReadStream) {
        let sent = stream[.httpBodyBytesSent] ?? 0
        let length = stream[.httpBodyLength]
        change { progress in
            progress.sent = sent
            progress.toReceive = length
        }
    }

    /// Records the number of bytes received.
    func received(_ count: Int) {
        change { $0.received = Int64(count) }
    }

    /// Changes the progress, and reports it if it is another one than before.
    private func change(_ body: (inout HTTPProgress) -> Void) {
        let changed: HTTPProgress? = progress.withLock { progress in
            let old = progress
            body(&progress)
            return progress == old ? nil : progress
        }
        if let changed { report(changed) }
    }
}
