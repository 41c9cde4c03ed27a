internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// What a load did, for its `ConnectionReport`: the steps of each connection it opened, and its requests.
///
/// Kept as values; words are made of them only when somebody asks.
struct LoadLog: Sendable {
    private enum Outcome: Sendable {
        case underway
        /// Nil while the load has the answer.
        case answered(statusLine: String?)
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
    /// The application's logger, called without the load's lock; nil if there is none.
    var deferred: DeferredLog?

    /// Everything so far, by time.
    ///
    /// - Parameter answer: the answer that the load has now.
    func report(_ answer: HTTPResponse?) -> ConnectionReport {
        let requests = request.map { earlier + [$0] } ?? []
        let steps = finished + currentSteps + requests.map { step($0, answer) }
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

    /// The load has the answer from now on.
    mutating func answered(_ response: HTTPResponse, at moment: Moment = .now) {
        endRequest(.answered(statusLine: nil), at: moment, response)
    }

    /// Keeps the status line of a response that the load is about to drop.
    mutating func keepStatusLine(of response: HTTPResponse) {
        if case .answered? = request?.outcome { request?.outcome = .answered(statusLine: response.statusLine) }
    }

    mutating func failed(_ error: StreamError) { endRequest(.failed(error), at: .now) }

    /// The load was given up.
    mutating func abandon() {
        endRequest(.abandoned, at: .now)
        endConnection()
    }

    private mutating func endRequest(
        _ outcome: Outcome, at moment: @autoclosure () -> Moment, _ answer: @autoclosure () -> HTTPResponse? = nil
    ) {
        guard request?.isUnderway == true else { return }
        // In place: a copy of what is kept costs more than this.
        request?.end = moment()
        request?.outcome = outcome
        #if Logging
        if let request { tell(step(request, answer())) }
        #endif
    }

    private func step(_ request: RequestStep, _ answer: HTTPResponse?) -> ConnectionReport.Step {
        let outcome: ConnectionReport.Outcome =
            switch request.outcome {
            case .underway: .underway
            case .answered(let line): .succeeded(line ?? answer?.statusLine ?? "")
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
