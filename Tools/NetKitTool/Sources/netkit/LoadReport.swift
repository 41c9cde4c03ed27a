import Foundation
@_spi(Packages) import NetKit

/// The course of a load: one hop per request, also for redirects, logins and retries, and the transfer of the body.
///
/// ```swift
/// let report = LoadReport(course.hops, outcome)
/// for hop in report.hops { Terminal.say("\(hop.method) \(hop.url)") }
/// ```
///
/// It holds no credentials: URLs are without user and password, and the values of fields that may hold secrets are replaced.
struct LoadReport: Sendable {
    /// The cause of a request.
    enum Cause: String, Sendable {
        case first = "request"
        case redirect
        case login
        case proxyLogin = "proxy login"
        case retry
    }

    /// One request and its response.
    struct Hop: Sendable {
        var cause = Cause.first
        var method: String
        var url: String
        /// The start, relative to that of the load.
        var start: Duration
        /// The start of the next hop, or the end of the load.
        var end: Duration
        /// The steps, whose times are relative to ``start``.
        var steps: [ConnectionReport.Step]
        var address: SocketAddress?
        var request: HTTPRequest?
        var response: HTTPResponse?
        var tls: TLSInformation?

        /// The steps for display: a request begins after the steps that open its connection.
        var phases: [ConnectionReport.Step] {
            let opening = steps.filter { if case .request = $0.kind { false } else { true } }
            let opened = opening.reduce(Duration.zero) { max($0, $1.start + ($1.time ?? .zero)) }
            let requests = steps.compactMap { step -> ConnectionReport.Step? in
                guard case .request = step.kind else { return nil }
                var step = step
                guard let time = step.time, opened > step.start else { return step }
                let end = step.start + time
                // A failure to connect ends the request, too.
                if case .failed = step.outcome, opening.last?.outcome.isFailure == true { return nil }
                step.start = min(end, opened)
                step.time = end - step.start
                return step
            }
            return opening + requests
        }

        /// The end of the last step, which is the arrival of the response head, relative to that of the load.
        var headEnd: Duration { min(end, start + ConnectionReport(steps).time) }
    }

    var hops: [Hop]
    /// The wall-clock time of the start.
    var began: Date
    /// The whole time, to the end of the body.
    var time: Duration
    /// The size of the body as written.
    var bytes: Int64
    /// The reason of a failure.
    var failure: String?
}

extension ConnectionReport.Outcome {
    var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension LoadReport {
    /// Describes a load by the streams of its requests.
    init(_ course: LoadCourse, bytes: Int64, time: Duration, failure: (any Error)?) {
        let streams = course.streams
        began = course.began
        // The load begins a little later than its course.
        let time = max(time, streams.last.map { $0.start + $0.stream.report.time } ?? .zero)
        self.time = time
        self.bytes = bytes
        self.failure = failure.map { "\($0)" }
        hops = streams.enumerated().map { index, entry in
            let stream = entry.stream
            let request = stream[.httpFinalRequest]
            let next = streams.dropFirst(index + 1).first?.start
            let url = stream[.httpFinalURL] ?? request?.url
            return Hop(
                method: request?.method.description ?? "", url: url.map { JSONOutput.url($0.absoluteString) } ?? "",
                start: entry.start, end: max(entry.start, next ?? time), steps: stream.shownReport.steps,
                address: stream[.remoteAddress] ?? Self.address(stream.report.steps), request: request,
                response: stream[.httpResponse],
                tls: stream[.tlsInformation])
        }
        // A stream is recorded once it has begun to open; its first steps may be older.
        for index in hops.indices.reversed() {
            hops[index].start = max(
                .zero, min(hops[index].start, hops[index].end - ConnectionReport(hops[index].steps).time))
            if index > 0 { hops[index - 1].end = hops[index].start }
        }
        for index in hops.indices.dropFirst() {
            hops[index].cause = Self.cause(after: hops[index - 1])
            guard hops[index].address == nil else { continue }
            // The connection of an earlier hop was used again.
            let authority = Self.authority(hops[index])
            hops[index].address = hops[..<index].last { Self.authority($0) == authority }?.address
        }
    }

    /// The address of the last successful connection attempt; with a proxy, that of the proxy.
    private static func address(_ steps: [ConnectionReport.Step]) -> SocketAddress? {
        for step in steps.reversed() {
            if case .connect(let address) = step.kind, case .succeeded = step.outcome { return address }
        }
        return nil
    }

    private static func authority(_ hop: Hop) -> String {
        let parts = URLComponents(string: hop.url)
        return "\(parts?.scheme ?? "")://\(parts?.host ?? ""):\(parts?.port ?? 0)"
    }

    private static func cause(after hop: Hop) -> Cause {
        switch hop.response?.status.code {
        case 401: .login
        case 407: .proxyLogin
        case 300, 301, 302, 303, 307, 308: .redirect
        default: .retry
        }
    }

    /// The hops for `--json`, in order.
    var facts: [JSONOutput.Facts] {
        hops.map { hop in
            var facts: JSONOutput.Facts = [
                "cause": hop.cause.rawValue, "method": hop.method, "url": hop.url, "start": hop.start / .seconds(1),
                "seconds": (hop.end - hop.start) / .seconds(1),
                "steps": JSONOutput.steps(ConnectionReport(hop.steps)),
            ]
            facts["address"] = hop.address?.description
            facts["status"] = hop.response?.status.code
            facts["reason"] = hop.response?.reason
            facts["version"] = hop.response?.version.shown
            return facts
        }
    }

    /// The value of a field without secrets.
    static func shownValue(_ name: String, _ value: String) -> String {
        let secret: Set<String> = ["authorization", "proxy-authorization", "cookie", "set-cookie"]
        if name.lowercased() == "location" { return JSONOutput.url(value) }
        return secret.contains(name.lowercased()) ? "…" : Terminal.shownField(name, value)
    }
}

/// The streams that a load has opened, with their start times; at most ``maximumStreams``, the newest.
final class LoadCourse: Sendable {
    private static let maximumStreams = 256
    /// The course of the load that the current task performs. The session reports its streams there.
    @TaskLocal static var current: LoadCourse?

    private let entries = Locked<[(start: Duration, stream: ReadStream)]>([])
    private let shown = Locked<ReadStream?>(nil)
    private let origin = ContinuousClock.now
    let began = Date()

    var streams: [(start: Duration, stream: ReadStream)] { entries.withLock { $0 } }
    /// The stream of the last request.
    var stream: ReadStream? { entries.withLock { $0.last?.stream } }

    /// The streams since the last call.
    func takeNew() -> [ReadStream] {
        let streams = streams.map(\.stream)
        return shown.withLock { shown in
            let new = streams.lastIndex { $0 === shown }.map { Array(streams[($0 + 1)...]) } ?? streams
            shown = streams.last
            return new
        }
    }

    func add(_ stream: ReadStream) {
        let start = origin.duration(to: .now)
        entries.withLock { entries in
            if entries.count == Self.maximumStreams { entries.removeFirst() }
            entries.append((start, stream))
        }
    }
}

extension Load.Outcome {
    /// The course of the transfer.
    func report(of course: LoadCourse) -> LoadReport {
        var failure: (any Error)?
        if case .failure(let error) = result { failure = error }
        return LoadReport(course, bytes: count, time: time, failure: failure)
    }
}
