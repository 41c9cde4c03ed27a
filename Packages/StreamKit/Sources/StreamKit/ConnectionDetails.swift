internal import EventLoops
internal import Glibc

extension Connection {
    /// How a stream gets its engine: at once or step by step.
    enum Start: Sendable {
        case opened(any StreamTransport)
        /// ``Connection/transport`` is open, and is the engine.
        case openedTransport
        case continues(any OpeningWork)
    }

    /// The beginning of opening.
    enum Opener: Sendable {
        case work(@Sendable (Connection) throws(StreamError) -> Start)
        /// ``Connection/transport`` opens itself. Meanwhile its wait point is waited at with this half.
        case transport(waitingAt: WaitPoint.Half)
    }

    /// Where callers wait for the end of opening. Signalled, outside the lock, when it is replaced or removed.
    enum OpeningPoint: Sendable {
        /// Another thread begins to open the stream. The first caller that waits has made the point.
        case beginning(WaitPoint)
        /// Callers wait at the opening, since the wait point of the connection then belongs to it.
        case opening(Opening)

        var point: WaitPoint {
            switch self {
            case .beginning(let point): point
            case .opening(let opening): opening
            }
        }

        /// The opening in progress; nil before it exists.
        var opening: Opening? {
            switch self {
            case .beginning: nil
            case .opening(let opening): opening
            }
        }
    }

    // Not copyable, because the compiler copies a copyable value where it is made.
    struct Details: ~Copyable {
        /// The error that ended both halves.
        var error: StreamError?
        /// The error that ended only the writer.
        var writeError: StreamError?
        var properties: StreamProperties
        /// The TLS that opening has put over ``Connection/transport``; it then answers for its properties.
        var securedTransport: (any StreamTransport)?
        /// Where callers wait for the end of opening; nil while none waits before it has begun, and afterwards.
        var openingPoint: OpeningPoint?
        private(set) var clients: StreamClients?
        var recorder = ReportRecorder()
        // In the padding after the recorder: size matters for tens of thousands of streams.
        /// True if ``LocalAddressMonitor`` watches this connection.
        var isAddressWatched = false
        /// True once a layer has taken the connection over: releasing its streams no longer closes it.
        var isTakenOver = false
        /// Released, with everything it holds, when opening begins.
        var opener: Opener?

        init(_ opener: Opener, _ properties: StreamProperties) {
            self.opener = opener
            self.properties = properties
        }

        /// The failure that looks like the end of the data to a read.
        var readFailure: StreamError? {
            if let error { return error }
            guard let writeError, writeError.isPOSIX(ECONNRESET) else { return nil }
            return writeError
        }

        /// The steps of opening so far, with those of a connection below that is being opened.
        var report: ConnectionReport {
            guard let lower = openingPoint?.opening?.lower else { return recorder.report }
            var recorder = recorder
            recorder.join(lower.connection.report.steps, begun: lower.start)
            return recorder.report
        }

        /// The clients, which are made if there are none yet.
        mutating func ensureClients() -> StreamClients {
            let clients = clients ?? StreamClients()
            self.clients = clients
            return clients
        }
    }
}
