#if Logging
public import Logging

extension StreamProperty where Value == Logger {
    /// The logger of each step of opening as it ends: lookups, addresses tried, proxies, TLS.
    ///
    /// ```swift
    /// var logger = Logger(label: "mail")
    /// logger.logLevel = .debug
    /// try pair.set(.logger, to: logger)
    /// try pair.open()
    /// // debug mail: connect 192.0.2.7:993: connected  step=connect target=192.0.2.7:993 outcome=succeeded milliseconds=11.8
    /// ```
    ///
    /// Failures have the level `info`, since a connection may succeed with another address; everything else has
    /// `debug`. User names, passwords, and data sent or received are never logged. HTTP, FTP and sessions pass the
    /// logger on to each connection.
    ///
    /// The logger is called on the threads that open the stream, without a lock: a log handler may use the stream, for
    /// example to read a property. Requires the trait `Logging`.
    public static var logger: Self { .init(setting: "StreamKit.logger", access: .beforeOpen) }
}

extension ConnectionReport.Step {
    /// Logs the step: a text, and the metadata `step`, `target`, `outcome`, `milliseconds` and, for a failure,
    /// `error-domain` and `error-code`.
    ///
    /// A failure has the level `info`, any other outcome `debug`. The query of a URL (after `?`) is omitted, because it
    /// may be a secret. Streams with a ``StreamProperty/logger`` call this themselves. Requires the trait `Logging`.
    public func log(to logger: Logger) {
        logger.log(level: isFailure ? .info : .debug, "\(kind.name) \(kind.target): \(outcome)", metadata: metadata)
    }

    private var isFailure: Bool {
        if case .failed = outcome { true } else { false }
    }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["step": "\(kind.name)", "target": "\(kind.target)"]
        switch outcome {
        case .underway: metadata["outcome"] = "underway"
        case .succeeded: metadata["outcome"] = "succeeded"
        case .abandoned: metadata["outcome"] = "abandoned"
        case .failed(let error):
            metadata["outcome"] = "failed"
            metadata["error-domain"] = "\(error.domain)"
            metadata["error-code"] = "\(error.code)"
        }
        if let milliseconds { metadata["milliseconds"] = "\(milliseconds)" }
        return metadata
    }
}

extension ConnectionReport.Kind {
    fileprivate var name: String {
        switch self {
        case .lookup: "lookup"
        case .connect: "connect"
        case .proxy(let kind, _): "\(kind) proxy"
        case .tls: "TLS"
        case .stream: "stream"
        case .request(let method, _): method
        }
    }

    fileprivate var target: String {
        switch self {
        case .lookup(let name): name
        case .connect(let address): address.description
        case .proxy(_, let hostAndPort): hostAndPort
        case .tls(let name): name ?? "without a name"
        case .stream: description
        case .request(_, let url): url.utf8.firstIndex(of: UInt8(ascii: "?")).map { url[..<$0] + "?…" } ?? url
        }
    }
}
#endif

// Without the trait `Logging`, this does nothing and costs nothing.

extension Connection {
    /// Logs steps that have ended. Not called under a lock, because a logger may do anything.
    func logSteps(_ steps: [Int]) {
        #if Logging
        let (logger, ended) = withDetails { ($0.properties[.logger], steps.map($0.recorder.step)) }
        if let logger { ended.forEach { $0.log(to: logger) } }
        #endif
    }
}
