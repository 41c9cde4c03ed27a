public import HostResolver

/// What opening a connection did, step by step: every name looked up, every address tried, every handshake, with times,
/// outcomes and reasons.
///
/// ```swift
/// print(stream.report)
/// // lookup www.example.org        2.1 ms  2 addresses
/// // connect [2001:db8::7]:443     0.3 ms  There is no route to …
/// // connect 192.0.2.7:443        11.8 ms  connected
/// // TLS www.example.org          24.0 ms  TLSv1.3, TLS_AES_128_GCM_SHA256
/// ```
///
/// It grows while opening goes on, and stays with the stream: error messages and diagnosis are made from it.
public struct ConnectionReport: Sendable, Hashable {
    /// What a step does.
    public enum Kind: Sendable, Hashable {
        /// Looks up the addresses of a name.
        case lookup(String)
        /// Connects to one address.
        case connect(SocketAddress)
        /// Talks to a proxy: its kind and `host:port`.
        case proxy(String, String)
        /// Shakes hands for TLS, with the peer's name if it is known.
        case tls(String?)
        /// Sends a request and waits for the head of the answer: the method and the URL without credentials.
        case request(String, String)
    }

    /// How a step ended.
    public enum Outcome: Sendable, Hashable {
        /// It has not ended yet.
        case underway
        /// It did what it was for; the text tells what came out.
        case succeeded(String)
        /// It failed, and why.
        case failed(StreamError)
        /// It was given up because another one succeeded, or because the stream was closed.
        case abandoned
    }

    /// One step.
    public struct Step: Sendable, Hashable {
        /// What it does.
        public var kind: Kind
        /// When it began, counted from the call of `open()`.
        public var start: Duration
        /// How long it took; nil while it goes on.
        public var time: Duration?
        /// How it ended.
        public var outcome: Outcome

        /// Makes a step.
        public init(kind: Kind, start: Duration, time: Duration? = nil, outcome: Outcome = .underway) {
            self.kind = kind
            self.start = start
            self.time = time
            self.outcome = outcome
        }
    }

    /// The steps in the order in which they began; attempts at several addresses overlap.
    public var steps: [Step]

    /// Makes a report.
    public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// The step that made the whole fail, if it did: the last one that failed.
    public var failure: Step? {
        steps.last { if case .failed = $0.outcome { true } else { false } }
    }

    /// Time from the call of `open()` to the end of the last step that has ended.
    public var time: Duration {
        steps.reduce(.zero) { max($0, $1.start + ($1.time ?? .zero)) }
    }
}

extension ConnectionReport: CustomStringConvertible {
    /// One line a step.
    public var description: String {
        steps.map(\.description).joined(separator: "\n")
    }
}

extension ConnectionReport.Step: CustomStringConvertible {
    /// What, how long, and what came out.
    public var description: String {
        "\(kind.description)  \(milliseconds.map { "\($0) ms" } ?? "…")  \(outcome)"
    }

    /// How long it took, with one decimal; nil while it goes on.
    var milliseconds: String? {
        guard let time else { return nil }
        let tenths = time.components.seconds * 10_000 + time.components.attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension ConnectionReport.Kind: CustomStringConvertible {
    /// What is done, and to whom.
    public var description: String {
        switch self {
        case .lookup(let name): "lookup \(name)"
        case .connect(let address): "connect \(address)"
        case .proxy(let kind, let place): "\(kind) proxy \(place)"
        case .tls(let name): "TLS \(name ?? "without a name")"
        case .request(let method, let url): "\(method) \(url)"
        }
    }
}

extension ConnectionReport.Outcome: CustomStringConvertible {
    /// What came out, in words.
    public var description: String {
        switch self {
        case .underway: "under way"
        case .succeeded(let text): text
        case .failed(let error): error.description
        case .abandoned: "given up"
        }
    }
}
