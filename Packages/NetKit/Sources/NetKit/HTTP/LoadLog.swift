internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

#if Logging
internal import Logging
#endif

/// What a load did, for its `ConnectionReport`: the steps of each connection it opened, and its requests.
///
/// Kept as values; words are made of them only when somebody asks.
struct LoadLog: Sendable {
    private enum Outcome: Sendable {
        case underway
        case answered(HTTPResponse)
        case failed(StreamError)
        case abandoned
    }

    private struct RequestStep: Sendable {
        var method: HTTPMethod
        var url: URL
        var start: Moment
        var end: Moment?
        var outcome = Outcome.underway

        var isUnderway: Bool { end == nil }
    }

    /// Of the first request, which is the moment of opening.
    private var start: Moment?
    /// The request that counts; those before it, which led to it by redirects and retries.
    private var request: RequestStep?
    private var earlier: [RequestStep] = []
    private var finished: [ConnectionReport.Step] = []
    private var current: (pair: StreamPair, offset: Duration)?
    #if Logging
    var logger: Logger?
    #endif

    /// Everything so far, by time.
    var report: ConnectionReport {
        let requests = request.map { earlier + [$0] } ?? []
        let steps = finished + currentSteps + requests.map(step)
        return ConnectionReport(steps.sorted { $0.start < $1.start })
    }

    mutating func beginConnection(_ pair: StreamPair) {
        endConnection()
        current = (pair, start?.duration(to: .now) ?? .zero)
    }

    /// Takes over the connection's own steps; the connection itself goes its way.
    mutating func endConnection() {
        if current == nil { return }
        finished += currentSteps
        current = nil
    }

    mutating func beginRequest(_ method: HTTPMethod, _ url: URL, at now: Moment = .now) {
        if let request { earlier.append(request) } else { start = now }
        request = RequestStep(method: method, url: url, start: now)
    }

    mutating func answered(_ response: HTTPResponse, at moment: Moment = .now) {
        endRequest(.answered(response), at: moment)
    }

    mutating func failed(_ error: StreamError) { endRequest(.failed(error), at: .now) }

    /// The load was given up.
    mutating func abandon() {
        endRequest(.abandoned, at: .now)
        endConnection()
    }

    private mutating func endRequest(_ outcome: Outcome, at moment: @autoclosure () -> Moment) {
        guard request?.isUnderway == true else { return }
        // In place: a copy of what is kept costs more than this.
        request?.end = moment()
        request?.outcome = outcome
        #if Logging
        if let request { tell(step(request)) }
        #endif
    }

    private func step(_ request: RequestStep) -> ConnectionReport.Step {
        let outcome: ConnectionReport.Outcome =
            switch request.outcome {
            case .underway: .underway
            case .answered(let response): .succeeded(response.statusLine)
            case .failed(let error): .failed(error)
            case .abandoned: .abandoned
            }
        return .init(
            kind: .request(request.method.name, request.url.publicText),
            start: (start ?? request.start).duration(to: request.start),
            time: request.end.map { request.start.duration(to: $0) }, outcome: outcome)
    }

    private var currentSteps: [ConnectionReport.Step] {
        guard let current else { return [] }
        return current.pair.report.steps.map { step in
            var step = step
            step.start += current.offset
            return step
        }
    }
}
