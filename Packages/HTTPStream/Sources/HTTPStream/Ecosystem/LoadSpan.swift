#if Tracing
internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit
internal import Tracing

/// The span of a load, with a child for each step of the reports of its streams: lookups, connections, handshakes and requests.
final class LoadSpan: Sendable {
    private struct Opened {
        let stream: ReadStream
        let time: DefaultTracerClock.Timestamp
    }

    private let tracer: any Tracer
    private let span: any Tracing.Span
    private let opened = Locked<[Opened]>([])

    /// Begins the span as a child of the task's span, and adds its context to the fields of the request.
    ///
    /// - Parameter tracer: The tracer; nil for that of the task or the process.
    init(_ request: inout HTTPRequest, _ tracer: (any Tracer)?) {
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer
        span = tracer.startSpan(request.method.name, ofKind: .client)
        tracer.inject(span.context, into: &request.fields, using: FieldInjector())
        let url = request.url
        span.updateAttributes { attributes in
            attributes["http.request.method"] = request.method.name
            if let url {
                attributes["url.full"] = url.withoutSecrets
                attributes["server.address"] = url.host() ?? ""
                attributes["server.port"] = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
            }
        }
    }

    /// Records that a stream of the load is about to open.
    func willOpen(_ stream: ReadStream) {
        let now = DefaultTracerClock.now
        opened.withLock { $0.append(Opened(stream: stream, time: now)) }
    }

    /// Ends the span and those of the steps.
    func end(_ status: HTTPStatus?, _ error: StreamError?) {
        let opened = opened.withLock { opened in
            defer { opened = [] }
            return opened
        }
        for opened in opened {
            for step in opened.stream.report.steps { add(step, since: opened.time) }
        }
        if let status {
            span.attributes["http.response.status_code"] = status.code
            if status.code >= 400 { span.setStatus(SpanStatus(code: .error)) }
        }
        if let error {
            span.attributes["error.type"] = "\(error.domain.rawValue) \(error.code)"
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error, message: error.description))
        }
        span.end()
    }

    private func add(_ step: ConnectionReport.Step, since opening: DefaultTracerClock.Timestamp) {
        let child = tracer.startSpan(
            step.kind.operation, context: span.context, ofKind: .internal, at: opening.advanced(by: step.start))
        child.updateAttributes { attributes in
            attributes["netkit.step"] = "\(step.kind)".withoutQuery
            attributes["netkit.outcome"] = "\(step.outcome)"
        }
        if case .failed(let error) = step.outcome { child.setStatus(SpanStatus(code: .error, message: "\(error)")) }
        child.end(at: step.time.map { opening.advanced(by: step.start + $0) } ?? DefaultTracerClock.now)
    }
}

/// Adds the context of a span to the fields of a request, such as `traceparent`.
struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        // A tracer's name or value that HTTP cannot represent is not sent.
        try? fields.set(value, for: key)
    }
}

/// Finds the context of the caller's span in the fields of a request.
struct FieldExtractor: Extractor {
    func extract(key: String, from fields: HTTPFields) -> String? { fields[key] }
}

extension ConnectionReport.Kind {
    /// The name of the operation, without the names of hosts: spans are grouped by it.
    fileprivate var operation: String {
        switch self {
        case .lookup: "lookup"
        case .connect: "connect"
        case .proxy: "proxy"
        case .tls: "TLS handshake"
        case .stream: "HTTP/2 stream"
        case .request(let method, _): "request \(method)"
        }
    }
}

extension DefaultTracerClock.Timestamp {
    fileprivate func advanced(by time: Duration) -> Self {
        let (seconds, attoseconds) = time.components
        return Self(
            nanosecondsSinceEpoch: nanosecondsSinceEpoch &+ UInt64(max(0, seconds)) &* 1_000_000_000
                &+ UInt64(max(0, attoseconds)) / 1_000_000_000)
    }
}

extension String {
    /// The text before the first `?`.
    fileprivate var withoutQuery: String { String(Substring(utf8.prefix { $0 != UInt8(ascii: "?") })) }
}

extension URL {
    /// The URL without user, password, query and fragment.
    fileprivate var withoutSecrets: String { publicText.withoutQuery }
}
#endif
