internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
@_spi(Packages) internal import StreamKit

#if Logging
internal import Logging
#endif

/// The history of a load for its `ConnectionReport`: the steps of each connection that it opened, and its requests.
///
/// Kept as values; text is made of them only on request.
struct LoadLog: ~Copyable, Sendable {
    private enum Outcome: Sendable {
        case underway
        /// The status line is nil while the load still has the response.
        case answered(at: Moment, statusLine: String?)
        case failed(at: Moment, StreamError)
        case abandoned(at: Moment)

        /// The end of the request; nil if it has none yet.
        var moment: Moment? {
            switch self {
            case .underway: nil
            case .answered(let moment, _), .failed(let moment, _), .abandoned(let moment): moment
            }
        }
    }

    /// The begin and the outcome of a request.
    private struct Course: Sendable {
        let start: Moment
        var outcome = Outcome.underway

        var isUnderway: Bool { if case .underway = outcome { true } else { false } }
    }

    private struct RequestStep: Sendable {
        let method: HTTPMethod
        let url: URL?
        var course: Course
        /// The stream that carried the request, on a connection that others share.
        let place: StreamPlace?

        init(_ fetch: borrowing Fetch, _ course: Course, _ place: StreamPlace? = nil) {
            method = fetch.method
            url = fetch.url
            self.course = course
            self.place = place
        }
    }

    /// The current request, whose method and URL are those of the load's ``Fetch``.
    private var request: Course?
    /// Nil for one request on a kept connection.
    private var more: More?

    /// A logger, the steps of connections that the load opened, and those of several requests. A separate object, because a load is moved
    /// and destroyed with each of its fields, and few loads have any.
    private final class More: @unchecked Sendable {
        // Unchecked: only the log refers to it, one step at a time.

        /// The start of the first request, which is the instant of opening.
        let start: Moment
        var logger: DeferredLog?
        /// The requests that led to the current one by redirects and retries.
        var earlier: [RequestStep] = []
        /// The steps of the connections that the load has given up.
        var finished: [ConnectionReport.Step] = []
        var current: (pair: StreamPair, offset: Duration)?

        var currentSteps: [ConnectionReport.Step] {
            guard let current else { return [] }
            return current.pair.report.steps.map { step in
                var step = step
                step.start += current.offset
                return step
            }
        }

        init(start: Moment) { self.start = start }

        func endConnection() {
            finished += currentSteps
            current = nil
        }
    }

    private mutating func ensureMore() -> More {
        let made = more ?? More(start: request?.start ?? .now)
        more = made
        return made
    }

    /// The report of everything so far, in order of time.
    ///
    /// - Parameters:
    ///   - answer: the response that the load has now.
    ///   - place: the stream that carries the current request, on a connection that others share.
    func report(_ answer: HTTPResponse?, _ fetch: borrowing Fetch, _ place: StreamPlace?) -> ConnectionReport {
        var requests = more?.earlier ?? []
        if let request { requests.append(RequestStep(fetch, request, place)) }
        let connections = more.map { $0.finished + $0.currentSteps } ?? []
        let steps =
            connections
            + requests.flatMap { request in
                let origin = more?.start ?? request.course.start
                return [request.place?.step(since: origin), step(request, answer)].compactMap(\.self)
            }
        return ConnectionReport(steps.sorted { $0.start < $1.start })
    }

    /// The application's logger, called without the load's lock; nil without a logger.
    var logger: DeferredLog? { more?.logger }

    /// Sets the logger, once a request has begun.
    mutating func use(_ logger: DeferredLog) { ensureMore().logger = logger }

    mutating func beginConnection(_ pair: StreamPair) {
        endConnection()
        let more = ensureMore()
        more.current = (pair, more.start.duration(to: .now))
    }

    /// Keeps the steps of the current connection, which the load is about to give up.
    mutating func endConnection() {
        more?.endConnection()
    }

