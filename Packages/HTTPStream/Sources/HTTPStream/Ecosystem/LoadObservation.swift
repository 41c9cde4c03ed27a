#if Metrics || Tracing
internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// The observers of one load: its span, and the metrics of its session.
final class LoadObservation: Sendable {
    private let method: HTTPMethod
    private let start = Moment.now
    private let last = Locked<ReadStream?>(nil)
    #if Metrics
    private let metrics: HTTPMetrics?
    #endif
    #if Tracing
    private let span: LoadSpan
    #endif

    /// Begins the observation, and adds the context of the span to the request.
    init(_ request: inout HTTPRequest, _ configuration: HTTPSession.Configuration) {
        method = request.method
        #if Metrics
        metrics = configuration.metrics
        #endif
        #if Tracing
        span = LoadSpan(&request, configuration.tracer)
        #endif
    }

    /// Records that a stream of the load is about to open.
    func willOpen(_ stream: ReadStream) {
        last.withLock { $0 = stream }
        #if Tracing
        span.willOpen(stream)
        #endif
    }

    /// Ends the observation.
    func end(_ error: StreamError?) {
        let status = last.withLock { $0.take() }?[.httpResponse]?.status
        #if Metrics
        metrics?.record(method, status, error, after: start.duration(to: .now))
        #endif
        #if Tracing
        span.end(status, error)
        #endif
    }
}

extension HTTPSession {
    /// Performs a load, or its part until the head of the response, and observes it.
    func observing<Result>(
        _ request: HTTPRequest, _ options: LoadOptions,
        _ body: (HTTPRequest, LoadOptions) async throws(StreamError) -> Result
    ) async throws(StreamError) -> Result {
        var (request, options) = (request, options)
        let observation = LoadObservation(&request, configuration)
        options.observation = observation
        do throws(StreamError) {
            let result = try await body(request, options)
            observation.end(nil)
            return result
        } catch {
            observation.end(error)
            throw error
        }
    }
}
#endif
