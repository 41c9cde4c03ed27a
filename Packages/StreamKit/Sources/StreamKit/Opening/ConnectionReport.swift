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
        public init(kind: Kind, start: Duration, time: Duration? = nil, outcome: Outcome = .underway) {
            self.kind = kind
            self.start = start
            self.time = time
            self.outcome = outcome
        }
    }

    /// The steps, in the order in which they began. Attempts at several addresses overlap.
    public var steps: [Step]

    /// Makes a report.
    public init(_ steps: [Step] = []) {
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
    var milliseconds: String? {
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