    /// Whether the log has a request that was not kept (``keepRequest(_:answer:)``).
    var hasRequest: Bool { request != nil }

    /// Begins a request, after the one before it has been kept.
    mutating func beginRequest(at now: Moment) {
        request = Course(start: now)
    }

    /// Ends the request with its response, which the load holds from now on.
    mutating func answered(
        _ response: @autoclosure () -> HTTPResponse?, _ fetch: borrowing Fetch, at moment: Moment = .now
    ) {
        endRequest(.answered(at: moment, statusLine: nil), fetch, response())
    }

    /// Keeps the request, because the fetch is about to replace it.
    ///
    /// - Parameters:
    ///   - answer: its response, which the load is about to drop; nil if it has none.
    ///   - place: the stream that carried it, on a connection that others share.
    mutating func keepRequest(_ fetch: borrowing Fetch, answer: HTTPResponse? = nil, _ place: StreamPlace? = nil) {
        guard var course = request else { return }
        if case .answered(let moment, _) = course.outcome, let answer {
            course.outcome = .answered(at: moment, statusLine: answer.statusLine)
        }
        ensureMore().earlier.append(RequestStep(fetch, course, place))
        request = nil
    }

    mutating func failed(_ error: StreamError, _ fetch: borrowing Fetch) { endRequest(.failed(at: .now, error), fetch) }

    /// Ends the request without a result: the load was closed.
    mutating func abandon(_ fetch: borrowing Fetch) {
        endRequest(.abandoned(at: .now), fetch)
        endConnection()
    }

    private mutating func endRequest(
        _ outcome: Outcome, _ fetch: borrowing Fetch, _ answer: @autoclosure () -> HTTPResponse? = nil
    ) {
        guard request?.isUnderway == true else { return }
        // In place: a copy of the stored request would cost more than the change.
        request?.outcome = outcome
        #if Logging
        if let request { emit(step(RequestStep(fetch, request), answer())) }
        #endif
    }

    private func step(_ request: RequestStep, _ answer: HTTPResponse?) -> ConnectionReport.Step {
        let outcome: ConnectionReport.Outcome =
            switch request.course.outcome {
            case .underway: .underway
            case .answered(_, let line): .succeeded(line ?? answer?.statusLine ?? "")
            case .failed(_, let error): .failed(error)
            case .abandoned: .abandoned
            }
        return .init(
            kind: .request(request.method.name, request.url?.publicText ?? ""),
            start: (more?.start ?? request.course.start).duration(to: request.course.start),
            time: request.course.outcome.moment.map { request.course.start.duration(to: $0) }, outcome: outcome)
    }
}

/// A decision of a load between two requests, which no step of its report contains.
enum LoadEvent {
    /// The same request is sent again: because a kept connection was dead, or because the response requires it.
    case sendsAgain(afterClose: Bool)
    case triesNextProxy
    case followsRedirect(URL)
}

// Without the trait `Logging` these functions do nothing and cost nothing.

extension LoadLog {
    /// Logs the event with the load's logger.
    @inline(__always)
    func emit(_ event: LoadEvent) {
        #if Logging
        let logger = logger?.logger
        switch event {
        case .sendsAgain(afterClose: true): logger?.info("Sending the request again: the kept connection was closed")
        case .sendsAgain(afterClose: false): logger?.info("Sending the request again, as its response requires")
        case .triesNextProxy: logger?.info("Trying the next proxy")
        case .followsRedirect(let url): logger?.debug("Redirected", metadata: ["target": "\(url.loggedText)"])
        }
        #endif
    }

    /// Logs the end of a request with the load's logger.
    @inline(__always)
    func emit(_ step: @autoclosure () -> ConnectionReport.Step) {
        #if Logging
        if let logger = logger?.logger { step().log(to: logger) }
        #endif
    }
}

#if Logging
extension URL {
    /// The URL without user, password, query and fragment, for logs.
    fileprivate var loggedText: String {
        String(Substring(publicText.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }
}
#endif
