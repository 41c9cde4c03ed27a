#if Tracing
internal import HTTPMessage
internal import HostResolver
internal import StreamKit
internal import Tracing

/// The span of a request that a server handles: a child of the client's span, and the parent of those that the handler begins.
enum RequestSpan {
    /// Returns a handler that runs another one within a span.
    ///
    /// - Parameter tracer: The tracer; nil for that of the process.
    static func around(
        _ handler: @escaping HTTPServer.Handler, _ tracer: (any Tracer)?
    ) -> HTTPServer.Handler {
        { exchange in
            let tracer = tracer ?? InstrumentationSystem.tracer
            let request = exchange.request
            var context = ServiceContext.topLevel
            tracer.extract(request.fields, into: &context, using: FieldExtractor())
            let span = tracer.startSpan(request.method.name, context: context, ofKind: .server)
            defer { span.end() }
            span.updateAttributes { attributes in
                attributes["http.request.method"] = request.method.name
                attributes["url.path"] = request.target.path ?? ""
                if let address = exchange.remoteAddress?.ipAddress { attributes["client.address"] = "\(address)" }
            }
            do {
                try await ServiceContext.withValue(span.context) { try await handler(exchange) }
            } catch {
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error))
                throw error
            }
            if let status = exchange.responseStatus {
                span.attributes["http.response.status_code"] = status.code
                if status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
            }
        }
    }
}
#endif
