internal import EventLoops
public import HostResolver

/// The steps of opening a connection: each name lookup, connection attempt and handshake, with its times and outcome.
///
/// ```swift
/// print(stream.report)
/// // lookup www.example.org  2.1 ms  2 addresses
/// // connect [2001:db8::7]:443  0.3 ms  There is no route to …
/// // connect 192.0.2.7:443  11.8 ms  connected
/// // TLS www.example.org  24.0 ms  TLSv1.3, TLS_AES_128_GCM_SHA256
/// ```
///
/// The report grows while the stream opens and remains available afterwards. Error messages and diagnosis are based on
/// it.
public struct ConnectionReport: Sendable, Hashable {
    /// The operation of a step.
    public enum Kind: Sendable, Hashable {
        /// Looks up the addresses of a name.
        case lookup(String)
        /// Connects to one address.
        case connect(SocketAddress)
        /// Negotiates with a proxy: the kind of proxy and its `host:port`.
        case proxy(String, String)
        /// Performs a TLS handshake, with the peer's name if it is known.
        case tls(String?)
        /// Waits for a stream of a connection of HTTP/2, which requests share: the number of the stream, that of the connection among those
        /// of the process, and how many other requests used it then.
        case stream(Int, connection: Int, others: Int)
        /// Sends a request and waits for the head of the response: the method, and the URL without credentials.
        case request(String, String)
    }

    /// The outcome of a step.
    public enum Outcome: Sendable, Hashable {
        /// The step is in progress.
        case underway
        /// The step succeeded, with the result as text.
        case succeeded(String)
        /// The step failed with this error.
        case failed(StreamError)
        /// The step was abandoned because another one succeeded or the stream was closed.
        case abandoned
    }

    /// A step of opening.
    public struct Step: Sendable, Hashable {
        /// The operation.
        public var kind: Kind
        /// The start, relative to the call of `open()`.
        public var start: Duration
        /// The duration; nil while the step is in progress.
        public var time: Duration?
        /// The outcome.
        public var outcome: Outcome

        /// Makes a step.
        @_spi(Packages) public init(kind: Kind, start: Duration, time: Duration? = nil, outcome: Outcome = .underway) {
            self.kind = kind
            self.start = start
            self.time = time
            self.outcome = outcome
        }
    }

    /// The steps, in the order in which they began. Attempts at several addresses overlap.
    public var steps: [Step]

    /// Makes a report.
    @_spi(Packages) public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// The last step that failed, which made opening fail if it did; nil if no step failed.
    public var failure: Step? {
        steps.last { if case .failed = $0.outcome { true } else { false } }
    }

    /// The time from the call of `open()` to the end of the step that ended last.
    public var time: Duration {
        steps.reduce(.zero) { max($0, $1.start + ($1.time ?? .zero)) }
    }
}

extension ConnectionReport: CustomStringConvertible {
    /// One line per step.
    public var description: String {
        steps.map(\.description).joined(separator: "\n")
    }
}

extension ConnectionReport.Step: CustomStringConvertible {
    /// The operation, the duration and the outcome.
    public var description: String {
        "\(kind.description)  \(milliseconds.map { "\($0) ms" } ?? "…")  \(outcome)"
    }

    /// The duration in milliseconds with one decimal; nil while the step is in progress.
    package var milliseconds: String? {
        guard let time else { return nil }
        let tenths = time.components.seconds * 10_000 + time.components.attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension ConnectionReport.Kind: CustomStringConvertible {
    /// The operation and its target.
    public var description: String {
        switch self {
        case .lookup(let name): "lookup \(name)"
        case .connect(let address): "connect \(address)"
        case .proxy(let kind, let hostAndPort): "\(kind) proxy \(hostAndPort)"
        case .tls(let name): "TLS \(name ?? "without a name")"
        case .stream(let stream, let connection, let others):
            "stream \(stream) on connection \(connection) (h2), \(others) other\(others == 1 ? "" : "s")"
        case .request(let method, let url): "\(method) \(url)"
        }
    }
}

extension ConnectionReport.Outcome: CustomStringConvertible {
    /// The outcome in words.
    public var description: String {
        switch self {
        case .underway: "in progress"
        case .succeeded(let text): text
        case .failed(let error): error.description
        case .abandoned: "abandoned"
        }
    }
}

/// Records a ``ConnectionReport`` while a stream opens. It reads no clock; each call passes the time.
///
/// The records stay with the connection, and a process may hold many idle ones. Times therefore take four bytes:
/// microseconds since the first step, at most an hour and eleven minutes.
package struct ReportRecorder {
    private struct Record {
        /// The ``end`` of a step in progress.
        static let never = UInt32.max

        let kind: ConnectionReport.Kind
        let start: UInt32
        var end = never
        var outcome = ConnectionReport.Outcome.underway

        var step: ConnectionReport.Step {
            let time: Duration? = end == Record.never ? nil : .microseconds(end) - .microseconds(start)
            return .init(kind: kind, start: .microseconds(start), time: time, outcome: outcome)
        }
    }

    private var records: [Record] = []
    private var origin: Moment?

    package init() {}

    /// The report so far.
    package var report: ConnectionReport { ConnectionReport(records.map(\.step)) }

    /// One step of the report.
    package func step(_ number: Int) -> ConnectionReport.Step { records[number].step }

    /// Begins a step and returns its number for ``end(_:_:now:)``. The first step begins the report's time.
    package mutating func begin(_ kind: ConnectionReport.Kind, now: Moment) -> Int {
        records.append(Record(kind: kind, start: time(of: now)))
        return records.count - 1
    }

    /// Ends a step. False if it has ended before; it is then left as it is.
    @discardableResult
    package mutating func end(_ step: Int, _ outcome: ConnectionReport.Outcome, now: Moment) -> Bool {
        guard records[step].end == Record.never else { return false }
        records[step].end = time(of: now)
        records[step].outcome = outcome
        return true
    }

    private mutating func time(of instant: Moment) -> UInt32 {
        let origin = origin ?? instant
        self.origin = origin
        return Self.microseconds(origin.duration(to: instant))
    }

    private static func sum(_ instant: UInt32, _ time: Duration) -> UInt32 {
        instant + min(microseconds(time), Record.never - 1 - instant)
    }

    private static func microseconds(_ time: Duration) -> UInt32 {
        let (seconds, attoseconds) = time.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 4294 else { return Record.never - 1 }
        return UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000)
    }

    /// Adds the steps of a connection below this one, which was opened at `time`.
    package mutating func join(_ steps: [ConnectionReport.Step], begun time: Moment) {
        let begun = self.time(of: time)
        // Appended, so that numbers returned before stay valid.
        for step in steps {
            let start = Self.sum(begun, step.start)
            let end = step.time.map { Self.sum(start, $0) } ?? Record.never
            records.append(Record(kind: step.kind, start: start, end: end, outcome: step.outcome))
        }
    }

    /// Ends all steps in progress and returns their numbers.
    @discardableResult
    package mutating func endAll(_ outcome: ConnectionReport.Outcome, now: Moment) -> [Int] {
        records.indices.filter { end($0, outcome, now: now) }
    }
}
