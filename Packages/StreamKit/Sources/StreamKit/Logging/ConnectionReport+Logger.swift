#if Logging
public import Logging

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
        case .request(let method, _): method
        }
    }

    fileprivate var target: String {
        switch self {
        case .lookup(let name): name
        case .connect(let address): address.description
        case .proxy(_, let hostAndPort): hostAndPort
        case .tls(let name): name ?? "without a name"
        case .request(_, let url): url.firstIndex(of: "?").map { url[..<$0] + "?…" } ?? url
        }
    }
}
#endif
