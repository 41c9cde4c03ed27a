internal import EventLoops
internal import Glibc

extension Connection {
    /// How a stream gets its engine: at once or step by step.
    enum Start: Sendable {
        case opened(Engine)
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

    // Not copyable, because the compiler copies a copyable value where it is made.
    struct Details: ~Copyable {
        /// The error that ended both halves.
        var error: StreamError?
        /// The error that ended only the writer.
        var writeError: StreamError?
        var properties: StreamProperties
        /// The TLS that opening has put over ``Connection/transport``; it then answers for its properties.
        var securedTransport: (any StreamTransport)?
        /// Exists during opening: the point where callers wait, since the wait point itself then belongs to the
        /// opening.
        var opening: Opening?
        /// The point where callers wait while another thread begins to open the stream, before ``opening`` exists. Made by the first
        /// of them.
        var beginning: WaitPoint?
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
            guard let lower = opening?.lower else { return recorder.report }
            var recorder = recorder
            recorder.join(lower.connection.report.steps, begun: lower.start)
            return recorder.report
        }

        /// Ends the wait for the end of opening. Returns the points to signal, outside the lock.
        mutating func takePointsOfOpening() -> (opening: Opening?, beginning: WaitPoint?) {
            (opening.take(), beginning.take())
        }

        /// The clients, which are made if there are none yet.
        mutating func ensureClients() -> StreamClients {
            let clients = clients ?? StreamClients()
            self.clients = clients
            return clients
        }
    }
}
