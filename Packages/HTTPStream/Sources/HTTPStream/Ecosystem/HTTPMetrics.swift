#if Metrics
internal import EventLoops
internal import HTTPMessage
public import Metrics
internal import StreamKit

/// The requests of servers and sessions as metrics of apple/swift-metrics, with the names of OpenTelemetry's conventions.
///
/// ```swift
/// let metrics = HTTPMetrics()
/// var server = HTTPServer.Configuration()
/// server.onResponse = metrics.record
/// var session = HTTPSession.Configuration()
/// session.metrics = metrics
/// ```
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `http.server.request.duration` | timer | `http.request.method`, `http.response.status_code` |
/// | `http.server.response.body.size` | recorder | the same |
/// | `http.client.request.duration` | timer | the same |
///
/// Without a status, because the client disconnected or the load failed, the dimension is `error.type` instead. A method that is not
/// among those of RFC 9110 and RFC 5789 is `_OTHER`, so that no peer can make the number of dimensions grow.
public final class HTTPMetrics: Sendable {
    private struct Key: Hashable {
        let side: Side
        let method: String
        let outcome: Outcome

        var dimensions: [(String, String)] { [("http.request.method", method), outcome.dimension] }
    }

    private enum Side { case client, server }

    private enum Outcome: Hashable {
        case status(Int)
        case failed(String)

        var dimension: (String, String) {
            switch self {
            case .status(let code): ("http.response.status_code", "\(code)")
            case .failed(let type): ("error.type", type)
            }
        }
    }

    private struct Handlers {
        var durations: [Key: Timer] = [:]
        var sizes: [Key: Recorder] = [:]
    }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ]

    private let factory: (any MetricsFactory)?
    private let handlers = Locked(Handlers())

    /// Makes metrics.
    ///
    /// - Parameter factory: The backend; nil (default) for that of the process, `MetricsSystem.factory`.
    public init(factory: (any MetricsFactory)? = nil) {
        self.factory = factory
    }

    /// Records a response: an observer for ``HTTPServer/Configuration/onResponse``.
    public func record(_ record: HTTPServer.Record) {
        let key = Key(
            side: .server, method: HTTPMetrics.name(of: record.request?.method),
            outcome: record.status.map { .status($0.code) } ?? .failed("disconnected"))
        if let time = record.duration { timer(key).recordNanoseconds(time.nanoseconds) }
        if record.status != nil { recorder(key).record(record.bodyLength) }
    }

    /// Records a load, or its part until the head of the response.
    func record(_ method: HTTPMethod, _ status: HTTPStatus?, _ error: StreamError?, after time: Duration) {
        let outcome: Outcome =
            switch (status, error) {
            case (_, let error?): .failed(error.metricName)
            case (let status?, nil): .status(status.code)
            case (nil, nil): .failed("cancelled")
            }
        let key = Key(side: .client, method: HTTPMetrics.name(of: method), outcome: outcome)
        timer(key).recordNanoseconds(time.nanoseconds)
    }

    private static func name(of method: HTTPMethod?) -> String {
        method.map { methods.contains($0.name) ? $0.name : "_OTHER" } ?? "_OTHER"
    }

    private func timer(_ key: Key) -> Timer {
        handlers.withLock { handlers in
            if let timer = handlers.durations[key] { return timer }
            let timer = Timer(
                label: key.side == .client ? "http.client.request.duration" : "http.server.request.duration",
                dimensions: key.dimensions, factory: factory ?? MetricsSystem.factory)
            handlers.durations[key] = timer
            return timer
        }
    }

    private func recorder(_ key: Key) -> Recorder {
        handlers.withLock { handlers in
            if let recorder = handlers.sizes[key] { return recorder }
            let recorder = Recorder(
                label: "http.server.response.body.size", dimensions: key.dimensions, aggregate: true,
                factory: factory ?? MetricsSystem.factory)
            handlers.sizes[key] = recorder
            return recorder
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product + attoseconds / 1_000_000_000
    }
}

extension StreamError {
    /// The error as the value of a dimension: few different values.
    fileprivate var metricName: String {
        if isTimeout { return "timeout" }
        if isCancellation { return "cancelled" }
        return "\(domain.rawValue) \(code)"
    }
}
#endif
